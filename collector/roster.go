package collector

import (
	"context"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/gpu"
	"github.com/stepscope/stepscope/store"
)

// roster is the Sink that sources are given: it passes everything on to the batcher, and knows the engines that came by, for
// captures.
type roster struct {
	*batcher
	mu      sync.Mutex
	engines map[store.EngineKey]*seen
}

// seen is what the statistics last said of an engine.
type seen struct {
	info  store.EngineInfo
	last  time.Time // of its last row with a step
	pace  time.Duration
	rates map[*store.Column]int // where avg_SPS stands in a layout, −1 nowhere
}

func newRoster(b *batcher) *roster {
	return &roster{batcher: b, engines: map[store.EngineKey]*seen{}}
}

// Put notes whose rows these are and passes them on. What the server would never take is refused here, so that it does not
// cost others their rows.
func (r *roster) Put(ctx context.Context, b *store.Batch) error {
	if err := b.Check(); err != nil {
		r.batcher.log.Error("rows that no server would take were left out", "rows", len(b.Rows), "error", err)
		r.batcher.refuse(b, err)
		b = &store.Batch{Positions: b.Positions}
	}
	r.note(b)
	return r.batcher.Put(ctx, b)
}

// rateColumn is the steps per second of a [stats] line.
const rateColumn = "avg_SPS"

func (r *roster) note(b *store.Batch) {
	if len(b.Engines) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := make([]*seen, len(b.Engines))
	for i, info := range b.Engines {
		s := r.engines[info.EngineKey]
		if s == nil {
			s = &seen{rates: map[*store.Column]int{}}
			r.engines[info.EngineKey] = s
		}
		if of[i] = s; info.Kind != "" || s.info.Name == "" { // an event's engine may be no more than its name
			s.info = info
		}
	}
	for i := range b.Rows {
		row := &b.Rows[i]
		s, l := of[row.Engine], &b.Layouts[row.Layout]
		if l.Section != "stats" || len(l.Columns) == 0 {
			continue
		}
		s.last = time.Unix(0, row.Time)
		at, ok := s.rates[&l.Columns[0]]
		if !ok {
			at = -1
			for j, c := range l.Columns {
				if c.Metric == rateColumn {
					at = j
				}
			}
			if len(s.rates) > 64 { // layouts that change all the time
				clear(s.rates)
			}
			s.rates[&l.Columns[0]] = at
		}
		if at >= 0 && row.Values[at] > 0 {
			s.pace = time.Duration(float64(time.Second) / row.Values[at])
		}
	}
}

// engine returns what is known of one, and false for one that never came by.
func (r *roster) engine(key store.EngineKey) (seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.engines[key]
	if s == nil {
		return seen{}, false
	}
	return *s, true
}

// cards lists the engines on a host, for what reads its cards.
func (r *roster) cards(host string) (list []gpu.Engine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, s := range r.engines {
		if s.info.Kind != "gpu" && (s.info.Host == "" || s.info.Host == host) {
			list = append(list, gpu.Engine{Key: key, GPU: s.info.GPU})
		}
	}
	return list
}

// of lists the engines of a deployment.
func (r *roster) of(deployment string) (list []store.EngineInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, s := range r.engines {
		if key.Deployment == deployment {
			list = append(list, s.info)
		}
	}
	return list
}
