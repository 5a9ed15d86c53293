package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// oracle keeps samples in the simplest way and answers as a backend must.
type oracle struct {
	series map[oracleKey][]sample // by arrival
	marks  map[int64][]store.Event
}

type oracleKey struct {
	engine int64
	store.Column
}

type sample struct {
	time, step int64
	flags      store.Flags
	value      float64
}

func (o *oracle) add(b *store.Batch, ids map[string]int64) {
	for _, r := range b.Rows {
		for i, c := range b.Layouts[r.Layout].Columns {
			if v := r.Values[i]; !math.IsNaN(v) {
				k := oracleKey{ids[b.Engines[r.Engine].Name], c}
				o.series[k] = append(o.series[k], sample{r.Time, r.Step, r.Flags, v})
			}
		}
	}
	for _, e := range b.Events {
		if e.Kind == store.CaptureEvent {
			id := ids[b.Engines[e.Engine].Name]
			o.marks[id] = append(o.marks[id], e)
		}
	}
}

// pick is the samples of each series of a selection, in order.
func (o *oracle) pick(s store.Selection) (keys []oracleKey, out [][]sample) {
	for k := range o.series {
		if slices.Contains(s.Engines, k.engine) && (len(s.Metrics) == 0 || slices.Contains(s.Metrics, k.Metric)) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b oracleKey) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Label, b.Label))
	})
	n := 0
	for _, k := range keys {
		var in []sample
		for _, v := range o.series[k] {
			if v.time < s.From || v.time >= s.To {
				continue
			}
			for _, e := range o.marks[k.engine] {
				if v.time >= e.From && v.time <= e.To {
					v.flags |= store.Perturbed
				}
			}
			in = append(in, v)
		}
		if len(in) == 0 {
			continue
		}
		slices.SortStableFunc(in, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
		keys[n], out = k, append(out, in)
		n++
	}
	return keys[:n], out
}

func (o *oracle) points(q store.PointsQuery) (out []store.Points) {
	start, width := q.Grid()
	keys, series := o.pick(q.Selection)
	for i, k := range keys {
		p := store.Points{Engine: k.engine, Column: k.Column, Width: width}
		for _, v := range series[i] {
			const kinds = store.PromptStep | store.DecodeStep
			if q.Only != 0 && v.flags&kinds != 0 && v.flags&q.Only == 0 {
				continue
			}
			from := start + (v.time-start)/width*width
			if n := len(p.Buckets); n == 0 || p.Buckets[n-1].From != from {
				p.Buckets = append(p.Buckets, store.Bucket{From: from, Min: v.value, Max: v.value, FirstStep: v.step})
			}
			b := &p.Buckets[len(p.Buckets)-1]
			b.N++
			b.Min, b.Max, b.Sum, b.Last, b.LastStep = min(b.Min, v.value), max(b.Max, v.value), b.Sum+v.value, v.value, v.step
		}
		if len(p.Buckets) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// close says whether two sums are the same but for the order of adding.
func closeTo(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// check compares all that a backend says about a selection with the oracle.
func (o *oracle) check(t *testing.T, st store.Samples, when string, q store.PointsQuery) {
	t.Helper()
	keys, want := o.pick(q.Selection)
	got := readAll(t, st, q.Selection)
	if len(got) != len(keys) {
		t.Fatalf("%s: Read(%+v) gives %d series, want %d", when, q.Selection, len(got), len(keys))
	}
	for i, s := range got {
		if s.Engine != keys[i].engine || s.Column != keys[i].Column || len(s.Times) != len(want[i]) {
			t.Fatalf("%s: series %d is %d %v with %d samples, want %+v with %d", when, i, s.Engine, s.Column, len(s.Times), keys[i], len(want[i]))
		}
		for k, w := range want[i] {
			if s.Times[k] != w.time || s.Steps[k] != w.step || s.Flags[k] != w.flags || !same(s.Values[k], w.value) {
				t.Fatalf("%s: %+v sample %d is {%d %d %b %v}, want %+v", when, keys[i], k, s.Times[k], s.Steps[k], s.Flags[k], s.Values[k], w)
			}
		}
	}

	columns, err := st.Columns(t.Context(), q.Selection)
	if err != nil || len(columns) != len(keys) {
		t.Fatalf("%s: %d columns, %v; want %d", when, len(columns), err, len(keys))
	}
	for i, c := range columns {
		w := store.SeriesInfo{Engine: keys[i].engine, Column: keys[i].Column, First: want[i][0].time, Last: want[i][len(want[i])-1].time}
		if c != w {
			t.Fatalf("%s: column %+v, want %+v", when, c, w)
		}
	}

	latestWant := q.Selection
	latestWant.To = store.MaxTime + 1
	keys, want = o.pick(latestWant)
	latest, err := st.Latest(t.Context(), q.Engines, q.Metrics, q.From)
	if err != nil || len(latest) != len(keys) {
		t.Fatalf("%s: %d latest values since %d, %v; want %d", when, len(latest), q.From, err, len(keys))
	}
	for i, l := range latest {
		w := want[i][len(want[i])-1]
		if l.Engine != keys[i].engine || l.Column != keys[i].Column || l.Time != w.time || l.Step != w.step || l.Flags != w.flags || !same(l.Value, w.value) {
			t.Fatalf("%s: latest %+v, want %+v of %+v", when, l, w, keys[i])
		}
	}

	points, err := st.Points(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	wantPoints := o.points(q)
	if len(points) != len(wantPoints) {
		t.Fatalf("%s: Points(%+v) gives %d series, want %d", when, q, len(points), len(wantPoints))
	}
	for i, p := range points {
		w := wantPoints[i]
		if p.Engine != w.Engine || p.Column != w.Column || p.Width != w.Width || len(p.Buckets) != len(w.Buckets) {
			t.Fatalf("%s: Points(%+v) %d: %d %v width %d, %d buckets; want %d %v %d, %d", when, q, i, p.Engine, p.Column, p.Width, len(p.Buckets), w.Engine, w.Column, w.Width, len(w.Buckets))
		}
		for k, b := range p.Buckets {
			u := w.Buckets[k]
			if !closeTo(b.Sum, u.Sum) || !same(b.Min, u.Min) || !same(b.Max, u.Max) || !same(b.Last, u.Last) || b.From != u.From || b.N != u.N || b.FirstStep != u.FirstStep || b.LastStep != u.LastStep {
				t.Fatalf("%s: Points(%+v) %v bucket %d is %+v, want %+v", when, q, p.Column, k, b, u)
			}
		}
	}
}

// testOracle delivers random batches, early, late and out of order, and asks
// random questions before and after each Maintain.
func testOracle(t *testing.T, open Open) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) { oracleRun(t, open, seed) })
	}
}

