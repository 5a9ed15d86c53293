package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/logs"
	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
)

// manager keeps one running loop for each target of the configuration.
type manager struct {
	opt       *Options
	sink      *roster
	batcher   *batcher
	log       *slog.Logger
	claims    logs.Claims
	scheduler *capture.Scheduler

	mu       sync.Mutex
	config   *config.Config
	running  map[string]*loop // by what the target is made of
	finished func()           // called when all targets have come to their natural ends
	problems map[string]wire.Problem
}

// loop is a source and its goroutine.
type loop struct {
	source source.Source
	stop   context.CancelFunc
	done   chan struct{}
	ended  bool // by itself; under the manager's mu
}

func newManager(opt *Options, b *batcher) *manager {
	return &manager{
		opt: opt, batcher: b, sink: newRoster(b), log: opt.Log, config: opt.Config,
		scheduler: capture.NewScheduler(opt.Link, opt.name(), opt.Log), running: map[string]*loop{}, problems: map[string]wire.Problem{},
	}
}

// apply starts and stops loops until they are those of the configuration. Unchanged targets run on undisturbed.
func (m *manager) apply(c *config.Config) {
	want := m.targets(c)
	m.mu.Lock()
	m.config = c
	var stopping []*loop
	for key, l := range m.running {
		if want[key] == nil {
			l.stop()
			stopping = append(stopping, l)
			delete(m.running, key)
		}
	}
	m.mu.Unlock()
	for _, l := range stopping { // before others start that may read the same files
		<-l.done
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if m.running[key] == nil {
			m.running[key] = m.start(want[key]())
		}
	}
}

// start runs a source until it is stopped, again after it failed.
func (m *manager) start(s source.Source) *loop {
	ctx, stop := context.WithCancel(context.Background())
	l := &loop{source: s, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			err := s.Run(ctx, m.sink)
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, source.Ended) {
				m.end(l)
				return
			}
			m.log.Error("a target stopped; starting it again", "target", describe(s), "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(restartPause):
			}
		}
	}()
	return l
}

// end notes that a source has nothing more to give. When none has, the collector is done, unless its configuration may change.
func (m *manager) end(l *loop) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l.ended = true
	for _, other := range m.running {
		if !other.ended {
			return
		}
	}
	if m.opt.File == "" {
		m.finished()
	}
}

// describe names a source for the log.
func describe(s source.Source) string {
	var names []string
	for _, t := range s.Targets() {
		names = append(names, t.Name)
	}
	return strings.Join(names[:min(len(names), 3)], ", ")
}

// stop ends all loops.
func (m *manager) stop() {
	m.mu.Lock()
	loops := slices.Collect(maps.Values(m.running))
	m.mu.Unlock()
	for _, l := range loops {
		l.stop()
	}
	for _, l := range loops {
		<-l.done
	}
}

// watch applies the configuration, and again whenever its file changes. A broken one changes nothing but the report.
func (m *manager) watch(ctx context.Context) {
	m.apply(m.opt.Config)
	if m.opt.File == "" {
		<-ctx.Done()
		return
	}
	file := config.NewFile(m.opt.File)
	tick := time.NewTicker(cmp.Or(m.opt.hurry.look, reloadEvery))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c, changed, err := file.Changed()
		if !changed {
			continue
		}
		if err == nil && c.Name != m.opt.Config.Name {
			err = fmt.Errorf("%s: the collector's name cannot change while it runs; restart it", m.opt.File)
		}
		if err != nil {
			m.log.Error("the changed configuration cannot be used; the one before stays", "error", err)
			m.setProblem("config", wire.NewProblem(time.Now(), "config.broken", err.Error()))
			continue
		}
		m.setProblem("config", nil)
		m.log.Info("the configuration has changed", "file", m.opt.File)
		m.apply(c)
	}
}

func (m *manager) setProblem(of string, p *wire.Problem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p == nil {
		delete(m.problems, of)
	} else {
		m.problems[of] = *p
	}
}

// report tells the server the state of all targets now and then.
func (m *manager) report(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(m.opt.hurry.look, reportEvery))
	defer tick.Stop()
	for {
		r := m.state()
		try, done := context.WithTimeout(ctx, 2*reportEvery)
		if err := m.opt.Link.Report(try, r); err != nil && ctx.Err() == nil {
			m.log.Debug("reporting failed", "error", err)
		}
		done()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// state is the report of this moment.
func (m *manager) state() wire.Report {
	m.mu.Lock()
	loops := make([]*loop, 0, len(m.running))
	for _, key := range slices.Sorted(maps.Keys(m.running)) {
		loops = append(loops, m.running[key])
	}
	r := wire.Report{Collector: m.opt.name(), Time: time.Now()}
	for _, of := range slices.Sorted(maps.Keys(m.problems)) {
		r.Problems = append(r.Problems, m.problems[of])
	}
	for _, d := range m.config.Deployments {
		if d.GPUs != 0 || d.PeakTFLOPs != 0 {
			r.Deployments = append(r.Deployments, wire.DeploymentFacts{Name: d.Name, GPUs: d.GPUs, PeakTFLOPs: d.PeakTFLOPs})
		}
	}
	m.mu.Unlock()
	for _, l := range loops {
		r.Targets = append(r.Targets, l.source.Targets()...)
	}
	r.Problems = append(append(r.Problems, m.batcher.problems()...), m.scheduler.Problems()...)
	return r
}
