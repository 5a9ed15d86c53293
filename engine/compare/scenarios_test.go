package compare

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/sim"
)

// since cuts a side's beginning off.
func since(s Side, after time.Duration) Side {
	from := simStart.Add(after).UnixNano()
	s.From = from
	for e := range s.Engines {
		for k := range s.Engines[e].Series {
			c := &s.Engines[e].Series[k]
			i, _ := slices.BinarySearch(c.Times, from)
			c.Times, c.Steps, c.Flags, c.Values = c.Times[i:], c.Steps[i:], c.Flags[i:], c.Values[i:]
		}
	}
	return s
}

// TestWhereTellsTheStory compares every scenario with a healthy engine: what the scenario
// is about stands among the first three, and nothing contradicts the headline unmarked.
func TestWhereTellsTheStory(t *testing.T) {
	stories := map[string]struct {
		way     float64  // of generated tokens per second
		want    []string // any of them; none: nothing goes with a difference
		after   time.Duration
		traffic bool // the healthy engine gets the scenario's requests
	}{
		"healthy": {}, // the same
		// Fewer blocks than sequences need: the cache is full, sequences lose their place, few run, the rest waits.
		"kv-starved": {way: -1, want: []string{"KV_cache_usage", "preempted", "pending", "running"}},
		// The draft head no longer guesses what the target says: fewer tokens a step. Steps 500 to 2000 take 1½ minutes.
		"drifting-draft": {way: -1, want: []string{acceptLen, "nextn_accept_rate 1"}, after: 150 * time.Second},
		// One card has half as much work again as the mean and all wait for it, which load below capacity hides.
		"moe-imbalanced": {want: []string{"moe_lb"}, after: 150 * time.Second},
		// No graph for the batch: launches take longer. Its requests come 1.1 times as often as the healthy engine's.
		"graph-misses": {want: []string{"cpu_mean launch_forward"}, after: 150 * time.Second, traffic: true},
		// Two groups more: memory, which costs no time.
		"nccl-growth": {want: []string{"nccl_total"}},
		// No decode steps, a single token of each request, and nothing that stays.
		"prompt": {way: -1, want: []string{"decode_share", "running", "avg_output_length"}},
		// No prefill between decode steps, and 1.4 times the requests.
		"decode": {way: +1, want: []string{"decode_share", arrivalRate}},
	}
	healthy := sim.DefaultDeployment()
	healthy.Name = "healthy"
	plain := simulatedFor(t, healthy, 1, 8*time.Minute, 1)
	for _, name := range sim.BuiltinNames() {
		scenario, err := sim.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range scenario.Deployments {
			story, ok := stories[d.Name]
			if !ok {
				t.Errorf("scenario %s has a deployment %s without a story", name, d.Name)
				continue
			}
			a := plain
			if story.traffic {
				h := healthy
				h.Requests.Rate = d.Requests.Rate * d.Requests.RateRamp.Factor
				a = simulatedFor(t, h, 1, 8*time.Minute, 1)
			}
			a, b := since(copied(a), story.after), since(simulatedFor(t, d, 1, 5*time.Minute+story.after, 2), story.after)
			table := compared(t, Options{}, a, b)
			way := 0.0
			if c := row(t, table, "completion_TPS", "", "").Cells[1]; c.Verdict.Evidenced() {
				way = sign(c.Diff.Value)
			}
			if way != story.way {
				t.Errorf("%s: throughput goes %+g, want %+g", d.Name, way, story.way)
			}
			found := len(story.want) == 0 && len(table.Where) == 0
			for i, f := range table.Where {
				if i < 3 && slices.Contains(story.want, strings.TrimSpace(f.Key+" "+f.Label)) {
					found = true
				}
				if !f.Against && f.Share*way < 0 {
					t.Errorf("%s: unmarked against the headline: %s", d.Name, f.Text.EN)
				}
				if f.Against && i+1 < len(table.Where) && !table.Where[i+1].Against {
					t.Errorf("%s: against the headline, and before %s", d.Name, table.Where[i+1].Text.EN)
				}
				if math.Abs(way) == 0 && f.Against {
					t.Errorf("%s: against no headline: %s", d.Name, f.Text.EN)
				}
			}
			if !found {
				t.Errorf("%s: none of %v among the first three:", d.Name, story.want)
				for _, f := range table.Where {
					t.Log(f.Text.EN)
				}
			}
			if d.Name == "kv-starved" {
				for _, g := range table.Groups {
					for _, r := range g.Rows {
						if isStepTime(r.Metric.Key) && r.Cells[1].Verdict == Better {
							t.Errorf("%s %s of smaller batches is called better", r.Metric.Key, r.Label)
						}
					}
				}
			}
		}
	}
}

