package compare

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestTrendIsSaid: a column that rises has no verdict; the answer says how fast it rises,
// and from when on it doesn't.
func TestTrendIsSaid(t *testing.T) {
	rng := newRand(21)
	n := noise{engines: 2, lines: 200, cv: 0.02, rho: 0.3, every: 3 * time.Second} // 200 × 3 s = 10 minutes
	side := func(shape func(part float64) float64) Side {
		s := n.side(rng)
		s.Deployment, s.From, s.To = "prod", simStart.UnixNano(), simStart.UnixNano()+s.To
		for e := range s.Engines {
			for k := range s.Engines[e].Series {
				c := &s.Engines[e].Series[k]
				for i := range c.Times {
					c.Times[i] += simStart.UnixNano()
				}
				for i := range c.Values {
					if c.Key == "completion_TPS" {
						c.Values[i] *= shape(float64(i) / float64(len(c.Values)))
					}
				}
			}
		}
		return s
	}
	level := func(float64) float64 { return 1.2 }
	f := func(shape func(float64) float64, says string, choose bool) Finding {
		t.Helper()
		table := compared(t, Options{}, side(level), side(shape))
		c := row(t, table, "completion_TPS", "", "").Cells[1]
		if c.Verdict != NeedsData || c.Reason.Code != Unsettled {
			t.Errorf("%s: verdict %s %+v", says, c.Verdict, c.Reason)
		}
		got := table.Answer[0]
		if !strings.Contains(got.Text.EN, "column B has no steady level") || !strings.Contains(got.Text.EN, says) {
			t.Errorf("the answer %q, want it to say %q", got.Text.EN, says)
		}
		if choose != (len(got.Choose) == 1) {
			t.Errorf("%s: choices %+v", says, got.Choose)
		}
		return got
	}
	// From 1 to 2 within ten minutes, of a mean of 1.5: 67 %.
	f(func(x float64) float64 { return 1 + x }, "rises by 67 % of its mean in 10 minutes", false)
	f(func(x float64) float64 { return 2 - x }, "falls by 67 % of its mean in 10 minutes", false)
	// Rises for seven tenths of the time, then stands: steady from 6/8 = 450 s on.
	got := f(func(x float64) float64 { return math.Min(1.7, 1+x) }, "from when on it is steady", true)
	if len(got.Choose) == 1 {
		spec, err := ParseColumn(got.Choose[0].Spec)
		if err != nil || got.Choose[0].Column != 1 || spec.Deployment != "prod" {
			t.Fatalf("%+v: %v", got.Choose, err)
		}
		if from := spec.From.Sub(simStart); from < 420*time.Second || from > 540*time.Second {
			t.Errorf("steady from %v on, want 7/10 of ten minutes to an eighth later", from)
		}
	}
}
