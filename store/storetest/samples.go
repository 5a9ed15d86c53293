package storetest

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

var nan = math.NaN()

// t0 is a whole hour: 2026-03-01 00:00 UTC.
const (
	t0     = int64(1_772_323_200_000_000_000)
	second = int64(time.Second)
	hour   = int64(time.Hour)
)

func deliver(t *testing.T, st store.Samples, collector string, b *store.Batch) {
	t.Helper()
	if applied, err := st.Deliver(t.Context(), collector, b); err != nil || !applied {
		t.Fatalf("Deliver of batch %d: applied %v, %v", b.Seq, applied, err)
	}
}

func info(deployment, name string) store.EngineInfo {
	return store.EngineInfo{EngineKey: store.EngineKey{Deployment: deployment, Name: name}, Rank: -1, GPU: -1}
}

// engineIDs are the ids of a deployment's engines by name.
func engineIDs(t *testing.T, st store.Samples, deployment string) map[string]int64 {
	t.Helper()
	engines, err := st.Engines(t.Context(), deployment)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int64{}
	for _, e := range engines {
		ids[e.Name] = e.ID
	}
	return ids
}

func readAll(t *testing.T, st store.Samples, s store.Selection) (out []store.Series) {
	t.Helper()
	err := st.Read(t.Context(), s, func(r *store.Series) error {
		out = append(out, store.Series{Engine: r.Engine, Column: r.Column, Times: append([]int64(nil), r.Times...), Steps: append([]int64(nil), r.Steps...),
			Flags: append([]store.Flags(nil), r.Flags...), Values: append([]float64(nil), r.Values...)})
		return nil
	})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return out
}

// one is a batch of one engine and one layout.
func one(seq uint64, columns []store.Column, rows ...store.Row) *store.Batch {
	return &store.Batch{Seq: seq, Engines: []store.EngineInfo{info("prod", "rank0")}, Layouts: []store.Layout{{Section: "stats", Columns: columns}}, Rows: rows}
}

func testDeliver(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	columns := []store.Column{{Metric: "sps"}, {Metric: "accepted", Label: "1"}, {Metric: "accepted", Label: "2"}}
	b := one(1, columns,
		store.Row{Time: t0, Step: 100, Flags: store.DecodeStep, Values: []float64{2.5, nan, 0.5}},
		store.Row{Time: t0 + 10*second, Step: 200, Flags: store.PromptStep | store.Filling, Values: []float64{math.Inf(1), 0.25, nan}},
		store.Row{Time: t0 + 10*second, Step: -1, Values: []float64{math.Copysign(0, -1), nan, nan}})
	b.Positions = []store.Position{{Source: "a.log", Value: "10"}, {Source: "b.log", Value: "20"}}
	deliver(t, st, "node1", b)
	id := engineIDs(t, st, "prod")["rank0"]
	want := []store.Series{
		{Engine: id, Column: columns[1], Times: []int64{t0 + 10*second}, Steps: []int64{200}, Flags: []store.Flags{store.PromptStep | store.Filling}, Values: []float64{0.25}},
		{Engine: id, Column: columns[2], Times: []int64{t0}, Steps: []int64{100}, Flags: []store.Flags{store.DecodeStep}, Values: []float64{0.5}},
		{Engine: id, Column: columns[0], Times: []int64{t0, t0 + 10*second, t0 + 10*second}, Steps: []int64{100, 200, -1},
			Flags: []store.Flags{store.DecodeStep, store.PromptStep | store.Filling, 0}, Values: []float64{2.5, math.Inf(1), math.Copysign(0, -1)}},
	}
	all := store.Selection{Engines: []int64{id}, From: t0, To: t0 + hour}
	if got := readAll(t, st, all); !reflect.DeepEqual(got, want) || math.Signbit(got[2].Values[2]) != true {
		t.Errorf("read\n%+v, want\n%+v", got, want)
	}
	if got := readAll(t, st, store.Selection{Engines: []int64{id}, Metrics: []string{"sps", "none"}, From: t0 + 1, To: t0 + 10*second}); got != nil {
		t.Errorf("outside of the half-open range: %+v", got)
	}

	// Again, and older: acknowledged, nothing changes.
	for _, seq := range []uint64{1, 0 + 1} {
		b.Seq = seq
		if applied, err := st.Deliver(t.Context(), "node1", b); applied || err != nil {
			t.Errorf("batch %d again: applied %v, %v", seq, applied, err)
		}
	}
	deliver(t, st, "node2", one(1, columns)) // another collector counts for itself
	b2 := one(2, columns)
	b2.Positions = []store.Position{{Source: "a.log"}, {Source: "c.log", Value: "5"}}
	deliver(t, st, "node1", b2)
	if got := readAll(t, st, all); !reflect.DeepEqual(got, want) {
		t.Errorf("after the repetition: %+v", got)
	}
	at, seq, err := st.Positions(t.Context(), "node1")
	if wantAt := []store.Position{{Source: "b.log", Value: "20"}, {Source: "c.log", Value: "5"}}; err != nil || seq != 2 || !reflect.DeepEqual(at, wantAt) {
		t.Errorf("positions %+v, seq %d, %v", at, seq, err)
	}
	if at, seq, err := st.Positions(t.Context(), "nobody"); len(at) != 0 || seq != 0 || err != nil {
		t.Errorf("an unknown collector: %+v, %d, %v", at, seq, err)
	}
}
