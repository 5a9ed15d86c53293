package ledger

var throughputMetrics = []Metric{
	{
		Key: "completion_TPS", Group: Throughput, Unit: TokensPerSecond, Better: Up, Aggregate: Aggregation{Op: Sum},
		Name:        Words{"Generated tokens per second", "生成吞吐"},
		Formula:     Words{"generated tokens of all entries but the first ÷ (now − first entry's time); 0 with one entry or none", "除首条外所有样本的生成 token 数之和 ÷（当前时刻 − 首条时间）；样本不足两条时为 0"},
		Window:      decodes,
		Denominator: toNow,
		Moves:       Words{"batch size, step time, accepted drafts; falls in a pause and while prompt steps crowd out decoding", "批大小、步耗时、草稿接受数；停顿或预填充挤占解码时下降"},
	},
	{
		Key: "prompt_TPS", Group: Throughput, Unit: TokensPerSecond, Better: Up, Aggregate: Aggregation{Op: Sum},
		Name:        Words{"Prompt tokens per second", "预填充吞吐"},
		Formula:     Words{"computed prompt tokens of all entries but the first ÷ (now − first entry's time); 0 with one entry or none. Tokens found in the prefix cache don't count", "除首条外所有样本实际计算的提示 token 数之和 ÷（当前时刻 − 首条时间）；样本不足两条时为 0。前缀缓存命中的 token 不计"},
		Window:      prompts,
		Denominator: toNow,
		Moves:       Words{"arriving prompts, chunk size, prefix cache hits (which lower it); falls while no prompt step runs", "到达的提示、分块大小、前缀缓存命中（会使其降低）；没有预填充步时下降"},
	},
	{
		Key: "avg_SPS", Group: Throughput, Unit: StepsPerSecond, Better: Up, Aggregate: Aggregation{Op: WeightedMean},
		Name:        Words{"Steps per second, mean", "平均步率"},
		Formula:     Words{"steps since the last log line ÷ time since then; 0 in the first line", "自上一条日志以来的步数 ÷ 经过的时间；第一条日志为 0"},
		Window:      sinceLog,
		Denominator: Words{"time between the two log lines", "两条日志之间的时间"},
		Moves:       Words{"step time and pauses between steps; well below cur_SPS it means long steps or a pause in between", "步耗时与步间停顿；明显低于 cur_SPS 说明其间有长步或停顿"},
	},
	{
		Key: "cur_SPS", Group: Throughput, Unit: StepsPerSecond, Better: Up, Steps: SameKind, Aggregate: Aggregation{Op: WeightedMean},
		Name:        Words{"Steps per second, this step", "当前步率"},
		Formula:     Words{"1 ÷ duration of the step", "1 ÷ 本步耗时"},
		Window:      thisStep,
		Denominator: stepTime,
		Moves:       Words{"batch size, context length, graph hit or miss; under zero-overhead scheduling it describes the step before", "批大小、上下文长度、图是否命中；零开销调度下描述的是上一步"},
	},
	{
		Key: "cur_TPS", Group: Throughput, Unit: TokensPerSecond, Better: Up, Steps: SameKind, Aggregate: Aggregation{Op: Sum},
		Name:        Words{"Generated tokens per second, this step", "当前步生成速率"},
		Formula:     Words{"tokens generated in this step ÷ duration of the step; not comparable with completion_TPS", "本步生成的 token 数 ÷ 本步耗时；不可与 completion_TPS 直接比较"},
		Window:      thisStep,
		Denominator: stepTime,
		Moves:       Words{"batch size, accepted drafts, step time", "批大小、接受的草稿数、步耗时"},
	},
}

var speculationMetrics = []Metric{
	{
		Key: "avg_nextn_accept_rate", Group: Speculation, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean, By: "verified_tokens"},
		Name:        Words{"Draft acceptance", "草稿接受率"},
		Formula:     Words{"accepted drafts ÷ (batched tokens − sequences + 1e-15)", "接受的草稿数 ÷（批 token 数 − 序列数 + 1e-15）"},
		Window:      decodes,
		Denominator: Words{"query tokens beyond one per sequence, that is the drafts that were verified", "每条序列一个之外的查询 token 数，即被验证的草稿数"},
		Moves:       Words{"how well the draft head matches the target model on this traffic; down at all positions together, the draft or confidence head has drifted", "草稿头与目标模型在当前流量上的吻合度；各位置同时下降说明草稿头或置信度头已漂移"},
	},
	{
		Key: "nextn_accept_rate", Group: Speculation, Unit: Share, Better: Up, Aggregate: Aggregation{Op: WeightedMean, By: "verified_tokens"},
		Name:        Words{"Draft acceptance by position", "各位置草稿接受率"},
		Label:       Words{"draft position, from 1", "草稿位置，从 1 起"},
		Formula:     Words{"drafts accepted at the position ÷ drafts verified at the position; 0 if none was verified", "该位置接受的草稿数 ÷ 该位置验证的草稿数；没有验证时为 0"},
		Window:      decodes,
		Denominator: Words{"drafts verified at this position: conditional on being verified, unlike engines that divide by all drafts", "该位置被验证的草稿数：以被验证为条件，与除以全部草稿的引擎不同"},
		Moves:       Words{"draft quality; falls with the position, and how fast decides how deep speculation pays", "草稿质量；随位置递减，递减快慢决定投机多深才划算"},
	},
	{
		Key: "verified_tokens", Group: Speculation, Unit: Tokens, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Drafts verified", "验证的草稿数"},
		Formula: Words{"drafts verified at positions 1 … nextn, summed over the window", "窗口内位置 1 … nextn 验证的草稿数之和"},
		Window:  decodes,
		Moves:   Words{"batch size, and the verification budget that the scheduler grants by confidence", "批大小，以及调度器按置信度分配的验证预算"},
	},
	{
		Key: "accepted_tokens", Group: Speculation, Unit: Tokens, Better: Up, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Drafts accepted", "接受的草稿数"},
		Formula: Words{"drafts accepted at positions 1 … nextn, summed over the window", "窗口内位置 1 … nextn 接受的草稿数之和"},
		Window:  decodes,
		Moves:   Words{"verified drafts and their acceptance", "验证的草稿数及其接受率"},
	},
	{
		Key: "avg_verified_len", Group: Speculation, Unit: TokensPerSeq, Better: Neither, Aggregate: Aggregation{Op: WeightedMean, By: "verified_tokens"},
		Name:        Words{"Drafts verified per sequence", "平均验证长度"},
		Formula:     Words{"drafts verified ÷ sequences, both summed over the window; verified, not accepted", "窗口内验证的草稿数 ÷ 序列数；是验证而非接受"},
		Window:      decodes,
		Denominator: Words{"sequences, counted once per step", "序列数，每步各计一次"},
		Moves:       Words{"the confidence head's budget: below nextn unless every draft is verified", "置信度头给出的预算：除非全部验证，否则低于 nextn"},
	},
	{
		Key: "avg_confidence_error", Group: Speculation, Unit: PerToken, Better: Down, Aggregate: Aggregation{Op: WeightedMean, By: "verified_tokens"},
		Name:        Words{"Confidence error", "置信度误差"},
		Formula:     Words{"confidence error summed over the window ÷ drafts verified", "窗口内置信度误差之和 ÷ 验证的草稿数"},
		Window:      decodes,
		Denominator: Words{"drafts verified at positions 1 … nextn; 0 if none", "位置 1 … nextn 验证的草稿数；没有时为 0"},
		Moves:       Words{"how well the confidence head predicts acceptance; drifts with the traffic", "置信度头对接受与否的预测质量；随流量漂移"},
	},
}
