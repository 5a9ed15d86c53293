package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stepscope/stepscope/collector/spool"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

// far is a real server behind a door that tests can shut, or use to lose answers.
type far struct {
	t   *testing.T
	st  store.Store
	srv *httptest.Server

	mu      sync.Mutex
	handler http.Handler
	door    func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

const token = "secret"

func newFar(t *testing.T) *far {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &far{t: t, st: st}
	f.restart()
	f.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		h, door := f.handler, f.door
		f.mu.Unlock()
		if door != nil {
			door(w, r, h)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		f.srv.CloseClientConnections()
		f.srv.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// restart is a new server process over the same store.
func (f *far) restart() {
	s, err := web.New(web.Config{Store: f.st, Hub: web.NewHub(f.st, web.HubOptions{PollWait: 20 * time.Millisecond}), Assets: fstest.MapFS{},
		Addr: netip.MustParseAddr("127.0.0.1"), Token: token, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handler = s.Handler()
}

func (f *far) set(door func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.door = door
}

func (f *far) link(change func(*Options)) *Link {
	f.t.Helper()
	o := Options{URL: f.srv.URL, Token: token, Version: "1"}
	if change != nil {
		change(&o)
	}
	l, err := New(o)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

func hello(host string, started int64) wire.Hello {
	return wire.Hello{Collector: "c", Version: "1", Host: host, Started: time.Unix(started, 0)}
}

var engine = store.EngineKey{Deployment: "prod", Name: "rank0"}

// batch has one row whose step is its number.
func batch(seq uint64) *store.Batch {
	return &store.Batch{Seq: seq,
		Engines:   []store.EngineInfo{{EngineKey: engine, GPU: -1}},
		Layouts:   []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "running"}}}},
		Rows:      []store.Row{{Time: time.Now().UnixNano(), Step: int64(seq), Values: []float64{float64(seq)}}},
		Positions: []store.Position{{Source: "log:/a", Value: fmt.Sprint(seq)}}}
}

func TestEveryCallReachesTheServer(t *testing.T) {
	f := newFar(t)
	l := f.link(nil)
	ctx := t.Context()
	if w, err := l.Hello(ctx, hello("node1", 1)); err != nil || w.Seq != 0 || len(w.Positions) != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	for range 2 {
		if err := l.Deliver(ctx, "c", batch(1)); err != nil {
			t.Fatal(err)
		}
	}
	if w, err := l.Hello(ctx, hello("node1", 1)); err != nil || w.Seq != 1 || !slices.Equal(w.Positions, batch(1).Positions) {
		t.Fatalf("%+v, %v", w, err)
	}
	if list, err := l.Poll(ctx, "c"); err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := l.RequestCaptures(ctx, "c", wire.CaptureRequest{Deployment: "prod"}); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "no engine of") {
		t.Fatalf("%v", err)
	}
	if err := l.Report(ctx, wire.Report{Collector: "c", Targets: []wire.Target{{Name: "p", Health: wire.Up, CanCapture: true, Engines: []store.EngineKey{engine}}}}); err != nil {
		t.Fatal(err)
	}
	made, err := l.RequestCaptures(ctx, "c", wire.CaptureRequest{Deployment: "prod", Steps: 7})
	if err != nil || len(made) != 1 || made[0].Steps != 7 || made[0].By != "schedule of c" {
		t.Fatalf("%+v, %v", made, err)
	}
	list, err := l.Poll(ctx, "c")
	if err != nil || len(list) != 1 || list[0].Capture.ID != made[0].ID || list[0].Capture.Engine != engine {
		t.Fatalf("%+v, %v", list, err)
	}
	c := *list[0].Capture
	c.State = store.Asked
	if err := l.Update(ctx, "c", wire.CaptureUpdate{Capture: c}); err != nil {
		t.Fatal(err)
	}
	if got, err := f.st.Capture(ctx, c.ID); err != nil || got.State != store.Asked {
		t.Errorf("%+v, %v", got, err)
	}
	c.ID = 99
	if err := l.Update(ctx, "c", wire.CaptureUpdate{Capture: c}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
	bad := batch(2)
	bad.Engines[0].Name = "a\nb"
	if err := l.Deliver(ctx, "c", bad); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "batch 2") || !strings.Contains(err.Error(), f.srv.URL) {
		t.Errorf("%v", err)
	}
	other := f.link(nil)
	if _, err := other.Hello(ctx, hello("node2", 5)); !errors.Is(err, wire.ErrTaken) || errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), `"node1"`) {
		t.Errorf("%v", err)
	}
	if err := other.Deliver(ctx, "c", batch(2)); !errors.Is(err, wire.ErrTaken) {
		t.Errorf("%v", err)
	}
}

// A host's name is any text; a header holds less.
func TestHostsWithOddNames(t *testing.T) {
	f := newFar(t)
	for i, host := range []string{"nöde 1", "", "a\r\nb", strings.Repeat("x", 300)} {
		l := f.link(nil)
		h := hello(host, 1)
		h.Collector = fmt.Sprint("c", i)
		if _, err := l.Hello(t.Context(), h); err != nil {
			t.Errorf("%q: %v", host, err)
		}
		if err := l.Deliver(t.Context(), h.Collector, batch(1)); err != nil {
			t.Errorf("%q: %v", host, err)
		}
	}
}

