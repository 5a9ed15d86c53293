package ledger

import (
	"math"
	"testing"
	"time"
)

func TestThroughput(t *testing.T) {
	l := newLedger(t, config())
	near(t, "completion_TPS, no entry", figure(t, l, 0, State{}, "completion_TPS"), 0)
	add(t, l, 0, 1, decode(8, 2))
	near(t, "completion_TPS, one entry", figure(t, l, 5, State{}, "completion_TPS"), 0)
	add(t, l, 1, 2, decode(8, 4))
	add(t, l, 2, 3, decode(8, 5, 3))
	// The first entry (8 + 2) only marks the start: (12 + 16) ÷ (2 − 0) = 14.
	near(t, "completion_TPS", figure(t, l, 2, State{}, "completion_TPS"), 14)
	// Not fed, it decays: 28 ÷ 4 = 7, 28 ÷ 28 = 1.
	near(t, "completion_TPS at 4 s", figure(t, l, 4, State{}, "completion_TPS"), 7)
	near(t, "completion_TPS at 28 s", figure(t, l, 28, State{}, "completion_TPS"), 1)

	// Prompt steps feed the other window: (300 + 500) ÷ (5 − 3) = 400, decaying to 800 ÷ 8.
	add(t, l, 3, 4, Step{Prompt: true, NumBatchedTokens: 100})
	near(t, "prompt_TPS, one entry", figure(t, l, 4, State{}, "prompt_TPS"), 0)
	add(t, l, 4, 5, Step{Prompt: true, NumBatchedTokens: 300})
	add(t, l, 5, 6, Step{Prompt: true, NumBatchedTokens: 500, NumCachedTokensGPU: 9000})
	near(t, "prompt_TPS", figure(t, l, 5, State{}, "prompt_TPS"), 400)
	near(t, "prompt_TPS at 11 s", figure(t, l, 11, State{}, "prompt_TPS"), 100)
	// Meanwhile completion_TPS was not fed: 28 ÷ 5 at 5 s.
	near(t, "completion_TPS after prompt steps", figure(t, l, 5, State{}, "completion_TPS"), 5.6)
	// No time between two entries, or a clock that went back, divides by nothing.
	near(t, "prompt_TPS before its window", figure(t, l, 3, State{}, "prompt_TPS"), 0)
}

func TestMFU(t *testing.T) {
	l := newLedger(t, config())
	add(t, l, 0, 1, Step{TotalTFLOPs: 7000})
	near(t, "MFU, one entry", figure(t, l, 1, State{}, "MFU"), 0)
	add(t, l, 1, 2, Step{Prompt: true, TotalTFLOPs: 1000})
	add(t, l, 4, 3, Step{TotalTFLOPs: 500})
	// (7000 + 1000 + 500 − 7000) ÷ (4 − 0) s ÷ 2 cards ÷ (500 × 2) = 375 ÷ 2000 = 0.1875;
	// both kinds of step feed it.
	near(t, "MFU", figure(t, l, 4, State{}, "MFU"), 0.1875)
	// Its denominator ends at the last entry: a pause of an hour changes nothing.
	near(t, "MFU after an hour", figure(t, l, 3604, State{}, "MFU"), 0.1875)

	cfg := config()
	cfg.PeakTFLOPs = 0 // unknown card
	l = newLedger(t, cfg)
	add(t, l, 0, 1, Step{TotalTFLOPs: 1})
	add(t, l, 1, 2, Step{TotalTFLOPs: 1})
	near(t, "MFU without a peak", figure(t, l, 1, State{}, "MFU"), 0)
}

