package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sides"
)

// Bounds of comparisons. One reads every sample of its columns, so a page never
// waits for it: it is computed on the side and kept for a while, for the page,
// its curves and its exports to share.
const (
	compareKept     = 32              // finished comparisons in memory
	compareFor      = 2 * time.Minute // how long one is shown again
	compareFresh    = 5 * time.Second // the clock of ranges that end now goes in such steps
	compareAtOnce   = 2               // computed at the same time
	compareWaiting  = 16              // more are refused
	compareTimeout  = 90 * time.Second
	compareRowTrail = 240 // points of one curve
)

// comparison is a table of deployments side by side, finished when done is closed.
type comparison struct {
	done  chan struct{}
	table *compare.Table
	steps [][]stepMark // of each column
	err   error
	took  time.Duration
	at    time.Time // when it was asked for
}

// comparisons computes and keeps them.
type comparisons struct {
	st  store.Samples
	now func() time.Time

	mu      sync.Mutex
	kept    map[string]*comparison
	running chan struct{}
	waiting int
}

func newComparisons(st store.Samples, now func() time.Time) *comparisons {
	return &comparisons{st: st, now: now, kept: map[string]*comparison{}, running: make(chan struct{}, compareAtOnce)}
}

// start gives the comparison of a query, under way or finished. An older result
// of the same query is given as long as it is fresh enough.
func (cs *comparisons) start(q compareQuery) (*comparison, error) {
	key := q.key()
	now := cs.now()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.kept[key]; c != nil && now.Sub(c.at) < compareFor && !c.failed() {
		return c, nil
	}
	if cs.waiting >= compareWaiting {
		return nil, refuse(http.StatusTooManyRequests, "compare_busy", nil)
	}
	cs.forget(now)
	c := &comparison{done: make(chan struct{}), at: now}
	cs.kept[key] = c
	cs.waiting++
	go cs.compute(c, q)
	return c, nil
}

// failed says whether a finished comparison has only an error to show, so that
// it is tried again.
func (c *comparison) failed() bool {
	select {
	case <-c.done:
		return c.err != nil
	default:
		return false
	}
}

// forget makes room. The lock is held.
func (cs *comparisons) forget(now time.Time) {
	for key, c := range cs.kept {
		if now.Sub(c.at) >= compareFor {
			delete(cs.kept, key)
		}
	}
	for len(cs.kept) >= compareKept {
		oldest := ""
		for key, c := range cs.kept {
			if oldest == "" || c.at.Before(cs.kept[oldest].at) {
				oldest = key
			}
		}
		delete(cs.kept, oldest)
	}
}

// compute reads the columns' samples and compares them.
func (cs *comparisons) compute(c *comparison, q compareQuery) {
	cs.running <- struct{}{}
	defer func() {
		// Input that no test thought of must not end the server.
		if p := recover(); p != nil {
			c.err = fmt.Errorf("comparing %v: panic: %v", q.Specs, p)
		}
		<-cs.running
		cs.mu.Lock()
		cs.waiting--
		cs.mu.Unlock()
		close(c.done)
	}()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), compareTimeout)
	defer cancel()
	list, err := sides.Load(ctx, cs.st, q.Specs, sides.Options{Now: q.Now, Since: q.Since, Metrics: q.Metrics})
	if err != nil {
		c.err = err
		return
	}
	for i := range list {
		c.steps = append(c.steps, stepMarks(list[i].Engines))
	}
	c.table, c.err = compare.Compare(list, compare.Options{Per: q.Per, Metrics: q.Metrics})
	c.took = time.Since(began)
}

// wait gives the table when it is finished in time, else done is false.
func (c *comparison) wait(ctx context.Context, patience time.Duration) (done bool, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.done:
		return true, compareError(c.err)
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// compareError gives a comparison's error its words for the client.
func compareError(err error) error {
	var he *HTTPError
	switch {
	case err == nil, errors.As(err, &he):
		return err
	case errors.Is(err, store.ErrNotFound):
		return refuse(http.StatusNotFound, "compare_unknown", err, said(err))
	case errors.Is(err, store.ErrInvalid):
		return refuse(http.StatusBadRequest, "compare_samples", err, said(err))
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(http.StatusServiceUnavailable, "compare_slow", err)
	}
	return err
}

// stepMark says at which step an engine was at a time.
type stepMark struct{ Time, Step int64 }

// maxStepMarks bounds a column's marks; between them steps are interpolated.
const maxStepMarks = 200

// stepMarks are the steps over time of the engine of a column that tells most of them.
func stepMarks(engines []compare.Engine) []stepMark {
	var best *compare.Series
	for i := range engines {
		for j := range engines[i].Series {
			s := &engines[i].Series[j]
			if len(s.Steps) > 0 && s.Steps[0] >= 0 && (best == nil || len(s.Steps) > len(best.Steps)) {
				best = s
			}
		}
	}
	if best == nil {
		return nil
	}
	every := max(1, (len(best.Steps)+maxStepMarks-1)/maxStepMarks)
	var marks []stepMark
	for i := 0; i < len(best.Steps); i += every {
		if best.Steps[i] >= 0 {
			marks = append(marks, stepMark{best.Times[i], best.Steps[i]})
		}
	}
	if n := len(best.Steps) - 1; n > 0 && best.Steps[n] >= 0 && marks[len(marks)-1].Time < best.Times[n] {
		marks = append(marks, stepMark{best.Times[n], best.Steps[n]})
	}
	return marks
}
