package foreign

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var inf = math.Inf(1)

func TestQuantile(t *testing.T) {
	// 10 values: 2 up to 0.1, 5 more up to 0.2, 2 more up to 0.4, 1 above.
	h := []Bucket{{0.1, 2}, {0.2, 7}, {0.4, 9}, {inf, 10}}
	for _, c := range []struct {
		q      float64
		lo, hi float64
	}{
		{0, -inf, 0.1},   // the smallest value
		{0.2, -inf, 0.1}, // rank 2: the last under the first bound, so only "≤ 0.1"
		{0.21, 0.1, 0.2}, // rank ⌈2.1⌉ = 3
		{0.5, 0.1, 0.2},  // rank 5
		{0.7, 0.1, 0.2},  // rank 7
		{0.9, 0.2, 0.4},  // rank 9
		{0.99, 0.4, inf}, // rank ⌈9.9⌉ = 10: above the last bound
		{1, 0.4, inf},
	} {
		if got, ok := Quantile(h, c.q); !ok || got != (Interval{c.lo, c.hi}) {
			t.Errorf("q %v: %v %v, want %v to %v", c.q, got, ok, c.lo, c.hi)
		}
	}
	for name, bad := range map[string][]Bucket{
		"none":        nil,
		"no values":   {{1, 0}, {inf, 0}},
		"no +Inf":     {{1, 2}, {2, 3}},
		"falling":     {{1, 5}, {2, 3}, {3, 9}, {inf, 10}},
		"NaN":         {{1, math.NaN()}, {inf, 10}},
		"NaN in all":  {{1, 1}, {inf, math.NaN()}},
		"bound twice": {{1, 2}, {1, 4}, {inf, 10}},
	} {
		if got, ok := Quantile(bad, 0.9); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, q := range []float64{-0.1, 1.1, math.NaN()} {
		if _, ok := Quantile(h, q); ok {
			t.Errorf("quantile %v", q)
		}
	}
}

// Against the sorted values themselves.
func TestQuantileOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bounds := []float64{0.01, 0.05, 0.1, 0.5, 1, 5, inf}
	for range 200 {
		values := make([]float64, 1+r.IntN(50))
		for i := range values {
			values[i] = math.Exp(r.NormFloat64()*2 - 2)
		}
		slices.Sort(values)
		var h []Bucket
		for _, le := range bounds {
			n := 0
			for _, v := range values {
				if v <= le {
					n++
				}
			}
			h = append(h, Bucket{le, float64(n)})
		}
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
			rank := max(1, int(math.Ceil(q*float64(len(values))-1e-9)))
			v := values[rank-1]
			if got, ok := Quantile(h, q); !ok || !(got.Lo < v && v <= got.Hi) {
				t.Fatalf("q %v of %v: %v, but the value is %v", q, values, got, v)
			}
		}
	}
}

func TestMergeAndBelow(t *testing.T) {
	a := []Bucket{{0.1, 1}, {0.2, 2}, {1, 5}, {inf, 6}}
	b := []Bucket{{0.1, 10}, {0.5, 20}, {1, 30}, {inf, 40}}
	// Common bounds: 0.1 (1+10), 1 (5+30), +Inf (6+40).
	if got, want := Merge(a, b), []Bucket{{0.1, 11}, {1, 35}, {inf, 46}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !(Interval{0.1, 0.2}).Below(Interval{0.2, 0.4}) || (Interval{0.1, 0.3}).Below(Interval{0.2, 0.4}) || (Interval{0.4, inf}).Below(Interval{0.4, inf}) {
		t.Error("Below")
	}
	got := Buckets(map[string]float64{"le=+Inf": 3, "le=0.5": 1, "k=v,le=2": 2, "other": 9, "le=x": 1})
	if want := []Bucket{{0.5, 1}, {2, 2}, {inf, 3}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Counts that aren't whole, by nature or by rounding, put no quantile above the last bound.
func TestQuantileOfFractions(t *testing.T) {
	for _, h := range [][]Bucket{
		{{1, 2.5}, {2, 5.5}, {inf, 5.5}},             // rank ⌈0.99 · 5.5⌉ = 6 is more than there are
		{{1, 20}, {2, 57 - 1e-9}, {inf, 57}},         // a rounding error below rank 57
		{{1, 0.1}, {2, 0.25}, {inf, 0.25}},           // less than one value in all
		{{1, 1}, {2, 1e9}, {3, 3e9 - 1}, {inf, 3e9}}, // rank ⌈0.5 · 3e9⌉ = 1.5e9
	} {
		q := 0.99
		want := Interval{1, 2}
		if h[len(h)-1].N == 3e9 {
			q, want = 0.5, Interval{2, 3}
		}
		if got, ok := Quantile(h, q); !ok || got != want {
			t.Errorf("%v: %v %v, want %v", h, got, ok, want)
		}
		if v, _, ok := Estimate(h, q); !ok || !(v > want.Lo && v <= want.Hi) {
			t.Errorf("%v: estimate %v %v", h, v, ok)
		}
	}
}

func TestEstimate(t *testing.T) {
	// 10 values: 2 up to 0.1, 5 more up to 0.2, 2 more up to 0.4, 1 above.
	h := []Bucket{{0.1, 2}, {0.2, 7}, {0.4, 9}, {inf, 10}}
	for _, c := range []struct{ q, want float64 }{
		{0.2, 0.1},   // under the first bound: nothing more than that is known
		{0.21, 0.12}, // rank 3, the first of 5 values in (0.1, 0.2]: 0.1 + 0.1·1/5
		{0.5, 0.16},  // rank 5, the third: 0.1 + 0.1·3/5
		{0.9, 0.4},   // rank 9, the second of 2 values in (0.2, 0.4]
		{0.99, 0.4},  // above the last bound
	} {
		if got, _, ok := Estimate(h, c.q); !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("q %v: %v %v, want %v", c.q, got, ok, c.want)
		}
	}
	for name, bad := range map[string][]Bucket{"none": nil, "only +Inf": {{inf, 10}}} {
		if got, _, ok := Estimate(bad, 0.5); ok {
			t.Errorf("%s: %v", name, got)
		}
	}
}
