package foreign

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// named is what a documented series becomes: its type (g gauge, c counter, h histogram), labels, and the value of a key
// between two scrapes 10 s apart, at which it stands at 10 and at 30.
type named struct {
	kind, name, as, labels string
	key                    string // and "|label"; "own" where it is kept under its own name alone
	want                   float64
}

// text is the series at a scrape.
func (n named) text(v float64) string {
	set := func(more string) string {
		if all := strings.Trim(n.labels+","+more, ","); all != "" {
			return "{" + all + "}"
		}
		return ""
	}
	switch n.as {
	case "g":
		return fmt.Sprintf("# TYPE %s gauge\n%s%s %g\n", n.name, n.name, set(""), v)
	case "c":
		return fmt.Sprintf("# TYPE %s counter\n%s%s %g\n", n.name, n.name, set(""), v)
	}
	return fmt.Sprintf("# TYPE %[1]s histogram\n%[1]s_bucket%[2]s %[4]g\n%[1]s_bucket%[3]s %[4]g\n%[1]s_sum%[5]s %[4]g\n%[1]s_count%[5]s %[4]g\n",
		n.name, set(`le="1"`), set(`le="+Inf"`), v, set(""))
}

// Every name that the notes on the engines' interfaces give maps as they say: 20 more in 10 s are 2 per second, a gauge is
// 30, a histogram has counted 20 more.
func TestDocumentedNames(t *testing.T) {
	const tera = 1e-12 // FLOP to TFLOP
	for _, n := range []named{
		{VLLM, "vllm:num_requests_running", "g", "", "running", 30},
		{VLLM, "vllm:num_requests_waiting", "g", "", "pending", 30},
		{VLLM, "vllm:num_requests_waiting_by_reason", "g", `reason="capacity"`, "pending_by|capacity", 30},
		{VLLM, "vllm:num_requests_waiting_by_reason", "g", `reason="deferred"`, "pending_by|deferred", 30},
		{VLLM, "vllm:kv_cache_usage_perc", "g", "", "KV_cache_usage", 30}, // a share despite its name: not divided by 100
		{VLLM, "vllm:gpu_cache_usage_perc", "g", "", "KV_cache_usage", 30},
		{VLLM, "vllm:num_preemptions_total", "c", "", "preempted", 30},
		{VLLM, "vllm:prompt_tokens_total", "c", "", "prompt_all_TPS", 2}, // with cached ones: not prompt_TPS
		{VLLM, "vllm:prompt_tokens_by_source_total", "c", `source="local_compute"`, "prompt_TPS", 2},
		{VLLM, "vllm:prompt_tokens_by_source_total", "c", `source="local_cache_hit"`, "own", 2},
		{VLLM, "vllm:prompt_tokens_by_source_total", "c", `source="external_kv_transfer"`, "own", 2},
		{VLLM, "vllm:prompt_tokens_cached_total", "c", "", "own", 2},
		{VLLM, "vllm:generation_tokens_total", "c", "", "completion_TPS", 2},
		{VLLM, "vllm:request_success_total", "c", `finished_reason="stop"`, "finished", 30},
		{VLLM, "vllm:request_success_total", "c", `finished_reason="length"`, "finished", 30},
		{VLLM, "vllm:request_success_total", "c", `finished_reason="abort"`, "aborted", 30},
		{VLLM, "vllm:iteration_tokens_total", "h", "", "iteration_tokens_count", 20}, // a histogram despite its name
		{VLLM, "vllm:time_to_first_token_seconds", "h", "", "TTFT_count", 20},
		{VLLM, "vllm:inter_token_latency_seconds", "h", "", "ITL_count", 20},
		{VLLM, "vllm:time_per_output_token_seconds", "h", "", "ITL_count", 20}, // the old name of the gaps
		{VLLM, "vllm:request_time_per_output_token_seconds", "h", "", "TPOT_count", 20},
		{VLLM, "vllm:e2e_request_latency_seconds", "h", "", "E2E_count", 20},
		{VLLM, "vllm:request_queue_time_seconds", "h", "", "queue_time_count", 20},
		{VLLM, "vllm:request_inference_time_seconds", "h", "", "inference_time_count", 20},
		{VLLM, "vllm:request_prefill_time_seconds", "h", "", "prefill_time_count", 20},
		{VLLM, "vllm:request_decode_time_seconds", "h", "", "decode_time_count", 20},
		{VLLM, "vllm:request_prompt_tokens", "h", "", "prompt_len_count", 20},
		{VLLM, "vllm:request_generation_tokens", "h", "", "output_len_count", 20},
		{VLLM, "vllm:spec_decode_num_draft_tokens_total", "c", "", "drafted_TPS", 2},
		{VLLM, "vllm:spec_decode_num_accepted_tokens_total", "c", "", "accepted_TPS", 2},
		{VLLM, "vllm:spec_decode_draft_acceptance_rate", "g", "", "avg_nextn_accept_rate", 30}, // V0
		{VLLM, "vllm:spec_decode_efficiency", "g", "", "spec_efficiency", 30},                  // V0
		{VLLM, "vllm:estimated_flops_per_gpu_total", "c", "", "est_TFLOPs_per_GPU", 2 * tera},
		{VLLM, "vllm:estimated_read_bytes_per_gpu_total", "c", "", "est_read_GBps_per_GPU", 2e-9},
		{VLLM, "vllm:estimated_write_bytes_per_gpu_total", "c", "", "est_write_GBps_per_GPU", 2e-9},
		{VLLM, "vllm:diffusion_num_denoising_steps_total", "c", "", "own", 2},
		{VLLM, "vllm:engine_sleep_state", "g", `sleep_state="awake"`, "own", 30},

		{SGLang, "sglang:num_running_reqs", "g", "", "running", 30},
		{SGLang, "sglang_num_running_reqs", "g", "", "running", 30}, // as dashboards spell it
		{SGLang, "sglang:num_queue_reqs", "g", "", "pending", 30},
		{SGLang, "sglang:num_grammar_queue_reqs", "g", "", "pending_by|grammar", 30},
		{SGLang, "sglang:num_paused_reqs", "g", "", "paused", 30},
		{SGLang, "sglang:num_retracted_reqs", "g", "", "retracted", 30}, // since the last report: not preempted
		{SGLang, "sglang:num_retracted_input_tokens_total", "c", "", "retracted_TPS|input", 2},
		{SGLang, "sglang:num_retracted_output_tokens_total", "c", "", "retracted_TPS|output", 2},
		{SGLang, "sglang:num_prefill_bootstrap_queue_reqs", "g", "", "pending_by|prefill_bootstrap", 30},
		{SGLang, "sglang:num_prefill_inflight_queue_reqs", "g", "", "pending_by|prefill_inflight", 30},
		{SGLang, "sglang:num_decode_prealloc_queue_reqs", "g", "", "pending_by|decode_prealloc", 30},
		{SGLang, "sglang:num_decode_transfer_queue_reqs", "g", "", "pending_by|decode_transfer", 30},
		{SGLang, "sglang:token_usage", "g", "", "KV_cache_usage", 30},
		{SGLang, "sglang:full_token_usage", "g", "", "KV_pool_usage|full", 30},
		{SGLang, "sglang:swa_token_usage", "g", "", "KV_pool_usage|swa", 30},
		{SGLang, "sglang:mamba_usage", "g", "", "KV_pool_usage|mamba", 30},
		{SGLang, "sglang:kv_available_tokens", "g", "", "own", 30},
		{SGLang, "sglang:cache_hit_rate", "g", "", "own", 30}, // never the hit rate: every decode log sets it to 0
		{SGLang, "sglang:gen_throughput", "g", "", "gen_throughput", 30},
		{SGLang, "sglang:prompt_tokens_total", "c", "", "prompt_done_TPS", 2}, // when a request ends: not prompt_TPS
		{SGLang, "sglang:generation_tokens_total", "c", "", "completion_done_TPS", 2},
		{SGLang, "sglang:realtime_tokens_total", "c", `mode="prefill_compute"`, "prompt_TPS", 2},
		{SGLang, "sglang:realtime_tokens_total", "c", `mode="decode"`, "completion_TPS", 2},
		{SGLang, "sglang:realtime_tokens_total", "c", `mode="prefill_cache"`, "own", 2},
		{SGLang, "sglang:time_to_first_token_seconds", "h", `is_streaming="true"`, "TTFT_count", 20},
		{SGLang, "sglang:inter_token_latency_seconds", "h", "", "ITL_count", 20},
		{SGLang, "sglang:e2e_request_latency_seconds", "h", `is_streaming="false"`, "E2E_count", 20},
		{SGLang, "sglang:queue_time_seconds", "h", "", "queue_time_count", 20},
		{SGLang, "sglang:time_per_output_token_seconds", "h", "", "own", 20}, // until 2025-03, comparable with nothing
		{SGLang, "sglang:spec_accept_length", "g", "", "accept_len", 30},
		{SGLang, "sglang:spec_accept_rate", "g", "", "spec_accept_rate", 30}, // its denominator is fixed: not avg_nextn_accept_rate
		{SGLang, "sglang:estimated_flops_per_gpu_total", "c", "", "est_TFLOPs_per_GPU", 2 * tera},
		{SGLang, "sglang:fwd_occupancy", "g", "", "fwd_occupancy", 0.3}, // in %
		{SGLang, "sglang:weight_memory_usage_gb", "g", "", "engine_mem|weights", 30},
		{SGLang, "sglang:kv_cache_memory_usage_gb", "g", "", "engine_mem|kv_cache", 30},
		{SGLang, "sglang:graph_memory_usage_gb", "g", "", "engine_mem|graphs", 30},
		{SGLang, "sglang:num_requests_total", "c", "", "finished", 30},
		{SGLang, "sglang:num_aborted_requests_total", "c", "", "aborted", 30},
		{SGLang, "sglang:prompt_tokens_histogram", "h", "", "prompt_len_count", 20},
		{SGLang, "sglang:generation_tokens_histogram", "h", "", "output_len_count", 20},

		{TensorRTLLM, "trtllm_num_requests_running", "g", "", "running", 30},
		{TensorRTLLM, "trtllm:num_requests_running", "g", "", "running", 30},
		{TensorRTLLM, "trtllm_num_requests_waiting", "g", "", "pending", 30},
		{TensorRTLLM, "trtllm_kv_cache_utilization", "g", "", "KV_cache_usage", 30},
		{TensorRTLLM, "trtllm_kv_cache_host_utilization", "g", "", "KV_pool_usage|host", 30},
		{TensorRTLLM, "trtllm_kv_cache_hit_rate", "g", "", "own", 30}, // of the process' whole life
		{TensorRTLLM, "trtllm_prompt_tokens_total", "c", "", "prompt_done_TPS", 2},
		{TensorRTLLM, "trtllm_generation_tokens_total", "c", "", "completion_done_TPS", 2},
		{TensorRTLLM, "trtllm_request_success_total", "c", `finished_reason="stop"`, "finished", 30},
		{TensorRTLLM, "trtllm_time_to_first_token_seconds", "h", "", "TTFT_count", 20},
		{TensorRTLLM, "time_to_first_token_seconds", "h", "", "TTFT_count", 20}, // 1.x has no prefix
		{TensorRTLLM, "e2e_request_latency_seconds", "h", `engine_type="undefined"`, "E2E_count", 20},
		{TensorRTLLM, "trtllm_time_per_output_token_seconds", "h", "", "TPOT_count", 20}, // a mean per request: not ITL
		{TensorRTLLM, "trtllm_request_queue_time_seconds", "h", "", "queue_time_count", 20},
		{TensorRTLLM, "trtllm_request_prefill_time_seconds", "h", "", "prefill_time_count", 20},
		{TensorRTLLM, "trtllm_request_decode_time_seconds", "h", "", "decode_time_count", 20},
		{TensorRTLLM, "trtllm_request_inference_time_seconds", "h", "", "inference_time_count", 20},
		{TensorRTLLM, "trtllm_iteration_latency_seconds", "h", "", "step_time_count", 20},
		{TensorRTLLM, "trtllm_num_paused_requests", "g", "", "paused", 30},
		{TensorRTLLM, "trtllm_num_context_requests", "g", "", "ctx_requests", 30},
		{TensorRTLLM, "trtllm_num_generation_requests", "g", "", "gen_requests", 30},
		{TensorRTLLM, "trtllm_spec_decode_num_draft_tokens_total", "c", "", "drafted_TPS", 2},
		{TensorRTLLM, "trtllm_spec_decode_num_accepted_tokens_total", "c", "", "accepted_TPS", 2},
		{TensorRTLLM, "trtllm_spec_decode_acceptance_length", "g", "", "accept_len", 30},
		{TensorRTLLM, "trtllm_spec_decode_draft_overhead", "g", "", "draft_overhead", 30},
		{TensorRTLLM, "trtllm_gpu_memory_usage_bytes", "g", "", "engine_mem|gpu", 30.0 / (1 << 30)},
		{TensorRTLLM, "trtllm_pinned_memory_usage_bytes", "g", "", "engine_mem|pinned", 30.0 / (1 << 30)},
		{TensorRTLLM, "trtllm_scheduled_batch_size", "g", "", "own", 30},
	} {
		s := NewState(n.kind)
		s.Scrape(t0, []byte(n.text(10)))
		res := s.Scrape(t0.Add(10*time.Second), []byte(n.text(30)))
		if len(res.Readings) != 1 {
			t.Errorf("%s %s: %d readings, %+v", n.name, n.labels, len(res.Readings), res.Problem)
			continue
		}
		r := &res.Readings[0]
		if n.key != "own" {
			check(t, r, want{n.key: n.want})
			continue
		}
		for _, v := range r.Values {
			if _, taken := ledger.Lookup(v.Key); taken {
				t.Errorf("%s %s became %s", n.name, n.labels, v.Key)
			}
		}
		if len(r.Values) == 0 || !strings.HasPrefix(r.Values[0].Key, n.name) {
			t.Errorf("%s %s: %+v, want it under its own name", n.name, n.labels, r.Values)
		}
	}
}

// What must not be mixed has keys of its own, and what an engine has no comparable figure for says so.
func TestDocumentedTraps(t *testing.T) {
	for _, c := range []struct{ kind, key, why string }{
		{SGLang, "TPOT", "not comparable"},
		{TensorRTLLM, "ITL", "not comparable"},
		{VLLM, "MFU", "TFLOP/s"},
		{SGLang, "MFU", "TFLOP/s"},
	} {
		if InMetrics(c.kind, c.key) {
			t.Errorf("%s has %s", c.kind, c.key)
		}
		if why := AbsentReason(c.kind, c.key); !strings.Contains(why.EN, c.why) {
			t.Errorf("%s of %s is absent because %q, want %q in it", c.key, c.kind, why.EN, c.why)
		}
	}
	for _, kind := range []string{VLLM, SGLang, TensorRTLLM} {
		for _, key := range []string{"avg_verified_len", "moe_lb", "nccl_total", "attn_TFLOPs", "MFU"} { // DeepInfer's alone
			if InMetrics(kind, key) || AbsentReason(kind, key).EN == "" {
				t.Errorf("%s of %s: %v, %q", key, kind, InMetrics(kind, key), AbsentReason(kind, key).EN)
			}
		}
	}
}
