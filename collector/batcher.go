package collector

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

const (
	// batchRows and batchValues make a batch full. The store takes rows in large batches an order of magnitude cheaper
	// than one by one.
	batchRows   = 2000
	batchValues = 200_000
	// batchAge is how long a row waits for others.
	batchAge = time.Second
	// backlog is how many full batches may wait before sources have to.
	backlog = 4
	// firstRetry and lastRetry bound the time between two tries to deliver.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// batcher is the Sink of all sources of a collector. It gathers what they put and delivers it, one numbered batch after the
// other, each until the server has it.
type batcher struct {
	link wire.Link
	name string
	log  *slog.Logger
	hurry

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when room was made or something came
	pending pending
	since   time.Time         // when the first of pending came
	known   map[string]string // positions as last put
	problem *wire.Problem     // why the server does not take batches
	refused int64             // rows that the server will never take
}

func newBatcher(opt *Options, positions []store.Position) *batcher {
	b := &batcher{link: opt.Link, name: opt.name(), log: opt.Log, hurry: opt.hurry, changed: make(chan struct{}), known: map[string]string{}}
	b.batch, b.retry = cmp.Or(b.batch, batchAge), cmp.Or(b.retry, lastRetry)
	for _, p := range positions {
		b.known[p.Source] = p.Value
	}
	b.pending.reset()
	return b
}

// Position returns the last value put.
func (b *batcher) Position(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[name]
}

// Put adds to the batch under way, and waits while too much is.
func (b *batcher) Put(ctx context.Context, add *store.Batch) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.mu.Lock()
		if b.pending.size() < backlog {
			break
		}
		wait := b.changed
		b.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-wait:
		}
	}
	defer b.mu.Unlock()
	if b.pending.empty() {
		b.since = time.Now()
	}
	b.pending.add(add)
	for _, p := range add.Positions {
		if p.Value == "" {
			delete(b.known, p.Source)
		} else {
			b.known[p.Source] = p.Value
		}
	}
	b.signal()
	return nil
}

func (b *batcher) signal() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// next waits for a batch that is full or old enough. It is nil when stop is over and nothing is left.
func (b *batcher) next(stop context.Context) *store.Batch {
	for {
		b.mu.Lock()
		wait := b.changed
		age := time.Since(b.since)
		switch {
		case b.pending.empty():
			age = 0
		case b.pending.size() >= 1, age >= b.batch, stop.Err() != nil:
			full := b.pending.take()
			b.signal()
			b.mu.Unlock()
			return full
		}
		empty := b.pending.empty()
		b.mu.Unlock()
		if stop.Err() != nil && empty {
			return nil
		}
		var old <-chan time.Time
		if !empty {
			old = time.After(b.batch - age)
		}
		select {
		case <-wait:
		case <-old:
		case <-stop.Done():
		}
	}
}

// run delivers until stop ends and everything is delivered, or until give ends.
func (b *batcher) run(stop, give context.Context, seq uint64) {
	for {
		batch := b.next(stop)
		if batch == nil {
			return
		}
		seq++
		batch.Seq = seq
		if !b.deliver(give, batch) {
			return
		}
	}
}

// deliver tries until the server has the batch; false when ctx ends before.
func (b *batcher) deliver(ctx context.Context, batch *store.Batch) bool {
	pause := firstRetry
	for {
		err := b.link.Deliver(ctx, b.name, batch)
		if err == nil {
			b.setProblem(nil)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, store.ErrInvalid) && !errors.Is(err, wire.ErrTaken) {
			b.log.Error("the server refused a batch; its rows are lost", "rows", len(batch.Rows), "error", err)
			b.refuse(batch, err)
			if len(batch.Rows)+len(batch.Events)+len(batch.Engines) == 0 {
				return true // not even the positions were taken
			}
			batch.Rows, batch.Events, batch.Engines, batch.Layouts = nil, nil, nil, nil
			continue
		}
		if b.setProblem(err) {
			b.log.Warn("delivering failed; trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
		pause = min(2*pause, b.retry)
	}
}

func (b *batcher) refuse(batch *store.Batch, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused += int64(len(batch.Rows))
	b.problem = wire.NewProblem(time.Now(), "deliver.refused", err.Error())
	b.problem.Count = b.refused
}

// setProblem notes an error, or that there is none. It is true when the error is a new one.
func (b *batcher) setProblem(err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		if b.refused == 0 {
			b.problem = nil
		}
		return false
	}
	p := wire.NewProblem(time.Now(), "deliver.failed", err.Error())
	p.Since(b.problem)
	b.problem = p
	return p.Count == 1
}

// problems are what a report tells of deliveries.
func (b *batcher) problems() []wire.Problem {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.problem == nil {
		return nil
	}
	return []wire.Problem{*b.problem}
}
