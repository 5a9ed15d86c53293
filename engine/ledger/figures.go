package ledger

import (
	"strconv"
	"time"
)

// figures computes every value of the [stats] line. The formulas are the engine's
// contract's (section 3); each metric's entry in the table says them in words.
func (l *Ledger) figures(now time.Time, st *State) []Value {
	out := make([]Value, 0, 40+l.cfg.NextN)
	set := func(key string, v float64) { out = append(out, Value{Key: key, V: v}) }
	cur := &l.last

	duration := l.stepDuration(now)
	set("is_prompt", flag(cur.prompt))
	set("cur_SPS", perSecond(1, duration))
	set("avg_SPS", l.avgSPS(now))
	set("cur_TPS", perSecond(float64(cur.generated), duration))
	set("prompt_TPS", l.prompts.throughput(now, func(n *int64) float64 { return float64(*n) }))
	set("completion_TPS", l.generated.throughput(now, (*generation).all))

	drafts := l.speculation()
	set("avg_nextn_accept_rate", drafts.rate)
	for i := 1; i <= l.cfg.NextN; i++ {
		out = append(out, Value{Key: "nextn_accept_rate", Label: strconv.Itoa(i),
			V: ratio(float64(drafts.accepted[i]), float64(drafts.verified[i]))})
	}
	set("verified_tokens", float64(drafts.verifiedSum))
	set("accepted_tokens", float64(drafts.acceptedSum))
	set("avg_verified_len", ratio(float64(drafts.verifiedSum), float64(drafts.seqs)))
	set("avg_confidence_error", ratio(l.confidence.sum(0, identity), float64(drafts.verifiedSum)))
	set("moe_lb", l.moeBalance())

	set("running", float64(st.Running))
	set("pending", float64(st.Pending))
	set("chunked", float64(st.Chunked))
	set("num_batched_tokens", float64(cur.batched))
	set("batch_usage", l.batchUsage())
	set("KV_cache_usage", cacheUsage(st.KVBlocks, st.FreeKVBlocks))
	set("state_cache_usage", cacheUsage(st.StateBlocks, st.FreeStateBlocks))

	base := l.CPU.total(EngineStep)
	set("prefill_share", ratio(l.CPU.total(EngineStepPrefill).Seconds(), base.Seconds()))
	set("decode_share", ratio(l.CPU.total(EngineStepDecode).Seconds(), base.Seconds()))
	set("prefill_caching_rate", l.prefillCaching())

	set("TTFT_max", cur.ttftMax)
	set("TTFT_mean", cur.ttftMean)
	set("avg_input_length", ratio(float64(st.Lengths.InputTokens), float64(st.Lengths.Requests)))
	set("avg_output_length", ratio(float64(st.Lengths.OutputTokens), float64(st.Lengths.Requests)))
	set("payload_len", ratio(float64(st.Lengths.OutputTokens), float64(st.Lengths.InputTokens)))
	set("finished", float64(st.Finished))
	set("preempted", float64(st.Preempted))
	set("aborted", float64(st.Aborted))

	set("sum_seqlen_qxk", float64(cur.qxk))
	set("max_seqlen_k", float64(cur.maxK))
	set("min_seqlen_k", float64(cur.minK))
	set("attn_TFLOPs", cur.attnTFLOPs)
	set("MFU", l.mfu())
	return out
}

// stepDuration is now − start of the step; under zero-overhead scheduling and after
// step 0, whose post-processing the next step hides, the distance of the last two starts.
func (l *Ledger) stepDuration(now time.Time) time.Duration {
	if l.cfg.ZeroOverhead && l.last.step > 0 && l.last.hasInterval {
		return l.last.interval
	}
	return now.Sub(l.last.start)
}

// avgSPS is steps ÷ time since the last line; 0 at the first.
func (l *Ledger) avgSPS(now time.Time) float64 {
	if !l.logged {
		return 0
	}
	return perSecond(float64(l.last.step-l.loggedFor), now.Sub(l.loggedAt))
}

// all counts the generated tokens of all positions, the target's own included.
func (g *generation) all() float64 {
	n := int64(0)
	for _, v := range g.tokens {
		n += v
	}
	return float64(n)
}

// speculation is the window's account of drafts.
type speculation struct {
	accepted, verified       positions
	acceptedSum, verifiedSum int64 // of the draft positions, 1 … nextn
	seqs                     int64 // Σ num_seqs
	rate                     float64
}

func (l *Ledger) speculation() speculation {
	var s speculation
	var batched int64
	for i := range l.generated.n {
		g := &l.generated.at(i).load
		for p, n := range g.tokens {
			s.accepted[p] += n
		}
		s.seqs += g.seqs
		batched += g.batched
	}
	for i := range l.verified.n {
		for p, n := range l.verified.at(i).load {
			s.verified[p] += n
		}
	}
	for p := 1; p <= MaxNextN; p++ {
		s.acceptedSum += s.accepted[p]
		s.verifiedSum += s.verified[p]
	}
	// The engine adds 1e-15 so that a window without drafts gives 0.
	s.rate = float64(s.acceptedSum) / (float64(batched-s.seqs) + 1e-15)
	return s
}

// moeBalance is Σ max load ÷ Σ mean load: 1 is perfect, and also the answer without data,
// so that no threshold fires.
func (l *Ledger) moeBalance() float64 {
	if l.moe.n == 0 {
		return 1
	}
	busiest := l.moe.sum(0, func(m *MoELoad) float64 { return m.Max })
	mean := l.moe.sum(0, func(m *MoELoad) float64 { return m.Mean })
	return busiest / max(1, mean)
}

// batchUsage has two denominators: a prompt step's token budget, and the most query
// tokens that a decode step can have.
func (l *Ledger) batchUsage() float64 {
	limit := l.cfg.MaxBatchedTokens
	if !l.last.prompt {
		limit = l.cfg.MaxSeqs * int64(1+l.cfg.NextN)
	}
	return ratio(float64(l.last.batched), float64(limit))
}

// cacheUsage leaves the reserved block out of both sides; with it in the denominator a
// full cache would never show 100 %.
func cacheUsage(blocks, free int64) float64 {
	return ratio(float64(blocks-1-free), float64(blocks-1))
}

// prefillCaching is cached ÷ all prompt tokens over the last prompt steps, however old.
func (l *Ledger) prefillCaching() float64 {
	var calculated, cached int64
	for i := range min(l.nPrefills, prefillSteps) {
		calculated += l.prefills[i].calculated
		cached += l.prefills[i].cached
	}
	return float64(cached) / float64(max(1, calculated))
}

// mfu is the window's TFLOP/s over what the cards could do. The limit is twice the dense
// BF16 peak, the FP8 equivalent.
func (l *Ledger) mfu() float64 {
	limit := 2 * l.cfg.PeakTFLOPs * float64(l.cfg.ContextParallel)
	return ratio(l.tflops.rate(identity), limit)
}

// ratio is a ÷ b, and 0 where there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

func identity(v *float64) float64 { return *v }

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
