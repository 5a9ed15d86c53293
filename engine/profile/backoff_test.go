package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inMemory connects clients to a Manager, or any handler, without the operating system, so that a bubble's clock rules.
type inMemory struct {
	conns chan net.Conn
	done  chan struct{}
}

func newInMemory() *inMemory {
	return &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
}

func serveInMemory(t *testing.T, h http.Handler) *inMemory {
	l := newInMemory()
	s := &http.Server{Handler: h}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	return l
}

func (l *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *inMemory) Close() error { close(l.done); return nil }

func (l *inMemory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 6070} }

func (l *inMemory) client() *Client {
	return &Client{Addr: "10.0.0.7:6070", dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case l.conns <- there:
			return here, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func TestBackOff(t *testing.T) {
	inBubble(t, "five retries within twice the pickup wait", func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		c := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at = append(at, time.Since(start))
			send(w, http.StatusConflict, answer{Detail: textPending})
		})).client()
		_, err := c.CaptureWhenFree(t.Context(), Request{})
		e := wantError(t, err, Busy, 0)
		if got, want := fmt.Sprint(at), "[0s 2s 6s 14s 30s 1m0s]"; got != want {
			t.Errorf("tried at %s, want %s", got, want)
		}
		if e.Tries != 6 || !e.Since.Equal(start) {
			t.Errorf("%d tries since %v, want 6 since %v", e.Tries, e.Since, start)
		}
		want := "engine 10.0.0.7:6070: busy: " + textPending + "; after 6 tries: busy, or hung: no step since " + start.Format(time.RFC3339)
		if e.Error() != want {
			t.Errorf("got  %s\nwant %s", e, want)
		}
	})
	inBubble(t, "the log's last step is known better", func(t *testing.T) {
		c := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			send(w, http.StatusConflict, answer{})
		})).client()
		c.PickupWait = 3 * time.Second
		last := time.Now().Add(-time.Hour)
		c.LastStep = func() time.Time { return last }
		start := time.Now()
		_, err := c.CaptureWhenFree(t.Context(), Request{})
		if e := wantError(t, err, Busy, 0); !e.Since.Equal(last) {
			t.Errorf("since %v, want %v", e.Since, last)
		}
		if d := time.Since(start); d != 6*time.Second {
			t.Errorf("tried for %v, want twice 3s", d)
		}
		c.LastStep = func() time.Time { return time.Time{} }
		_, err = c.Capture(t.Context(), Request{})
		if e := wantError(t, err, Busy, 0); !e.Since.Equal(time.Now()) || !strings.HasSuffix(e.Error(), "busy; try again later") {
			t.Errorf("%v since %v, want now", e, e.Since)
		}
	})
	inBubble(t, "a capture ends meanwhile", func(t *testing.T) {
		r := newRig(t)
		c := serveInMemory(t, r.m).client()
		other := r.post(`{"num_steps":3}`)
		r.step(1)
		got := make(chan string)
		go func() {
			path, err := c.CaptureWhenFree(t.Context(), Request{NumSteps: 1})
			if err != nil {
				t.Error(err)
			}
			got <- path
		}()
		synctest.Wait()
		r.step(3) // refuses the newcomer, ends the capture
		other.answered(http.StatusOK, "trace_file")
		r.step(5)
		r.p.counts(1, 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.step(2)
		if path, want := <-got, "/tmp/"+nameAt("20000101-000002-000"); path != want {
			t.Errorf("got %q, want %q", path, want)
		}
	})
	inBubble(t, "the caller loses patience in a pause", func(t *testing.T) {
		c := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			send(w, http.StatusConflict, answer{})
		})).client()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := c.CaptureWhenFree(ctx, Request{})
		if e := wantError(t, err, Busy, 0); e.Tries != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d tries, %v; want 2 and the context's error", e.Tries, err)
		}
	})
	// Everything else is final, whatever it is.
	inBubble(t, "no retry of anything else", func(t *testing.T) {
		calls := 0
		status := 0
		c := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls++
			send(w, status, answer{Detail: "x"})
		})).client()
		for _, status = range []int{400, 404, 500, 502, 503, 504} {
			calls = 0
			if _, err := c.CaptureWhenFree(t.Context(), Request{}); err == nil || calls != 1 {
				t.Errorf("%d: %d calls, %v", status, calls, err)
			}
		}
	})
}

func TestClientAndHungEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := serveInMemory(t, r.m).client()
		start := time.Now()
		_, err := c.CaptureWhenFree(t.Context(), Request{})
		wantError(t, err, NotPickedUp, 0)
		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("took %v, want 30s", d)
		}
		_, err = c.CaptureWhenFree(t.Context(), Request{})
		if e := wantError(t, err, Busy, 0); !strings.Contains(e.Error(), "busy, or hung: no step since 2000-01-01T") && !strings.Contains(e.Error(), "no step since 1999-12-31T") {
			t.Errorf("got %v", e)
		}
		r.step(3)
		r.p.counts(0, 0)
	})
}

func TestClientGivesUp(t *testing.T) {
	inBubble(t, "before pickup: the engine drops it", func(t *testing.T) {
		r := newRig(t)
		c := serveInMemory(t, r.m).client()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.Capture(ctx, Request{NumSteps: 1})
		if wantError(t, err, NoResult, GaveUp); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		synctest.Wait()
		r.step(3)
		r.p.counts(0, 0)
	})
	inBubble(t, "after pickup: the file is written", func(t *testing.T) {
		r := newRig(t)
		c := serveInMemory(t, r.m).client()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := make(chan error, 1)
		go func() {
			_, err := c.Capture(ctx, Request{NumSteps: 1})
			got <- err
		}()
		synctest.Wait()
		r.step(1)
		cancel()
		synctest.Wait()
		wantError(t, <-got, NoResult, GaveUp)
		r.step(1)
		r.files.want(nameAt(stampAtStart), "1 steps")
	})
	inBubble(t, "by its own limit", func(t *testing.T) {
		c := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then a server sees its client go
			<-r.Context().Done()
		})).client()
		c.PickupWait, c.CompletionWait = time.Second, time.Minute
		start := time.Now()
		_, err := c.Capture(t.Context(), Request{})
		if wantError(t, err, NoResult, GaveUp); !errors.Is(err, errLimit) {
			t.Errorf("got %v, want the client's own limit", err)
		}
		if d := time.Since(start); d != time.Second+time.Minute+graceWait {
			t.Errorf("waited %v", d)
		}
	})
	inBubble(t, "in the middle of the answer", func(t *testing.T) {
		c := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = w.Write([]byte(`{"trace_file":`))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})).client()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Capture(ctx, Request{})
		wantError(t, err, NoResult, GaveUp)
	})
}

// The server's limits on slow requests must not end those that only wait for their answer.
func TestServerWaits(t *testing.T) {
	inBubble(t, "for a slow engine", func(t *testing.T) {
		r := newRig(t)
		l := newInMemory()
		r.m.Serve(l)
		got := make(chan error, 1)
		go func() {
			_, err := l.client().Capture(t.Context(), Request{NumSteps: 2})
			got <- err
		}()
		time.Sleep(29 * time.Second)
		r.step(2)
		time.Sleep(500 * time.Second)
		r.step(1)
		if err := <-got; err != nil {
			t.Error(err)
		}
		r.p.counts(1, 1)
	})
	inBubble(t, "ten seconds for a request", func(t *testing.T) {
		r := newRig(t)
		l := newInMemory()
		r.m.Serve(l)
		conn, err := l.client().dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		start := time.Now()
		if _, err := io.WriteString(conn, "POST /profile HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 12)
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 400" {
			t.Errorf("answered %q (%v), want 400", answer, err)
		}
		if d := time.Since(start); d != requestWait {
			t.Errorf("answered after %v, want %v", d, requestWait)
		}
	})
}
