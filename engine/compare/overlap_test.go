package compare

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// part is a side's lines of a range of indices.
func part(s Side, from, to int) Side {
	s = copied(s)
	for e := range s.Engines {
		for k := range s.Engines[e].Series {
			c := &s.Engines[e].Series[k]
			c.Times, c.Flags, c.Values = c.Times[from:to], c.Flags[from:to], c.Values[from:to]
		}
	}
	return s
}

// TestOverlap: columns of one deployment whose times overlap say how much, and have no
// verdicts where it is most.
func TestOverlap(t *testing.T) {
	n := steady
	n.lines = 200
	all := n.side(newRand(31))
	f := func(a, b Side, share float64, level FairnessLevel, said string) {
		t.Helper()
		table := compared(t, Options{}, a, b)
		i := slices.IndexFunc(table.Fairness.Lines, func(l FairnessLine) bool { return l.Key == "overlap" })
		if (i >= 0) != (share > 0) {
			t.Fatalf("a line on overlap: %v, want a share of %g", i >= 0, share)
		}
		tps := row(t, table, "completion_TPS", "", "").Cells[1]
		if share > 0 {
			if c := table.Fairness.Lines[i].Cells[1]; math.Abs(c.Value-share) > 1e-9 || c.Level != level {
				t.Errorf("%g in common, %v; want %g, %v", c.Value, c.Level, share, level)
			}
			if !strings.Contains(table.Fairness.Text.EN, said) {
				t.Errorf("fairness: %s; want %q", table.Fairness.Text.EN, said)
			}
		}
		if (tps.Verdict == Refused) != (share > 0.5) || (tps.Verdict != Refused) != (tps.Diff != nil) {
			t.Errorf("%g in common: throughput %v", share, tps.Verdict)
		}
		if share > 0 && share <= 0.5 && !slices.Contains(codes(tps.Qualifications), SameLines) {
			t.Errorf("%g in common: throughput under %v", share, codes(tps.Qualifications))
		}
	}
	f(all, all, 1, Unfair, "100 % of the lines are A's too")
	f(all, part(all, 120, 200), 1, Unfair, "100 % of the lines are A's too") // all 80 lines
	// 80 lines of each, the last 20 of A are the first of B: 20 ÷ 80.
	f(part(all, 0, 80), part(all, 60, 140), 0.25, Qualified, "25 % of the lines are A's too")
	f(part(all, 0, 80), part(all, 80, 160), 0, Fair, "")
	other := copied(all)
	other.Deployment = "other"
	f(all, other, 0, Fair, "")
}

// TestNoLines: a time without lines is said to be one.
func TestNoLines(t *testing.T) {
	a := steady.side(newRand(4))
	empty := Side{Name: "empty", From: 1, To: 2, Engines: []Engine{{Name: "x", Kind: "deepinfer"}}}
	f := func(letter string, sides ...Side) {
		t.Helper()
		table := compared(t, Options{}, sides...)
		last := table.Answer[len(table.Answer)-1].Text.EN
		if !strings.Contains(last, "column "+letter+" has no lines") || !strings.Contains(table.Fairness.Text.EN, letter+": no lines in this time") {
			t.Errorf("answer %q, fairness %q", last, table.Fairness.Text.EN)
		}
		for _, l := range table.Fairness.Lines {
			if c := l.Cells[strings.Index(letters, letter)]; l.Key == arrivalRate && (c.Reason == nil || c.Reason.Code != NoLines) {
				t.Errorf("arrival rate: %+v", c.Reason)
			}
		}
	}
	f("B", a, empty)
	f("A", empty, a)
	// Decode steps only on one side: the row of prompt steps says which are missing.
	b := copied(a)
	for k := range b.Engines[0].Series {
		c := &b.Engines[0].Series[k]
		c.Flags = slices.Repeat([]Flags{PromptStep}, len(c.Values))
	}
	for _, g := range compared(t, Options{}, b, a).Groups {
		for _, r := range g.Rows {
			if c := r.Cells[1]; r.Metric.Key == "batch_usage" && r.Steps == PromptSteps && (c.Absent == nil || c.Absent.Short.EN != "no prompt steps in this time") {
				t.Errorf("batch usage of prompt steps: %+v", c.Absent)
			}
		}
	}
}