// Each failure says where, why and what to do; only what can't get better is ErrInvalid.
func TestFailuresSayWhatToDo(t *testing.T) {
	f := newFar(t)
	ctx := t.Context()
	check := func(what string, err error, says ...string) {
		t.Helper()
		if err == nil || errors.Is(err, store.ErrInvalid) || errors.Is(err, wire.ErrTaken) {
			t.Errorf("%s: %v", what, err)
			return
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q has no %q", what, err, s)
			}
		}
	}
	ask := func(l *Link) error { _, err := l.Hello(ctx, hello("n", 1)); return err }
	check("no token", ask(f.link(func(o *Options) { o.Token = "" })), "401", "--token")
	check("a wrong path", ask(f.link(func(o *Options) { o.URL += "/elsewhere" })), "404")
	check("https to http", ask(f.link(func(o *Options) { o.URL = strings.Replace(o.URL, "http:", "https:", 1) })), "http://")
	check("nobody there", ask(f.link(func(o *Options) { o.URL = "http://127.0.0.1:1" })), "127.0.0.1:1", "connection refused", "stepscope serve")
	check("no such host", ask(f.link(func(o *Options) { o.URL = "http://no-such-host.invalid" })), "no-such-host.invalid", "check the host's name")
	answer := func(status int, header, value, body string) {
		f.set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	l := f.link(nil)
	answer(302, "Location", "https://other.example/x", "")
	check("sent on", ask(l), "https://other.example/x", "give that as its address")
	answer(404, "X", "x", "<html>")
	check("another program", ask(l), "404", "address of a Stepscope server")
	answer(200, "X", "x", "<html>")
	check("nonsense", ask(l), "can't be read")
	answer(502, "X", "x", "<html>bad gateway")
	check("a proxy's word", ask(l), "502: Bad Gateway")
	answer(507, "X", "x", `{"error":"the server's disk is full","hint":"make room"}`)
	check("a full disk", l.Deliver(ctx, "c", batch(1)), "the server's disk is full; make room")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.Hello(stopped, hello("n", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "localhost:8080", "ftp://x", "http://", "http://u:p@x", "http://x/?a=b", "http://x/#y", "http://[::1", "://"} {
		if _, err := New(Options{URL: bad}); err == nil || !strings.Contains(err.Error(), "http://host:port") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Batches go through a spool to a server that is away, restarts, and loses
// answers, at random: the store ends with each step exactly once.
func TestExactlyOnceOverABadLine(t *testing.T) {
	f := newFar(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	calls := 0
	f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		calls++
		chance, n := rnd.IntN(10), calls
		mu.Unlock()
		switch {
		case chance < 2: // away
			panic(http.ErrAbortHandler)
		case chance < 4: // done, but the answer is lost
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case chance < 5:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if n%20 == 0 {
			f.restart()
		}
		next.ServeHTTP(w, r)
	})
	const n = 60
	dir := t.TempDir()
	var next uint64
	// The collector is restarted three times, with batches waiting.
	for part := range uint64(3) {
		s, err := spool.Open(dir, spool.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := spool.NewLink(f.link(nil), s)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		var w wire.Welcome
		for {
			if w, err = l.Hello(ctx, hello("n", int64(part)+1)); err == nil {
				break
			}
		}
		if part > 0 && w.Seq != next {
			t.Fatalf("goes on at %d, want %d", w.Seq, next)
		}
		for w.Seq < (part+1)*n/3 {
			w.Seq++
			if err := l.Deliver(ctx, "c", batch(w.Seq)); err != nil {
				t.Fatal(err)
			}
		}
		next = w.Seq
		if part == 2 {
			f.set(nil)
			for s.Stats().Batches > 0 {
				time.Sleep(5 * time.Millisecond)
			}
		}
		cancel()
		<-done
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	engines, err := f.st.Engines(t.Context(), "prod")
	if err != nil || len(engines) != 1 {
		t.Fatalf("%+v, %v", engines, err)
	}
	var steps []int64
	err = f.st.Read(t.Context(), store.Selection{Engines: []int64{engines[0].ID}, To: store.MaxTime}, func(s *store.Series) error {
		steps = append(steps, s.Steps...)
		return nil
	})
	if err != nil || len(steps) != n {
		t.Fatalf("%d steps, %v, want %d", len(steps), err, n)
	}
	for i, step := range steps {
		if step != int64(i+1) {
			t.Fatalf("step %d at %d: %v", step, i, steps)
		}
	}
	positions, seq, err := f.st.Positions(t.Context(), "c")
	if err != nil || seq != n || len(positions) != 1 || positions[0].Value != fmt.Sprint(n) {
		t.Errorf("%+v, %d, %v", positions, seq, err)
	}
}
