package foreign

// trtllmTexts name the Prometheus series (trtllm_…) and the fields of the iterations list.
var trtllmTexts = map[string]Rule{
	"prompt_TPS": how("Σ inflightBatchingStats.numCtxTokens of the iterations read ÷ time between the two readings", "所读各次迭代 inflightBatchingStats.numCtxTokens 之和 ÷ 两次读取的间隔").
		but("only when no iteration is missing from the list; per reading, not per 100 steps", "仅当列表无缺失迭代时给出；按读取间隔，而非按 100 步"),
	"prompt_done_TPS":     how("Δ trtllm_prompt_tokens_total ÷ Δt", "Δ trtllm_prompt_tokens_total ÷ Δt（请求结束时计）"),
	"completion_done_TPS": how("Δ trtllm_generation_tokens_total ÷ Δt", "Δ trtllm_generation_tokens_total ÷ Δt（请求结束时计）"),
	"request_rate":        how("Δ trtllm_request_success_total ÷ Δt; in the list, Σ numCompletedRequests ÷ time", "Δ trtllm_request_success_total ÷ Δt；列表中为 numCompletedRequests 之和 ÷ 时间"),
	"drafted_TPS":         how("Δ trtllm_spec_decode_num_draft_tokens_total ÷ Δt", "Δ trtllm_spec_decode_num_draft_tokens_total ÷ Δt（每秒）"),
	"accepted_TPS":        how("Δ trtllm_spec_decode_num_accepted_tokens_total ÷ Δt", "Δ trtllm_spec_decode_num_accepted_tokens_total ÷ Δt（每秒）"),
	"avg_nextn_accept_rate": how("Δ …num_accepted_tokens_total ÷ Δ …num_draft_tokens_total; in the list, Σ numAcceptedTokens ÷ Σ numDraftTokens", "Δ …num_accepted_tokens_total ÷ Δ …num_draft_tokens_total；列表中为 Σ numAcceptedTokens ÷ Σ numDraftTokens").
		but("every draft is verified here; DeepInfer verifies as many as its budget allows, the surest ones", "此处每个草稿都会验证；DeepInfer 按预算只验证最有把握的"),
	"nextn_accept_rate": how("Δ …accepted_tokens_total{token_position} ÷ Δ …drafted_tokens_total{token_position}", "Δ …accepted_tokens_total{token_position} ÷ Δ …drafted_tokens_total{token_position}（同一位置）").
		but("every draft is verified here; DeepInfer verifies as many as its budget allows, the surest ones", "此处每个草稿都会验证；DeepInfer 按预算只验证最有把握的"),
	"accept_rate_uncond": how("Δ …accepted_tokens_total{token_position} ÷ Δ …drafted_tokens_total at the first position", "Δ …accepted_tokens_total{token_position} ÷ 首位置的 Δ …drafted_tokens_total"),
	"accept_len":         how("1 + Δ accepted ÷ Δ drafted at the first position; in the list, 1 + Σ numAcceptedTokens ÷ Σ numRequestsWithDraftTokens; else acceptance_length as it is", "1 + Δ 接受数 ÷ 首位置的 Δ 草稿数；列表中为 1 + Σ numAcceptedTokens ÷ Σ numRequestsWithDraftTokens；否则直接取 acceptance_length"),
	"draft_overhead":     how("trtllm_spec_decode_draft_overhead; in the list, the mean of specDecodingStats.draftOverhead", "trtllm_spec_decode_draft_overhead；列表中为 specDecodingStats.draftOverhead 的平均"),

	"running":      how("trtllm_num_requests_running; in the list, numActiveRequests of the last iteration", "trtllm_num_requests_running；列表中为最后一次迭代的 numActiveRequests"),
	"pending":      how("trtllm_num_requests_waiting; in the list, numQueuedRequests of the last iteration", "trtllm_num_requests_waiting；列表中为最后一次迭代的 numQueuedRequests").but("0 on all ranks but the first with attention data parallelism", "在注意力数据并行下，除首个 rank 外均为 0"),
	"paused":       how("trtllm_num_paused_requests; in the list, numPausedRequests of the last iteration", "trtllm_num_paused_requests；列表中为最后一次迭代的 numPausedRequests"),
	"ctx_requests": how("trtllm_num_context_requests; in the list, the mean of numContextRequests", "trtllm_num_context_requests；列表中为 numContextRequests 的平均"),
	"gen_requests": how("trtllm_num_generation_requests; in the list, the mean of numGenRequests", "trtllm_num_generation_requests；列表中为 numGenRequests 的平均"),
	"finished":     how("trtllm_request_success_total, all reasons but abort, cancelled and timeout", "trtllm_request_success_total（除 abort、cancelled、timeout 外）"),
	"aborted":      how("trtllm_request_success_total, reasons abort, cancelled and timeout", "trtllm_request_success_total（原因为 abort、cancelled、timeout）"),
	"num_batched_tokens": how("num_ctx_tokens + num_generation_tokens of the iteration log line", "迭代日志行的 num_ctx_tokens + num_generation_tokens").
		but("of every step that is logged, not of each hundredth", "为每个被记录的步，而非每一百步"),
	"avg_input_length":  how("Δ trtllm_prompt_tokens_total ÷ Δ trtllm_request_success_total", "Δ trtllm_prompt_tokens_total ÷ Δ trtllm_request_success_total（间隔内）").but("requests that ended in the interval", "该间隔内结束的请求"),
	"avg_output_length": how("Δ trtllm_generation_tokens_total ÷ Δ trtllm_request_success_total", "Δ trtllm_generation_tokens_total ÷ Δ trtllm_request_success_total（间隔内）").but("requests that ended in the interval", "该间隔内结束的请求"),
	"payload_len":       how("Δ trtllm_generation_tokens_total ÷ Δ trtllm_prompt_tokens_total", "Δ trtllm_generation_tokens_total ÷ Δ trtllm_prompt_tokens_total（间隔内）").but("requests that ended in the interval", "该间隔内结束的请求"),

	"KV_cache_usage": how("trtllm_kv_cache_utilization; in the list, usedNumBlocks ÷ maxNumBlocks of the last iteration; in the log, kv_cache_util", "trtllm_kv_cache_utilization；列表中为最后一次迭代的 usedNumBlocks ÷ maxNumBlocks；日志中为 kv_cache_util"),
	"KV_pool_usage":  how("trtllm_kv_cache_host_utilization", "trtllm_kv_cache_host_utilization（主机池）"),
	"prefill_caching_rate": how("Δ trtllm_prompt_cached_tokens_total ÷ Δ trtllm_prompt_tokens_total", "Δ trtllm_prompt_cached_tokens_total ÷ Δ trtllm_prompt_tokens_total（间隔内）").
		but("of requests that ended in the interval, not the last 50 prompt steps", "为该间隔内结束的请求，而非最近 50 个预填充步"),
	"prefix_hit_blocks": how("Δ reused blocks ÷ Δ (reused + missed) blocks, of trtllm_kv_cache_…_blocks_total or of kvCacheStats in the list", "Δ 复用块 ÷ Δ（复用 + 未命中）块，取自 trtllm_kv_cache_…_blocks_total 或列表的 kvCacheStats"),
	"engine_mem":        how("trtllm_gpu_memory_usage_bytes, cpu_…, pinned_…; in the list, gpuMemUsage, cpuMemUsage, pinnedMemUsage", "trtllm_gpu_memory_usage_bytes、cpu_…、pinned_…；列表中为 gpuMemUsage、cpuMemUsage、pinnedMemUsage"),

	"step_time":      hist("trtllm_iteration_latency_seconds"),
	"step_ms":        how("mean of iterLatencyMS over the iterations of the same kind", "同类迭代 iterLatencyMS 的平均").but("iterations that contain prompt requests stand apart from pure decode ones", "含预填充请求的迭代与纯解码迭代分开"),
	"step_ms_max":    how("largest iterLatencyMS of the iterations of the same kind", "同类迭代 iterLatencyMS 的最大值"),
	"host_step_ms":   how("mean of hostStepTimeMS; in the log, host_step_time", "hostStepTimeMS 的平均；日志中为 host_step_time"),
	"device_step_ms": how("mean of prevDeviceStepTimeMS, each moved to the iteration before, which it belongs to", "prevDeviceStepTimeMS 的平均，各值已归入其所属的前一次迭代"),
	"gpu_forward_ms": how("mean of gpuForwardTimeMS", "gpuForwardTimeMS 的平均值"),
	"admission_ms":   how("largest newActiveRequestsQueueLatencyMS of the iterations read", "所读迭代中 newActiveRequestsQueueLatencyMS 的最大值").but("some old versions seem to write seconds", "部分旧版本似乎以秒为单位"),

	"TTFT":           hist("trtllm_time_to_first_token_seconds").but("first bound 1 ms; a zero value is not counted", "首个上界 1 毫秒；零值不计入"),
	"TPOT":           hist("trtllm_time_per_output_token_seconds").but("first bound 10 ms: shorter times are only “≤ 10 ms”; a zero value is not counted", "首个上界 10 毫秒：更短的只知“≤ 10 毫秒”；零值不计入"),
	"E2E":            hist("trtllm_e2e_request_latency_seconds").but("a zero value is not counted", "零值不计入"),
	"queue_time":     hist("trtllm_request_queue_time_seconds").but("a zero value is not counted", "零值不计入"),
	"prefill_time":   hist("trtllm_request_prefill_time_seconds").but("a zero value is not counted", "零值不计入"),
	"decode_time":    hist("trtllm_request_decode_time_seconds").but("a zero value is not counted", "零值不计入"),
	"inference_time": hist("trtllm_request_inference_time_seconds").but("a zero value is not counted", "零值不计入"),
}
