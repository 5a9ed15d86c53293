package rows

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

func reading(from, n int) *foreign.Reading {
	r := &foreign.Reading{Section: ledger.Scraped, Step: -1}
	for i := from; i < from+n; i++ {
		r.Values = append(r.Values, ledger.Value{Key: "k", Label: fmt.Sprint(i), V: float64(i)})
	}
	return r
}

var (
	one = store.EngineInfo{EngineKey: store.EngineKey{Deployment: "d", Name: "one"}, Kind: "vllm", Rank: -1, GPU: -1}
	two = store.EngineInfo{EngineKey: store.EngineKey{Deployment: "d", Name: "two"}, Kind: "vllm", Rank: -1, GPU: -1}
	at  = time.Unix(1_800_000_000, 0)
)

// Columns only grow, and rows with the same ones share a layout.
func TestLayoutsGrow(t *testing.T) {
	b := NewBuilder()
	b.Add(reading(0, 3), one, at, 0)
	b.Add(reading(1, 1), one, at, store.ArrivalTime) // label 1 alone
	b.Add(reading(0, 3), two, at, 0)
	first := b.Take()
	if err := first.Check(); err != nil {
		t.Fatal(err)
	}
	if len(first.Engines) != 2 || len(first.Layouts) != 2 || len(first.Rows) != 3 {
		t.Fatalf("%d engines, %d layouts, %d rows", len(first.Engines), len(first.Layouts), len(first.Rows))
	}
	if r := first.Rows[1]; r.Layout != first.Rows[0].Layout || !math.IsNaN(r.Values[0]) || r.Values[1] != 1 || !math.IsNaN(r.Values[2]) || r.Flags != store.ArrivalTime {
		t.Errorf("%+v", r)
	}
	b.Add(reading(2, 2), one, at, 0) // 3 is new
	b.Event(store.Event{Kind: store.CounterReset}, two)
	second := b.Take()
	if err := second.Check(); err != nil {
		t.Fatal(err)
	}
	if c := second.Layouts[0].Columns; len(c) != 4 || c[3].Label != "3" || len(first.Layouts[0].Columns) != 3 {
		t.Errorf("%v after %v", c, first.Layouts[0].Columns)
	}
	if e := second.Events[0]; second.Engines[e.Engine].Name != "two" {
		t.Errorf("%+v", e)
	}
	if b.Take() != nil {
		t.Error("an empty batch")
	}
	// Rows of prompt and decode steps stand apart.
	r := reading(0, 1)
	r.Decode = true
	b.Add(r, one, at, 0)
	if x := b.Take(); len(x.Layouts[0].Columns) != 1 || x.Rows[0].Flags != store.DecodeStep {
		t.Errorf("%+v", x)
	}
}

// Rows stay bounded however many new labels a server makes.
func TestColumnsAreBounded(t *testing.T) {
	b := NewBuilder()
	b.Add(reading(0, 3000), one, at, 0)
	if n := b.Add(reading(2500, 3000), one, at, 0); n != 1500 || b.Dropped() != 1500 { // 500 known, 1000 fit
		t.Errorf("%d kept, %d dropped", n, b.Dropped())
	}
	x := b.Take()
	if row := x.Rows[1].Values; len(row) != MaxColumns || !math.IsNaN(row[0]) || row[2500] != 2500 {
		t.Errorf("%d columns", len(row))
	}
}
