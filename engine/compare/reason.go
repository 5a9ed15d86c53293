package compare

import (
	"fmt"
	"math"
	"strings"
)

// Code names a reason.
type Code string

// The codes. The first block explains cells without a number, the second refuses,
// the third qualifies, the fourth explains verdicts without evidence.
const (
	NotExposed  Code = "not_exposed"   // no engine of the column has the metric in this time
	NoLines     Code = "no_lines"      // the column has no samples at all in this time
	LeftOut     Code = "left_out"      // there were samples, and all had to be left out
	MeansOnly   Code = "means_only"    // too many samples: read as means of long stretches
	SizeUnknown Code = "size_unknown"  // no number of GPUs to divide by
	BeyondRange Code = "beyond_bounds" // a quantile beyond the histogram's last bound

	OtherSteps   Code = "other_steps"   // the column has no steps of this kind, only of the other
	OtherMeaning Code = "other_meaning" // the column has another metric that only looks alike
	PeakUnknown  Code = "peak_unknown"  // TFLOP/s become a share of the peak only when that is known
	OtherRoles   Code = "other_roles"   // prompt engines against decode engines
	EnginesApart Code = "engines_apart" // no single number is right for several engines
	SingleCall   Code = "single_call"   // shown, not tested: another row says the same with less noise

	SameLines     Code = "same_lines"     // the columns' times overlap: lines are in both; refused where most are
	OtherLoad     Code = "other_load"     // the columns' work differs
	PartOfTime    Code = "part_of_time"   // engines in a sum that report in a part of the time only
	OtherSize     Code = "other_size"     // sums over deployments of different size
	SimilarMetric Code = "similar_metric" // compared with a metric that is not quite the same
	Converted     Code = "converted"      // computed from another metric
	EngineCaveat  Code = "engine_caveat"  // engines of another kind count it a little differently
	MixedRoles    Code = "mixed_roles"    // prefill and decode on engines of their own against both on one
	FewEngines    Code = "engines_vary"   // engines differ by more than their noise: they were the sample
	BelowBounds   Code = "below_bounds"   // a quantile below the histogram's first bound
	OtherBounds   Code = "other_bounds"   // histograms with other bounds
	Drift         Code = "drift"          // a column changed within its time
	Apart         Code = "apart"          // too few data for an interval, but samples that don't overlap by far
	Follows       Code = "follows"        // a consequence that only looks like a gain

	TooFew     Code = "too_few"     // samples
	Unsettled  Code = "unsettled"   // a column that still rises or falls has no level to compare
	Equal      Code = "equal"       // constant and equal
	Compatible Code = "compatible"  // with no difference
	SameBucket Code = "same_bucket" // the quantiles' buckets overlap
	State      Code = "state"       // logged on change: values, not samples
)

// Reason is why something was refused, qualified or is missing. Names in the texts are
// untrusted.
type Reason struct {
	Code  Code
	Short Words // about five words, for the cell
	Long  Words // what it means and what to do
}

func why(code Code, shortEN, shortZH, longEN, longZH string) *Reason {
	return &Reason{code, Words{EN: shortEN, ZH: shortZH}, Words{EN: longEN, ZH: longZH}}
}

func sizeUnknown(letter string) *Reason {
	return why(SizeUnknown, "number of GPUs unknown", "GPU 数未知",
		"Column "+letter+" can't be divided by its GPUs: set the number of GPUs on the deployment's page.",
		letter+" 列无法按 GPU 平均：请在部署页面填写 GPU 数。")
}

func notExposed(kinds []string) *Reason {
	k := strings.Join(kinds, ", ")
	return why(NotExposed, "not exposed here", "未提供",
		"No engine of this column ("+k+") gave this metric in this time. That is not 0.",
		"该列的引擎（"+k+"）在此时段没有给出该指标；这不等于 0。")
}

