package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
)

// substitute is a column's other metric that may stand in for a row's.
type substitute struct {
	key     string
	convert func(float64) float64 // nil: as it is
	reason  *Reason               // the qualification, or why not
	refused bool
}

// standIn looks for what a column without the row's metric has instead: something to
// compare with under a condition, or something that must not be compared, which is
// better said than left to the reader. ok is false when there is nothing alike.
func (v *view) standIn(m ledger.Metric) (s substitute, ok bool) {
	for _, r := range ledger.Relations() {
		other := r.A
		if other == m.Key {
			other = r.B
		} else if r.B != m.Key {
			continue
		}
		if o, known := definition(other); !known || o.Kind != m.Kind || !v.has(other) {
			continue
		}
		c := substitute{key: other, reason: otherMeaning(SimilarMetric, m.Key, other, r.Why)}
		switch r.Verdict {
		case ledger.Refused:
			c.refused = true
			c.reason.Code = OtherMeaning
		case ledger.Convertible:
			c.reason.Code = Converted
			var fits bool
			if c.convert, fits = v.conversion(other, m.Key); !fits {
				c.refused = true
				c.reason = &Reason{Code: OtherMeaning, Short: c.reason.Short, Long: c.reason.Long}
			}
			if c.convert == nil && (m.Key == "MFU" || other == "MFU") {
				c.refused = true
				c.reason = why(PeakUnknown, "peak TFLOP/s unknown", "峰值 TFLOP/s 未知",
					"A rate in TFLOP/s becomes a share of the peak only when the card's peak is known: set it on the deployment's page.",
					"只有知道单卡峰值，TFLOP/s 才能换算成利用率：请在部署页面填写峰值。")
			}
		default:
			c.convert, _ = v.conversion(other, m.Key)
		}
		if !ok || s.refused && !c.refused {
			s, ok = c, true
		}
	}
	return s, ok
}

// conversion turns values of one metric into another's; ok is false when no formula
// for single values exists.
func (v *view) conversion(from, to string) (f func(float64) float64, ok bool) {
	switch {
	case from == "cur_SPS" && to == "step_ms", from == "step_ms" && to == "cur_SPS":
		return func(x float64) float64 { return 1000 / x }, true
	case from == "moe_lb" && to == "eplb_balancedness", from == "eplb_balancedness" && to == "moe_lb":
		return func(x float64) float64 { return 1 / x }, true
	case from == "est_TFLOPs_per_GPU" && to == "MFU" && v.PeakTFLOPs > 0:
		return func(x float64) float64 { return x / (2 * v.PeakTFLOPs) }, true // MFU is a share of twice the BF16 peak
	case from == "MFU" && to == "est_TFLOPs_per_GPU" && v.PeakTFLOPs > 0:
		return func(x float64) float64 { return x * 2 * v.PeakTFLOPs }, true
	case from == "MFU" || to == "MFU":
		return nil, true
	}
	return nil, false
}

// loadBound says whether a group's metrics follow the load, so that a difference
// under other load proves little.
func loadBound(g ledger.Group) bool {
	return slices.Contains([]ledger.Group{ledger.Throughput, ledger.Latency, ledger.Load, ledger.Caches,
		ledger.Compute, ledger.TimersGroup}, g)
}

// oppositeRoles refuses to compare prompt engines with decode engines.
func oppositeRoles(a, b []string) *Reason {
	only := func(roles []string, role string) bool { return len(roles) == 1 && roles[0] == role }
	if only(a, "prompt") && only(b, "decode") || only(a, "decode") && only(b, "prompt") {
		return why(OtherRoles, "prompt against decode engines", "预填充引擎与解码引擎不可比",
			"One column has prompt engines only and the other decode engines only: they do different work. Compare prompt with prompt, or whole deployments.",
			"一列只有预填充引擎，另一列只有解码引擎，工作不同。请同类比较，或比较整个部署。")
	}
	return nil
}

// mixedRoles qualifies means over engines with different roles.
func mixedRoles(a, b []string, m ledger.Metric) *Reason {
	if slices.Equal(a, b) || len(a) == 0 || len(b) == 0 || m.Aggregate.Op != ledger.WeightedMean {
		return nil
	}
	return why(MixedRoles, "engines have other roles", "引擎角色不同",
		"The columns' engines have other roles ("+strings.Join(a, ", ")+"; "+strings.Join(b, ", ")+"): a mean over engines mixes different work.",
		"两列引擎角色不同（"+strings.Join(a, "、")+"；"+strings.Join(b, "、")+"）：跨引擎平均混合了不同的工作。")
}

