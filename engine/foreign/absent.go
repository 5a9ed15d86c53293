package foreign

import "github.com/stepscope/stepscope/engine/ledger"

// AbsentReason says why an engine of a kind does not show a metric of the table, and what
// would make it. Where the kind has the metric in some version or setting, the reason names
// that; otherwise it says what the engine has instead, if anything.
func AbsentReason(kind, key string) ledger.Words {
	if base := baseKey(key); base != "" {
		key = base
	}
	if w, ok := absent[kind][key]; ok {
		return w
	}
	m, known := ledger.Lookup(key)
	name := Name(kind)
	switch {
	case !known:
		return ledger.Words{EN: "no metric of this name is defined", ZH: "没有定义该名称的指标"}
	case kind == "gpu" || m.Section == ledger.GPUReading:
		return ledger.Words{
			EN: "read by the GPU reader: not there without NVIDIA's driver, or not told by this card",
			ZH: "由 GPU 读取器提供：没有 NVIDIA 驱动，或该卡不提供"}
	case kind == DeepInfer && !m.Engines.Has(DeepInfer):
		return ledger.Words{EN: "DeepInfer's log lines don't have it", ZH: "DeepInfer 的日志行没有该项"}
	case kind == DeepInfer:
		return ledger.Words{
			EN: "not in the log lines read so far: this engine or version does not print it",
			ZH: "已读日志行中没有：该引擎或版本不打印此项"}
	case m.Engines.Has(kind):
		return ledger.Words{
			EN: name + " has it in other versions or settings; this server did not tell it",
			ZH: name + " 的其他版本或设置提供该项，此服务未提供"}
	case m.Section == ledger.CPU || m.Section == ledger.CUDA:
		return ledger.Words{
			EN: name + " has no timers in its metrics; a trace has these times",
			ZH: name + " 的指标没有计时器；这些时间可从 trace 得到"}
	}
	return ledger.Words{EN: name + " does not expose it", ZH: name + " 不提供该项"}
}

// baseKey is the metric that a part or a mean of a histogram stands for; "" for others.
func baseKey(key string) string {
	for _, suffix := range []string{ledger.BucketSuffix, ledger.SumSuffix, ledger.CountSuffix, "_avg"} {
		if n := len(key) - len(suffix); n > 0 && key[n:] == suffix {
			if m, ok := ledger.Lookup(key[:n]); ok && m.Kind == ledger.Histogram {
				return key[:n]
			}
		}
	}
	return ""
}

var (
	vllmSpec = ledger.Words{
		EN: "only with a speculative config (--speculative-config); diffusion models count otherwise",
		ZH: "仅在配置投机解码（--speculative-config）时提供；扩散模型另行计数"}
	vllmMFU = ledger.Words{
		EN: "needs --enable-mfu-metrics (vLLM from 2026-02 on)",
		ZH: "需要 --enable-mfu-metrics（2026-02 起的 vLLM）"}
	sglangMFU = ledger.Words{
		EN: "needs --enable-mfu-metrics (SGLang from 2026-03 on)",
		ZH: "需要 --enable-mfu-metrics（2026-03 起的 SGLang）"}
	sglangSpec = ledger.Words{
		EN: "only with a speculative algorithm (--speculative-algorithm)",
		ZH: "仅在配置投机算法（--speculative-algorithm）时提供"}
	sglangRealtimeOnly = ledger.Words{
		EN: "needs sglang:realtime_tokens_total (SGLang from 2025-12 on); older ones count when a request ends: see the keys with _done_",
		ZH: "需要 sglang:realtime_tokens_total（2025-12 起的 SGLang）；旧版在请求结束时计数，见含 _done_ 的项"}
	sglangLengths = ledger.Words{
		EN: "needs --collect-tokens-histogram",
		ZH: "需要 --collect-tokens-histogram"}
	trtIterations = ledger.Words{
		EN: "stands in the list of iterations (source \"iterations\"), which needs enable_iter_perf_stats: true",
		ZH: "位于迭代列表（“iterations” 来源），需要 enable_iter_perf_stats: true"}
	trtRequests = ledger.Words{
		EN: "stands in /prometheus/metrics, which needs return_perf_metrics: true",
		ZH: "位于 /prometheus/metrics，需要 return_perf_metrics: true"}
	trtSpec = ledger.Words{
		EN: "only with speculative decoding; by position in /prometheus/metrics (return_perf_metrics: true)",
		ZH: "仅在投机解码时提供；按位置的值位于 /prometheus/metrics（return_perf_metrics: true）"}
)

