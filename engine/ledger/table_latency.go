package ledger

// latency is a histogram of times together with the mean of each reading.
type latency struct {
	key           string
	name, formula Words
	moves         Words
	counted       Unit
	engines       Engines
	per           Words // what the mean is divided by; empty: requests
}

var ofRequests = Words{"requests with this value in the interval", "该间隔内有此取值的请求数"}

// latencyHistograms are other engines' latencies. Each is a histogram in seconds, with
// the bounds that its engine chose, and the mean of each reading in ms.
var latencyHistograms = latencies([]latency{
	{
		key: "TTFT", name: Words{"Time to first token", "首 token 延迟"}, counted: Requests, engines: OfVLLM | OfSGLang | OfTensorRTLLM,
		formula: Words{"from a request's arrival at the server (tokenising and queueing included) to its first token; one value per request",
			"从请求到达服务（含分词与排队）至首个 token；每个请求一个取值"},
		moves: Words{"queueing, scheduling, prefill, the server's front end", "排队、调度、预填充、服务前端"},
	},
	{
		key: "ITL", name: Words{"Inter-token latency", "token 间延迟"}, counted: Tokens, engines: OfVLLM | OfSGLang,
		formula: Words{"each gap between two outputs of a request; one value per gap, so long answers weigh more",
			"请求相邻两次输出的间隔；每个间隔一个取值，长回答权重更大"},
		moves: Words{"step time, prompt steps in between, several tokens per step", "步耗时、其间的预填充步、每步多个 token"},
		per:   Words{"gaps in the interval", "该间隔内的输出间隔数"},
	},
	{
		key: "TPOT", name: Words{"Time per output token", "每输出 token 时间"}, counted: Requests, engines: OfVLLM | OfTensorRTLLM,
		formula: Words{"(last token's time − first token's) ÷ (tokens − 1); one value per ended request",
			"（末 token 时间 − 首 token 时间）÷（token 数 − 1）；每个结束的请求一个取值"},
		moves: Words{"step time, accepted drafts, prompt steps in between; a single stall disappears in the mean", "步耗时、接受的草稿、其间的预填充步；单次停顿会被平均掉"},
	},
	{
		key: "E2E", name: Words{"Request latency, end to end", "端到端请求延迟"}, counted: Requests, engines: OfVLLM | OfSGLang | OfTensorRTLLM,
		formula: Words{"from arrival to the last token; one value per ended request", "从到达至最后一个 token；每个结束的请求一个取值"},
		moves:   Words{"output length first of all, then queueing and step time", "首先是输出长度，其次是排队与步耗时"},
	},
	{
		key: "queue_time", name: Words{"Time in the queue", "排队时间"}, counted: Requests, engines: OfVLLM | OfSGLang | OfTensorRTLLM,
		formula: Words{"from arrival in the scheduler to the first time in a batch; one value per request", "从到达调度器至首次进入批；每个请求一个取值"},
		moves:   Words{"traffic above capacity", "超过容量的流量"},
	},
	{
		key: "prefill_time", name: Words{"Prefill time of requests", "请求预填充时间"}, counted: Requests, engines: OfVLLM | OfTensorRTLLM,
		formula: Words{"from the first time in a batch to the first token; one value per request", "从首次进入批至首个 token；每个请求一个取值"},
		moves:   Words{"prompt length, chunking, cache hits", "提示长度、分块、缓存命中"},
	},
	{
		key: "decode_time", name: Words{"Decode time of requests", "请求解码时间"}, counted: Requests, engines: OfVLLM | OfTensorRTLLM,
		formula: Words{"from the first token to the last; one value per ended request", "从首个 token 至末个 token；每个结束的请求一个取值"},
		moves:   Words{"output length, step time", "输出长度、步耗时"},
	},
	{
		key: "inference_time", name: Words{"Inference time of requests", "请求推理时间"}, counted: Requests, engines: OfVLLM | OfTensorRTLLM,
		formula: Words{"from the first time in a batch to the last token; one value per ended request", "从首次进入批至末个 token；每个结束的请求一个取值"},
		moves:   Words{"prompt and output length, step time", "输入与输出长度、步耗时"},
	},
	{
		key: "step_time", name: Words{"Iteration time", "迭代耗时分布"}, counted: "steps", engines: OfTensorRTLLM,
		formula: Words{"duration of an iteration; one value per iteration", "迭代耗时；每次迭代一个取值"},
		moves:   Words{"batch size, context length, prompt chunks", "批大小、上下文长度、提示分块"},
		per:     Words{"iterations in the interval", "该间隔内的迭代次数"},
	},
})

