package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
)

// printComparison writes the table for a terminal: the answer first, then whether the
// comparison is fair, what explains it, and the rows. Without all the rows are those
// that have something to say, and the method is told in short.
func printComparison(out io.Writer, t *compare.Table, lang string, all bool) {
	say := func(w compare.Words) string {
		if lang == "zh" {
			return plain(w.ZH)
		}
		return plain(w.EN)
	}
	for _, c := range t.Columns {
		fmt.Fprintf(out, "%s  %s  %s … %s  engines: %d, lines: %d", c.Letter, plain(c.Name), clock(c.From), clock(c.To), c.Engines, c.Lines)
		if left := c.Left.Perturbed + c.Left.Filling; left > 0 {
			fmt.Fprintf(out, ", %d left out", left)
		}
		if c.Coarse > 0 {
			fmt.Fprintf(out, ", read as means of %s", compare.Stretch(c.Coarse))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	conditions := t.Fairness.Level == compare.Qualified || t.Fairness.Level == compare.Unfair
	if conditions { // first: a gain under lighter load is none
		fmt.Fprintf(out, "%s\n\n", say(t.Fairness.Text))
	}
	for _, f := range t.Answer {
		fmt.Fprintln(out, say(f.Text))
		for _, c := range f.Choose {
			fmt.Fprintf(out, "   → %s: %s\n", t.Columns[c.Column].Letter, plain(c.Spec))
		}
		for _, q := range f.Qualifications {
			fmt.Fprintf(out, "   ! %s\n", say(q.Long))
		}
	}
	if !conditions {
		fmt.Fprintf(out, "\n%s\n", say(t.Fairness.Text))
	}
	if len(t.Where) > 0 {
		fmt.Fprintln(out)
		for _, f := range t.Where {
			fmt.Fprintf(out, "→ %s\n", say(f.Text))
		}
	}
	hidden := 0
	for gi := range t.Groups {
		hidden += printGroup(out, t, &t.Groups[gi], lang, all)
	}
	if hidden > 0 {
		fmt.Fprintf(out, "\n%d rows without evidence are not shown; --all shows them.\n", hidden)
	}
	fmt.Fprintf(out, "\n%s\n", say(t.Method.Family))
	if all {
		fmt.Fprintln(out, say(t.Method.Blocks))
	}
}

// printGroup writes a block of rows and returns how many it left out.
func printGroup(out io.Writer, t *compare.Table, g *compare.Group, lang string, all bool) int {
	var rows []*compare.Row
	for i := range g.Rows {
		if r := &g.Rows[i]; all || telling(r) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return len(g.Rows)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	name := g.Name.EN
	if lang == "zh" {
		name = g.Name.ZH
	}
	fmt.Fprintf(w, "\n%s\tA", name)
	for _, c := range t.Columns[1:] {
		fmt.Fprintf(w, "\t%s\t%s−A (whole table's interval)\tverdict", c.Letter, c.Letter)
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s", plain(r.Title(lang)), level(&r.Cells[0], r.Unit, lang))
		for i := 1; i < len(r.Cells); i++ {
			c := &r.Cells[i]
			fmt.Fprintf(w, "\t%s\t%s\t%s", level(c, r.Unit, lang), c.Change(&r.Cells[0], r.Unit, lang), plain(c.Says(lang)))
		}
		fmt.Fprintln(w)
	}
	w.Flush() // into a buffer, which does not fail
	return len(g.Rows) - len(rows)
}

func level(c *compare.Cell, unit, lang string) string { return plain(c.Text(unit, lang)) }

// telling says whether a row is worth a line.
func telling(r *compare.Row) bool {
	if r.Headline {
		return true
	}
	for i := range r.Cells {
		if v := r.Cells[i].Verdict; v.Evidenced() || v == compare.Refused {
			return true
		}
	}
	return false
}

func printGates(out io.Writer, results []compare.GateResult, lang string) {
	for i, r := range results {
		if i == 0 {
			fmt.Fprintln(out)
		}
		name, why := "", r.Why.EN
		if lang == "zh" {
			why = r.Why.ZH
		}
		if r.Row != nil {
			name = r.Row.Title(lang)
		}
		fmt.Fprintf(out, "%-9s  %s  %s  %s: %s\n", r.Outcome, "ABCDEF"[r.Column:r.Column+1], plain(r.Gate.String()), plain(name), plain(why))
	}
}

// clock is a moment to the second.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05Z") }
