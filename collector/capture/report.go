package capture

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// reporter tells the server how captures go. Only a capture's newest state is kept while the server is away: the times
// of all states are in it.
type reporter struct {
	link      Link
	collector string
	retry     time.Duration
	maxRetry  time.Duration
	log       *slog.Logger

	mu      sync.Mutex
	pending map[int64]store.Capture
	order   []int64 // of pending, by first change
	wake    chan struct{}
	idle    chan struct{} // closed while nothing is pending or being sent
	sending bool
}

func newReporter(cfg Config) *reporter {
	r := &reporter{
		link: cfg.Link, collector: cfg.Collector, retry: cfg.Waits.Retry, maxRetry: cfg.Waits.MaxRetry, log: cfg.Log,
		pending: map[int64]store.Capture{}, wake: make(chan struct{}, 1), idle: make(chan struct{}),
	}
	close(r.idle)
	return r
}

// tell takes a capture's new state; it never waits.
func (r *reporter) tell(c store.Capture) {
	c.Times = maps.Clone(c.Times)
	r.mu.Lock()
	if len(r.pending) == 0 && !r.sending {
		r.idle = make(chan struct{})
	}
	if _, ok := r.pending[c.ID]; !ok {
		r.order = append(r.order, c.ID)
	}
	r.pending[c.ID] = c
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx ends.
func (r *reporter) run(ctx context.Context) {
	pause := r.retry
	for {
		c, ok := r.take()
		if !ok {
			select {
			case <-r.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := r.link.Update(ctx, r.collector, wire.CaptureUpdate{Capture: c})
		retry := err != nil && !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrNotFound)
		if err != nil && !retry {
			r.log.Warn("the server doesn't take a capture's state", "capture", c.ID, "state", c.State, "error", err)
		}
		r.done(c, retry)
		if !retry {
			pause = r.retry
			continue
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, r.maxRetry)
		case <-ctx.Done():
			return
		}
	}
}

func (r *reporter) take() (store.Capture, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.order) == 0 {
		return store.Capture{}, false
	}
	id := r.order[0]
	r.order = r.order[1:]
	c := r.pending[id]
	delete(r.pending, id)
	r.sending = true
	return c, true
}

// done takes back what could not be sent, unless something newer came.
func (r *reporter) done(c store.Capture, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sending = false
	if _, newer := r.pending[c.ID]; again && !newer {
		r.pending[c.ID] = c
		r.order = append(r.order, c.ID)
	}
	if len(r.pending) == 0 {
		close(r.idle)
	}
}

// flush waits until all is sent.
func (r *reporter) flush(ctx context.Context) error {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