func latencies(all []latency) []Metric {
	var out []Metric
	for _, l := range all {
		denominator := l.per
		if denominator.EN == "" {
			denominator = ofRequests
		}
		out = append(out, Metric{
			Key: l.key, Section: Scraped, Group: Latency, Unit: Seconds, Kind: Histogram, Counted: l.counted, Better: Down,
			Aggregate: Aggregation{Op: Sum}, Engines: l.engines,
			Name: l.name, Formula: l.formula, Window: interval, Moves: l.moves,
		}, Metric{
			Key: l.key + "_avg", Section: Scraped, Group: Latency, Unit: Milliseconds, Better: Down,
			Aggregate: Aggregation{Op: WeightedMean, By: l.key + CountSuffix}, Engines: l.engines,
			Name:        Words{l.name.EN + ", mean", l.name.ZH + "（平均）"},
			Formula:     Words{"mean of: " + l.formula.EN, "以下取值的平均：" + l.formula.ZH},
			Window:      interval,
			Denominator: denominator,
			Moves:       l.moves,
		})
	}
	return out
}

var stepTimes = []Metric{
	{
		Key: "step_ms", Section: Iterations, Group: Latency, Unit: Milliseconds, Better: Down, Steps: SameKind, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM | OfTensorRTLLM,
		Name:        Words{"Step time", "步耗时"},
		Formula:     Words{"duration of an iteration by the host's clock", "一次迭代的耗时（主机时钟）"},
		Window:      oneStep,
		Denominator: Words{"iterations of the same kind since the reading before", "自上次读取以来同类迭代的次数"},
		Moves:       Words{"batch size, context length, graph hit or miss, the host", "批大小、上下文长度、图是否命中、主机"},
	},
	{
		Key: "step_ms_max", Section: Iterations, Group: Latency, Unit: Milliseconds, Better: Down, Steps: SameKind, Aggregate: Aggregation{Op: Max}, Engines: OfTensorRTLLM,
		Name:    Words{"Step time, worst", "步耗时（最大）"},
		Formula: Words{"longest iteration", "最长的一次迭代"},
		Window:  drained,
		Moves:   Words{"jitter and outlier steps", "抖动与离群步"},
	},
	{
		Key: "host_step_ms", Section: Iterations, Group: Latency, Unit: Milliseconds, Better: Down, Steps: SameKind, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfTensorRTLLM,
		Name:        Words{"Step time on the host", "步耗时（主机侧）"},
		Formula:     Words{"host time of an iteration", "一次迭代的主机时间"},
		Window:      oneStep,
		Denominator: Words{"iterations of the same kind since the reading before", "自上次读取以来同类迭代的次数"},
		Moves:       Words{"scheduling, launches, waiting for the device", "调度、下发、等待设备"},
	},
	{
		Key: "device_step_ms", Section: Iterations, Group: Latency, Unit: Milliseconds, Better: Down, Steps: SameKind, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfTensorRTLLM,
		Name:        Words{"Step time on the device", "步耗时（设备侧）"},
		Formula:     Words{"device time of an iteration; the engine tells it one iteration late, here it stands with its own", "一次迭代的设备时间；引擎晚一次迭代给出，此处已归位"},
		Window:      oneStep,
		Denominator: Words{"iterations of the same kind since the reading before", "自上次读取以来同类迭代的次数"},
		Moves:       Words{"batch size, context length, kernels", "批大小、上下文长度、核函数"},
	},
	{
		Key: "gpu_forward_ms", Section: Iterations, Group: Latency, Unit: Milliseconds, Better: Down, Steps: SameKind, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfTensorRTLLM,
		Name:        Words{"Forward pass on the device", "设备前向耗时"},
		Formula:     Words{"device time of the forward pass of an iteration", "一次迭代前向计算的设备时间"},
		Window:      oneStep,
		Denominator: Words{"iterations of the same kind since the reading before", "自上次读取以来同类迭代的次数"},
		Moves:       Words{"batch size, context length, kernels", "批大小、上下文长度、核函数"},
	},
	{
		Key: "admission_ms", Section: Iterations, Group: Latency, Unit: Milliseconds, Better: Down, Aggregate: Aggregation{Op: Max}, Engines: OfTensorRTLLM,
		Name:    Words{"Waiting time of new requests", "新请求等待时间"},
		Formula: Words{"time that the requests admitted in an iteration spent in the queue, worst iteration", "迭代中新接纳请求的排队时间，取最差的一次迭代"},
		Window:  drained,
		Moves:   Words{"traffic above capacity", "超过容量的流量"},
	},
}

