package foreign

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

var t0 = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// scrapes reads NAME.1.txt and NAME.2.txt, 10 s apart.
func scrapes(t *testing.T, kind, name string) (first, second Result) {
	t.Helper()
	s := NewState(kind)
	var res [2]Result
	for i := range res {
		body, err := os.ReadFile(fmt.Sprintf("testdata/%s.%d.txt", name, i+1))
		if err != nil {
			t.Fatal(err)
		}
		res[i] = s.Scrape(t0.Add(time.Duration(i)*10*time.Second), body)
		if res[i].Problem != nil {
			t.Fatalf("scrape %d: %+v", i+1, res[i].Problem)
		}
	}
	return res[0], res[1]
}

type want map[string]float64 // "key" or "key|label"

func check(t *testing.T, r *Reading, w want) {
	t.Helper()
	for name, v := range w {
		key, label, _ := strings.Cut(name, "|")
		got, ok := r.Value(key, label)
		if !ok || math.Abs(got-v) > 1e-9*max(1, math.Abs(v)) {
			t.Errorf("%s: %v (there: %v), want %v", name, got, ok, v)
		}
	}
}

func absentAll(t *testing.T, r *Reading, keys ...string) {
	t.Helper()
	for _, v := range r.Values {
		for _, k := range keys {
			if v.Key == k {
				t.Errorf("%s %q is there: %v", v.Key, v.Label, v.V)
			}
		}
	}
}

func TestVLLM(t *testing.T) {
	first, second := scrapes(t, VLLM, "vllm-2026-08")
	if len(first.Readings) != 1 || len(second.Readings) != 1 {
		t.Fatalf("%d and %d readings", len(first.Readings), len(second.Readings))
	}
	a, b := &first.Readings[0], &second.Readings[0]
	check(t, a, want{"running": 30, "pending": 3, "KV_cache_usage": 0.5, "finished": 990, "aborted": 4, "preempted": 7})
	absentAll(t, a, "completion_TPS", "prompt_TPS", "TTFT_count", "TTFT_avg", "accept_len", "avg_nextn_accept_rate", "vllm:nixl_num_failed_transfers_total")
	if len(first.Missing) != 0 {
		t.Errorf("the first scrape misses %v", first.Missing)
	}
	check(t, b, want{
		"running": 32, "pending": 5, "pending_by|capacity": 4, "pending_by|deferred": 1, "KV_cache_usage": 0.625,
		"completion_TPS": 1500, // (515000 − 500000) ÷ 10 s
		"prompt_TPS":     1200, // (132000 − 120000) ÷ 10 s: computed only
		"prompt_all_TPS": 2000, // (220000 − 200000) ÷ 10 s
		"request_rate":   5,    // (40 + 9 + 1) ÷ 10 s
		"finished":       940 + 99, "aborted": 5, "preempted": 9,
		"prefill_caching_rate":  0.4, // 8000 ÷ 20000
		"avg_nextn_accept_rate": 0.6, // 1800 ÷ 3000
		"accept_len":            2.8, // 1 + 1800 ÷ 1000
		"drafted_TPS":           300, "accepted_TPS": 180,
		"accept_rate_uncond|1": 0.9, "accept_rate_uncond|2": 0.6, "accept_rate_uncond|3": 0.3, // 900, 600, 300 of 1000 drafts
		"nextn_accept_rate|1": 0.9, "nextn_accept_rate|3": 0.3, // 3000 draft tokens = 1000 drafts × 3: all had all positions
		"TTFT_count": 50, "TTFT_sum": 7.5, "TTFT_avg": 150, // 7.5 s ÷ 50
		"TTFT_bucket|le=0.001": 0, "TTFT_bucket|le=0.1": 50, "TTFT_bucket|le=0.5": 50, "TTFT_bucket|le=+Inf": 50,
		"TTFT_bucket|le=0.005":                      10,
		"ITL_avg":                                   20,   // 100 s ÷ 5000
		"TPOT_avg":                                  25,   // 1.25 s ÷ 50
		"E2E_avg":                                   5000, // 250 s ÷ 50
		"queue_time_avg":                            50,   // 2.5 s ÷ 50
		"avg_input_length":                          600,  // 30000 ÷ 50
		"avg_output_length":                         240,  // 12000 ÷ 50
		"payload_len":                               0.4,  // 240 ÷ 600
		"est_TFLOPs_per_GPU":                        400,  // 4·10¹⁵ ÷ 10 s ÷ 10¹²
		"est_read_GBps_per_GPU":                     2000, // 2·10¹³ ÷ 10 s ÷ 10⁹
		"est_write_GBps_per_GPU":                    50,   // 5·10¹¹ ÷ 10 s ÷ 10⁹
		"iteration_tokens_count":                    100,  // the histogram, whatever its name looks like
		"iteration_tokens_bucket|le=16":             40,
		"vllm:nixl_num_failed_transfers_total":      0.5, // unknown: 5 ÷ 10 s, under its own name
		"vllm:spec_decode_num_drafts_total":         100, // raw counters behind ratios stay
		"vllm:engine_sleep_state|sleep_state=awake": 1,
	})
	absentAll(t, b, "vllm:prefix_cache_hits_created", "vllm:cache_config_info", "vllm:iteration_tokens_total", "python_info", "process_start_time_seconds")
	if got := strings.Join(second.Unknown, " "); !strings.Contains(got, "vllm:nixl_num_failed_transfers_total") || strings.Contains(got, "running") {
		t.Errorf("unknown: %s", got)
	}
	if second.Info.Model != "m-70b" {
		t.Errorf("model %q", second.Info.Model)
	}
	for _, m := range second.Missing {
		switch m.Key {
		case "prefix_hit_external", "mm_cache_hits", "spec_efficiency", "prefill_time", "decode_time", "inference_time":
		default:
			t.Errorf("missing %+v", m)
		}
		if m.Reason.EN == "" || m.Reason.ZH == "" {
			t.Errorf("%s is missing without a reason", m.Key)
		}
	}
}

