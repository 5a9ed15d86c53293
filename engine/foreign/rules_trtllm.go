package foreign

import "slices"

// TensorRT-LLM's Prometheus series without prefix and _total, of its metrics collector.
var (
	trtDrafted      = series("spec_decode_num_draft_tokens")
	trtAccepted     = series("spec_decode_num_accepted_tokens")
	trtDraftedByPos = series("spec_decode_drafted_tokens")
	trtAcceptByPos  = series("spec_decode_accepted_tokens")
	trtPrompts      = series("prompt_tokens")
	trtOutputs      = series("generation_tokens")
	trtSuccess      = series("request_success")
	trtEnded        = []string{"abort", "cancelled", "canceled", "timeout"} // reasons that are no answer
)

var trtllmRules = slices.Concat(
	[]rule{
		rate("prompt_done_TPS", 1, trtPrompts),
		rate("completion_done_TPS", 1, trtOutputs),
		rate("request_rate", 1, trtSuccess),
		rate("drafted_TPS", 1, trtDrafted),
		rate("accepted_TPS", 1, trtAccepted),

		ratio("avg_nextn_accept_rate", 0, trtAccepted, trtDrafted),
		conditional("nextn_accept_rate", "token_position", trtAcceptByPos, trtDraftedByPos),
		ofFirst("accept_rate_uncond", "token_position", trtAcceptByPos, trtDraftedByPos),
		perDraft("accept_len", "token_position", trtAcceptByPos, trtDraftedByPos),
		gauge("accept_len", 1, series("spec_decode_acceptance_length")),
		gauge("draft_overhead", 1, series("spec_decode_draft_overhead")),

		gauge("running", 1, series("num_requests_running")),
		gauge("pending", 1, series("num_requests_waiting")),
		gauge("paused", 1, series("num_paused_requests")),
		gauge("ctx_requests", 1, series("num_context_requests")),
		gauge("gen_requests", 1, series("num_generation_requests")),
		total("finished", trtSuccess.except("finished_reason", trtEnded...)),
		total("aborted", trtSuccess.only("finished_reason", trtEnded...)),
		ratio("avg_input_length", 0, trtPrompts, trtSuccess),
		ratio("avg_output_length", 0, trtOutputs, trtSuccess),
		ratio("payload_len", 0, trtOutputs, trtPrompts),

		gauge("KV_cache_usage", 1, series("kv_cache_utilization")),
		gauges("KV_pool_usage", 1, labelled{"host", series("kv_cache_host_utilization")}),
		ratio("prefill_caching_rate", 0, series("prompt_cached_tokens"), trtPrompts),
		ratioOfSum("prefix_hit_blocks", series("kv_cache_reused_blocks"), series("kv_cache_missed_blocks")),
		gauges("engine_mem", 1.0/(1<<30),
			labelled{"gpu", series("gpu_memory_usage_bytes")},
			labelled{"host", series("cpu_memory_usage_bytes")},
			labelled{"pinned", series("pinned_memory_usage_bytes")}),
		histogram("step_time", series("iteration_latency_seconds")),
		mean("step_time_avg", 1000, series("iteration_latency_seconds")),
	},
	latency("TTFT", series("time_to_first_token_seconds")),
	latency("TPOT", series("time_per_output_token_seconds")),
	latency("E2E", series("e2e_request_latency_seconds")),
	latency("queue_time", series("request_queue_time_seconds")),
	latency("prefill_time", series("request_prefill_time_seconds")),
	latency("decode_time", series("request_decode_time_seconds")),
	latency("inference_time", series("request_inference_time_seconds")),
)
