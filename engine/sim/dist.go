package sim

import (
	"math"
	"math/rand/v2"
)

// Dist is a distribution of whole numbers: log-normal, as the lengths of prompts and answers are.
type Dist struct {
	Mean   float64 `json:"mean"`
	Spread float64 `json:"spread"` // standard deviation ÷ mean; 0: always the mean
	Min    int     `json:"min"`    // lower values are raised to it; at least 1
	Max    int     `json:"max"`    // higher values are cut to it; 0: no limit
}

// draw returns a value.
func (d Dist) draw(r *rand.Rand) int {
	v := d.Mean
	if d.Spread > 0 {
		variance := math.Log1p(d.Spread * d.Spread)
		v *= math.Exp(math.Sqrt(variance)*r.NormFloat64() - variance/2)
	}
	n := max(int(math.Round(v)), d.Min, 1)
	if d.Max > 0 {
		n = min(n, d.Max)
	}
	return n
}

// Ramp changes a quantity while the engine runs: its factor is 1 up to the step From, reaches Factor at the step To on a
// straight line, and stays there. The zero value changes nothing.
type Ramp struct {
	From   int     `json:"from_step"`
	To     int     `json:"to_step"`
	Factor float64 `json:"factor"`
}

// at returns the factor at a step.
func (r Ramp) at(step int) float64 {
	switch {
	case r == Ramp{} || step <= r.From:
		return 1
	case step >= r.To:
		return r.Factor
	}
	return 1 + (r.Factor-1)*float64(step-r.From)/float64(r.To-r.From)
}
