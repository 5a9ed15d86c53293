package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

var testStart = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

func newTestEngine(t testing.TB, d Deployment, seed uint64) *Engine {
	t.Helper()
	if err := (&Scenario{Deployments: []Deployment{d}}).Validate(); err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(Config{Deployment: d, Seed: seed, World: 8, Start: testStart})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// builtin returns the deployments of all built-in scenarios, and one that is short of everything.
func builtin(t testing.TB) []Deployment {
	var list []Deployment
	for _, name := range BuiltinNames() {
		s, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s.Deployments...)
	}
	d := DefaultDeployment()
	d.Name = "short of everything"
	d.Scheduler = Limits{MaxNumSeqs: 24, MaxNumBatchedTokens: 700, NextN: 3}
	d.KV.Blocks, d.KV.States = 300, 20
	d.Requests.AbortShare, d.Requests.PatienceMS = 0.3, 3000
	return append(list, d)
}

// What goes in comes out or is still there: requests, tokens, blocks, state slots, at every step.
func TestConservation(t *testing.T) {
	for _, d := range builtin(t) {
		t.Run(d.Name, func(t *testing.T) {
			e := newTestEngine(t, d, 7)
			var prompt, generated, verified, accepted int64
			known := map[*sequence]bool{}
			for e.step < 800 {
				if err := e.Step(); err != nil {
					t.Fatal(err)
				}
				tot, r := e.Totals(), &e.record
				if tot.Arrived != tot.Running+tot.Pending+tot.Finished+tot.Aborted {
					t.Fatalf("step %d: arrived is not what is there and what has left: %+v", tot.Steps, tot)
				}
				switch drafted := total(r.NumVerified) - r.NumVerified[0]; {
				case r.Prompt:
					prompt += r.NumBatchedTokens
				case r.NumBatchedTokens != r.NumSeqs+drafted || r.NumVerified[0] != r.NumSeqs || r.NumGenerated[0] != r.NumSeqs:
					t.Fatalf("step %d: %d sequences, %d query tokens, verified %v, generated %v", tot.Steps, r.NumSeqs, r.NumBatchedTokens, r.NumVerified, r.NumGenerated)
				}
				generated += total(r.NumGenerated)
				verified += total(r.NumVerified[1:])
				accepted += total(r.NumGenerated[1:])
				for i := 1; i < len(r.NumVerified); i++ {
					if r.NumGenerated[i] > r.NumVerified[i] || r.NumVerified[i] > r.NumVerified[i-1] || r.NumGenerated[i] > r.NumGenerated[i-1] {
						t.Fatalf("step %d: generated %v of verified %v", tot.Steps, r.NumGenerated, r.NumVerified)
					}
				}
				live(e.sched, func(q *sequence) { known[q] = true })
				if e.step%5 == 0 {
					checkCache(t, e.sched)
				}
			}
			tot := e.Totals()
			if tot.PromptTokens != prompt || tot.Generated != generated || tot.Verified != verified || tot.Accepted != accepted {
				t.Errorf("totals %+v; the steps have %d prompt tokens, %d generated, %d verified, %d accepted", tot, prompt, generated, verified, accepted)
			}
			var held int64 // by all sequences that ever were there
			for q := range known {
				held += int64(q.generated)
				if d.Role == roleDecode {
					held-- // its first token came with it
				}
			}
			if held != generated || generated == 0 || tot.Finished == 0 {
				t.Errorf("the steps have generated %d tokens, the sequences have %d; totals %+v", generated, held, tot)
			}
		})
	}
}

