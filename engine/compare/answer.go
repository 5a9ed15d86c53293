package compare

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// answer says for each column in a few sentences how it does against A.
func (b *builder) answer() []Finding {
	var out []Finding
	for i := 1; i < len(b.views); i++ {
		told := b.stays(i)
		f, ok := b.throughputAnswer(i)
		switch {
		case ok && told != nil && f.Verdict == NoEvidence: // as many only because the load is the same
			out = append(out, b.loadBoundAnswer(told, i))
		case ok:
			out = append(out, f)
			fallthrough
		default:
			if told != nil {
				out = append(out, b.tell(told, i, math.NaN()))
			}
		}
		out = append(out, b.queueAnswer(i)...)
		for _, key := range []string{"TTFT_mean", "TTFT_avg", "ITL_avg", "TPOT_avg", "E2E_avg"} {
			if r := b.evidenced(key, "", i); r != nil && r != told {
				out = append(out, b.tell(r, i, math.NaN()))
			}
		}
		out = append(out, b.counts(i))
	}
	return out
}

// stays is the row that tells how long requests take in all, where it evidently differs: as
// measured, else by Little's law.
func (b *builder) stays(column int) *Row {
	for _, key := range []string{"E2E_avg", requestTime} {
		if r := b.evidenced(key, "", column); r != nil {
			return r
		}
	}
	return nil
}

// loadBoundAnswer speaks of columns that generate as many tokens per second while the
// requests of one take longer.
func (b *builder) loadBoundAnswer(r *Row, column int) Finding {
	c := &r.Cells[column]
	letter := letters[column : column+1]
	moved := Figure(r.Cells[0].Level, r.Unit) + " → " + Figure(c.Level, r.Unit)
	times := significant(1 + c.Diff.Rel)
	if math.IsNaN(c.Diff.Rel) {
		return b.tell(r, column, math.NaN())
	}
	en, zh := "slower", "更慢"
	if c.Diff.Value < 0 {
		en, zh = "faster", "更快"
	}
	tps := b.throughputRow(column)
	within := span(tps.Cells[column].Diff, tps.Cells[0].Level, tps.Unit)
	var loadEN, loadZH string
	var because Words
	arrivals := b.find(arrivalRate, "", BothKinds, "")
	if w := b.table.Fairness.load(column); w != nil {
		loadEN, loadZH = ", "+w.Short.EN, "（"+w.Short.ZH+"）"
	} else if arrivals != nil && arrivals.Cells[column].Verdict == NoEvidence {
		loadEN, loadZH = " at the same load", "（相同负载下）"
		because = Words{EN: ": the load sets them", ZH: "：产出由负载决定"}
	}
	return r.finding(column, math.NaN(), Words{
		EN: fmt.Sprintf("%s is %s%s: a request takes %s × as long in %s (%s). No evidence that generated tokens per second differ (%s)%s.",
			letter, en, loadEN, times, letter, moved, within, because.EN),
		ZH: fmt.Sprintf("%s %s%s：一个请求在 %s 中的耗时是 A 的 %s 倍（%s）。没有证据表明生成吞吐不同（%s）%s。",
			letter, zh, loadZH, letter, times, figureIn(r.Cells[0].Level, r.Unit, "zh")+" → "+figureIn(c.Level, r.Unit, "zh"), within, because.ZH),
	})
}

// throughputRow is the row that throughputAnswer speaks of.
func (b *builder) throughputRow(column int) *Row {
	for _, key := range throughputKeys {
		if r := b.find(key, "", BothKinds, ""); r != nil && (r.Cells[column].Diff != nil || r.Cells[column].Verdict == Refused || r.Cells[column].Verdict == NeedsData) {
			return r
		}
	}
	return nil
}

// throughputKeys are the metrics of generated tokens per second, the best first.
var throughputKeys = []string{"completion_TPS", "completion_done_TPS", "gen_throughput"}

