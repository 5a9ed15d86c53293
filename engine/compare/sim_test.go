package compare

import (
	"fmt"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/engine/sim"
)

// simulated runs engines of a deployment until each has logged so many [stats] lines, and
// gives them as a side. start and each engine's seed shift its clock, as in reality.
func simulated(t testing.TB, d sim.Deployment, engines, lines int, seed uint64) Side {
	return simulate(t, d, engines, seed, func(stats int, _ time.Time) bool { return stats >= lines })
}

// simulatedFor is simulated for a time.
func simulatedFor(t testing.TB, d sim.Deployment, engines int, during time.Duration, seed uint64) Side {
	return simulate(t, d, engines, seed, func(_ int, last time.Time) bool { return last.Sub(simStart) > during })
}

var simStart = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func simulate(t testing.TB, d sim.Deployment, engines int, seed uint64, enough func(stats int, last time.Time) bool) Side {
	t.Helper()
	s := Side{Name: fmt.Sprint(d.Name, seed), Deployment: d.Name, From: 1, To: 1 << 62, GPUs: engines}
	for i := range engines {
		e := Engine{Name: fmt.Sprint("rank", i), Kind: "deepinfer", Role: d.Role}
		index := map[seriesID]int{}
		stats, last := 0, simStart
		engine, err := sim.NewEngine(sim.Config{Deployment: d, Seed: seed, Index: i, Rank: i, GPU: i, World: engines,
			Start: simStart,
			Emit: func(at time.Time, line *ledger.Line) {
				var f Flags
				last = at
				if line.Section == ledger.Stats {
					stats++
					f = DecodeStep
					if v, _ := line.Value("is_prompt", ""); v == 1 {
						f = PromptStep
					}
				}
				if stats <= 2 {
					f |= Filling
				}
				for _, v := range line.Values {
					id := seriesID{v.Key, v.Label}
					k, ok := index[id]
					if !ok {
						k = len(e.Series)
						index[id] = k
						e.Series = append(e.Series, Series{Key: v.Key, Label: v.Label})
					}
					c := &e.Series[k]
					c.Times = append(c.Times, at.UnixNano())
					c.Steps = append(c.Steps, line.Step)
					c.Flags = append(c.Flags, f)
					c.Values = append(c.Values, v.V)
				}
			}})
		for err == nil && !enough(stats, last) {
			err = engine.Step()
		}
		if err != nil { // not Fatal: simulations also run beside the test
			t.Error(err)
		}
		s.Engines = append(s.Engines, e)
	}
	return s
}

// TestSimulatedFleetsAlike compares fleets of one scenario with other seeds: whatever a
// table says of them is false.
func TestSimulatedFleetsAlike(t *testing.T) {
	fleets, tables := 32, 400
	if testing.Short() {
		fleets, tables = 8, 28
	}
	d := sim.DefaultDeployment()
	d.Name = "healthy"
	sides := make([]Side, fleets)
	for i := range sides {
		sides[i] = simulated(t, d, 2, 62, uint64(1000+i))
	}
	bad, n := 0, 0
	for step := 1; n < tables; step++ { // every pair of fleets at most once
		for i := 0; i+step < fleets && n < tables; i++ {
			table, err := Compare([]Side{sides[i], sides[i+step]}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			n++
			if k, what := falseVerdicts(table); k > 0 {
				bad++
				t.Logf("fleets %d and %d: %d false verdicts, first %s", i, i+step, k, what)
			}
		}
	}
	t.Logf("%d of %d tables (%.1f %%) with a false verdict", bad, n, 100*float64(bad)/float64(n))
	if float64(bad) > 0.05*float64(n) {
		t.Errorf("%d of %d tables have a false verdict, more than 5 %%", bad, n)
	}
}
