package storetest

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func testInvalidBatches(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	columns := []store.Column{{Metric: "sps"}, {Metric: "tps"}}
	good := store.Row{Time: t0, Values: []float64{1, 2}}
	for name, spoil := range map[string]func(b *store.Batch){
		"engine":        func(b *store.Batch) { b.Rows[1].Engine = 1 },
		"layout":        func(b *store.Batch) { b.Rows[1].Layout = -1 },
		"values":        func(b *store.Batch) { b.Rows[1].Values = []float64{1} },
		"early":         func(b *store.Batch) { b.Rows[1].Time = -1 },
		"late":          func(b *store.Batch) { b.Rows[1].Time = store.MaxTime + 1 },
		"no deployment": func(b *store.Batch) { b.Engines[0].Deployment = "" },
		"no name":       func(b *store.Batch) { b.Engines[0].Name = "" },
		"long name":     func(b *store.Batch) { b.Engines[0].Name = strings.Repeat("x", store.MaxEngineName+1) },
		"twice":         func(b *store.Batch) { b.Layouts[0].Columns = []store.Column{{Metric: "sps"}, {Metric: "sps"}} },
		"no metric":     func(b *store.Batch) { b.Layouts[0].Columns = []store.Column{{Metric: "sps"}, {}} },
		"event":         func(b *store.Batch) { b.Events = []store.Event{{Engine: 5}} },
		"event range":   func(b *store.Batch) { b.Events = []store.Event{{From: 2, To: 1}} },
		"source":        func(b *store.Batch) { b.Positions = []store.Position{{Value: "x"}} },
		"sequence":      func(b *store.Batch) { b.Seq = math.MaxUint64 },
	} {
		b := one(1, columns, good, good)
		b.Positions = []store.Position{{Source: "a.log", Value: "10"}}
		spoil(b)
		if applied, err := st.Deliver(t.Context(), "node", b); applied {
			t.Errorf("%s: applied", name)
		} else {
			wantErr(t, err, store.ErrInvalid)
		}
	}
	_, err := st.Deliver(t.Context(), "", one(1, columns, good))
	wantErr(t, err, store.ErrInvalid)
	// Nothing of them is there, and the number is still free.
	if at, seq, err := st.Positions(t.Context(), "node"); len(at) != 0 || seq != 0 || err != nil {
		t.Errorf("positions %+v, seq %d, %v", at, seq, err)
	}
	if names := deploymentNames(t, st); len(names) != 0 {
		t.Errorf("deployments %v", names)
	}
	deliver(t, st, "node", one(1, columns, good))
	for range 2 { // without a number nothing is known to be a repetition
		deliver(t, st, "node", one(0, columns, good))
	}
	id := engineIDs(t, st, "prod")["rank0"]
	if got := readAll(t, st, store.Selection{Engines: []int64{id}, Metrics: []string{"sps"}, To: store.MaxTime}); len(got) != 1 || len(got[0].Values) != 3 {
		t.Errorf("three batches: %+v", got)
	}
}

func testEvents(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	b := &store.Batch{Engines: []store.EngineInfo{info("prod", "a"), info("prod", "b")}, Events: []store.Event{
		{Engine: 0, Kind: store.Gap, From: 100, To: 200, FromStep: 5, ToStep: 9, Count: 4, Detail: "rotated\x00 away\nsecond line"},
		{Engine: 1, Kind: store.Silence, From: 50, To: 1000, FromStep: -1, ToStep: -1},
		{Engine: 0, Kind: store.Restart, From: 300, To: 300, FromStep: -7, ToStep: -1, Detail: strings.Repeat("x", store.MaxDetail+5)},
	}}
	deliver(t, st, "node", b)
	ids := engineIDs(t, st, "prod")
	gap, silence, restart := b.Events[0], b.Events[1], b.Events[2]
	gap.Engine, silence.Engine, restart.Engine = ids["a"], ids["b"], ids["a"]
	gap.Detail, restart.Detail, restart.FromStep = "rotated away\nsecond line", strings.Repeat("x", store.MaxDetail), -1
	f := func(from, to int64, engines []int64, want ...store.Event) {
		t.Helper()
		if got, err := st.Events(t.Context(), engines, from, to); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("events from %d to %d: %+v, %v; want %+v", from, to, got, err, want)
		}
	}
	both := []int64{ids["a"], ids["b"]}
	f(0, 1000, both, silence, gap, restart)
	f(0, 1000, both[:1], gap, restart)
	f(0, 100, both, silence) // the end is not in the range
	f(0, 101, both, silence, gap)
	f(200, 300, both, silence, gap) // its last moment is
	f(201, 301, both, silence, restart)
	f(300, 301, both[:1], restart)
	f(301, 900, both[:1])
	f(0, 1000, nil)
}

