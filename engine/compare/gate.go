package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Gate is a bound on a metric's difference from the baseline that a change must keep.
type Gate struct {
	text       string
	key, label string
	anyLabel   bool
	stat       string
	below      bool    // the bound is crossed below it, else above
	bound      float64 // in the row's unit, or as a fraction of A's level
	relative   bool
}

// GateForms shows how a gate can be written.
const GateForms = `METRIC<-3% or METRIC>+3% (relative), METRIC>0.5 (in its unit), METRIC<-2pp (percentage points); METRIC may be KEY, KEY:LABEL or KEY.p95`

func (g Gate) String() string { return g.text }

// ParseGate reads a gate in one of GateForms. Only metrics that have a definition can be
// named.
func ParseGate(text string) (Gate, error) {
	bad := func(why string) (Gate, error) {
		return Gate{}, fmt.Errorf("threshold %.80q: %s; a threshold is %s", text, why, GateForms)
	}
	at := strings.LastIndexAny(text, "<>")
	if at <= 0 {
		return bad("there is no < or > in it")
	}
	g := Gate{text: text, below: text[at] == '<'}
	name, value := strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+1:])
	var labelled bool
	g.key, g.label, labelled = strings.Cut(name, ":")
	g.anyLabel = !labelled
	g.key, g.stat, _ = strings.Cut(g.key, ".")
	m, ok := definition(g.key)
	switch {
	case !ok:
		return bad(fmt.Sprintf("there is no metric %.40q", g.key))
	case m.Kind == ledger.Histogram && g.stat == "":
		return bad(fmt.Sprintf("%s is a histogram: name a quantile, as in %s.p95", g.key, g.key))
	case m.Kind != ledger.Histogram && g.stat != "":
		return bad(fmt.Sprintf("%s has no quantiles", g.key))
	case g.stat != "" && !slices.ContainsFunc(quantiles, func(q quantile) bool { return q.stat == g.stat }):
		return bad(fmt.Sprintf("the quantile %.20q is not one of p50, p95, p99", g.stat))
	}
	number, scale := value, 1.0
	if s, is := strings.CutSuffix(value, "%"); is {
		number, scale, g.relative = s, 0.01, true
	} else if s, is := strings.CutSuffix(value, "pp"); is {
		number, scale = s, 0.01
	}
	v, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(number), "+"), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return bad(fmt.Sprintf("%.40q is not a number with %%, pp or nothing behind it", value))
	}
	g.bound = v * scale
	return g, nil
}

// Outcome is what a gate found.
type Outcome string

// The outcomes, from best to worst.
const (
	Kept      Outcome = "kept"      // crossing the bound is ruled out at 95 %
	Undecided Outcome = "undecided" // neither shown nor ruled out, or nothing to compare
	Crossed   Outcome = "crossed"   // a difference is evident, and it lies beyond the bound
)

// GateResult is a gate's outcome for one row and column.
type GateResult struct {
	Gate    Gate
	Column  int
	Row     *Row // nil when the table has no such row
	Outcome Outcome
	Why     Words
}

// Check holds a table against gates. There is at least one result for each gate and
// column.
func (t *Table) Check(gates []Gate) []GateResult {
	var out []GateResult
	for _, g := range gates {
		for i := 1; i < len(t.Columns); i++ {
			found := false
			for gi := range t.Groups {
				for ri := range t.Groups[gi].Rows {
					r := &t.Groups[gi].Rows[ri]
					if r.Metric.Key == g.key && r.Stat == g.stat && (g.anyLabel || r.Label == g.label) {
						found = true
						out = append(out, g.check(r, i))
					}
				}
			}
			if !found {
				out = append(out, GateResult{Gate: g, Column: i, Outcome: Undecided, Why: Words{
					EN: "no column has this metric in its time", ZH: "各列在其时段内均无该指标"}})
			}
		}
	}
	return out
}

func (g Gate) check(r *Row, column int) GateResult {
	c := &r.Cells[column]
	res := GateResult{Gate: g, Column: column, Row: r, Outcome: Undecided}
	for _, w := range []*Reason{c.Reason, c.Absent, r.Cells[0].Absent} {
		if c.Diff == nil || c.Verdict == NeedsData {
			if w != nil {
				res.Why = w.Short
				return res
			}
		}
	}
	base := math.Abs(r.Cells[0].Level)
	if c.Diff == nil || g.relative && base == 0 {
		res.Why = Words{EN: "nothing to compare with", ZH: "没有可比较的值"}
		return res
	}
	bound := g.bound
	if g.relative {
		bound *= base
	}
	beyond := func(v float64) bool {
		if g.below {
			return v < bound
		}
		return v > bound
	}
	worst := c.Diff.High95
	if g.below {
		worst = c.Diff.Low95
	}
	en, zh := c.Change(&r.Cells[0], r.Unit, "en"), c.Change(&r.Cells[0], r.Unit, "zh")
	switch {
	case c.Verdict.Evidenced() && beyond(c.Diff.Value):
		res.Outcome = Crossed
	case !beyond(worst):
		res.Outcome = Kept
	default:
		en += ", more is not ruled out"
		zh += "，不排除更大的差异"
	}
	res.Why = Words{EN: en, ZH: zh}
	return res
}

// Worst is the worst outcome of several; Kept for none.
func Worst(all []GateResult) Outcome {
	worst := Kept
	for _, r := range all {
		if r.Outcome == Crossed || r.Outcome == Undecided && worst == Kept {
			worst = r.Outcome
		}
	}
	return worst
}

// ParseGates reads several gates.
func ParseGates(texts []string) ([]Gate, error) {
	var out []Gate
	for _, s := range texts {
		g, err := ParseGate(s)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}
