package compare

import (
	"math"
	"testing"
	"time"
)

func TestLastDigit(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{0.1, 0.2, 1.4}, 0.1},
		{[]float64{12, 0.25}, 0.01},
		{[]float64{12, 40000}, 1},
		{[]float64{0.6235, 0.6240}, 1e-4}, // 62.35 % as a share
		{[]float64{1.0 / 3}, 0},           // computed
		{nil, 1},
	} {
		if got := lastDigit(c.x); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("lastDigit(%v) = %g, want %g", c.x, got, c.want)
		}
	}
}

// TestRoundedValuesThatStandStill: a timer that prints 0.1 ms is between 0.05 and 0.15 ms.
func TestRoundedValuesThatStandStill(t *testing.T) {
	side := func(key string, value func(i int) float64) Side {
		e := Engine{Name: "rank0", Kind: "deepinfer"}
		s := Series{Key: key, Label: "schedule:post"}
		if key == "running" {
			s.Label = ""
		}
		for i := range 300 {
			s.Times = append(s.Times, int64(i+1)*int64(time.Second))
			s.Flags = append(s.Flags, DecodeStep)
			s.Values = append(s.Values, value(i))
		}
		e.Series = []Series{s}
		return Side{Name: "x", From: 1, To: int64(400 * time.Second), Engines: []Engine{e}}
	}
	f := func(key string, a, b func(i int) float64, want Verdict, se float64) {
		t.Helper()
		table, err := Compare([]Side{side(key, a), side(key, b)}, Options{Metrics: []string{key}})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range table.Groups {
			for _, r := range g.Rows {
				if r.Metric.Key != key {
					continue
				}
				c := r.Cells[1]
				if c.Verdict != want || math.Abs(c.Diff.SE-se) > 0.03*se {
					t.Errorf("%s: %+.5g ± %.4g %s, want %s ± %.4g", key, c.Diff.Value, c.Diff.SE, c.Verdict, want, se)
				}
			}
		}
	}
	still := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	// One line of 300 prints 0.2, the rest 0.1: 0.10033 against 0.1. Each column may be wrong by 0.1/2 = 0.05,
	// both by 0.0707; the one line takes the first's variance, 0.00577², off by exp(−4π² × 0.00577²/0.1²) = 0.877.
	once := func(i int) float64 {
		if i == 150 {
			return 0.2
		}
		return 0.1
	}
	f("cpu_max", once, still(0.1), NoEvidence, 0.05*math.Sqrt(1+0.877))
	// 0.1 and 0.2 ms may both be 0.15; 0.1 and 0.4 may not: 0.3 is 4.2 of 0.0707.
	f("cpu_max", still(0.1), still(0.2), NoEvidence, 0.0707)
	f("cpu_max", still(0.1), still(0.4), Worse, 0.0707)
	// Counts are exact.
	f("running", still(20), still(21), Changed, 0)
}