// otherSize qualifies sums over deployments of different size.
func otherSize(a, b *view, m ledger.Metric, per Per) *Reason {
	if m.Aggregate.Op != ledger.Sum || per != PerDeployment {
		return nil
	}
	same := a.size() == b.size()
	if a.GPUs > 0 && b.GPUs > 0 {
		same = a.GPUs == b.GPUs
	}
	if same {
		return nil
	}
	return why(OtherSize, "deployments differ in size", "部署规模不同",
		"A sum over a larger deployment is larger. Ask for figures per GPU or per engine.",
		"规模更大的部署，总量自然更大。请选择按 GPU 或按引擎平均。")
}

// mostUnlike is by how large a part of the larger one two numbers of engines may differ for
// the largest of each to be compared.
const mostUnlike = 0.1

// unlikeNumbers says that the extremes of different numbers of engines must not be
// compared: more engines have a larger largest one by their number alone.
func unlikeNumbers(a, b *Cell, m ledger.Metric) *Reason {
	if m.Aggregate.Op != ledger.Max && m.Aggregate.Op != ledger.Min {
		return nil
	}
	x, y := len(a.Engines), len(b.Engines)
	if float64(max(x, y)-min(x, y)) <= mostUnlike*float64(max(x, y)) {
		return nil
	}
	return why(OtherSize, "extreme of more engines", "引擎数不同的极值",
		fmt.Sprintf("The largest (or smallest) of %d and of %d engines: more engines have a more extreme one by their number alone. Compare equal numbers of engines.", x, y),
		fmt.Sprintf("分别为 %d 与 %d 个引擎中的极值：引擎越多，极值本就越极端。请比较引擎数相同的部署。", x, y))
}

// partly says that a sum has engines in it that are silent for a part of its time: they
// came, or went, or nothing was collected of them.
func partly(g grid, present []Span, r rule) *Reason {
	if r.agg.Op != ledger.Sum || g.n == 0 {
		return nil
	}
	n := 0
	for _, p := range present {
		if p.From > g.from || p.To < g.end(g.n-1)-g.width {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return why(PartOfTime, fmt.Sprintf("engines silent for a part: %d", n), fmt.Sprintf("部分时段无日志的引擎：%d", n),
		fmt.Sprintf("Of %d engines %d have lines in a part of the time only, and count as 0 in the rest: they came or went, or were not collected from. Choose a time in which all report, or compare per engine.", len(present), n),
		fmt.Sprintf("%d 个引擎中有 %d 个只在部分时段有日志，其余时段按 0 计：引擎新增、退出或未被采集。请选择全部引擎都有日志的时段，或按引擎平均比较。", len(present), n))
}

// isState says whether a metric is logged on change: its values hold until the next,
// and are not samples.
func isState(m ledger.Metric) bool { return m.Section == ledger.NCCL }

// untested says why a row's difference is shown without a test.
func untested(m ledger.Metric) *Reason {
	switch m.Key {
	case "cpu_cur", "cuda_cur", "cpu_calls", "cuda_calls", "cpu_share", "cuda_share":
		return why(SingleCall, "see the mean", "见平均值",
			"Not tested: the timer's mean says the same with less noise, and each test makes all others weaker.",
			"不做检验：该计时器的平均值噪声更小；每多一次检验，其余检验都会变弱。")
	}
	return nil
}

// caveats are the conditions of comparing a metric over engines of several kinds: what
// each kind's own count leaves apart from the definition.
func caveats(a, b []string, key string) []Reason {
	if slices.Equal(a, b) {
		return nil
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
	var out []Reason
	for _, k := range kinds {
		r, ok := foreign.RuleFor(k, key)
		if !ok || r.Caveat.EN == "" {
			continue
		}
		out = append(out, *why(EngineCaveat, foreign.Name(k)+" counts it otherwise", foreign.Name(k)+" 的口径不同",
			foreign.Name(k)+": "+r.Caveat.EN+".", foreign.Name(k)+"："+r.Caveat.ZH+"。"))
	}
	return out
}

// lacking says why engines of these kinds don't show a metric.
func lacking(kinds []string, key string) *Reason {
	r := notExposed(kinds)
	for _, k := range kinds {
		if w := foreign.AbsentReason(k, key); w.EN != "" && k != cardKind {
			r.Long.EN = foreign.Name(k) + ": " + w.EN + ". " + r.Long.EN
			r.Long.ZH = foreign.Name(k) + "：" + w.ZH + "。" + r.Long.ZH
		}
	}
	return r
}
