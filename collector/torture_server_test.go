//go:build unix

package collector

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
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
	away atomic.Bool
}

func (s *shaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() {
		panic(http.ErrAbortHandler)
	}
	if rand.IntN(8) > 0 {
		s.Handler.ServeHTTP(w, r)
		return
	}
	s.Handler.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler) // done, but nobody hears of it
}

// The same over HTTP: the server goes away again and again, and the collector with its spool is killed meanwhile.
func TestTortureServer(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "s.db")
	db, err := sqlite.Open(t.Context(), path, store.Options{}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	hub := web.NewHub(db, web.HubOptions{PollWait: 50 * time.Millisecond})
	server, err := web.New(web.Config{Store: db, Hub: hub, Assets: web.Built(), Addr: netip.MustParseAddr("127.0.0.1"), Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	s := &shaky{Handler: server.Handler()}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := &http.Server{Handler: s, ErrorLog: nil}
	go func() { _ = front.Serve(listener) }() // its end is the listener's
	url := "http://" + listener.Addr().String()

	n := kills(t)
	finish := w.start()
	for i := range n {
		c := w.child("url="+url, "faults")
		s.away.Store(i%3 == 1)
		time.Sleep(time.Duration(20+w.random.IntN(300)) * time.Millisecond)
		s.away.Store(i%3 == 2 && w.random.IntN(2) == 0)
		time.Sleep(time.Duration(w.random.IntN(150)) * time.Millisecond)
		w.kill(c)
	}
	finish()
	s.away.Store(false)
	w.drain("url=" + url)
	hub.Stop()
	if err := front.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	w.report(n, w.compare(path))
}
