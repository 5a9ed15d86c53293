package sim

import (
	"math/rand/v2"

	"github.com/stepscope/stepscope/engine/curve"
)

// Cost is the model of a step's time.
type Cost struct {
	DecodeMS        float64 `json:"decode_ms"`          // a decode step's GPU time without any tokens: weights are read once
	TokenUS         float64 `json:"token_us"`           // for each query token of a decode step
	PrefillMS       float64 `json:"prefill_ms"`         // the same two for a prompt step
	PrefillTokenUS  float64 `json:"prefill_token_us"`   //
	ContextTokenNS  float64 `json:"context_token_ns"`   // for each token of context that attention reads
	EagerMS         float64 `json:"eager_ms"`           // launching without a graph takes at least this long
	Jitter          float64 `json:"jitter"`             // standard deviation ÷ time
	ExpertShare     float64 `json:"expert_share"`       // share of the time that waits for the busiest card's experts
	HandOverTokenUS float64 `json:"hand_over_token_us"` // prompt engines: for each token of cache sent to the decode engine
}

// decode is the expected time in ms of a decode step with so many query tokens, attention left out.
func (c *Cost) decode(tokens int) float64 { return c.DecodeMS + c.TokenUS*float64(tokens)/1e3 }

// pricer turns batches into times.
type pricer struct {
	cfg   Cost
	curve curve.Curve
	r     *rand.Rand
}

// forward is the GPU time of a step in nanoseconds.
func (p *pricer) forward(b *batch, imbalance float64) int64 {
	var ms float64
	switch graph, ok := p.curve.Graph(b.tokens); {
	case b.prompt:
		ms = p.cfg.PrefillMS + p.cfg.PrefillTokenUS*float64(b.tokens)/1e3
		// Each query reads its context, but a chunk's queries read it together.
		ms += p.cfg.ContextTokenNS * float64(b.qxk) / 1e6 / 64
	case ok:
		b.replay = true
		ms = graph.Ms // a replay computes its whole bucket
	default:
		ms = max(p.cfg.decode(b.tokens)*1.1, p.cfg.EagerMS) // gaps between kernels
	}
	if !b.prompt {
		for _, q := range b.seqs {
			ms += p.cfg.ContextTokenNS * float64(q.length()) / 1e6
		}
	}
	ms *= 1 + p.cfg.ExpertShare*max(imbalance-1, 0)
	return int64(p.about(ms * 1e6))
}

// about adds jitter; one draw in a thousand is an outlier.
func (p *pricer) about(v float64) float64 {
	f := 1 + p.cfg.Jitter*p.r.NormFloat64()
	if p.cfg.Jitter > 0 && p.r.IntN(1000) == 0 {
		f += 0.5 + p.r.Float64()
	}
	return v * between(f, 0.5, 3)
}