func TestOldVLLM(t *testing.T) {
	_, second := scrapes(t, VLLM, "vllm-2025-05")
	r := &second.Readings[0]
	check(t, r, want{
		"KV_cache_usage": 0.25, "prefill_caching_rate": 0.25, // 250 ÷ 1000
		"ITL_count": 1000, "ITL_avg": 15, // 15 s ÷ 1000: the old name of the gaps
		"prompt_all_TPS": 200, "completion_TPS": 100,
	})
	absentAll(t, r, "TPOT_count", "prompt_TPS", "accept_len")
	reasons := map[string]string{}
	for _, m := range second.Missing {
		reasons[m.Key] = m.Reason.EN
	}
	for key, part := range map[string]string{"prompt_TPS": "prompt_tokens_by_source_total", "accept_len": "--speculative-config", "est_TFLOPs_per_GPU": "--enable-mfu-metrics", "TPOT": "2025-09"} {
		if !strings.Contains(reasons[key], part) {
			t.Errorf("%s is missing because %q, want %q in it", key, reasons[key], part)
		}
	}
	if why, ok := reasons["completion_TPS"]; ok {
		t.Errorf("completion_TPS is missing: %s", why)
	}
}

func TestDataParallelVLLM(t *testing.T) {
	_, second := scrapes(t, VLLM, "vllm-dp")
	names := []string{}
	for _, r := range second.Readings {
		names = append(names, r.Engine)
	}
	if got := strings.Join(names, " "); got != "engine0 engine1 engine10" {
		t.Fatalf("engines %s", got)
	}
	check(t, &second.Readings[0], want{"running": 12, "completion_TPS": 100, "http_requests_total|handler=/v1/completions": 1})
	check(t, &second.Readings[1], want{"running": 22, "completion_TPS": 200})
	check(t, &second.Readings[2], want{"running": 2, "completion_TPS": 0}) // measured, not absent
}

