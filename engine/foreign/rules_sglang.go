package foreign

import "slices"

// SGLang's series without prefix and _total, of its metrics_collector module.
var (
	sglangRealtime   = series("realtime_tokens")
	sglangPromptLen  = series("prompt_tokens_histogram")
	sglangOutputLen  = series("generation_tokens_histogram")
	sglangRequests   = series("num_requests")
	sglangPromptDone = series("prompt_tokens")
	sglangOutputDone = series("generation_tokens")
	sglangEffective  = series("prefill_effective_tokens")
	sglangGraphs     = series("cuda_graph_passes")

	// Without streaming the first output is the whole answer: that is no first token.
	sglangTTFT = series("time_to_first_token_seconds").except("is_streaming", "false", "False")
)

// Ratios of tokens and requests that are both counted when a request ends.
var (
	sglangInput  = []rule{mean("avg_input_length", 1, sglangPromptLen), ratio("avg_input_length", 0, sglangPromptDone, sglangRequests)}
	sglangOutput = []rule{mean("avg_output_length", 1, sglangOutputLen), ratio("avg_output_length", 0, sglangOutputDone, sglangRequests)}
)

var sglangRules = slices.Concat(
	[]rule{
		rate("completion_TPS", 1, sglangRealtime.only("mode", "decode")),
		rate("prompt_TPS", 1, sglangRealtime.only("mode", "prefill_compute")),
		rate("prompt_done_TPS", 1, sglangPromptDone),
		rate("completion_done_TPS", 1, sglangOutputDone),
		gauge("gen_throughput", 1, series("gen_throughput")),
		rate("request_rate", 1, sglangRequests),

		gauge("accept_len", 1, series("spec_accept_length")),
		gauge("spec_accept_rate", 1, series("spec_accept_rate")),

		gauge("running", 1, series("num_running_reqs")),
		gauge("pending", 1, series("num_queue_reqs")),
		gauges("pending_by", 1,
			labelled{"grammar", series("num_grammar_queue_reqs")},
			labelled{"prefill_bootstrap", series("num_prefill_bootstrap_queue_reqs", "num_prefill_prealloc_queue_reqs")},
			labelled{"prefill_inflight", series("num_prefill_inflight_queue_reqs")},
			labelled{"decode_prealloc", series("num_decode_prealloc_queue_reqs")},
			labelled{"decode_transfer", series("num_decode_transfer_queue_reqs")}),
		gauge("paused", 1, series("num_paused_reqs")),
		gauge("retracted", 1, series("num_retracted_reqs")),
		rates("retracted_TPS", 1,
			labelled{"input", series("num_retracted_input_tokens")},
			labelled{"output", series("num_retracted_output_tokens")}),
		total("finished", sglangRequests),
		total("aborted", series("num_aborted_requests")),
		histogram("prompt_len", sglangPromptLen),
		histogram("output_len", sglangOutputLen),
	},
	sglangInput, sglangOutput,
	[]rule{
		quotient("payload_len", sglangOutput, sglangInput),

		gauge("KV_cache_usage", 1, series("token_usage")),
		gauges("KV_pool_usage", 1,
			labelled{"full", series("full_token_usage")},
			labelled{"swa", series("swa_token_usage")},
			labelled{"mamba", series("mamba_usage")}),
		ratio("prefill_caching_rate", 0,
			sglangEffective.only("mode", "device_hit", "host_hit", "storage_hit"),
			sglangEffective.only("mode", "device_hit", "host_hit", "storage_hit", "input")),
		// GB as the engine writes it is 2³⁰ bytes.
		gauges("engine_mem", 1,
			labelled{"weights", series("weight_memory_usage_gb")},
			labelled{"kv_cache", series("kv_cache_memory_usage_gb")},
			labelled{"graphs", series("graph_memory_usage_gb")}),

		rateEach("est_TFLOPs_per_GPU", 1e-12, series("estimated_flops_per_gpu")),
		rateEach("est_read_GBps_per_GPU", 1e-9, series("estimated_read_bytes_per_gpu")),
		rateEach("est_write_GBps_per_GPU", 1e-9, series("estimated_write_bytes_per_gpu")),
		ratios("graph_replay_share", 0,
			fraction{"decode", sglangGraphs.only("mode", "decode_cuda_graph"), sglangGraphs.only("mode", "decode_cuda_graph", "decode_none")},
			fraction{"prefill", sglangGraphs.only("mode", "prefill_cuda_graph"), sglangGraphs.only("mode", "prefill_cuda_graph", "prefill_none")}),
		gauge("fwd_occupancy", 0.01, series("fwd_occupancy")),
		meanBy("eplb_balancedness", "forward_mode", series("eplb_balancedness")),
	},
	latency("TTFT", sglangTTFT),
	latency("ITL", series("inter_token_latency_seconds")),
	latency("E2E", series("e2e_request_latency_seconds")),
	latency("queue_time", series("queue_time_seconds")),
)
