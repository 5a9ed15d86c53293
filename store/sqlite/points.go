package sqlite

import (
	"context"
	"database/sql"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/chunk"
)

// bucketsAtOnce bounds the buckets under way in one transaction.
const bucketsAtOnce = 1 << 17

// Points implements store.Samples. Where a bucket covers a whole piece of a
// chunk, its sums do and no value is unpacked.
func (s *Store) Points(ctx context.Context, q store.PointsQuery) ([]store.Points, error) {
	g := grid{only: q.Only}
	g.from, g.to = q.Range()
	if g.start, g.width = q.Grid(); g.width == 0 {
		return nil, nil
	}
	g.buckets = int((g.to-g.start-1)/g.width + 1)
	plans, err := s.plans(ctx, q.Engines, q.Metrics)
	if err != nil {
		return nil, s.failure("read points", err)
	}
	var out []store.Points
	for _, part := range split(plans, max(bucketsAtOnce/g.buckets, 1)) {
		err := s.read(ctx, func(tx *sql.Tx) (err error) {
			out, err = g.read(tx, part, out)
			return err
		})
		if err != nil {
			return nil, s.failure("read points", err)
		}
	}
	return out, nil
}

// split cuts plans into parts of at most so many columns each, in order.
func split(plans []plan, columns int) (out [][]plan) {
	var part []plan
	room := columns
	for _, p := range plans {
		for len(p.columns) > 0 {
			n := min(len(p.columns), room)
			part = append(part, plan{p.engine, p.columns[:n]})
			p.columns = p.columns[n:]
			if room -= n; room == 0 {
				out, part, room = append(out, part), nil, columns
			}
		}
	}
	if part != nil {
		out = append(out, part)
	}
	return out
}

// grid is where a query's buckets lie.
type grid struct {
	from, to     int64 // the range
	start, width int64 // of the first bucket
	buckets      int
	only         store.Flags
}

// read reads the points of the plans' columns.
func (g *grid) read(tx *sql.Tx, plans []plan, out []store.Points) ([]store.Points, error) {
	packed := newBlocks(tx)
	found, err := packed.find(plans, g.from, g.to)
	if err != nil {
		return nil, err
	}
	sums := make(map[*segments]*bucketer, len(found))
	var open []segment
	for _, p := range plans {
		for i := range p.columns {
			of := found[[2]int64{p.engine, p.columns[i].id}]
			b := &bucketer{grid: g}
			if len(of.list) > 0 {
				b.sums = make([]chunk.Aggregate, g.buckets)
			}
			sums[of], open = b, b.addSegments(of.list, open)
		}
	}
	err = packed.unpack(open, func(seg *segment, r *chunk.Rows, v []float64) {
		b := sums[seg.series]
		for i, x := range v {
			if x == x {
				b.add(r.Times[i], r.Steps[i], r.Flags[i], x)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	query, err := tx.Prepare(headQuery)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	for k := range plans {
		p := &plans[k]
		rows := make([]points, len(p.columns))
		if err := head(query, p, g.from, g.to, rows); err != nil {
			return nil, err
		}
		for c := range p.columns {
			b, r := sums[found[[2]int64{p.engine, p.columns[c].id}]], &rows[c]
			if b.sums == nil && r.Len() > 0 {
				b.sums = make([]chunk.Aggregate, g.buckets)
			}
			r.order()
			for i := range r.times {
				b.add(r.times[i], r.steps[i], r.flags[i], r.values[i])
			}
			if buckets := b.list(); len(buckets) > 0 {
				out = append(out, store.Points{Engine: p.engine, Column: p.columns[c].Column, Width: g.width, Buckets: buckets})
			}
		}
	}
	return out, nil
}

// takes says whether a row is one of those that are asked for: rows of neither
// kind always are.
func (g *grid) takes(flags store.Flags) bool {
	return g.only&chunk.Kinds == 0 || flags&chunk.Kinds == 0 || flags&g.only != 0
}

// bucketer sums up one series, which comes by arrival.
type bucketer struct {
	*grid
	sums []chunk.Aggregate // by bucket
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

// addSegments counts pieces that belong into one bucket, and adds the others to
// those that are to be unpacked.
func (b *bucketer) addSegments(list, open []segment) []segment {
	openLast := int64(-1) // the latest time in what is to be unpacked
	for _, seg := range list {
		rest := segment{series: seg.series, block: seg.block, chunk: seg.chunk}
		for n, end := 0, 0; n < len(seg.sums); n = end {
			first, last := seg.sums[n].First, seg.sums[n].Last
			for end = n + 1; end < len(seg.sums) && seg.sums[end].Piece == seg.sums[n].Piece; end++ {
				first, last = min(first, seg.sums[end].First), max(last, seg.sums[end].Last)
			}
			// What is unpacked is counted later; of equal times it must then have arrived later.
			if first <= openLast || !b.addSums(seg.sums[n:end]) {
				rest.sums, openLast = append(rest.sums, seg.sums[n:end]...), max(openLast, last)
			}
		}
		if len(rest.sums) > 0 {
			open = append(open, rest)
		}
	}
	return open
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

// list is the buckets that have something in them.
func (b *bucketer) list() (out []store.Bucket) {
	for i := range b.sums {
		if a := &b.sums[i]; a.N > 0 {
			out = append(out, store.Bucket{From: b.start + int64(i)*b.width, N: a.N, Min: a.Min, Max: a.Max, Sum: a.Sum, Last: a.LastValue,
				FirstStep: a.FirstStep, LastStep: a.LastStep})
		}
	}
	return out
}
