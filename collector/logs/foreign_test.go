package logs

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// foreignLog maps a log of engine/foreign.
func foreignLog(t *testing.T, kind, name string, beside bool) (*ForeignMapper, *store.Batch) {
	t.Helper()
	text, err := os.ReadFile("../../engine/foreign/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	m := NewForeignMapper(kind, "n1:8000", Identity{Deployment: "d", Model: "m", Host: "n1"}, time.UTC, beside)
	m.Begin()
	at := &Place{Path: name, Ref: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Arrival: time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC)}
	for line := range strings.Lines(string(text)) {
		m.Line([]byte(strings.TrimSuffix(line, "\n")), at)
	}
	b := m.Take()
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if m.Take() != nil || m.Rows() != 0 {
		t.Error("something is left")
	}
	return m, b
}

func has(b *store.Batch, row int, metric string) (float64, bool) {
	r := b.Rows[row]
	for i, c := range b.Layouts[r.Layout].Columns {
		if c.Metric == metric && i < len(r.Values) && !math.IsNaN(r.Values[i]) {
			return r.Values[i], true
		}
	}
	return 0, false
}

func TestForeignMapper(t *testing.T) {
	m, b := foreignLog(t, "vllm", "vllm.log", false)
	// Two lines of the file are no statistics: a dummy iteration and a route.
	if c := m.Counts(); c.Lines != 9 || c.Foreign != 2 || c.Unreadable != 0 || len(b.Rows) != 9 {
		t.Errorf("%+v, %d rows", c, len(b.Rows))
	}
	if e := b.Engines[b.Rows[0].Engine]; e.Name != "n1:8000" || e.Kind != "vllm" || e.Deployment != "d" || e.Rank != -1 || e.Model != "m" {
		t.Errorf("%+v", e)
	}
	// No year in the line: the last one that is not in the future.
	if got, want := b.Rows[0].Time, time.Date(2026, 8, 17, 12, 0, 10, 0, time.UTC).UnixNano(); got != want {
		t.Errorf("%v, want %v", time.Unix(0, got), time.Unix(0, want))
	}
	if v, ok := has(b, 0, "completion_TPS"); !ok || v != 1500 {
		t.Errorf("completion_TPS %v %v", v, ok)
	}
	if r := b.Rows[4]; r.Step != 58 || r.Flags&store.DecodeStep == 0 {
		t.Errorf("%+v", r)
	}
	names := map[string]bool{}
	for _, e := range b.Engines {
		names[e.Name] = true
	}
	if !names["n1:8000/engine1"] {
		t.Errorf("engines %v", names)
	}
	// The old line of March stands after those of August.
	jumped := 0
	for _, e := range b.Events {
		if e.Kind == store.ClockJumped {
			jumped++
		}
	}
	if jumped != 1 {
		t.Errorf("%d clock jumps: %+v", jumped, b.Events)
	}
	if s := m.Seen(); len(s.Engines) != 2 {
		t.Errorf("%+v", s)
	}

	// Beside the metrics only what those don't have is kept.
	_, b = foreignLog(t, "vllm", "vllm.log", true)
	for i := range b.Rows {
		for _, metric := range []string{"completion_TPS", "running", "KV_cache_usage"} {
			if _, ok := has(b, i, metric); ok {
				t.Errorf("row %d has %s", i, metric)
			}
		}
	}
	if v, ok := has(b, 0, "step_ms"); !ok || v != 41.25 {
		t.Errorf("step_ms %v %v", v, ok)
	}

	_, b = foreignLog(t, "tensorrt-llm", "trtllm.log", false)
	restarts := 0
	for _, e := range b.Events {
		if e.Kind == store.Restart {
			restarts++
		}
	}
	if restarts != 1 {
		t.Errorf("%+v", b.Events)
	}
}

func TestForeignMapperCountsDamage(t *testing.T) {
	m := NewForeignMapper("sglang", "n", Identity{Deployment: "d"}, time.UTC, false)
	m.Begin()
	at := &Place{Path: "x.log", Offset: 7, Arrival: time.Unix(1_800_000_000, 0)}
	m.Line([]byte("Decode batch, #running-req"), at)
	m.Broken("too_long", 2, at)
	if m.Take() != nil || m.Counts().Unreadable != 3 || m.Seen().Bad == "" {
		t.Errorf("%+v %+v", m.Counts(), m.Seen())
	}
	m.Line([]byte("Decode batch, #running-req: 3"), at)
	b := m.Take()
	if len(b.Rows) != 1 || b.Rows[0].Flags != store.ArrivalTime|store.DecodeStep || len(b.Events) != 2 || b.Events[0].Count+b.Events[1].Count != 3 {
		t.Errorf("%+v", b)
	}
}
