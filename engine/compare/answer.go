package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// answer says for each column in a few sentences how it does against A.
func (b *builder) answer() []Finding {
	var out []Finding
	for i := 1; i < len(b.views); i++ {
		if f, ok := b.throughputAnswer(i); ok {
			out = append(out, f)
		}
		for _, key := range []string{"TTFT_mean", "TTFT_avg", "ITL_avg", "TPOT_avg", "E2E_avg"} {
			if r := b.evidenced(key, "", i); r != nil {
				out = append(out, b.tell(r, i, math.NaN()))
			}
		}
		out = append(out, b.counts(i))
	}
	return out
}

// throughputKeys are the metrics of generated tokens per second, the best first.
var throughputKeys = []string{"completion_TPS", "completion_done_TPS", "gen_throughput"}

// throughputAnswer speaks of generated tokens per second, by the first metric for it
// that both columns have.
func (b *builder) throughputAnswer(i int) (Finding, bool) {
	letter := letters[i : i+1]
	for _, key := range throughputKeys {
		r := b.find(key, "", BothKinds, "")
		if r == nil {
			continue
		}
		c := &r.Cells[i]
		f := r.finding(i, math.NaN(), Words{})
		switch {
		case c.Verdict == Refused || c.Verdict == NeedsData:
			f.Text = Words{EN: letter + ": generated tokens per second can't be compared with A's: " + lowerFirst(c.Reason.Long.EN), ZH: letter + "：生成吞吐无法与 A 比较：" + c.Reason.Long.ZH}
			f.Choose = c.choose
		case c.Diff == nil:
			continue
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
	return Finding{}, false
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
	m.Blocks = Words{
		EN: "A line speaks for the time since the engine's line before it, except for figures of a single step. Engines are aligned in buckets of time about as wide as most of that is long, and become one series by each metric's rule. " +
			"A level is that series' mean over time; its error is that of the moving-block bootstrap in closed form, with blocks as long as the autocorrelation of all engines' series asks for, " +
			"scaled for short series and never below that of a first-order autoregression, on two scales. Intervals use Student's distribution with as many degrees of freedom as points and blocks give. " +
			fmt.Sprintf("Where engines of a column differ by more than their noise explains (always from %d engines on), that adds to the error. ", manyEngines) +
			fmt.Sprintf("A verdict needs %d buckets, worth %d independent ones, on each side. Quantiles of histograms lie between bucket bounds.", minPoints, minEffect),
		ZH: "除单步指标外，每条日志代表自该引擎上一条日志以来的时间。各引擎按日志所覆盖的时长对齐到时间桶，再依各指标的规则合并为一条序列。水平为该序列的时间均值；误差取移动块自助法的闭式解，块长由全部引擎序列的自相关决定，针对短序列校正，且在两个尺度上均不低于一阶自回归的误差。" +
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