func TestSPS(t *testing.T) {
	l := newLedger(t, config())
	due, err := l.Append(at(0.25), 0, at(0), &Step{NumGenerated: []int64{3, 2}})
	if !due || err != nil {
		t.Fatal(due, err)
	}
	// The step took 0.25 s: 1 ÷ 0.25 = 4 steps/s, (3 + 2) ÷ 0.25 = 20 tokens/s.
	near(t, "cur_SPS", figure(t, l, 0.25, State{}, "cur_SPS"), 4)
	near(t, "cur_TPS", figure(t, l, 0.25, State{}, "cur_TPS"), 20)
	near(t, "avg_SPS at the first log", figure(t, l, 0.25, State{}, "avg_SPS"), 0)
	l.Log(at(0.25), &State{})
	for step := int64(1); step <= 100; step++ {
		due, _ = l.Append(at(float64(step)+0.5), step, at(float64(step)), &Step{NumGenerated: []int64{1}})
		if due != (step == 100) {
			t.Errorf("step %d: due is %v", step, due)
		}
	}
	// 100 steps in 100.5 − 0.25 s.
	near(t, "avg_SPS", figure(t, l, 100.5, State{}, "avg_SPS"), 100/100.25)
	near(t, "cur_SPS", figure(t, l, 100.5, State{}, "cur_SPS"), 2)
	near(t, "cur_SPS without time", figure(t, l, 100, State{}, "cur_SPS"), 0)
}

func TestSPSUnderZeroOverheadScheduling(t *testing.T) {
	cfg := config()
	cfg.ZeroOverhead = true
	l := newLedger(t, cfg)
	appendAt := func(now, start float64, step int64) {
		if _, err := l.Append(at(now), step, at(start), &Step{NumGenerated: []int64{6}}); err != nil {
			t.Fatal(err)
		}
	}
	// Step 0 has no step before it: now − start = 0.5.
	appendAt(0.5, 0, 0)
	near(t, "cur_SPS of step 0", figure(t, l, 0.5, State{}, "cur_SPS"), 2)
	// Step 1 started 0.2 s after step 0; that it was processed at 0.9 does not matter.
	appendAt(0.9, 0.2, 1)
	near(t, "cur_SPS of step 1", figure(t, l, 0.9, State{}, "cur_SPS"), 5)
	near(t, "cur_TPS of step 1", figure(t, l, 0.9, State{}, "cur_TPS"), 30)
	appendAt(1.1, 1, 2)
	near(t, "cur_SPS of step 2", figure(t, l, 1.1, State{}, "cur_SPS"), 1/0.8)
	// A ledger that begins later has no interval yet either.
	l = newLedger(t, cfg)
	appendAt(8, 4, 77)
	near(t, "cur_SPS of a first step 77", figure(t, l, 8, State{}, "cur_SPS"), 0.25)
}

func TestBatchUsage(t *testing.T) {
	l := newLedger(t, config())
	add(t, l, 0, 1, Step{Prompt: true, NumBatchedTokens: 250})
	near(t, "prompt step: 250 ÷ 1000", figure(t, l, 0, State{}, "batch_usage"), 0.25)
	near(t, "num_batched_tokens", figure(t, l, 0, State{}, "num_batched_tokens"), 250)
	add(t, l, 1, 2, Step{NumBatchedTokens: 24})
	near(t, "decode step: 24 ÷ (10 × (1 + 2))", figure(t, l, 1, State{}, "batch_usage"), 0.8)
}

