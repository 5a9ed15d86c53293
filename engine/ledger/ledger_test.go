package ledger

import (
	"math"
	"strings"
	"testing"
	"time"
)

var origin = time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)

// at is a time given in seconds since the origin.
func at(seconds float64) time.Time {
	return origin.Add(time.Duration(math.Round(seconds * 1e9)))
}

// config is an engine with round numbers: peak 500 TFLOP/s, so the limit is 1000.
func config() Config {
	return Config{LoggingInterval: 100, MoEInterval: 128, NextN: 2, MaxBatchedTokens: 1000, MaxSeqs: 10, PeakTFLOPs: 500, ContextParallel: 2}
}

func newLedger(t *testing.T, cfg Config) *Ledger {
	t.Helper()
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// add appends a step that started 0.1 s before now.
func add(t *testing.T, l *Ledger, now float64, step int64, s Step) bool {
	t.Helper()
	due, err := l.Append(at(now), step, at(now-0.1), &s)
	if err != nil {
		t.Fatal(err)
	}
	return due
}

func decode(tokens ...int64) Step { return Step{NumGenerated: tokens} }

// figure logs at a time and returns one figure of the [stats] line.
func figure(t *testing.T, l *Ledger, now float64, st State, key string, label ...string) float64 {
	t.Helper()
	line := Line{Values: l.figures(at(now), &st)}
	got, ok := line.Value(key, strings.Join(label, ""))
	if !ok {
		t.Fatalf("no figure %s %s", key, label)
	}
	return got
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) || math.IsNaN(got) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestTrimByStepAge(t *testing.T) {
	l := newLedger(t, config())
	add(t, l, 0, 1, decode(1))
	add(t, l, 10, 51, decode(50))
	add(t, l, 20, 101, decode(100))
	// Step 1 has age 101 − 1 = 100 ≤ 100 and stays: (50 + 100) ÷ 20.
	near(t, "completion_TPS at age 100", figure(t, l, 20, State{}, "completion_TPS"), 7.5)
	// At step 102 it has age 101 and goes; step 51 becomes the start: (100 + 30) ÷ (30 − 10).
	add(t, l, 30, 102, decode(30))
	near(t, "completion_TPS at age 101", figure(t, l, 30, State{}, "completion_TPS"), 6.5)
	// A pause of a day trims nothing: 130 ÷ (86410 − 10).
	near(t, "completion_TPS after a day", figure(t, l, 86410, State{}, "completion_TPS"), 130.0/86400)
	// Prompt steps trim the decode window too: at step 203 only entries from 103 on may stay.
	add(t, l, 40, 203, Step{Prompt: true, NumBatchedTokens: 1})
	if l.generated.n != 0 || l.verified.n != 0 || l.confidence.n != 0 {
		t.Errorf("left %d, %d, %d entries", l.generated.n, l.verified.n, l.confidence.n)
	}
	near(t, "completion_TPS of an empty window", figure(t, l, 40, State{}, "completion_TPS"), 0)
}

func TestTrimWithoutLogging(t *testing.T) {
	cfg := config()
	cfg.LoggingInterval, cfg.MoEInterval = 0, -1
	l := newLedger(t, cfg)
	for step := range int64(500) {
		if add(t, l, float64(step), step, Step{HasMoE: true, TotalTFLOPs: 1}) {
			t.Fatalf("step %d is due with interval 0", step)
		}
	}
	// Ages 0 … 100 in the windows, 0 … 128 in the MoE window.
	if l.generated.n != 101 || l.tflops.n != 101 || l.moe.n != 129 {
		t.Errorf("kept %d, %d, %d", l.generated.n, l.tflops.n, l.moe.n)
	}
}

func TestPromptEngineTrimsAtFullInterval(t *testing.T) {
	cfg := config()
	cfg.Role = Prompt
	l := newLedger(t, cfg)
	for step := range int64(300) {
		add(t, l, float64(step), step, Step{Prompt: true})
	}
	if l.prompts.n != 101 {
		t.Errorf("kept %d, want 101: the age is the interval undivided", l.prompts.n)
	}
}

func TestCadence(t *testing.T) {
	f := func(role Role, interval int, first int64, want ...int64) {
		t.Helper()
		cfg := config()
		cfg.Role, cfg.LoggingInterval = role, interval
		l := newLedger(t, cfg)
		var got []int64
		for step := first; step <= 45; step++ {
			if add(t, l, float64(step), step, Step{}) {
				l.Log(at(float64(step)), &State{})
				got = append(got, step)
			}
		}
		if len(got) != len(want) {
			t.Errorf("role %d, interval %d: logged %v, want %v", role, interval, got, want)
			return
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("role %d, interval %d: logged %v, want %v", role, interval, got, want)
				break
			}
		}
	}
	f(Mixed, 20, 0, 0, 20, 40)
	f(Decode, 20, 0, 0, 20, 40)
	f(Prompt, 50, 0, 0, 10, 20, 30, 40) // 50 ÷ 5
	f(Prompt, 99, 0, 0, 19, 38)         // 99 ÷ 5, cut to 19
	f(Prompt, 4, 42, 42, 43, 44, 45)    // below 5: every step
	f(Mixed, 20, 7, 20, 40)             // without step 0 the first interval begins at 0
	f(Mixed, 0, 0)
	f(Mixed, -5, 0)
	f(Prompt, 0, 0)
}

