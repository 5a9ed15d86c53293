package foreign

import (
	"bytes"
	"os"
	"testing"
)

// logOf reads a file and returns for each line what it gave.
func logOf(t *testing.T, kind, name string) (readings [][]Reading, events [][]Event, states []LineState) {
	t.Helper()
	l := NewLogReader(kind)
	for line := range bytes.Lines(file(t, name)) {
		r, e, s := l.Line(bytes.TrimSuffix(line, []byte("\n")))
		readings, events, states = append(readings, r), append(events, e), append(states, s)
		sound(t, Result{Readings: r, Events: e})
	}
	return readings, events, states
}

// oneOf checks that a line gave one reading.
func oneOf(t *testing.T, r []Reading, w want) *Reading {
	t.Helper()
	if len(r) != 1 {
		t.Fatalf("%d readings, want one with %v", len(r), w)
	}
	check(t, &r[0], w)
	return &r[0]
}

func TestVLLMLog(t *testing.T) {
	r, _, states := logOf(t, VLLM, "vllm.log")
	first := oneOf(t, r[0], want{"prompt_TPS": 1200.5, "completion_TPS": 1500, "running": 32, "pending": 5, "KV_cache_usage": 0.625, "prefill_caching_rate": 0.4})
	if at := first.Stamp; at.Time.Month() != 8 || at.Time.Second() != 10 || at.YearKnown || at.ZoneKnown || first.Engine != "" {
		t.Errorf("%+v", first)
	}
	oneOf(t, r[1], want{"accept_len": 2.8, "accepted_TPS": 180, "drafted_TPS": 300, "accept_rate_uncond|1": 0.9, "accept_rate_uncond|3": 0.3, "avg_nextn_accept_rate": 0.6})
	oneOf(t, r[2], want{"est_TFLOPs_per_GPU": 400.5})
	prompt := oneOf(t, r[3], want{"step_ms": 41.25, "ctx_requests": 1, "gen_requests": 31, "num_batched_tokens": 543, "KV_cache_usage": 0.62})
	decode := oneOf(t, r[4], want{"step_ms": 20.5, "num_batched_tokens": 32})
	if !prompt.Prompt || prompt.Decode || prompt.Step != 57 || decode.Prompt || !decode.Decode {
		t.Errorf("%+v %+v", prompt, decode)
	}
	if states[5] != OtherLine || len(r[5]) != 0 {
		t.Errorf("a dummy iteration: %+v", r[5])
	}
	second := oneOf(t, r[6], want{"pending_by|deferred": 2, "KV_cache_usage": 0.004, "prefix_hit_external": 0.125, "mm_cache_hits": 0.5})
	if second.Engine != "engine1" {
		t.Errorf("engine %q", second.Engine)
	}
	oneOf(t, r[7], want{"running": 9})
	nan := oneOf(t, r[8], want{"accepted_TPS": 0, "drafted_TPS": 0})
	absentAll(t, nan, "accept_len", "avg_nextn_accept_rate", "accept_rate_uncond")
	oneOf(t, r[9], want{"prompt_TPS": 3.5, "KV_cache_usage": 0.015})
	if states[10] != OtherLine {
		t.Errorf("a route: %v", states[10])
	}
}

