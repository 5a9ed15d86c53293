package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// FairnessLevel is how equal the work of two columns was.
type FairnessLevel string

// The levels, from best to worst.
const (
	Fair      FairnessLevel = "fair"      // any difference is small
	Uncertain FairnessLevel = "uncertain" // no difference seen, but a noticeable one is not ruled out
	Qualified FairnessLevel = "qualified" // something differs: verdicts carry it as a condition
	Unfair    FairnessLevel = "unfair"    // something differs so much that gains and losses mean little
)

var fairnessOrder = []FairnessLevel{"", Fair, Uncertain, Qualified, Unfair}

func worse(a, b FairnessLevel) FairnessLevel {
	if slices.Index(fairnessOrder, a) > slices.Index(fairnessOrder, b) {
		return a
	}
	return b
}

// Fairness says whether the columns had the same work to do.
type Fairness struct {
	Level   FairnessLevel // the worst of all columns
	Text    Words         // in a sentence
	Columns []FairnessLevel
	Lines   []FairnessLine

	overrun []bool // by column: its queue grows without end
}

// FairnessLine is one thing that should be equal.
type FairnessLine struct {
	// Key is a metric's key, or "roles", "size", "engines", "lines", "overlap".
	Key   string
	Name  Words
	Unit  string // empty for texts
	Cells []FairnessCell
}

// FairnessCell is one column's value of it.
type FairnessCell struct {
	OK     bool
	Text   string // for things that aren't numbers; untrusted
	Value  float64
	Diff   *Difference // from column 0
	Level  FairnessLevel
	Reason *Reason // what differs, or why it is not known
}

// loadFigure is a figure of the load with how much it may differ.
type loadFigure struct {
	key           string
	name          Words
	heavier       float64 // +1: more of it is more work; −1: less work
	points        bool    // tolerances are in units of the figure, not relative
	small, large  float64 // above small it qualifies, above large it is unfair
	noticeable    float64 // an interval that reaches further leaves it uncertain
	followsOutput bool    // with a fixed number of clients it follows the throughput
}

var loadFigures = []loadFigure{
	{key: arrivalRate, name: Words{EN: "arrival rate", ZH: "到达率"}, heavier: 1, small: 0.02, large: 0.2, noticeable: 0.1, followsOutput: true},
	{key: offeredTokens, name: Words{EN: "offered tokens", ZH: "到达的 token 工作量"}, heavier: 1, small: 0.02, large: 0.2, noticeable: 0.1, followsOutput: true},
	{key: "avg_input_length", name: Words{EN: "input length", ZH: "输入长度"}, heavier: 1, small: 0.02, large: 0.2, noticeable: 0.1},
	{key: "avg_output_length", name: Words{EN: "output length", ZH: "输出长度"}, heavier: 1, small: 0.02, large: 0.2, noticeable: 0.1},
	{key: "prefill_caching_rate", name: Words{EN: "prefix cache hits", ZH: "前缀命中率"}, heavier: -1, points: true, small: 0.02, large: 0.15, noticeable: 0.1},
}

// isLoad says whether a metric is itself a figure of the load.
func isLoad(key string) bool {
	return slices.ContainsFunc(loadFigures, func(f loadFigure) bool { return f.key == key })
}

// load is the condition under which a column's verdicts hold, nil when there is none.
func (f *Fairness) load(column int) *Reason {
	if f.Columns[column] != Qualified && f.Columns[column] != Unfair {
		return nil
	}
	var en, zh []string
	for _, l := range f.Lines {
		if c := l.Cells[column]; (c.Level == Qualified || c.Level == Unfair) && c.Reason != nil && c.Reason.Code == OtherLoad {
			en, zh = append(en, c.Reason.Short.EN), append(zh, c.Reason.Short.ZH)
		}
	}
	if len(en) == 0 {
		return nil
	}
	weight := f.weight(column)
	more := Words{EN: " A gain under lighter load is none.", ZH: "在更轻负载下的“提升”不算提升。"}
	if f.overrun[column] {
		more = Words{EN: " Its queue grows all the time: it gets more than it serves, however few requests come.", ZH: "其队列持续增长：无论到达多少，都已超过其处理能力。"}
	}
	return why(OtherLoad, "under "+weight.EN+" load", "负载"+weight.ZH,
		"The columns did not have the same work: "+strings.Join(en, "; ")+"."+more.EN,
		"两列的工作量不同："+strings.Join(zh, "；")+"。"+more.ZH)
}

