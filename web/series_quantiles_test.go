package web

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// bucketColumns are a histogram of TTFT with these bounds, in seconds.
func bucketColumns(bounds ...float64) []store.Column {
	var out []store.Column
	for _, le := range bounds {
		text := fmt.Sprintf("le=%g", le)
		if math.IsInf(le, 1) {
			text = "le=+Inf"
		}
		out = append(out, store.Column{Metric: "TTFT" + ledger.BucketSuffix, Label: text})
	}
	return out
}

func quantileQuery(joined bool) seriesQuery {
	return seriesQuery{deployment: "prod", metrics: []string{"TTFT"}, joined: joined}
}

func TestQuantilesOfAddedBuckets(t *testing.T) {
	s := newSite(t, nil)
	var engines []store.EngineInfo
	for i := range 2 {
		e := engine("prod", fmt.Sprint("server", i), i)
		e.Kind = "vllm"
		engines = append(engines, e)
	}
	columns := bucketColumns(0.1, 0.2, 0.4, math.Inf(1))
	at := 30*time.Minute - time.Second
	s.seed(engines, columns, []sample{
		{0, at, -1, 0, []float64{10, 90, 98, 100}}, // 100 fast requests
		{1, at, -1, 0, []float64{0, 0, 40, 100}},   // 100 slow ones, 60 of them beyond 0.4 s
	})
	a := s.series(quantileQuery(true))
	if len(a.Lines) != 3 || a.Engines != 2 || a.Samples != 200 {
		t.Fatalf("%d lines of %d engines, %d requests; want p50, p90, p99 of 2 engines and 200 requests", len(a.Lines), a.Engines, a.Samples)
	}
	// Added: 10 up to 0.1, 90 up to 0.2, 138 up to 0.4, 200 in all.
	// p50: rank 100 lies in (0.2, 0.4], the 10th of its 48 values: 200 + 200·10/48 ms.
	// p90 and p99: ranks 180 and 198 lie above 0.4 s. (A mean of the engines' p50 of 0.15 and > 0.4 would say 0.275.)
	for i, want := range []struct {
		label        string
		v, low, high float64
	}{{"p50", 200 + 200*10.0/48, 200, 400}, {"p90", 400, 400, math.Inf(1)}, {"p99", 400, 400, math.Inf(1)}} {
		l := a.Lines[i]
		if l.Label != want.label || l.Engine != "" || len(l.Mean) != 1 {
			t.Fatalf("line %d: %+v", i, l)
		}
		same(t, want.label, []float64{l.Mean[0], l.Low[0], float64(l.Counts[0])}, []float64{want.v, want.low, 200})
		if math.Abs(l.High[0]-want.high) > 1e-9 {
			t.Errorf("%s lies below %v, want %v", want.label, l.High[0], want.high)
		}
	}
	if c := a.Lines[0].clipped(); c != nil {
		t.Errorf("p50 is marked: %v", c)
	}
	if c := a.Lines[1].clipped(); !slices.Equal(c, []int{1}) {
		t.Errorf("p90 is marked %v, want that it lies above the last bound", c)
	}

	// Each engine: p50 of the first has rank 50, the 40th of 80 values in (0.1, 0.2]; of the second rank 50 lies above 0.4.
	a = s.series(quantileQuery(false))
	got := map[string]float64{}
	for _, l := range a.Lines {
		got[l.Label+" "+l.Engine] = l.Mean[0]
	}
	if len(got) != 6 || math.Abs(got["p50 server0"]-150) > 1e-9 || got["p50 server1"] != 400 {
		t.Errorf("each engine: %v", got)
	}

	// One quantile by its label.
	q := quantileQuery(true)
	q.label, q.hasLabel = "p99", true
	if a = s.series(q); len(a.Lines) != 1 || a.Lines[0].Label != "p99" {
		t.Errorf("only p99: %+v", a.Lines)
	}
}

func TestQuantilesBelowTheFirstBound(t *testing.T) {
	s := newSite(t, nil)
	e := engine("prod", "server", 0)
	s.seed([]store.EngineInfo{e}, bucketColumns(0.1, 0.2, math.Inf(1)), []sample{{0, 10 * time.Minute, -1, 0, []float64{99, 100, 100}}})
	a := s.series(quantileQuery(true))
	// Ranks 50, 90 and 99 all lie under 0.1 s: at most 100 ms is all that is known.
	for _, l := range a.Lines {
		if !slices.Equal(l.clipped(), []int{-1}) || l.Mean[0] != 100 {
			t.Errorf("%s: %v %v, want at most 100", l.Label, l.Mean, l.clipped())
		}
	}
}

