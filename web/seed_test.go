package web

import (
	"math"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// seedNow is the moment at which the tests of statistics take place.
var seedNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at moves a site to a moment.
func (s *site) at(now time.Time) { s.Server.now = func() time.Time { return now } }

// sample is a row with one value for each of a seeding's columns.
type sample struct {
	engine int
	ago    time.Duration // before seedNow
	step   int64
	flags  store.Flags
	values []float64
}

// seed delivers rows of engines with the same columns.
func (s *site) seed(engines []store.EngineInfo, columns []store.Column, samples []sample, events ...store.Event) {
	s.t.Helper()
	b := &store.Batch{Engines: engines, Layouts: []store.Layout{{Section: "stats", Columns: columns}}, Events: events}
	for _, x := range samples {
		b.Rows = append(b.Rows, store.Row{Engine: x.engine, Time: seedNow.Add(-x.ago).UnixNano(), Step: x.step, Flags: x.flags, Values: x.values})
	}
	if _, err := s.st.Deliver(s.t.Context(), "test", b); err != nil {
		s.t.Fatal(err)
	}
}

// engine describes a DeepInfer engine.
func engine(deployment, name string, rank int) store.EngineInfo {
	return store.EngineInfo{EngineKey: store.EngineKey{Deployment: deployment, Name: name}, Kind: "deepinfer", Host: "node-a",
		Rank: rank, GPU: rank, Role: "mixed", Model: "model-x", Parallel: "tp2"}
}

// series builds a chart's data over the last hour.
func (s *site) series(q seriesQuery) *seriesAnswer {
	s.t.Helper()
	if q.to == 0 {
		q.from, q.to = seedNow.Add(-time.Hour).UnixNano(), seedNow.UnixNano()
	}
	if q.points == 0 {
		q.points = 60 // a cell a minute
	}
	a, err := buildSeries(s.t.Context(), s.st, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// same compares figures, NaN being equal to itself.
func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && (math.Abs(got[i]-want[i]) < 1e-9*max(1, math.Abs(want[i])) || math.IsNaN(got[i]) && math.IsNaN(want[i]))
	}
	if !ok {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
