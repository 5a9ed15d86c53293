package capture

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

const (
	maxSessions = 1024 // recordings under way at once: more is a runaway server
	maxDone     = 1024 // finished captures that are remembered, to answer a command that comes again
	transfers   = 2    // files that are compressed or sent at once: engines on this host need its cores
)

// Why a capture's context ends.
var (
	errCancelled = errors.New("cancelled")
	errShutdown  = errors.New("the collector ends")
)

// Runner carries out captures.
type Runner struct {
	cfg    Config
	rep    *reporter
	ctx    context.Context // of captures
	cancel context.CancelCauseFunc
	late   context.Context // of what must still be said to engines after a capture's end
	stop   context.CancelFunc
	work   sync.WaitGroup // captures and what lingers after them
	told   sync.WaitGroup // the reporter
	slots  chan struct{}  // transfers

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session // that can be joined
	byID     map[int64]*session
	engines  map[string]chan struct{} // by address: one recording at a time
	done     recent[store.Capture]
	early    recent[struct{}] // cancelled before their command came
}

// New returns a Runner that waits for commands. Close it after use.
func New(cfg Config) *Runner {
	cfg.Waits = cfg.Waits.withDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	r := &Runner{
		cfg: cfg, rep: newReporter(cfg), slots: make(chan struct{}, transfers),
		sessions: map[string]*session{}, byID: map[int64]*session{}, engines: map[string]chan struct{}{},
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.late, r.stop = context.WithCancel(context.Background())
	r.told.Go(func() { r.rep.run(r.late) })
	return r
}

// Do takes commands as they came from the server and returns at once. What is known already is not begun twice.
// Captures of one group in the same call start together.
func (r *Runner) Do(cmds ...wire.Command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	var begun []*session
	for _, cmd := range cmds {
		// The cancel goes first: a capture that comes with its own cancel never begins.
		if cmd.Cancel != 0 {
			r.cancelLocked(cmd.Cancel)
		}
		if cmd.Capture != nil {
			if s := r.beginLocked(*cmd.Capture); s != nil {
				begun = append(begun, s)
			}
		}
	}
	for _, s := range begun {
		r.work.Go(s.run)
	}
}

// Close ends the Runner: captures under way stop where they are, and their last known state is the server's. When the
// collector starts again and is given them, it looks for their files.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel(errShutdown)
	ended := make(chan struct{})
	go func() { r.work.Wait(); close(ended) }()
	var err error
	select {
	case <-ended:
		err = r.rep.flush(ctx)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	r.stop()
	select {
	case <-ended:
	case <-time.After(time.Second): // in a call to a file system that hangs; nothing can end it
		return cmp.Or(err, errors.New("a capture hangs in a call to the file system"))
	}
	r.told.Wait()
	return err
}

func (r *Runner) cancelLocked(id int64) {
	if s := r.byID[id]; s != nil {
		s.cancelOne(id)
	} else if c, ok := r.done.get(id); ok {
		r.rep.tell(c)
	} else {
		r.early.put(id, struct{}{})
	}
}

// beginLocked returns the session that the capture needs to be started, if any.
func (r *Runner) beginLocked(c store.Capture) *session {
	if r.byID[c.ID] != nil {
		return nil
	}
	// A server with a new database counts from 1 again: what has the same number may be another capture.
	if known, ok := r.done.get(c.ID); ok && known.Group == c.Group && known.Engine == c.Engine {
		r.rep.tell(known) // the server has missed it
		return nil
	}
	c.Times = maps.Clone(c.Times)
	if c.Times == nil {
		c.Times = map[store.CaptureState]time.Time{}
	}
	c.Collector = r.cfg.Collector
	if _, ok := r.early.get(c.ID); ok {
		r.finishLocked(c, store.Cancelled, nil)
		return nil
	}
	eng, ok := r.cfg.Engines(c.Engine)
	switch {
	case !ok:
		r.finishLocked(c, store.Failed, &failure{
			what: say("no_engine", r.cfg.Collector, oneLine(c.Engine.Deployment), oneLine(c.Engine.Name)),
			hint: say("no_engine_next"),
		})
		return nil
	case len(r.byID) >= maxSessions:
		r.finishLocked(c, store.Failed, &failure{what: say("too_many", maxSessions), hint: say("too_many_next")})
		return nil
	}
	m := &member{c: c, eng: eng}
	key := eng.Addr + "\x00" + c.Group
	if eng.Kind == DeepInfer || c.Group == "" {
		key = eng.Addr + "\x00#" + strconv.FormatInt(c.ID, 10)
	}
	if s := r.sessions[key]; s != nil {
		r.byID[c.ID] = s
		s.join(m)
		return nil
	}
	s := newSession(r, key, m)
	r.sessions[key] = s
	r.byID[c.ID] = s
	return s
}

// finishLocked ends a capture that never got a session, or leaves one.
func (r *Runner) finishLocked(c store.Capture, state store.CaptureState, why *failure) {
	c.State = state
	c.Times[state] = time.Now()
	if why != nil {
		c.Error, c.Hint = why.Error(), why.hint.Text
		c.Told.Error, c.Told.Hint = why.what, why.hint
	}
	delete(r.byID, c.ID)
	r.done.put(c.ID, c)
	r.rep.tell(c)
}

// finish is finishLocked for those without the lock.
func (r *Runner) finish(c store.Capture, state store.CaptureState, why *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finishLocked(c, state, why)
}

// shut keeps further captures from joining a session.
func (r *Runner) shut(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.key] == s {
		delete(r.sessions, s.key)
	}
}

// occupy waits for an engine's other recordings to end.
func (r *Runner) occupy(ctx context.Context, addr string) (release func(), err error) {
	r.mu.Lock()
	slot := r.engines[addr]
	if slot == nil {
		slot = make(chan struct{}, 1)
		r.engines[addr] = slot
	}
	r.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// recent remembers the last maxDone things by id.
type recent[T any] struct {
	byID  map[int64]T
	order []int64
}

func (r *recent[T]) get(id int64) (T, bool) {
	v, ok := r.byID[id]
	return v, ok
}

func (r *recent[T]) put(id int64, v T) {
	if r.byID == nil {
		r.byID = map[int64]T{}
	}
	if _, ok := r.byID[id]; !ok {
		r.order = append(r.order, id)
	}
	r.byID[id] = v
	if len(r.order) > maxDone {
		delete(r.byID, r.order[0])
		r.order = r.order[1:]
	}
}

// failure is why a capture failed, with the next step.
type failure struct {
	what store.Said
	hint store.Said
	err  error // what failed underneath, or nil
}

// Error is what happened, without the hint.
func (f *failure) Error() string {
	const most = 1500 // bytes: several names, an engine's own words and ours
	return oneLineOf(f.what.Text, most)
}

// Unwrap returns what failed underneath.
func (f *failure) Unwrap() error { return f.err }
