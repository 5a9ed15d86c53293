package capture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
)

// server is a Link that keeps all it is told.
type server struct {
	t        *testing.T
	mu       sync.Mutex
	captures map[int64]store.Capture
	traces   map[string][]byte // by id
	metas    map[string]store.Meta
	changed  chan struct{} // closed at each change
	away     int           // so many more calls fail
	put      func(f wire.TraceFile) error
	batches  []*store.Batch
}

func newServer(t *testing.T) *server {
	return &server{t: t, captures: map[int64]store.Capture{},
		traces: map[string][]byte{}, metas: map[string]store.Meta{}, changed: make(chan struct{})}
}

var errAway = errors.New("the server is away")

func (s *server) Update(_ context.Context, collector string, u wire.CaptureUpdate) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away > 0 {
		s.away--
		return errAway
	}
	if collector != "node7" {
		s.t.Errorf("update of collector %q", collector)
	}
	c := u.Capture
	old := s.captures[c.ID]
	if old.State.Done() && old.State != c.State {
		s.t.Errorf("capture %d went from %s to %s", c.ID, old.State, c.State)
	}
	for state, at := range old.Times {
		if !c.Times[state].Equal(at) {
			s.t.Errorf("capture %d: the time of %s changed", c.ID, state)
		}
	}
	if _, ok := c.Times[c.State]; !ok {
		s.t.Errorf("capture %d is %s and has no time of it", c.ID, c.State)
	}
	s.captures[c.ID] = c
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

func (s *server) PutTrace(_ context.Context, f wire.TraceFile) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away > 0 {
		s.away--
		return "", errAway
	}
	if s.put != nil {
		if err := s.put(f); err != nil {
			return "", err
		}
	}
	// In two pieces, as after a broken transfer.
	var all []byte
	for _, end := range []int64{f.Size / 2, f.Size} {
		r, err := f.Open(int64(len(all)))
		if err != nil {
			return "", err
		}
		part, err := io.ReadAll(io.LimitReader(r, end-int64(len(all))))
		if err = errors.Join(err, r.Close()); err != nil {
			return "", err
		}
		all = append(all, part...)
	}
	sum := sha256.Sum256(all)
	if id := hex.EncodeToString(sum[:]); id != f.SHA256 || int64(len(all)) != f.Size {
		return "", fmt.Errorf("%w: got %d bytes with %s, announced %d with %s", store.ErrInvalid, len(all), id, f.Size, f.SHA256)
	}
	s.traces[f.SHA256], s.metas[f.SHA256] = all, f.Meta
	return f.SHA256, nil
}

// Put makes the server the sink of events too.
func (s *server) Put(_ context.Context, b *store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, b)
	return nil
}

func (s *server) Position(string) string { return "" }

// events are the capture events so far, as "deployment/engine from..to" relative to a time.
func (s *server) events() (keys []string, spans [][2]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		for _, e := range b.Events {
			if e.Kind != store.CaptureEvent {
				s.t.Errorf("event of kind %s", e.Kind)
			}
			k := b.Engines[e.Engine].EngineKey
			keys = append(keys, k.Deployment+"/"+k.Name)
			spans = append(spans, [2]time.Time{time.Unix(0, e.From), time.Unix(0, e.To)})
		}
	}
	return keys, spans
}

// wait waits until the capture is so, at most for 20 s.
func (s *server) wait(id int64, want func(store.Capture) bool) store.Capture {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		c, changed := s.captures[id], s.changed
		s.mu.Unlock()
		if want(c) {
			return c
		}
		select {
		case <-changed:
		case <-deadline:
			s.t.Fatalf("capture %d stays as %+v", id, c)
		}
	}
}

func (s *server) done(id int64) store.Capture {
	s.t.Helper()
	return s.wait(id, func(c store.Capture) bool { return c.State.Done() })
}

func (s *server) state(id int64, state store.CaptureState) store.Capture {
	s.t.Helper()
	return s.wait(id, func(c store.Capture) bool { return c.State == state })
}

