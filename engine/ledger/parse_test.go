package ledger

import (
	"math"
	"strings"
	"testing"
	"time"
)

// The lines that the engine's contract shows, each on one line as in a log.
const (
	sampleStats = "RANK 0, GPU 0, step 1200, [stats] (is_prompt False | cur_SPS 2.431 | avg_SPS 2.402 | cur_TPS 311.2 | " +
		"prompt_TPS 1820.4 | completion_TPS 298.7 | avg_nextn_accept_rate 62.35% | " +
		"nextn_accept_rate [78.10%, 65.40%, 52.20%, 41.90%, 33.10%] | verified_tokens 18422 | accepted_tokens 11488 | " +
		"avg_verified_len 5.63 | avg_confidence_error 0.0412 | moe_lb 1.087 | running 128 | pending 3 | chunked 0 | " +
		"num_batched_tokens 768[100.00%] | KV_cache_usage 73.41% | state_cache_usage 12.50% | " +
		"prefill/decode 0.00%/99.80% | prefill_caching_rate (GPU 0.00%) | TTFT (max 812.4 ms, mean 143.7 ms) | " +
		"avg_length (input 1834.2, output 612.8) | finished 4211 | preempted 0 | aborted 2 | " +
		"sum_seqlen_qxk 18422 | max_seqlen_k 20311 | min_seqlen_k 1801 | attn_TFLOPs 42.1 | MFU 0.318)"
	sampleCPU = "RANK 0, GPU 0, step 1200, [cpu] (schedule cur2.1ms/mean1.8ms/max9.4ms/100calls/18.3% | " +
		"schedule:cpp cur1.2ms/mean1.0ms/max6.1ms/100calls/10.2%)"
	sampleNCCL        = "RANK 0, GPU 0, step 3000, [nccl_memory] (total=1.842 GiB | communicator_count=7 | groups=[dp (0.312 GiB); cp (0.410 GiB)])"
	sampleUnavailable = "RANK 0, GPU 0, step 3000, [nccl_memory] (stats_unavailable=RuntimeError: no memory_stats (NCCL 2.19))"
)

func v(key string, x float64) Value            { return Value{Key: key, V: x} }
func lv(key, label string, x float64) Value    { return Value{Key: key, Label: label, V: x} }
func uv(key string, x float64, u string) Value { return Value{Key: key, V: x, Unit: u} }

var wantStats = []Value{
	v("is_prompt", 0), v("cur_SPS", 2.431), v("avg_SPS", 2.402), v("cur_TPS", 311.2),
	v("prompt_TPS", 1820.4), v("completion_TPS", 298.7), v("avg_nextn_accept_rate", 0.6235),
	lv("nextn_accept_rate", "1", 0.781), lv("nextn_accept_rate", "2", 0.654), lv("nextn_accept_rate", "3", 0.522),
	lv("nextn_accept_rate", "4", 0.419), lv("nextn_accept_rate", "5", 0.331),
	v("verified_tokens", 18422), v("accepted_tokens", 11488), v("avg_verified_len", 5.63),
	v("avg_confidence_error", 0.0412), v("moe_lb", 1.087), v("running", 128), v("pending", 3), v("chunked", 0),
	v("num_batched_tokens", 768), v("batch_usage", 1), v("KV_cache_usage", 0.7341), v("state_cache_usage", 0.125),
	v("prefill_share", 0), v("decode_share", 0.998), v("prefill_caching_rate", 0),
	v("TTFT_max", 812.4), v("TTFT_mean", 143.7), v("avg_input_length", 1834.2), v("avg_output_length", 612.8),
	v("finished", 4211), v("preempted", 0), v("aborted", 2),
	v("sum_seqlen_qxk", 18422), v("max_seqlen_k", 20311), v("min_seqlen_k", 1801), v("attn_TFLOPs", 42.1), v("MFU", 0.318),
}

// parseOne expects exactly one result.
func parseOne(t *testing.T, raw string) Result {
	t.Helper()
	got := Parse(nil, []byte(raw))
	if len(got) != 1 {
		t.Fatalf("Parse(%q) gave %d results, want 1", raw, len(got))
	}
	return got[0]
}

