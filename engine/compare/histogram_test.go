package compare

import (
	"math"
	"testing"

	"github.com/stepscope/stepscope/engine/foreign"
)

// buckets makes a side whose engines count requests per scrape into buckets: counts are
// those between bounds, in every scrape with a ripple.
func buckets(bounds []float64, perScrape [][]float64, scrapes int) Side {
	s := Side{From: 1, To: 2}
	for _, counts := range perScrape {
		e := Engine{Name: "e", Kind: "vllm"}
		for i, b := range bounds {
			series := Series{Key: "TTFT_bucket", Label: "le=" + foreign.Bound(b)}
			for k := range scrapes {
				n := 0.0
				for _, c := range counts[:i+1] {
					n += c * float64(1+k%2)
				}
				series.Times, series.Values = append(series.Times, int64(k+1)*sec), append(series.Values, n)
			}
			e.Series = append(e.Series, series)
		}
		s.Engines = append(s.Engines, e)
	}
	return s
}

var inf = math.Inf(1)

func TestQuantilesOfHistograms(t *testing.T) {
	bounds := []float64{0.1, 0.2, 0.4, inf}
	// Engine 1: 90, 5, 5; engine 2: 10, 80, 10. Together 100 of 200 are ≤ 0.1, 185 ≤ 0.2, all ≤ 0.4. The mean of the engines'
	// own medians (≤ 0.1 and ≤ 0.2) means nothing; of all, the half is reached at 0.1 exactly, 95 % (190) within 0.4.
	side := buckets(bounds, [][]float64{{90, 5, 5, 0}, {10, 80, 10, 0}}, 40)
	h, ok := newView(&side).histogramOf("TTFT")
	if !ok || h.count != 200*60 { // 20 scrapes count once, 20 twice
		t.Fatalf("%v values, %v", h.count, ok)
	}
	if c := h.cell(0.5); c.Low != 0 || c.High != 0.1 {
		t.Errorf("median in (%g, %g], want (0, 0.1]", c.Low, c.High)
	}
	if c := h.cell(0.95); c.Low != 0.2 || c.High != 0.4 {
		t.Errorf("p95 in (%g, %g], want (0.2, 0.4]", c.Low, c.High)
	}
	f := func(a, b [][]float64, stat string, want Verdict, code Code) {
		t.Helper()
		table := compared(t, Options{}, buckets(bounds, a, 60), buckets(bounds, b, 60))
		c := row(t, table, "TTFT", "", stat).Cells[1]
		if c.Verdict != want {
			t.Errorf("%s: %v %+v, want %v", stat, c.Verdict, c.Diff, want)
		}
		found := code == "" || c.Reason != nil && c.Reason.Code == code
		for _, q := range c.Qualifications {
			found = found || q.Code == code
		}
		if !found {
			t.Errorf("%s: neither reason nor condition is %v", stat, code)
		}
	}
	one := func(counts ...float64) [][]float64 { return [][]float64{counts} }
	// The median moves from (0.1, 0.2] to (0.2, 0.4]: adjoining buckets, and yet apart.
	f(one(10, 80, 10, 0), one(10, 20, 70, 0), "p50", Worse, "")
	f(one(10, 20, 70, 0), one(10, 80, 10, 0), "p50", Better, "")
	// In the same bucket nothing can be said, whatever the shares are.
	f(one(10, 80, 10, 0), one(30, 60, 10, 0), "p50", NoEvidence, SameBucket)
	// Below the first bound.
	f(one(90, 5, 5, 0), one(80, 15, 5, 0), "p50", NoEvidence, BelowBounds)
	// Beyond the last.
	f(one(90, 5, 0, 5), one(90, 5, 0, 5), "p99", NoEvidence, BeyondRange)
	// Few scrapes.
	table := compared(t, Options{}, buckets(bounds, one(10, 80, 10, 0), 10), buckets(bounds, one(10, 20, 70, 0), 10))
	if c := row(t, table, "TTFT", "", "p50").Cells[1]; c.Verdict != NeedsData {
		t.Errorf("10 scrapes: %v", c.Verdict)
	}
}

// TestBoundsThatOneEngineLacks: only bounds that all engines of a column have can be
// summed up.
func TestBoundsThatOneEngineLacks(t *testing.T) {
	a := buckets([]float64{0.1, 0.2, inf}, [][]float64{{1, 1, 1}}, 30)
	b := buckets([]float64{0.1, 0.3, inf}, [][]float64{{1, 1, 1}}, 30)
	a.Engines = append(a.Engines, b.Engines...)
	h, ok := newView(&a).histogramOf("TTFT")
	if !ok || len(h.bounds) != 2 || h.bounds[0] != 0.1 {
		t.Errorf("bounds %v, want 0.1 and +Inf", h.bounds)
	}
}
