package web

import (
	"context"
	"sync"
	"time"
)

// Bounds of the answers that are kept.
const (
	answerLife  = time.Second // as old as an answer may be: less than a live event is held back
	mostAnswers = 256
)

// answers lets browsers that ask for the same share one reading of the store.
type answers struct {
	mu   sync.Mutex
	kept map[string]*sharedAnswer
}

type sharedAnswer struct {
	done chan struct{}
	body []byte
	err  error
	at   time.Time // when it was begun
}

// get gives a kept answer, one that is being made, or makes it. produce is not
// ended with ctx: others may wait for it.
func (a *answers) get(ctx context.Context, key string, produce func() ([]byte, error)) ([]byte, error) {
	now := time.Now()
	a.mu.Lock()
	got := a.kept[key]
	if got == nil || now.Sub(got.at) > answerLife {
		got = a.begin(key, now)
		go func() {
			defer close(got.done)
			got.body, got.err = produce()
		}()
	}
	a.mu.Unlock()
	select {
	case <-got.done:
		return got.body, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin makes room for an answer: those that are too old go first, then any.
func (a *answers) begin(key string, now time.Time) *sharedAnswer {
	if a.kept == nil {
		a.kept = map[string]*sharedAnswer{}
	}
	if len(a.kept) >= mostAnswers {
		for k, old := range a.kept {
			if now.Sub(old.at) > answerLife {
				delete(a.kept, k)
			}
		}
	}
	for k := range a.kept {
		if len(a.kept) < mostAnswers {
			break
		}
		delete(a.kept, k)
	}
	got := &sharedAnswer{done: make(chan struct{}), at: now}
	a.kept[key] = got
	return got
}
