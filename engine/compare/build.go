package compare

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stepscope/stepscope/engine/ledger"
)

// headline are the rows that answer which column is better, and those that say
// whether it is fair to ask; they share one half of the table's level.
var headline = []string{
	"completion_TPS", "completion_done_TPS", "prompt_TPS", "avg_SPS", "avg_nextn_accept_rate", "accept_len",
	requestTime, "TTFT_mean", "TTFT_avg", "ITL_avg", "TPOT_avg", "E2E_avg",
	arrivalRate, "avg_input_length", "avg_output_length", "prefill_caching_rate",
}

// Compare puts sides next to each other; the first is the baseline. It fails only on
// a number of sides or options that make no table.
func Compare(sides []Side, opt Options) (*Table, error) {
	if len(sides) < MinColumns || len(sides) > MaxColumns {
		return nil, fmt.Errorf("%d columns: a comparison has %d to %d", len(sides), MinColumns, MaxColumns)
	}
	if opt.FamilyLevel == 0 {
		opt.FamilyLevel = DefaultFamilyLevel
	}
	if !(opt.FamilyLevel > 0 && opt.FamilyLevel < 0.5) {
		return nil, fmt.Errorf("family level %g: give a chance between 0 and 0.5", opt.FamilyLevel)
	}
	if !slices.Contains([]Per{PerDeployment, PerGPU, PerEngine, PerToken}, opt.Per) {
		return nil, fmt.Errorf("per %.20q: give %q, %q, %q or nothing", opt.Per, PerGPU, PerEngine, PerToken)
	}
	b := &builder{opt: opt, table: &Table{}}
	for i := range sides {
		v := newView(&sides[i])
		v.derive()
		if opt.Per == PerToken {
			v.derivePerToken()
		}
		b.views = append(b.views, v)
		b.table.Columns = append(b.table.Columns, v.head(i))
	}
	b.shared = make([]float64, len(b.views))
	for i := 1; i < len(b.views); i++ {
		b.shared[i] = shared(b.views[0], b.views[i])
	}
	b.rows()
	settle(b.trials, opt.FamilyLevel)
	b.table.Fairness = b.fairness()
	b.verdicts()
	for i := 1; i < len(b.views); i++ {
		b.consequences(i)
	}
	b.table.Method = b.method()
	b.table.Where = b.where()
	b.table.Answer = b.answer()
	return b.table, nil
}

// builder makes one table.
type builder struct {
	opt    Options
	views  []*view
	table  *Table
	trials []trial
	shared []float64 // by column, the share of lines that are A's too
}

// rows makes all groups, with levels and untested differences.
func (b *builder) rows() {
	byGroup := make(map[ledger.Group][]Row)
	ids, left := rowIDs(b.views, b.opt.Metrics)
	b.table.LeftRows = left
	for _, r := range once(b.measureRows(ids)) {
		byGroup[r.Metric.Group] = append(byGroup[r.Metric.Group], r)
	}
	for _, key := range histogramKeys(b.views, b.opt.Metrics) {
		m, _ := definition(key)
		byGroup[m.Group] = append(byGroup[m.Group], b.quantileRows(m)...)
	}
	for _, g := range ledger.Groups() {
		if rows := byGroup[g]; len(rows) > 0 {
			slices.SortStableFunc(rows, func(x, y Row) int { return rank(x.Metric.Key) - rank(y.Metric.Key) })
			b.table.Groups = append(b.table.Groups, Group{Key: g, Name: groupNames[g], Rows: rows})
		}
	}
	for gi := range b.table.Groups { // cells have their final place now
		for ri := range b.table.Groups[gi].Rows {
			r := &b.table.Groups[gi].Rows[ri]
			for ci := range r.Cells {
				if c := &r.Cells[ci]; c.Diff != nil && (c.Verdict == NeedsData || c.Verdict == None && c.Reason == nil) {
					b.trials = append(b.trials, trial{c.Diff, r.Headline, c.Verdict == NeedsData})
				}
			}
		}
	}
}

// measureRows makes rows on all cores: none depends on another.
func (b *builder) measureRows(ids []rowID) []Row {
	rows := make([]Row, len(ids))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(ids); i = int(next.Add(1)) - 1 {
				m, _ := definition(ids[i].key)
				rows[i] = b.row(ids[i], m)
			}
		})
	}
	wg.Wait()
	return rows
}

// once leaves out rows that show, converted, what another row shows: two engines'
// metrics may stand in for each other, and one difference is one test. The row of the
// first column's own metric stays.
func once(rows []Row) []Row {
	type what struct{ sources, label, steps string }
	best := make(map[what]int)
	id := func(r *Row) (what, bool) {
		for _, s := range r.sources {
			if s == "" {
				return what{}, false
			}
		}
		return what{strings.Join(r.sources, " "), r.Label, string(r.Steps)}, true
	}
	for i := range rows {
		k, ok := id(&rows[i])
		if had, seen := best[k]; ok && (!seen || rows[had].sources[0] != rows[had].Metric.Key && rows[i].sources[0] == rows[i].Metric.Key) {
			best[k] = i
		}
	}
	out := make([]Row, 0, len(rows))
	for i := range rows {
		if k, ok := id(&rows[i]); !ok || best[k] == i {
			out = append(out, rows[i])
		}
	}
	return out
}

