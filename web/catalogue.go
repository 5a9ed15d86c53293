package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/store"
)

// How long a deployment's list of columns is used, and how long a page waits for a new one.
const (
	catalogueLife  = 30 * time.Second
	cataloguePause = 30 * time.Millisecond
	maxCatalogues  = 128
)

// catalogue says which series a deployment has in a time: for each metric its
// labels, in order. Cards' UUIDs are left out of them.
type catalogue map[string][]string

// catalogues remembers them: a page must not wait for the store to list a
// year's columns.
type catalogues struct {
	wait time.Duration // cataloguePause, but in tests
	mu   sync.Mutex
	kept map[string]*catalogueEntry
}

type catalogueEntry struct {
	done   chan struct{}
	at     time.Time
	result catalogue
	err    error
	before *catalogueEntry // shown while this one is being made
}

// get gives the columns of engines in a time, under a key that says which; nil
// when the store takes longer than a page may wait.
func (c *catalogues) get(ctx context.Context, st store.Samples, key string, s store.Selection) (catalogue, error) {
	c.mu.Lock()
	e := c.kept[key]
	if e == nil || time.Since(e.at) > catalogueLife {
		fresh := &catalogueEntry{done: make(chan struct{}), at: time.Now(), before: e}
		if e != nil {
			e.before = nil // one is enough
		}
		if c.kept == nil || len(c.kept) >= maxCatalogues {
			c.kept = map[string]*catalogueEntry{}
		}
		c.kept[key], e = fresh, fresh
		go fresh.make(context.WithoutCancel(ctx), st, s)
	}
	before := e.before
	c.mu.Unlock()
	if before != nil {
		select {
		case <-e.done:
		case <-before.done:
			// Columns hardly ever change: the old list will do meanwhile.
			if before.err == nil {
				return before.result, nil
			}
		default:
		}
	}
	select {
	case <-e.done:
		return e.result, e.err
	case <-time.After(c.wait):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (e *catalogueEntry) make(ctx context.Context, st store.Samples, s store.Selection) {
	defer close(e.done)
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	infos, err := st.Columns(ctx, s)
	if err != nil {
		e.err = err
		return
	}
	seen := map[store.Column]bool{}
	e.result = catalogue{}
	for _, i := range infos {
		column, _ := splitCard(definition(i.Metric), i.Column)
		if !seen[column] {
			seen[column] = true
			e.result[column.Metric] = append(e.result[column.Metric], column.Label)
		}
	}
	for _, labels := range e.result {
		slices.SortFunc(labels, compareLabels)
	}
}
