package ledger

var latencyMetrics = []Metric{
	{
		Key: "TTFT_max", Group: Latency, Unit: Milliseconds, Better: Down, ZeroIsAbsent: true, Aggregate: Aggregation{Op: Max},
		Name:    Words{"Time to first token, worst", "首 token 延迟（最大）"},
		Formula: Words{"longest time from a request's arrival in the engine to its first sampled token", "请求到达引擎至采样出首个 token 的最长时间"},
		Window:  Words{"requests whose first token came in the step that logs", "首个 token 出现在打印日志这一步的请求"},
		Moves:   Words{"queueing, scheduling, prefill; the HTTP layer is not in it", "排队、调度、预填充；不含 HTTP 层"},
	},
	{
		Key: "TTFT_mean", Group: Latency, Unit: Milliseconds, Better: Down, ZeroIsAbsent: true, Aggregate: Aggregation{Op: WeightedMean},
		Name:        Words{"Time to first token, mean", "首 token 延迟（平均）"},
		Formula:     Words{"mean time from a request's arrival in the engine to its first sampled token", "请求到达引擎至采样出首个 token 的平均时间"},
		Window:      Words{"requests whose first token came in the step that logs", "首个 token 出现在打印日志这一步的请求"},
		Denominator: Words{"those requests", "这些请求的数量"},
		Moves:       Words{"queueing, scheduling, prefill; the HTTP layer is not in it", "排队、调度、预填充；不含 HTTP 层"},
	},
}

var computeMetrics = []Metric{
	{
		Key: "MFU", Group: Compute, Unit: Share, Better: Up, Estimate: true, Aggregate: Aggregation{Op: WeightedMean},
		Name:        Words{"Model FLOP utilisation", "模型算力利用率"},
		Formula:     Words{"TFLOP of all entries but the first ÷ (last entry's time − first's) ÷ context-parallel size ÷ (BF16 peak × 2); 0 with one entry or none", "除首条外所有样本的 TFLOP 之和 ÷（末条时间 − 首条时间）÷ 上下文并行度 ÷（BF16 峰值 × 2）；样本不足两条时为 0"},
		Window:      ageSteps,
		Denominator: Words{"last entry's time − first's: does not grow in a pause, so the value stays", "末条时间 − 首条时间：停顿时不增长，因此数值不变"},
		Moves:       Words{"batch size, context length, the mix of prompt and decode steps; down with unchanged throughput, suspect the estimate before the hardware", "批大小、上下文长度、预填充与解码的比例；吞吐不变而 MFU 下降时，先怀疑估算而非硬件"},
	},
	{
		Key: "attn_TFLOPs", Group: Compute, Unit: TFLOPs, Better: Neither, Steps: SameKind, Estimate: true, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Attention work", "注意力计算量"},
		Formula: Words{"the scheduler's estimate of this step's attention work", "调度器对本步注意力计算量的估算"},
		Window:  thisStep,
		Moves:   Words{"query × key lengths", "查询长度 × 键长度"},
	},
	{
		Key: "sum_seqlen_qxk", Group: Compute, Unit: TokenPairs, Better: Neither, Steps: SameKind, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Query × key length", "查询 × 键长度总量"},
		Formula: Words{"query length × key length, summed over the step's sequences", "本步各序列查询长度 × 键长度之和"},
		Window:  thisStep,
		Moves:   Words{"batch size and context length", "批大小与上下文长度"},
	},
	{
		Key: "max_seqlen_k", Group: Compute, Unit: Tokens, Better: Neither, Steps: SameKind, Aggregate: Aggregation{Op: Max},
		Name:    Words{"Longest context", "最长上下文"},
		Formula: Words{"longest key length of the step's sequences", "本步序列的最大键长度"},
		Window:  thisStep,
		Moves:   Words{"the traffic", "流量形态"},
	},
	{
		Key: "min_seqlen_k", Group: Compute, Unit: Tokens, Better: Neither, Steps: SameKind, Aggregate: Aggregation{Op: Min},
		Name:    Words{"Shortest context", "最短上下文"},
		Formula: Words{"shortest key length of the step's sequences", "本步序列的最小键长度"},
		Window:  thisStep,
		Moves:   Words{"the traffic", "流量形态"},
	},
	{
		Key: "moe_lb", Group: MoE, Unit: Ratio, Better: Down, Aggregate: Aggregation{Op: Max},
		Name:        Words{"Expert load, busiest card to mean", "专家负载比（最忙卡 ÷ 平均）"},
		Formula:     Words{"busiest card's tokens ÷ mean tokens per card, both summed over the window; 1 without data; minus 1 it is about the share wasted in waiting for the slowest card", "窗口内最忙卡 token 数之和 ÷ 每卡平均 token 数之和；无数据时为 1；减 1 约为等待最慢卡的浪费比例"},
		Window:      Words{"steps no older than 128 (the MoE statistics' interval), by step age", "步龄不超过 128（MoE 统计间隔）的步"},
		Denominator: Words{"mean tokens per card, at least 1", "每卡平均 token 数，至少为 1"},
		Moves:       Words{"which experts the traffic asks for, and how they are placed", "流量选中的专家及其放置方式"},
	},
}

