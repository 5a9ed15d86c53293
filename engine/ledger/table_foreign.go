package ledger

// Windows and denominators of readings that are taken from outside.
var (
	thisReading = Words{"the moment of the reading", "读取的时刻"}
	interval    = Words{"from the reading before to this one", "上次读取到本次读取之间"}
	drained     = Words{"the iterations since the reading before", "自上次读取以来的各次迭代"}
	perInterval = Words{"time between the two readings, by the reader's clock", "两次读取之间的时间（以读取方时钟计）"}
	oneBatch    = Words{"the batch that the line tells of", "该行所述的批"}
	oneStep     = Words{"one iteration, or the mean over those since the reading before", "单次迭代，或自上次读取以来各次迭代的平均"}
	ofPrompts   = Words{"prompt tokens of requests that ended", "已结束请求的提示 token 数"}
)

var foreignThroughput = []Metric{
	{
		Key: "prompt_all_TPS", Section: Scraped, Group: Throughput, Unit: TokensPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM,
		Name:        Words{"Prompt tokens per second, cached ones included", "提示吞吐（含缓存命中）"},
		Formula:     Words{"increase of all prompt tokens, whether computed or found in a cache ÷ time", "全部提示 token（计算的与缓存命中的）的增量 ÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"arriving prompts; more cache hits raise it without more work done", "到达的提示；缓存命中增多会使其上升而工作量不变"},
	},
	{
		Key: "prompt_done_TPS", Section: Scraped, Group: Throughput, Unit: TokensPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang | OfTensorRTLLM,
		Name:        Words{"Prompt tokens per second, of ended requests", "提示吞吐（按已结束请求）"},
		Formula:     Words{"increase of prompt tokens, counted when their request ends, cached ones included ÷ time", "提示 token 的增量（请求结束时计入，含缓存命中）÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"requests that end; lags behind the work by a request's whole life", "结束的请求；相对实际工作滞后一个请求的生命周期"},
	},
	{
		Key: "completion_done_TPS", Section: Scraped, Group: Throughput, Unit: TokensPerSecond, Better: Up, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang | OfTensorRTLLM,
		Name:        Words{"Generated tokens per second, of ended requests", "生成吞吐（按已结束请求）"},
		Formula:     Words{"increase of generated tokens, counted when their request ends ÷ time", "生成 token 的增量（请求结束时计入）÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"requests that end: jumps with long answers, right only over times much longer than a request", "结束的请求：长回答会造成跳变，仅在远长于单个请求的时间上可信"},
	},
	{
		Key: "gen_throughput", Section: Scraped, Group: Throughput, Unit: TokensPerSecond, Better: Up, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang,
		Name:        Words{"Generation throughput, as the engine last logged it", "生成吞吐（引擎最近一次日志）"},
		Formula:     Words{"tokens generated since the engine's decode log line before ÷ time since then", "自引擎上一条解码日志以来生成的 token 数 ÷ 经过的时间"},
		Window:      Words{"the last 40 decode iterations (decode log interval); keeps its value while nothing decodes", "最近 40 次解码迭代（解码日志间隔）；无解码时保持旧值"},
		Denominator: Words{"time between two decode log lines, prefill in between included", "两条解码日志之间的时间，含其间的预填充"},
		Moves:       Words{"batch size, step time, accepted drafts, prefill in between", "批大小、步耗时、接受的草稿数、其间的预填充"},
	},
	{
		Key: "input_throughput", Section: LogLines, Group: Throughput, Unit: TokensPerSecond, Better: Up, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang,
		Name:        Words{"Prompt throughput, as the engine logged it", "提示吞吐（引擎日志）"},
		Formula:     Words{"computed prompt tokens since the engine's prefill log line before ÷ time since then", "自引擎上一条预填充日志以来计算的提示 token 数 ÷ 经过的时间"},
		Window:      Words{"between two prefill batches", "两个预填充批之间"},
		Denominator: Words{"time between two prefill log lines, decoding and idling in between included", "两条预填充日志之间的时间，含其间的解码与空闲"},
		Moves:       Words{"how densely prefill batches follow each other", "预填充批的密集程度"},
	},
	{
		Key: "request_rate", Section: Scraped, Group: Throughput, Unit: RequestsPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfSGLang | OfTensorRTLLM,
		Name:        Words{"Requests ended per second", "请求完成速率"},
		Formula:     Words{"requests that ended, for whatever reason ÷ time", "结束的请求数（不论原因）÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"the traffic: in a steady state it is the arrival rate", "流量：稳态下等于到达速率"},
	},
	{
		Key: "drafted_TPS", Section: Scraped, Group: Throughput, Unit: TokensPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfTensorRTLLM,
		Name:        Words{"Draft tokens per second", "草稿 token 速率"},
		Formula:     Words{"increase of draft tokens ÷ time", "草稿 token 的增量 ÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"steps per second, sequences and drafts per sequence", "步率、序列数、每序列草稿数"},
	},
	{
		Key: "accepted_TPS", Section: Scraped, Group: Throughput, Unit: TokensPerSecond, Better: Up, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfTensorRTLLM,
		Name:        Words{"Accepted draft tokens per second", "接受的草稿 token 速率"},
		Formula:     Words{"increase of accepted draft tokens ÷ time", "接受的草稿 token 的增量 ÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"draft tokens and their acceptance", "草稿 token 数及其接受率"},
	},
}

var foreignSpeculation = []Metric{
	{
		Key: "accept_rate_uncond", Section: Scraped, Group: Speculation, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM | OfTensorRTLLM,
		Name:        Words{"Acceptance by position, of all drafts", "各位置接受率（占全部草稿）"},
		Label:       Words{"draft position, from 1", "草稿位置，从 1 起"},
		Formula:     Words{"drafts accepted up to the position ÷ all drafts, also those too short to have it", "在该位置被接受的次数 ÷ 全部草稿次数（含未达该位置者）"},
		Window:      interval,
		Denominator: Words{"all drafts: unconditional, unlike nextn_accept_rate", "全部草稿：无条件，与 nextn_accept_rate 不同"},
		Moves:       Words{"draft quality and draft length", "草稿质量与草稿长度"},
	},
	{
		Key: "accept_len", Section: Scraped, Group: Speculation, Unit: TokensPerSeq, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM | OfSGLang | OfTensorRTLLM,
		Name:        Words{"Tokens per draft, with the target's own", "平均接受长度（含目标模型自身的 token）"},
		Formula:     Words{"1 + accepted drafts ÷ drafts", "1 + 接受的草稿 token 数 ÷ 草稿次数"},
		Window:      interval,
		Denominator: Words{"drafts: one per sequence and step", "草稿次数：每序列每步一次"},
		Moves:       Words{"draft length and acceptance; 1 means that speculation brings nothing", "草稿长度与接受率；为 1 表示投机没有收益"},
	},
	{
		Key: "spec_accept_rate", Section: Scraped, Group: Speculation, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfSGLang,
		Name:        Words{"Draft acceptance over a fixed length", "草稿接受率（固定长度分母）"},
		Formula:     Words{"accepted drafts ÷ (verify steps × (draft tokens − 1))", "接受的草稿 token 数 ÷（验证步数 ×（草稿 token 数 − 1））"},
		Window:      Words{"the engine's own log interval", "引擎自己的日志间隔"},
		Denominator: Words{"the configured draft length, whether or not so many drafts were verified", "配置的草稿长度，不论实际验证了多少"},
		Moves:       Words{"draft quality; the draft length set", "草稿质量；所配置的草稿长度"},
	},
	{
		Key: "spec_efficiency", Section: Scraped, Group: Speculation, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM,
		Name:        Words{"Speculation efficiency (old servers)", "投机效率（旧版服务）"},
		Formula:     Words{"tokens emitted ÷ tokens that would have been emitted if every draft were accepted", "产出的 token 数 ÷ 若草稿全部接受应产出的 token 数"},
		Window:      Words{"the engine's own", "由引擎决定"},
		Denominator: Words{"draft tokens and the target's own", "草稿 token 与目标模型自身的 token"},
		Moves:       Words{"draft quality", "草稿质量"},
	},
	{
		Key: "draft_overhead", Section: Iterations, Group: Speculation, Unit: Share, Better: Down, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfTensorRTLLM,
		Name:        Words{"Share of drafting in the iteration", "草稿耗时占比"},
		Formula:     Words{"time of the draft model ÷ time of the iteration", "草稿模型耗时 ÷ 迭代耗时"},
		Window:      drained,
		Denominator: Words{"time of the iteration", "迭代耗时"},
		Moves:       Words{"size of the draft model, draft length", "草稿模型规模、草稿长度"},
	},
}

var foreignLoad = []Metric{
	{
		Key: "pending_by", Section: Scraped, Group: Load, Unit: Requests, Better: Down, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfSGLang,
		Name:    Words{"Pending, by reason or queue", "等待中（按原因或队列）"},
		Label:   Words{"reason or queue", "原因或队列"},
		Formula: Words{"requests that wait for this reason or in this queue; queues beside the main one are not in Pending", "因该原因或在该队列等待的请求数；主队列之外的队列不计入“等待中”"},
		Window:  thisReading,
		Moves:   Words{"traffic above capacity, transfers between prefill and decode servers, grammar compilation", "超过容量的流量、预填充与解码服务间的传输、语法编译"},
	},
	{
		Key: "paused", Section: Scraped, Group: Load, Unit: Requests, Better: Down, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang | OfTensorRTLLM,
		Name:    Words{"Paused", "已暂停"},
		Formula: Words{"requests paused now; a state, not a count of preemptions", "当前暂停的请求数；是状态而非抢占计数"},
		Window:  thisReading,
		Moves:   Words{"KV demand above capacity", "KV 需求超过容量"},
	},
	{
		Key: "retracted", Section: Scraped, Group: Load, Unit: Requests, Better: Down, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang,
		Name:    Words{"Retracted since the engine's last report", "被回退（自引擎上次报告）"},
		Formula: Words{"requests retracted since the engine's own last report: readings in between see it again or miss it", "自引擎上次报告以来被回退的请求数：更密的读取会重复看到，更疏的会漏掉"},
		Window:  Words{"the engine's own report interval", "引擎自己的报告间隔"},
		Moves:   Words{"KV demand above capacity", "KV 需求超过容量"},
	},
	{
		Key: "retracted_TPS", Section: Scraped, Group: Load, Unit: TokensPerSecond, Better: Down, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang,
		Name:        Words{"Tokens of retracted requests per second", "被回退请求的 token 速率"},
		Label:       Words{"input or output", "输入或输出"},
		Formula:     Words{"increase of tokens that retracted requests must compute again ÷ time", "被回退请求需重算的 token 增量 ÷ 时间"},
		Window:      interval,
		Denominator: perInterval,
		Moves:       Words{"KV demand above capacity", "KV 需求超过容量"},
	},
	{
		Key: "ctx_requests", Section: Iterations, Group: Load, Unit: Requests, Better: Neither, Steps: SameKind, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfTensorRTLLM,
		Name:    Words{"Prompt requests in the batch", "批中的预填充请求"},
		Formula: Words{"requests in their prompt phase in the batch", "批中处于预填充阶段的请求数"},
		Window:  oneStep,
		Moves:   Words{"arriving prompts, chunk size", "到达的提示、分块大小"},
	},
	{
		Key: "gen_requests", Section: Iterations, Group: Load, Unit: Requests, Better: Neither, Steps: SameKind, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfTensorRTLLM,
		Name:    Words{"Generating requests in the batch", "批中的生成请求"},
		Formula: Words{"requests in their generation phase in the batch", "批中处于生成阶段的请求数"},
		Window:  oneStep,
		Moves:   Words{"traffic and capacity", "流量与容量"},
	},
	{
		Key: "new_requests", Section: LogLines, Group: Load, Unit: Sequences, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang,
		Name:    Words{"Sequences new in the prefill batch", "预填充批中的新序列"},
		Formula: Words{"sequences that the prefill batch starts", "该预填充批启动的序列数"},
		Window:  oneBatch,
		Moves:   Words{"arriving prompts", "到达的提示"},
	},
	{
		Key: "iteration_tokens", Section: Scraped, Group: Load, Unit: Tokens, Kind: Histogram, Counted: "steps", Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM,
		Name:    Words{"Tokens per step", "每步 token 数"},
		Formula: Words{"tokens of a step, one value per step", "每步的 token 数，每步一个取值"},
		Window:  interval,
		Moves:   Words{"batch size, prompt chunks, drafts", "批大小、提示分块、草稿"},
	},
	{
		Key: "prompt_len", Section: Scraped, Group: Load, Unit: Tokens, Kind: Histogram, Counted: Requests, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfSGLang,
		Name:    Words{"Prompt lengths", "输入长度分布"},
		Formula: Words{"prompt tokens of a request, cached ones included, one value per ended request", "请求的提示 token 数（含缓存命中），每个结束的请求一个取值"},
		Window:  interval,
		Moves:   Words{"the traffic", "流量形态"},
	},
	{
		Key: "output_len", Section: Scraped, Group: Load, Unit: Tokens, Kind: Histogram, Counted: Requests, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfVLLM | OfSGLang,
		Name:    Words{"Output lengths", "输出长度分布"},
		Formula: Words{"generated tokens of a request, one value per ended request", "请求生成的 token 数，每个结束的请求一个取值"},
		Window:  interval,
		Moves:   Words{"the traffic, limits on the output", "流量形态、输出长度上限"},
	},
}

var foreignCaches = []Metric{
	{
		Key: "KV_pool_usage", Section: Scraped, Group: Caches, Unit: Share, Better: Neither, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfSGLang | OfTensorRTLLM,
		Name:        Words{"KV usage by pool", "KV 使用率（按池）"},
		Label:       Words{"pool", "池"},
		Formula:     Words{"used ÷ size of this pool", "该池已用 ÷ 大小"},
		Window:      thisReading,
		Denominator: Words{"size of the pool", "该池大小"},
		Moves:       Words{"running sequences × context length; sliding windows and states fill pools of their own", "运行序列数 × 上下文长度；滑动窗口与状态各占其池"},
	},
	{
		Key: "prefix_hit_blocks", Section: Scraped, Group: Caches, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfTensorRTLLM,
		Name:        Words{"Prefix cache hits, in blocks", "前缀缓存命中率（按块）"},
		Formula:     Words{"increase of reused blocks ÷ increase of (reused + missed) blocks", "复用块的增量 ÷（复用 + 未命中）块的增量"},
		Window:      interval,
		Denominator: Words{"blocks asked for: the last, partly filled block of a prompt counts whole", "所需的块：提示末尾未满的块按整块计"},
		Moves:       Words{"shared prefixes, room in the cache, block size", "共享前缀、缓存空间、块大小"},
	},
	{
		Key: "prefix_hit_external", Section: Scraped, Group: Caches, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM,
		Name:        Words{"External prefix cache hits", "外部前缀缓存命中率"},
		Formula:     Words{"increase of tokens found through the KV connector ÷ increase of tokens asked for there", "经 KV 连接器命中的 token 增量 ÷ 向其查询的 token 增量"},
		Window:      interval,
		Denominator: Words{"prompt tokens that the local cache did not have", "本地缓存未命中的提示 token"},
		Moves:       Words{"shared prefixes, the external store's size", "共享前缀、外部存储容量"},
	},
	{
		Key: "mm_cache_hits", Section: Scraped, Group: Caches, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean}, Engines: OfVLLM,
		Name:        Words{"Multimodal cache hits", "多模态缓存命中率"},
		Formula:     Words{"increase of items found ÷ increase of items asked for", "命中条目的增量 ÷ 查询条目的增量"},
		Window:      interval,
		Denominator: Words{"images, sounds and the like asked for", "查询的图像、音频等条目"},
		Moves:       Words{"repeated images in the traffic", "流量中重复的图像"},
	},
	{
		Key: "engine_mem", Section: Scraped, Group: Caches, Unit: GiB, Better: Neither, Aggregate: Aggregation{Op: Sum}, Engines: OfSGLang | OfTensorRTLLM,
		Name:    Words{"Memory, as the engine says", "内存（引擎自报）"},
		Label:   Words{"kind of memory", "内存类别"},
		Formula: Words{"memory of this kind that the engine says it uses", "引擎自报的该类内存用量"},
		Window:  thisReading,
		Moves:   Words{"the model, the KV cache's size, graphs", "模型、KV 缓存大小、图"},
	},
}
