package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// HubStore is what a Hub needs of a store.
type HubStore interface {
	store.Traces
	store.Samples
	store.Captures
}

// HubOptions are a Hub's times. Zero values are the defaults.
type HubOptions struct {
	Cooldown time.Duration    // between two captures of one engine; 0 is 60 s, below 0 none
	Quota    int              // most captures of all engines within 24 h; 0 is no limit
	PollWait time.Duration    // how long a poll waits for commands; 0 is 25 s
	Now      func() time.Time // the clock; nil is time.Now
}

// Bounds of what the hub keeps of collectors. The texts of a report come from
// other machines.
const (
	maxCollectors = 1024
	maxTargets    = 20_000 // of one report
	maxCollector  = 200    // bytes of a collector's name
	maxTextBytes  = 4_000  // of one text in a report or capture
	goneAfter     = time.Minute
	refusedFor    = 2 * time.Minute  // how long it is told that a process was refused; one that runs tries more often
	takeOverAfter = 45 * time.Second // longer than a poll, so that a waiting collector is no silent one
)

// Hub is where collectors meet the server: it takes in what they deliver, keeps
// their last reports in memory, queues captures for them and tells subscribers
// what changed. It is the wire.Link of a collector in the same process; others
// reach it through the routes under /api/collectors.
//
// A name belongs to one running collector at a time. Two with the same name
// would number their batches alike, and half of both would be taken for
// repetitions and lost. So a second one is refused with wire.ErrTaken while the
// first is heard from, unless it is a later start on the same host: that is a
// restart, and the former process is refused from then on.
type Hub struct {
	st  HubStore
	opt HubOptions

	mu         sync.Mutex
	collectors map[string]*session
	subs       map[*subscriber]struct{}
	stopped    chan struct{} // closed by Stop

	editing  sync.Mutex // from the look at what is said of a deployment to the change of it, by a person or a configuration
	starting sync.Mutex // one request for captures at a time: checks and rows belong together
	captures captureQueue
}

var _ wire.Link = (*Hub)(nil)

// NewHub makes a hub over a store.
func NewHub(st HubStore, o HubOptions) *Hub {
	if o.Cooldown == 0 {
		o.Cooldown = time.Minute
	}
	if o.PollWait <= 0 {
		o.PollWait = 25 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Hub{st: st, opt: o, collectors: map[string]*session{}, subs: map[*subscriber]struct{}{}, stopped: make(chan struct{})}
}

// Stop ends all waiting polls and subscriptions, so that a server can stop.
// Everything else goes on to work.
func (h *Hub) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isStopped() {
		close(h.stopped)
	}
}

func (h *Hub) isStopped() bool {
	select {
	case <-h.stopped:
		return true
	default:
		return false
	}
}

// process tells two runs of a collector apart.
type process struct {
	host    string
	started int64 // ns since 1970
}

type processKey struct{}

// withProcess says which process makes the calls with this context.
func withProcess(ctx context.Context, p process) context.Context {
	return context.WithValue(ctx, processKey{}, p)
}

// session is a collector as the hub knows it.
type session struct {
	process  process
	hello    wire.Hello
	seen     time.Time // last call
	report   wire.Report
	reported time.Time
	targets  map[store.EngineKey]int // index in report.Targets of the target that captures the engine
	taken    time.Time               // when its process took the name over from another
	refused  *wire.Problem           // another process that wanted this name

	facts        []wire.DeploymentFacts // as last taken over
	factsAt      time.Time
	factProblems []wire.Problem // where the store says otherwise
	wake         chan struct{}  // closed and replaced when there is something for a poll
}

