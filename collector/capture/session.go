package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// member is one capture of a session.
type member struct {
	c   store.Capture
	eng Engine
	out bool // its last state is told
}

// session is one recording: of one engine, or of all that share an API server.
type session struct {
	r      *Runner
	key    string
	eng    Engine // of the first member; they share its address
	steps  int
	dir    string // folder of the engine's node where the files go
	resume bool   // the recording was begun by an earlier run of the collector
	group  string
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Only the session's own goroutine uses these.
	asked  time.Time // last request to the engine
	linger func()    // what must be said to the engine after the session's end, before the next recording
	marked bool      // the recording's window is told
	opened []*folder // closed at the end

	mu      sync.Mutex
	members []*member
}

func newSession(r *Runner, key string, m *member) *session {
	s := &session{r: r, key: key, eng: m.eng, steps: m.c.Steps, dir: m.c.OutputDir, group: m.c.Group, members: []*member{m}}
	if s.steps <= 0 {
		s.steps = profile.DefaultSteps
	}
	if s.dir == "" {
		s.dir = m.eng.OutputDir
	}
	if at, ok := m.c.Times[store.Asked]; ok && m.c.State != store.Queued {
		s.resume, s.asked = true, at
	}
	s.ctx, s.cancel = context.WithCancelCause(r.ctx)
	return s
}

// join adds a capture while the session goes on; it takes over the states so far.
func (s *session) join(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.members[0].c
	for state, at := range first.Times {
		if _, ok := m.c.Times[state]; !ok {
			m.c.Times[state] = at
		}
	}
	m.c.State = first.State
	for _, s := range warnings(first) {
		warn(&m.c, s)
	}
	s.members = append(s.members, m)
	s.r.rep.tell(m.c)
}

// cancelOne cancels one capture, and says so at once: a folder that hangs must not keep anybody waiting. The recording
// goes on for the others; without others the session ends.
func (s *session) cancelOne(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := 0
	for _, m := range s.members {
		if m.c.ID == id && !m.out {
			m.out = true
			if m.c.State == store.Asked || m.c.State == store.PickedUp {
				warn(&m.c, say("left_recording", cmp.Or(s.dir, profile.DefaultOutputDir)))
			}
			s.r.finishLocked(m.c, store.Cancelled, nil)
		}
		if !m.out {
			live++
		}
	}
	if live == 0 {
		s.cancel(errCancelled)
	}
}

// each changes all live members and tells of it.
func (s *session) each(change func(c *store.Capture)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if !m.out {
			change(&m.c)
			s.r.rep.tell(m.c)
		}
	}
}

// order of the states on the way.
var order = []store.CaptureState{store.Queued, store.Asked, store.PickedUp, store.Captured, store.Found}

// set moves all live members to a state, never back. The first time of a state stays.
func (s *session) set(state store.CaptureState) {
	now := time.Now()
	s.each(func(c *store.Capture) {
		if slices.Index(order, state) < slices.Index(order, c.State) {
			return
		}
		c.State = state
		if _, ok := c.Times[state]; !ok {
			c.Times[state] = now
		}
	})
}

// warn adds a warning to all live members.
func (s *session) warn(said store.Said) {
	s.each(func(c *store.Capture) { warn(c, said) })
}

// joinTexts puts two texts into one, unless it is in there already.
func joinTexts(a, b string) string {
	const most = 2000
	switch {
	case a == "" || a == b:
		return b
	case b == "" || len(a)+len(b) > most || slices.Contains(strings.Split(a, "\n"), b):
		return a
	}
	return a + "\n" + b
}

func (s *session) live() []*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.out })
}

func (s *session) run() {
	s.r.work.Go(s.repeat)
	err := s.work()
	s.r.shut(s)
	s.cancel(nil)
	if errors.Is(err, errShutdown) {
		return // the server gives it again
	}
	for _, m := range s.live() {
		s.end(m, err)
	}
}

// repeat tells the states again now and then, for as long as the session lasts.
func (s *session) repeat() {
	for s.sleep(s.r.cfg.Waits.Repeat) == nil {
		s.each(func(*store.Capture) {})
	}
}

// end tells a member's last state.
func (s *session) end(m *member, err error) {
	s.mu.Lock()
	if m.out {
		s.mu.Unlock()
		return
	}
	m.out = true
	c := m.c
	s.mu.Unlock()
	switch fail := (*failure)(nil); {
	case err == nil:
		s.r.finish(c, store.Stored, nil)
	case errors.Is(err, errCancelled):
		s.r.finish(c, store.Cancelled, nil)
	case errors.As(err, &fail):
		s.r.finish(c, store.Failed, fail)
	default:
		s.r.finish(c, store.Failed, &failure{what: cause(err), err: err})
	}
}