// sameValues compares exactly; NaN equals NaN.
func sameValues(t *testing.T, got, want []Value) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("value %d is missing: %+v", i, want[i])
		case i >= len(want):
			t.Errorf("value %d is one too many: %+v", i, got[i])
		default:
			g, w := got[i], want[i]
			if g.Key != w.Key || g.Label != w.Label || g.Unit != w.Unit || g.V != w.V && !(math.IsNaN(g.V) && math.IsNaN(w.V)) {
				t.Errorf("value %d is %+v, want %+v", i, g, w)
			}
		}
	}
}

func TestParseSamples(t *testing.T) {
	f := func(raw string, section Section, step int64, want []Value) {
		t.Helper()
		r := parseOne(t, raw)
		if r.Err != nil {
			t.Errorf("%v", r.Err)
		}
		if r.Line.Rank != 0 || r.Line.GPU != 0 || r.Line.Step != step || r.Line.Section != section {
			t.Errorf("head is %+v", r.Line)
		}
		sameValues(t, r.Line.Values, want)
	}
	f(sampleStats, Stats, 1200, wantStats)
	f(sampleCPU, CPU, 1200, []Value{
		lv("cpu_cur", "schedule", 2.1), lv("cpu_mean", "schedule", 1.8), lv("cpu_max", "schedule", 9.4), lv("cpu_calls", "schedule", 100), lv("cpu_share", "schedule", 0.183),
		lv("cpu_cur", "schedule:cpp", 1.2), lv("cpu_mean", "schedule:cpp", 1), lv("cpu_max", "schedule:cpp", 6.1), lv("cpu_calls", "schedule:cpp", 100), lv("cpu_share", "schedule:cpp", 0.102),
	})
	f(sampleNCCL, NCCL, 3000, []Value{
		v("nccl_total", 1.842), v("nccl_communicators", 7), lv("nccl_group", "dp", 0.312), lv("nccl_group", "cp", 0.41),
	})
	f(sampleUnavailable, NCCL, 3000, nil)
	r := parseOne(t, sampleUnavailable)
	if text, _ := r.Line.Text(Unavailable); text != "RuntimeError: no memory_stats (NCCL 2.19)" {
		t.Errorf("text is %q", text)
	}
}

// The sample lines must also be what the writer prints.
func TestWriteSamples(t *testing.T) {
	for _, want := range []string{sampleStats, sampleCPU, sampleNCCL, sampleUnavailable} {
		r := parseOne(t, want)
		if got := string(AppendLine(nil, &r.Line)); got != want {
			t.Errorf("wrote\n%s\nwant\n%s", got, want)
		}
	}
}

func TestParseFields(t *testing.T) {
	f := func(body string, want ...Value) {
		t.Helper()
		r := parseOne(t, "RANK 3, GPU 1, step 7, [stats] ("+body+")")
		if r.Err != nil {
			t.Errorf("%s: %v", body, r.Err)
		}
		sameValues(t, r.Line.Values, want)
	}
	// Any order, missing fields, no fields, blanks.
	f("MFU 0.5 | running 2", v("MFU", 0.5), v("running", 2))
	f("")
	f("  running   2|pending 1  ", v("running", 2), v("pending", 1))
	f("running=2 | MFU = 0.5", v("running", 2), v("MFU", 0.5))
	f("TTFT (mean 1.5 ms, max 3 ms)", v("TTFT_mean", 1.5), v("TTFT_max", 3))
	// New fields in every shape.
	f("queue_depth 4 | running 1", v("queue_depth", 4), v("running", 1))
	f("power 412.5 W", uv("power", 412.5, "W"))
	f("hit_rate 62.5%", uv("hit_rate", 62.5, "%"))
	f("zos True", uv("zos", 1, "bool"))
	f("depths [1, 2, 3]", lv("depths", "1", 1), lv("depths", "2", 2), lv("depths", "3", 3))
	f("depths []")
	f("TTFT (max 2 ms, p99 1.5 ms)", v("TTFT_max", 2), uv("TTFT.p99", 1.5, "ms"))
	f("prefill_caching_rate (GPU 10%, CPU 20%)", v("prefill_caching_rate", 0.1), uv("prefill_caching_rate.CPU", 20, "%"))
	f("running 128[50%]", v("running", 128), uv("running.beside", 50, "%"))
	f("hits/misses 3/4", v("hits", 3), v("misses", 4))
	f("tok/s 3", v("tok/s", 3))
	// A metric in a place of its own, and names that only look like one.
	f("batch_usage 50%", v("batch_usage", 0.5))
	f("prefill_caching_rate 12%", v("prefill_caching_rate", 0.12))
	f("nextn_accept_rate 12%", uv("stats.nextn_accept_rate", 12, "%"))
	f("cpu_cur 3", v("stats.cpu_cur", 3))
	// Units, and the lack of them.
	f("TTFT (max 1.5 s, mean 250 us)", v("TTFT_max", 1500), v("TTFT_mean", 0.25))
	f("KV_cache_usage 0.5", v("KV_cache_usage", 0.5))
	f("MFU 31.8%", v("MFU", 0.318))
	f("completion_TPS 12 tok/s | attn_TFLOPs 500 GFLOPs", v("completion_TPS", 12), v("attn_TFLOPs", 0.5))
	// Not finite, signed, exponents, quoted, absent.
	f("cur_SPS inf | avg_SPS -inf | MFU nan | avg_nextn_accept_rate nan%", v("cur_SPS", math.Inf(1)), v("avg_SPS", math.Inf(-1)), v("MFU", math.NaN()), v("avg_nextn_accept_rate", math.NaN()))
	f("cur_SPS Infinity | avg_SPS -nan", v("cur_SPS", math.Inf(1)), v("avg_SPS", math.NaN()))
	f("cur_TPS 1.5e3 | prompt_TPS +2 | MFU -0.5 | KV_cache_usage 5e1%", v("cur_TPS", 1500), v("prompt_TPS", 2), v("MFU", -0.5), v("KV_cache_usage", 0.5))
	f("nextn_accept_rate ['78.10%', None, 52.20%]", lv("nextn_accept_rate", "1", 0.781), lv("nextn_accept_rate", "2", math.NaN()), lv("nextn_accept_rate", "3", 0.522))
	f("avg_confidence_error None | moe_lb n/a | x null", []Value(nil)...)
	f("cur_SPS 1e999", v("cur_SPS", math.Inf(1)))
}