func testRetention(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	columns := []store.Column{{Metric: "sps"}}
	var rows []store.Row
	for d := range int64(10) {
		for h := range int64(24) {
			rows = append(rows, store.Row{Time: t0 + (24*d+h)*hour, Step: -1, Values: []float64{float64(24*d + h)}})
		}
	}
	b := one(1, columns, rows...)
	b.Events = []store.Event{{Kind: store.Gap, From: t0, To: t0 + hour, FromStep: -1, ToStep: -1}, {Kind: store.Gap, From: t0 + 9*24*hour, To: t0 + 9*24*hour, FromStep: -1, ToStep: -1}}
	deliver(t, st, "node", b)
	id := engineIDs(t, st, "prod")["rank0"]
	all := store.Selection{Engines: []int64{id}, To: store.MaxTime}
	check := func(when string, first, last int, events int) {
		t.Helper()
		got := readAll(t, st, all)
		if len(got) != 1 || len(got[0].Values) != last-first || got[0].Values[0] != float64(first) || got[0].Values[last-first-1] != float64(last-1) {
			t.Fatalf("%s: %d series; want the hours from %d to %d: %v", when, len(got), first, last, got)
		}
		if got, err := st.Events(t.Context(), []int64{id}, 0, store.MaxTime); err != nil || len(got) != events {
			t.Errorf("%s: %d events, %v; want %d", when, len(got), err, events)
		}
	}
	now := t0 + 10*24*hour
	if m := maintain(t, st, now, store.Retention{Raw: 48 * time.Hour}); m.Rows != 8*24 || m.DroppedChunks != 0 {
		t.Errorf("packed all but two days: %+v", m)
	}
	check("packed", 0, 240, 2)
	m := maintain(t, st, now, store.Retention{Chunks: 3 * 24 * time.Hour})
	if m.DroppedChunks == 0 {
		t.Errorf("dropped %+v", m)
	}
	check("seven of ten days dropped", 7*24, 240, 1)
	if m := maintain(t, st, now, store.Retention{Chunks: 3 * 24 * time.Hour}); m != (store.Maintained{}) {
		t.Errorf("again: %+v", m)
	}
	maintain(t, st, now+100*24*hour, store.Retention{Chunks: 24 * time.Hour})
	if got := readAll(t, st, all); len(got) != 0 {
		t.Errorf("all is too old: %+v", got)
	}
}

