//go:build unix

package collector

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

// shaky is a server that is away now and then: it cuts connections before or after it has done what it was asked.
type shaky struct {
	http.Handler
	away   atomic.Bool
	steady bool // it answers whenever it is there
}

func (s *shaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() {
		panic(http.ErrAbortHandler)
	}
	if s.steady || rand.IntN(8) > 0 {
		s.Handler.ServeHTTP(w, r)
		return
	}
	s.Handler.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler) // done, but nobody hears of it
}

// service is a server that can be stopped and started again at its address, with its database.
type service struct {
	t     *testing.T
	path  string
	addr  string
	front shaky
	db    *sqlite.Store
	hub   *web.Hub
	http  *http.Server
}

func (s *service) start() {
	s.t.Helper()
	var err error
	if s.db, err = sqlite.Open(s.t.Context(), s.path, store.Options{}.WithDefaults()); err != nil {
		s.t.Fatal(err)
	}
	s.hub = web.NewHub(s.db, web.HubOptions{PollWait: 50 * time.Millisecond})
	server, err := web.New(web.Config{Store: s.db, Hub: s.hub, Assets: web.Built(), Addr: netip.MustParseAddr("127.0.0.1"), Log: quiet()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.front.Handler = server.Handler()
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	s.http = &http.Server{Handler: &s.front}
	go func(h *http.Server) { _ = h.Serve(listener) }(s.http) // its end is the server's
}

func (s *service) stop() {
	s.t.Helper()
	s.hub.Stop()
	// Nobody is waited for: what is under way breaks off.
	if err := s.http.Close(); err != nil {
		s.t.Error(err)
	}
	if err := s.db.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// The same over HTTP: the server goes away again and again, in the long form once for minutes, its database is locked by
// another process, and the collector with its spool is killed meanwhile, on a disk that is full at times.
func TestTortureServer(t *testing.T) {
	w := newWorld(t)
	s := &service{t: t, path: filepath.Join(w.dir, "s.db"), addr: "127.0.0.1:0"}
	s.start()
	url := "url=http://" + s.addr
	n := kills(t)
	long := os.Getenv(tortureEnv) != ""
	finish := w.start()
	locks := 0
	for i := 0; i < n || !w.proved(locks) && i < 10*n; i++ {
		c := w.child(url, "faults")
		s.front.away.Store(i%3 == 1)
		if i%3 == 2 && w.lock(s.path) {
			locks++
		}
		time.Sleep(time.Duration(20+w.random.IntN(300)) * time.Millisecond)
		s.front.away.Store(i%3 == 2 && w.random.IntN(2) == 0)
		time.Sleep(time.Duration(w.random.IntN(150)) * time.Millisecond)
		w.patience(i - n)
		w.kill(c)
		switch {
		case long && i == n/2:
			w.absence(s, url, 125*time.Second)
		case i%(n/2+1) == n/4: // a few times
			w.absence(s, url, time.Second)
		}
	}
	finish()
	s.front.away.Store(false)
	w.drain(url)
	s.stop()
	w.report(n, w.compare(s.path))
	w.happened(locks)
}

// absence stops the server for a time, in which the collector is killed now and then and the logs are rotated.
func (w *world) absence(s *service, url string, d time.Duration) {
	w.t.Helper()
	s.stop()
	began, turns, lives := time.Now(), w.turned.Load(), 0
	for time.Since(began) < d {
		c := w.child(url, "faults")
		time.Sleep(min(d, time.Duration(500+w.random.IntN(4000))*time.Millisecond))
		w.kill(c)
		lives++
	}
	w.t.Logf("the server was away for %s: %d rotations, %d collectors killed", time.Since(began).Round(time.Second), w.turned.Load()-turns, lives)
	s.start()
}

// lock has another process lock the server's database for a moment.
func (w *world) lock(db string) bool {
	w.t.Helper()
	c := w.command(db, "lock")
	out, err := c.Output()
	if err != nil {
		w.t.Fatalf("locking: %v", err)
	}
	return strings.HasPrefix(string(out), "locked")
}