func total(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

func live(s *scheduler, f func(q *sequence)) {
	for _, queue := range [][]*sequence{s.waiting, s.prompted, s.running} {
		for _, q := range queue {
			f(q)
		}
	}
}

// checkCache compares the caches with what the sequences hold.
func checkCache(t *testing.T, s *scheduler) {
	t.Helper()
	refs := make(map[int32]int32)
	states := 0
	live(s, func(q *sequence) {
		for _, b := range q.blocks {
			refs[b]++
		}
		if q.state {
			states++
		}
		if q.state != (len(q.blocks) > 0) || len(q.blocks)*s.cache.BlockSize < q.computed {
			t.Fatalf("sequence %d: state %v, %d blocks, %d tokens computed", q.id, q.state, len(q.blocks), q.computed)
		}
	})
	free := s.cache.Blocks - 1
	for b, n := range refs {
		free--
		if b == 0 || s.pool.refs[b] != n {
			t.Fatalf("block %d has %d references, held %d times", b, s.pool.refs[b], n)
		}
	}
	if free != s.pool.free || states+s.states != s.cache.States-1 {
		t.Fatalf("%d free blocks, want %d; %d and %d states of %d", s.pool.free, free, states, s.states, s.cache.States)
	}
}

// run steps an engine and returns its lines.
func runLines(t testing.TB, d Deployment, seed uint64, steps int64) ([]ledger.Line, *Engine) {
	t.Helper()
	var lines []ledger.Line
	e := newTestEngine(t, d, seed)
	e.cfg.Emit = func(_ time.Time, l *ledger.Line) { lines = append(lines, *l) }
	for e.step < steps {
		if err := e.Step(); err != nil {
			t.Fatal(err)
		}
	}
	return lines, e
}

// figure is the mean of a metric over the lines of a section between two steps.
func figure(t testing.TB, lines []ledger.Line, section ledger.Section, key, label string, from, to int64) float64 {
	t.Helper()
	var sum, n float64
	for i := range lines {
		l := &lines[i]
		if v, ok := l.Value(key, label); ok && l.Section == section && l.Step >= from && l.Step <= to {
			sum += v
			n++
		}
	}
	if n == 0 {
		t.Fatalf("no %s %s in steps %d to %d", key, label, from, to)
	}
	return sum / n
}

// Each built-in scenario tells in the ledger what its description says, and the healthy one doesn't.
func TestStories(t *testing.T) {
	byName := map[string]Deployment{}
	for _, d := range builtin(t) {
		byName[d.Name] = d
	}
	const steps = 3001
	healthy, _ := runLines(t, byName["healthy"], 1, steps)
	h := func(key string, from, to int64) float64 { return figure(t, healthy, ledger.Stats, key, "", from, to) }
	less := func(what string, a, b float64) {
		t.Helper()
		if !(a < b) {
			t.Errorf("%s: %.4g, should be below %.4g", what, a, b)
		}
	}
	less("pending", h("pending", 1000, 3000), 20)
	less("preempted", h("preempted", 3000, 3000), 1)
	less("KV cache usage", h("KV_cache_usage", 1000, 3000), 0.9)
	less("a third of the places", 128./3, h("running", 1000, 3000))
	less("acceptance falls by", h("avg_nextn_accept_rate", 300, 600)-h("avg_nextn_accept_rate", 2500, 3000), 0.03)

	t.Run("kv-starved", func(t *testing.T) {
		lines, e := runLines(t, byName["kv-starved"], 1, steps)
		f := func(key string, from, to int64) float64 { return figure(t, lines, ledger.Stats, key, "", from, to) }
		less("KV cache usage", 0.93, f("KV_cache_usage", 1000, 3000))
		less("preempted early, late", f("preempted", 1000, 1000)+10, f("preempted", 3000, 3000))
		less("pending early, late", f("pending", 500, 1000)+50, f("pending", 2500, 3000))
		less("running", f("running", 1000, 3000), h("running", 1000, 3000)/2)
		if n := e.Totals().Preempted; float64(n) < f("preempted", 3000, 3000) {
			t.Errorf("%d preempted by the engine's own count", n)
		}
	})
	t.Run("drifting-draft", func(t *testing.T) {
		lines, _ := runLines(t, byName["drifting-draft"], 1, steps)
		f := func(key string, from, to int64) float64 { return figure(t, lines, ledger.Stats, key, "", from, to) }
		less("acceptance", f("avg_nextn_accept_rate", 2200, 3000), f("avg_nextn_accept_rate", 300, 500)*0.6)
		for i := 1; i <= 5; i++ {
			p := fmt.Sprint(i)
			less("acceptance at "+p, figure(t, lines, ledger.Stats, "nextn_accept_rate", p, 2200, 3000), 0.7*figure(t, lines, ledger.Stats, "nextn_accept_rate", p, 300, 500))
		}
		less("verified length stays", 0.9*f("avg_verified_len", 300, 500), f("avg_verified_len", 2200, 3000))
		less("confidence error", 3*f("avg_confidence_error", 300, 500), f("avg_confidence_error", 2200, 3000))
		less("tokens per second", f("completion_TPS", 2200, 3000), 0.8*h("completion_TPS", 2200, 3000))
	})
	t.Run("moe-imbalanced", func(t *testing.T) {
		lines, _ := runLines(t, byName["moe-imbalanced"], 1, steps)
		f := func(key string, from, to int64) float64 { return figure(t, lines, ledger.Stats, key, "", from, to) }
		less("moe_lb", f("moe_lb", 200, 500), 1.1)
		less("moe_lb later", 1.4, f("moe_lb", 2000, 3000))
		less("time of a forward", 1.1*figure(t, healthy, ledger.CUDA, "cuda_mean", "forward", 2000, 3000), figure(t, lines, ledger.CUDA, "cuda_mean", "forward", 2000, 3000))
	})
	t.Run("graph-misses", func(t *testing.T) {
		lines, e := runLines(t, byName["graph-misses"], 1, steps)
		launch := func(from, to int64) float64 {
			return figure(t, lines, ledger.CPU, "cpu_mean", "launch_forward", from, to)
		}
		less("launch_forward", 2*launch(300, 900), launch(2400, 3000))
		less("misses", 500, float64(e.Totals().GraphMisses))
	})
	t.Run("nccl-growth", func(t *testing.T) {
		lines, _ := runLines(t, byName["nccl-growth"], 1, steps)
		var got []string
		for i := range lines {
			if l := &lines[i]; l.Section == ledger.NCCL {
				v, _ := l.Value("nccl_total", "")
				n, _ := l.Value("nccl_communicators", "")
				got = append(got, fmt.Sprintf("%d: %.4f GiB in %g", l.Step, v, n))
			}
		}
		// 512 + 319.5 + 419.8 MiB, then twice 704 more, at the samples after steps 900 and 1800.
		want := []string{"10: 1.2220 GiB in 3", "1010: 1.9095 GiB in 4", "2010: 2.5970 GiB in 5"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("memory lines %q, want %q", got, want)
		}
	})
	t.Run("prompt-decode", func(t *testing.T) {
		prompt, p := runLines(t, byName["prompt"], 1, 1001)
		decode, d := runLines(t, byName["decode"], 1, 1001)
		count := func(lines []ledger.Line) (n int) {
			for i := range lines {
				if lines[i].Section == ledger.Stats {
					n++
				}
			}
			return n
		}
		if a, b := count(prompt), count(decode); a != 51 || b != 11 { // every 20 and every 100 steps, and step 0
			t.Errorf("%d lines of the prompt engine, %d of the decode engine; want 51 and 11", a, b)
		}
		if p.Totals().Verified != 0 || p.Totals().Running != 0 || p.Totals().Generated < p.Totals().Finished {
			t.Errorf("the prompt engine decodes: %+v", p.Totals())
		}
		if d.Totals().PromptTokens != 0 || figure(t, decode, ledger.Stats, "TTFT_max", "", 0, 1000) != 0 {
			t.Errorf("the decode engine prefills: %+v", d.Totals())
		}
	})
}

// The shares of accepted tokens are those that the deployment was given.
func TestAcceptance(t *testing.T) {
	d := DefaultDeployment()
	d.Draft = Draft{Accept: []float64{0.8, 0.5, 0.25}, Threshold: 0}
	d.Scheduler.NextN = 3
	d.Requests.Output = Dist{Mean: 500}
	_, e := runLines(t, d, 1, 1)
	var gen, ver [4]int64
	for e.step < 3000 {
		if err := e.Step(); err != nil {
			t.Fatal(err)
		}
		for i, n := range e.record.NumVerified {
			ver[i] += n
			if !e.record.Prompt {
				gen[i] += e.record.NumGenerated[i]
			}
		}
	}
	for i, want := range []float64{1, 0.8, 0.4, 0.1} {
		if got := float64(gen[i]) / float64(ver[i]); math.Abs(got-want) > 0.01 {
			t.Errorf("position %d: %.4f accepted of %d, want %.1f", i, got, ver[i], want)
		}
	}
	if ver[3] >= ver[0] || ver[3] < ver[0]*98/100 { // all but at the ends of answers
		t.Errorf("verified %v: without a threshold every position is", ver)
	}
}

func TestSameSeedSameLedger(t *testing.T) {
	for _, d := range builtin(t) {
		text := func(seed uint64) string {
			lines, e := runLines(t, d, seed, 400)
			var b []byte
			for i := range lines {
				b = append(ledger.AppendLine(b, &lines[i]), '\n')
			}
			return string(b) + fmt.Sprint(e.Totals(), e.now)
		}
		if a := text(1); a != text(1) {
			t.Errorf("%s: two runs with one seed differ", d.Name)
		} else if a == text(2) {
			t.Errorf("%s: two seeds give the same", d.Name)
		}
	}
}

// A step allocates only where sequences come and blocks are taken, so that thousands of engines fit one machine.
func BenchmarkStep(b *testing.B) {
	e := newTestEngine(b, DefaultDeployment(), 1)
	for e.step < 1000 {
		if err := e.Step(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Step(); err != nil {
			b.Fatal(err)
		}
	}
}