func noLines() *Reason {
	return why(NoLines, "no lines in this time", "此时段没有日志",
		"This column has no lines in its time: nothing was collected then. Choose another time.",
		"该列在其时段内没有日志：当时没有采集。请选择其他时段。")
}

func leftOut(l Left) *Reason {
	return why(LeftOut, "all samples left out", "样本均被剔除",
		fmt.Sprintf("All samples were left out: %d taken during a capture, %d with windows still filling, %d not finite, %d across a restart, %d times with an engine missing. Choose a longer time.",
			l.Perturbed, l.Filling, l.NotFinite, l.Resets, l.Alone),
		fmt.Sprintf("全部样本被剔除：抓取期间 %d，窗口未满 %d，非有限值 %d，跨重启 %d，缺少引擎的时刻 %d。请选择更长的时段。",
			l.Perturbed, l.Filling, l.NotFinite, l.Resets, l.Alone))
}

// otherSteps says that a column has no steps of one kind, only of the other.
func otherSteps(here, there StepKind) *Reason {
	zh := map[StepKind]string{PromptSteps: "预填充步", DecodeSteps: "解码步"}
	return why(OtherSteps, fmt.Sprintf("no %s steps in this time", here), "此时段没有"+zh[here],
		fmt.Sprintf("This column's lines are of %s steps only, none of %s steps, and the two are not set against each other: the metric has another limit and another meaning for each. A longer time may have both.", there, here),
		"该列的日志只有"+zh[there]+"，没有"+zh[here]+"；该指标在两种步上的上限与含义不同，不可互比。更长的时段可能两者都有。")
}

// otherMeaning says that a column has another metric in a row's place, and what keeps the two apart.
func otherMeaning(code Code, own, other string, because Words) *Reason {
	name := func(key string) Words {
		if m, ok := definition(key); ok {
			return m.Name
		}
		return Words{EN: key, ZH: key}
	}
	x, y := name(own), name(other)
	return why(code, "has “"+y.EN+"” instead: "+because.EN, "改为提供“"+y.ZH+"”："+because.ZH,
		"“"+x.EN+"” ("+own+") and “"+y.EN+"” ("+other+"): "+because.EN+".", "“"+x.ZH+"”（"+own+"）与“"+y.ZH+"”（"+other+"）："+because.ZH+"。")
}

func needsMore(more, have int, letter string) *Reason {
	short := Words{EN: fmt.Sprintf("needs %d more lines", more), ZH: fmt.Sprintf("还需 %d 条样本", more)}
	long := Words{EN: fmt.Sprintf("about %d more are needed", more), ZH: fmt.Sprintf("约还需 %d 条", more)}
	if have > 0 && more > 2*have { // a number of lines says little then
		times := float64(more+have) / float64(have)
		short = Words{EN: fmt.Sprintf("needs %.2g times as long", times), ZH: fmt.Sprintf("需约 %.2g 倍时长", times)}
		long = Words{EN: fmt.Sprintf("neighbouring lines resemble each other so much that a time about %.2g times as long is needed", times),
			ZH: fmt.Sprintf("相邻样本过于相似，约需 %.2g 倍的时长", times)}
	}
	return why(TooFew, short.EN, short.ZH,
		"Column "+letter+" has too few samples for a verdict: "+long.EN+". Choose a longer time, or wait.",
		letter+" 列样本过少，无法判断："+long.ZH+"。请选择更长的时段或等待。")
}

// percent writes a relative difference with its sign: one decimal below 100 %, and as a
// factor from 1000 % on.
func percent(rel float64) string {
	if math.IsNaN(rel) || math.IsInf(rel, 0) {
		return "–"
	}
	if rel >= 10 {
		return fmt.Sprintf("× %.0f", 1+rel)
	}
	digits := 1
	if math.Abs(rel) >= 1 {
		digits = 0
	}
	s := fmt.Sprintf("%+.*f %%", digits, rel*100)
	return strings.Replace(s, "-", "−", 1)
}
