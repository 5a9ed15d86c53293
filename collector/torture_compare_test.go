//go:build unix

package collector

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

// gapText is how gaps are told.
var gapText = regexp.MustCompile(`^(\d+) \[(\w+)\] lines are missing, one for every (\d+) steps$`)

// compare checks what is stored against what was written, and returns how many lines are lost and told.
func (w *world) compare(path string) int {
	t := w.t
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, store.Options{}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	engines, err := db.Engines(ctx, "torture")
	if err != nil || len(engines) != 3 {
		t.Fatalf("%d engines, error %v", len(engines), err)
	}
	ids := map[int64]int{}
	var list []int64
	for _, e := range engines {
		ids[e.ID] = e.Rank
		list = append(list, e.ID)
	}
	// What is told as lost.
	told := map[string]int{}
	events, err := db.Events(ctx, list, 0, store.MaxTime)
	if err != nil {
		t.Fatal(err)
	}
	// Where many lines in a row were lost, the engine's own clock shows a pause as well.
	pause := func(e store.Event) bool {
		return slices.ContainsFunc(events, func(g store.Event) bool {
			return g.Kind == store.Gap && g.Engine == e.Engine && g.From <= e.To && g.To >= e.From
		})
	}
	for _, e := range events {
		m := gapText.FindStringSubmatch(e.Detail)
		switch {
		case e.Kind == store.Unreadable && strings.HasPrefix(e.Detail, string(ledger.Cut)), e.Kind == store.Silence && pause(e):
			continue
		case e.Kind != store.Gap || m == nil:
			t.Errorf("event %+v", e)
			continue
		}
		every, _ := strconv.ParseInt(m[3], 10, 64)
		count := int64(0)
		for step := e.FromStep; step <= e.ToStep; step += every {
			told[written{rank: ids[e.Engine], section: ledger.Section(m[2]), step: step}.String()]++
			count++
		}
		if count != e.Count {
			t.Errorf("event %+v counts %d lines", e, count)
		}
	}
	// A value is known by engine, column, step and time. The sections' columns are different.
	type point struct {
		rank int
		store.Column
		step, time int64
	}
	got := map[point][]float64{}
	err = db.Read(ctx, store.Selection{Engines: list, From: 0, To: store.MaxTime}, func(s *store.Series) error {
		for i, v := range s.Values {
			p := point{ids[s.Engine], s.Column, s.Steps[i], s.Times[i]}
			got[p] = append(got[p], v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lost, wrong := 0, 0
	for _, line := range w.lines {
		here, missing := 0, 0
		for column, v := range line.values {
			p := point{line.rank, column, line.step, line.time}
			switch stored := got[p]; {
			case len(stored) == 0:
				missing++
			case len(stored) == 1 && stored[0] == v:
				here++
			default:
				wrong++
				if wrong < 10 {
					t.Errorf("%s, %v: stored %v, written %v", line, column, stored, v)
				}
			}
			delete(got, p)
		}
		switch times := told[line.String()]; {
		case missing == 0 && times == 0:
		case here == 0 && times == 1:
			lost++
		default:
			wrong++
			if wrong < 10 {
				t.Errorf("%s: %d values stored, %d missing, told as lost %d times", line, here, missing, times)
			}
		}
		delete(told, line.String())
	}
	if len(got) > 0 || len(told) > 0 {
		t.Errorf("%d values and %d losses of lines that were never written: %v", len(got), len(told), slices.Sorted(maps.Keys(told)))
	}
	return lost
}
