package web

import (
	"math"

	"github.com/stepscope/stepscope/engine/ledger"
)

// present takes a metric's value as the pages do: where an engine writes 0 to
// say that there was nothing to report, the value is absent.
func present(m ledger.Metric, v float64) float64 {
	if m.ZeroIsAbsent && v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// aggregate joins the values that several engines have at one time by the
// metric's own rule, and says how many went in. Absent values are NaN, as is
// the result where there is none, where the rule forbids one number, or where
// the weights of a mean are all 0 or absent. weights may be nil: every engine counts once.
func aggregate(rule ledger.Aggregation, values, weights []float64) (v float64, n int) {
	v = math.NaN()
	sum, weight := 0.0, 0.0
	for i, x := range values {
		if math.IsNaN(x) {
			continue
		}
		w := 1.0
		if rule.Op == ledger.WeightedMean && rule.By != "" && weights != nil {
			if w = weights[i]; math.IsNaN(w) || w <= 0 {
				continue // nothing was counted there: its mean says nothing
			}
		}
		n++
		switch rule.Op {
		case ledger.Sum, ledger.WeightedMean:
			sum, weight = sum+w*x, weight+w
		case ledger.Max:
			if n == 1 || x > v {
				v = x
			}
		case ledger.Min:
			if n == 1 || x < v {
				v = x
			}
		}
	}
	switch {
	case n == 0:
	case rule.Op == ledger.Sum:
		v = sum
	case rule.Op == ledger.WeightedMean:
		v = sum / weight
	case rule.Op == ledger.Apart && n == 1:
		for _, x := range values {
			if !math.IsNaN(x) {
				v = x
			}
		}
	}
	return v, n
}