func TestSpeculation(t *testing.T) {
	l := newLedger(t, config())
	for _, key := range []string{"avg_nextn_accept_rate", "verified_tokens", "accepted_tokens", "avg_verified_len", "avg_confidence_error"} {
		near(t, key+" of an empty window", figure(t, l, 0, State{}, key), 0)
	}
	add(t, l, 0, 1, Step{NumSeqs: 8, NumBatchedTokens: 24, NumGenerated: []int64{8, 6, 3}, NumVerified: []int64{8, 8, 8}, ConfidenceError: 1.5})
	add(t, l, 1, 2, Step{NumSeqs: 8, NumBatchedTokens: 20, NumGenerated: []int64{8, 4, 0}, NumVerified: []int64{8, 8, 4}, ConfidenceError: 0.6})
	// A prompt step feeds none of this, whatever it carries.
	add(t, l, 2, 3, Step{Prompt: true, NumSeqs: 99, NumBatchedTokens: 999, NumGenerated: []int64{99}, ConfidenceError: 9})
	// Position 1: (6 + 4) ÷ (8 + 8) = 0.625. Position 2: (3 + 0) ÷ (8 + 4) = 0.25.
	near(t, "position 1", figure(t, l, 2, State{}, "nextn_accept_rate", "1"), 0.625)
	near(t, "position 2", figure(t, l, 2, State{}, "nextn_accept_rate", "2"), 0.25)
	// Accepted 10 + 3, verified 16 + 12; position 0 doesn't count.
	near(t, "accepted_tokens", figure(t, l, 2, State{}, "accepted_tokens"), 13)
	near(t, "verified_tokens", figure(t, l, 2, State{}, "verified_tokens"), 28)
	// 13 ÷ ((24 + 20) − (8 + 8)) = 13 ÷ 28; 28 ÷ 16; (1.5 + 0.6) ÷ 28.
	near(t, "avg_nextn_accept_rate", figure(t, l, 2, State{}, "avg_nextn_accept_rate"), 13.0/28)
	near(t, "avg_verified_len", figure(t, l, 2, State{}, "avg_verified_len"), 1.75)
	near(t, "avg_confidence_error", figure(t, l, 2, State{}, "avg_confidence_error"), 0.075)

	// Nothing verified at a position gives 0; no drafts at all gives 0 ÷ 1e-15 = 0.
	l = newLedger(t, config())
	add(t, l, 0, 1, Step{NumSeqs: 4, NumBatchedTokens: 4, NumGenerated: []int64{4}})
	near(t, "position 1, none verified", figure(t, l, 0, State{}, "nextn_accept_rate", "1"), 0)
	near(t, "avg_nextn_accept_rate, no drafts", figure(t, l, 0, State{}, "avg_nextn_accept_rate"), 0)
	// The denominator is the batch's, not the verified count: one accepted of nothing is 1 ÷ 1e-15.
	add(t, l, 1, 2, Step{NumSeqs: 4, NumBatchedTokens: 4, NumGenerated: []int64{4, 1}})
	if got := figure(t, l, 1, State{}, "avg_nextn_accept_rate"); math.Abs(got-1e15) > 1 {
		t.Errorf("avg_nextn_accept_rate is %v, want 1e15", got)
	}
}

func TestMoE(t *testing.T) {
	l := newLedger(t, config())
	add(t, l, 0, 1, Step{})
	near(t, "moe_lb without data", figure(t, l, 0, State{}, "moe_lb"), 1)
	add(t, l, 1, 2, Step{HasMoE: true, MoE: MoELoad{Mean: 100, Max: 120}})
	add(t, l, 2, 3, Step{Prompt: true, HasMoE: true, MoE: MoELoad{Mean: 300, Max: 330}})
	near(t, "moe_lb: 450 ÷ 400", figure(t, l, 2, State{}, "moe_lb"), 1.125)
	// Its own age: at step 130 the entry of step 2 has age 128 and stays; at 131 it goes.
	add(t, l, 3, 130, Step{})
	near(t, "moe_lb at age 128", figure(t, l, 3, State{}, "moe_lb"), 1.125)
	add(t, l, 4, 131, Step{})
	near(t, "moe_lb at age 129: 330 ÷ 300", figure(t, l, 4, State{}, "moe_lb"), 1.1)
	// Less than one token per card: the denominator is at least 1.
	l = newLedger(t, config())
	add(t, l, 0, 1, Step{HasMoE: true, MoE: MoELoad{Mean: 0.25, Max: 2}})
	near(t, "moe_lb: 2 ÷ max(1, 0.25)", figure(t, l, 0, State{}, "moe_lb"), 2)
	// Idle steps are data: 0 ÷ 1, not 1.
	l = newLedger(t, config())
	add(t, l, 0, 1, Step{HasMoE: true})
	near(t, "moe_lb of idle steps", figure(t, l, 0, State{}, "moe_lb"), 0)
}

