package sim

import (
	"math"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/curve"
)

func TestCurve(t *testing.T) {
	d := DefaultDeployment()
	d.Cost.Jitter = 0
	c, err := d.Curve(1)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Points()); n != len(d.Graphs) {
		t.Errorf("%d points, want one for each of %d graphs", n, len(d.Graphs))
	}
	// 13 ms and 21 µs a token.
	if ms, basis := c.At(256); math.Abs(ms-18.376) > 1e-9 || basis != curve.Captured {
		t.Errorf("256 tokens take %g ms, want 18.376", ms)
	}

	d.Cost.Jitter = 0.02
	noisy, err := d.Curve(1)
	if err != nil {
		t.Fatal(err)
	}
	var worst float64
	for i, p := range noisy.Points() {
		worst = max(worst, math.Abs(p.Ms/c.Points()[i].Ms-1))
	}
	if worst == 0 || worst > 0.05 { // the median of five with 2 % each
		t.Errorf("the farthest measured point is off by %g", worst)
	}
	if d.CurveKey(1) == d.CurveKey(2) {
		t.Error("two seeds, which measure differently, share a curve")
	}

	d.Graphs = nil
	if c, err := d.Curve(1); err != nil || len(c.Points()) != 0 {
		t.Errorf("without graphs: %v, error %v", c.Points(), err)
	}
}

// A fleet keeps its curves where engines keep theirs, and a decode step takes what the curve says.
func TestKeptCurve(t *testing.T) {
	dir := t.TempDir()
	d := several(2)
	d.Requests.Rate, d.Cost.Jitter = 20, 0
	runFleet(t, scenarioOf(d), Options{Seed: 1, Steps: 1, Start: testStart, CurveDir: dir})
	cache := curve.Cache{Dir: dir, Now: func() time.Time { return testStart.Add(time.Hour) }}
	kept, err := cache.Load(d.CurveKey(1))
	if err != nil {
		t.Fatal(err)
	}
	d.Cost.ContextTokenNS, d.Cost.ExpertShare = 0, 0
	_, e := runLines(t, d, 1, 1)
	checked := 0
	for e.step < 300 {
		if err := e.Step(); err != nil {
			t.Fatal(err)
		}
		if p, ok := kept.Graph(e.batch.tokens); ok && e.batch.replay {
			if forward := e.unread[(e.step-1)%int64(len(e.unread))]; math.Abs(float64(forward)-p.Ms*1e6) > 1 {
				t.Fatalf("step %d with %d tokens took %d ns on the GPU, want %g ms", e.step-1, e.batch.tokens, forward, p.Ms)
			}
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("%d steps replayed a graph, want most of 300", checked)
	}
}
