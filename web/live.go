package web

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// Times of a live stream.
const (
	liveHeartbeat = 15 * time.Second // a comment, so that dead connections are found
	liveWrite     = 10 * time.Second // for a browser to take an event
	liveSpread    = 500 * time.Millisecond
	liveRetry     = 2 * time.Second // what browsers wait before they come again, at first
)

// live tells a browser by server-sent events that something changed: "samples"
// {deployments}, "capture" {id, state} and "collector" {name}. What it is now,
// the browser asks for; whoever asks after an event gets what it told of.
// Events of one kind are joined, so that a fast fleet costs no more than a
// slow one.
func (s *Server) live(c echo.Context) error {
	ctx := c.Request().Context()
	w := c.Response()
	conn := http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // else nginx would hold the events back
	w.WriteHeader(http.StatusOK)
	send := func(text string) error {
		_ = conn.SetWriteDeadline(time.Now().Add(liveWrite)) // in tests there may be none
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
		return conn.Flush()
	}
	if err := send(fmt.Sprintf("retry: %d\n\n", liveRetry.Milliseconds())); err != nil {
		return nil
	}
	events := s.hub.Subscribe(ctx)
	beat := time.NewTicker(liveHeartbeat)
	defer beat.Stop()
	gathered := newLiveBatch()
	var due <-chan time.Time
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-events:
			if !open {
				return nil // the server stops
			}
			gathered.add(e)
			if due == nil {
				// By then a snapshot as old as the board gives out is younger than the event.
				// Browsers are told at different moments, or all would ask at one.
				due = time.After(s.board.rhythm() + rand.N(liveSpread))
			}
		case <-due:
			due = nil
			// What the browser asks for next shall be there already. If it can't be had,
			// the browser's question says so better than a stream could.
			_, _ = s.board.get(ctx, true)
			err = send(gathered.text())
			gathered = newLiveBatch()
		case <-beat.C:
			err = send(": still here\n\n")
		}
		if err != nil {
			return nil // the browser is gone; it comes again by itself
		}
	}
}

// liveBatch joins events until they are sent.
type liveBatch struct {
	deployments map[string]struct{}
	all         bool // of the deployments
	captures    map[int64]string
	collectors  map[string]struct{}
}

// maxLive is how many deployments one event names; with more, all may have changed.
const maxLive = 256

func newLiveBatch() *liveBatch {
	return &liveBatch{deployments: map[string]struct{}{}, captures: map[int64]string{}, collectors: map[string]struct{}{}}
}

func (b *liveBatch) add(e Event) {
	switch e.Kind {
	case SamplesCame:
		b.all = b.all || e.Deployments == nil
		for _, d := range e.Deployments {
			b.deployments[d] = struct{}{}
		}
		b.all = b.all || len(b.deployments) > maxLive
	case CaptureChanged:
		b.captures[e.Capture] = string(e.State)
	case CollectorChanged:
		b.collectors[e.Collector] = struct{}{}
	}
}

// text is the batch as the stream carries it.
func (b *liveBatch) text() string {
	var out []byte
	event := func(kind EventKind, data any) {
		j, err := json.Marshal(data)
		if err != nil {
			panic(err) // strings and numbers always have a JSON form
		}
		out = fmt.Appendf(out, "event: %s\ndata: %s\n\n", kind, j)
	}
	if b.all {
		event(SamplesCame, map[string]any{"deployments": nil})
	} else if len(b.deployments) > 0 {
		event(SamplesCame, map[string]any{"deployments": sortedKeys(b.deployments)})
	}
	for _, id := range sortedKeys(b.captures) {
		event(CaptureChanged, map[string]any{"id": id, "state": b.captures[id]})
	}
	for _, name := range sortedKeys(b.collectors) {
		event(CollectorChanged, map[string]any{"name": name})
	}
	return string(out)
}