// claim finds the collector's session for a call, or refuses the call because
// the name is another process's.
func (h *Hub) claim(ctx context.Context, name string, p process) error {
	if err := store.CheckName("collector", name, maxCollector); err != nil {
		return err
	}
	if p == (process{}) {
		p, _ = ctx.Value(processKey{}).(process)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.opt.Now()
	s := h.collectors[name]
	switch {
	case s == nil:
		if err := h.makeRoom(now); err != nil {
			return err
		}
		s = &session{process: p, wake: make(chan struct{})}
		h.collectors[name] = s
	case p == (process{}) || p == s.process:
	case s.process == (process{}), // it was known by name only
		now.Sub(s.seen) > takeOverAfter,
		p.host == s.process.host && p.started > s.process.started:
		s.process, s.refused, s.taken = p, nil, now
		h.rouse(s) // whoever polls for the old process leaves
	default:
		s.refuse(p, name, now)
		return fmt.Errorf("%w: %q is a collector on host %q that was heard %s ago; give this one another name, or stop the other and wait %s",
			wire.ErrTaken, name, s.process.host, now.Sub(s.seen).Round(time.Second), takeOverAfter)
	}
	s.seen = now
	return nil
}

// handOver is how long calls of a former process may still be on their way, such
// as a poll that it waited in when it was killed.
const handOver = 10 * time.Second

// refuse notes for the page that another process wants the collector's name.
func (s *session) refuse(p process, name string, now time.Time) {
	former := p.host == s.process.host
	if former && now.Sub(s.taken) < handOver {
		return
	}
	problem := wire.NewProblem(now, "collector.taken", p.host, name)
	if former {
		problem = wire.NewProblem(now, "collector.former", p.host, name)
	}
	if s.refused != nil {
		problem.Count += s.refused.Count
	}
	s.refused = &cleanProblems([]wire.Problem{*problem})[0]
}

// makeRoom forgets the collector that was silent longest when there are too many.
func (h *Hub) makeRoom(now time.Time) error {
	if len(h.collectors) < maxCollectors {
		return nil
	}
	oldest, at := "", now
	for name, s := range h.collectors {
		if s.seen.Before(at) {
			oldest, at = name, s.seen
		}
	}
	if now.Sub(at) < goneAfter {
		return fmt.Errorf("this server knows %d collectors already and can keep no more", maxCollectors)
	}
	delete(h.collectors, oldest)
	return nil
}

// rouse makes the collector's polls look again. The hub is locked.
func (h *Hub) rouse(s *session) {
	close(s.wake)
	s.wake = make(chan struct{})
}

// Hello implements wire.Link.
func (h *Hub) Hello(ctx context.Context, hello wire.Hello) (wire.Welcome, error) {
	hello.Host, hello.Version = cleanText(hello.Host, maxCollector), cleanText(hello.Version, maxCollector)
	p, ok := ctx.Value(processKey{}).(process)
	if !ok { // in this process: its later calls come without
		p = process{host: hello.Host, started: hello.Started.UnixNano()}
	}
	if err := h.claim(ctx, hello.Collector, p); err != nil {
		return wire.Welcome{}, err
	}
	positions, seq, err := h.st.Positions(ctx, hello.Collector)
	if err != nil {
		return wire.Welcome{}, fmt.Errorf("where collector %q stands: %w", hello.Collector, err)
	}
	h.mu.Lock()
	if s := h.collectors[hello.Collector]; s != nil {
		s.hello = hello
	}
	h.mu.Unlock()
	if err := h.redeliver(ctx, hello.Collector); err != nil {
		return wire.Welcome{}, err
	}
	h.publish(Event{Kind: CollectorChanged, Collector: hello.Collector})
	return wire.Welcome{Positions: positions, Seq: seq}, nil
}

// Deliver implements wire.Link.
func (h *Hub) Deliver(ctx context.Context, collector string, b *store.Batch) error {
	if err := h.claim(ctx, collector, process{}); err != nil {
		return err
	}
	applied, err := h.st.Deliver(ctx, collector, b)
	if err != nil {
		return fmt.Errorf("batch %d of collector %q: %w", b.Seq, collector, err)
	}
	if !applied || len(b.Rows)+len(b.Events) == 0 {
		return nil
	}
	var names []string
	for _, e := range b.Engines {
		if !slices.Contains(names, e.Deployment) {
			names = append(names, e.Deployment)
		}
	}
	h.publish(Event{Kind: SamplesCame, Deployments: names})
	return nil
}

// Report implements wire.Link.
func (h *Hub) Report(ctx context.Context, r wire.Report) error {
	if err := h.claim(ctx, r.Collector, process{}); err != nil {
		return err
	}
	if len(r.Targets) > maxTargets {
		return fmt.Errorf("%w: a report of %d targets; %d is the most: run several collectors", store.ErrInvalid, len(r.Targets), maxTargets)
	}
	r = cleanReport(r)
	index := map[store.EngineKey]int{}
	for i, t := range r.Targets {
		if !t.CanCapture {
			continue
		}
		for _, e := range t.Engines {
			if old, ok := index[e]; !ok || r.Targets[old].Health != wire.Up && t.Health == wire.Up {
				index[e] = i
			}
		}
	}
	h.mu.Lock()
	if s := h.collectors[r.Collector]; s != nil {
		s.report, s.reported, s.targets = r, h.opt.Now(), index
	}
	h.mu.Unlock()
	h.publish(Event{Kind: CollectorChanged, Collector: r.Collector})
	return h.takeFacts(ctx, r.Collector, r.Deployments)
}

// CollectorState is a collector as the hub last heard of it.
type CollectorState struct {
	Name     string
	Hello    wire.Hello  // zero until it said hello to this run of the server
	Report   wire.Report // zero until it reported
	Reported time.Time   // by this server's clock
	Seen     time.Time   // last call of any kind
	Gone     bool        // nothing heard for a minute
	Refused  *wire.Problem
}

// Collectors lists the collectors that were heard since this server started, by name.
func (h *Hub) Collectors() []CollectorState {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.opt.Now()
	list := make([]CollectorState, 0, len(h.collectors))
	for name, s := range h.collectors {
		c := CollectorState{Name: name, Hello: s.hello, Report: s.report, Reported: s.reported, Seen: s.seen, Gone: now.Sub(s.seen) > goneAfter}
		if s.refused != nil && now.Sub(s.refused.Time) < refusedFor {
			p := *s.refused
			c.Refused = &p
		}
		c.Report.Problems = append(slices.Clip(c.Report.Problems), s.factProblems...)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b CollectorState) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// PutTrace implements wire.Link.
func (h *Hub) PutTrace(ctx context.Context, f wire.TraceFile) (string, error) {
	// A file that was sent before, whose answer was lost, is not read again.
	if t, err := h.st.Trace(ctx, f.SHA256); err == nil && t.Live() {
		return t.ID, nil
	}
	r, err := f.Open(0)
	if err != nil {
		return "", err
	}
	defer r.Close()
	t, _, err := h.st.KeepTrace(ctx, f.Meta, &checked{r: r, sum: sha256.New(), want: f.SHA256, left: f.Size})
	if err != nil {
		return "", fmt.Errorf("keep trace %q: %w", f.Meta.Name, err)
	}
	return t.ID, nil
}

// checked fails at the end of a file that is not the announced one, so that nothing of it is stored.
type checked struct {
	r    io.Reader
	sum  hash.Hash
	want string
	left int64
}

var errChanged = errors.New("the file is not what was announced: it changed while it was read; capture again")

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n])
	c.left -= int64(n)
	if c.left < 0 || err == io.EOF && (c.left != 0 || hex.EncodeToString(c.sum.Sum(nil)) != c.want) {
		return n, errChanged
	}
	return n, err
}
