package compare

import (
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/sim"
)

// TestLowLoadAlike compares halves of simulated runs of four engines with little to do.
// Idle steps take some milliseconds, so lines come every 0.2 s while an engine is idle and
// every 2 to 4 s while it works. Whatever a table says of two halves is false: the engines
// of a run differ in nothing but the requests that they get. (Runs differ: each draws
// its step times.)
func TestLowLoadAlike(t *testing.T) {
	runs := 67
	if testing.Short() {
		runs = 4
	}
	halves := [][4]int{{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}}
	for _, rate := range []float64{0.3, 0.6} {
		d := sim.DefaultDeployment()
		d.Name = "low"
		d.Requests.Rate = rate
		all := make([]Side, runs)
		var wg sync.WaitGroup
		for part := range 2 {
			wg.Go(func() {
				for i := part; i < runs; i += 2 {
					all[i] = simulatedFor(t, d, 4, 3*time.Minute, uint64(6000+i))
				}
			})
		}
		wg.Wait()
		bad, n := 0, 0
		for _, run := range all {
			for _, h := range halves {
				a, b := run, run
				a.GPUs, b.GPUs = 2, 2
				a.Engines = []Engine{run.Engines[h[0]], run.Engines[h[1]]}
				b.Engines = []Engine{run.Engines[h[2]], run.Engines[h[3]]}
				table, err := Compare([]Side{a, b}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				n++
				if k, what := falseVerdicts(table); k > 0 {
					bad++
					t.Logf("rate %g: %s, engines %v: %d false verdicts, first %s", rate, run.Name, h, k, what)
				}
			}
		}
		t.Logf("rate %g: %d of %d tables (%.1f %%) with a false verdict", rate, bad, n, 100*float64(bad)/float64(n))
		if float64(bad) > 0.05*float64(n) {
			t.Errorf("rate %g: %d of %d tables have a false verdict, more than 5 %%", rate, bad, n)
		}
	}
}
