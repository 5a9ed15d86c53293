package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/engine/profile"
)

// Config says which engine of a fleet an [Engine] is.
type Config struct {
	Deployment Deployment
	Seed       uint64
	Index      int // in the fleet: engines with the same seed differ by it
	Rank, GPU  int
	World      int       // ranks of the whole fleet
	Start      time.Time // what the engine's clock shows at first

	// Emit takes the engine's log lines; at is its wall clock. The line is its own to keep. Nil: nobody listens.
	Emit func(at time.Time, line *ledger.Line)
	// Fault is told of each fault when its step comes, those that the engine itself does not suffer. Nil: nobody listens.
	Fault func(f Fault)
}

// Engine is a simulated driver engine. It is for one goroutine, the engine's thread; only what its profiler recorded is
// written on another one.
type Engine struct {
	cfg     Config
	now     int64         // ns since Start, on a clock that never jumps
	jump    time.Duration // of the wall clock against it
	step    int64
	faults  []Fault // still to come, by step
	work    *workload
	sched   *scheduler
	draft   *drafter
	experts *balancer
	price   *pricer
	ledger  *ledger.Ledger
	nccl    *ledger.NCCLMemory

	manager  *profile.Manager // nil: no /profile
	recorder recorder

	// Of the present step, kept for their memory.
	batch  batch
	record ledger.Step
	unread [3]int64 // GPU times of the last steps that nobody has read yet
	recent lengths
	totals Totals
}

// Totals are the sums over an engine's life. At every step Arrived is the sum of Running, Pending, Finished and Aborted.
type Totals struct {
	Steps   int64
	Arrived int64
	Running int64
	Pending int64 // waiting or prefilled
	Chunked int64 // of Pending: in the middle of a chunked prefill

	Finished, Aborted int64
	Preempted         int64

	PromptTokens int64 // computed in prompt steps, repeated prefills included
	CachedTokens int64 // found in the prefix cache instead
	Generated    int64 // tokens
	Verified     int64 // drafted tokens
	Accepted     int64 // of Verified
	GraphMisses  int64 // decode steps without a captured graph
	Evictions    int64 // KV blocks taken although they had contents that others could have used
}

// Streams of random numbers: one for each concern, so that a change to one leaves the others alone.
const (
	streamRequests = iota
	streamDrafts
	streamExperts
	streamTimes
	streamCurve
)

// NewEngine returns an engine before its first step. The deployment must be valid.
func NewEngine(cfg Config) (*Engine, error) {
	d := &cfg.Deployment
	seed := mix(cfg.Seed, uint64(cfg.Index))
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	e := &Engine{cfg: cfg,
		work:    newWorkload(d.Requests, cfg.Index, stream(streamRequests)),
		draft:   &drafter{cfg: d.Draft, nextN: d.Scheduler.NextN, r: stream(streamDrafts)},
		experts: &balancer{cfg: d.MoE, r: stream(streamExperts)},
		price:   &pricer{cfg: d.Cost, r: stream(streamTimes)},
		nccl:    ledger.NewNCCLMemory(cfg.Rank, cfg.GPU, d.Logging.NCCLInterval),
	}
	e.sched = newScheduler(d.Scheduler, d.KV, d.Role, e.draft.propose, e.recent.add)
	e.faults = slices.SortedStableFunc(slices.Values(d.Faults), func(a, b Fault) int { return cmp.Compare(a.Step, b.Step) })
	e.record.NumGenerated = make([]int64, 1+d.Scheduler.NextN)
	e.record.NumVerified = make([]int64, 1+d.Scheduler.NextN)
	var err error
	if e.price.curve, err = d.Curve(cfg.Seed); err != nil {
		return nil, err
	}
	e.ledger, err = ledger.New(ledger.Config{
		Rank: cfg.Rank, GPU: cfg.GPU, Role: ledgerRoles[d.Role], LoggingInterval: d.Logging.Interval,
		MoEInterval: d.Logging.MoEInterval, NextN: d.Scheduler.NextN, ZeroOverhead: d.ZOS,
		MaxBatchedTokens: int64(d.Scheduler.MaxNumBatchedTokens), MaxSeqs: int64(d.Scheduler.MaxNumSeqs),
		PeakTFLOPs: d.FLOPs.Peak, ContextParallel: d.Cards,
	})
	if err != nil {
		return nil, fmt.Errorf("engine of rank %d: %w", cfg.Rank, err)
	}
	return e, nil
}

var ledgerRoles = map[string]ledger.Role{roleMixed: ledger.Mixed, rolePrompt: ledger.Prompt, roleDecode: ledger.Decode}

// Attach lets a manager capture this engine's steps. The manager's profiler must be this engine's, see [Engine.Profiler].
func (e *Engine) Attach(m *profile.Manager) { e.manager = m }

// Now is the engine's clock, which advances by each step and never jumps.
func (e *Engine) Now() time.Time { return e.cfg.Start.Add(time.Duration(e.now)) }

// Wall is the clock of log lines and file names: that of Now, unless a fault moved it.
func (e *Engine) Wall() time.Time { return e.Now().Add(e.jump) }