// throughputAnswer speaks of generated tokens per second, by the first metric for it
// that both columns have.
func (b *builder) throughputAnswer(i int) (Finding, bool) {
	letter := letters[i : i+1]
	r := b.throughputRow(i)
	if r == nil {
		return Finding{}, false
	}
	c := &r.Cells[i]
	f := r.finding(i, math.NaN(), Words{})
	switch {
	case c.Verdict == Refused || c.Verdict == NeedsData:
		f.Text = Words{EN: letter + ": generated tokens per second can't be compared with A's: " + lowerFirst(c.Reason.Long.EN), ZH: letter + "：生成吞吐无法与 A 比较：" + c.Reason.Long.ZH}
		f.Choose = c.choose
	case c.Verdict == NoEvidence:
		within := span(c.Diff, r.Cells[0].Level, r.Unit)
		f.Text = Words{EN: fmt.Sprintf("%s: no evidence that generated tokens per second differ from A's (%s).", letter, within),
			ZH: fmt.Sprintf("%s：没有证据表明生成吞吐与 A 不同（%s）。", letter, within)}
	default:
		en, zh := "more", "多"
		if c.Diff.Value < 0 {
			en, zh = "fewer", "少"
		}
		by, within := magnitude(c.Diff, r.Unit), span(c.Diff, r.Cells[0].Level, r.Unit)
		var load Words
		if w := b.table.Fairness.load(i); w != nil { // a gain under lighter load is none
			load = Words{EN: ", " + w.Short.EN, ZH: "，" + w.Short.ZH}
		}
		f.Text = Words{EN: fmt.Sprintf("%s generates %s %s tokens per second than A%s (%s).", letter, by, en, load.EN, within),
			ZH: fmt.Sprintf("%s 每秒生成的 token 比 A %s %s%s（%s）。", letter, zh, by, load.ZH, within)}
	}
	return f, true
}