func oracleRun(t *testing.T, open Open, seed uint64) {
	st := fresh(t, open, store.Options{})
	r := rand.New(rand.NewPCG(seed, 9))
	o := &oracle{map[oracleKey][]sample{}, map[int64][]store.Event{}}
	engines := []store.EngineInfo{info("prod", "a"), info("prod", "b"), info("test", "c")}
	layouts := []store.Layout{
		{Section: "stats", Columns: []store.Column{{Metric: "sps"}, {Metric: "tps"}, {Metric: "acc", Label: "1"}, {Metric: "acc", Label: "2"}, {Metric: "never"}}},
		{Section: "stats", Columns: []store.Column{{Metric: "tps"}, {Metric: "new"}, {Metric: "sps"}}}, // another version of the same lines
		{Section: "cpu", Columns: []store.Column{{Metric: "timer", Label: "schedule"}, {Metric: "timer", Label: "launch"}}},
		{Section: "cuda", Columns: []store.Column{{Metric: "kernel"}, {Metric: "acc", Label: "3"}}},
	}
	random := func(col int) float64 {
		switch k := r.IntN(40); {
		case k < 6:
			return nan
		case k == 6:
			return math.Copysign(0, -1)
		case k == 7:
			return math.Inf(1)
		case k < 10:
			return r.NormFloat64()
		}
		return float64(r.IntN(1000*(col+1))) / 100
	}
	clock := t0 + 5*hour
	var seq uint64
	for round := range 12 {
		b := &store.Batch{Engines: engines, Layouts: layouts}
		n := r.IntN(400)
		pace := []int64{3 * second, 60 * second}[r.IntN(2)] // a hundred rows of an hour at once, or few
		for range n {
			at := clock
			clock += r.Int64N(pace)
			switch k := r.IntN(50); {
			case k == 0: // late, by up to two days
				at -= r.Int64N(48 * hour)
			case k == 1: // the very time of another row
				if len(b.Rows) > 0 {
					at = b.Rows[r.IntN(len(b.Rows))].Time
				}
			case k == 2:
				clock += r.Int64N(300 * pace) // a gap
			}
			row := store.Row{Engine: r.IntN(3), Layout: r.IntN(4), Time: at / second * second, Step: r.Int64N(10_000) - 1, Flags: store.Flags(r.IntN(1 << 5))}
			for col := range layouts[row.Layout].Columns {
				row.Values = append(row.Values, random(col))
			}
			if row.Layout == 0 {
				row.Values[4] = nan
			}
			b.Rows = append(b.Rows, row)
		}
		if r.IntN(2) == 0 {
			from := clock - r.Int64N(hour)
			b.Events = append(b.Events, store.Event{Engine: int64(r.IntN(3)), Kind: store.CaptureEvent, From: from, To: from + r.Int64N(600*second), FromStep: -1, ToStep: -1},
				store.Event{Engine: 0, Kind: store.Gap, From: from, To: clock})
		}
		seq++
		b.Seq = seq
		deliver(t, st, "node", b)
		ids := engineIDs(t, st, "")
		o.add(b, ids)
		ask := func(when string) {
			t.Helper()
			all := []int64{ids["a"], ids["b"], ids["c"]}
			o.check(t, st, fmt.Sprintf("round %d, %s", round, when), store.PointsQuery{Selection: store.Selection{Engines: all, From: 0, To: store.MaxTime}})
			for range 6 {
				q := store.PointsQuery{Points: []int{0, 1, 7, 100, 4000}[r.IntN(5)], Only: []store.Flags{0, store.OnlyPrompt, store.OnlyDecode}[r.IntN(3)]}
				q.Engines = all[r.IntN(3):]
				q.Metrics = [][]string{nil, {"sps"}, {"acc", "timer"}, {"none", "kernel"}, {"never"}}[r.IntN(5)]
				q.From = t0 + r.Int64N(clock-t0)
				q.To = q.From + r.Int64N([]int64{hour, 30 * hour, 100 * hour}[r.IntN(3)])
				if r.IntN(4) == 0 {
					q.From, q.To = q.From/hour*hour, q.To/hour*hour
				}
				o.check(t, st, fmt.Sprintf("round %d, %s", round, when), q)
			}
		}
		ask("delivered")
		if r.IntN(3) > 0 {
			if _, err := st.Maintain(t.Context(), time.Unix(0, clock+r.Int64N([]int64{10 * hour, hour / 6}[r.IntN(2)])), store.Retention{}); err != nil {
				t.Fatal(err)
			}
			ask("maintained")
		}
	}
}