// Step runs one engine step, or stands still for as long as a fault says.
func (e *Engine) Step() error {
	for len(e.faults) > 0 && e.faults[0].Step <= e.step {
		f := e.faults[0]
		e.faults = e.faults[1:]
		switch f.Kind {
		case faultHang:
			e.now += int64(f.For)
			return nil
		case faultClockJump:
			e.jump += f.For
			continue
		}
		if e.cfg.Fault != nil {
			e.cfg.Fault(f)
		}
	}
	if e.manager != nil {
		e.manager.Step()
	}
	e.now += int64(e.recorder.stall)
	e.recorder.stall = 0
	start := e.Now()
	b := &e.batch
	joined := e.arrive()
	e.sched.abort(e.now)
	e.sched.schedule(e.now, b)
	b.joined = joined

	mean, most := e.experts.load(b.tokens, int(e.step))
	imbalance := 1.0
	if mean > 0 {
		imbalance = most / mean
	}
	t := e.times(b, imbalance)
	e.now += t.total
	e.describe(b, mean, most)
	e.process(b)
	e.recorder.note(b, &t)
	e.time(b, &t)
	err := e.account(start)
	e.now += stepPause
	e.step++
	return err
}

func (e *Engine) arrive() (n int) {
	for q := e.work.next(e.now, int(e.step)); q != nil; q = e.work.next(e.now, int(e.step)) {
		e.sched.add(q)
		n++
	}
	return n
}

// describe fills the record of a step with what its scheduler knew.
func (e *Engine) describe(b *batch, mean, most float64) {
	r, f := &e.record, &e.cfg.Deployment.FLOPs
	r.Prompt = b.prompt
	r.NumSeqs, r.NumBatchedTokens, r.NumCachedTokensGPU = int64(len(b.seqs)), int64(b.tokens), int64(b.cached)
	r.SumSeqLenQxK, r.MaxSeqLenK, r.MinSeqLenK = b.qxk, int64(b.maxK), int64(b.minK)
	r.AttnTFLOPs = f.PerPair * float64(b.qxk) / 1e12
	r.TotalTFLOPs = f.PerToken*float64(b.tokens)/1e12 + r.AttnTFLOPs
	r.HasMoE, r.MoE = mean > 0, ledger.MoELoad{Mean: mean, Max: most}
}

// process books what a step generated.
func (e *Engine) process(b *batch) {
	r := &e.record
	clear(r.NumGenerated)
	clear(r.NumVerified)
	r.FirstTokenLatencies = r.FirstTokenLatencies[:0]
	if b.prompt {
		e.sched.prefilled(b, func(q *sequence) {
			r.NumGenerated[0]++
			q.generated++
			if q.first {
				q.first = false
				r.FirstTokenLatencies = append(r.FirstTokenLatencies, time.Duration(e.now-q.arrival))
			}
			// A prompt engine sends the cache on.
			q.ready = e.now + int64(e.cfg.Deployment.Cost.HandOverTokenUS*float64(q.target)*1e3)
		})
	} else {
		for _, q := range b.seqs {
			e.draft.judge(q, int(e.step), r.NumGenerated, r.NumVerified)
		}
		e.sched.decoded()
	}
	r.ConfidenceError = e.draft.confidenceError()
	e.sum(b)
}

func (e *Engine) sum(b *batch) {
	t, c := &e.totals, &e.sched.counts
	t.Steps++
	if b.prompt {
		t.PromptTokens += int64(b.tokens)
		t.CachedTokens += int64(b.cached)
	} else if len(b.seqs) > 0 && !b.replay {
		t.GraphMisses++
	}
	for i, n := range e.record.NumGenerated {
		t.Generated += n
		if i > 0 {
			t.Accepted += n
			t.Verified += e.record.NumVerified[i]
		}
	}
	t.Arrived, t.Finished, t.Aborted, t.Preempted = c.arrived, c.finished, c.aborted, c.preempted
	t.Running, t.Pending = int64(len(e.sched.running)), int64(len(e.sched.waiting)+len(e.sched.prompted))
	t.Chunked = int64(e.sched.chunkedCount())
	t.Evictions = e.sched.pool.evictions
}

// Totals returns the sums up to the last step.
func (e *Engine) Totals() Totals { return e.totals }

// account hands the step to the ledger, and the lines that are due to whoever listens.
func (e *Engine) account(start time.Time) error {
	now := e.Now()
	due, err := e.ledger.Append(now, e.step, start, &e.record)
	if err != nil {
		return fmt.Errorf("engine of rank %d: %w", e.cfg.Rank, err)
	}
	emit := func(line *ledger.Line) {
		if e.cfg.Emit != nil {
			e.cfg.Emit(e.Wall(), line)
		}
	}
	if due {
		lines := e.ledger.Log(now, e.state())
		for i := range lines {
			emit(&lines[i])
		}
	}
	if e.nccl.Due(e.step) {
		groups, err := e.cfg.Deployment.NCCL.at(e.step)
		if line, ok := e.nccl.Sample(e.step, groups, err); ok {
			emit(&line)
		}
	}
	return nil
}

func (e *Engine) state() *ledger.State {
	t, s := &e.totals, e.sched
	return &ledger.State{
		Running: t.Running, Pending: t.Pending, Chunked: t.Chunked,
		Finished: t.Finished, Preempted: t.Preempted, Aborted: t.Aborted,
		KVBlocks: int64(s.cache.Blocks), FreeKVBlocks: int64(s.pool.free),
		StateBlocks: int64(s.cache.States), FreeStateBlocks: int64(s.states),
		Lengths: e.recent.sum,
	}
}
