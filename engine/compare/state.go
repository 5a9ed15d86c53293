package compare

import (
	"math"

	"github.com/stepscope/stepscope/engine/ledger"
)

// apart lists the engines' means of a metric for which no single number is right.
func (v *view) apart(id rowID, r rule) measured {
	r.agg = ledger.Aggregation{Op: ledger.WeightedMean}
	m := v.measure(id, r)
	m.cell.OK, m.cell.Trail, m.cell.Spread = false, nil, 0
	m.cell.Absent = why(EnginesApart, "see the engines one by one", "请逐个引擎查看",
		"There is no single right number for several engines.", "多个引擎没有唯一正确的合并值。")
	return m
}

// state reads a metric that is logged on change: each engine's last value holds. A
// change within the time is the spread.
func (v *view) state(id rowID, r rule) measured {
	var out measured
	c := &out.cell
	var last []float64
	low, high := 0.0, 0.0
	for i, all := range v.series {
		s := all[id.seriesID]
		if s == nil {
			continue
		}
		n := 0
		lo, hi, end := math.Inf(1), math.Inf(-1), math.NaN()
		for _, x := range s.Values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				c.Left.NotFinite++
				continue
			}
			lo, hi, end = math.Min(lo, x), math.Max(hi, x), x
			n++
		}
		if n == 0 {
			continue
		}
		low, high = low+lo, high+hi
		last = append(last, end)
		c.Lines += n
		c.Engines = append(c.Engines, EngineLevel{Name: v.Engines[i].Name, Level: end, Lines: n})
	}
	if len(last) == 0 {
		c.Absent = v.absence(id, c.Left)
		return out
	}
	markOutliers(c.Engines)
	sum := 0.0
	for _, x := range last {
		sum += x
	}
	c.OK, c.Points, c.Effect = true, len(last), float64(len(last))
	c.Level = sum * r.scale
	c.Low, c.High = c.Level, c.Level
	c.Spread = (high - low) * r.scale // how much it moved within the time
	out.est = estimate{level: c.Level, n: len(last)}
	return out
}

// stateVerdict compares states: no chance is in them, so a difference of more than 1 %
// that is no smaller than either column's own changes is one.
func stateVerdict(m ledger.Metric, a, b *measured, c *Cell) {
	d := c.Diff
	d.P, d.Adjusted = 1, 1
	d.Low, d.High, d.Low95, d.High95 = d.Value, d.Value, d.Value, d.Value
	size := math.Abs(d.Value)
	c.Reason = why(State, "a state, not a sample", "是状态而非样本",
		"This is logged when it changes. The last values are compared as they are, without a test: a verdict means that they differ by more than 1 % and by at least as much as they changed within either column.",
		"该指标仅在变化时记录。此处直接比较最后的值，不做检验：有结论表示两者相差超过 1%，且不小于各列自身的变化。")
	c.Verdict = NoEvidence
	own := math.Max(a.cell.Spread, b.cell.Spread) * (1 - 1e-9) // a single jump is as large as the difference it made
	if size > 0.01*math.Max(math.Abs(a.est.level), math.Abs(b.est.level)) && size >= own {
		c.Verdict = direction(m, d.Value)
	}
}
