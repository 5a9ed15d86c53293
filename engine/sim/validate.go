package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/curve"
	"github.com/stepscope/stepscope/engine/ledger"
)

// checker collects the first thing that is wrong with a scenario, with its path.
type checker struct {
	path string
	err  *textError
}

// that complains about the value at a path below the present one unless ok.
func (c *checker) that(ok bool, path, format string, args ...any) {
	if ok || c.err != nil {
		return
	}
	if c.path != "" {
		path = c.path + "." + path
	}
	c.err = &textError{path: path, err: fmt.Errorf(format, args...)}
}

func (c *checker) within(v, low, high float64, path string) {
	c.that(v >= low && v <= high, path, "%v is out of range; give %v to %v", v, low, high) // NaN fails too
}

func (c *checker) whole(v, low, high int, path string) {
	c.that(v >= low && v <= high, path, "%d is out of range; give %d to %d", v, low, high)
}

func (c *checker) oneOf(v, path string, words ...string) {
	c.that(slices.Contains(words, v), path, "%q is not known; give one of %q", v, words)
}

// Validate says what in a scenario makes no sense.
func (s *Scenario) Validate() error {
	c := &checker{}
	c.that(len(s.Deployments) > 0, "deployments", "there are none; give at least one")
	total, ranks := 0, 0
	names := map[string]bool{}
	for i := range s.Deployments {
		d := &s.Deployments[i]
		c.path = fmt.Sprintf("deployments[%d]", i)
		c.that(!names[d.Name], "name", "%q is another deployment's name too; give each its own", d.Name)
		names[d.Name] = true
		d.check(c)
		total += d.Engines
		ranks += d.Engines * d.Cards
	}
	c.path = ""
	c.that(total <= maxEngines, "deployments", "%d engines are too many; give at most %d", total, maxEngines)
	c.that(ranks <= maxRanks, "deployments", "%d ranks are too many; give fewer engines or cards, at most %d together", ranks, maxRanks)
	if c.err != nil {
		return c.err
	}
	return nil
}

const (
	maxEngines = 4096 // a fleet runs on one thread
	maxRanks   = 4096 // the largest world that traces are written for
)

const million = 1_000_000

func (d *Deployment) check(c *checker) {
	c.that(d.Name != "", "name", "it is empty; give a name")
	c.whole(d.Engines, 1, maxEngines, "engines")
	c.oneOf(d.Role, "role", roleMixed, rolePrompt, roleDecode)
	c.whole(d.Cards, 1, 1024, "cards")

	c.whole(d.Scheduler.MaxNumSeqs, 1, 65536, "scheduler.max_num_seqs")
	c.whole(d.Scheduler.MaxNumBatchedTokens, 1, million, "scheduler.max_num_batched_tokens")
	c.whole(d.Scheduler.NextN, 0, ledger.MaxNextN, "scheduler.nextn")
	c.whole(d.KV.Blocks, 2, 16*million, "kv.blocks")
	c.whole(d.KV.BlockSize, 1, 65536, "kv.block_size")
	c.whole(d.KV.States, 2, million, "kv.states")

	d.Requests.check(c)
	c.that(d.Scheduler.NextN == 0 || len(d.Draft.Accept) > 0, "draft.accept", "it is empty; give a chance for each drafted position")
	for i, a := range d.Draft.Accept {
		c.within(a, 0, 1, fmt.Sprintf("draft.accept[%d]", i))
	}
	c.within(d.Draft.Threshold, 0, 1, "draft.threshold")
	c.within(d.Draft.Spread, 0, 1, "draft.spread")
	c.within(d.Draft.Noise, 0, 1, "draft.noise")
	d.Draft.Ramp.check(c, "draft.ramp")
	c.whole(d.MoE.Cards, 0, 4096, "moe.cards")
	c.whole(d.MoE.TopK, 1, 1024, "moe.top_k")
	c.within(d.MoE.Skew, 0, 1, "moe.skew")
	c.within(d.MoE.Noise, 0, 1, "moe.noise")
	d.MoE.Ramp.check(c, "moe.ramp")

	for i, g := range d.Graphs {
		c.whole(g, 1, curve.MaxBatchSize, fmt.Sprintf("graphs[%d]", i))
		c.that(i == 0 || g > d.Graphs[i-1], fmt.Sprintf("graphs[%d]", i), "%d is not greater than the size before; give them in ascending order", g)
	}
	d.Cost.check(c)
	c.within(d.FLOPs.PerToken, 0, 1e15, "flops.per_token")
	c.within(d.FLOPs.PerPair, 0, 1e15, "flops.per_pair")
	c.within(d.FLOPs.Peak, 1, million, "flops.peak")
	for i, g := range d.NCCL.Groups {
		c.that(g.Name != "", fmt.Sprintf("nccl.groups[%d].name", i), "it is empty; give a name")
		c.within(g.MiB, 0, million, fmt.Sprintf("nccl.groups[%d].mib", i))
		c.whole(g.From, 0, math.MaxInt32, fmt.Sprintf("nccl.groups[%d].from_step", i))
	}
	c.whole(d.Logging.Interval, -1, math.MaxInt32, "logging.interval_steps")
	c.whole(d.Logging.MoEInterval, 1, million, "logging.moe_interval_steps")
	c.whole(d.Logging.NCCLInterval, -1, math.MaxInt32, "logging.nccl_interval_steps")
	c.oneOf(d.Logging.Prefix, "logging.prefix", prefixTime, prefixNone, prefixJSON)
	c.whole(d.Trace.Layers, 1, 1000, "trace.layers")
	c.whole(int(d.Trace.StepBytes), 1, 1<<30, "trace.step_bytes")
}