func TestSGLangLog(t *testing.T) {
	r, _, states := logOf(t, SGLang, "sglang.log")
	prefill := oneOf(t, r[0], want{
		"new_requests": 2, "num_batched_tokens": 3000, "prefill_caching_rate": 0.25, // 1000 of 4000
		"KV_cache_usage": 0.55, "KV_pool_usage|full": 0.4, "KV_pool_usage|swa": 0.55, // the fullest pool
		"running": 10, "pending": 3, "pending_by|prefill_bootstrap": 1, "pending_by|prefill_inflight": 2,
		"cuda_graph": 0, "input_throughput": 5000.5, "est_TFLOPs_per_GPU": 123.5, "fwd_occupancy": 0.875,
	})
	if !prefill.Prompt || prefill.Decode || prefill.Engine != "engine1" || prefill.Stamp.Time.Nanosecond() != 125e6 {
		t.Errorf("%+v", prefill)
	}
	decode := oneOf(t, r[1], want{
		"running": 12, "KV_cache_usage": 0.5, "accept_len": 2.5, "spec_accept_rate": 0.75, "retracted": 2, "cuda_graph": 1,
		"gen_throughput": 1000.25, "pending": 4, "est_TFLOPs_per_GPU": 90, "est_read_GBps_per_GPU": 2000, "est_write_GBps_per_GPU": 3.5,
		"pending_by|decode_prealloc": 1, "pending_by|decode_transfer": 4,
	})
	if decode.Prompt || !decode.Decode {
		t.Errorf("%+v", decode)
	}
	oneOf(t, r[2], want{"num_batched_tokens": 100, "prefill_caching_rate": 0, "KV_cache_usage": 0.01}) // v0.4: full stop, comma at the end
	oneOf(t, r[3], want{"gen_throughput": 55.1})
	oneOf(t, r[4], want{"cuda_graph": 1})
	for i := 5; i < 7; i++ {
		if states[i] != OtherLine || len(r[i]) != 0 {
			t.Errorf("line %d: %v %+v", i, states[i], r[i])
		}
	}
	wrapped := oneOf(t, r[7], want{"running": 6})
	if !wrapped.Stamp.ZoneKnown {
		t.Errorf("the container's time: %+v", wrapped.Stamp)
	}

	// The hit rate looks back on 50 batches: 1 of 100 % and 49 of 0 % of the same size, then 50 of 0 %.
	l := NewLogReader(SGLang)
	batch := func(computed, cached string) *Reading {
		r, _, _ := l.Line([]byte("Prefill batch, #new-seq: 1, #new-token: " + computed + ", #cached-token: " + cached))
		return &r[0]
	}
	check(t, batch("0", "10"), want{"prefill_caching_rate": 1})
	for range 48 {
		batch("10", "0")
	}
	check(t, batch("10", "0"), want{"prefill_caching_rate": 0.02}) // 10 ÷ 500
	check(t, batch("10", "0"), want{"prefill_caching_rate": 0})
}

func TestTensorRTLLMLog(t *testing.T) {
	r, events, states := logOf(t, TensorRTLLM, "trtllm.log")
	first := oneOf(t, r[0], want{"host_step_ms": 12.5, "KV_cache_usage": 0.25, "ctx_requests": 1, "gen_requests": 8, "num_batched_tokens": 508})
	if !first.Prompt || first.Step != 57 || first.Stamp.Time.Day() != 29 || first.Stamp.Time.Second() != 5 || !first.Stamp.YearKnown {
		t.Errorf("%+v", first)
	}
	// The device time of 58's line is that of 57, which had a prompt.
	if len(r[1]) != 2 || r[1][0].Step != 57 || !r[1][0].Prompt || r[1][1].Step != 58 || !r[1][1].Decode {
		t.Fatalf("%+v", r[1])
	}
	check(t, &r[1][0], want{"device_step_ms": 41.5})
	absentAll(t, &r[1][1], "device_step_ms", "KV_cache_usage")
	oneOf(t, r[2], want{"host_step_ms": 9}) // 59 is missing, so its device time has no iteration
	old := oneOf(t, r[3], want{"step_ms": 25, "num_batched_tokens": 64, "ctx_requests": 2, "gen_requests": 0})
	if len(events[3]) != 1 || events[3][0].Kind != Reset || !old.Prompt {
		t.Errorf("%+v %+v", events[3], old)
	}
	if states[4] != OtherLine {
		t.Errorf("%+v", r[4])
	}
}

func TestDamagedLine(t *testing.T) {
	for kind, line := range map[string]string{
		VLLM:   "Engine 000: Avg prompt throughput: ",
		SGLang: "[2026-08-20 12:00:00] Decode batch, #running-req",
	} {
		if r, _, state := NewLogReader(kind).Line([]byte(line)); state != DamagedLine || len(r) != 0 {
			t.Errorf("%q: %v %+v", line, state, r)
		}
	}
}

func FuzzLog(f *testing.F) {
	for _, name := range []string{"vllm.log", "sglang.log", "trtllm.log"} {
		body, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(body) {
			f.Add(line)
		}
	}
	f.Add([]byte("Engine 000: Iteration(-1): , : ,"))
	f.Add([]byte("iter = 1e300, states = {'a': "))
	f.Add([]byte("[ DP99999999] Decode batch # graph: , token usage: 1e400"))
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, kind := range Kinds() {
			l := NewLogReader(kind)
			for range 2 {
				r, e, state := l.Line(line)
				sound(t, Result{Readings: r, Events: e})
				if (state == StatsLine) != (len(r) > 0) {
					t.Fatalf("state %v with %d readings", state, len(r))
				}
			}
		}
	})
}
