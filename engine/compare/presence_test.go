package compare

import (
	"math"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// running is an engine whose lines all say the same, one every few seconds from 0 on, in
// moments that differ a little, and with a spread of one percent.
func running(name, key string, value float64, lines int, every time.Duration) Engine {
	rng := newRand(uint64(len(name)) + uint64(lines))
	e := Engine{Name: name, Kind: "deepinfer", Role: "mixed"}
	s := Series{Key: key}
	for i := range lines {
		s.Times = append(s.Times, int64(i+1)*int64(every)+rng.Int64N(int64(every)/4))
		s.Flags = append(s.Flags, DecodeStep)
		s.Values = append(s.Values, value*(1+0.01*rng.NormFloat64()))
	}
	e.Series = []Series{s}
	return e
}

func levelOf(t *testing.T, key string, steps StepKind, sides ...Side) Row {
	t.Helper()
	table, err := Compare(sides, Options{Metrics: []string{key}})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range table.Groups {
		for _, r := range g.Rows {
			if r.Metric.Key == key && r.Steps == steps {
				return r
			}
		}
	}
	t.Fatalf("no row %s %s", key, steps)
	return Row{}
}

// TestEnginesThatEndAtDifferentTimes: three engines of 100 tokens/s whose lines end at 300,
// 330 and 345 s. After 300 s nothing is known of the first, so the sum is left out and not
// 200, then 100.
func TestEnginesThatEndAtDifferentTimes(t *testing.T) {
	s := Side{Name: "x", From: 1, To: int64(400 * time.Second), Engines: []Engine{
		running("one", "completion_TPS", 100, 100, 3*time.Second),
		running("second", "completion_TPS", 100, 110, 3*time.Second),
		running("thirdly", "completion_TPS", 100, 115, 3*time.Second),
	}}
	r := levelOf(t, "completion_TPS", BothKinds, s, s)
	if c := r.Cells[0]; math.Abs(c.Level-300) > 1 || c.Spread > 6 || c.Left.Alone < 10 {
		t.Errorf("level %.1f ± %.1f, %d buckets left out; want 300 ± 1.7 (1 %% of 100, three times), and those of the last 45 s left out", c.Level, c.Spread, c.Left.Alone)
	}
	// One that is gone for longer than any line may be is no longer waited for: it worked 100 s of 1,000.
	s.Engines = []Engine{running("one", "completion_TPS", 100, 33, 3*time.Second), running("second", "completion_TPS", 100, 333, 3*time.Second)}
	s.To = int64(1010 * time.Second)
	r = levelOf(t, "completion_TPS", BothKinds, s, s)
	if len(r.Cells[0].Qualifications) != 1 || r.Cells[0].Qualifications[0].Code != PartOfTime {
		t.Errorf("the sum does not say that an engine is silent for a part: %+v", r.Cells[0].Qualifications)
	}
	// 100 s of 200, 60 s of which nothing is said, 840 s of 100: (100 × 200 + 840 × 100) ÷ 940 = 110.6.
	if c := r.Cells[0]; math.Abs(c.Level-110.6) > 1 {
		t.Errorf("level %.1f, want 110.6", c.Level)
	}
}

// TestRareStepsStandForAllEngines: four engines at 8,000 tokens/s in a prompt step make
// 32,000 however seldom each logs one.
func TestRareStepsStandForAllEngines(t *testing.T) {
	side := func(prompts ...int) Side {
		s := Side{Name: "x", From: 1, To: int64(400 * time.Second)}
		for i, n := range prompts {
			e := running(string(rune('a'+i)), "cur_TPS", 8000, 100, 3*time.Second)
			for k := range e.Series[0].Flags {
				// n prompt lines, not at the same time as other engines'.
				if (k+17*i)%100 < n {
					e.Series[0].Flags[k] = PromptStep
				}
			}
			s.Engines = append(s.Engines, e)
		}
		return s
	}
	r := levelOf(t, "cur_TPS", PromptSteps, side(5, 13, 1, 6), side(20, 20, 25, 30))
	for i, c := range r.Cells {
		if math.Abs(c.Level-32000) > 500 {
			t.Errorf("column %d: %.0f, want 4 × 8,000", i, c.Level)
		}
	}
	if v := r.Cells[1].Verdict; v.Evidenced() {
		t.Errorf("equal columns: %s", v)
	}
}

// TestExtremesOfUnlikeNumbersOfEngines: the largest of four is larger than that of one by
// their number alone; of 20 and 21 that hardly matters.
func TestExtremesOfUnlikeNumbersOfEngines(t *testing.T) {
	side := func(n int) Side {
		s := Side{Name: "x", From: 1, To: int64(400 * time.Second)}
		for i := range n {
			s.Engines = append(s.Engines, running(string(rune('a'+i)), "TTFT_max", 100, 100+i, 3*time.Second))
		}
		return s
	}
	f := func(a, b int, want Verdict) {
		t.Helper()
		c := levelOf(t, "TTFT_max", BothKinds, side(a), side(b)).Cells[1]
		if c.Verdict != want || want == Refused && (c.Reason == nil || c.Reason.Code != OtherSize) {
			t.Errorf("%d against %d engines: %s %+v, want %s", a, b, c.Verdict, c.Reason, want)
		}
	}
	if m, _ := ledger.Lookup("TTFT_max"); m.Aggregate.Op != ledger.Max {
		t.Fatalf("TTFT_max is aggregated by %v, the test wants a maximum", m.Aggregate.Op)
	}
	f(1, 4, Refused)
	f(4, 1, Refused)
	f(4, 4, NoEvidence)
	f(20, 21, NoEvidence)
}

// TestLinesThatSpeakForACapture: a line every 4 s; a capture from 101 to 103 s lies between
// two stamps and in the time that the latter speaks for.
func TestLinesThatSpeakForACapture(t *testing.T) {
	e := Engine{Name: "x", Kind: "deepinfer", Captured: []Span{{From: int64(101 * time.Second), To: int64(103 * time.Second)}}}
	s := Series{Key: "completion_TPS"}
	for i := range 100 {
		s.Times = append(s.Times, int64(i+1)*int64(4*time.Second))
		s.Flags = append(s.Flags, DecodeStep)
		v := 100.0
		if i == 25 { // at 104 s
			v = 50
		}
		s.Values = append(s.Values, v)
	}
	e.Series = []Series{s}
	side := Side{Name: "x", From: 1, To: int64(500 * time.Second), Engines: []Engine{e}}
	table, err := Compare([]Side{side, side}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Columns[0].Left.Perturbed; got != 1 {
		t.Errorf("%d lines perturbed, want the one at 104 s", got)
	}
	if c := table.Groups[0].Rows[0].Cells[0]; c.Level != 100 || c.Left.Perturbed != 1 {
		t.Errorf("level %g with %d left out, want 100 without the captured 50", c.Level, c.Left.Perturbed)
	}
}
