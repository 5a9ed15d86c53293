package compare

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stepscope/stepscope/engine/ledger"
)

const sec = int64(1e9)

// series makes one with a sample at each of the given seconds.
func series(key string, seconds []float64, values ...float64) Series {
	s := Series{Key: key, Values: values}
	for _, t := range seconds {
		s.Times = append(s.Times, int64(t*1e9))
	}
	return s
}

// levels measures a metric of some engines with given series.
func levels(m ledger.Metric, all ...[]Series) measured {
	s := Side{To: 1 << 62}
	for _, x := range all {
		s.Engines = append(s.Engines, Engine{Name: "e", Kind: "deepinfer", Series: x})
	}
	return newView(&s).measure(rowID{seriesID: seriesID{key: m.Key}}, ruleOf(m))
}

func lookup(t *testing.T, key string) ledger.Metric {
	t.Helper()
	m, ok := definition(key)
	if !ok {
		t.Fatalf("no metric %s", key)
	}
	return m
}

// TestAggregation: engines become one by each metric's rule, and by nothing else.
func TestAggregation(t *testing.T) {
	at := []float64{10, 20, 30}
	later := []float64{13, 23, 33} // buckets are 10 s wide, as lines are long; the first line, at 10 s, ends bucket 0
	f := func(key string, want float64, engines ...[]Series) {
		t.Helper()
		got := levels(lookup(t, key), engines...)
		if math.Abs(got.cell.Level-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s: %v, want %v", key, got.cell.Level, want)
		}
	}
	// Sum: lines stand for the 10 s before them. Bucket (0, 10] has 100 and, from 3 s on, 200; (10, 20] has 110 and
	// (3×200 + 7×210) ÷ 10 = 207; (20, 30] has 120 and (3×210 + 7×220) ÷ 10 = 217. (30, 40] lacks an engine. Of the first,
	// (1 + 0.7) ÷ 2 = 0.85 is known.
	f("completion_TPS", (0.85*300+317+337)/2.85,
		[]Series{series("completion_TPS", at, 100, 110, 120)}, []Series{series("completion_TPS", later, 200, 210, 220)})
	// Max: max(3, 2), max(5, 7) and max(9, 1); never their mean.
	f("moe_lb", (3+7+9)/3.0, []Series{series("moe_lb", at, 3, 5, 9)}, []Series{series("moe_lb", at, 2, 7, 1)})
	// Min.
	f("min_seqlen_k", (2+4+6)/3.0, []Series{series("min_seqlen_k", at, 2, 9, 6)}, []Series{series("min_seqlen_k", at, 8, 4, 7)})
	// Weighted mean: (0.5×100 + 0.9×300) ÷ 400 = 0.8 and (0.7×100 + 0.3×100) ÷ 200 = 0.5; over time by weight again:
	// (0.8×400 + 0.5×200) ÷ 600 = 0.7.
	f("avg_nextn_accept_rate", 0.7,
		[]Series{series("avg_nextn_accept_rate", at[:2], 0.5, 0.7), series("verified_tokens", at[:2], 100, 100)},
		[]Series{series("avg_nextn_accept_rate", at[:2], 0.9, 0.3), series("verified_tokens", at[:2], 300, 100)})
	// Without a weight in the definition engines count alike: (0.2 + 0.6) ÷ 2.
	f("KV_cache_usage", 0.4, []Series{series("KV_cache_usage", at, 0.2, 0.2, 0.2)}, []Series{series("KV_cache_usage", at, 0.6, 0.6, 0.6)})
	// A counter is its increase per second: 30 in 10 s and 50 in 10 s.
	f("finished", 4, []Series{series("finished", at, 100, 130, 180)})
	// A time to first token of 0 is none: (4 + 8) ÷ 2.
	f("TTFT_mean", 6, []Series{series("TTFT_mean", at, 4, 0, 8)})
}

