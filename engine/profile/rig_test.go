package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// rig is a Manager with a profiler and a disk that watch the rules. The test is the engine.
type rig struct {
	t     *testing.T
	m     *Manager
	p     *fakeProfiler
	files *fakeFiles
	log   *bytes.Buffer
	steps int
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	r := &rig{t: t, files: &fakeFiles{t: t, data: map[string]*bytes.Buffer{}}, log: &bytes.Buffer{}}
	r.p = &fakeProfiler{t: t, files: r.files}
	cfg := Config{
		GPU: 2, Rank: 9, Files: r.files,
		Now: func() time.Time { return time.Now().UTC() },
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	r.m = NewManager(cfg, r.p)
	t.Cleanup(func() { r.close() })
	return r
}

func (r *rig) close() {
	if err := r.m.Close(context.Background()); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

// step runs n engine steps, letting all else settle after each. Only inside a bubble.
func (r *rig) step(n int) {
	for range n {
		r.rawStep()
		synctest.Wait()
	}
}

func (r *rig) rawStep() {
	r.steps++
	r.p.inStep = true
	r.m.Step()
	r.p.inStep = false
}

// call is a request under way.
type call struct {
	t    *testing.T
	rec  *httptest.ResponseRecorder
	done chan struct{}
	gone context.CancelFunc // the client goes away
	at   time.Time          // when the answer came
}

// post sends a request and lets it settle. Only inside a bubble.
func (r *rig) post(body string) *call {
	r.t.Helper()
	c := r.start(http.MethodPost, "/profile", body)
	synctest.Wait()
	return c
}

func (r *rig) start(method, target, body string) *call {
	ctx, cancel := context.WithCancel(context.Background())
	r.t.Cleanup(cancel)
	c := &call{t: r.t, rec: httptest.NewRecorder(), done: make(chan struct{}), gone: cancel}
	req := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	go func() {
		defer close(c.done)
		r.m.ServeHTTP(c.rec, req)
		c.at = time.Now()
	}()
	return c
}

func (c *call) pending() {
	c.t.Helper()
	select {
	case <-c.done:
		c.t.Errorf("answered too early: %d %s", c.rec.Code, c.rec.Body)
	default:
	}
}

// answered checks that the answer is there, with this status and text in it.
func (c *call) answered(status int, text string) {
	c.t.Helper()
	select {
	case <-c.done:
	default:
		c.t.Fatalf("no answer yet, want %d %q", status, text)
	}
	if c.rec.Code != status || !strings.Contains(c.rec.Body.String(), text) {
		c.t.Errorf("answered %d %s, want %d with %q", c.rec.Code, c.rec.Body, status, text)
	}
}

// silent checks that the request has ended without an answer.
func (c *call) silent() {
	c.t.Helper()
	select {
	case <-c.done:
	default:
		c.t.Fatal("the request still waits")
	}
	if c.rec.Body.Len() > 0 {
		c.t.Errorf("an answer to nobody: %s", c.rec.Body)
	}
}

// fakeProfiler has no lock on purpose: the race detector sees it when anybody but the engine calls it.
type fakeProfiler struct {
	t        *testing.T
	files    *fakeFiles
	inStep   bool
	running  bool
	starts   int
	stops    int
	startErr error
	stopErr  error
	// nextExport replaces the next capture's Export.
	nextExport Export
	last       int
}

func (p *fakeProfiler) Start(steps int) error {
	if !p.inStep || p.running {
		p.t.Errorf("Start: in step %v, running %v", p.inStep, p.running)
	}
	if p.startErr != nil {
		return p.startErr
	}
	p.running, p.last = true, steps
	p.starts++
	return nil
}

func (p *fakeProfiler) Stop() (Export, error) {
	if !p.inStep || !p.running {
		p.t.Errorf("Stop: in step %v, running %v", p.inStep, p.running)
	}
	p.running = false
	p.stops++
	if p.stopErr != nil {
		return nil, p.stopErr
	}
	if e := p.nextExport; e != nil {
		p.nextExport = nil
		return e, nil
	}
	steps := p.last
	return func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d steps", steps)
		return err
	}, nil
}

// counts checks how often the profiler was started and stopped.
func (p *fakeProfiler) counts(starts, stops int) {
	p.t.Helper()
	if p.starts != starts || p.stops != stops {
		p.t.Errorf("profiler started %d and stopped %d times, want %d and %d", p.starts, p.stops, starts, stops)
	}
}

// fakeFiles is a disk in memory that notices when two calls use it at once.
type fakeFiles struct {
	t          *testing.T
	inUse      atomic.Int32
	mu         sync.Mutex
	data       map[string]*bytes.Buffer
	prepared   []string
	removed    []string
	prepareErr error
	createErr  error
	holdNext   chan struct{} // the next Prepare waits for it
}

func (f *fakeFiles) enter() func() {
	if f.inUse.Add(1) > 1 {
		f.t.Error("two IO jobs at once")
	}
	return func() { f.inUse.Add(-1) }
}

func (f *fakeFiles) Prepare(dir string) error {
	defer f.enter()()
	f.mu.Lock()
	f.prepared = append(f.prepared, dir)
	hold, err := f.holdNext, f.prepareErr
	f.holdNext = nil
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return err
}

func (f *fakeFiles) Create(path string) (io.WriteCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.createErr != nil {
		return nil, f.createErr
	}
	if f.data[path] != nil {
		return nil, os.ErrExist
	}
	f.data[path] = &bytes.Buffer{}
	return &fakeFile{files: f, buf: f.data[path], leave: f.enter()}, nil
}

func (f *fakeFiles) Remove(path string) error {
	defer f.enter()()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.data, path)
	f.removed = append(f.removed, path)
	return nil
}

// want checks the names (without folder) and the content of all files.
func (f *fakeFiles) want(nameAndContent ...string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.data) != len(nameAndContent)/2 {
		f.t.Errorf("%d files, want %d", len(f.data), len(nameAndContent)/2)
	}
	for path, data := range f.data {
		ok := false
		for i := 0; i < len(nameAndContent); i += 2 {
			ok = ok || filepath.Base(path) == nameAndContent[i] && data.String() == nameAndContent[i+1]
		}
		if !ok {
			f.t.Errorf("unexpected file %s: %q", path, data)
		}
	}
}

type fakeFile struct {
	files *fakeFiles
	buf   *bytes.Buffer
	leave func()
}

func (f *fakeFile) Write(p []byte) (int, error) {
	f.files.mu.Lock()
	defer f.files.mu.Unlock()
	return f.buf.Write(p)
}

func (f *fakeFile) Close() error {
	f.leave()
	return nil
}

// slowExport writes content once gate is closed.
func slowExport(content string, gate <-chan struct{}) Export {
	return func(w io.Writer) error {
		<-gate
		_, err := io.WriteString(w, content)
		return err
	}
}

var errDisk = errors.New("no space left on device")