// work records and stores. Members whose files are stored are told by and by.
func (s *session) work() error {
	release, err := s.r.occupy(s.ctx, s.eng.Addr)
	if err != nil {
		return err
	}
	files, err := s.record()
	s.r.shut(s)
	if s.linger != nil {
		s.r.work.Go(func() { s.linger(); release() })
	} else {
		release() // the next recording need not wait for the transfer
	}
	defer func() {
		for _, f := range files {
			f.close()
		}
		for _, f := range s.opened {
			f.close()
		}
	}()
	if err != nil {
		// Whatever failed because the context ended is the context's end.
		if cause := context.Cause(s.ctx); cause != nil {
			return cause
		}
		return err
	}
	return s.store(files)
}

// record gets the engine to write its files, which are complete then.
func (s *session) record() ([]*file, error) {
	switch s.eng.Kind {
	case DeepInfer:
		return s.deepInfer()
	case VLLM:
		return s.vllm()
	case SGLang:
		return s.sglang()
	case TensorRTLLM:
		return s.tensorRT()
	}
	return nil, &failure{
		what: say("unknown_kind", oneLine(s.eng.Kind)),
		hint: say("unknown_kind_next"),
	}
}

// open opens the folder where the engine will write, before it is asked: a trace that nobody can fetch is not worth it.
func (s *session) open(dir string) (*folder, error) {
	paths, err := s.eng.paths()
	if err != nil {
		return nil, &failure{what: cause(err), err: err, hint: say("paths_next")}
	}
	f, err := paths.open(dir)
	switch {
	case errors.Is(err, errOutside):
		return nil, &failure{what: say("output_folder", cause(err)), err: err, hint: say("choose_below_next")}
	case err != nil:
		return nil, &failure{what: say("output_folder", cause(err)), err: err, hint: say("mounted_next")}
	}
	s.opened = append(s.opened, f)
	return f, nil
}

// ask notes that the engine is asked now.
func (s *session) ask() {
	s.asked = time.Now()
	s.set(store.Asked)
}

// perturbed marks the statistics of the recording's engines, from the request until now.
func (s *session) perturbed() {
	if s.r.cfg.Sink == nil || s.marked || s.asked.IsZero() {
		return
	}
	s.marked = true
	keys := slices.Clone(s.eng.Also)
	var ids []string
	s.mu.Lock()
	for _, m := range s.members {
		keys = append(keys, m.eng.Key)
		ids = append(ids, fmt.Sprintf("#%d", m.c.ID))
	}
	s.mu.Unlock()
	e := store.Event{
		Kind: store.CaptureEvent, From: s.asked.UnixNano(), To: time.Now().UnixNano(), FromStep: -1, ToStep: -1, Count: 1,
		Detail: "capture " + strings.Join(ids, ", "),
	}
	b := &store.Batch{}
	seen := map[store.EngineKey]bool{}
	for _, k := range keys {
		if seen[k] {
			continue
		}
		seen[k] = true
		e.Engine = int64(len(b.Engines))
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: k, Rank: -1, GPU: -1})
		b.Events = append(b.Events, e)
	}
	// The sink may have to wait for the server; the capture need not.
	s.r.work.Go(func() {
		if err := s.r.cfg.Sink.Put(s.r.late, b); err != nil {
			s.r.cfg.Log.Warn("the window of a capture was not delivered", "captures", e.Detail, "error", err)
		}
	})
}

// captured says that the engine has recorded.
func (s *session) captured() {
	s.perturbed()
	s.set(store.Captured)
}

// sleep waits, or returns why the capture ends.
func (s *session) sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// pauses are the shares of the time that a busy engine is tried again: the ones engine/profile uses.
var pauses = [...]time.Duration{1, 2, 4, 8, 15}

// backOff waits before try number n (from 0) and says whether there is another.
func (s *session) backOff(n int, said string) (bool, error) {
	if n >= len(pauses) {
		return false, nil
	}
	const whole = 1 + 2 + 4 + 8 + 15
	pause := 2 * s.r.cfg.Waits.Pickup * pauses[n] / whole
	busy := say("busy_again", pause.Round(time.Millisecond), n+2, len(pauses)+1)
	if said != "" {
		busy = say("detail", busy, said)
	}
	s.warn(busy)
	return true, s.sleep(pause)
}
