package profile

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// engineLoop steps the rig's engine on its own goroutine until the test ends or stop is called.
func (r *rig) engineLoop() (stop func()) {
	var over atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !over.Load() {
			r.rawStep()
			time.Sleep(100 * time.Microsecond)
		}
	}()
	return func() {
		over.Store(true)
		<-ended
	}
}

// listen opens any free port on loopback.
func (r *rig) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	if !r.m.Serve(l) {
		r.t.Fatal("not served")
	}
	return r.m.Addr()
}

// Everything real: sockets, disk, an engine on its own goroutine.
func TestEndToEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	r := newRig(t, func(c *Config) { c.Files, c.Now = nil, nil })
	addr := r.listen()
	stop := r.engineLoop()
	defer stop()
	before := time.Now().Truncate(time.Millisecond)
	path, err := (&Client{Addr: addr}).CaptureWhenFree(t.Context(), Request{NumSteps: 4, OutputDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(path) != dir {
		t.Errorf("file in %s, want %s", filepath.Dir(path), dir)
	}
	name, err := ParseFileName(filepath.Base(path), time.Local)
	if err != nil {
		t.Fatal(err)
	}
	if name.IP.String() != "127.0.0.1" || name.GPU != 2 || name.Rank != 9 {
		t.Errorf("named %+v", name)
	}
	if name.Time.Before(before) || name.Time.After(time.Now()) {
		t.Errorf("named for %v, captured since %v", name.Time, before)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "4 steps" {
		t.Errorf("file holds %q (%v)", data, err)
	}

	_, err = (&Client{Addr: addr}).Capture(t.Context(), Request{OutputDir: filepath.Join(path, "below")})
	var e *Error
	if !errors.As(err, &e) || e.Outcome != BadRequest || !strings.Contains(e.Said, "not a directory") {
		t.Errorf("got %v for a folder below a file, want a bad request with the reason", err)
	}
}

func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().(*net.TCPAddr).Port

	r := newRig(t, func(c *Config) { c.PortBase = port - c.GPU })
	if r.m.Listen() {
		t.Fatal("two engines share a port")
	}
	if got := r.m.Addr(); got != "" {
		t.Errorf("address %q, want none", got)
	}
	r.rawStep() // the engine runs on
	if got := r.log.String(); strings.Count(got, "level=ERROR") != 1 || strings.Count(got, "\n") != 1 ||
		!strings.Contains(got, "interface is off") || !strings.Contains(got, taken.Addr().String()) {
		t.Errorf("logged %q, want one error with the address", got)
	}

	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	if !r.m.Listen() {
		t.Fatalf("the port is free again: %s", r.log)
	}
	// Loopback, port base + GPU.
	if got := r.m.Addr(); got != taken.Addr().String() {
		t.Errorf("address %s, want %s", got, taken.Addr())
	}
	second, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if r.m.Serve(second) {
		t.Error("served twice")
	}
	if _, err := second.Accept(); err == nil {
		t.Error("a listener that isn't served stays open")
	}
	r.close()
	if _, err := net.Dial("tcp", taken.Addr().String()); err == nil {
		t.Error("the port is still open after Close")
	}
	if r.m.Listen() {
		t.Error("listens after Close")
	}
}

func TestListenDefaults(t *testing.T) {
	c := Config{}.normal()
	if c.Host != "127.0.0.1" || c.PortBase != 6070 || c.IP.String() != "127.0.0.1" ||
		c.PickupWait != 30*time.Second || c.CompletionWait != 600*time.Second || c.Log == nil {
		t.Errorf("defaults %+v", c)
	}
	r := newRig(t, func(c *Config) { c.PortBase = 65535 })
	if r.m.Listen() {
		t.Error("listens on port 65537")
	}
	if !strings.Contains(r.log.String(), "127.0.0.1:65537") {
		t.Errorf("logged %q", r.log)
	}
}

func TestPortFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	logged := make(chan string, 1)
	r := newRig(t)
	r.m.cfg.Log = logTo(logged)
	r.m.Serve(l)
	if err := l.Close(); err != nil { // behind the server's back
		t.Fatal(err)
	}
	select {
	case got := <-logged:
		if !strings.Contains(got, "its port failed") {
			t.Errorf("logged %q", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing logged")
	}
}

// A Close with little patience cuts the connections of those who wait for an export.
func TestCloseCutsConnections(t *testing.T) {
	r := newRig(t)
	addr := r.listen()
	gate, began := make(chan struct{}), make(chan struct{})
	r.p.nextExport = func(w io.Writer) error {
		close(began)
		<-gate
		return nil
	}
	stop := r.engineLoop()
	got := make(chan error, 1)
	go func() {
		_, err := (&Client{Addr: addr}).Capture(t.Context(), Request{NumSteps: 1})
		got <- err
	}()
	<-began
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := r.m.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close: %v, want its context's error", err)
	}
	var e *Error
	if err := <-got; !errors.As(err, &e) || e.Outcome != NoResult || e.Cause != Lost {
		t.Errorf("the client got %v, want a lost connection", err)
	}
	close(gate)
}
