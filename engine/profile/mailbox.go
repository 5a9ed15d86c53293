package profile

import (
	"sync"
	"sync/atomic"
)

// States of a capture. It leaves waiting once, to one of the others.
const (
	waiting int32 = iota
	running
	cancelled
)

// capture is one request on its way through the three contexts.
type capture struct {
	steps int
	dir   string

	state  atomic.Int32
	picked chan struct{} // closed when claimed
	reply  chan reply    // holds one, so that the engine never waits for a listener
}

// reply is what the engine says about a claimed capture: an answer, or a trace still to be written.
type reply struct {
	status int
	detail string

	export Export // set when the capture succeeded
	path   string
}

func newCapture(steps int, dir string) *capture {
	return &capture{steps: steps, dir: dir, picked: make(chan struct{}), reply: make(chan reply, 1)}
}

// claim is the engine's half of the switch. True: the capture runs, nobody can cancel it any more.
func (c *capture) claim() bool {
	if !c.state.CompareAndSwap(waiting, running) {
		return false
	}
	close(c.picked)
	return true
}

// cancel is the HTTP side's half. True: the engine will drop the request.
func (c *capture) cancel() bool { return c.state.CompareAndSwap(waiting, cancelled) }

// mailbox hands one capture at a time from the HTTP side to the engine. The engine's side takes no lock: a step never
// waits for a request.
type mailbox struct {
	mu    sync.Mutex // stands for the HTTP side's single event loop: one request at a time looks and writes
	slot  atomic.Pointer[capture]
	event atomic.Bool

	// between, unless nil, runs between the two writes of either side: there a test lets the other side move.
	between func()
}

// put offers c to the engine; false: one lies there already.
func (b *mailbox) put(c *capture) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.event.Load() {
		return false
	}
	// Slot before event: an engine that sees the event must find the request.
	b.slot.Store(c)
	if b.between != nil {
		b.between()
	}
	b.event.Store(true)
	return true
}

// take returns the waiting capture, or nil. Only the engine calls it.
func (b *mailbox) take() *capture {
	// Without this look, clearing could swallow the event of a request that came after an empty slot was read.
	if !b.event.Load() {
		return nil
	}
	// Slot before event: once the event is clear the HTTP side writes again.
	c := b.slot.Swap(nil)
	if b.between != nil {
		b.between()
	}
	b.event.Store(false)
	return c
}
