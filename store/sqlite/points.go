package sqlite

import (
	"context"
	"database/sql"
	"slices"

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
	parts := split(plans, max(bucketsAtOnce/g.buckets, 1))
	results := make([][]store.Points, len(parts))
	err = atOnce(ctx, len(parts), func(ctx context.Context, i int) error {
		return s.read(ctx, func(tx *sql.Tx) (err error) {
			results[i], err = g.read(tx, parts[i])
			return err
		})
	})
	if err != nil {
		return nil, s.failure("read points", err)
	}
	return slices.Concat(results...), nil
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
func (g *grid) read(tx *sql.Tx, plans []plan) (out []store.Points, err error) {
	packed := newBlocks(tx)
	series := make(map[[2]int64]*bucketer)
	for _, p := range plans {
		for _, c := range p.columns {
			series[[2]int64{p.engine, c.id}] = &bucketer{grid: g, of: &segments{engine: p.engine, series: c.id}}
		}
	}
	owners := make(map[*segments]*bucketer, len(series))
	var open []segment
	err = packed.each(plans, g.from, g.to, func(key [2]int64, first int64, seg segment) {
		b := series[key]
		owners[b.of], seg.series = b, b.of
		open = b.addBlock(first, seg, open)
	})
	if err != nil {
		return nil, err
	}
	// Blocks that reach over others in time have to be looked at by arrival.
	if open, err = g.again(packed, plans, series, open); err != nil {
		return nil, err
	}
	err = packed.unpack(open, func(seg *segment, r *chunk.Rows, v []float64) {
		owners[seg.series].addRows(r, v)
	})
	if err != nil {
		return nil, err
	}
	err = packed.wide(plans, g.from, g.to, func(p, c int, r *chunk.Rows, v []float64) {
		series[[2]int64{plans[p].engine, plans[p].columns[c].id}].addRows(r, v)
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
			b, r := series[[2]int64{p.engine, p.columns[c].id}], &rows[c]
			r.order()
			b.addRows(&chunk.Rows{Times: r.times, Steps: r.steps, Flags: r.flags}, r.values)
			if buckets := b.list(); len(buckets) > 0 {
				out = append(out, store.Points{Engine: p.engine, Column: p.columns[c].Column, Width: g.width, Buckets: buckets})
			}
		}
	}
	return out, nil
}

// again starts anew with the series whose blocks overlap, and does them by arrival.
func (g *grid) again(packed *blocks, plans []plan, series map[[2]int64]*bucketer, open []segment) ([]segment, error) {
	var parts []plan
	for _, p := range plans {
		part := plan{engine: p.engine}
		for _, c := range p.columns {
			if series[[2]int64{p.engine, c.id}].overlap {
				part.columns = append(part.columns, c)
			}
		}
		if part.columns != nil {
			parts = append(parts, part)
		}
	}
	if parts == nil {
		return open, nil
	}
	found, err := packed.find(parts, g.from, g.to)
	if err != nil {
		return nil, err
	}
	open = slices.DeleteFunc(open, func(seg segment) bool { return series[[2]int64{seg.series.engine, seg.series.series}].overlap })
	for key, of := range found {
		b := series[key]
		clear(b.sums)
		b.openLast = -1
		for _, seg := range of.list {
			seg.series = b.of
			open = b.addSegment(seg, open)
		}
	}
	return open, nil
}

// takes says whether a row is one of those that are asked for: rows of neither
// kind always are.
func (g *grid) takes(flags store.Flags) bool {
	return g.only&chunk.Kinds == 0 || flags&chunk.Kinds == 0 || flags&g.only != 0
}

// bucketer sums up one series.
type bucketer struct {
	*grid
	of       *segments
	sums     []chunk.Aggregate // by bucket; nil without any
	end      int64             // the latest time of the blocks so far
	overlap  bool              // one of them began before that
	openLast int64             // the latest time of the pieces that are to be unpacked
}

// addRows counts rows by time that came after those before them. Neighbours fall
// into the same bucket, so each is looked for once.
func (b *bucketer) addRows(r *chunk.Rows, v []float64) {
	times, flags := r.Times[:len(v)], r.Flags[:len(v)]
	all := b.only&chunk.Kinds == 0
	i, _ := slices.BinarySearch(times, b.from)
	for i < len(v) && times[i] < b.to {
		end := min(times[i]-(times[i]-b.start)%b.width+b.width, b.to)
		var n int64
		var least, most, sum float64
		first, last := i, i
		for ; i < len(v) && times[i] < end; i++ {
			x := v[i]
			if x != x || !all && !b.takes(flags[i]) {
				continue
			}
			if n == 0 {
				first, least, most = i, x, x
			}
			n, last, least, most, sum = n+1, i, min(least, x), max(most, x), sum+x
		}
		if n > 0 {
			b.bucket(times[first]).Merge(&chunk.Aggregate{N: n, First: times[first], Last: times[last], FirstStep: r.Steps[first], LastStep: r.Steps[last],
				Min: least, Max: most, Sum: sum, LastValue: v[last]})
		}
	}
}

// bucket is the sums of the bucket that a time belongs to.
func (b *bucketer) bucket(time int64) *chunk.Aggregate {
	if b.sums == nil {
		b.sums = make([]chunk.Aggregate, b.buckets)
	}
	return &b.sums[(time-b.start)/b.width]
}

// addBlock counts a block that begins after all before it have ended; otherwise
// it notes that it doesn't.
func (b *bucketer) addBlock(first int64, seg segment, open []segment) []segment {
	if b.overlap = b.overlap || first <= b.end; b.overlap {
		return open
	}
	for i := range seg.sums {
		b.end = max(b.end, seg.sums[i].Last)
	}
	return b.addSegment(seg, open)
}

// addSegment counts pieces that belong into one bucket, and adds the others to
// those that are to be unpacked.
func (b *bucketer) addSegment(seg segment, open []segment) []segment {
	rest := seg
	rest.sums = nil
	for n, end := 0, 0; n < len(seg.sums); n = end {
		first, last := seg.sums[n].First, seg.sums[n].Last
		for end = n + 1; end < len(seg.sums) && seg.sums[end].Piece == seg.sums[n].Piece; end++ {
			first, last = min(first, seg.sums[end].First), max(last, seg.sums[end].Last)
		}
		// What is unpacked is counted later; of equal times it must then have arrived later.
		if len(open) > 0 && first <= b.openLast || !b.addSums(seg.sums[n:end]) {
			rest.sums, b.openLast = append(rest.sums, seg.sums[n:end]...), max(b.openLast, last)
		}
	}
	if len(rest.sums) > 0 {
		open = append(open, rest)
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
		if all.N == 0 {
			all = *a
			continue
		}
		if a.First == all.First || a.Last == all.Last {
			return false
		}
		all.Merge(a)
	}
	if all.N == 0 {
		return true
	}
	if all.First < b.from || all.Last >= b.to || (all.First-b.start)/b.width != (all.Last-b.start)/b.width {
		return false
	}
	b.bucket(all.First).Merge(&all)
	return true
}

// list is the buckets that have something in them.
func (b *bucketer) list() (out []store.Bucket) {
	n := 0
	for i := range b.sums {
		if b.sums[i].N > 0 {
			n++
		}
	}
	out = make([]store.Bucket, 0, n)
	for i := range b.sums {
		if a := &b.sums[i]; a.N > 0 {
			out = append(out, store.Bucket{From: b.start + int64(i)*b.width, N: a.N, Min: a.Min, Max: a.Max, Sum: a.Sum, Last: a.LastValue,
				FirstStep: a.FirstStep, LastStep: a.LastStep})
		}
	}
	return out
}
