package sim

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDist(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := func(d Dist, mean, deviation float64) {
		t.Helper()
		const n = 200_000
		var sum, squares float64
		for range n {
			v := d.draw(r)
			if v < 1 || v < d.Min || d.Max > 0 && v > d.Max {
				t.Fatalf("%+v gave %d", d, v)
			}
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		m := sum / n
		s := math.Sqrt(squares/n - m*m)
		if math.Abs(m-mean) > mean/50 || math.Abs(s-deviation) > mean/25 {
			t.Errorf("%+v: mean %.1f, deviation %.1f; want %.1f and %.1f", d, m, s, mean, deviation)
		}
	}
	f(Dist{Mean: 600}, 600, 0)
	f(Dist{Mean: 1800, Spread: 0.5}, 1800, 900)
	f(Dist{Mean: 100, Spread: 1}, 100, 100)
	f(Dist{Mean: 1, Min: 32, Max: 64}, 32, 0)
	f(Dist{Mean: 500, Max: 64}, 64, 0)
}

func TestRamp(t *testing.T) {
	r := Ramp{From: 100, To: 200, Factor: 0.5}
	for step, want := range map[int]float64{0: 1, 100: 1, 150: 0.75, 199: 0.505, 200: 0.5, 9999: 0.5} {
		if got := r.at(step); math.Abs(got-want) > 1e-12 {
			t.Errorf("factor at step %d: %g, want %g", step, got, want)
		}
	}
	if got := (Ramp{}).at(50); got != 1 {
		t.Errorf("no ramp gives %g, want 1", got)
	}
}

func TestArrivals(t *testing.T) {
	count := func(cfg Requests, seconds int64, step int) (n int) {
		w := newWorkload(cfg, 3, rand.New(rand.NewPCG(1, 1)))
		for w.next(seconds*1e9, step) != nil {
			n++
		}
		return n
	}
	length := Dist{Mean: 10}
	if n := count(Requests{Rate: 8, Arrivals: arrivalsFixed, Prompt: length, Output: length}, 100, 0); n != 800 {
		t.Errorf("%d requests at 8 a second in 100 s, want 800", n)
	}
	// Poisson: 80,000 expected, a standard deviation of 283.
	if n := count(Requests{Rate: 8, Arrivals: arrivalsPoisson, Prompt: length, Output: length}, 10_000, 0); n < 79_000 || n > 81_000 {
		t.Errorf("%d requests at 8 a second in 10,000 s, want about 80,000", n)
	}
	faster := Requests{Rate: 8, Arrivals: arrivalsFixed, RateRamp: Ramp{To: 10, Factor: 2}, Prompt: length, Output: length}
	if n := count(faster, 100, 10); n < 1599 || n > 1600 { // the first distance is that of step 0
		t.Errorf("%d requests at twice the rate, want 1599 or 1600", n)
	}
	if n := count(Requests{Rate: 0, Prompt: length, Output: length}, 100, 0); n != 0 {
		t.Errorf("%d requests at no rate", n)
	}
}

func TestPrefixTree(t *testing.T) {
	cfg := Requests{Rate: 1, Arrivals: arrivalsFixed, Prompt: Dist{Mean: 1000}, Output: Dist{Mean: 10},
		Prefix: Prefix{Share: 0.5, Branches: []int{2, 3}, Tokens: []int{100, 500}}}
	w := newWorkload(cfg, 1, rand.New(rand.NewPCG(1, 1)))
	parents := map[uint64]uint64{}
	systems := map[uint64]int{}
	shared := 0
	for range 4000 {
		q := w.next(1<<62, 0)
		if len(q.prefix) == 0 {
			continue
		}
		shared++
		system, document := q.prefix[0], q.prefix[1]
		if system.end != 100 || document.end != 600 {
			t.Fatalf("prefixes end at %d and %d, want 100 and 600", system.end, document.end)
		}
		systems[system.id]++
		if p, ok := parents[document.id]; ok && p != system.id {
			t.Fatalf("node %x has two parents", document.id)
		}
		parents[document.id] = system.id
	}
	if len(systems) != 2 || len(parents) != 6 || shared < 1900 || shared > 2100 {
		t.Errorf("%d systems, %d documents, %d of 4000 share; want 2, 6 and about 2000", len(systems), len(parents), shared)
	}

	// Two requests with the same path agree in the blocks inside it, and only in those.
	a := &sequence{id: 1, prefix: []prefixNode{{2, 100}, {4, 600}}}
	b := &sequence{id: 2, prefix: []prefixNode{{2, 100}, {4, 600}}}
	c := &sequence{id: 3, prefix: []prefixNode{{2, 100}, {6, 600}}}
	for i := range 12 {
		if same := a.hash(i, 64) == b.hash(i, 64); same != (i < 9) { // 9 × 64 = 576
			t.Errorf("block %d of one path: same %v", i, same)
		}
		if same := a.hash(i, 64) == c.hash(i, 64); same != (i < 1) {
			t.Errorf("block %d of two paths: same %v", i, same)
		}
	}
}

func TestExperts(t *testing.T) {
	load := func(cfg Experts, tokens, step int) (float64, float64) {
		return (&balancer{cfg: cfg, r: rand.New(rand.NewPCG(1, 1))}).load(tokens, step)
	}
	f := func(cfg Experts, tokens, step int, mean, most float64) {
		t.Helper()
		if m, x := load(cfg, tokens, step); math.Abs(m-mean) > 1e-9 || math.Abs(x-most) > 1e-9 {
			t.Errorf("%+v, %d tokens: mean %g, most %g; want %g and %g", cfg, tokens, m, x, mean, most)
		}
	}
	f(Experts{Cards: 8, TopK: 4}, 100, 0, 50, 50)
	f(Experts{Cards: 8, TopK: 4, Skew: 0.25}, 100, 0, 50, 62.5)
	f(Experts{Cards: 8, TopK: 4, Skew: 0.25, Ramp: Ramp{To: 10, Factor: 2}}, 100, 10, 50, 75)
	f(Experts{Cards: 1, TopK: 4, Skew: 0.25}, 100, 0, 400, 400)
	f(Experts{TopK: 4}, 100, 0, 0, 0)
	f(Experts{Cards: 8, TopK: 4}, 0, 0, 0, 0)
	if mean, most := load(Experts{Cards: 8, TopK: 4, Noise: 0.1}, 1000, 0); mean != 500 || most <= mean || most > 700 {
		t.Errorf("with noise: mean %g, most %g", mean, most)
	}
}

// The error of a step is what was expected to be accepted against what was; the next step begins anew.
func TestConfidenceError(t *testing.T) {
	d := &drafter{cfg: Draft{Accept: []float64{0.8, 0.5}, Threshold: 0.4}, nextN: 2, r: rand.New(rand.NewPCG(1, 1))}
	for range 100 {
		generated, verified := make([]int64, 3), make([]int64, 3)
		for range 10 {
			q := &sequence{output: 100}
			d.propose(q)
			d.judge(q, 0, generated, verified)
		}
		d.propose(&sequence{output: 100}) // preempted before its draft was verified
		if verified[1] != 10 || verified[2] != 10 {
			t.Fatalf("verified %v, want both positions: 0.8 × 0.5 is not below the threshold", verified)
		}
		// Ten sequences expect 0.8 and 0.4 tokens each.
		want := math.Abs(12 - float64(generated[1]+generated[2]))
		if got := d.confidenceError(); math.Abs(got-want) > 1e-9 {
			t.Fatalf("error %g with %v generated, want %g", got, generated, want)
		}
	}
	q := &sequence{output: 100}
	d.cfg.Threshold = 0.41
	if d.propose(q); q.verify != 1 {
		t.Errorf("%d tokens verified, want 1: the confidence in both is 0.4", q.verify)
	}
	q.output = 1
	if d.propose(q); q.verify != 0 {
		t.Errorf("%d tokens verified for a sequence that ends with this step", q.verify)
	}
}

func TestForwardTime(t *testing.T) {
	d := Deployment{Graphs: []int{8, 16, 32},
		Cost: Cost{DecodeMS: 10, TokenUS: 100, PrefillMS: 5, PrefillTokenUS: 10, ContextTokenNS: 500, EagerMS: 20, ExpertShare: 0.5}}
	c, err := d.Curve(1)
	if err != nil {
		t.Fatal(err)
	}
	p := &pricer{cfg: d.Cost, curve: c, r: rand.New(rand.NewPCG(1, 1))}
	seqs := func(n, tokens int) (list []*sequence) {
		for range n {
			list = append(list, &sequence{prompt: tokens})
		}
		return list
	}
	f := func(about string, b batch, imbalance, ms float64, replay bool) {
		t.Helper()
		if got := p.forward(&b, imbalance); math.Abs(float64(got)-ms*1e6) > 2 || b.replay != replay {
			t.Errorf("%s: %d ns, replay %v; want %g ms, %v", about, got, b.replay, ms, replay)
		}
	}
	f("a bucket", batch{tokens: 8, seqs: seqs(2, 0)}, 1, 10.8, true)
	f("padded to the next bucket", batch{tokens: 9, seqs: seqs(2, 0)}, 1, 11.6, true)
	f("context: 2 × 1000 × 500 ns", batch{tokens: 8, seqs: seqs(2, 1000)}, 1, 11.8, true)
	f("no bucket", batch{tokens: 33, seqs: seqs(2, 0)}, 1, 20, false)
	f("no bucket, more work than launches", batch{tokens: 100, seqs: seqs(2, 0)}, 1, 22, false)
	f("prompt", batch{prompt: true, tokens: 1000, seqs: seqs(1, 0)}, 1, 15, false)
	f("prompt, attention", batch{prompt: true, tokens: 1000, qxk: 128_000, seqs: seqs(1, 0)}, 1, 16, false)
	f("experts", batch{tokens: 8, seqs: seqs(2, 0)}, 1.5, 13.5, true)
}

// Without overlap CPU and GPU add up; with it the slower one sets the pace.
func TestStepTimes(t *testing.T) {
	d := DefaultDeployment()
	d.Cost.Jitter = 0
	d.Cost.DecodeMS, d.Cost.TokenUS, d.Cost.ContextTokenNS = 30, 0, 0
	b := batch{tokens: 8, seqs: []*sequence{{prompt: 1}}, joined: 2}
	plain := newTestEngine(t, d, 1).times(&b, 1)
	d.ZOS = true
	zos := newTestEngine(t, d, 1).times(&b, 1)
	// One sequence, two requests: all CPU times × 0.75.
	before := int64(0.75 * (518_000 + 220_000 + 2_300_000 + 432_000))
	after := int64(0.75 * (354_000 + 315_000 + 214_000))
	within := func(about string, got, want int64) {
		t.Helper()
		if got < want-5 || got > want+5 {
			t.Errorf("%s: %d ns, want %d", about, got, want)
		}
	}
	within("step", plain.total, before+500_000+30_000_000+200_000+10_000+after)
	within("step with overlap", zos.total, 30_000_000+200_000+10_000)
	within("waiting", plain.sync, 500_000+30_000_000+200_000+10_000-int64(0.75*(1_040_000+1_100_000)))
	idle := newTestEngine(t, d, 1).times(&batch{}, 1)
	within("idle step", idle.total, 2_013_500)
}