// TestMissingEngine: a sum of which an engine is missing would be too low.
func TestMissingEngine(t *testing.T) {
	m := lookup(t, "running")
	f := func(until float64, level float64, points, left int, breaks []Span, b ...float64) {
		t.Helper()
		var at, ones, tens []float64
		for x := 10.0; x <= until; x += 10 {
			at, ones = append(at, x), append(ones, 1)
		}
		for range b {
			tens = append(tens, 10)
		}
		side := Side{To: 1 << 62, Engines: []Engine{{Series: []Series{series("running", at, ones...)}}, {Series: []Series{series("running", b, tens...)}, Breaks: breaks}}}
		got := newView(&side).measure(rowID{seriesID: seriesID{key: m.Key}}, ruleOf(m)).cell
		if math.Abs(got.Level-level) > 1e-12 || got.Points != points || got.Left.Alone != left {
			t.Errorf("%v: level %v of %d buckets, %d left out; want %v of %d, %d left out", b, got.Level, got.Points, got.Left.Alone, level, points, left)
		}
	}
	// A line of 30.5 s among lines of 10 s still stands for all of them.
	f(60, 11, 6, 0, nil, 10, 20, 50.5, 60)
	// Lines are known to be lost in them: (20, 30], (30, 40] and (40, 50] lack the engine.
	f(60, 11, 3, 3, []Span{{20 * sec, 50 * sec}}, 10, 20, 50, 60)
	// A line may stand for 10 × 10 s. 110 s is silence: 11 buckets.
	f(180, 11, 7, 11, nil, 10, 20, 130, 140, 150, 160, 170, 180)
	// Of an engine alone too.
	got := levels(m, []Series{series("running", []float64{10, 20, 130, 140, 150, 160}, 1, 1, 1, 1, 1, 1)}).cell
	if got.Points != 5 || got.Left.Alone != 11 {
		t.Errorf("%d buckets, %d left out; want 5, 11 left out", got.Points, got.Left.Alone)
	}
}

// TestLevelsAreOverTime: an engine that is idle logs every second, and every 4 s while it
// works. Its level is that of the time, not of the lines.
func TestLevelsAreOverTime(t *testing.T) {
	// Twelve lines in 18 s, five times over: ten of 1 s without work and two of 4 s with 8 finished requests each. The
	// other engine does the same at another moment of the 18 s.
	const periods = 5
	engine := func(busyAt int) []Series {
		var at []float64
		var sps, running, finished, verified, rate, length []float64
		now, done := 0.0, 100.0
		for range periods {
			for i := range 12 {
				if i != busyAt && i != busyAt+1 {
					now++
					at, sps, running, verified = append(at, now), append(sps, 500), append(running, 0), append(verified, 0)
					rate, length, finished = append(rate, 0), append(length, 0), append(finished, done)
					continue
				}
				now, done = now+4, done+8
				at, sps, running, finished = append(at, now), append(sps, 25), append(running, 9), append(finished, done)
				if i == busyAt { // 300 drafts of 100 sequences, then 100 of 100
					verified, rate, length = append(verified, 300), append(rate, 0.5), append(length, 3)
				} else {
					verified, rate, length = append(verified, 100), append(rate, 0.9), append(length, 1)
				}
			}
		}
		return []Series{series("avg_SPS", at, sps...), series("running", at, running...), series("finished", at, finished...),
			series("verified_tokens", at, verified...), series("avg_nextn_accept_rate", at, rate...), series(verifiedLen, at, length...)}
	}
	side := Side{To: 1 << 62, Engines: []Engine{{Name: "a", Kind: "deepinfer", Series: engine(3)}, {Name: "b", Kind: "deepinfer", Series: engine(8)}}}
	v := newView(&side)
	v.derive()
	f := func(key string, want, tolerance float64, lines int) {
		t.Helper()
		got := v.measure(rowID{seriesID: seriesID{key: key}}, ruleOf(lookup(t, key)))
		if math.Abs(got.cell.Level-want) > tolerance*want || got.cell.Lines != lines {
			t.Errorf("%s: %v of %d lines, want %v of %d", key, got.cell.Level, got.cell.Lines, want, lines)
		}
	}
	f("avg_SPS", (10*500+8*25)/18.0, 1e-9, 120) // 288.9; the mean of the lines is 420.8
	f("running", 2*9*8/18.0, 1e-9, 120)         // 8; the sum of the means of the lines is 3
	// 5 × 16 requests each in the time between the first line and the last. The two first seconds lie in a bucket that
	// counts by what is known of it.
	f("finished", 2*periods*16.0/(periods*18-1), 1e-9, 118)
	// Idle lines verified nothing: they say nothing of acceptance. (0.5×300 + 0.9×100) ÷ 400 = 0.6; 400 ÷ 200 sequences = 2
	// drafts each; and 1 + 240 ÷ 200 = 2.2 tokens.
	f("avg_nextn_accept_rate", 0.6, 1e-9, 20)
	f(verifiedLen, 2, 1e-9, 20)
	f(acceptLen, 2.2, 1e-9, 20)
}

// TestOtherIntervals: lines of a fast engine are averaged, so that it does not count more.
func TestOtherIntervals(t *testing.T) {
	m := lookup(t, "KV_cache_usage")
	fast, slow := Series{Key: m.Key}, Series{Key: m.Key}
	for i := range 40 {
		fast.Times, fast.Values = append(fast.Times, int64(i+1)*sec), append(fast.Values, 0.1)
		if i%10 == 9 {
			slow.Times, slow.Values = append(slow.Times, int64(i+1)*sec), append(slow.Values, 0.5)
		}
	}
	got := levels(m, []Series{fast}, []Series{slow})
	// Buckets are 10 s wide.
	if math.Abs(got.cell.Level-0.3) > 1e-12 || got.cell.Points != 4 {
		t.Errorf("level %v of %d buckets, want 0.3 of 4", got.cell.Level, got.cell.Points)
	}
}

