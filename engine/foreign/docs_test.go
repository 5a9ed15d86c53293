package foreign

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/ledger"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// docs/metrics.md is written from the table and the rules: run the test with -update after
// a change.
func TestDocsAreFresh(t *testing.T) {
	const path = "../../docs/metrics.md"
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/metrics.md differs from the metric table; run: go test ./engine/foreign -run Docs -update")
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Metrics

Written from the metric table (engine/ledger) and the rules of other engines
(engine/foreign); don't edit by hand.

A key stands for one definition. Engines that have the same key may be compared; what
still lies between them is said as a caveat. Engines that count otherwise have another key.
A figure that an engine does not give is absent, with a reason, and never 0.

- Rates are taken between two readings. The first reading, and the one after a restart
  (a counter fell, or the server's start time changed), have none.
- A histogram is stored as the increases of its parts between two readings:
  ` + "`KEY_bucket`" + ` with the bound as label (` + "`le=0.1`" + `, cumulative over the bounds),
  ` + "`KEY_sum`" + ` and ` + "`KEY_count`" + `. A quantile is told as the bucket it lies in; under the first
  bound it is only "at most" that bound.
- ` + "`finished`, `preempted`, `aborted`, `gpu_ecc` and `gpu_xid`" + ` are counters: what counts is
  their increase.
- A series that no rule reads keeps its own name and labels: gauges as they are, counters
  as increase per second, parts of histograms as increases. At most ` + fmt.Sprint(maxUnknown) + ` such values are
  kept of one engine.
`)
	group := ledger.Group("")
	for _, m := range ledger.All() {
		if m.Group != group {
			group = m.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### %s\n\n`%s` · %s · %s", m.Name.EN, m.Key, m.Unit, m.Kind)
		if m.Label.EN != "" {
			fmt.Fprintf(&b, " · by %s", m.Label.EN)
		}
		switch m.Better {
		case ledger.Up:
			b.WriteString(" · more is better")
		case ledger.Down:
			b.WriteString(" · less is better")
		}
		if m.Estimate {
			b.WriteString(" · an estimate")
		}
		if m.Steps == ledger.SameKind {
			b.WriteString(" · prompt and decode steps apart")
		}
		fmt.Fprintf(&b, "\n\n- Formula: %s.\n- Window: %s.\n", m.Formula.EN, m.Window.EN)
		if m.Denominator.EN != "" {
			fmt.Fprintf(&b, "- Divided by: %s.\n", m.Denominator.EN)
		}
		fmt.Fprintf(&b, "- Changes with: %s.\n- Several engines: %s.\n", m.Moves.EN, several(m.Aggregate))
		for _, kind := range Kinds() {
			if r, ok := RuleFor(kind, m.Key); ok {
				fmt.Fprintf(&b, "- %s: %s", Name(kind), r.How.EN)
				if r.Caveat.EN != "" {
					fmt.Fprintf(&b, " (%s)", r.Caveat.EN)
				}
				b.WriteString(".\n")
			}
		}
	}
	b.WriteString("\n## Alike, but not the same\n\n| | | | why |\n|---|---|---|---|\n")
	for _, r := range ledger.Relations() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", r.A, r.B, r.Verdict, r.Why.EN)
	}
	b.WriteString("\n## What a server must be told\n\n| | key | when it is missing |\n|---|---|---|\n")
	for _, kind := range Kinds() {
		for _, m := range ledger.All() {
			if why, ok := absent[kind][m.Key]; ok {
				fmt.Fprintf(&b, "| %s | `%s` | %s |\n", Name(kind), m.Key, why.EN)
			}
		}
	}
	return b.String()
}

func several(a ledger.Aggregation) string {
	switch a.Op {
	case ledger.Sum:
		return "added"
	case ledger.WeightedMean:
		if a.By != "" {
			return "mean weighted by `" + a.By + "`"
		}
		return "mean"
	case ledger.Max:
		return "the largest"
	case ledger.Min:
		return "the smallest"
	}
	return "each for itself"
}