// absent holds the reasons that are more telling than the general ones.
var absent = map[string]map[string]ledger.Words{
	VLLM: {
		"prompt_TPS": {
			EN: "needs vllm:prompt_tokens_by_source_total (vLLM from 2026-02 on); older ones count cached tokens too: see prompt_all_TPS",
			ZH: "需要 vllm:prompt_tokens_by_source_total（2026-02 起的 vLLM）；旧版含缓存命中，见 prompt_all_TPS"},
		"drafted_TPS": vllmSpec, "accepted_TPS": vllmSpec, "avg_nextn_accept_rate": vllmSpec, "accept_rate_uncond": vllmSpec, "accept_len": vllmSpec,
		"nextn_accept_rate": {
			EN: "vLLM counts acceptance over all drafts (accept_rate_uncond); it is the same number only in intervals in which every draft had all positions",
			ZH: "vLLM 按全部草稿统计接受率（accept_rate_uncond）；仅当间隔内每个草稿都有全部位置时两者相同"},
		"spec_efficiency": {
			EN: "only very old servers (V0) have it",
			ZH: "仅很旧的服务（V0）提供"},
		"pending_by":          {EN: "vLLM from 2026-04 on has it", ZH: "2026-04 起的 vLLM 提供"},
		"prefix_hit_external": {EN: "only with a KV connector (vLLM from 2025-10 on)", ZH: "仅在配置 KV 连接器时提供（2025-10 起的 vLLM）"},
		"mm_cache_hits":       {EN: "only with multimodal models (vLLM from 2025-10 on)", ZH: "仅多模态模型提供（2025-10 起的 vLLM）"},
		"TPOT":                {EN: "vLLM from 2025-09 on has it", ZH: "2025-09 起的 vLLM 提供"},
		"est_TFLOPs_per_GPU":  vllmMFU, "est_read_GBps_per_GPU": vllmMFU, "est_write_GBps_per_GPU": vllmMFU,
		"MFU": {
			EN: "vLLM estimates TFLOP/s per GPU instead (--enable-mfu-metrics); with the deployment's peak per GPU it becomes a fraction",
			ZH: "vLLM 改为估算每 GPU 的 TFLOP/s（--enable-mfu-metrics）；给出部署的每 GPU 峰值后可换算为占比"},
		"step_ms": {
			EN: "only in its log lines, with iteration details switched on",
			ZH: "仅在其日志行中，且需打开迭代详情"},
		"graph_replay_share": {
			EN: "vLLM logs it as a table (--cudagraph-metrics), which some versions never print; a trace shows it",
			ZH: "vLLM 以表格打印（--cudagraph-metrics），部分版本从不打印；可从 trace 得到"},
		"moe_lb": {EN: "vLLM only logs it", ZH: "vLLM 仅写入日志"},
	},
	SGLang: {
		"completion_TPS": sglangRealtimeOnly, "prompt_TPS": sglangRealtimeOnly,
		"accept_len": sglangSpec, "spec_accept_rate": sglangSpec,
		"avg_nextn_accept_rate": {
			EN: "SGLang divides by a fixed draft length instead: see spec_accept_rate",
			ZH: "SGLang 除以固定的草稿长度，见 spec_accept_rate"},
		"nextn_accept_rate": {
			EN: "SGLang tells acceptance by position only per request (spec_accept_histogram), not in its metrics",
			ZH: "SGLang 仅按请求给出各位置接受数（spec_accept_histogram），指标中没有"},
		"accept_rate_uncond": {
			EN: "SGLang tells acceptance by position only per request (spec_accept_histogram), not in its metrics",
			ZH: "SGLang 仅按请求给出各位置接受数（spec_accept_histogram），指标中没有"},
		"prompt_len": sglangLengths, "output_len": sglangLengths,
		"preempted": {
			EN: "SGLang tells retracted requests as a gauge since its last report: see retracted and retracted_TPS",
			ZH: "SGLang 以自上次报告以来的瞬时值给出被回退的请求，见 retracted 与 retracted_TPS"},
		"prefill_caching_rate": {
			EN: "needs sglang:prefill_effective_tokens_total; the gauge sglang:cache_hit_rate is overwritten by each batch and is not used",
			ZH: "需要 sglang:prefill_effective_tokens_total；瞬时值 sglang:cache_hit_rate 会被每个批覆盖，不予采用"},
		"est_TFLOPs_per_GPU": sglangMFU, "est_read_GBps_per_GPU": sglangMFU, "est_write_GBps_per_GPU": sglangMFU,
		"MFU": {
			EN: "SGLang estimates TFLOP/s per GPU instead (--enable-mfu-metrics); with the deployment's peak per GPU it becomes a fraction",
			ZH: "SGLang 改为估算每 GPU 的 TFLOP/s（--enable-mfu-metrics）；给出部署的每 GPU 峰值后可换算为占比"},
		"fwd_occupancy": {EN: "needs SGLANG_ENABLE_METRICS_DEVICE_TIMER, and work to measure", ZH: "需要 SGLANG_ENABLE_METRICS_DEVICE_TIMER，且有负载"},
		"ITL":           {EN: "SGLang from 2025-03 on has it", ZH: "2025-03 起的 SGLang 提供"},
		"TPOT": {
			EN: "SGLang has the gaps between tokens instead (ITL), which are not comparable",
			ZH: "SGLang 提供的是 token 间隔（ITL），两者不可比"},
		"step_ms": {
			EN: "SGLang tells no step time; generation throughput is no way to it, since prefill in between counts too. A trace has it",
			ZH: "SGLang 不提供步耗时；由生成吞吐推算会混入其间的预填充。可从 trace 得到"},
		"eplb_balancedness": {EN: "only with expert parallelism and its load statistics switched on", ZH: "仅在启用专家并行及其负载统计时提供"},
		"moe_lb":            {EN: "SGLang tells eplb_balancedness instead, about 1 ÷ moe_lb, averaged over the layers first", ZH: "SGLang 提供 eplb_balancedness，约为 1 ÷ moe_lb，且先对各层平均"},
	},
	TensorRTLLM: {
		"completion_TPS": {
			EN: "TensorRT-LLM counts generated tokens when a request ends: see completion_done_TPS",
			ZH: "TensorRT-LLM 在请求结束时才计生成 token，见 completion_done_TPS"},
		"prompt_TPS": trtIterations, "num_batched_tokens": {EN: "only in its iteration log lines (print_iter_log)", ZH: "仅在其迭代日志行中（print_iter_log）"},
		"step_ms": trtIterations, "step_ms_max": trtIterations, "host_step_ms": trtIterations, "device_step_ms": trtIterations,
		"gpu_forward_ms": trtIterations, "admission_ms": trtIterations, "paused": trtIterations, "ctx_requests": trtIterations, "gen_requests": trtIterations,
		"TTFT": trtRequests, "TPOT": trtRequests, "E2E": trtRequests, "queue_time": trtRequests, "prefill_time": trtRequests,
		"decode_time": trtRequests, "inference_time": trtRequests, "prompt_done_TPS": trtRequests, "completion_done_TPS": trtRequests,
		"request_rate": trtRequests, "finished": trtRequests, "aborted": trtRequests, "avg_input_length": trtRequests, "avg_output_length": trtRequests, "payload_len": trtRequests,
		"prefill_caching_rate":  {EN: "needs trtllm_prompt_cached_tokens_total in /prometheus/metrics; blocks are told as prefix_hit_blocks", ZH: "需要 /prometheus/metrics 中的 trtllm_prompt_cached_tokens_total；按块的值见 prefix_hit_blocks"},
		"avg_nextn_accept_rate": trtSpec, "nextn_accept_rate": trtSpec, "accept_rate_uncond": trtSpec, "accept_len": trtSpec,
		"drafted_TPS": trtSpec, "accepted_TPS": trtSpec, "draft_overhead": trtSpec,
		"ITL": {
			EN: "TensorRT-LLM has the mean per request instead (TPOT), which is not comparable",
			ZH: "TensorRT-LLM 提供的是每请求平均（TPOT），两者不可比"},
		"preempted": {
			EN: "TensorRT-LLM tells how many requests are paused now: see paused",
			ZH: "TensorRT-LLM 只给出当前暂停的请求数，见 paused"},
		"MFU":                {EN: "TensorRT-LLM has no estimate of its compute rate", ZH: "TensorRT-LLM 没有算力估算"},
		"est_TFLOPs_per_GPU": {EN: "TensorRT-LLM has no estimate of its compute rate", ZH: "TensorRT-LLM 没有算力估算"},
	},
}
