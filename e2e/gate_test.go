package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// gate is a TCP proxy in front of a server that stops passing on once so many bytes went to it.
type gate struct {
	listener net.Listener
	backend  string

	mu      sync.Mutex
	passed  int64
	limit   int64         // 0: none
	reached chan struct{} // closed at the limit
	conns   map[net.Conn]struct{}
}

func newGate(t testing.TB, backend string, limit int64) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, backend: backend, limit: limit, reached: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() { l.Close(); g.cut() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.serve(c)
		}
	}()
	return g
}

func (g *gate) serve(c net.Conn) {
	up, err := net.Dial("tcp", g.backend)
	if err != nil {
		c.Close()
		return
	}
	g.mu.Lock()
	g.conns[c], g.conns[up] = struct{}{}, struct{}{}
	g.mu.Unlock()
	go func() {
		_, _ = io.Copy(c, up)
		c.Close()
	}()
	_, _ = io.Copy(gateWriter{g, up}, c)
	up.Close()
}

type gateWriter struct {
	g  *gate
	to io.Writer
}

func (w gateWriter) Write(b []byte) (int, error) {
	w.g.mu.Lock()
	full := w.g.limit > 0 && w.g.passed+int64(len(b)) > w.g.limit
	if full {
		select {
		case <-w.g.reached:
		default:
			close(w.g.reached)
		}
	} else {
		w.g.passed += int64(len(b))
	}
	w.g.mu.Unlock()
	if full {
		return 0, io.ErrClosedPipe
	}
	return w.to.Write(b)
}

// cut breaks all connections.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.Close()
	}
	clear(g.conns)
}

// stopAfter sets a new limit, counted from now.
func (g *gate) stopAfter(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit, g.reached = g.passed+n, make(chan struct{})
}

// lift lets everything pass from now on, and returns how many bytes did before.
func (g *gate) lift() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = 0
	return g.passed
}