// rank is a key's place in reading order.
func rank(key string) int { return ranks[key] }

var ranks = func() map[string]int {
	m := make(map[string]int)
	for i, k := range order() {
		m[k] = i
	}
	return m
}()

var groupNames = map[ledger.Group]Words{
	ledger.Throughput:  {EN: "Throughput", ZH: "吞吐"},
	ledger.Speculation: {EN: "Speculation", ZH: "投机解码"},
	ledger.Load:        {EN: "Load and queues", ZH: "负载与队列"},
	ledger.Caches:      {EN: "Caches", ZH: "缓存"},
	ledger.Latency:     {EN: "Latency", ZH: "延迟"},
	ledger.Compute:     {EN: "Compute", ZH: "计算"},
	ledger.MoE:         {EN: "Experts", ZH: "专家"},
	ledger.TimersGroup: {EN: "Timers", ZH: "计时器"},
	ledger.Network:     {EN: "NCCL memory", ZH: "NCCL 显存"},
	ledger.Cards:       {EN: "GPU readings", ZH: "GPU 读数"},
}

// row measures one metric on all sides.
func (b *builder) row(id rowID, m ledger.Metric) Row {
	r := Row{Metric: m, Label: id.label, Steps: id.kind, Unit: unitOf(m, b.opt.Per), Headline: slices.Contains(headline, m.Key),
		Cells: make([]Cell, len(b.views))}
	all := make([]measured, len(b.views))
	for i, v := range b.views {
		all[i] = b.measureCell(v, id, m, i)
		r.Cells[i] = all[i].cell
		r.sources = append(r.sources, all[i].source)
	}
	for i := 1; i < len(b.views); i++ {
		b.differ(&r, i, &all[0], &all[i], id)
	}
	return r
}

// measureCell measures a metric of a column, or what the column has instead of it.
func (b *builder) measureCell(v *view, id rowID, m ledger.Metric, column int) measured {
	r := ruleOf(m)
	if b.opt.Per == PerToken && perToken(m.Key) {
		r.agg.By = "tokens of " + m.Key
	}
	if sized(m) {
		switch b.opt.Per {
		case PerGPU:
			if v.GPUs <= 0 {
				return measured{cell: Cell{Absent: sizeUnknown(letters[column : column+1])}}
			}
			r.scale = 1 / float64(v.GPUs)
		case PerEngine:
			r.scale = 1 / float64(max(1, v.size()))
		}
	}
	switch {
	case m.Aggregate.Op == ledger.Apart:
		return v.apart(id, r)
	case isState(m):
		return v.state(id, r)
	}
	out := v.measure(id, r)
	out.source = id.key
	if out.cell.OK {
		return out
	}
	if s, ok := v.standIn(m); ok && !v.has(m.Key) {
		if s.refused {
			out.cell.Absent = s.reason
			out.refusal = s.reason
			return out
		}
		id.key = s.key
		r.convert = s.convert
		if o := v.measure(id, r); o.cell.OK {
			o.source = s.key
			o.cell.Qualifications = append(o.cell.Qualifications, *s.reason)
			return o
		}
	}
	out.cell.Absent = v.absence(id, out.cell.Left)
	return out
}

// absence says why a column has no level.
func (v *view) absence(id rowID, left Left) *Reason {
	switch {
	case left != (Left{}):
		return leftOut(left)
	case v.silent():
		return noLines()
	}
	for _, series := range v.series {
		if s := series[id.seriesID]; s != nil {
			for _, k := range kindsOf(s) {
				if k != id.kind && k != BothKinds && id.kind != BothKinds {
					return otherSteps(id.kind, k)
				}
			}
		}
	}
	if _, derived := derivedMetrics[id.key]; derived {
		return notExposed(v.kinds())
	}
	return lacking(v.kinds(), id.key)
}

