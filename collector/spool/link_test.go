package spool

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

var hello = wire.Hello{Collector: "c", Host: "n", Started: time.Unix(1, 0)}

// settled waits until the spool is empty.
func settled(t *testing.T, s *Spool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); s.Stats().Batches > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%+v: it does not drain", s.Stats())
		}
	}
}

func upTo(n uint64) (list []uint64) {
	for i := range n {
		list = append(list, i+1)
	}
	return list
}

// The server is away for long and answers get lost on its way back: everything
// arrives once, in order, and nobody waited for the server meanwhile.
func TestTheServerIsAwayForMinutes(t *testing.T) {
	f := &server{}
	s := mustOpen(t, t.TempDir(), Options{Segment: 2000})
	l, p, stop := linked(t, f, s)
	if w, err := l.Hello(t.Context(), hello); err != nil || w.Seq != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	deliver := func(from, to uint64) {
		for i := from; i <= to; i++ {
			if err := l.Deliver(t.Context(), "c", batch(i, 2)); err != nil {
				t.Fatal(err)
			}
		}
	}
	deliver(1, 10)
	settled(t, s)
	f.mu.Lock()
	away := true
	f.fail = func(string, uint64) error {
		if away {
			return errAway
		}
		return nil
	}
	// Every third answer is lost after the batch was stored.
	f.lose = func(seq uint64) error {
		if seq%3 == 0 {
			return errAway
		}
		return nil
	}
	f.mu.Unlock()
	minutes := make(chan time.Duration, 1)
	p.mu.Lock()
	p.until = func(n int) {
		if n == 40 {
			p.mu.Lock()
			minutes <- p.waited
			p.mu.Unlock()
		}
	}
	p.mu.Unlock()
	deliver(11, 100)
	// 1 + 2 + 4 + 8 + 16 + 35 × 30 s is about 18 minutes, of which chance takes up to half.
	if d := <-minutes; d < 9*time.Minute || d > 19*time.Minute {
		t.Errorf("40 tries took %v", d)
	}
	if got := f.seqs(); !slices.Equal(got, upTo(10)) {
		t.Errorf("the server has %v", got)
	}
	if err := l.Report(t.Context(), wire.Report{Collector: "c", Problems: []wire.Problem{{What: "own"}}}); err != nil {
		t.Fatal(err)
	}
	r := f.reports[0]
	if r.Spooled != s.Stats().Waiting || r.Spooled == 0 || len(r.Problems) != 2 || r.Problems[0].What != "own" || r.Problems[1].What != "connection refused" || r.Problems[1].Count < 40 || r.Problems[1].Hint == "" {
		t.Errorf("%+v", r)
	}
	f.mu.Lock()
	away = false
	f.mu.Unlock()
	settled(t, s)
	if got := f.seqs(); !slices.Equal(got, upTo(100)) {
		t.Errorf("the server has %v", got)
	}
	for i, b := range f.got {
		if !reflect.DeepEqual(b, batch(uint64(i+1), 2)) {
			t.Fatalf("batch %d is %+v", i+1, b)
		}
	}
	if list := l.Problems(); len(list) != 0 {
		t.Errorf("problems that are over: %+v", list)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The collector is restarted while the server is away: it goes on where its
// spool stands, and the server gets everything once.
func TestARestartWhileTheServerIsAway(t *testing.T) {
	f := &server{}
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	l, _, stop := linked(t, f, s)
	if _, err := l.Hello(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	if err := l.Deliver(t.Context(), "c", batch(1, 1)); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	f.mu.Lock()
	f.fail = func(string, uint64) error { return errAway }
	f.mu.Unlock()
	for i := uint64(2); i <= 5; i++ {
		if err := l.Deliver(t.Context(), "c", batch(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	s = reopen(t, s, dir, Options{})
	l, p, stop := linked(t, f, s)
	w, err := l.Hello(t.Context(), hello)
	if err != nil || w.Seq != 5 || len(w.Positions) != 1 || w.Positions[0].Value != "5" {
		t.Fatalf("%+v, %v; want the spool's own word", w, err)
	}
	if err := l.Deliver(t.Context(), "c", batch(6, 1)); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.until = func(n int) {
		f.mu.Lock()
		f.fail = nil
		f.mu.Unlock()
	}
	p.mu.Unlock()
	settled(t, s)
	if got := f.seqs(); !slices.Equal(got, upTo(6)) {
		t.Errorf("the server has %v", got)
	}
	stop()
}

// In a folder that was never used only the server knows whether this collector's
// sources were read before.
func TestTheFirstStartNeedsTheServer(t *testing.T) {
	f := &server{fail: func(string, uint64) error { return errAway }}
	l, _, stop := linked(t, f, mustOpen(t, t.TempDir(), Options{}))
	defer stop()
	if _, err := l.Hello(t.Context(), hello); !errors.Is(err, errAway) {
		t.Fatalf("%v", err)
	}
	f.mu.Lock()
	f.fail, f.seq, f.positions = nil, 41, map[string]string{"log:/a": "9"}
	f.mu.Unlock()
	if w, err := l.Hello(t.Context(), hello); err != nil || w.Seq != 41 || w.Positions[0].Value != "9" {
		t.Fatalf("%+v, %v", w, err)
	}
}

// A batch that the server will never take must not stop those behind it, and
// its positions count all the same.
func TestARefusedBatchIsSteppedOver(t *testing.T) {
	f := &server{}
	s := mustOpen(t, t.TempDir(), Options{})
	l, _, stop := linked(t, f, s)
	defer stop()
	if _, err := l.Hello(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	refusals := 0
	f.fail = func(op string, seq uint64) error {
		if seq == 2 && refusals == 0 {
			refusals++
			return fmt.Errorf("%w: no such metric", store.ErrInvalid)
		}
		return nil
	}
	for i := range uint64(3) {
		if err := l.Deliver(t.Context(), "c", batch(i+1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, s)
	if got := f.seqs(); !slices.Equal(got, upTo(3)) {
		t.Fatalf("the server has %v", got)
	}
	if b := f.got[1]; len(b.Rows) != 0 || b.Positions[0].Value != "2" {
		t.Errorf("%+v; want nothing but its position", b)
	}
	if list := l.Problems(); len(list) != 1 || !strings.Contains(list[0].What, "refused batch 2, its 1 rows") {
		t.Errorf("%+v", list)
	}
}

// A name in use: batches wait, and go once the other is silent.
func TestATakenNameKeepsTheBatches(t *testing.T) {
	f := &server{}
	s := mustOpen(t, t.TempDir(), Options{})
	l, p, stop := linked(t, f, s)
	defer stop()
	if _, err := l.Hello(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.fail = func(string, uint64) error { return wire.ErrTaken }
	f.mu.Unlock()
	p.until = func(n int) {
		if n == 5 {
			f.mu.Lock()
			f.fail = nil
			f.mu.Unlock()
		}
	}
	if err := l.Deliver(t.Context(), "c", batch(1, 1)); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	if got := f.seqs(); !slices.Equal(got, upTo(1)) {
		t.Errorf("the server has %v", got)
	}
	if _, err := NewLink(&server{fail: func(string, uint64) error { return wire.ErrTaken }}, s).Hello(t.Context(), hello); !errors.Is(err, wire.ErrTaken) {
		t.Errorf("a start under a name in use: %v", err)
	}
}

// Another process went on under the name while this one was refused: this one
// ends, and after a restart goes on where the server stands.
func TestAnOvertakenProcessEnds(t *testing.T) {
	f := &server{}
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	l, p, stop := linked(t, f, s)
	if _, err := l.Hello(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	f.mu.Lock()
	f.fail = func(string, uint64) error { return wire.ErrTaken }
	f.mu.Unlock()
	p.mu.Lock()
	p.until = func(int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.fail, f.seq, f.positions = nil, 50, map[string]string{"log:/a": "50"}
		close(ended)
	}
	p.mu.Unlock()
	if err := l.Deliver(t.Context(), "c", batch(1, 1)); err != nil {
		t.Fatal(err)
	}
	<-ended
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && len(l.Problems()) == 0; {
		time.Sleep(time.Millisecond)
	}
	for !strings.Contains(fmt.Sprint(l.Problems()), "another process went on") {
		time.Sleep(time.Millisecond)
	}
	if err := stop(); !errors.Is(err, ErrOvertaken) || !strings.Contains(err.Error(), "up to 50") {
		t.Fatalf("%v", err)
	}
	s = reopen(t, s, dir, Options{})
	l, _, stop = linked(t, f, s)
	defer stop()
	if w, err := l.Hello(t.Context(), hello); err != nil || w.Seq != 50 || w.Positions[0].Value != "50" {
		t.Errorf("%+v, %v", w, err)
	}
	if list := l.Problems(); len(list) != 1 || !strings.Contains(list[0].What, "1 batches in the spool were given up") {
		t.Errorf("%+v", list)
	}
}

func TestEverythingElseGoesStraightThrough(t *testing.T) {
	l := NewLink(&server{}, mustOpen(t, t.TempDir(), Options{}))
	if list, err := l.Poll(t.Context(), "c"); err != nil || list[0].Cancel != 5 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := l.RequestCaptures(t.Context(), "c", wire.CaptureRequest{}); err != nil || list[0].ID != 6 {
		t.Errorf("%+v, %v", list, err)
	}
	if id, err := l.PutTrace(t.Context(), wire.TraceFile{}); err != nil || id != "id" {
		t.Errorf("%q, %v", id, err)
	}
	if err := l.Update(t.Context(), "c", wire.CaptureUpdate{}); err != nil {
		t.Error(err)
	}
}
