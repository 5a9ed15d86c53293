package web

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// takeoverWait is how long a request waits for the one before it on the same
// upload to store what it has.
const takeoverWait = 10 * time.Second

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// transfers makes sure that one request at a time works on an upload, and that
// it is the newest: a client whose connection broke comes again long before the
// server's timeout notices, and must not be locked out by its own past.
type transfers struct {
	mu      sync.Mutex
	running map[string]*transfer
}

type transfer struct {
	stop func()        // makes the request give up soon; may be called often
	done chan struct{} // closed when it has
}

// acquire stops the request that works on the upload, waits for it, and returns
// what is to be called when this one is done. It fails with 423 if the other
// doesn't stop, and with ctx.
func (t *transfers) acquire(ctx context.Context, id string, stop func()) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, takeoverWait)
	defer cancel()
	for {
		t.mu.Lock()
		other := t.running[id]
		if other == nil {
			mine := &transfer{stop: stop, done: make(chan struct{})}
			t.running[id] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.running, id)
				t.mu.Unlock()
				close(mine.done)
			}, nil
		}
		// Under the lock: once the other has let go, its connection may carry
		// another request, which must not be stopped.
		other.stop()
		t.mu.Unlock()
		select {
		case <-other.done:
		case <-time.After(100 * time.Millisecond): // it may have set a new deadline just then
		case <-ctx.Done():
			return nil, refuse(http.StatusLocked, "upload_busy", ctx.Err())
		}
	}
}
