package compare

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
)

// histogramKeys lists the histograms that any side has, in reading order.
func histogramKeys(views []*view, wanted []string) []string {
	var keys []string
	for _, m := range ledger.All() {
		if m.Kind != ledger.Histogram || len(wanted) > 0 && !slices.Contains(wanted, m.Key) {
			continue
		}
		if slices.ContainsFunc(views, func(v *view) bool { return v.has(m.Key + "_bucket") }) {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// quantileRows makes the rows of a histogram.
func (b *builder) quantileRows(m ledger.Metric) []Row {
	all := make([]histogram, len(b.views))
	have := make([]bool, len(b.views))
	for i, v := range b.views {
		all[i], have[i] = v.histogramOf(m.Key)
	}
	rows := make([]Row, 0, len(quantiles))
	for _, q := range quantiles {
		r := Row{Metric: m, Stat: q.stat, Unit: string(m.Unit), Cells: make([]Cell, len(b.views))}
		for i, v := range b.views {
			if have[i] {
				r.Cells[i] = all[i].cell(q.q)
				continue
			}
			r.Cells[i].Absent = v.absence(rowID{seriesID: seriesID{key: m.Key}}, all[i].left)
			if s, ok := v.standIn(m); ok && s.refused {
				r.Cells[i].Absent = s.reason
			}
		}
		for i := 1; i < len(b.views); i++ {
			b.differQuantile(&r, i, &all[0], &all[i], q.q)
		}
		rows = append(rows, r)
	}
	return rows
}

func (b *builder) differQuantile(r *Row, i int, a, other *histogram, q float64) {
	ca, c := &r.Cells[0], &r.Cells[i]
	if w := oppositeRoles(b.views[0].roles(), b.views[i].roles()); w != nil {
		c.Verdict, c.Reason = Refused, w
		return
	}
	for _, cell := range []*Cell{ca, c} {
		if cell.Absent != nil && cell.Absent.Code == OtherMeaning {
			c.Verdict, c.Reason = Refused, cell.Absent
			return
		}
	}
	if !ca.OK || !c.OK {
		return
	}
	c.Qualifications = append(c.Qualifications, caveats(b.views[0].kinds(), b.views[i].kinds(), r.Metric.Key)...)
	if !slices.Equal(a.bounds, other.bounds) {
		c.Qualifications = append(c.Qualifications, *why(OtherBounds, "other bucket bounds", "分桶边界不同",
			"The histograms have other bounds: a quantile is only known to lie in its bucket, and the interval reaches from bucket to bucket.",
			"两列直方图的边界不同：分位数只知道落在某一桶内，差异区间按桶计算。"))
	}
	for k, h := range []*histogram{a, other} {
		cell := []*Cell{ca, c}[k]
		if cell.High == h.bounds[0] {
			c.Qualifications = append(c.Qualifications, *why(BelowBounds, "below the first bucket", "低于首个分桶",
				"The quantile is only known to be at or below the histogram's first bound.", "只知道该分位数不超过直方图的首个边界。"))
		}
		if math.IsInf(cell.High, 1) {
			c.Qualifications = append(c.Qualifications, *why(BeyondRange, "beyond the last bound", "超出最后边界",
				"The quantile is only known to lie beyond the histogram's last finite bound.", "只知道该分位数超出直方图最后的有限边界。"))
		}
	}
	c.Diff = quantileTrial(a, other, ca, c, q)
	for k, h := range []*histogram{a, other} {
		column := 0
		if k == 1 {
			column = i
		}
		if more := h.share[h.at(q)].needsPoints(); more > 0 {
			c.Verdict, c.Reason = NeedsData, needsMore(more, h.share[h.at(q)].n, letters[column:column+1])
			return
		}
	}
}