// TestSmallBatchesSoon: two minutes of a starved engine are too few to be sure that fewer
// sequences run, and its faster timers are no gain all the same.
func TestSmallBatchesSoon(t *testing.T) {
	scenario, err := sim.Builtin("kv-starved")
	if err != nil {
		t.Fatal(err)
	}
	healthy := sim.DefaultDeployment()
	healthy.Name = "healthy"
	for seed := range uint64(3) {
		table := compared(t, Options{}, simulatedFor(t, healthy, 2, 2*time.Minute, 10+seed), simulatedFor(t, scenario.Deployments[0], 2, 2*time.Minute, 20+seed))
		if c := row(t, table, "completion_TPS", "", "").Cells[1]; c.Verdict != Worse {
			continue // too few lines for that too
		}
		for _, g := range table.Groups {
			for _, r := range g.Rows {
				if isStepTime(r.Metric.Key) && r.Cells[1].Verdict == Better {
					t.Errorf("%s %s of smaller batches is called better", r.Metric.Key, r.Label)
				}
			}
		}
		if len(table.Where) == 0 || table.Where[0].Key != "KV_cache_usage" {
			t.Errorf("where: %+v, want the full cache first", table.Where)
		}
		for _, f := range table.Where {
			if f.Key == "cpu_mean" {
				t.Errorf("timers of smaller batches are listed: %s", f.Text.EN)
			}
		}
	}
}

// copied has series of its own, so that they can be cut.
func copied(s Side) Side {
	s.Engines = slices.Clone(s.Engines)
	for i := range s.Engines {
		s.Engines[i].Series = slices.Clone(s.Engines[i].Series)
	}
	return s
}

// TestVainWork: more FLOP with no more tokens is a change, and a gain with them.
func TestVainWork(t *testing.T) {
	f := func(tokens float64, want Verdict) {
		t.Helper()
		rng := newRand(17)
		table := compared(t, Options{}, steady.side(rng), with(map[string]float64{"completion_TPS": tokens, "MFU": 1.3, "batch_usage": 1.4}).side(rng))
		if c := row(t, table, "MFU", "", "").Cells[1]; c.Verdict != want || (want == Changed) != slices.Contains(codes(c.Qualifications), Follows) {
			t.Errorf("%g times the tokens: MFU %v with %v, want %v", tokens, c.Verdict, codes(c.Qualifications), want)
		}
		if c := row(t, table, "batch_usage", "", "").Cells[1]; c.Verdict != Changed {
			t.Errorf("%g times the tokens: batch usage %v, want changed", tokens, c.Verdict)
		}
	}
	f(1.2, Better)
	f(1, Changed)
	f(0.8, Changed)
}

// TestStarvedIsTold: three minutes of an engine that lacks cache blocks beside a healthy one.
// Though fewer requests come to it, its load is not called lighter: the queue grows, and
// what every user feels is in the answer, from a handful of first tokens.
func TestStarvedIsTold(t *testing.T) {
	scenario, err := sim.Builtin("kv-starved")
	if err != nil {
		t.Fatal(err)
	}
	healthy := sim.DefaultDeployment()
	healthy.Name = "healthy"
	table := compared(t, Options{}, simulatedFor(t, healthy, 2, 3*time.Minute, 1), simulatedFor(t, scenario.Deployments[0], 2, 3*time.Minute, 2))
	told := make(map[string]Verdict)
	for _, f := range table.Answer {
		told[f.Key] = f.Verdict
		if strings.Contains(f.Text.EN, "lighter") {
			t.Errorf("an overloaded engine is excused: %s", f.Text.EN)
		}
	}
	for _, key := range []string{"completion_TPS", requestTime, "pending", "TTFT_mean"} {
		if told[key] != Worse {
			t.Errorf("the answer says %q of %s, want worse", told[key], key)
		}
	}
	for _, q := range row(t, table, "TTFT_mean", "", "").Cells[1].Qualifications {
		if q.Code == OtherLoad && strings.Contains(q.Short.EN, "lighter") {
			t.Errorf("times to first token: %s", q.Short.EN)
		}
	}
}
