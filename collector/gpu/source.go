package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// Options are what a source of cards is made with.
type Options struct {
	// Deployment takes the cards that no engine is known for, as engines "host/gpu{n}" of the kind "gpu".
	Deployment string
	Host       string        // name of this host
	Every      time.Duration // between two readings; 0: 5 s
	// Engines lists the engines on this host as far as known now; nil: none ever.
	Engines func() []Engine
	Library string // path of the driver's library; "": the usual one
	Log     *slog.Logger
}

// Engine is an engine that cards may work for.
type Engine struct {
	Key   store.EngineKey
	UUIDs []string // of its cards
	PIDs  []int    // of its processes
	GPU   int      // index of its driver GPU, −1 unknown
}

const (
	defaultEvery = 5 * time.Second
	// patience is how long a card waits for its engine to become known before it counts as nobody's: a log is read from
	// its end, and the first line of an engine may be some steps away.
	patience = 30 * time.Second
	// tryEvery is how often a missing driver is looked for.
	tryEvery = 10 * time.Minute
	// slow is how long a reading of all cards takes at most; a driver that hangs takes for ever.
	slow = 30 * time.Second
)

// Source reads the cards of this host. It is a [source.Source].
type Source struct {
	opt      Options
	open     func(library string) (Cards, error)
	patience time.Duration

	mu      sync.Mutex
	cards   []*card
	problem *wire.Problem // of all cards
}

// card is one card between readings.
type card struct {
	Device
	engine   store.EngineKey // whose it was at the last reading
	last     time.Time
	readings int64
	samples  int64
	problem  *wire.Problem
	rows     rows
	nvlink   [2]counter
}

// New returns a source; it touches no driver before Run.
func New(opt Options) *Source {
	if opt.Every <= 0 {
		opt.Every = defaultEvery
	}
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	return &Source{opt: opt, open: Open, patience: patience}
}

// Run reads until ctx ends. Without a driver it says so once and looks for one now and then.
func (s *Source) Run(ctx context.Context, sink source.Sink) error {
	said := false
	for {
		err := s.session(ctx, sink)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			return nil
		}
		if !said {
			s.opt.Log.Info("GPU readings are off; all else works", "reason", err)
			said = true
		}
		s.mu.Lock()
		s.problem = wire.NewProblem(time.Now(), offCode(err), err.Error())
		s.mu.Unlock()
		if !sleep(ctx, tryEvery) {
			return nil
		}
	}
}

