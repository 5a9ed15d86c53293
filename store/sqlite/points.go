package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/chunk"
)

// Points implements store.Samples. Where a bucket covers a whole piece of a
// chunk, its sums do and no value is unpacked.
func (s *Store) Points(ctx context.Context, q store.PointsQuery) ([]store.Points, error) {
	b := bucketer{only: q.Only}
	b.from, b.to = q.Range()
	if b.start, b.width = q.Grid(); b.width == 0 {
		return nil, nil
	}
	plans, err := s.plans(ctx, q.Engines, q.Metrics)
	if err != nil {
		return nil, s.failure("read points", err)
	}
	b.sums = make([]chunk.Aggregate, (b.to-b.start-1)/b.width+1)
	var out []store.Points
	for i := range plans {
		p := &plans[i]
		err := s.read(ctx, func(tx *sql.Tx) error {
			packed := newBlocks(tx)
			rows := make([]points, len(p.columns))
			if err := head(tx, p, b.from, b.to, rows); err != nil {
				return err
			}
			for c := range p.columns {
				if err := b.packed(packed, p.engine, p.columns[c].id); err != nil {
					return err
				}
				r := &rows[c]
				r.order()
				for k := range r.times {
					b.add(r.times[k], r.steps[k], r.flags[k], r.values[k])
				}
				if buckets := b.flush(); len(buckets) > 0 {
					out = append(out, store.Points{Engine: p.engine, Column: p.columns[c].Column, Width: b.width, Buckets: buckets})
				}
			}
			return nil
		})
		if err != nil {
			return nil, s.failure(fmt.Sprintf("read points of engine %d", p.engine), err)
		}
	}
	return out, nil
}

// bucketer sums up what comes by arrival. It is used again after flush.
type bucketer struct {
	from, to     int64 // of the range
	start, width int64 // of the first bucket
	only         store.Flags
	sums         []chunk.Aggregate // by bucket
}

// takes says whether a row is one of those that are asked for: rows of neither
// kind always are.
func (b *bucketer) takes(flags store.Flags) bool {
	return b.only&chunk.Kinds == 0 || flags&chunk.Kinds == 0 || flags&b.only != 0
}

func (b *bucketer) add(time, step int64, flags store.Flags, v float64) {
	if time < b.from || time >= b.to || !b.takes(flags) {
		return
	}
	a := &b.sums[(time-b.start)/b.width]
	if a.N == 0 || time >= a.Last {
		a.Add(time, step, v)
	} else {
		a.Merge(&chunk.Aggregate{N: 1, First: time, Last: time, FirstStep: step, LastStep: step, Min: v, Max: v, Sum: v, LastValue: v})
	}
}

// addSums counts a piece without looking at its values. It says no if they
// belong into several buckets, or if it can't tell which of two came last.
func (b *bucketer) addSums(sums []chunk.Aggregate) bool {
	var all chunk.Aggregate
	for i := range sums {
		a := &sums[i]
		if !b.takes(a.Kind) {
			continue
		}
		if all.N > 0 && (a.First == all.First || a.Last == all.Last) {
			return false
		}
		all.Merge(a)
	}
	if all.N == 0 {
		return true
	}
	i := (all.First - b.start) / b.width
	if all.First < b.from || all.Last >= b.to || i != (all.Last-b.start)/b.width {
		return false
	}
	b.sums[i].Merge(&all)
	return true
}

// packed counts what an engine's chunks have of a series.
func (b *bucketer) packed(packed *blocks, engine, series int64) error {
	segments, err := packed.segments(engine, series, b.from, b.to)
	if err != nil {
		return err
	}
	var open []segment // to be unpacked
	var openLast int64 // the last time in them
	unpack := func() error {
		err := packed.values(open, (*segment).has, func(r *chunk.Rows, v []float64) {
			for i, x := range v {
				if x == x {
					b.add(r.Times[i], r.Steps[i], r.Flags[i], x)
				}
			}
		})
		open, openLast = open[:0], 0
		return err
	}
	for _, seg := range segments {
		rest := segment{block: seg.block, chunk: seg.chunk}
		for n, end := 0, 0; n < len(seg.sums); n = end {
			first, last := seg.sums[n].First, seg.sums[n].Last
			for end = n + 1; end < len(seg.sums) && seg.sums[end].Piece == seg.sums[n].Piece; end++ {
				first, last = min(first, seg.sums[end].First), max(last, seg.sums[end].Last)
			}
			// Of equal times the one that arrived later must be added later.
			if len(open) > 0 && first <= openLast {
				if err := unpack(); err != nil {
					return err
				}
			}
			if !b.addSums(seg.sums[n:end]) {
				rest.sums, openLast = append(rest.sums, seg.sums[n:end]...), max(openLast, last)
			}
		}
		if len(rest.sums) > 0 {
			open = append(open, rest)
		}
	}
	return unpack()
}

// flush returns the buckets that have something in them and empties all.
func (b *bucketer) flush() (out []store.Bucket) {
	for i := range b.sums {
		if a := &b.sums[i]; a.N > 0 {
			out = append(out, store.Bucket{From: b.start + int64(i)*b.width, N: a.N, Min: a.Min, Max: a.Max, Sum: a.Sum, Last: a.LastValue,
				FirstStep: a.FirstStep, LastStep: a.LastStep})
		}
	}
	clear(b.sums)
	return out
}