// weight says in a word how a column's load differs: by the work that is offered where that
// evidently differs. Where it does not, the single figures may say so, but neither against
// what is seen of the work, nor that a column has an easy time whose queue grows.
func (f *Fairness) weight(column int) Words {
	lighter, heavier := false, false
	offered := 0.0
	for _, l := range f.Lines {
		i := slices.IndexFunc(loadFigures, func(g loadFigure) bool { return g.key == l.Key })
		c := l.Cells[column]
		evident := c.Level == Qualified || c.Level == Unfair
		if l.Key == offeredTokens && c.Diff != nil {
			if offered = c.Diff.Value; evident {
				lighter, heavier = offered < 0, offered > 0
				break
			}
		}
		if i >= 0 && evident {
			if loadFigures[i].heavier*c.Diff.Value > 0 {
				heavier = true
			} else {
				lighter = true
			}
		}
	}
	switch {
	case lighter && (f.overrun[column] || offered > 0), heavier && offered < 0:
	case lighter && !heavier:
		return Words{EN: "lighter", ZH: "更轻"}
	case heavier && !lighter:
		return Words{EN: "heavier", ZH: "更重"}
	}
	return Words{EN: "other", ZH: "不同"}
}

// fairness compares what the columns had to do, by the rows' settled differences.
func (b *builder) fairness() Fairness {
	f := Fairness{Columns: make([]FairnessLevel, len(b.views)), overrun: make([]bool, len(b.views))}
	for i := range f.Columns {
		f.Columns[i] = Fair
		_, f.overrun[i] = b.overrun(i)
	}
	for _, g := range loadFigures {
		f.Lines = append(f.Lines, b.loadLine(g))
	}
	f.Lines = append(f.Lines, b.roleLine(), b.sizeLine(), b.leftLine())
	if line, some := b.sharedLine(); some {
		f.Lines = append(f.Lines, line)
	}
	for _, l := range f.Lines {
		for i, c := range l.Cells {
			f.Columns[i] = worse(f.Columns[i], c.Level)
		}
	}
	f.Level = Fair
	for _, l := range f.Columns {
		f.Level = worse(f.Level, l)
	}
	f.Text = b.fairnessText(&f)
	for i, over := range f.overrun {
		if c := letters[i : i+1]; over && (f.Level == Qualified || f.Level == Unfair) { // else a lower rate would excuse it
			f.Text.EN += " But " + c + "'s queue grows without end: it gets more than it serves."
			f.Text.ZH += "但 " + c + " 的队列持续增长：到达的请求多于其处理能力。"
		}
	}
	return f
}

// loadLine judges one figure of the load.
func (b *builder) loadLine(g loadFigure) FairnessLine {
	line := FairnessLine{Key: g.key, Name: g.name, Cells: make([]FairnessCell, len(b.views))}
	line.Name.EN = strings.ToUpper(line.Name.EN[:1]) + line.Name.EN[1:]
	r := b.find(g.key, "", BothKinds, "")
	for i := range line.Cells {
		c := &line.Cells[i]
		if r == nil || !r.Cells[i].OK {
			c.Level = Uncertain
			c.Reason = notExposed(b.views[i].kinds())
			if b.views[i].silent() {
				c.Reason = noLines()
			}
			if r != nil && r.Cells[i].Absent != nil {
				c.Reason = r.Cells[i].Absent
			}
			continue
		}
		line.Unit = r.Unit
		c.OK, c.Value, c.Level = true, r.Cells[i].Level, Fair
		if i == 0 || !r.Cells[0].OK {
			continue
		}
		d := r.Cells[i].Diff
		if c.Diff = d; d == nil {
			c.Level, c.Reason = Uncertain, r.Cells[i].Reason
			continue
		}
		b.judge(g, c, r.Cells[0].Level, i)
	}
	return line
}