func TestSGLang(t *testing.T) {
	first, second := scrapes(t, SGLang, "sglang-0.5.18")
	check(t, &first.Readings[0], want{"running": 30, "KV_cache_usage": 0.5}) // 10 + 20 of two ranks; (0.4 + 0.6) ÷ 2
	r := &second.Readings[0]
	check(t, r, want{
		"running": 34, "pending": 5, // 12 + 22, 1 + 4: over data parallel ranks, not over tensor ranks
		"pending_by|grammar": 1, "retracted": 3,
		"KV_cache_usage": 0.6, "KV_pool_usage|full": 0.6,
		"completion_TPS":  2200, // (10000 + 12000) ÷ 10 s
		"prompt_TPS":      1000, // (4000 + 6000) ÷ 10 s
		"prompt_done_TPS": 2000, "completion_done_TPS": 1000,
		"gen_throughput":             2100,                         // 1000 + 1100
		"prefill_caching_rate":       0.25,                         // (1500 + 500 + 0) ÷ (1500 + 500 + 0 + 6000)
		"graph_replay_share|decode":  1700.0 / 1800,                // (900 + 800) of (900 + 50 + 800 + 50)
		"graph_replay_share|prefill": 0,                            // 0 of 40: measured
		"accept_len":                 3, "spec_accept_rate": 0.625, // means of 2.5 and 3.5, 0.5 and 0.75
		"fwd_occupancy": 0.9, // one rank has no number
		"finished":      150, "aborted": 3, "request_rate": 5,
		"avg_input_length": 400, "avg_output_length": 200, "payload_len": 0.5, // 20000 and 10000 ÷ 50
		"TTFT_count": 50, "TTFT_sum": 7.5, "TTFT_avg": 150, // streaming only
		"TTFT_bucket|le=0.1": 30,
		"E2E_count":          60, "E2E_sum": 100, // 50 streaming and 10 not; 75 + 25 s
		"ITL_avg":                         11,  // 110 s ÷ 10000
		"eplb_balancedness|decode":        0.9, // 90 ÷ 100
		"engine_mem|weights":              121,
		"sglang:cache_hit_rate|dp_rank=0": 0, // kept, but never taken for the hit rate
		"sglang:time_to_first_token_seconds_count|is_streaming=false": 10,
	})
	if got := strings.Join(second.Unknown, " "); got != "sglang:cache_hit_rate" { // not what ratios are made of
		t.Errorf("unknown: %s", got)
	}
	if second.Info.Role != "mixed" {
		t.Errorf("role %q", second.Info.Role)
	}
	absentAll(t, r, "avg_nextn_accept_rate", "TPOT_count", "queue_time_count")
}

func TestOldSGLang(t *testing.T) {
	_, second := scrapes(t, SGLang, "sglang-0.4.3")
	r := &second.Readings[0]
	check(t, r, want{"running": 4, "KV_cache_usage": 0.2, "gen_throughput": 100, "completion_done_TPS": 100, "TTFT_avg": 150, "sglang_time_per_output_token_seconds_count": 10})
	absentAll(t, r, "completion_TPS", "ITL_count", "TPOT_count")
}