func TestParseTexts(t *testing.T) {
	f := func(body string, want ...Text) {
		t.Helper()
		r := parseOne(t, "RANK 3, GPU 1, step 7, [stats] ("+body+")")
		if r.Err != nil {
			t.Errorf("%s: %v", body, r.Err)
		}
		if len(r.Line.Texts) != len(want) {
			t.Fatalf("%s: texts are %q", body, r.Line.Texts)
		}
		for i := range want {
			if r.Line.Texts[i] != want[i] {
				t.Errorf("%s: text %d is %q, want %q", body, i, r.Line.Texts[i], want[i])
			}
		}
	}
	f("mode fast | running 1", Text{"mode", "fast"})
	f("sched (a | b) | x[y] z", Text{"sched", "(a | b)"}, Text{"x", "[y] z"})
	f("draining | state=", Text{"draining", ""}, Text{"state", ""})
	f("modes [fast, slow]", Text{"modes", "[fast, slow]"})
	f("pool (size big)", Text{"pool", "(size big)"})
	f("pool ()", Text{"pool", "()"})
	f("a/b x/1", Text{"a/b", "x/1"})
	f("version 1.2.3", Text{"version", "1.2.3"})
	f("odd 3[x]", Text{"odd", "3[x]"})
	f("odd ]", Text{"odd", "_"})
	f("length 3 verylongunitindeed", Text{"length", "3 verylongunitindeed"})
}

func TestParseTimers(t *testing.T) {
	f := func(body string, want ...Value) {
		t.Helper()
		r := parseOne(t, "RANK 3, GPU 1, step 7, [cuda] ("+body+")")
		if r.Err != nil {
			t.Errorf("%s: %v", body, r.Err)
		}
		sameValues(t, r.Line.Values, want)
	}
	f("launch_forward_N64_B320 cur2.1ms", lv("cuda_cur", "launch_forward_N64_B320", 2.1))
	f("a 3calls/max2s/18%/cur500us", lv("cuda_calls", "a", 3), lv("cuda_max", "a", 2000), lv("cuda_share", "a", 0.18), lv("cuda_cur", "a", 0.5))
	f("my timer mean1ms", lv("cuda_mean", "my timer", 1))
	f("f(x | y) mean1ms", lv("cuda_mean", "f(x | y)", 1))
	f("a curnanms/meaninfms/nan%", lv("cuda_cur", "a", math.NaN()), lv("cuda_mean", "a", math.Inf(1)), lv("cuda_share", "a", math.NaN()))
	f("a min0.5ms/p993.0ms", Value{"cuda.min", "a", 0.5, "ms"}, Value{"cuda.p99", "a", 3, "ms"})
}

