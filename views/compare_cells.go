package views

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/views/i18n"
)

// rowName is what a row is called.
func rowName(p Page, r compare.Row) string {
	name := Words(p.Lang, r.Metric.Name)
	if name == "" {
		name = harmless(r.Metric.Key)
	}
	return name
}

// shareUnit says whether a row's values are fractions, shown as percentages.
func shareUnit(unit string) bool {
	base, _, _ := strings.Cut(unit, "/")
	return base == string(ledger.Share)
}

// rowUnit is a row's unit as the page writes it.
func rowUnit(l i18n.Lang, unit string) string {
	if unit == "" {
		return ""
	}
	if base, rest, ok := strings.Cut(unit, "/"); ok && base == string(ledger.Share) {
		return "%/" + harmless(rest)
	}
	return UnitName(l, ledger.Unit(unit))
}

// rowNumber is a value of a row without its unit.
func rowNumber(v float64, unit string) string {
	if shareUnit(unit) {
		v *= 100
	}
	return Sig3(v)
}

// level is a cell's value: for the quantile of a histogram the bounds that are known.
func level(c compare.Cell, unit string) string {
	if c.Low < c.High {
		switch {
		case math.IsInf(c.High, 1):
			return "> " + rowNumber(c.Low, unit)
		case math.IsInf(c.Low, -1) || c.Low == 0:
			return "≤ " + rowNumber(c.High, unit)
		}
		return rowNumber(c.Low, unit) + "–" + rowNumber(c.High, unit)
	}
	return rowNumber(c.Level, unit)
}

// cellTitle is everything a cell knows, for the pointer and the focus.
func cellTitle(p Page, v Compare, r compare.Row, i int) string {
	c := r.Cells[i]
	unit := rowUnit(p.Lang, r.Unit)
	exact := func(x float64) string {
		if shareUnit(r.Unit) {
			x *= 100
		}
		return strings.TrimSpace(strconv.FormatFloat(x, 'g', 7, 64) + " " + unit)
	}
	var lines []string
	if c.OK {
		lines = append(lines, p.t("compare.exact", exact(c.Level), exact(c.Spread)),
			p.t("compare.samples", strconv.Itoa(c.Lines), strconv.Itoa(c.Points), Sig3(c.Effect)))
	} else if c.Absent != nil {
		lines = append(lines, Words(p.Lang, c.Absent.Long))
	}
	if d := c.Diff; d != nil {
		lines = append(lines, p.t("compare.interval", exact(d.Value), exact(d.Low), exact(d.High), exact(d.Low95), exact(d.High95)),
			p.t("compare.chance", Sig3(d.P), Sig3(d.Adjusted)))
		if d.EnginesVary {
			lines = append(lines, p.t("compare.engines_vary"))
		}
	}
	if c.Reason != nil {
		lines = append(lines, Words(p.Lang, c.Reason.Long))
	}
	for _, q := range c.Qualifications {
		lines = append(lines, Words(p.Lang, q.Long))
	}
	if left := leftOut(p, c.Left); left != "" {
		lines = append(lines, left)
	}
	return harmless(strings.Join(lines, "\n"))
}

// leftOut says which samples were not used.
func leftOut(p Page, l compare.Left) string {
	var parts []string
	for _, x := range []struct {
		n   int
		key string
	}{{l.Perturbed, "compare.left_perturbed"}, {l.Filling, "compare.left_filling"}, {l.NotFinite, "compare.left_nan"}, {l.Resets, "compare.left_resets"}, {l.Alone, "compare.left_alone"}} {
		if x.n > 0 {
			parts = append(parts, p.t(x.key, strconv.Itoa(x.n)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return p.t("compare.left", strings.Join(parts, ", "))
}

// outliers names a cell's engines that stand apart.
func outliers(c compare.Cell) (names []string) {
	for _, e := range c.Engines {
		if e.Outlier {
			names = append(names, harmless(e.Name))
		}
	}
	return names
}

// change is a cell's difference for people, and arrow its direction.
func change(p Page, r compare.Row, d *compare.Difference) string {
	return compare.ChangeIn(d, r.Unit, string(p.Lang))
}

func arrow(d *compare.Difference) string {
	switch {
	case d == nil || d.Value == 0:
		return ""
	case d.Value > 0:
		return "↑"
	}
	return "↓"
}

// diffBar is an interval as a bar around zero: places from 0 to 100, zero at 50.
type diffBar struct {
	Low, High, Low95, High95, Value float64
	Tested                          bool // it has an interval for the whole table
}

// bar lays a difference on the axis that all rows share: relative to A, ±100 %
// at the ends, roots of it between, so that 1 % and 50 % can both be seen. ok is
// false where there is nothing to relate to.
func bar(r compare.Row, d *compare.Difference) (b diffBar, ok bool) {
	if d == nil || len(r.Cells) == 0 || !r.Cells[0].OK {
		return b, false
	}
	base := math.Abs(r.Cells[0].Level)
	if base == 0 || math.IsNaN(base) || math.IsInf(base, 0) {
		return b, false
	}
	at := func(x float64) float64 {
		rel := x / base
		if math.IsNaN(rel) {
			return 50
		}
		root := math.Sqrt(math.Min(1, math.Abs(rel)))
		return 50 + math.Copysign(50*root, rel)
	}
	return diffBar{at(d.Low), at(d.High), at(d.Low95), at(d.High95), at(d.Value), !math.IsInf(d.Low, 0) || !math.IsInf(d.High, 0)}, true
}

// x prints a place on the bar.
func (diffBar) x(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// width prints a bar's width, at least a hair.
func (diffBar) width(from, to float64) string {
	return strconv.FormatFloat(math.Max(1, to-from), 'f', 1, 64)
}

// span is a column's time.
func columnSpan(from, to int64) string {
	f, t := time.Unix(0, from).UTC(), time.Unix(0, to).UTC()
	if f.Format("2006-01-02") == t.Format("2006-01-02") {
		return f.Format("2006-01-02 15:04:05") + "–" + t.Format("15:04:05")
	}
	return f.Format("2006-01-02 15:04") + "–" + t.Format("2006-01-02 15:04")
}