func testRetentionBySize(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	var columns []store.Column
	for i := range 200 {
		columns = append(columns, store.Column{Metric: fmt.Sprint("m", i)})
	}
	fill := func(seq uint64, from int64) {
		t.Helper()
		var rows []store.Row
		for i := range int64(2 * 24 * 60) { // two days, a row a minute
			v := make([]float64, len(columns))
			for k := range v {
				v[k] = math.Sin(float64(i*200) + float64(k)) // packs badly: 7 bytes or more
			}
			rows = append(rows, store.Row{Time: from + i*60*second, Step: i, Values: v})
		}
		deliver(t, st, "node", one(seq, columns, rows...))
	}
	fill(1, t0)
	fill(2, t0+48*hour)
	id := engineIDs(t, st, "prod")["rank0"]
	first := func() int64 {
		t.Helper()
		got, err := st.Columns(t.Context(), store.Selection{Engines: []int64{id}, To: store.MaxTime})
		if err != nil || len(got) == 0 {
			t.Fatalf("%d columns, %v", len(got), err)
		}
		return got[0].First
	}
	// Each day is 1,440 × 200 values of 6 to 8 bytes: 1.7 to 2.3 MB.
	m := maintain(t, st, t0+200*hour, store.Retention{MaxBytes: 5 << 20})
	if m.DroppedChunks == 0 || m.FreedBytes == 0 {
		t.Errorf("dropped %+v", m)
	}
	if at := first(); at < t0+24*hour {
		t.Errorf("the oldest sample is %d hours old, the oldest days should have gone", (at-t0)/hour)
	}
	if e, err := st.Engines(t.Context(), "prod"); err != nil || e[0].Last != t0+96*hour-60*second {
		t.Errorf("the newest sample: %+v, %v", e, err)
	}
	// Raw rows go by the hour if nothing else is left.
	fill(3, t0+1000*hour)
	maintain(t, st, t0+1048*hour, store.Retention{Raw: 1000 * time.Hour, MaxBytes: 3 << 20})
	if at := first(); at <= t0+1000*hour || (at-t0)%hour != 0 {
		t.Errorf("the oldest raw row is at %d ns of hour %d", (at-t0)%hour, (at-t0)/hour)
	}
}

func testRetentionOfTraces(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{Grace: time.Hour})
	keep(t, st, store.Meta{Name: "x"}, Content(1, 100))
	now := time.Now().UnixNano()
	if m := maintain(t, st, now+23*hour, store.Retention{Traces: 24 * time.Hour}); m.DroppedTraces != 0 {
		t.Errorf("a trace of 23 hours: %+v", m)
	}
	if m := maintain(t, st, now+25*hour, store.Retention{Traces: 24 * time.Hour}); m.DroppedTraces != 1 {
		t.Errorf("a trace of 25 hours: %+v", m)
	}
	if got, _ := names(t, st, store.Query{}); len(got) != 0 {
		t.Errorf("still listed: %v", got)
	}
	if _, err := st.RestoreTrace(t.Context(), ID(Content(1, 100))); err != nil { // within the grace period
		t.Error(err)
	}
}

// What is packed and folded is not packed twice, and what comes late joins it.
func testLateRows(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	columns := []store.Column{{Metric: "sps"}}
	row := func(at int64, v float64) store.Row {
		return store.Row{Time: at, Step: -1, Values: []float64{v}}
	}
	deliver(t, st, "node", one(1, columns, row(t0, 1), row(t0+hour, 2), row(t0+2*hour, 3)))
	id := engineIDs(t, st, "prod")["rank0"]
	for i, late := range []int64{t0 + hour, t0 + 1, t0 + 30*60*second, t0 + hour} {
		if m := maintain(t, st, t0+100*hour, store.Retention{}); m.Rows == 0 {
			t.Errorf("nothing was packed: %+v", m)
		}
		if m := maintain(t, st, t0+100*hour, store.Retention{}); m.Rows != 0 {
			t.Errorf("packed again: %+v", m)
		}
		deliver(t, st, "node", one(uint64(i)+2, columns, row(late, float64(10+i))))
	}
	maintain(t, st, t0+100*hour, store.Retention{})
	got := readAll(t, st, store.Selection{Engines: []int64{id}, To: store.MaxTime})
	// Equal times by arrival: 2 came before 10, and 13 last.
	want := []float64{1, 11, 12, 2, 10, 13, 3}
	if len(got) != 1 || !reflect.DeepEqual(got[0].Values, want) {
		t.Errorf("read %+v, want %v", got, want)
	}
}