func TestForeignLines(t *testing.T) {
	for _, raw := range []string{
		"", "INFO engine started", "RANK 0 is up", "RANK 0, GPU 0", "RANK 0, GPU 0, loading weights",
		"RANK 0, GPU 0, step 5 done", "LOCAL_RANK 0, GPU 0, step 5, [stats] x", "RANK x, GPU 0, step 5",
		"RANK 0, GPU 0, step 5, [warn] slow", "RANK 0, GPU 0 finished (see [stats])",
		"| Unpadded Tokens | Padded Tokens | Num Paddings | Runtime Mode | Count |",
		"| 12 | 16 | 4 | FULL | 3 |", `{"msg":"RANK 0 is up","time":"2026-08-20T12:00:00Z"}`,
		"Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs, GPU KV cache usage: 1.0%",
		"a | b | c | d [x] (y)", strings.Repeat("x", MaxLineBytes+10),
	} {
		if got := Parse(nil, []byte(raw)); len(got) != 0 {
			t.Errorf("Parse(%.60q) = %+v, want nothing", raw, got)
		}
	}
}

func TestUnreadableLines(t *testing.T) {
	f := func(raw string, reason Reason, values ...Value) {
		t.Helper()
		r := parseOne(t, raw)
		if r.Err == nil || r.Err.Reason != reason {
			t.Errorf("%.90q: error is %v, want %s", raw, r.Err, reason)
			return
		}
		if !strings.HasPrefix(r.Err.Error(), "log line") || reasonWords[reason] == "" {
			t.Errorf("%q", r.Err.Error())
		}
		sameValues(t, r.Line.Values, values)
	}
	const head = "RANK 0, GPU 0, step 9, [stats] ("
	// Cut in the body: the last field may have lost digits and is left out.
	f(head+"running 12 | pending 3", Cut, v("running", 12))
	f(head+"running 12 | TTFT (max 3 ms", Cut, v("running", 12))
	f(head, Cut)
	f("RANK 0, GPU 0, step 9, [cpu] (a cur1ms | b cu", Cut, lv("cpu_cur", "a", 1))
	f("RANK 0, GPU 0, step 9, [nccl_memory] (stats_unavailable=some err", Cut)
	// Cut in the head.
	for _, s := range []string{"RANK 0, GPU 0,", "RANK 0, GPU 0, st", "RANK 0, GPU 0, step", "RANK 0, GPU 0, step 9",
		"RANK 0, GPU 0, step 9, [", "RANK 0, GPU 0, step 9, [sta", "RANK 0, GPU 0, step 9, [stats]"} {
		f(s, Cut)
	}
	// Damaged or missing heads.
	f("[stats] (running 12 | pending 3)", HeadDamaged)
	f("RANK 0, GPU 0, GPU 1, step 9, [stats] (running 1)", HeadDamaged)
	f("RANK 0, GPU 99999999999, step 9, [stats] (running 1)", HeadDamaged)
	f("RANK 0, GPU 0, [stats] (running 1)", HeadDamaged)
	f("RANK 0; GPU 0, step 9, [stats] (running 1)", HeadDamaged)
	f("0% | running 128 | pending 3 | chunked 0 | MFU 0.318)", HeadMissing)
	f("le cur2.1ms/mean1.8ms/max9.4ms/100calls/18.3% | b cur1.2ms/mean1.0ms/max6.1ms/1calls/1% | c cur1.2ms/mean1.0ms/max6.1ms/1calls/1%)", HeadMissing)
	f("RANK 0, GPU 0, step 9, [npu] (x 1)", UnknownSection)
	// One bad field does not cost the others.
	f(head+"running abc | pending 3)", BadValue, v("pending", 3))
	f(head+"running | pending 3)", BadValue, v("pending", 3))
	f(head+"KV_cache_usage 3 ms | pending 3)", BadValue, v("pending", 3))
	f(head+"= 3 | pending 3)", BadValue, v("pending", 3))
	f(head+"| pending 3)", BadValue, v("pending", 3))
	f(head+"nextn_accept_rate [1%, x] | pending 3)", BadValue, v("pending", 3))
	f(head+"running 3 | running 4 | pending 3)", Duplicate, v("running", 3), v("pending", 3))
	f(head+"mode a | mode b)", Duplicate)
	for _, s := range []string{"alone", "a x", "a curms", "a p99ms", "a 5lost", "a cur5calls", "a min", "a /"} {
		f("RANK 0, GPU 0, step 9, [cpu] ("+s+" | b cur1ms)", BadValue, lv("cpu_cur", "b", 1))
	}
	for _, s := range []string{"dp 3 GiB", "[dp]", "[dp (3 s)]", "[dp (x)]", "[(", "dp (3 GiB)]"} {
		f("RANK 0, GPU 0, step 9, [nccl_memory] (groups="+s+")", map[bool]Reason{true: Cut, false: BadValue}[s == "[("])
	}
	// Limits.
	long := strings.Repeat("n", MaxNameBytes+1)
	f(head+long+" 3 | running 1)", NameTooLong, v("running", 1))
	f("RANK 0, GPU 0, step 9, [cpu] ("+long+" cur3ms)", NameTooLong)
	f(head+"running 1 | x "+strings.Repeat("y", MaxLineBytes)+")", TooLong)
}