func (r *Requests) check(c *checker) {
	c.within(r.Rate, 0, 10_000, "requests.rate")
	c.oneOf(r.Arrivals, "requests.arrivals", arrivalsPoisson, arrivalsFixed)
	r.RateRamp.check(c, "requests.rate_ramp")
	r.Prompt.check(c, "requests.prompt")
	r.Output.check(c, "requests.output")
	c.within(r.Prefix.Share, 0, 1, "requests.prefix.share")
	c.that(len(r.Prefix.Branches) == len(r.Prefix.Tokens), "requests.prefix.tokens", "there are %d levels here and %d in branches; give as many",
		len(r.Prefix.Tokens), len(r.Prefix.Branches))
	for i, n := range r.Prefix.Branches {
		c.whole(n, 1, million, fmt.Sprintf("requests.prefix.branches[%d]", i))
	}
	for i, n := range r.Prefix.Tokens {
		c.whole(n, 1, million, fmt.Sprintf("requests.prefix.tokens[%d]", i))
	}
	c.within(r.AbortShare, 0, 1, "requests.abort_share")
	c.within(r.PatienceMS, 0, 1e9, "requests.patience_ms")
}

func (d Dist) check(c *checker, path string) {
	c.within(d.Mean, 1, million, path+".mean")
	c.within(d.Spread, 0, 10, path+".spread")
	c.whole(d.Min, 0, million, path+".min")
	c.whole(d.Max, 0, million, path+".max")
	c.that(d.Max == 0 || d.Max >= d.Min, path+".max", "%d is below min, %d; give a greater one", d.Max, d.Min)
}

func (r Ramp) check(c *checker, path string) {
	c.that(r == Ramp{} || r.To > r.From && r.From >= 0, path+".to_step", "%d does not come after from_step, %d; give a later step", r.To, r.From)
	c.within(r.Factor, 0, 1000, path+".factor")
}

func (m *Cost) check(c *checker) {
	for _, f := range []struct {
		v    float64
		path string
	}{
		{m.PrefillMS, "prefill_ms"}, {m.PrefillTokenUS, "prefill_token_us"},
		{m.ContextTokenNS, "context_token_ns"}, {m.EagerMS, "eager_ms"}, {m.HandOverTokenUS, "hand_over_token_us"},
	} {
		c.within(f.v, 0, 100_000, "cost."+f.path)
	}
	c.within(m.DecodeMS, 0.001, 100_000, "cost.decode_ms")
	c.within(m.TokenUS, 0, 1_000, "cost.token_us")
	c.within(m.Jitter, 0, 0.5, "cost.jitter")
	c.within(m.ExpertShare, 0, 1, "cost.expert_share")
}

// ReadScenario reads a scenario from JSON. Errors name the line and the path of the value that is wrong.
func ReadScenario(text []byte) (*Scenario, error) {
	d := newDecoder(text)
	s := &Scenario{}
	if err := d.document(s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		var t *textError
		if errors.As(err, &t) {
			t.line = d.lineOf(t.path)
		}
		return nil, err
	}
	return s, nil
}
