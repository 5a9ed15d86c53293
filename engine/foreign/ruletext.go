package foreign

import "github.com/stepscope/stepscope/engine/ledger"

// Rule says how an engine's number came about.
type Rule struct {
	How ledger.Words // from which series, by which arithmetic
	// Caveat is what the definition leaves apart from the table's, and so from the same key
	// of other engines; empty where nothing does.
	Caveat ledger.Words
}

// RuleFor finds the rule of a key for an engine kind. Means and parts of a histogram have
// the histogram's rule.
func RuleFor(kind, key string) (Rule, bool) {
	if kind == DeepInfer {
		m, ok := ledger.Lookup(key)
		if !ok || !m.Engines.Has(DeepInfer) {
			return Rule{}, false
		}
		return Rule{How: m.Formula}, true
	}
	if r, ok := ruleTexts[kind][key]; ok {
		return r, true
	}
	if base := baseKey(key); base != "" {
		r, ok := ruleTexts[kind][base]
		return r, ok
	}
	return Rule{}, false
}

// how makes a rule's text, which is mostly names and signs and so the same in both
// languages up to a few words.
func how(en, zh string) Rule { return Rule{How: ledger.Words{EN: en, ZH: zh}} }

func (r Rule) but(en, zh string) Rule {
	r.Caveat = ledger.Words{EN: en, ZH: zh}
	return r
}

// hist is the text of a histogram's rule.
func hist(name string) Rule {
	return how("histogram "+name+"; buckets, sum and count as increases between scrapes",
		"直方图 "+name+"；桶、总和与次数均为两次抓取之间的增量")
}

