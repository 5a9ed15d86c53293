package foreign

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/ledger"
)

// What the table says of an engine, its rules and its texts agree.
func TestRulesAgreeWithTable(t *testing.T) {
	for _, kind := range Kinds() {
		for _, r := range rulesOf(kind) {
			m, ok := ledger.Lookup(r.key)
			if !ok || !m.Engines.Has(kind) {
				t.Errorf("%s has a rule for %s, but the table says %v", kind, r.key, m.Engines.Kinds())
			}
			if _, ok := RuleFor(kind, r.key); !ok {
				t.Errorf("%s has no words for its rule of %s", kind, r.key)
			}
			if len(r.needs) == 0 {
				t.Errorf("%s: the rule of %s needs nothing", kind, r.key)
			}
		}
		for key, rule := range ruleTexts[kind] {
			m, ok := ledger.Lookup(key)
			if !ok || !m.Engines.Has(kind) {
				t.Errorf("%s explains %s, which the table does not give it", kind, key)
			}
			if rule.How.EN == "" || rule.How.ZH == "" || (rule.Caveat.EN == "") != (rule.Caveat.ZH == "") {
				t.Errorf("%s %s: %+v", kind, key, rule)
			}
		}
		for _, m := range ledger.All() {
			rule, ok := RuleFor(kind, m.Key)
			if m.Engines.Has(kind) != ok {
				t.Errorf("%s of %s: the table says %v, the rules %v (%s)", m.Key, kind, m.Engines.Has(kind), ok, rule.How.EN)
			}
			why := AbsentReason(kind, m.Key)
			if why.EN == "" || why.ZH == "" || strings.HasSuffix(why.EN, ".") {
				t.Errorf("%s of %s is absent because %+v", m.Key, kind, why)
			}
		}
		for key := range absent[kind] {
			if _, ok := ledger.Lookup(key); !ok {
				t.Errorf("%s has a reason for %s, which is no metric", kind, key)
			}
		}
	}
}

func TestAbsentReason(t *testing.T) {
	for _, c := range []struct{ kind, key, part string }{
		{SGLang, "est_TFLOPs_per_GPU", "--enable-mfu-metrics"},
		{SGLang, "TPOT_avg", "not comparable"},
		{TensorRTLLM, "step_ms", "enable_iter_perf_stats"},
		{TensorRTLLM, "TTFT_bucket", "return_perf_metrics"},
		{VLLM, "cpu_mean", "trace"},
		{VLLM, "nccl_total", "vLLM does not expose it"},
		{DeepInfer, "TTFT", "log lines"},
		{DeepInfer, "moe_lb", "does not print"},
		{VLLM, "gpu_power", "driver"},
		{VLLM, "no such", "no metric"},
	} {
		key := c.key
		if key == "cpu_mean" {
			for _, m := range ledger.All() {
				if m.Section == ledger.CPU {
					key = m.Key
				}
			}
		}
		if got := AbsentReason(c.kind, key); !strings.Contains(got.EN, c.part) {
			t.Errorf("%s of %s: %q, want %q in it", key, c.kind, got.EN, c.part)
		}
	}
}

// An engine's own names that must not be read as what they seem.
func TestTraps(t *testing.T) {
	// A rate of acceptance where not every draft had all positions: 5 drafts, 12 tokens, 3 positions.
	s := NewState(VLLM)
	text := func(drafts, tokens, a, b, c string) string {
		return "# TYPE vllm:spec_decode_num_drafts_total counter\nvllm:spec_decode_num_drafts_total " + drafts +
			"\n# TYPE vllm:spec_decode_num_draft_tokens_total counter\nvllm:spec_decode_num_draft_tokens_total " + tokens +
			"\n# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter" +
			"\nvllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} " + a +
			"\nvllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} " + b +
			"\nvllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"2\"} " + c + "\n"
	}
	scrapeOne(s, 0, text("0", "0", "0", "0", "0"))
	r := scrapeOne(s, 10, text("5", "12", "4", "2", "1"))
	check(t, &r.Readings[0], want{"accept_rate_uncond|1": 0.8, "accept_rate_uncond|2": 0.4, "accept_rate_uncond|3": 0.2})
	absentAll(t, &r.Readings[0], "nextn_accept_rate")
	// Nothing drafted: no rate at all rather than 0.
	r = scrapeOne(s, 20, text("5", "12", "4", "2", "1"))
	absentAll(t, &r.Readings[0], "accept_rate_uncond", "nextn_accept_rate", "accept_len", "avg_nextn_accept_rate")
	for _, m := range r.Missing {
		if m.Key == "accept_rate_uncond" || m.Key == "accept_len" {
			t.Errorf("%s counts as missing, though it is only idle", m.Key)
		}
	}

	// SGLang without streaming: its first output is no first token.
	s = NewState(SGLang)
	ttft := func(n string) string {
		return "sglang:time_to_first_token_seconds_count{is_streaming=\"False\"} " + n + "\nsglang:time_to_first_token_seconds_sum{is_streaming=\"False\"} " + n + "\n"
	}
	scrapeOne(s, 0, ttft("1"))
	r = scrapeOne(s, 10, ttft("2"))
	absentAll(t, &r.Readings[0], "TTFT_count", "TTFT_avg")
	check(t, &r.Readings[0], want{"sglang:time_to_first_token_seconds_count|is_streaming=False": 1})
}