// lowerFirst is a sentence as it goes on behind a colon; abbreviations stay.
func lowerFirst(s string) string {
	if len(s) < 2 || s[1] < 'a' || s[1] > 'z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// plural is a number of metrics with its verb.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// magnitude is a difference without its sign.
func magnitude(d *Difference, unit string) string {
	if math.IsNaN(d.Rel) {
		return Figure(math.Abs(d.Value), unit)
	}
	digits := 1
	if math.Abs(d.Rel) >= 1 {
		digits = 0
	}
	return fmt.Sprintf("%.*f %%", digits, 100*math.Abs(d.Rel))
}

// counts sums up a column's verdicts.
func (b *builder) counts(i int) Finding {
	n := make(map[Verdict]int)
	tested := 0
	for _, g := range b.table.Groups {
		for _, r := range g.Rows {
			c := &r.Cells[i]
			n[c.Verdict]++
			if c.Verdict.Evidenced() || c.Verdict == NoEvidence {
				tested++
			}
		}
	}
	letter := letters[i : i+1]
	f := Finding{Column: i, Share: math.NaN()}
	for k, v := range []*view{b.views[0], b.views[i]} {
		if v.silent() {
			c := letters[k*i : k*i+1]
			if a := b.views[0]; k == 1 && a.Baseline != "" && a.Deployment == v.Deployment && a.To == v.From {
				at := time.Unix(0, a.To).UTC().Format("15:04:05")
				f.Text = Words{EN: letter + ": nothing to compare yet: A's baseline ends at " + at + " UTC, and nothing has come since. Wait some minutes and load this again.",
					ZH: letter + "：暂无可比较：A 的基线截至 " + at + " UTC，此后尚无日志。请等待几分钟后重新加载。"}
				return f
			}
			f.Text = Words{EN: letter + ": nothing to compare: column " + c + " has no lines in its time. Choose another time.", ZH: letter + "：无可比较：" + c + " 列在其时段内没有日志。请选择其他时段。"}
			return f
		}
	}
	if tested == 0 {
		f.Text = Words{EN: letter + ": nothing could be tested against A; the cells say why.", ZH: letter + "：没有可与 A 检验的指标，原因见各格。"}
		return f
	}
	f.Text = Words{
		EN: fmt.Sprintf("%s: of %s that could be compared %s better, %d worse, %d otherwise changed; %s more data, %d must not be compared.",
			letter, plural(tested, "metric", "metrics"), plural(n[Better], "is", "are"), n[Worse], n[Changed], plural(n[NeedsData], "needs", "need"), n[Refused]),
		ZH: fmt.Sprintf("%s：可比较的 %d 项指标中，%d 项更好，%d 项更差，%d 项有其他变化；%d 项数据不足，%d 项不可比较。",
			letter, tested, n[Better], n[Worse], n[Changed], n[NeedsData], n[Refused]),
	}
	return f
}

// method says how the numbers came about.
func (b *builder) method() Method {
	var heads int
	for _, t := range b.trials {
		heads += class(t.headline)
	}
	rest := len(b.trials) - heads
	m := Method{Level: b.opt.FamilyLevel, Tests: len(b.trials)}
	read := Words{EN: "A line speaks for the time since the engine's line before it, except for figures of a single step. ",
		ZH: "除单步指标外，每条日志代表自该引擎上一条日志以来的时间。"}
	if w := b.coarsest(); w > 0 {
		read = Words{EN: "There were too many lines to read them one by one: means over the lines of each " + Stretch(w) + " were read, in which a line counts as much as any other, however long it speaks for. ",
			ZH: "日志过多，未逐条读取，而是读取每 " + Stretch(w) + " 内各条日志的均值，其中每条日志权重相同，与其代表的时长无关。"}
	}
	m.Blocks = Words{
		EN: read.EN + "Engines are aligned in buckets of time about as wide as most of that is long, and become one series by each metric's rule. " +
			"A level is that series' mean over time; its error is that of the moving-block bootstrap in closed form, with blocks as long as the autocorrelation of all engines' series asks for, " +
			"scaled for short series and never below that of a first-order autoregression, on two scales. Intervals use Student's distribution with as many degrees of freedom as points and blocks give. " +
			fmt.Sprintf("Where engines of a column differ by more than their noise explains (always from %d engines on), that adds to the error. ", manyEngines) +
			fmt.Sprintf("A verdict needs %d buckets, worth %d independent ones, on each side. Quantiles of histograms lie between bucket bounds.", minPoints, minEffect),
		ZH: read.ZH + "各引擎按日志所覆盖的时长对齐到时间桶，再依各指标的规则合并为一条序列。水平为该序列的时间均值；误差取移动块自助法的闭式解，块长由全部引擎序列的自相关决定，针对短序列校正，且在两个尺度上均不低于一阶自回归的误差。" +
			"区间采用学生分布，自由度由样本点与块的数量给出。" +
			fmt.Sprintf("若同列引擎之间的差异超出自身噪声（引擎数达到 %d 时总是计入），则计入误差。", manyEngines) +
			fmt.Sprintf("给出结论需要每列至少 %d 个时间桶，且相当于 %d 个独立样本。直方图的分位数只定位到分桶边界之间。", minPoints, minEffect),
	}
	m.Family = Words{
		EN: fmt.Sprintf("All %d tests of the table together have a chance of at most %s of a false verdict: %d headline rows share one half of it, %d others the other half (weighted Bonferroni). The wide interval of a row is the one that its verdict is about.",
			len(b.trials), Figure(b.opt.FamilyLevel, string(ledger.Share)), heads, rest),
		ZH: fmt.Sprintf("全表 %d 项检验合计出现误判的概率不超过 %s：%d 项主要指标分享一半，其余 %d 项分享另一半（加权 Bonferroni）。每行较宽的区间即结论所依据的区间。",
			len(b.trials), Figure(b.opt.FamilyLevel, string(ledger.Share)), heads, rest),
	}
	if n := b.table.LeftRows; n > 0 {
		m.Family.EN += fmt.Sprintf(" %d rows were left out: a metric has at most %d labels here.", n, maxLabels)
		m.Family.ZH += fmt.Sprintf("另有 %d 行未列出：此处每个指标最多 %d 个标签。", n, maxLabels)
	}
	return m
}
