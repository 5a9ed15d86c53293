package web

import (
	"math"
	"testing"

	"github.com/stepscope/stepscope/engine/ledger"
)

func TestAggregateFollowsTheRule(t *testing.T) {
	nan := math.NaN()
	f := func(op ledger.Op, by string, values, weights []float64, want float64, wantN int) {
		t.Helper()
		got, n := aggregate(ledger.Aggregation{Op: op, By: by}, values, weights)
		if n != wantN || math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("%s by %q of %v, weights %v: %v from %d, want %v from %d", op, by, values, weights, got, n, want, wantN)
		}
	}
	f(ledger.Sum, "", []float64{1, nan, 2.5}, nil, 3.5, 2)
	f(ledger.Sum, "", []float64{nan, nan}, nil, nan, 0)
	f(ledger.Max, "", []float64{nan, -3, -7}, nil, -3, 2)
	f(ledger.Min, "", []float64{4, nan, 6}, nil, 4, 2)
	f(ledger.WeightedMean, "", []float64{0.5, 0.9}, nil, 0.7, 2) // (0.5 + 0.9) ÷ 2
	// (0.5 × 300 + 0.9 × 100) ÷ 400
	f(ledger.WeightedMean, "verified_tokens", []float64{0.5, 0.9}, []float64{300, 100}, 0.6, 2)
	// An engine that verified nothing has no acceptance to count.
	f(ledger.WeightedMean, "verified_tokens", []float64{0, 0.9}, []float64{0, 100}, 0.9, 1)
	f(ledger.WeightedMean, "verified_tokens", []float64{0.4, 0.9}, []float64{nan, 100}, 0.9, 1)
	f(ledger.WeightedMean, "verified_tokens", []float64{0.4}, []float64{0}, nan, 0)
	f(ledger.Apart, "", []float64{nan, 1}, nil, 1, 1)
	f(ledger.Apart, "", []float64{0, 1}, nil, nan, 2)
}

func TestZeroThatMeansNothing(t *testing.T) {
	f := func(key string, v, want float64) {
		t.Helper()
		m, ok := ledger.Lookup(key)
		if !ok {
			t.Fatalf("no metric %s", key)
		}
		if got := present(m, v); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s %v is shown as %v, want %v", key, v, got, want)
		}
	}
	f("TTFT_mean", 0, math.NaN())
	f("TTFT_mean", 12, 12)
	f("pending", 0, 0)
	f("pending", math.Inf(1), math.NaN())
}