func TestLogWithoutAnswerStaysDue(t *testing.T) {
	l := newLedger(t, config())
	if !add(t, l, 0, 0, Step{}) {
		t.Error("step 0 is not due")
	}
	l.Log(at(0), &State{})
	add(t, l, 1, 100, Step{})
	if !add(t, l, 2, 101, Step{}) {
		t.Error("step 101 is not due though step 100 was not logged")
	}
}

func TestAppendRefuses(t *testing.T) {
	l := newLedger(t, config())
	add(t, l, 0, 5, decode(1))
	for _, step := range []int64{5, 4} {
		if _, err := l.Append(at(1), step, at(1), &Step{}); err == nil || !strings.Contains(err.Error(), "after step 5") {
			t.Errorf("step %d: %v", step, err)
		}
	}
	if _, err := l.Append(at(1), 6, at(1), &Step{NumGenerated: make([]int64, 4)}); err == nil || !strings.Contains(err.Error(), "nextn is 2") {
		t.Errorf("%v", err)
	}
	if _, err := l.Append(at(1), 6, at(1), &Step{NumVerified: make([]int64, 4)}); err == nil {
		t.Error("4 verified positions were taken")
	}
	if l.generated.n != 1 || l.last.step != 5 {
		t.Error("a refused step changed the ledger")
	}
	for _, n := range []int{-1, MaxNextN + 1} {
		if _, err := New(Config{NextN: n}); err == nil {
			t.Errorf("nextn %d was taken", n)
		}
	}
}

func TestFirstLogIsZero(t *testing.T) {
	l := newLedger(t, config())
	if lines := l.Log(at(0), &State{}); lines != nil {
		t.Errorf("logged %v before any step", lines)
	}
	add(t, l, 0, 0, Step{NumSeqs: 2, NumBatchedTokens: 2, NumGenerated: []int64{2}, TotalTFLOPs: 9})
	lines := l.Log(at(0), &State{})
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, key := range []string{"avg_SPS", "prompt_TPS", "completion_TPS", "avg_nextn_accept_rate", "verified_tokens",
		"accepted_tokens", "avg_verified_len", "avg_confidence_error", "prefill_caching_rate", "MFU"} {
		if got, ok := lines[0].Value(key, ""); !ok || got != 0 {
			t.Errorf("%s is %v, %v", key, got, ok)
		}
	}
}

func TestStagger(t *testing.T) {
	for rank, want := range map[int]time.Duration{0: 0, 1: 5e6, 7: 35e6, 8: 0, 13: 25e6} {
		if got := Stagger(rank, false); got != want {
			t.Errorf("rank %d waits %v, want %v", rank, got, want)
		}
		if got := Stagger(rank, true); got != 0 {
			t.Errorf("rank %d waits %v under backlog", rank, got)
		}
	}
}
