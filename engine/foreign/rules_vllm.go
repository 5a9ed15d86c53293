package foreign

import "slices"

// vLLM's series without prefix and _total; the newest name first. Sources: its loggers,
// spec_decode/metrics and metrics/perf modules.
var (
	vllmDrafts   = series("spec_decode_num_drafts")
	vllmDrafted  = series("spec_decode_num_draft_tokens")
	vllmAccepted = series("spec_decode_num_accepted_tokens")
	vllmByPos    = series("spec_decode_num_accepted_tokens_per_pos")

	vllmPromptLen = series("request_prompt_tokens")
	vllmOutputLen = series("request_generation_tokens")
)

var vllmRules = slices.Concat(
	[]rule{
		rate("completion_TPS", 1, series("generation_tokens")),
		rate("prompt_TPS", 1, series("prompt_tokens_by_source").only("source", "local_compute")),
		rate("prompt_all_TPS", 1, series("prompt_tokens")),
		rate("request_rate", 1, series("request_success")),
		rate("drafted_TPS", 1, vllmDrafted),
		rate("accepted_TPS", 1, vllmAccepted),

		ratio("avg_nextn_accept_rate", 0, vllmAccepted, vllmDrafted),
		gauge("avg_nextn_accept_rate", 1, series("spec_decode_draft_acceptance_rate")), // V0
		gauge("spec_efficiency", 1, series("spec_decode_efficiency")),                  // V0
		unconditional("accept_rate_uncond", "position", vllmByPos, vllmDrafts),
		fullDrafts("nextn_accept_rate", "position", vllmByPos, vllmDrafts, vllmDrafted),
		ratio("accept_len", 1, vllmAccepted, vllmDrafts),

		gauge("running", 1, series("num_requests_running")),
		gauge("pending", 1, series("num_requests_waiting")),
		gaugeBy("pending_by", 1, "reason", series("num_requests_waiting_by_reason")),
		total("finished", series("request_success").except("finished_reason", "abort")),
		total("preempted", series("num_preemptions")),
		total("aborted", series("request_success").only("finished_reason", "abort")),
		histogram("iteration_tokens", series("iteration_tokens_total")),
		histogram("prompt_len", vllmPromptLen),
		histogram("output_len", vllmOutputLen),
		mean("avg_input_length", 1, vllmPromptLen),
		mean("avg_output_length", 1, vllmOutputLen),
		quotient("payload_len", []rule{mean("", 1, vllmOutputLen)}, []rule{mean("", 1, vllmPromptLen)}),

		gauge("KV_cache_usage", 1, series("kv_cache_usage_perc", "gpu_cache_usage_perc")),
		ratio("prefill_caching_rate", 0, series("prefix_cache_hits", "gpu_prefix_cache_hits"), series("prefix_cache_queries", "gpu_prefix_cache_queries")),
		ratio("prefix_hit_external", 0, series("external_prefix_cache_hits"), series("external_prefix_cache_queries")),
		ratio("mm_cache_hits", 0, series("mm_cache_hits"), series("mm_cache_queries")),

		rateEach("est_TFLOPs_per_GPU", 1e-12, series("estimated_flops_per_gpu")),
		rateEach("est_read_GBps_per_GPU", 1e-9, series("estimated_read_bytes_per_gpu")),
		rateEach("est_write_GBps_per_GPU", 1e-9, series("estimated_write_bytes_per_gpu")),
	},
	latency("TTFT", series("time_to_first_token_seconds")),
	// time_per_output_token_seconds was the old name of the gaps, not of the mean per request.
	latency("ITL", series("inter_token_latency_seconds", "time_per_output_token_seconds")),
	latency("TPOT", series("request_time_per_output_token_seconds")),
	latency("E2E", series("e2e_request_latency_seconds")),
	latency("queue_time", series("request_queue_time_seconds")),
	latency("prefill_time", series("request_prefill_time_seconds")),
	latency("decode_time", series("request_decode_time_seconds")),
	latency("inference_time", series("request_inference_time_seconds")),
)
