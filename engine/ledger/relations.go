package ledger

// Verdict says what may be done with two metrics that look alike.
type Verdict string

// The verdicts. Refused: their numbers must not stand as one difference. Qualified: they
// may, with the reason beside them. Convertible: one becomes the other by the formula.
const (
	Refused     Verdict = "refused"
	Qualified   Verdict = "qualified"
	Convertible Verdict = "convertible"
)

// Relation is what keeps two metrics of the table apart, though readers would put them
// side by side.
type Relation struct {
	A, B    string
	Verdict Verdict
	Why     Words // the reason; for Convertible the formula
}

// Relations returns all of them.
func Relations() []Relation { return append([]Relation(nil), relations...) }

// Related finds the relation of two metrics, whichever comes first. Parts of histograms
// are related as their histograms are. Metrics without one have nothing to do with each
// other, or are the same.
func Related(a, b string) (Relation, bool) {
	a, b = histogramOf(a), histogramOf(b)
	for _, r := range relations {
		if r.A == a && r.B == b || r.A == b && r.B == a {
			return r, true
		}
	}
	return Relation{}, false
}

// histogramOf is the histogram that a key is a part of, or the key.
func histogramOf(key string) string {
	if m, ok := Lookup(key); ok && m.Counted != "" {
		for _, p := range histogramParts {
			if n := len(key) - len(p.suffix); n > 0 && key[n:] == p.suffix {
				return key[:n]
			}
		}
	}
	return key
}

var (
	whyRequestEnd = Words{"one counts tokens when they are made, the other when their request ends: alike only over times much longer than a request",
		"一个在 token 产生时计数，另一个在请求结束时计数：仅在远长于单个请求的时间上相近"}
	whyCached = Words{"one counts computed prompt tokens, the other also those found in a cache",
		"一个只计实际计算的提示 token，另一个还计缓存命中的"}
	whyStale = Words{"the engine's own figure keeps its value while nothing decodes, and includes the prefill between two of its log lines",
		"引擎自报值在无解码时保持不变，且包含其两条日志之间的预填充"}
	whyITL = Words{"ITL has one value per gap, TPOT one mean per request: a stall shows in ITL's tail and disappears in TPOT, and long answers weigh more in ITL",
		"ITL 每个间隔一个取值，TPOT 每个请求一个平均：停顿在 ITL 的尾部可见而在 TPOT 中被平均，且长回答在 ITL 中权重更大"}
	whyTTFT = Words{"they start at different points (arrival in the engine, or at the server with tokenising), and DeepInfer's holds only first tokens of the step that logs",
		"起点不同（到达引擎，或到达服务含分词），且 DeepInfer 的值只含打印日志这一步的首 token"}
	whyState = Words{"one counts preemptions, the other is a state or a gauge since the last report",
		"一个是抢占计数，另一个是状态或自上次报告以来的瞬时值"}
	whyClock = Words{"host and device run side by side: their times don't measure the same thing",
		"主机与设备并行：两者的时间不是同一个量"}
)

var relations = []Relation{
	{"completion_TPS", "cur_TPS", Refused, Words{"a mean over a window against a single step", "窗口平均与单步值"}},
	{"completion_TPS", "completion_done_TPS", Qualified, whyRequestEnd},
	{"completion_TPS", "gen_throughput", Qualified, whyStale},
	{"completion_done_TPS", "gen_throughput", Qualified, whyRequestEnd},
	{"prompt_TPS", "prompt_all_TPS", Refused, whyCached},
	{"prompt_TPS", "prompt_done_TPS", Refused, whyCached},
	{"prompt_all_TPS", "prompt_done_TPS", Qualified, whyRequestEnd},
	{"prompt_TPS", "input_throughput", Qualified, Words{"the engine's own figure divides by the time between two prefill batches, not by a fixed window", "引擎自报值除以两个预填充批之间的时间，而非固定窗口"}},
	{"finished", "request_rate", Convertible, Words{"increase of Finished (and of Aborted) ÷ time is the rate", "“已完成”（及“已中止”）的增量 ÷ 时间即为速率"}},
	{"nextn_accept_rate", "accept_rate_uncond", Refused, Words{"one divides by the drafts verified at the position, the other by all drafts", "一个除以该位置被验证的草稿数，另一个除以全部草稿"}},
	{"avg_nextn_accept_rate", "spec_accept_rate", Refused, Words{"one divides by the drafts really verified, the other by a fixed draft length", "一个除以实际验证的草稿数，另一个除以固定的草稿长度"}},
	{"avg_nextn_accept_rate", "spec_efficiency", Refused, Words{"efficiency also counts the target's own token", "效率还计入目标模型自身的 token"}},
	{"avg_verified_len", "accept_len", Convertible, Words{"1 + avg_nextn_accept_rate × avg_verified_len is DeepInfer's tokens per draft; avg_verified_len itself counts verified drafts, not accepted ones", "1 + avg_nextn_accept_rate × avg_verified_len 即 DeepInfer 的平均接受长度；avg_verified_len 本身计的是验证而非接受"}},
	{"prefill_caching_rate", "prefix_hit_blocks", Refused, Words{"one counts tokens, the other whole blocks", "一个按 token 计，另一个按整块计"}},
	{"prefill_caching_rate", "prefix_hit_external", Refused, Words{"one is the local cache, the other an external store behind it", "一个是本地缓存，另一个是其后的外部存储"}},
	{"KV_cache_usage", "KV_pool_usage", Qualified, Words{"one pool against the whole cache, or against the fullest pool", "单个池与整个缓存，或与最满的池"}},
	{"preempted", "retracted", Refused, whyState},
	{"preempted", "paused", Refused, whyState},
	{"ITL", "TPOT", Refused, whyITL},
	{"ITL_avg", "TPOT_avg", Refused, whyITL},
	{"TTFT_mean", "TTFT_avg", Qualified, whyTTFT},
	{"TTFT_mean", "TTFT", Qualified, whyTTFT},
	{"TTFT_max", "TTFT", Refused, whyTTFT},
	{"TTFT_max", "TTFT_avg", Refused, Words{"a maximum against a mean", "最大值与平均值"}},
	{"cur_SPS", "step_ms", Convertible, Words{"1000 ÷ cur_SPS is the step time in ms; under zero-overhead scheduling it is the step before", "1000 ÷ cur_SPS 为步耗时（毫秒）；零开销调度下对应上一步"}},
	{"step_ms", "device_step_ms", Refused, whyClock},
	{"step_ms", "gpu_forward_ms", Refused, whyClock},
	{"host_step_ms", "device_step_ms", Refused, whyClock},
	{"MFU", "est_TFLOPs_per_GPU", Convertible, Words{"MFU × twice the BF16 peak per GPU in TFLOP/s is the rate per GPU; both are estimates, by different estimators", "MFU × 每 GPU BF16 峰值（TFLOP/s）的两倍即每 GPU 算力；两者都是估算，方法不同"}},
	{"MFU", "gpu_util", Refused, Words{"a busy card may be badly used: GPU busy counts any kernel, however small", "占用率只看有无核函数在运行，占用高不等于利用好"}},
	{"moe_lb", "eplb_balancedness", Qualified, Words{"about 1 ÷ moe_lb, but averaged over the layers first", "约为 1 ÷ moe_lb，但先对各层取平均"}},
}