// offCode is the problem of having no readings: without a card there may be none.
func offCode(err error) string {
	if errors.Is(err, ErrNone) {
		return "gpu.none"
	}
	return "gpu.off"
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// sample is one reading of all cards.
type sample struct {
	devices  []Device // the first time only
	readings []Reading
	at       []time.Time
	err      error
}

// session reads from opening the library to an error. The library is called on a goroutine of its own: a driver that
// hangs must not keep the collector from ending.
func (s *Source) session(ctx context.Context, sink source.Sink) error {
	ask, got := make(chan struct{}), make(chan sample)
	quit := make(chan struct{})
	defer close(quit)
	go s.reader(ask, got, quit)
	start := time.Now()
	for {
		select {
		case ask <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		smp, ok := s.await(ctx, got)
		if !ok {
			return nil
		}
		if smp.err != nil {
			return smp.err
		}
		s.took(smp)
		if b := s.batch(smp, time.Since(start) < s.patience); b != nil {
			if err := sink.Put(ctx, b); err != nil {
				return err
			}
		}
		if !sleep(ctx, s.opt.Every-min(s.opt.Every, time.Since(smp.at[0]))) {
			return nil
		}
	}
}

// await waits for a sample, and says meanwhile that it takes too long.
func (s *Source) await(ctx context.Context, got <-chan sample) (sample, bool) {
	late := time.After(slow)
	for {
		select {
		case smp := <-got:
			return smp, true
		case <-late:
			s.mu.Lock()
			s.problem = wire.NewProblem(time.Now(), "gpu.hangs", slow.String())
			s.mu.Unlock()
		case <-ctx.Done():
			return sample{}, false
		}
	}
}

// reader opens the library and reads whenever it is asked.
func (s *Source) reader(ask <-chan struct{}, got chan<- sample, quit <-chan struct{}) {
	var cards Cards
	var devices []Device
	defer func() {
		if cards != nil {
			cards.Close()
		}
	}()
	for {
		select {
		case <-ask:
		case <-quit:
			return
		}
		var smp sample
		if cards == nil {
			var err error
			if cards, err = s.open(s.opt.Library); err == nil {
				devices, err = cards.Devices()
			} else {
				cards = nil
			}
			smp.err, smp.devices = err, devices
		}
		for _, d := range devices {
			smp.at = append(smp.at, time.Now())
			smp.readings = append(smp.readings, cards.Read(d.Index))
		}
		select {
		case got <- smp:
		case <-quit:
			return
		}
		if smp.err != nil {
			return
		}
	}
}

// took notes what a sample says of the cards' state.
func (s *Source) took(smp sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = nil
	if smp.devices != nil {
		s.cards = nil
		for _, d := range smp.devices {
			s.cards = append(s.cards, &card{Device: d})
		}
	}
	for i, r := range smp.readings {
		c := s.cards[i]
		if r.Err == nil {
			c.last, c.readings, c.problem = smp.at[i], c.readings+1, nil
			continue
		}
		p := wire.NewProblem(smp.at[i], "gpu.card", r.Err.Error())
		p.Since(c.problem)
		c.problem = p
	}
}

// batch makes the rows of a sample, or nil when there are none. early leaves cards without an engine out.
func (s *Source) batch(smp sample, early bool) *store.Batch {
	var engines []Engine
	if s.opt.Engines != nil {
		engines = s.opt.Engines()
	} else {
		early = false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &store.Batch{}
	index := map[store.EngineKey]int{}
	for i, r := range smp.readings {
		c := s.cards[i]
		if r.Err != nil {
			continue
		}
		info := s.owner(c, r, engines)
		if info.Kind == "gpu" && early {
			continue
		}
		e, ok := index[info.EngineKey]
		if !ok {
			e = len(b.Engines)
			index[info.EngineKey] = e
			b.Engines = append(b.Engines, info)
		}
		c.engine = info.EngineKey
		c.samples += c.rows.add(b, e, c, r, smp.at[i])
	}
	if len(b.Rows) == 0 {
		return nil
	}
	return b
}

// owner is the engine that a card works for. Where several might, the first by name has it, so that a card is never
// counted twice.
func (s *Source) owner(c *card, r Reading, engines []Engine) store.EngineInfo {
	engines = slices.Clone(engines)
	slices.SortFunc(engines, func(a, b Engine) int {
		return strings.Compare(a.Key.Deployment+"\x00"+a.Key.Name, b.Key.Deployment+"\x00"+b.Key.Name)
	})
	for _, fits := range []func(Engine) bool{
		func(e Engine) bool { return slices.Contains(e.UUIDs, c.UUID) },
		func(e Engine) bool {
			return slices.ContainsFunc(r.Processes, func(p Process) bool { return slices.Contains(e.PIDs, p.PID) })
		},
		// An index is what the engine calls its card, which a container may have renumbered: the weakest of the three.
		func(e Engine) bool { return e.GPU == c.Index },
	} {
		if i := slices.IndexFunc(engines, fits); i >= 0 {
			return store.EngineInfo{EngineKey: engines[i].Key, Rank: -1, GPU: -1}
		}
	}
	return store.EngineInfo{
		EngineKey: store.EngineKey{Deployment: s.opt.Deployment, Name: fmt.Sprintf("%s/gpu%d", s.opt.Host, c.Index)},
		Kind:      "gpu", Host: s.opt.Host, Rank: -1, GPU: c.Index, Model: c.Name,
	}
}

// Targets is the state of each card, or of the driver when there is none.
func (s *Source) Targets() []wire.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cards) == 0 {
		t := wire.Target{Name: "gpu", Source: "gpu", Kind: "gpu", Health: wire.Waiting, Problem: s.problem}
		if s.problem != nil {
			t.Health = wire.Down
		}
		return []wire.Target{t}
	}
	var list []wire.Target
	for _, c := range s.cards {
		t := wire.Target{Name: fmt.Sprintf("gpu%d %s", c.Index, c.Name), Source: "gpu", Kind: "gpu", Health: wire.Waiting,
			Last: c.last, Lines: c.readings, Samples: c.samples, Problem: c.problem, Missing: c.rows.missing()}
		if c.engine.Name != "" {
			t.Engines = []store.EngineKey{c.engine}
		}
		switch {
		case s.problem != nil:
			t.Health, t.Problem = wire.Down, s.problem
		case c.problem != nil:
			t.Health = wire.Down
		case !c.last.IsZero():
			t.Health = wire.Up
		}
		list = append(list, t)
	}
	return list
}