// TestLeftOut: lines of captures, of windows that still fill, and increases over a restart
// do not count, and are counted.
func TestLeftOut(t *testing.T) {
	s := series("completion_TPS", []float64{1, 2, 3, 4, 5, 6}, 900, 10, 500, 12, math.NaN(), 14)
	s.Flags = []Flags{Filling, 0, Perturbed, 0, 0, 0}
	got := levels(lookup(t, "completion_TPS"), []Series{s})
	want := Left{Perturbed: 1, Filling: 1, NotFinite: 1, Alone: 2} // (2, 3] and (4, 5] lie between what is known
	if got.cell.Level != 12 || got.cell.Left != want || got.cell.Lines != 3 {
		t.Errorf("level %v of %d lines, left %+v; want 12 of 3, %+v", got.cell.Level, got.cell.Lines, got.cell.Left, want)
	}
	// 10 → 20 → (restart) 3 → 13 → (clock) 23: increases of 10 in a second, two left out.
	c := series("finished", []float64{1, 2, 3, 4, 5}, 10, 20, 3, 13, 23)
	c.Flags = []Flags{0, 0, 0, 0, ClockJump}
	got = levels(lookup(t, "finished"), []Series{c})
	if got.cell.Level != 10 || got.cell.Left.Resets != 2 {
		t.Errorf("rate %v with %d resets, want 10 with 2", got.cell.Level, got.cell.Left.Resets)
	}
}

// TestKindsOfSteps: prompt and decode lines are rows of their own.
func TestKindsOfSteps(t *testing.T) {
	s := series("batch_usage", []float64{1, 2, 3, 4}, 0.9, 0.1, 0.7, 0.3)
	s.Flags = []Flags{PromptStep, DecodeStep, PromptStep, DecodeStep}
	side := Side{From: 1, To: 2, Engines: []Engine{{Kind: "deepinfer", Series: []Series{s}}}}
	v := newView(&side)
	r := ruleOf(lookup(t, "batch_usage"))
	for kind, want := range map[StepKind]float64{PromptSteps: 0.8, DecodeSteps: 0.2} {
		if got := v.measure(rowID{seriesID{"batch_usage", ""}, kind}, r); math.Abs(got.cell.Level-want) > 1e-12 {
			t.Errorf("%s steps: %v, want %v", kind, got.cell.Level, want)
		}
	}
	// One column with prompt steps only against one with decode steps only.
	p, d := s, s
	p.Flags = []Flags{PromptStep, PromptStep, PromptStep, PromptStep}
	d.Flags = []Flags{DecodeStep, DecodeStep, DecodeStep, DecodeStep}
	table, err := Compare([]Side{{Engines: []Engine{{Kind: "deepinfer", Series: []Series{p}}}}, {Engines: []Engine{{Kind: "deepinfer", Series: []Series{d}}}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Groups[0].Rows {
		if c := row.Cells[1]; c.Verdict != Refused || c.Reason.Code != OtherSteps {
			t.Errorf("%s steps: %v %+v, want a refusal", row.Steps, c.Verdict, c.Reason)
		}
	}
}

func TestRowOrder(t *testing.T) {
	got := []string{"b", "10", "2", "a", "1"}
	slices.SortFunc(got, byLabel)
	if want := []string{"1", "2", "10", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("labels are sorted as %v, want %v", got, want)
	}
}

// TestManyLabels: a log with endless names does not make an endless table.
func TestManyLabels(t *testing.T) {
	side := func(from, n int) Side {
		e := Engine{Kind: "deepinfer"}
		for i := range n {
			c := flat("nccl_group", "", 1, 2)
			c.Label = strconv.Itoa(from + i)
			e.Series = append(e.Series, c)
		}
		return Side{From: 1, To: 2, Engines: []Engine{e}}
	}
	// 1 … 100 and 91 … 190: ten are on both sides.
	table := compared(t, Options{}, side(1, 100), side(91, 100))
	rows := table.Groups[0].Rows
	if len(rows) != maxLabels || table.LeftRows != 190-maxLabels || rows[len(rows)-1].Label != "100" {
		t.Errorf("%d rows to %q, %d left out; want %d to 100, %d left out", len(rows), rows[len(rows)-1].Label, table.LeftRows, maxLabels, 190-maxLabels)
	}
}
