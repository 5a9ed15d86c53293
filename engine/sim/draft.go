package sim

import (
	"math"
	"math/rand/v2"
)

// Draft says how good an engine's draft head is, and how much its confidence head believes it to be.
type Draft struct {
	// Accept is the chance of each drafted position to be accepted once all before it are.
	Accept []float64 `json:"accept"`
	// Threshold ends a sequence's draft where the confidence that all of it is accepted falls below.
	Threshold float64 `json:"threshold"`
	Spread    float64 `json:"spread"` // how much sequences differ from each other
	Noise     float64 `json:"noise"`  // how far single confidences are off
	// Ramp changes what is really accepted, not what the confidence head expects: a target model that was replaced, or
	// texts that the draft head never saw.
	Ramp Ramp `json:"ramp"`
}

// drafter proposes drafts and judges them.
type drafter struct {
	cfg   Draft
	nextN int
	r     *rand.Rand

	// Of the present step: drafted tokens that the confidence head expected to be accepted, and those that were.
	expected, accepted float64
}

// propose decides how many drafted tokens of a sequence are verified.
func (d *drafter) propose(q *sequence) {
	q.verify, q.hope = 0, 0
	confidence := 1.0
	for i := range min(d.nextN, q.output-q.generated-1) {
		confidence *= between(d.chance(q, i)+d.cfg.Noise*d.r.NormFloat64(), 0.01, 0.99)
		if confidence < d.cfg.Threshold {
			return
		}
		q.verify++
		q.hope += confidence
	}
}

// chance is that of a position to be accepted after all before it, without any drift.
func (d *drafter) chance(q *sequence, i int) float64 {
	return between(d.cfg.Accept[min(i, len(d.cfg.Accept)-1)]+d.cfg.Spread*q.ease, 0.02, 0.98)
}

// judge verifies a sequence's draft and returns the tokens that its step generates, by position.
func (d *drafter) judge(q *sequence, step int, generated, verified []int64) {
	drift := d.cfg.Ramp.at(step)
	generated[0]++
	verified[0]++
	q.generated++
	d.expected += q.hope
	alive := true
	for i := range q.verify {
		verified[1+i]++
		if alive = alive && d.r.Float64() < between(d.chance(q, i)*drift, 0, 1); alive {
			generated[1+i]++
			q.generated++
			d.accepted++
		}
	}
}

// confidenceError is how far the confidence head was off in the present step: the tokens that it expected to be accepted
// against those that were.
func (d *drafter) confidenceError() float64 {
	e := math.Abs(d.expected - d.accepted)
	d.expected, d.accepted = 0, 0
	return e
}

func between(v, low, high float64) float64 { return min(max(v, low), high) }
