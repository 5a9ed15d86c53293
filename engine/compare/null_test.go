package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// noise is a made-up deployment: every metric of the engine's [stats] line and of some
// timers, each a first-order autoregression around its level, independent of the others.
type noise struct {
	engines, lines int
	cv, rho        float64
	grain          float64 // share of the variance that is noise of single lines
	tail           bool    // values are lognormal: few large ones
	missing        float64 // share of lines that are lost
	apart          float64 // relative standard deviation of the engines' levels
	every          time.Duration
	factor         map[string]float64 // of a metric's level
}

// side draws one.
func (n noise) side(rng *rand.Rand) Side {
	s := Side{Name: "noise", Deployment: "noise", From: 1, To: int64(n.lines+2) * int64(n.every), GPUs: n.engines}
	for e := range n.engines {
		engine := Engine{Name: fmt.Sprint("rank", e), Kind: "deepinfer", Role: "mixed"}
		times := make([]int64, n.lines)
		for i := range times { // engines don't log at the same moment, and never exactly in time
			times[i] = int64(n.every)*int64(i+1) + int64(e)*int64(n.every)/7 + rng.Int64N(int64(n.every)/20)
		}
		lost := make([]bool, n.lines)
		for i := range lost {
			lost[i] = n.missing > 0 && rng.Float64() < n.missing
		}
		for _, m := range ledger.Metrics() {
			labels := []string{""}
			switch {
			case m.Section == ledger.NCCL || m.Aggregate.Op == ledger.Apart:
				continue
			case m.Group == ledger.TimersGroup:
				labels = []string{"schedule", "launch_forward", "worker.post_process.sync"}
			case m.Label.EN != "":
				labels = []string{"1", "2", "3"}
			}
			for _, label := range labels {
				engine.Series = append(engine.Series, n.series(rng, m, label, times, lost))
			}
		}
		s.Engines = append(s.Engines, engine)
	}
	return s
}

func (n noise) series(rng *rand.Rand, m ledger.Metric, label string, times []int64, lost []bool) Series {
	s := Series{Key: m.Key, Label: label}
	base := 100.0
	if m.Unit == ledger.Share {
		base = 0.5
	}
	f := 1.0
	if v, ok := n.factor[m.Key]; ok {
		f = v
	}
	if n.apart > 0 {
		f *= 1 + n.apart*rng.NormFloat64()
	}
	z, total := rng.NormFloat64(), 1000.0
	sigma := math.Sqrt(math.Log(1 + n.cv*n.cv)) // of a lognormal's logarithm: cv² = exp(σ²) − 1, mean exp(σ²/2)
	for i := range times {
		z = n.rho*z + math.Sqrt(1-n.rho*n.rho)*rng.NormFloat64()
		x := base * f * (1 + n.cv*(math.Sqrt(1-n.grain)*z+math.Sqrt(n.grain)*rng.NormFloat64()))
		if n.tail {
			x = base * f * math.Exp(sigma*z-sigma*sigma/2)
		}
		if m.Kind == ledger.Counter {
			total += x
			x = total
		}
		if lost[i] {
			continue
		}
		s.Times = append(s.Times, times[i])
		s.Flags = append(s.Flags, DecodeStep)
		s.Values = append(s.Values, x)
	}
	return s
}

// falseVerdicts counts the cells that claim a difference.
func falseVerdicts(t *Table) (n int, first string) {
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				if c.Verdict.Evidenced() {
					if n++; n == 1 {
						first = fmt.Sprintf("%s %s: %.4g%% p %.2g adjusted %.2g", r.Metric.Key, r.Label, 100*c.Diff.Rel, c.Diff.P, c.Diff.Adjusted)
					}
				}
			}
		}
	}
	return n, first
}

// TestNoFalseVerdicts compares equal deployments. Nominally 2 % of tables have any
// verdict; of N tables at most 5 % may, which for a true 2 % is more than 4 standard
// deviations away at N = 400: √(0.02 × 0.98 ÷ 400) = 0.7 %.
func TestNoFalseVerdicts(t *testing.T) {
	f := func(tables int, n noise) {
		t.Helper()
		if testing.Short() {
			tables /= 8
		}
		rng := rand.New(rand.NewPCG(7, uint64(1000*n.rho)+uint64(n.lines)))
		bad, tests := 0, 0
		for range tables {
			table, err := Compare([]Side{n.side(rng), n.side(rng)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			tests = table.Method.Tests
			if k, what := falseVerdicts(table); k > 0 {
				bad++
				t.Logf("%+v: %d false verdicts, first %s", n, k, what)
			}
		}
		t.Logf("%+v: %d of %d tables (%.1f %%) with a false verdict, %d tests each", n, bad, tables, 100*float64(bad)/float64(tables), tests)
		if float64(bad) > 0.05*float64(tables) {
			t.Errorf("%+v: %d of %d tables have a false verdict, more than 5 %%", n, bad, tables)
		}
	}
	f(400, noise{engines: 4, lines: 60, cv: 0.05, rho: 0.5, every: 3 * time.Second})
	f(200, noise{engines: 1, lines: 60, cv: 0.05, rho: 0.8, every: 3 * time.Second})
	f(200, noise{engines: 4, lines: 120, cv: 0.05, rho: 0.9, grain: 0.5, every: 3 * time.Second})
	f(200, noise{engines: 2, lines: 30, cv: 0.2, rho: 0, every: 40 * time.Second})
}

// TestFindsFivePercent: with 4 engines a side, 60 lines each, a coefficient of variation
// of 5 % and an autocorrelation of 0.5 the mean of one side is worth 240 ÷ 3 = 80
// independent lines, since (1 + 0.5) ÷ (1 − 0.5) = 3. The standard error of the
// difference is 5 % × √(2 ÷ 80) = 0.79 %, and 5 % are 6.3 of them; the critical value
// at (2 % ÷ 2) ÷ 10 headline rows and some 50 degrees of freedom is 3.5. So all but about
// Φ(3.5 − 6.3) < 1 % of tables should find it.
func TestFindsFivePercent(t *testing.T) {
	tables := 400
	if testing.Short() {
		tables = 100
	}
	good := noise{engines: 4, lines: 60, cv: 0.05, rho: 0.5, every: 3 * time.Second}
	bad := good
	bad.factor = map[string]float64{"completion_TPS": 0.95}
	rng := rand.New(rand.NewPCG(3, 5))
	found := 0
	for range tables {
		table, err := Compare([]Side{good.side(rng), bad.side(rng)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range table.Groups[0].Rows {
			if c := r.Cells[1]; r.Metric.Key == "completion_TPS" && c.Verdict == Worse {
				found++
			}
		}
	}
	t.Logf("found in %d of %d tables (%.1f %%)", found, tables, 100*float64(found)/float64(tables))
	least := 0.95
	if testing.Short() { // of so few, two standard deviations less
		least -= 2 * math.Sqrt(0.95*0.05/float64(tables))
	}
	if float64(found) < least*float64(tables) {
		t.Errorf("found in %d of %d tables, less than %.0f %%", found, tables, 100*least)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