// judge gives a load figure's difference its level.
func (b *builder) judge(g loadFigure, c *FairnessCell, base float64, column int) {
	d := c.Diff
	unit := 1.0
	if !g.points {
		unit = math.Abs(base)
	}
	by := percent(d.Rel)
	if g.points {
		by = strings.Replace(fmt.Sprintf("%+.1f pp", 100*d.Value), "-", "−", 1)
	}
	size := math.Abs(d.Value)
	switch {
	case d.evident() && size > g.small*unit:
		c.Level = Qualified
		if size > g.large*unit {
			c.Level = Unfair
		}
		c.Reason = why(OtherLoad, g.name.EN+" "+by, g.name.ZH+" "+by,
			"The columns differ in "+g.name.EN+" by "+by+".", "两列的"+g.name.ZH+"相差 "+by+"。")
		if g.followsOutput && b.closedLoop(column, d.Value) {
			c.Level = Uncertain
			c.Reason = why(Compatible, "follows the throughput", "随吞吐变化",
				"The "+g.name.EN+" differs by "+by+" while as many requests are in the system: so it does where a fixed number of clients waits for answers, and then it is an effect of the throughput, not its cause.",
				g.name.ZH+"相差 "+by+"，而系统内的请求数相同：固定数量的客户端等待应答时即如此，此时它是吞吐的结果而非原因。")
		}
	case !(math.Max(-d.Low95, d.High95) <= g.noticeable*unit):
		c.Level = Uncertain
		c.Reason = why(TooFew, "too few data to tell", "数据不足以判断",
			fmt.Sprintf("No difference is seen, but the data leave room for one of more than %.0f %%.", 100*g.noticeable),
			fmt.Sprintf("未见差异，但数据不排除超过 %.0f %% 的差异。", 100*g.noticeable))
	}
}

// closedLoop says whether a column's requests look like those of a fixed number of
// clients: as many are in the system, and the rate moves with the throughput.
func (b *builder) closedLoop(column int, rate float64) bool {
	r := rule{agg: sumAll, scale: 1}
	id := rowID{seriesID: seriesID{key: inFlight}}
	x, y := b.views[0].measure(id, r), b.views[column].measure(id, r)
	tps := b.find("completion_TPS", "", BothKinds, "")
	if !x.cell.OK || !y.cell.OK || tps == nil || tps.Cells[column].Diff == nil {
		return false
	}
	d, _ := difference(&x, &y)
	return d != nil && d.P > 0.05 && math.Abs(d.Value) < 0.05*x.est.level && tps.Cells[column].Diff.Value*rate > 0
}

// find returns a row, nil when there is none.
func (b *builder) find(key, label string, steps StepKind, stat string) *Row {
	for gi := range b.table.Groups {
		for ri := range b.table.Groups[gi].Rows {
			if r := &b.table.Groups[gi].Rows[ri]; r.Metric.Key == key && r.Label == label && r.Steps == steps && r.Stat == stat {
				return r
			}
		}
	}
	return nil
}

func (b *builder) roleLine() FairnessLine {
	line := FairnessLine{Key: "roles", Name: Words{EN: "Roles of engines", ZH: "引擎角色"}, Cells: make([]FairnessCell, len(b.views))}
	first := b.views[0].roles()
	for i, v := range b.views {
		c := &line.Cells[i]
		roles := v.roles()
		c.OK, c.Text, c.Level = len(roles) > 0, strings.Join(roles, ", "), Fair
		switch {
		case i == 0 || slices.Equal(roles, first):
		case oppositeRoles(first, roles) != nil:
			c.Level, c.Reason = Unfair, oppositeRoles(first, roles)
		case len(first) > 0 && len(roles) > 0:
			c.Level = Qualified
			c.Reason = why(MixedRoles, "engines have other roles", "引擎角色不同",
				"Prefill and decode are divided differently: compare sums and latencies, not means over engines.",
				"预填充与解码的划分不同：可比较总量与延迟，跨引擎平均不可比。")
		}
	}
	return line
}

