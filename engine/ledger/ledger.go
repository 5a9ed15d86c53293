package ledger

import (
	"fmt"
	"time"
)

// prefillSteps is how many prompt steps prefill_caching_rate looks back.
const prefillSteps = 50

type (
	positions  [1 + MaxNextN]int64 // per draft position; 0 is the target's own token
	generation struct {
		tokens        positions
		seqs, batched int64
	}
	prefill struct{ calculated, cached int64 }
)

// Ledger keeps the windows of one engine. It is not safe for concurrent use: the engine
// thread owns it.
type Ledger struct {
	// CPU and CUDA hold the timers of the running log interval; Log prints and empties
	// them. The timers EngineStep, EngineStepPrefill and EngineStepDecode of CPU are the
	// base of all shares.
	CPU, CUDA Timers

	cfg         Config
	age, moeAge int64

	prompts    window[int64]
	generated  window[generation]
	verified   window[positions]
	confidence window[float64]
	moe        window[MoELoad]
	tflops     window[float64]

	prefills  [prefillSteps]prefill
	nPrefills int // ever seen; the next one goes to nPrefills % prefillSteps

	last      sample
	seen      bool // last holds a step
	logged    bool
	loggedAt  time.Time
	loggedFor int64 // the step of the last line
}

// sample is what a line says about its own step alone.
type sample struct {
	step              int64
	start             time.Time
	interval          time.Duration // between the starts of the last two steps
	hasInterval       bool
	prompt            bool
	seqs, batched     int64
	generated         int64
	qxk, maxK, minK   int64
	attnTFLOPs        float64
	ttftMax, ttftMean float64 // ms; 0 without first tokens
}

// New returns an empty ledger, or an error when the number of draft positions is out of
// range.
func New(cfg Config) (*Ledger, error) {
	if cfg.NextN < 0 || cfg.NextN > MaxNextN {
		return nil, fmt.Errorf("ledger: nextn is %d; choose 0 to %d", cfg.NextN, MaxNextN)
	}
	l := &Ledger{cfg: cfg, age: int64(cfg.LoggingInterval), moeAge: int64(cfg.MoEInterval)}
	if l.age <= 0 {
		l.age = DefaultLoggingInterval
	}
	if l.moeAge <= 0 {
		l.moeAge = DefaultMoEInterval
	}
	return l, nil
}

// Append takes one step: its number, when it started, and now, when its outputs were
// processed. due says that a line is to be logged now, by a call of Log.
//
// Steps must come with rising numbers and at most 1+nextn positions; otherwise Append
// returns an error and nothing has changed. A prompt step feeds prompt tokens, TFLOPs
// and MoE load; a decode step feeds generation, verification, confidence error, TFLOPs
// and MoE load.
func (l *Ledger) Append(now time.Time, step int64, start time.Time, s *Step) (due bool, err error) {
	if l.seen && step <= l.last.step {
		return false, fmt.Errorf("ledger: step %d came after step %d; begin a new ledger when the engine restarts", step, l.last.step)
	}
	if n := max(len(s.NumGenerated), len(s.NumVerified)); n > 1+l.cfg.NextN {
		return false, fmt.Errorf("ledger: step %d has %d token positions, but nextn is %d; raise nextn", step, n, l.cfg.NextN)
	}
	var gen positions
	copy(gen[:], s.NumGenerated)

	if s.Prompt {
		l.prompts.add(now, step, l.age, s.NumBatchedTokens)
		l.prefills[l.nPrefills%prefillSteps] = prefill{s.NumBatchedTokens + s.NumCachedTokensGPU, s.NumCachedTokensGPU}
		l.nPrefills++
	} else {
		var ver positions
		copy(ver[:], s.NumVerified)
		l.generated.add(now, step, l.age, generation{gen, s.NumSeqs, s.NumBatchedTokens})
		l.verified.add(now, step, l.age, ver)
		l.confidence.add(now, step, l.age, s.ConfidenceError)
	}
	l.tflops.add(now, step, l.age, s.TotalTFLOPs)
	if s.HasMoE {
		l.moe.add(now, step, l.moeAge, s.MoE)
	}
	l.prompts.trim(step, l.age)
	l.generated.trim(step, l.age)
	l.verified.trim(step, l.age)
	l.confidence.trim(step, l.age)
	l.moe.trim(step, l.moeAge)

	l.remember(step, start, s, gen)
	return l.due(step), nil
}

// remember keeps what a line says about its own step. First-token latencies are reduced
// at once, because the engine overwrites their buffer in the next step.
func (l *Ledger) remember(step int64, start time.Time, s *Step, gen positions) {
	cur := sample{
		step: step, start: start, prompt: s.Prompt,
		seqs: s.NumSeqs, batched: s.NumBatchedTokens,
		qxk: s.SumSeqLenQxK, maxK: s.MaxSeqLenK, minK: s.MinSeqLenK,
		attnTFLOPs: s.AttnTFLOPs,
	}
	if l.seen {
		cur.interval, cur.hasInterval = start.Sub(l.last.start), true
	}
	for _, n := range gen {
		cur.generated += n
	}
	if n := len(s.FirstTokenLatencies); n > 0 {
		var sum, worst float64
		for _, d := range s.FirstTokenLatencies {
			ms := milliseconds(d)
			sum, worst = sum+ms, max(worst, ms)
		}
		cur.ttftMax, cur.ttftMean = worst, sum/float64(n)
	}
	l.last, l.seen = cur, true
}

// due says whether a step is logged: step 0, and each step at least an interval after
// the last one logged. A prompt engine, whose steps are few and long, uses a fifth.
func (l *Ledger) due(step int64) bool {
	interval := int64(l.cfg.LoggingInterval)
	if interval <= 0 {
		return false
	}
	if l.cfg.Role == Prompt {
		interval = max(1, interval/5)
	}
	return step == 0 || step-l.loggedFor >= interval
}

// Log returns the lines for the step appended last: [stats], then [cpu] and [cuda] if
// any timer ran. It marks the step as logged and empties the timers. now is the moment
// of the Append before, or later. Without a step there is nothing to log.
func (l *Ledger) Log(now time.Time, st *State) []Line {
	if !l.seen {
		return nil
	}
	head := Line{Rank: l.cfg.Rank, GPU: l.cfg.GPU, Step: l.last.step}
	stats := head
	stats.Section, stats.Values = Stats, l.figures(now, st)
	lines := []Line{stats}
	base := l.CPU.total(EngineStep)
	for _, t := range []struct {
		section Section
		timers  *Timers
	}{{CPU, &l.CPU}, {CUDA, &l.CUDA}} {
		if values := t.timers.values(t.section, base); len(values) > 0 {
			line := head
			line.Section, line.Values = t.section, values
			lines = append(lines, line)
		}
		t.timers.reset()
	}
	l.logged, l.loggedAt, l.loggedFor = true, now, l.last.step
	return lines
}

// Stagger is how long a rank's log thread waits before it writes a batch of lines:
// (rank mod 8) × 5 ms, so that ranks that log at the same step don't write at the same
// moment. With a backlog it drains without pause.
func Stagger(rank int, backlog bool) time.Duration {
	if backlog {
		return 0
	}
	return time.Duration(rank%8) * 5 * time.Millisecond
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