// differ compares a column with the first as far as that is allowed.
func (b *builder) differ(r *Row, i int, a, other *measured, id rowID) {
	c := &r.Cells[i]
	va, vb := b.views[0], b.views[i]
	refuse := func(why *Reason) { c.Verdict, c.Reason = Refused, why }
	if w := oppositeRoles(va.roles(), vb.roles()); w != nil && r.Metric.Group != ledger.Network {
		refuse(w)
		return
	}
	same := sameLines(b.shared[i])
	if b.shared[i] > mostShared {
		refuse(same)
		return
	}
	for _, m := range []*measured{a, other} {
		if m.refusal != nil {
			refuse(m.refusal)
			return
		}
	}
	if r.Metric.Aggregate.Op == ledger.Apart {
		refuse(c.Absent)
		return
	}
	if !a.cell.OK || !other.cell.OK {
		for _, m := range []*measured{a, other} {
			if w := m.cell.Absent; w != nil && w.Code == OtherSteps {
				refuse(w)
			}
		}
		return
	}
	if w := unlikeNumbers(&a.cell, &other.cell, r.Metric); w != nil {
		refuse(w)
		return
	}
	for _, w := range []*Reason{same, mixedRoles(va.roles(), vb.roles(), r.Metric), otherSize(va, vb, r.Metric, b.opt.Per)} {
		if w != nil {
			c.Qualifications = append(c.Qualifications, *w)
		}
	}
	c.Qualifications = append(c.Qualifications, a.cell.Qualifications...) // its own it has already
	c.Qualifications = append(c.Qualifications, caveats(va.kinds(), vb.kinds(), r.Metric.Key)...)
	var more [2]int
	c.Diff, more = difference(a, other)
	c.Effect = other.cell.Effect
	if c.Diff == nil {
		c.Diff = &Difference{Value: other.est.level - a.est.level, Rel: relative(other.est.level-a.est.level, a.est.level),
			Low: math.Inf(-1), High: math.Inf(1), Low95: math.Inf(-1), High95: math.Inf(1), SE: math.Inf(1), DF: 1, P: 1, Adjusted: 1}
	}
	switch {
	case isState(r.Metric):
		stateVerdict(r.Metric, a, other, c)
		return
	case untested(r.Metric) != nil:
		c.Reason = untested(r.Metric)
		c.Diff.Low95, c.Diff.High95 = c.Diff.around(0.05)
		c.Diff.Low, c.Diff.High, c.Diff.Adjusted = math.Inf(-1), math.Inf(1), 1 // it has no share in the table's level
		return
	}
	moving := drifted(a, other, more, c.Diff)
	for k, m := range []*measured{a, other} {
		if m.half || moving && more[k] > 0 {
			column := k * i
			c.drift = append(c.drift, *m.driftReason(letters[column:column+1], r.Unit))
		}
	}
	if moving {
		return
	}
	if more != [2]int{} {
		if w, far := separated(r, a, other, c.Diff); far {
			c.Qualifications = append(c.Qualifications, *w)
			return
		}
	}
	b.short(r, i, []*measured{a, other}, more)
}

func relative(d, base float64) float64 {
	if base == 0 {
		return math.NaN()
	}
	return d / math.Abs(base)
}

// verdicts turns settled differences into words, and adds the conditions.
func (b *builder) verdicts() {
	for gi := range b.table.Groups {
		for ri := range b.table.Groups[gi].Rows {
			r := &b.table.Groups[gi].Rows[ri]
			for ci := 1; ci < len(r.Cells); ci++ {
				c := &r.Cells[ci]
				if c.Diff == nil {
					continue
				}
				if c.Verdict == None && c.Reason == nil {
					decide(r.Metric, c)
				}
				c.Qualifications = append(c.Qualifications, c.drift...)
				if c.Diff.EnginesVary {
					c.Qualifications = append(c.Qualifications, *why(FewEngines, "engines differ among themselves", "引擎之间差异大",
						"The engines of a column differ by more than their own noise explains, so engines were counted and not lines: more engines make the interval narrower, more lines don't.",
						"同一列内各引擎的差异超出自身噪声，因此以引擎而非日志条数作为样本：增加引擎才能缩小区间。"))
				}
				if w := b.table.Fairness.load(ci); w != nil && c.Verdict.Evidenced() && loadBound(r.Metric.Group) && !isLoad(r.Metric.Key) {
					c.Qualifications = append(c.Qualifications, *w)
				}
			}
		}
	}
}

// decide gives a tested difference its verdict.
func decide(m ledger.Metric, c *Cell) {
	switch {
	case !c.Diff.evident():
		c.Verdict = NoEvidence
		switch {
		case c.Diff.interval != nil:
			c.Reason = why(SameBucket, "same bucket, or too near", "同一分桶或过近",
				"The quantiles lie in the same bucket of the histogram, or in buckets that chance can exchange. What lies inside a bucket is not known.",
				"分位数落在直方图的同一分桶，或偶然即可互换的相邻分桶；桶内位置未知。")
		case c.Diff.Value == 0 && c.Diff.SE == 0:
			c.Reason = why(Equal, "constant and equal", "恒定且相等", "Both columns have the same value all the time.", "两列始终相同。")
		default:
			c.Reason = why(Compatible, "no difference is possible", "不排除无差异",
				"The interval that holds for the whole table includes 0. That does not prove that there is no difference.",
				"对全表成立的区间包含 0；这并不证明没有差异。")
		}
	default:
		c.Verdict = direction(m, c.Diff.Value)
	}
}

// direction is the word for a difference that is evident.
func direction(m ledger.Metric, d float64) Verdict {
	switch {
	case m.Better == ledger.Neither:
		return Changed
	case (m.Better == ledger.Up) == (d > 0):
		return Better
	}
	return Worse
}