func TestPrefillCaching(t *testing.T) {
	l := newLedger(t, config())
	near(t, "without prompts", figure(t, l, 0, State{}, "prefill_caching_rate"), 0)
	add(t, l, 0, 1, Step{Prompt: true, NumBatchedTokens: 100, NumCachedTokensGPU: 300})
	near(t, "300 ÷ (100 + 300)", figure(t, l, 0, State{}, "prefill_caching_rate"), 0.75)
	// A step with everything cached, far away in steps: age does not count here.
	add(t, l, 1, 100000, Step{Prompt: true, NumCachedTokensGPU: 100})
	near(t, "400 ÷ (400 + 100)", figure(t, l, 1, State{}, "prefill_caching_rate"), 0.8)
	// Decode steps don't count; 49 more prompt steps push the first one out:
	// 100 ÷ (100 + 49 × 10).
	add(t, l, 2, 100001, Step{NumBatchedTokens: 100, NumCachedTokensGPU: 999})
	for i := range int64(49) {
		add(t, l, 3, 100002+i, Step{Prompt: true, NumBatchedTokens: 10})
	}
	near(t, "last 50", figure(t, l, 3, State{}, "prefill_caching_rate"), 100.0/590)
	// Prompt steps of nothing: the denominator is at least 1.
	l = newLedger(t, config())
	add(t, l, 0, 1, Step{Prompt: true})
	near(t, "0 ÷ max(1, 0)", figure(t, l, 0, State{}, "prefill_caching_rate"), 0)
}

func TestState(t *testing.T) {
	l := newLedger(t, config())
	add(t, l, 0, 1, Step{Prompt: true, SumSeqLenQxK: 5000, MaxSeqLenK: 900, MinSeqLenK: 20, AttnTFLOPs: 4.25})
	st := State{
		Running: 7, Pending: 3, Chunked: 2, Finished: 40, Preempted: 5, Aborted: 1,
		KVBlocks: 101, FreeKVBlocks: 25, StateBlocks: 9, FreeStateBlocks: 8,
		Lengths: Lengths{Requests: 4, InputTokens: 800, OutputTokens: 200},
	}
	for key, want := range map[string]float64{
		"is_prompt": 1, "running": 7, "pending": 3, "chunked": 2, "finished": 40, "preempted": 5, "aborted": 1,
		"KV_cache_usage":    0.75,                         // (101 − 1 − 25) ÷ 100
		"state_cache_usage": 0,                            // (9 − 1 − 8) ÷ 8
		"avg_input_length":  200, "avg_output_length": 50, // 800 ÷ 4, 200 ÷ 4
		"payload_len":    0.25, // 200 ÷ 800
		"sum_seqlen_qxk": 5000, "max_seqlen_k": 900, "min_seqlen_k": 20, "attn_TFLOPs": 4.25,
	} {
		near(t, key, figure(t, l, 0, st, key), want)
	}
	// Full: no block is free, and the reserved one is not counted.
	near(t, "full cache", figure(t, l, 0, State{KVBlocks: 101}, "KV_cache_usage"), 1)
	// No cache, nothing finished.
	for _, key := range []string{"KV_cache_usage", "avg_input_length", "payload_len"} {
		near(t, key+" of nothing", figure(t, l, 0, State{KVBlocks: 1}, key), 0)
	}
}

func TestTTFT(t *testing.T) {
	l := newLedger(t, config())
	latencies := []time.Duration{100 * time.Millisecond, 250 * time.Millisecond, 40 * time.Millisecond}
	add(t, l, 0, 1, Step{Prompt: true, FirstTokenLatencies: latencies})
	latencies[0] = time.Hour // the engine's buffer is overwritten
	near(t, "TTFT_max", figure(t, l, 0, State{}, "TTFT_max"), 250)
	near(t, "TTFT_mean: 390 ÷ 3", figure(t, l, 0, State{}, "TTFT_mean"), 130)
	// It is the logging step's alone.
	add(t, l, 1, 2, Step{})
	near(t, "TTFT_max", figure(t, l, 1, State{}, "TTFT_max"), 0)
	near(t, "TTFT_mean", figure(t, l, 1, State{}, "TTFT_mean"), 0)
}