func (b *builder) sizeLine() FairnessLine {
	line := FairnessLine{Key: "size", Name: Words{EN: "GPUs", ZH: "GPU 数"}, Cells: make([]FairnessCell, len(b.views))}
	a := b.views[0]
	known := !slices.ContainsFunc(b.views, func(v *view) bool { return v.GPUs <= 0 })
	if !known {
		line.Name = Words{EN: "Engines, as the number of GPUs is unknown", ZH: "引擎数（GPU 数未知）"}
	}
	for i, v := range b.views {
		c := &line.Cells[i]
		c.OK, c.Value, c.Level = true, float64(v.GPUs), Fair
		if !known {
			c.Value = float64(v.size())
		}
		differ := v.size() != a.size()
		if v.GPUs > 0 && a.GPUs > 0 {
			differ = v.GPUs != a.GPUs
		}
		if i > 0 && differ && b.opt.Per == PerDeployment && !v.silent() && !a.silent() {
			c.Level = Qualified
			c.Reason = why(OtherSize, "deployments differ in size", "部署规模不同",
				"A sum over a larger deployment is larger. Ask for figures per GPU or per engine.",
				"规模更大的部署，总量自然更大。请选择按 GPU 或按引擎平均。")
		}
	}
	return line
}

// leftLine tells what share of the lines could be used.
func (b *builder) leftLine() FairnessLine {
	line := FairnessLine{Key: "lines", Name: Words{EN: "Lines left out", ZH: "剔除的样本"}, Unit: "share", Cells: make([]FairnessCell, len(b.views))}
	for i := range b.views {
		h := b.table.Columns[i]
		c := &line.Cells[i]
		out := h.Left.Perturbed + h.Left.Filling
		c.Level = Fair
		if h.Lines == 0 {
			c.Level, c.Reason = Uncertain, noLines()
			continue
		}
		if h.Coarse > 0 {
			c.Level, c.Reason = Uncertain, meansOnly(h.Coarse)
			continue
		}
		c.OK, c.Value = true, float64(out)/float64(h.Lines)
		if c.Value > 0.2 {
			c.Level = Uncertain
			c.Reason = why(LeftOut, "many lines left out", "剔除样本较多",
				fmt.Sprintf("%d lines were taken during captures and %d with windows still filling; what is left may not stand for the whole time.", h.Left.Perturbed, h.Left.Filling),
				fmt.Sprintf("抓取期间 %d 条、窗口未满 %d 条被剔除；剩余样本未必代表整个时段。", h.Left.Perturbed, h.Left.Filling))
		}
	}
	return line
}

// fairnessText says it in a sentence.
func (b *builder) fairnessText(f *Fairness) Words {
	var en, zh []string
	overlap := false
	for i := range b.views {
		if b.views[i].silent() { // which says all
			en = append(en, letters[i:i+1]+": "+noLines().Short.EN)
			zh = append(zh, letters[i:i+1]+"："+noLines().Short.ZH)
			continue
		}
		for _, l := range f.Lines {
			if c := l.Cells[i]; c.Level == f.Level && c.Reason != nil && f.Level != Fair {
				w := c.Reason.Short
				overlap = overlap || c.Reason.Code == SameLines
				if isLoad(l.Key) && c.Reason.Code != OtherLoad { // others say themselves what they are about
					w = Words{EN: lowerFirst(l.Name.EN) + " " + w.EN, ZH: l.Name.ZH + w.ZH}
				}
				en = append(en, letters[i:i+1]+": "+w.EN)
				zh = append(zh, letters[i:i+1]+"："+w.ZH)
			}
		}
	}
	list := func(items []string, sep string) string {
		const most = 4
		if len(items) > most {
			items = append(slices.Clone(items[:most]), "…")
		}
		return strings.Join(items, sep)
	}
	switch f.Level {
	case Unfair:
		if overlap {
			return Words{EN: "Not a comparison of two: the columns have lines in common (" + list(en, "; ") + "). Choose times that don't overlap.",
				ZH: "不是两者之间的比较：各列有相同的日志（" + list(zh, "；") + "）。请选择不重叠的时段。"}
		}
		return Words{EN: "Not a fair comparison: the work differs (" + list(en, "; ") + ").", ZH: "不是公平的比较：工作量不同（" + list(zh, "；") + "）。"}
	case Qualified:
		return Words{EN: "Fair under conditions: something differs (" + list(en, "; ") + ").", ZH: "有条件地可比：存在差异（" + list(zh, "；") + "）。"}
	case Uncertain:
		return Words{EN: "No difference in the work is evident, but not all of it is known well (" + list(en, "; ") + ").", ZH: "未见工作量差异，但部分情况不够清楚（" + list(zh, "；") + "）。"}
	}
	return Words{EN: "A fair comparison: arrival rate, lengths, prefix cache hits and roles agree.", ZH: "公平的比较：到达率、长度、前缀命中率与角色一致。"}
}