// Engines of other bounds are added over the bounds that both have, and cells
// are taken together until each engine was read: every value counts once.
func TestQuantilesOfOtherBounds(t *testing.T) {
	s := newSite(t, nil)
	s.seed([]store.EngineInfo{engine("prod", "a", 0)}, bucketColumns(0.1, 0.2, 0.4, math.Inf(1)), []sample{
		{0, 30 * time.Minute, -1, 0, []float64{0, 10, 10, 10}},
		{0, 28 * time.Minute, -1, 0, []float64{0, 10, 10, 10}},
	})
	s.seed([]store.EngineInfo{engine("prod", "b", 1)}, bucketColumns(0.15, 0.4, math.Inf(1)), []sample{
		{0, 29 * time.Minute, -1, 0, []float64{0, 10, 10}},
		{0, 27 * time.Minute, -1, 0, []float64{0, 5, 5}},
	})
	a := s.series(quantileQuery(true))
	// Each engine is read every 2 min, a cell is 1 min: cells 30 and 31 make a point, and 32 and 33. 0.4 and +Inf are the
	// common bounds, so the 20 and 15 values are known to be at most 400 ms and nothing more.
	l := a.Lines[0]
	same(t, "p50", l.Mean, []float64{400, 400})
	if c := l.clipped(); !slices.Equal(c, []int{-1, -1}) || !slices.Equal(l.Cells, []int{31, 33}) {
		t.Errorf("marks %v in cells %v", c, l.Cells)
	}
	if !slices.Equal(l.Counts, []int64{20, 15}) || a.Samples != 35 {
		t.Errorf("of %v values, %d in all", l.Counts, a.Samples)
	}
}

// A bound that some readings lack can't be summed over them.
func TestQuantilesOfHalfABound(t *testing.T) {
	s := newSite(t, nil)
	nan := math.NaN()
	s.seed([]store.EngineInfo{engine("prod", "a", 0)}, bucketColumns(0.1, 0.2, 0.4, math.Inf(1)), []sample{
		{0, 30*time.Minute - 10*time.Second, -1, 0, []float64{0, 10, 10, 10}},
		{0, 30*time.Minute - 20*time.Second, -1, 0, []float64{0, nan, 10, 10}},
	})
	l := s.series(quantileQuery(true)).Lines[0]
	// 20 values in one cell: none up to 0.1, all up to 0.4: rank 10 of 20 in (0.1, 0.4] is 250 ms.
	same(t, "p50", []float64{l.Mean[0], l.Low[0], l.High[0]}, []float64{250, 100, 400})
}

// Many engines over many cells with few readings take the room of their readings, not that of all cells for each bound.
func TestQuantilesOfManyEnginesTakeLittleRoom(t *testing.T) {
	const engines, cells = 200, 2000
	columns := bucketColumns(0.1, 0.2, 0.3, 0.4, 0.5, 1, 2, 3, 4, 5, 10, math.Inf(1))
	var points []store.Points
	for e := range int64(engines) {
		for i, c := range columns {
			points = append(points, store.Points{Engine: e, Column: c, Width: 1, Buckets: []store.Bucket{{From: 7 * e, N: 1, Sum: float64(i + 1)}}})
		}
	}
	b := seriesBuilder{grid: grid{width: 1, cells: cells}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := b.histEngines(ledger.Metric{Key: "TTFT"}, points)
	runtime.ReadMemStats(&after)
	// The cells of each engine, 24 bytes a list, are 9.6 MB; sums and numbers for each bound of each engine would be 200 × 12 × 2000 × 16 B = 77 MB more.
	if used := after.TotalAlloc - before.TotalAlloc; used > 20<<20 {
		t.Errorf("%d MB are taken, want 20 at most", used>>20)
	}
	if len(got) != engines || counted(got[3].cells[21]) != 12 || got[3].cells[20] != nil {
		t.Errorf("%d engines, the fourth has %v in cell 21", len(got), got[3].cells[21])
	}
}

func TestManyEnginesHaveABandOfTheTail(t *testing.T) {
	s := newSite(t, nil)
	var engines []store.EngineInfo
	var samples []sample
	for i := range 16 {
		engines = append(engines, engine("prod", fmt.Sprintf("e%02d", i), i))
		values := []float64{0, 50, 100, 100} // p99: rank 99, the 49th of 50 values in (0.2, 0.4]: 396 ms
		if i == 7 {
			values = []float64{0, 0, 0, 100} // above 0.4 s … which is 400 ms at least: 1 % off
		}
		if i == 9 {
			values = []float64{100, 100, 100, 100} // at most 100 ms: 75 % off
		}
		samples = append(samples, sample{i, 20 * time.Minute, -1, 0, values})
	}
	s.seed(engines, bucketColumns(0.1, 0.2, 0.4, math.Inf(1)), samples)
	a := s.series(quantileQuery(false))
	if len(a.Bands) != 1 || a.Bands[0].Label != "p99" {
		t.Fatalf("bands %+v", a.Bands)
	}
	same(t, "median of p99", a.Bands[0].P50[:1], []float64{396})
	if len(a.Outliers) != 1 || a.Outliers[0].Engine != "e09" {
		t.Errorf("outliers %+v, want e09", a.Outliers)
	}
	if len(a.Lines) != 1 || a.Lines[0].Engine != "e09" || a.Lines[0].clipped()[0] != -1 {
		t.Errorf("lines %+v", a.Lines)
	}
}