func TestLimitOfValues(t *testing.T) {
	f := func(body string) {
		t.Helper()
		r := parseOne(t, "RANK 0, GPU 0, step 9, [stats] ("+body+")")
		if r.Err == nil || r.Err.Reason != TooManyValues {
			t.Errorf("error is %v", r.Err)
		}
		if n := len(r.Line.Values) + len(r.Line.Texts); n > MaxValues {
			t.Errorf("kept %d", n)
		}
	}
	var fields, texts strings.Builder
	for i := range MaxValues + 5 {
		fields.WriteString("a" + position(i) + " 1 | ")
		texts.WriteString("a" + position(i) + " x | ")
	}
	f(fields.String())
	f(texts.String())
	f("a [" + strings.Repeat("1,", MaxValues+5) + "1]")
}

func TestTornLines(t *testing.T) {
	one := "2026-08-20 12:00:00,000 INFO RANK 0, GPU 0, step 100, [stats] (running 12"
	two := "2026-08-20 12:00:01,000 INFO RANK 1, GPU 1, step 101, [stats] (running 7 | pending 1)"
	got := Parse(nil, []byte(one+two))
	if len(got) != 2 {
		t.Fatalf("%d results", len(got))
	}
	if got[0].Err == nil || got[0].Err.Reason != Cut || got[0].Line.Rank != 0 || len(got[0].Line.Values) != 0 {
		t.Errorf("first is %+v", got[0])
	}
	if got[1].Err != nil || got[1].Line.Rank != 1 || got[1].Line.Step != 101 {
		t.Errorf("second is %+v", got[1])
	}
	if want := time.Date(2026, 8, 20, 12, 0, 1, 0, time.UTC); !got[1].Line.Stamp.Time.Equal(want) {
		t.Errorf("second's time is %v", got[1].Line.Stamp.Time)
	}
	sameValues(t, got[1].Line.Values, []Value{v("running", 7), v("pending", 1)})

	// The first torn in its head.
	got = Parse(nil, []byte("RANK 0, GPU 0, st"+sampleCPU))
	if len(got) != 2 || got[0].Err == nil || got[0].Err.Reason != Cut || got[1].Err != nil || len(got[1].Line.Values) != 10 {
		t.Errorf("torn head: %+v", got)
	}
	// Two whole lines without a break between them.
	got = Parse(nil, []byte(sampleStats+sampleCPU))
	if len(got) != 2 || got[0].Err != nil || got[1].Err != nil || len(got[0].Line.Values) != len(wantStats) {
		t.Errorf("two whole lines: %+v", got)
	}
	// A foreign RANK inside an error text is text.
	r := parseOne(t, "RANK 0, GPU 0, step 9, [nccl_memory] (stats_unavailable=RANK 3 failed)")
	if text, _ := r.Line.Text(Unavailable); text != "RANK_3 failed" {
		t.Errorf("text is %q", text)
	}
	if got := Parse(nil, []byte(strings.Repeat("RANK 0, GPU 0, step 1, ", 1000))); len(got) > maxHeads {
		t.Errorf("%d results of one line", len(got))
	}
}

func TestExtraHeadPairs(t *testing.T) {
	r := parseOne(t, "GPU info: RANK 3, DP 2, step 12, GPU 1, [stats] (running 1)")
	if r.Err != nil || r.Line.Rank != 3 || r.Line.GPU != 1 || r.Line.Step != 12 {
		t.Errorf("%+v", r)
	}
	sameValues(t, r.Line.Values, []Value{v("DP", 2), v("running", 1)})
}