// content is a stored trace, unpacked.
func (s *server) content(id string) string {
	s.t.Helper()
	s.mu.Lock()
	data, ok := s.traces[id]
	s.mu.Unlock()
	if !ok {
		s.t.Fatalf("no trace %q is stored", id)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// failed wants a capture to fail for a reason and with a hint.
func (s *server) failed(id int64, reason, hint string) store.Capture {
	s.t.Helper()
	c := s.done(id)
	if c.State != store.Failed || !strings.Contains(c.Error, reason) || !strings.Contains(c.Hint, hint) {
		s.t.Errorf("capture is %s with error %q and hint %q, want failed with %q and %q", c.State, c.Error, c.Hint, reason, hint)
	}
	// All that is told has a code, so that pages can tell it in their languages.
	if e, h := c.Told.Error, c.Told.Hint; e.Code == "" || h.Text != c.Hint || h.Text != "" && h.Code == "" {
		s.t.Errorf("capture tells %+v and %+v; its hint is %q", e, h, c.Hint)
	}
	return c
}

// brief are waits for tests: long enough for a busy machine to do what it must in between.
var brief = Waits{
	Pickup: 5 * time.Second, Completion: 2 * time.Second,
	Record: 50 * time.Millisecond, MaxRecord: 300 * time.Millisecond, Call: 5 * time.Second, Stop: 5 * time.Second,
	Appear: 500 * time.Millisecond, Poll: 10 * time.Millisecond, Stable: 60 * time.Millisecond, Settle: 400 * time.Millisecond,
	Stall: 1500 * time.Millisecond, Retry: 10 * time.Millisecond, MaxRetry: 50 * time.Millisecond, Store: 5 * time.Second,
}

// hasty is the pickup wait of tests in which it passes.
const hasty = 300 * time.Millisecond

func hastily(c *Config) { c.Waits.Pickup = hasty }

// rig is a Runner with one engine and a server.
type rig struct {
	*server
	r   *Runner
	dir string // where the engine writes
	eng Engine
}

func newRig(t *testing.T, eng Engine, change ...func(*Config)) *rig {
	t.Helper()
	g := &rig{server: newServer(t), dir: eng.OutputDir, eng: eng}
	g.eng.Key = store.EngineKey{Deployment: "chat", Name: "rank3"}
	cfg := Config{
		Collector: "node7", Link: g.server, Sink: g.server, TempDir: t.TempDir(), Waits: brief, Log: slog.New(slog.DiscardHandler),
		Engines: func(k store.EngineKey) (Engine, bool) {
			e := g.eng
			if k != e.Key {
				return Engine{}, false
			}
			return e, true
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	g.r = New(cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := g.r.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

// capture is a command for the rig's engine.
func (g *rig) capture(id int64, change ...func(*store.Capture)) wire.Command {
	c := store.Capture{ID: id, Group: "g1", Engine: g.eng.Key, Steps: 5, State: store.Queued,
		Times: map[store.CaptureState]time.Time{store.Queued: time.Now()}, Note: "why is it slow"}
	for _, f := range change {
		f(&c)
	}
	return wire.Command{Capture: &c}
}

// engine is a simulated DeepInfer engine with its real profile interface.
type engine struct {
	m    *profile.Manager
	dir  string
	hang sync.Mutex // held: the engine does not step
}

func (e *engine) target() Engine {
	return Engine{Kind: DeepInfer, Addr: e.m.Addr(), GPU: 2, Rank: 3, Part: -1, OutputDir: e.dir, Paths: Paths{{Engine: e.dir}}}
}

// newEngine starts an engine that steps every few milliseconds. export, if any, takes the place of writing a trace.
func newEngine(t *testing.T, export func(*sim.Capture, io.Writer) error, pickup ...time.Duration) *engine {
	t.Helper()
	wait := append(pickup, brief.Pickup)[0]
	d := sim.DefaultDeployment()
	d.Name, d.Trace = "chat", sim.Trace{Layers: 2, StepBytes: 40_000}
	se, err := sim.NewEngine(sim.Config{Deployment: d, Seed: 1, Rank: 3, GPU: 2, World: 8, Start: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{dir: t.TempDir()}
	e.m = profile.NewManager(profile.Config{
		GPU: 2, Rank: 3, PortBase: 0, OutputDir: e.dir, PickupWait: wait, CompletionWait: brief.Completion,
		Log: slog.New(slog.DiscardHandler),
	}, se.Profiler(export))
	se.Attach(e.m)
	if !e.m.Serve(listen(t)) {
		t.Fatal("the profile interface does not open")
	}
	stop := make(chan struct{})
	var steps sync.WaitGroup
	steps.Go(func() {
		for {
			e.hang.Lock()
			err := se.Step()
			e.hang.Unlock()
			if err != nil {
				t.Error(err)
			}
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		steps.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = e.m.Close(ctx) // connections may have been cut by the test
	})
	return e
}

// files lists a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, data string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gz is text, compressed.
func gz(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// passed lists the states that a capture has a time of.
func passed(c store.Capture) string {
	var states []string
	for _, state := range append(slices.Clone(order), store.Stored, store.Failed, store.Cancelled) {
		if _, ok := c.Times[state]; ok {
			states = append(states, string(state))
		}
	}
	return strings.Join(states, " ")
}

// inOrder wants the times of all passed states to rise.
func inOrder(t *testing.T, c store.Capture) {
	t.Helper()
	var last time.Time
	for _, state := range append(slices.Clone(order), store.Stored, store.Failed, store.Cancelled) {
		if at, ok := c.Times[state]; ok {
			if at.Before(last) {
				t.Errorf("%s is at %s, before the state in front of it: %v", state, at, slices.Collect(maps.Values(c.Times)))
			}
			last = at
		}
	}
}

// canceled is a context that has ended.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func cancel(id int64) wire.Command { return wire.Command{Cancel: id} }

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

func mkdir(t *testing.T, path ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(path...), 0o755); err != nil {
		t.Fatal(err)
	}
}
