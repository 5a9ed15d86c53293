package web

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

// The board's rhythm and what it looks back at.
const (
	boardEvery    = time.Second           // no more than one gathering in this time …
	boardShare    = 4                     // … nor in this many times what one takes
	boardStale    = 10 * time.Second      // younger figures are shown without any wait for new ones
	boardPatience = 30 * time.Millisecond // longest wait of a page, which then shows older figures or none yet
	latestWithin  = 10 * time.Minute      // an older value is no longer "now"
	eventsWithin  = 15 * time.Minute
	trendWithin   = 30 * time.Minute
	trendPoints   = 30
	trendEvery    = 15 * time.Second // likewise, or trendShare times what it takes
	trendShare    = 20
	gatherTimeout = 30 * time.Second
)

// trendMetric is what the fleet's spark lines show.
const trendMetric = "completion_TPS"

// board keeps the newest figures of all engines, so that pages are rendered
// without reading series and the store is asked about once a second however
// many browsers look. It gathers only when somebody asks.
type board struct {
	st      store.Samples
	now     func() time.Time
	trouble func() map[store.EngineKey]i18n.Both // what collectors can't read, and why
	wait    time.Duration                        // boardPatience, but in tests

	mu      sync.Mutex
	current *snapshot
	running *gathering // nil: none under way
	edits   int64      // counts what was edited: a snapshot from before is not shown
	version int64
	cost    time.Duration // of the last gathering
	trends  trendBook
}

// gathering is one look at the store, under way or done.
type gathering struct {
	edits  int64
	done   chan struct{}
	result *snapshot
	err    error
}

// snapshot is the fleet at one moment. Nobody changes it.
type snapshot struct {
	version     int64 // counts up with each gathering
	edits       int64
	at          time.Time
	deployments []*deploymentState // by name
}

// deploymentState is one deployment at that moment.
type deploymentState struct {
	store.Deployment
	engines   []*engineState
	baselines []store.Baseline
	trend     []float64             // trendMetric of all engines together; NaN where there is none
	row       views.FleetDeployment // all of this as the pages show it, made once for all browsers
}

// engineState is one engine at that moment.
type engineState struct {
	store.Engine
	latest  map[store.Column]store.Latest
	events  []store.Event // of the last eventsWithin
	trouble i18n.Both     // why its collector can't read it, none when it can
	pace    time.Duration // the usual distance of its lines, 0 unknown
	heard   int64         // when it gave something last, ns
	silent  time.Duration // how long it has given nothing, 0 while that is usual
}

// value is the present value of a metric's only series, NaN when there is none:
// neither what a silent engine said last nor what its newest lines no longer say.
func (e *engineState) value(m ledger.Metric) float64 {
	l, ok := e.latest[store.Column{Metric: m.Key}]
	if !ok || e.silent > 0 || e.behind(l) > 0 {
		return math.NaN()
	}
	return present(m, l.Value)
}

func newBoard(st store.Samples, now func() time.Time, trouble func() map[store.EngineKey]i18n.Both) *board {
	return &board{st: st, now: now, trouble: trouble, wait: boardPatience}
}

// find gives a deployment of the snapshot, nil when it has none of that name.
func (s *snapshot) find(name string) *deploymentState {
	for _, d := range s.deployments {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// rhythm is how often the board gathers at most: what happened that long ago
// is in the next snapshot that anybody gets.
func (b *board) rhythm() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pace()
}

func (b *board) pace() time.Duration { return max(boardEvery, boardShare*b.cost) }

// edited says that somebody changed something: the next get sees it.
func (b *board) edited() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.edits++
}

// get returns a snapshot. With fresh it is no older than the rhythm; without, an
// older one will do when the next takes longer than a page may wait, and nil
// while the very first is gathered: the page's script asks for a fresh one.
func (b *board) get(ctx context.Context, fresh bool) (*snapshot, error) {
	for {
		b.mu.Lock()
		s, edits := b.current, b.edits
		var age time.Duration
		usable := s != nil && s.edits == edits
		if usable {
			age = b.now().Sub(s.at)
			if age < b.pace() {
				b.mu.Unlock()
				return s, nil
			}
		}
		run := b.running
		if run == nil {
			run = &gathering{edits: edits, done: make(chan struct{})}
			b.running = run
			// The next visitor wants it too, so it outlives this one.
			go b.gather(context.WithoutCancel(ctx), run)
		}
		b.mu.Unlock()
		if usable && !fresh && age < boardStale {
			return s, nil
		}
		var tooLong <-chan time.Time
		if !fresh && (usable || s == nil) {
			tooLong = time.After(b.wait)
		}
		select {
		case <-run.done:
		case <-tooLong:
			return s, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if run.err != nil || run.edits == edits {
			return run.result, run.err
		}
	}
}

// gather looks at the store once.
func (b *board) gather(ctx context.Context, run *gathering) {
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	began := time.Now()
	run.result, run.err = b.look(ctx)
	b.mu.Lock()
	b.running = nil
	b.cost = time.Since(began)
	if run.err == nil {
		b.version++
		run.result.version, run.result.edits = b.version, run.edits
		b.current = run.result
	}
	b.mu.Unlock()
	close(run.done)
}

// look reads what the pages show of the present. Only one look is under way at a time.
func (b *board) look(ctx context.Context) (*snapshot, error) {
	s := &snapshot{at: b.now()}
	deployments, err := b.st.Deployments(ctx)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*deploymentState, len(deployments))
	for _, d := range deployments {
		state := &deploymentState{Deployment: d}
		byName[d.Name] = state
		s.deployments = append(s.deployments, state)
	}
	engines, err := b.st.Engines(ctx, "")
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]*engineState, len(engines))
	trouble := b.trouble()
	for _, e := range engines {
		if d := byName[e.Deployment]; d != nil {
			state := &engineState{Engine: e, trouble: trouble[e.EngineKey]}
			d.engines = append(d.engines, state)
			byID[e.ID] = state
		}
	}
	baselines, err := b.st.Baselines(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, l := range baselines {
		if d := byName[l.Deployment]; d != nil {
			d.baselines = append(d.baselines, l)
		}
	}
	if err := b.readLatest(ctx, s.at, byID); err != nil {
		return nil, err
	}
	if err := b.trends.update(ctx, b.st, s); err != nil {
		return nil, err
	}
	for _, d := range s.deployments {
		for _, e := range d.engines {
			e.hear(s.at, b.trends.paces[e.ID])
		}
		d.row = viewDeployment(d, s.at)
	}
	return s, nil
}

// readLatest adds the newest values and events of the engines that reported lately.
func (b *board) readLatest(ctx context.Context, now time.Time, byID map[int64]*engineState) error {
	var ids []int64
	for id, e := range byID {
		if now.UnixNano()-e.Last < int64(eventsWithin) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	latest, err := b.st.Latest(ctx, ids, boardMetrics, now.Add(-latestWithin).UnixNano())
	if err != nil {
		return err
	}
	for _, l := range latest {
		if e := byID[l.Engine]; e != nil {
			if e.latest == nil {
				e.latest = map[store.Column]store.Latest{}
			}
			e.latest[l.Column] = l
		}
	}
	events, err := b.st.Events(ctx, ids, now.Add(-eventsWithin).UnixNano(), now.UnixNano()+1)
	if err != nil {
		return err
	}
	for _, ev := range events {
		if e := byID[ev.Engine]; e != nil {
			e.events = append(e.events, ev)
		}
	}
	return nil
}
