package spool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// server is a wire.Link that keeps batches as a store does, and fails at will.
type server struct {
	mu        sync.Mutex
	got       []*store.Batch
	seq       uint64
	positions map[string]string
	hellos    int
	fail      func(op string, seq uint64) error // before anything is done
	lose      func(seq uint64) error            // after the batch was stored: the answer is lost
	reports   []wire.Report
}

var errAway = errors.New("connection refused")

func (f *server) Hello(_ context.Context, h wire.Hello) (wire.Welcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail("hello", 0); err != nil {
			return wire.Welcome{}, err
		}
	}
	f.hellos++
	w := wire.Welcome{Seq: f.seq}
	for s, v := range f.positions {
		w.Positions = append(w.Positions, store.Position{Source: s, Value: v})
	}
	return w, nil
}

func (f *server) Deliver(_ context.Context, _ string, b *store.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail("deliver", b.Seq); err != nil {
			return err
		}
	}
	if b.Seq <= f.seq {
		return nil
	}
	f.got, f.seq = append(f.got, b), b.Seq
	if f.positions == nil {
		f.positions = map[string]string{}
	}
	for _, p := range b.Positions {
		f.positions[p.Source] = p.Value
	}
	if f.lose != nil {
		return f.lose(b.Seq)
	}
	return nil
}

func (f *server) Report(_ context.Context, r wire.Report) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reports = append(f.reports, r)
	return nil
}

func (f *server) Poll(context.Context, string) ([]wire.Command, error) {
	return []wire.Command{{Cancel: 5}}, nil
}
func (f *server) RequestCaptures(context.Context, string, wire.CaptureRequest) ([]store.Capture, error) {
	return []store.Capture{{ID: 6}}, nil
}
func (f *server) Update(context.Context, string, wire.CaptureUpdate) error { return nil }
func (f *server) PutTrace(context.Context, wire.TraceFile) (string, error) { return "id", nil }

func (f *server) seqs() (list []uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.got {
		list = append(list, b.Seq)
	}
	return list
}

// patient waits in no time and counts how long it should have been.
type patient struct {
	mu     sync.Mutex
	waited time.Duration
	tries  int
	until  func(tries int) // called at each wait
}

func (p *patient) wait(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	p.waited, p.tries = p.waited+d, p.tries+1
	n, until := p.tries, p.until
	p.mu.Unlock()
	if until != nil {
		until(n)
	}
	return ctx.Err()
}

// linked starts a link; stop ends its loop and returns what Run returned.
func linked(t *testing.T, f *server, s *Spool) (l *Link, p *patient, stop func() error) {
	t.Helper()
	l, p = NewLink(f, s), &patient{}
	l.wait = p.wait
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, p, func() error { cancel(); return <-done }
}