func TestTensorRTLLM(t *testing.T) {
	_, second := scrapes(t, TensorRTLLM, "trtllm-2026")
	r := &second.Readings[0]
	check(t, r, want{
		"prompt_done_TPS": 2550, "completion_done_TPS": 1020,
		"request_rate": 5.1, // (40 + 10 + 1) ÷ 10 s
		"finished":     150, "aborted": 1,
		"avg_input_length": 500, "avg_output_length": 200, "payload_len": 0.4, // 25500 and 10200 ÷ 51
		"prefill_caching_rate":  0.2,             // 5100 ÷ 25500
		"prefix_hit_blocks":     0.75,            // 300 ÷ (300 + 100)
		"avg_nextn_accept_rate": 0.57,            // 1425 ÷ 2500
		"nextn_accept_rate|1":   0.8,             // 800 ÷ 1000
		"nextn_accept_rate|3":   0.25,            // 125 ÷ 500: of those that had it
		"accept_rate_uncond|3":  0.125,           // 125 ÷ 1000: of all
		"accept_len":            1 + 1425.0/1000, // 800 + 500 + 125 of 1000 drafts
		"paused":                1, "engine_mem|gpu": 80,
		"TTFT_avg": 90, "TPOT_avg": 15, // 4.5 s and 0.75 s ÷ 50
	})
	// Version 1.0 has no prefix, and labels that say nothing.
	_, second = scrapes(t, TensorRTLLM, "trtllm-1.0")
	check(t, &second.Readings[0], want{"TTFT_avg": 90, "finished": 150, "E2E_count": 50})
	if second.Info.Model != "" {
		t.Errorf("model %q", second.Info.Model)
	}
}

// Estimates per GPU of several data parallel ranks are their mean: each tells that of its own GPUs.
func TestEstimatesPerGPU(t *testing.T) {
	s := NewState(SGLang)
	body := func(a, b float64) []byte {
		return fmt.Appendf(nil, "# TYPE sglang:estimated_flops_per_gpu_total counter\n"+
			"sglang:estimated_flops_per_gpu_total{dp_rank=\"0\",tp_rank=\"0\"} %g\nsglang:estimated_flops_per_gpu_total{dp_rank=\"1\",tp_rank=\"0\"} %g\n", a, b)
	}
	s.Scrape(t0, body(1e15, 1e15))
	res := s.Scrape(t0.Add(10*time.Second), body(3e15, 5e15))
	check(t, &res.Readings[0], want{"est_TFLOPs_per_GPU": 300}) // (2e15 + 4e15) ÷ 2 ÷ 10 s
}

// One of several engines that begins anew costs the others nothing.
func TestOneEngineBeginsAnew(t *testing.T) {
	body := func(a, b int) []byte {
		return fmt.Appendf(nil, "# TYPE vllm:generation_tokens_total counter\n"+
			"vllm:generation_tokens_total{engine=\"0\"} %d\nvllm:generation_tokens_total{engine=\"1\"} %d\n", a, b)
	}
	s := NewState(VLLM)
	s.Scrape(t0, body(100, 56))
	res := s.Scrape(t0.Add(10*time.Second), body(300, 3))
	if len(res.Events) != 1 || res.Events[0].Engine != "engine1" || res.Events[0].Kind != Reset {
		t.Fatalf("events %+v", res.Events)
	}
	check(t, &res.Readings[0], want{"completion_TPS": 20}) // (300 − 100) ÷ 10 s
	for _, r := range res.Readings[1:] {
		absentAll(t, &r, "completion_TPS")
	}
	res = s.Scrape(t0.Add(20*time.Second), body(1, 1))
	if len(res.Events) != 2 || res.Events[0].Engine != "engine0" || res.Events[1].Engine != "engine1" {
		t.Errorf("events %+v", res.Events)
	}
}

// SGLang writes a data parallel rank only where there are several: the first line is of the first of them.
func TestFirstOfSeveralEngines(t *testing.T) {
	for line, engine := range map[string]string{
		"[2026-08-20 10:00:00 DP0 TP0] Decode batch, #running-req: 3, gen throughput (token/s): 7": "engine0",
		"[2026-08-20 10:00:00 TP0] Decode batch, #running-req: 3, gen throughput (token/s): 7":     "",
	} {
		r, _, _ := NewLogReader(SGLang).Line([]byte(line))
		if len(r) != 1 || r[0].Engine != engine {
			t.Errorf("%s: %+v, want engine %q", line, r, engine)
		}
	}
}