// timerMetrics are the parts of the timers of one section. CUDA times come from events
// that are read later: never pair their cur with the CPU's.
func timerMetrics(s Section) []Metric {
	keys := timerKeys[s]
	clock := Words{"CPU", "CPU"}
	late := Words{"", ""}
	if s == CUDA {
		clock = Words{"GPU", "GPU"}
		late = Words{"; read from CUDA events some steps later, so never pair it with a CPU time", "；由 CUDA 事件延后若干步读取，不可与 CPU 时间配对"}
	}
	label := Words{"timer", "计时器"}
	all := []Metric{
		{
			Unit: Milliseconds, Better: Down, Aggregate: Aggregation{Op: Max},
			Name:    Words{clock.EN + " time, last call", clock.ZH + " 时间（最近一次）"},
			Formula: Words{"duration of the last call" + late.EN, "最近一次调用的耗时" + late.ZH},
			Moves:   Words{"the last step's batch", "最近一步的批"},
		},
		{
			Unit: Milliseconds, Better: Down, Aggregate: Aggregation{Op: WeightedMean, By: keys[3]},
			Name:        Words{clock.EN + " time per call", clock.ZH + " 时间（平均）"},
			Formula:     Words{"total time ÷ calls", "总时间 ÷ 调用次数"},
			Denominator: Words{"calls of this timer", "该计时器的调用次数"},
			Moves:       Words{"the section's work; for worker.post_process.sync the CPU's wait for the GPU", "该段工作量；对 worker.post_process.sync 而言是 CPU 等待 GPU 的时间"},
		},
		{
			Unit: Milliseconds, Better: Down, Aggregate: Aggregation{Op: Max},
			Name:    Words{clock.EN + " time, worst call", clock.ZH + " 时间（最大）"},
			Formula: Words{"longest call", "最长的一次调用"},
			Moves:   Words{"jitter and outlier steps, such as a batch outside the graph's sizes", "抖动与离群步，例如图外形状的批"},
		},
		{
			Unit: Calls, Better: Neither, Aggregate: Aggregation{Op: Sum},
			Name:    Words{clock.EN + " calls", clock.ZH + " 调用次数"},
			Formula: Words{"calls of this timer", "该计时器的调用次数"},
			Moves:   Words{"how many steps run the section", "经过该段的步数"},
		},
		{
			Unit: Share, Better: Neither, Aggregate: Aggregation{Op: WeightedMean},
			Name:        Words{clock.EN + " share of the step", clock.ZH + " 占步时间比例"},
			Formula:     Words{"total time of this timer ÷ accumulated engine_step time; nested timers overlap, so shares don't add up to 1", "该计时器总时间 ÷ engine_step 累计时间；计时器可嵌套，各占比之和不为 1"},
			Denominator: engineTime,
			Moves:       Words{"the section's work and everything else in the step", "该段工作量及步内其他部分"},
		},
	}
	for i := range all {
		m := &all[i]
		m.Key, m.Section, m.Group, m.Label, m.Window = keys[i], s, TimersGroup, label, sinceLog
	}
	return all
}

var ncclMetrics = []Metric{
	{
		Key: "nccl_total", Section: NCCL, Group: Network, Unit: GiB, Better: Down, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"NCCL memory", "NCCL 显存"},
		Formula: Words{"device memory of all NCCL communicators of this process", "本进程所有 NCCL 通信器占用的显存"},
		Window:  Words{"sampled every 1000 steps from step 10 on, logged on change; shorter-lived communicators are missed", "自第 10 步起每 1000 步采样一次，变化时才打印；期间创建又销毁的通信器看不到"},
		Moves:   Words{"groups built at run time (elastic experts, recovery, regrouping); takes from the KV cache", "运行期建组（弹性 EP、故障恢复、重新分组）；挤占 KV 缓存"},
	},
	{
		Key: "nccl_communicators", Section: NCCL, Group: Network, Unit: Communicators, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"NCCL communicators", "NCCL 通信器数"},
		Formula: Words{"communicators of this process", "本进程的通信器数"},
		Window:  Words{"sampled every 1000 steps from step 10 on, logged on change", "自第 10 步起每 1000 步采样一次，变化时才打印"},
		Moves:   Words{"groups built or torn down", "建组与拆组"},
	},
	{
		Key: "nccl_group", Section: NCCL, Group: Network, Unit: GiB, Better: Down, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"NCCL memory by group", "各组 NCCL 显存"},
		Label:   Words{"process group", "进程组"},
		Formula: Words{"device memory of one communicator", "单个通信器占用的显存"},
		Window:  Words{"sampled every 1000 steps from step 10 on, logged on change", "自第 10 步起每 1000 步采样一次，变化时才打印"},
		Moves:   Words{"the group's size, algorithms and channels", "组的规模、算法与通道数"},
	},
}
