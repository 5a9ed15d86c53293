package spool

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
)

func TestThinningABatch(t *testing.T) {
	key := func(name string) store.EngineKey { return store.EngineKey{Deployment: "d", Name: name} }
	b := &store.Batch{
		Engines: []store.EngineInfo{{EngineKey: key("a")}, {EngineKey: key("b")}},
		Layouts: []store.Layout{{Section: "stats", Columns: make([]store.Column, 2)}, {Section: "cpu", Columns: make([]store.Column, 1)}},
		Events:  []store.Event{{Engine: 0, Kind: store.Gap, From: 1, To: 2}, {Engine: 1, Kind: store.Dropped, From: 50, To: 60, Count: 7, Detail: thinnedText}},
	}
	row := func(engine, layout int, time int64, values ...float64) {
		b.Rows = append(b.Rows, store.Row{Engine: engine, Layout: layout, Time: time, Values: values})
	}
	row(0, 0, 10, 1, 2)
	row(0, 1, 10, 1)
	row(0, 0, 20, 1, math.NaN()) // goes: 1 sample
	row(0, 1, 20, 1)             // goes: 1
	row(1, 0, 20, 1, 2)
	row(0, 0, 30, 1, 2)
	row(1, 0, 30, 1, 2) // goes: 2
	row(0, 0, 40, 1, 2) // goes: 2
	odd := map[rowKind]bool{}
	if n := thinBatch(b, odd); n != 6 {
		t.Errorf("%d samples went, want 6", n)
	}
	var times []int64
	for _, r := range b.Rows {
		times = append(times, r.Time)
	}
	if !reflect.DeepEqual(times, []int64{10, 10, 20, 30}) {
		t.Errorf("rows at %v stay", times)
	}
	want := []store.Event{
		{Engine: 0, Kind: store.Gap, From: 1, To: 2},
		{Engine: 1, Kind: store.Dropped, From: 30, To: 60, Count: 7 + 2, Detail: thinnedText},
		{Engine: 0, Kind: store.Dropped, From: 20, To: 40, FromStep: -1, ToStep: -1, Count: 1 + 1 + 2, Detail: thinnedText},
	}
	if !reflect.DeepEqual(b.Events, want) {
		t.Errorf("events %+v, want %+v", b.Events, want)
	}
	// A layout without rows goes, and the others' rows find theirs.
	few := &store.Batch{Engines: b.Engines, Layouts: []store.Layout{{Section: "x"}, {Section: "y"}, {Section: "z"}},
		Rows: []store.Row{{Layout: 2, Time: 1}, {Layout: 1, Time: 2}, {Layout: 2, Time: 3}}}
	thinBatch(few, map[rowKind]bool{{b.Engines[0].EngineKey, "y", 0}: true})
	if len(few.Layouts) != 1 || few.Layouts[0].Section != "z" || len(few.Rows) != 1 || few.Rows[0].Layout != 0 || few.Rows[0].Time != 1 {
		t.Errorf("%+v", few)
	}
	// One row a batch: every second batch loses it.
	one := func() int64 {
		return thinBatch(&store.Batch{Engines: b.Engines[1:], Layouts: b.Layouts, Rows: []store.Row{{Values: []float64{1, 2}}}}, odd)
	}
	if got := []int64{one(), one(), one(), one()}; !reflect.DeepEqual(got, []int64{0, 2, 0, 2}) {
		t.Errorf("%v", got)
	}
}

// A full spool halves its oldest rows first, counts each sample that goes, and
// keeps numbers, events and positions. Samples kept + samples counted = samples put in.
func TestAFullSpoolThinsAndCounts(t *testing.T) {
	dir := t.TempDir()
	o := Options{Max: 100_000, Segment: 4_000, Files: &faults{lazy: true}}
	s := mustOpen(t, dir, o)
	const n, rows = 300, 40
	for i := range n {
		b := batch(uint64(i+1), rows)
		b.Events = []store.Event{{Kind: store.Restart, From: int64(i), To: int64(i), FromStep: -1, ToStep: -1}}
		mustAppend(t, s, b)
		if st := s.Stats(); st.Bytes > o.Max {
			t.Fatalf("%d bytes of %d", st.Bytes, o.Max)
		}
		if i == n/2 {
			s = reopen(t, s, dir, o) // how often a segment was thinned is known
		}
	}
	var kept, dropped, restarts int64
	perThird := [3]int64{}
	got := drain(t, s)
	for i, b := range got {
		if b.Seq != uint64(i+1) || len(b.Positions) != 1 || b.Positions[0].Value != strconv.Itoa(i+1) {
			t.Fatalf("batch %d is %+v", i+1, b)
		}
		for _, r := range b.Rows {
			kept += int64(len(r.Values))
			perThird[i*3/n]++
		}
		for _, e := range b.Events {
			switch e.Kind {
			case store.Dropped:
				dropped += e.Count
			case store.Restart:
				restarts++
			}
		}
	}
	if len(got) != n || restarts != n {
		t.Errorf("%d batches, %d events, want %d of each", len(got), restarts, n)
	}
	if kept+dropped != n*rows*2 || dropped == 0 {
		t.Errorf("%d samples kept + %d counted, want %d", kept, dropped, n*rows*2)
	}
	if !(perThird[0] < perThird[1] && perThird[1] < perThird[2]) {
		t.Errorf("rows by thirds: %v; the oldest must be thinned most", perThird)
	}
}

// A batch that is on its way while its rows are thinned is the one that the
// server has; it is forgotten like any other.
func TestThinningWhileABatchIsOnItsWay(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{Max: 30_000, Segment: 3_000})
	mustAppend(t, s, batch(1, 40))
	sent, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(2); s.Stats().Thinned == 0; i++ {
		mustAppend(t, s, batch(i, 40))
	}
	if again, err := s.Next(t.Context()); err != nil || again.Seq != 1 || len(again.Rows) != 20 || len(sent.Rows) != 40 {
		t.Fatalf("%d rows now, %d before, %v", len(again.Rows), len(sent.Rows), err)
	}
	before := s.Stats()
	s.Ack(sent.Seq)
	if st := s.Stats(); st.Batches != before.Batches-1 || st.Waiting >= before.Waiting {
		t.Errorf("%+v, before %+v", st, before)
	}
	if b, err := s.Next(t.Context()); err != nil || b.Seq != 2 {
		t.Errorf("%+v, %v", b, err)
	}
}

// When nothing can be thinned any more, the collector has to wait; once the
// server took something, it goes on.
func TestASpoolThatCantBeThinnedIsFull(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{Max: 10_000, Segment: 1_000})
	var err error
	n := uint64(0)
	for err == nil {
		n++
		err = s.Append(batch(n, 1))
	}
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "--spool-max") || errors.Is(err, store.ErrInvalid) {
		t.Fatalf("%v", err)
	}
	if st := s.Stats(); st.Bytes > 10_000 || st.Batches != int(n-1) {
		t.Errorf("%+v after %d", st, n)
	}
	s.Ack(n / 2)
	mustAppend(t, s, batch(n, 1))
	if err := s.Append(batch(n+1, 2000)); !errors.Is(err, ErrFull) {
		t.Errorf("larger than the spool: %v", err)
	}
}
