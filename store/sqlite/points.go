package sqlite

import (
	"context"
	"fmt"

	"github.com/stepscope/stepscope/store"
)

// Points implements store.Samples.
func (s *Store) Points(ctx context.Context, q store.PointsQuery) ([]store.Points, error) {
	from, to := q.Range()
	start, width := q.Grid()
	if width == 0 {
		return nil, nil
	}
	plans, err := s.plans(ctx, q.Engines, q.Metrics)
	if err != nil {
		return nil, s.failure("read points", err)
	}
	var out []store.Points
	for i := range plans {
		p := &plans[i]
		got, err := s.gather(ctx, p, from, to)
		if err != nil {
			return nil, s.failure(fmt.Sprintf("read points of engine %d", p.engine), err)
		}
		for c := range got {
			b := bucketer{start: start, width: width, only: q.Only}
			for i := range got[c].times {
				b.add(got[c].times[i], got[c].steps[i], got[c].flags[i], got[c].values[i])
			}
			if len(b.out) > 0 {
				out = append(out, store.Points{Engine: p.engine, Column: p.columns[c].Column, Width: width, Buckets: b.out})
			}
		}
	}
	return out, nil
}

// bucketer sums up samples that come by rising time.
type bucketer struct {
	start, width int64
	only         store.Flags
	out          []store.Bucket
	end          int64 // of the last bucket
}

const stepKinds = store.PromptStep | store.DecodeStep

// takes says whether a row is one of those that are asked for: rows of neither
// kind always are.
func takes(only, flags store.Flags) bool {
	return only&stepKinds == 0 || flags&stepKinds == 0 || flags&only != 0
}

func (b *bucketer) add(time, step int64, flags store.Flags, v float64) {
	if !takes(b.only, flags) {
		return
	}
	if len(b.out) == 0 || time >= b.end {
		from := time - (time-b.start)%b.width
		b.out, b.end = append(b.out, store.Bucket{From: from, Min: v, Max: v, FirstStep: -1}), from+b.width
	}
	c := &b.out[len(b.out)-1]
	c.N++
	c.Min, c.Max, c.Sum, c.Last = min(c.Min, v), max(c.Max, v), c.Sum+v, v
	if c.N == 1 {
		c.LastStep = -1
	}
	if step >= 0 {
		if c.FirstStep < 0 {
			c.FirstStep = step
		}
		c.LastStep = step
	}
}