var foreignCompute = []Metric{
	{
		Key: "est_TFLOPs_per_GPU", Section: Scraped, Group: Compute, Unit: TFLOPsPerSecond, Better: Up, Estimate: true, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM | OfSGLang,
		Name:        Words{"Estimated compute rate per GPU", "每 GPU 估算算力"},
		Formula:     Words{"the engine's own estimate of floating-point operations per GPU ÷ time; not a fraction of the peak", "引擎自行估算的每 GPU 浮点运算量 ÷ 时间；不是峰值占比"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"throughput, context length, the estimator", "吞吐、上下文长度、估算方法"},
	},
	{
		Key: "est_read_GBps_per_GPU", Section: Scraped, Group: Compute, Unit: GigabytesPerSecond, Better: Neither, Estimate: true, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM | OfSGLang,
		Name:        Words{"Estimated memory reads per GPU", "每 GPU 估算读带宽"},
		Formula:     Words{"the engine's own estimate of bytes read per GPU ÷ time", "引擎自行估算的每 GPU 读取字节数 ÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"steps per second × weights, context length", "步率 × 权重、上下文长度"},
	},
	{
		Key: "est_write_GBps_per_GPU", Section: Scraped, Group: Compute, Unit: GigabytesPerSecond, Better: Neither, Estimate: true, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM | OfSGLang,
		Name:        Words{"Estimated memory writes per GPU", "每 GPU 估算写带宽"},
		Formula:     Words{"the engine's own estimate of bytes written per GPU ÷ time", "引擎自行估算的每 GPU 写入字节数 ÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"tokens per second", "token 速率"},
	},
	{
		Key: "graph_replay_share", Section: Scraped, Group: Compute, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfSGLang,
		Name:        Words{"Share of steps replayed as CUDA graphs", "CUDA 图重放占比"},
		Label:       Words{"decode or prefill", "解码或预填充"},
		Formula:     Words{"increase of passes that replayed a graph ÷ increase of all passes of this kind", "重放图的前向次数增量 ÷ 该类前向次数增量"},
		Window:      interval,
		Denominator: Words{"passes of this kind", "该类前向次数"},
		Moves:       Words{"batch sizes beyond the captured ones", "超出已捕获形状的批"},
	},
	{
		Key: "cuda_graph", Section: LogLines, Group: Compute, Unit: Flag, Better: Up, Aggregate: Aggregation{Op: Apart}, Engines: OfSGLang,
		Name:    Words{"CUDA graph in the logged batch", "所记录批是否使用 CUDA 图"},
		Formula: Words{"1 if the logged batch replayed a graph, else 0", "所记录的批重放了图为 1，否则为 0"},
		Window:  oneBatch,
		Moves:   Words{"batch sizes beyond the captured ones", "超出已捕获形状的批"},
	},
	{
		Key: "fwd_occupancy", Section: Scraped, Group: Compute, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfSGLang,
		Name:        Words{"Share of time in forward passes", "前向计算时间占比"},
		Formula:     Words{"device time of forward passes ÷ time", "前向计算的设备时间 ÷ 时间"},
		Window:      Words{"the engine's own log interval", "引擎自己的日志间隔"},
		Denominator: Words{"time of the interval", "该间隔的时间"},
		Moves:       Words{"the host's work between steps", "步间的主机工作"},
	},
	{
		Key: "eplb_balancedness", Section: Scraped, Group: MoE, Unit: Share, Better: Up, Aggregate: Aggregation{Op: Min}, Engines: OfSGLang,
		Name:        Words{"Expert balance, mean to busiest", "专家均衡度（平均 ÷ 最忙）"},
		Label:       Words{"forward mode", "前向模式"},
		Formula:     Words{"mean over the layers of (mean tokens per card ÷ busiest card's tokens), mean over the interval's passes", "各层（每卡平均 token 数 ÷ 最忙卡 token 数）的平均，再对间隔内各次前向取平均"},
		Window:      interval,
		Denominator: Words{"passes with a value", "有取值的前向次数"},
		Moves:       Words{"which experts the traffic asks for, and how they are placed", "流量选中的专家及其放置方式"},
	},
}
