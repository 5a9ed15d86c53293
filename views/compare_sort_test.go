package views

import (
	"math"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/engine/ledger"
)

func TestCompareRowsAreSorted(t *testing.T) {
	row := func(key string, v compare.Verdict, rel float64) compare.Row {
		r := compare.Row{Metric: ledger.Metric{Key: key}, Cells: []compare.Cell{{}, {Verdict: v}}}
		if v != compare.Refused {
			r.Cells[1].Diff = &compare.Difference{Rel: rel}
		}
		return r
	}
	table := &compare.Table{Columns: make([]compare.Column, 2), Groups: []compare.Group{
		{Key: "one", Rows: []compare.Row{row("zeta", compare.NoEvidence, 3), row("Beta", compare.Better, -0.1), row("gamma", compare.Refused, 0)}},
		{Key: "two", Rows: []compare.Row{row("alpha", compare.Worse, 0.05), row("delta", compare.Worse, -0.5), row("eta", compare.Changed, math.NaN())}},
	}}
	f := func(sort, want string) {
		t.Helper()
		v := Compare{Table: table, Sort: sort}
		var keys []string
		groups := v.groups(Page{})
		for _, g := range groups {
			for _, r := range g.Rows {
				keys = append(keys, r.Metric.Key)
			}
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("sort=%s: %s, want %s", sort, got, want)
		}
		if by, _ := v.sorting(); (by == "") != (len(groups) == 2) {
			t.Errorf("sort=%s: %d groups", sort, len(groups))
		}
	}
	reading := "zeta Beta gamma alpha delta eta"
	f("", reading)
	f("name", "alpha Beta delta eta gamma zeta")
	// Evidence first: without a base (infinite), 50 %, 10 %, 5 %; then 300 % without evidence; then what is refused.
	f("b.size", "eta delta Beta alpha zeta gamma")
	f("b.verdict", "delta alpha Beta eta zeta gamma")
	for _, unknown := range []string{"a.size", "c.size", "b.", "size", "b.size.x", "é.size", strings.Repeat("b", 1000)} {
		f(unknown, reading)
	}
}

func TestCompareCurvesLieOverEachOther(t *testing.T) {
	f := func(chosen, want string, from, to int64) {
		t.Helper()
		v := Compare{Align: chosen, Table: &compare.Table{Columns: []compare.Column{{From: 100, To: 200}, {From: 150, To: 250}, {From: from, To: to}}}}
		if got := v.align(); got != want {
			t.Errorf("chosen %q, a column over %d–%d: %q, want %q", chosen, from, to, got, want)
		}
	}
	f("", "time", 50, 150)
	f("", "elapsed", 200, 300) // To is exclusive: no common moment
	f("", "elapsed", 0, 100)
	f("step", "step", 0, 100)
}
