package compare

import (
	"fmt"
	"math"
	"time"
)

// trend is what is known of a column that has no steady level.
type trend struct {
	// rate is the change in ten minutes as a fraction of the level; NaN where the means of the quarters don't go one way.
	rate float64
	// steady is the moment from which on the column stands still, ns since 1970; 0: not before the end of its time.
	steady int64
}

// trendSteps is into how many parts a time is divided to look for the beginning of its steady part.
const trendSteps = 8

// findTrend looks at a column that drifts and whose second half is not steady either.
func (m *measured) findTrend(a aligned, r rule) {
	if m.half || m.est.n < minPoints || !m.est.drifts || m.est.needsPoints() == 0 {
		return
	}
	t := trend{rate: math.NaN()}
	q := m.est.quarters
	if up := q[3] > q[0]; (q[1] > q[0]) == up && (q[2] > q[1]) == up && (q[3] > q[2]) == up && m.est.level != 0 {
		span := float64(a.width) * float64(a.n) * 3 / 4 // from the middle of the first quarter to that of the last
		t.rate = (q[3] - q[0]) / math.Abs(m.est.level) * float64(10*time.Minute) / span
	}
	for k := 1; k < trendSteps && a.n-a.n*k/trendSteps >= minPoints; k++ {
		var h measured
		late := a.from(a.n * k / trendSteps)
		h.level(late, late.join(late.parts, r), r)
		steady := h.est.needsPoints() == 0 && !h.est.drifts
		if t.steady > 0 && !steady {
			break
		}
		if before := t.steady > 0; steady {
			t.steady = late.grid.from
			if before { // one part later than seems to do: the end of a rise is lost in the noise
				break
			}
		}
	}
	m.trend = &t
}

// unsettled says why nothing can be said about a column that has no steady level, and
// what to choose instead.
func (m *measured) unsettled(letter, unit string) *Reason {
	q := m.est.quarters
	path, pathZH := Figure(q[0], unit), figureIn(q[0], unit, "zh")
	for _, v := range q[1:] {
		path += " → " + Figure(v, unit)
		pathZH += " → " + figureIn(v, unit, "zh")
	}
	en, zh := "it goes up and down", "忽高忽低"
	if r := m.trend.rate; !math.IsNaN(r) {
		en, zh = "it rises by ", "每 10 分钟上升 "
		if r < 0 {
			en, zh = "it falls by ", "每 10 分钟下降 "
		}
		by := fmt.Sprintf("%.2g %%", 100*math.Abs(r))
		if math.Abs(r) >= 1 {
			by = fmt.Sprintf("%.0f %%", 100*math.Abs(r))
		}
		en, zh = en+by+" of its mean in 10 minutes", zh+"其均值的 "+by
	}
	nextEN, nextZH := "It still changes at the end of its time: wait, or choose another time.", "直到时段末尾仍在变化：请等待或选择其他时段。"
	if m.trend.steady > 0 {
		at := time.Unix(0, m.trend.steady).UTC().Format("15:04:05")
		nextEN, nextZH = "Choose a time after "+at+" UTC, from when on it is steady.", "请选择 "+at+" UTC 之后的时段，此后它已平稳。"
	}
	return why(Unsettled, "no steady level in "+letter, letter+" 列没有平稳水平",
		"Column "+letter+" has no steady level: "+en+" (by quarters: "+path+"). "+nextEN,
		letter+" 列没有平稳水平："+zh+"（按四分之一时段："+pathZH+"）。"+nextZH)
}

// choice is the column over the time from which on it is steady; "" where there is none.
func (m *measured) choice(v *view) string {
	if m.trend == nil || m.trend.steady == 0 || m.trend.steady >= v.To {
		return ""
	}
	to := min(v.To, m.last+1)
	return ColumnSpec{Deployment: v.Deployment, From: time.Unix(0, m.trend.steady).UTC().Truncate(time.Second), To: time.Unix(0, to).UTC().Truncate(time.Second).Add(time.Second)}.String()
}

// short refuses a verdict about columns with too few data, or without a steady level.
func (b *builder) short(r *Row, i int, columns []*measured, more [2]int) {
	c := &r.Cells[i]
	for k, m := range columns {
		column := k * i
		letter := letters[column : column+1]
		switch {
		case more[k] == 0:
		case m.trend != nil:
			w := m.unsettled(letter, r.Unit)
			if c.Reason != nil { // both columns
				w.Short.EN, w.Short.ZH = c.Reason.Short.EN+", "+w.Short.EN, c.Reason.Short.ZH+"，"+w.Short.ZH
				w.Long.EN, w.Long.ZH = c.Reason.Long.EN+" "+w.Long.EN, c.Reason.Long.ZH+w.Long.ZH
			}
			c.Verdict, c.Reason = NeedsData, w
			if spec := m.choice(b.views[column]); spec != "" {
				c.choose = append(c.choose, Choice{Column: column, Spec: spec})
			}
		case c.Reason == nil:
			per := float64(m.cell.Lines) / math.Max(1, float64(m.cell.Points))
			c.Verdict, c.Reason = NeedsData, needsMore(int(math.Ceil(float64(more[k])*per)), m.cell.Lines, letter)
		}
	}
}