var ruleTexts = map[string]map[string]Rule{
	TensorRTLLM: trtllmTexts,
	VLLM: {
		"completion_TPS": how("Δ vllm:generation_tokens_total ÷ Δt; in the log, Avg generation throughput", "Δ vllm:generation_tokens_total ÷ Δt；日志中为 Avg generation throughput").
			but("per scrape interval, not per 100 steps", "按抓取间隔，而非按 100 步"),
		"prompt_TPS": how("Δ vllm:prompt_tokens_by_source_total{source=\"local_compute\"} ÷ Δt; in the log, Avg prompt throughput", "Δ vllm:prompt_tokens_by_source_total{source=\"local_compute\"} ÷ Δt；日志中为 Avg prompt throughput").
			but("per scrape interval, not per 100 steps", "按抓取间隔，而非按 100 步"),
		"prompt_all_TPS": how("Δ vllm:prompt_tokens_total ÷ Δt", "Δ vllm:prompt_tokens_total ÷ Δt（含缓存命中）"),
		"request_rate":   how("Δ vllm:request_success_total, all reasons ÷ Δt", "Δ vllm:request_success_total（所有原因）÷ Δt"),
		"drafted_TPS":    how("Δ vllm:spec_decode_num_draft_tokens_total ÷ Δt", "Δ vllm:spec_decode_num_draft_tokens_total ÷ Δt（每秒）"),
		"accepted_TPS":   how("Δ vllm:spec_decode_num_accepted_tokens_total ÷ Δt", "Δ vllm:spec_decode_num_accepted_tokens_total ÷ Δt（每秒）"),
		"avg_nextn_accept_rate": how("Δ …num_accepted_tokens_total ÷ Δ …num_draft_tokens_total; old servers: vllm:spec_decode_draft_acceptance_rate as it is",
			"Δ …num_accepted_tokens_total ÷ Δ …num_draft_tokens_total；旧版服务直接取 vllm:spec_decode_draft_acceptance_rate").
			but("every draft is verified here; DeepInfer verifies as many as its budget allows, the surest ones", "此处每个草稿都会验证；DeepInfer 按预算只验证最有把握的"),
		"spec_efficiency":    how("vllm:spec_decode_efficiency", "vllm:spec_decode_efficiency（旧版服务）"),
		"accept_rate_uncond": how("Δ …num_accepted_tokens_per_pos_total{position} ÷ Δ …num_drafts_total", "Δ …num_accepted_tokens_per_pos_total{position} ÷ Δ …num_drafts_total（全部草稿）"),
		"nextn_accept_rate": how("the same as accept_rate_uncond, only in intervals in which Δ draft tokens = Δ drafts × positions", "与 accept_rate_uncond 相同，仅限 Δ 草稿 token = Δ 草稿次数 × 位置数 的间隔").
			but("every draft is verified here; DeepInfer verifies as many as its budget allows, the surest ones", "此处每个草稿都会验证；DeepInfer 按预算只验证最有把握的"),
		"accept_len":        how("1 + Δ …num_accepted_tokens_total ÷ Δ …num_drafts_total", "1 + Δ …num_accepted_tokens_total ÷ Δ …num_drafts_total（含目标模型的 token）"),
		"running":           how("vllm:num_requests_running", "vllm:num_requests_running（请求数）"),
		"pending":           how("vllm:num_requests_waiting", "vllm:num_requests_waiting（含被推迟的）").but("includes deferred requests", "含被推迟的请求"),
		"pending_by":        how("vllm:num_requests_waiting_by_reason", "vllm:num_requests_waiting_by_reason（按原因）"),
		"finished":          how("vllm:request_success_total, all reasons but abort", "vllm:request_success_total（除 abort 外）"),
		"preempted":         how("vllm:num_preemptions_total", "vllm:num_preemptions_total（累计）"),
		"aborted":           how("vllm:request_success_total{finished_reason=\"abort\"}", "vllm:request_success_total{finished_reason=\"abort\"}（累计）"),
		"ctx_requests":      how("context requests of the Iteration log line", "Iteration 日志行的 context requests"),
		"gen_requests":      how("generation requests of the Iteration log line", "Iteration 日志行的 generation requests"),
		"iteration_tokens":  hist("vllm:iteration_tokens_total").but("without KV-transferred tokens from 2026-05 on", "2026-05 起不含 KV 传输的 token"),
		"prompt_len":        hist("vllm:request_prompt_tokens"),
		"output_len":        hist("vllm:request_generation_tokens"),
		"avg_input_length":  how("Δsum ÷ Δcount of vllm:request_prompt_tokens", "vllm:request_prompt_tokens 的 Δsum ÷ Δcount").but("requests that ended in the interval", "该间隔内结束的请求"),
		"avg_output_length": how("Δsum ÷ Δcount of vllm:request_generation_tokens", "vllm:request_generation_tokens 的 Δsum ÷ Δcount").but("requests that ended in the interval", "该间隔内结束的请求"),
		"payload_len":       how("avg_output_length ÷ avg_input_length", "avg_output_length ÷ avg_input_length（同一间隔）").but("requests that ended in the interval", "该间隔内结束的请求"),
		"num_batched_tokens": how("context tokens + generation tokens of the Iteration log line", "Iteration 日志行的 context tokens + generation tokens").
			but("of every step that is logged, not of each hundredth", "为每个被记录的步，而非每一百步"),
		"KV_cache_usage": how("vllm:kv_cache_usage_perc (before 2025-06 gpu_cache_usage_perc), which is 0 to 1 in spite of its name", "vllm:kv_cache_usage_perc（2025-06 前为 gpu_cache_usage_perc），取值 0 到 1"),
		"prefill_caching_rate": how("Δ vllm:prefix_cache_hits_total ÷ Δ vllm:prefix_cache_queries_total; in the log, Prefix cache hit rate", "Δ vllm:prefix_cache_hits_total ÷ Δ vllm:prefix_cache_queries_total；日志中为 Prefix cache hit rate").
			but("per scrape interval (in the log the latest 1000 requests), not the last 50 prompt steps", "按抓取间隔（日志中为最近 1000 个请求），而非最近 50 个预填充步"),
		"prefix_hit_external":    how("Δ external_prefix_cache_hits_total ÷ Δ external_prefix_cache_queries_total", "Δ external_prefix_cache_hits_total ÷ Δ external_prefix_cache_queries_total（外部）"),
		"mm_cache_hits":          how("Δ mm_cache_hits_total ÷ Δ mm_cache_queries_total", "Δ mm_cache_hits_total ÷ Δ mm_cache_queries_total（多模态）"),
		"est_TFLOPs_per_GPU":     how("Δ vllm:estimated_flops_per_gpu_total ÷ Δt ÷ 10¹²; in the log, MFU … TF/s/GPU", "Δ vllm:estimated_flops_per_gpu_total ÷ Δt ÷ 10¹²；日志中为 MFU … TF/s/GPU").but("vLLM's own estimator", "vLLM 自己的估算方法"),
		"est_read_GBps_per_GPU":  how("Δ vllm:estimated_read_bytes_per_gpu_total ÷ Δt ÷ 10⁹", "Δ vllm:estimated_read_bytes_per_gpu_total ÷ Δt ÷ 10⁹（每秒）").but("vLLM's own estimator", "vLLM 自己的估算方法"),
		"est_write_GBps_per_GPU": how("Δ vllm:estimated_write_bytes_per_gpu_total ÷ Δt ÷ 10⁹", "Δ vllm:estimated_write_bytes_per_gpu_total ÷ Δt ÷ 10⁹（每秒）").but("vLLM's own estimator", "vLLM 自己的估算方法"),
		"step_ms":                how("iteration elapsed time of the Iteration log line", "Iteration 日志行的 iteration elapsed time"),
		"TTFT":                   hist("vllm:time_to_first_token_seconds").but("first bound 1 ms; from arrival at the API server", "首个上界 1 毫秒；自到达 API 服务起"),
		"ITL":                    hist("vllm:inter_token_latency_seconds (before 2025-09 time_per_output_token_seconds)").but("first bound 10 ms: shorter gaps are only “≤ 10 ms”", "首个上界 10 毫秒：更短的间隔只知“≤ 10 毫秒”"),
		"TPOT":                   hist("vllm:request_time_per_output_token_seconds").but("first bound 10 ms: shorter times are only “≤ 10 ms”", "首个上界 10 毫秒：更短的只知“≤ 10 毫秒”"),
		"E2E":                    hist("vllm:e2e_request_latency_seconds").but("first bound 300 ms", "首个上界 300 毫秒"),
		"queue_time":             hist("vllm:request_queue_time_seconds").but("first bound 300 ms", "首个上界 300 毫秒"),
		"prefill_time":           hist("vllm:request_prefill_time_seconds").but("first bound 300 ms", "首个上界 300 毫秒"),
		"decode_time":            hist("vllm:request_decode_time_seconds").but("first bound 300 ms", "首个上界 300 毫秒"),
		"inference_time":         hist("vllm:request_inference_time_seconds").but("first bound 300 ms", "首个上界 300 毫秒"),
	},
	SGLang: {
		"completion_TPS": how("Δ sglang:realtime_tokens_total{mode=\"decode\"} ÷ Δt", "Δ sglang:realtime_tokens_total{mode=\"decode\"} ÷ Δt（每秒）").
			but("per scrape interval, not per 100 steps", "按抓取间隔，而非按 100 步"),
		"prompt_TPS": how("Δ sglang:realtime_tokens_total{mode=\"prefill_compute\"} ÷ Δt", "Δ sglang:realtime_tokens_total{mode=\"prefill_compute\"} ÷ Δt（每秒）").
			but("per scrape interval, not per 100 steps", "按抓取间隔，而非按 100 步"),
		"prompt_done_TPS":     how("Δ sglang:prompt_tokens_total ÷ Δt", "Δ sglang:prompt_tokens_total ÷ Δt（请求结束时计）"),
		"completion_done_TPS": how("Δ sglang:generation_tokens_total ÷ Δt", "Δ sglang:generation_tokens_total ÷ Δt（请求结束时计）"),
		"gen_throughput":      how("sglang:gen_throughput; in the log, gen throughput", "sglang:gen_throughput；日志中为 gen throughput"),
		"input_throughput":    how("input throughput of the prefill log line", "预填充日志行的 input throughput"),
		"request_rate":        how("Δ sglang:num_requests_total ÷ Δt", "Δ sglang:num_requests_total ÷ Δt（每秒）"),
		"accept_len": how("sglang:spec_accept_length; in the log, accept len", "sglang:spec_accept_length；日志中为 accept len").
			but("of the engine's last decode log interval, mean over the data parallel ranks", "为引擎最近一个解码日志间隔，对数据并行各组取平均"),
		"spec_accept_rate": how("sglang:spec_accept_rate; in the log, accept rate", "sglang:spec_accept_rate；日志中为 accept rate"),
		"running":          how("sglang:num_running_reqs, summed over the data parallel ranks", "sglang:num_running_reqs，对数据并行各组求和"),
		"pending":          how("sglang:num_queue_reqs, summed over the data parallel ranks", "sglang:num_queue_reqs，对数据并行各组求和").but("without the grammar queue and the queues between prefill and decode servers: see pending_by", "不含语法队列及预填充/解码服务间的队列，见 pending_by"),
		"pending_by":       how("sglang:num_grammar_queue_reqs, num_prefill_…, num_decode_…_queue_reqs", "sglang:num_grammar_queue_reqs、num_prefill_…、num_decode_…_queue_reqs 各队列"),
		"paused":           how("sglang:num_paused_reqs", "sglang:num_paused_reqs（请求数）"),
		"retracted":        how("sglang:num_retracted_reqs", "sglang:num_retracted_reqs（自上次报告）"),
		"retracted_TPS":    how("Δ sglang:num_retracted_input_tokens_total, …output… ÷ Δt", "Δ sglang:num_retracted_input_tokens_total 与 …output… ÷ Δt"),
		"finished":         how("sglang:num_requests_total", "sglang:num_requests_total（累计）").but("may count aborted requests too", "可能含被中止的请求"),
		"aborted":          how("sglang:num_aborted_requests_total", "sglang:num_aborted_requests_total（累计）"),
		"new_requests":     how("#new-seq of the prefill log line", "预填充日志行的 #new-seq"),
		"num_batched_tokens": how("#new-token of the prefill log line", "预填充日志行的 #new-token").
			but("prefill batches only; without tokens found in the cache", "仅预填充批；不含缓存命中的 token"),
		"prompt_len":        hist("sglang:prompt_tokens_histogram"),
		"output_len":        hist("sglang:generation_tokens_histogram"),
		"avg_input_length":  how("Δsum ÷ Δcount of sglang:prompt_tokens_histogram, else Δ prompt_tokens_total ÷ Δ num_requests_total", "sglang:prompt_tokens_histogram 的 Δsum ÷ Δcount，否则 Δ prompt_tokens_total ÷ Δ num_requests_total").but("requests that ended in the interval", "该间隔内结束的请求"),
		"avg_output_length": how("Δsum ÷ Δcount of sglang:generation_tokens_histogram, else Δ generation_tokens_total ÷ Δ num_requests_total", "sglang:generation_tokens_histogram 的 Δsum ÷ Δcount，否则 Δ generation_tokens_total ÷ Δ num_requests_total").but("requests that ended in the interval", "该间隔内结束的请求"),
		"payload_len":       how("avg_output_length ÷ avg_input_length", "avg_output_length ÷ avg_input_length（同一间隔）").but("requests that ended in the interval", "该间隔内结束的请求"),
		"KV_cache_usage":    how("sglang:token_usage, mean over the data parallel ranks", "sglang:token_usage，对数据并行各组取平均").but("the fullest pool, rounded to 0.01", "取最满的池，且四舍五入到 0.01"),
		"KV_pool_usage":     how("sglang:full_token_usage, swa_token_usage, mamba_usage", "sglang:full_token_usage、swa_token_usage、mamba_usage 各池"),
		"prefill_caching_rate": how("Δ (device_hit + host_hit + storage_hit) ÷ Δ all modes of sglang:prefill_effective_tokens_total; in the log, cached ÷ (cached + new) tokens of the last 50 prefill batches",
			"sglang:prefill_effective_tokens_total 的 Δ（device_hit + host_hit + storage_hit）÷ Δ 全部；日志中为该批 cached ÷（cached + new）token").
			but("per scrape interval, with hits in host memory and storage, not the last 50 prompt steps", "按抓取间隔，含主机内存与外部存储的命中，而非最近 50 个预填充步"),
		"engine_mem":             how("sglang:weight_memory_usage_gb, kv_cache_memory_usage_gb, graph_memory_usage_gb", "sglang:weight_memory_usage_gb、kv_cache_memory_usage_gb、graph_memory_usage_gb 各项"),
		"est_TFLOPs_per_GPU":     how("Δ sglang:estimated_flops_per_gpu_total ÷ Δt ÷ 10¹²; in the log, est. … TFLOPS/s (per GPU)", "Δ sglang:estimated_flops_per_gpu_total ÷ Δt ÷ 10¹²；日志中为 est. … TFLOPS/s (per GPU)").but("SGLang's own estimator", "SGLang 自己的估算方法"),
		"est_read_GBps_per_GPU":  how("Δ sglang:estimated_read_bytes_per_gpu_total ÷ Δt ÷ 10⁹", "Δ sglang:estimated_read_bytes_per_gpu_total ÷ Δt ÷ 10⁹（每秒）").but("SGLang's own estimator", "SGLang 自己的估算方法"),
		"est_write_GBps_per_GPU": how("Δ sglang:estimated_write_bytes_per_gpu_total ÷ Δt ÷ 10⁹", "Δ sglang:estimated_write_bytes_per_gpu_total ÷ Δt ÷ 10⁹（每秒）").but("SGLang's own estimator", "SGLang 自己的估算方法"),
		"graph_replay_share":     how("Δ …_cuda_graph ÷ Δ (…_cuda_graph + …_none) of sglang:cuda_graph_passes_total", "sglang:cuda_graph_passes_total 的 Δ …_cuda_graph ÷ Δ（…_cuda_graph + …_none）"),
		"cuda_graph":             how("cuda graph (npu graph, musa graph …) of the log line", "日志行的 cuda graph（npu graph、musa graph 等）"),
		"fwd_occupancy":          how("sglang:fwd_occupancy ÷ 100", "sglang:fwd_occupancy ÷ 100（百分比）"),
		"eplb_balancedness":      how("Δsum ÷ Δcount of sglang:eplb_balancedness", "sglang:eplb_balancedness 的 Δsum ÷ Δcount"),
		"TTFT":                   hist("sglang:time_to_first_token_seconds, streaming requests only").but("first bound 100 ms; from arrival at the tokenizer", "首个上界 100 毫秒；自到达分词器起"),
		"ITL":                    hist("sglang:inter_token_latency_seconds").but("first bound 2 ms", "首个上界 2 毫秒"),
		"E2E":                    hist("sglang:e2e_request_latency_seconds"),
		"queue_time":             hist("sglang:queue_time_seconds"),
	},
}
