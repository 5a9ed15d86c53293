package sim

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Options say how a scenario is run.
type Options struct {
	Seed  uint64
	Steps int64     // of each engine; 0: until the context ends
	Speed float64   // seconds of the engines' clocks per real second; 0: as fast as possible
	Start time.Time // of the engines' clocks; zero: now, or, as fast as possible, a day in March 2026 by the seed
	// History is how much of the engines' clocks is run as fast as possible before Speed holds.
	History time.Duration
	// Warmup is how long nothing is logged: the engines are found at work, not empty.
	Warmup time.Duration

	// Log is the path of the log; {rank} in it makes a file for each engine, otherwise they share one. Empty: LogStream.
	Log       string
	LogStream io.Writer // nil: no log
	Rotate    Rotation

	CurveDir string // where each deployment's decode curve is kept; empty: nowhere

	Profile ProfileOptions
	Faults  []Fault      // of every engine, beside those of the scenario
	Errors  *slog.Logger // what an engine's operator would see; nil: [slog.Default]
}

// Fleet is the engines of a scenario on one thread. Each step is that of the engine whose clock is the furthest behind, so
// a fleet's output depends on its options alone, captures and a clock that starts now aside.
type Fleet struct {
	opt     Options
	members []*member
	queue   memberHeap
	logs    map[string]*logFile
	lines   logQueue
	done    map[logFault]bool
}

// logFault is a fault of a log. Engines that share a log suffer it once.
type logFault struct {
	log   *logFile
	fault Fault
}

// member is an engine with what is around it.
type member struct {
	*Engine
	index int
	log   *logFile
	port  *port // nil: no /profile
}

// NewFleet makes the engines, opens their logs and their ports. Close it after use.
func NewFleet(s *Scenario, opt Options) (*Fleet, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if opt.Errors == nil {
		opt.Errors = slog.Default()
	}
	if opt.Start.IsZero() {
		if opt.Start = time.Now(); opt.Speed == 0 {
			r := rand.New(rand.NewPCG(opt.Seed, 0))
			opt.Start = time.Date(2026, time.March, 2, 9, r.IntN(480), r.IntN(60), 0, time.UTC)
		}
	}
	f := &Fleet{opt: opt, logs: map[string]*logFile{}, done: map[logFault]bool{}}
	world := 0
	for _, d := range s.Deployments {
		world += d.Engines * d.Cards
	}
	rank := 0
	for _, d := range s.Deployments {
		if opt.CurveDir != "" {
			if err := keepCurve(opt.CurveDir, &d, opt.Seed, opt.Start); err != nil {
				return nil, errors.Join(err, f.Close())
			}
		}
		for range d.Engines {
			if err := f.add(d, rank, max(world, minWorld)); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			rank += d.Cards
		}
	}
	return f, nil
}

const (
	// minWorld is the least number of ranks that a fleet pretends to have: a driver engine alone has its workers.
	minWorld = 8
	// MaxGPU is the highest id of a GPU: engines beyond begin again with 0, as on another host.
	MaxGPU = 15
)

func (f *Fleet) add(d Deployment, rank, world int) error {
	m := &member{index: len(f.members)}
	d.Faults = append(append([]Fault(nil), d.Faults...), f.opt.Faults...)
	if f.opt.Log != "" || f.opt.LogStream != nil {
		path := strings.ReplaceAll(f.opt.Log, "{rank}", strconv.Itoa(rank))
		if f.logs[path] == nil {
			l, err := openLog(path, f.opt.LogStream, f.opt.Rotate)
			if err != nil {
				return fmt.Errorf("log: %w; give a path that can be written", err)
			}
			f.logs[path] = l
		}
		m.log = f.logs[path]
	}
	var err error
	m.Engine, err = NewEngine(Config{
		Deployment: d, Seed: f.opt.Seed, Index: m.index, Rank: rank, GPU: m.index % (MaxGPU + 1), World: world, Start: f.opt.Start,
		Emit:  func(at time.Time, line *ledger.Line) { f.emit(m, at, line) },
		Fault: func(x Fault) { f.fault(m, x) },
	})
	if err != nil {
		return err
	}
	if f.opt.Profile.PortBase > 0 {
		m.port = newPort(m.Engine, f.opt.Profile, f.opt.Errors)
		m.port.listen(f.opt.Profile)
	}
	f.members = append(f.members, m)
	heap.Push(&f.queue, m)
	return nil
}

// emit hands a line to the engine's log thread, which writes it a moment later, each rank at a moment of its own.
func (f *Fleet) emit(m *member, at time.Time, line *ledger.Line) {
	if m.log == nil || m.now < int64(f.opt.Warmup) {
		return
	}
	wait := ledger.Stagger(m.cfg.Rank, false)
	f.lines.add(m.now+int64(wait), func() error {
		text, err := appendLogLine(nil, m.cfg.Deployment.Logging.Prefix, at.Add(wait), line)
		if err != nil {
			return err
		}
		return m.log.write(text)
	})
}

// fault does to a log what a fault says.
func (f *Fleet) fault(m *member, x Fault) {
	key := logFault{m.log, x}
	if m.log == nil || f.done[key] {
		return
	}
	f.done[key] = true
	switch x.Kind {
	case faultRotate:
		f.lines.add(m.now, func() error { return m.log.turn(false) })
	case faultTruncate:
		f.lines.add(m.now, m.log.truncate)
	}
}

// Engines returns the fleet's engines, in the order of their ranks. They must not be stepped.
func (f *Fleet) Engines() []*Engine {
	list := make([]*Engine, len(f.members))
	for i, m := range f.members {
		list[i] = m.Engine
	}
	return list
}

// Run steps the engines until each has made its steps or has crashed, or the context ends, which is no error. Errors are
// those of the log.
func (f *Fleet) Run(ctx context.Context) error {
	var began time.Time // when Speed began to hold
	for len(f.queue) > 0 {
		m := f.queue[0]
		if live := time.Duration(m.now) - f.opt.History; f.opt.Speed > 0 && live >= 0 {
			if began.IsZero() {
				began = time.Now()
			}
			at := time.Duration(float64(live) / f.opt.Speed)
			if !wait(ctx, at-time.Since(began)) {
				break
			}
		} else if ctx.Err() != nil {
			break
		}
		if err := f.lines.drain(m.now); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if f.opt.Steps > 0 && m.step >= f.opt.Steps || m.port != nil && m.port.crashed.Load() {
			heap.Pop(&f.queue)
			continue
		}
		if m.port != nil {
			m.port.step.Store(m.step)
		}
		if err := m.Step(); err != nil {
			return err
		}
		heap.Fix(&f.queue, 0)
	}
	// The log threads write out what they have.
	if err := f.lines.drain(1<<63 - 1); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

// wait passes a time, if positive; false when the context ends first.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Close closes ports and logs. Requests that wait are answered, and a trace that is being written gets its end.
func (f *Fleet) Close() error {
	var first error
	for _, m := range f.members {
		if m.port != nil {
			m.port.close()
		}
	}
	for _, l := range f.logs {
		if err := l.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// memberHeap has the engine on top whose clock is the furthest behind, of equal ones the first.
type memberHeap []*member

func (h memberHeap) Len() int { return len(h) }
func (h memberHeap) Less(i, j int) bool {
	if h[i].now != h[j].now {
		return h[i].now < h[j].now
	}
	return h[i].index < h[j].index
}
func (h memberHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *memberHeap) Push(m any)   { *h = append(*h, m.(*member)) }
func (h *memberHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	*h = old[:len(old)-1]
	return m
}
