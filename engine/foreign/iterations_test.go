package foreign

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func file(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestIterations(t *testing.T) {
	s := NewIterations()
	first := s.Drain(t0, file(t, "trtllm-iterations.1.json"))
	if first.Problem != nil || len(first.Events) != 0 || len(first.Readings) != 3 {
		t.Fatalf("%+v", first)
	}
	check(t, &first.Readings[0], want{"running": 10, "pending": 2, "paused": 1, "KV_cache_usage": 0.25, "engine_mem|gpu": 80, "engine_mem|pinned": 1, "admission_ms": 12.5})
	absentAll(t, &first.Readings[0], "prompt_TPS", "request_rate", "prefix_hit_blocks", "accept_len")
	if _, ok := first.Readings[0].Value("engine_mem", "host"); ok {
		t.Error("0 bytes of host memory stand for “not told”")
	}
	check(t, &first.Readings[1], want{"step_ms": 40, "step_ms_max": 40, "host_step_ms": 10, "device_step_ms": 38, "ctx_requests": 2}) // 38 stands in iteration 101
	check(t, &first.Readings[2], want{"step_ms": 20, "host_step_ms": 5, "device_step_ms": 18})                                        // 18 stands in iteration 102

	second := s.Drain(t0.Add(5*time.Second), file(t, "trtllm-iterations.2.json"))
	if second.Problem != nil || len(second.Events) != 0 || len(second.Readings) != 3 {
		t.Fatalf("%+v", second)
	}
	whole, prompt, decode := &second.Readings[0], &second.Readings[1], &second.Readings[2]
	if whole.Step != 106 || whole.Prompt || whole.Decode || !prompt.Prompt || prompt.Decode || !decode.Decode {
		t.Errorf("%+v %+v %+v", whole, prompt, decode)
	}
	if got := whole.Stamp.Time; got.Month() != 11 || got.Day() != 29 || got.Second() != 46 {
		t.Errorf("stamp %v", got)
	}
	check(t, whole, want{
		"prompt_TPS":            600,         // 3000 ÷ 5 s
		"request_rate":          1,           // (1 + 2 + 2) ÷ 5 s
		"prefix_hit_blocks":     0.75,        // (160 − 100) ÷ (60 + 20)
		"avg_nextn_accept_rate": 70.0 / 117,  // (18+15+19+18) ÷ (30+27+30+30)
		"accept_len":            1 + 70.0/39, // 10+9+10+10 drafts
		"draft_overhead":        0.125,
		"pending":               6,
	})
	check(t, prompt, want{"step_ms": 42, "host_step_ms": 12, "device_step_ms": 39, "gpu_forward_ms": 40, "ctx_requests": 1, "gen_requests": 9})
	check(t, decode, want{
		"step_ms": 24, "step_ms_max": 26, "host_step_ms": 7, // (22+24+26) ÷ 3, (6+8+7) ÷ 3
		"device_step_ms": 21, // of 102, 103 and 105: (19 + 21 + 23) ÷ 3; that of 106 is not told yet
		"gpu_forward_ms": 22,
	})
	for _, k := range []string{"completion_TPS", "prefill_caching_rate"} {
		absentAll(t, whole, k)
	}
	if len(second.Missing) != 0 {
		t.Errorf("missing %+v", second.Missing)
	}
	// The same list once more, from a cache in between: nothing.
	third := s.Drain(t0.Add(10*time.Second), file(t, "trtllm-iterations.2.json"))
	if len(third.Readings) != 0 || len(third.Events) != 0 || third.Skipped != 4 {
		t.Errorf("%+v", third)
	}
}

// list writes records of the given iterations, 10 ms each.
func list(extra string, iters ...int) []byte {
	var parts []string
	for _, i := range iters {
		parts = append(parts, fmt.Sprintf(`{"iter":%d,"iterLatencyMS":%d,"numActiveRequests":1,"inflightBatchingStats":{"numContextRequests":1,"numGenRequests":0,"numCtxTokens":100}%s}`, i, 10+i%3, extra))
	}
	return []byte("[" + strings.Join(parts, ",") + "]")
}

func TestIterationsGapsAndRestarts(t *testing.T) {
	at := func(i int) time.Time { return t0.Add(time.Duration(i) * 5 * time.Second) }
	events := func(r Result) string {
		var out []string
		for _, e := range r.Events {
			out = append(out, fmt.Sprintf("%d:%d-%d:%d", e.Kind, e.FromStep, e.ToStep, e.Count))
		}
		return strings.Join(out, " ")
	}
	rated := func(r Result) bool {
		_, ok := r.Readings[0].Value("prompt_TPS", "")
		return ok
	}

	s := NewIterations()
	s.Drain(at(0), list("", 1, 2, 3))
	r := s.Drain(at(1), list("", 4, 5, 8, 9)) // 6 and 7 are lost
	if got, want := events(r), fmt.Sprintf("%d:6-7:2", Lost); got != want || rated(r) {
		t.Errorf("gap: %s, want %s; rates: %v", got, want, rated(r))
	}
	r = s.Drain(at(2), list("", 12)) // 10 and 11
	if got, want := events(r), fmt.Sprintf("%d:10-11:2", Lost); got != want {
		t.Errorf("gap between lists: %s, want %s", got, want)
	}
	r = s.Drain(at(3), list("", 13, 14))
	if len(r.Missing) == 0 || r.Missing[0].Key != "KV_cache_usage" {
		t.Errorf("missing %+v", r.Missing)
	}
	if v, _ := r.Readings[0].Value("prompt_TPS", ""); events(r) != "" || v != 40 { // 200 ÷ 5 s
		t.Errorf("whole again: %s, %v", events(r), v)
	}
	r = s.Drain(at(4), []byte("[]"))
	if r.Problem != nil || len(r.Readings) != 0 {
		t.Errorf("idle: %+v", r)
	}
	r = s.Drain(at(5), list(`,"timestamp":"x"`, 0, 1)) // a restart
	if got, want := events(r), fmt.Sprintf("%d:-1--1:1", Reset); got != want || rated(r) || len(r.Readings) == 0 {
		t.Errorf("restart: %s, want %s", got, want)
	}
	r = s.Drain(at(6), list(`,"statsDroppedFrames":3`, 2, 3))
	if got, want := events(r), fmt.Sprintf("%d:-1--1:3", Lost); got != want || rated(r) {
		t.Errorf("dropped: %s, want %s", got, want)
	}

	// iter_perf_stats_interval: 5 is no loss, but rates are not known.
	s = NewIterations()
	s.Drain(at(0), list("", 5, 10, 15))
	r = s.Drain(at(1), list("", 20, 25))
	if events(r) != "" || rated(r) || r.Problem == nil || !strings.Contains(r.Problem.Next.EN, "iter_perf_stats_interval") {
		t.Errorf("thinned: %s %v %+v", events(r), rated(r), r.Problem)
	}
	// A number seen with another content is a restart too.
	s = NewIterations()
	s.Drain(at(0), list("", 1, 2))
	if r = s.Drain(at(1), list(`,"timestamp":"later"`, 1, 2)); events(r) != fmt.Sprintf("%d:-1--1:1", Reset) {
		t.Errorf("restart at the same numbers: %s", events(r))
	}
}

func TestIterationsOfRanks(t *testing.T) {
	s := NewIterations()
	r := s.Drain(t0, file(t, "trtllm-iterations-dp.json"))
	var names []string
	for _, x := range r.Readings {
		if !x.Decode {
			names = append(names, x.Engine)
		}
	}
	if !slices.Equal(names, []string{"engine0", "engine1"}) || len(r.Events) != 0 {
		t.Fatalf("%v %+v", names, r.Events)
	}
	check(t, &r.Readings[1], want{"step_ms": 10})
	check(t, &r.Readings[3], want{"step_ms": 20})
}

func TestIterationsProblems(t *testing.T) {
	for body, part := range map[string]string{
		"":                           "return_perf_metrics",
		"[]":                         "enable_iter_perf_stats",
		"<html>":                     "proxy",
		"# HELP vllm:x":              "metrics",
		"[1, 2]":                     "version",
		`[{"iter":1},{"iter":2`:      "proxy",
		`{"detail":"Not Found"}`:     "version",
		`[{"iter":-1},{"iter":"x"}]`: "version",
	} {
		r := NewIterations().Drain(t0, []byte(body))
		if r.Problem == nil || !strings.Contains(r.Problem.Next.EN, part) || r.Problem.Next.ZH == "" {
			t.Errorf("%q: %+v, want %q in it", body, r.Problem, part)
		}
	}
	// What came before the fault is kept, and numbers as texts are numbers.
	r := NewIterations().Drain(t0, []byte(`[{"iter":"1","numActiveRequests":"4","kvCacheStats":"none"},{"iter":2`))
	if len(r.Readings) != 1 {
		t.Fatalf("%+v", r)
	}
	check(t, &r.Readings[0], want{"running": 4})
}

func FuzzIterations(f *testing.F) {
	for _, name := range []string{"trtllm-iterations.1.json", "trtllm-iterations.2.json", "trtllm-iterations-dp.json"} {
		body, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, body)
	}
	f.Add(list("", 1, 2, 3), list("", 9, 4))
	f.Add(list("", 1), list(`,"statsDroppedFrames":1e300`, 2))
	f.Add([]byte(`[{"iter":1e300}]`), []byte(`{"iter":9007199254740991}{"iter":0,"prevDeviceStepTimeMS":1e308}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		s := NewIterations()
		for i, body := range [][]byte{a, b, a} {
			r := s.Drain(t0.Add(time.Duration(i)*time.Second), body)
			sound(t, r)
		}
	})
}

// sound says whether a result may be stored.
func sound(t *testing.T, r Result) {
	t.Helper()
	if _, err := json.Marshal(r.Readings); err != nil { // NaN and infinities can't be written
		t.Fatal(err)
	}
	for _, x := range r.Readings {
		seen := map[[2]string]bool{}
		for _, v := range x.Values {
			at := [2]string{v.Key, v.Label}
			if seen[at] || v.Key == "" || len(v.Key) > 255 || len(v.Label) > 1000 {
				t.Fatalf("%q %q", v.Key, v.Label)
			}
			seen[at] = true
		}
	}
	for _, e := range r.Events {
		if e.Count < 1 || e.ToStep < e.FromStep {
			t.Fatalf("%+v", e)
		}
	}
}
