package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/chunk"
)

// edge is the first or the last value of a series in a range.
type edge struct {
	found      bool
	time, step int64
	id         int64 // of equal times the greater one came later; negative in blocks, which hold what came before the head
	flags      store.Flags
	value      float64
}

// edges finds series' first or last values without reading what lies between.
type edges struct {
	from, to int64
	last     bool // else the first
	head     *sql.Stmt
	sums     *sql.Stmt
	reach    *sql.Stmt
	wide     *sql.Stmt
	packed   *blocks
}

// The queries give rows from the range's edge inwards. Of equal times the row
// that came later is the later one.
const (
	headEdge = `SELECT id, time, step, flags, vals FROM sample WHERE engine = ? AND layout = ? AND time >= ? AND time < ? ORDER BY time %[1]s, id %[1]s`
	reachOf  = `SELECT (SELECT min(first) FROM series_block WHERE engine = ?1 AND first > ?2 AND first < ?3),
		(SELECT max(last) FROM series_block WHERE engine = ?1 AND first > (SELECT max(first) FROM series_block WHERE engine = ?1 AND first < ?3) - ?4 AND first < ?3)`
	wideEdge = `SELECT id, first, last, data FROM series_block WHERE engine = ? AND chunk = 0 AND first > ? AND first < ? AND last >= ? ORDER BY first %s`
	sumsEdge = `SELECT first, block, chunk, data FROM series_sum WHERE engine = ? AND series = ? AND first > ? AND first < ? ORDER BY first %s`
)

func newEdges(tx *sql.Tx, from, to int64, last bool) (e *edges, err error) {
	e = &edges{from: from, to: to, last: last, packed: newBlocks(tx)}
	order := "ASC"
	if last {
		order = "DESC"
	}
	if e.head, err = tx.Prepare(fmt.Sprintf(headEdge, order)); err != nil {
		return nil, err
	}
	if e.reach, err = tx.Prepare(reachOf); err != nil {
		return nil, err
	}
	if e.wide, err = tx.Prepare(fmt.Sprintf(wideEdge, order)); err != nil {
		return nil, err
	}
	e.sums, err = tx.Prepare(fmt.Sprintf(sumsEdge, order))
	return e, err
}

// errEnough ends a query early.
var errEnough = errors.New("enough")

// find returns the edge of each of a plan's columns.
func (e *edges) find(p *plan) ([]edge, error) {
	out := make([]edge, len(p.columns))
	if err := e.inHead(p, out); err != nil {
		return nil, err
	}
	// Blocks are worth a look only if one reaches as far as what is found.
	var first, last sql.NullInt64
	err := e.reach.QueryRow(p.engine, e.from-blockSpan, e.to, blockSpan).Scan(&first, &last)
	if err != nil || !first.Valid {
		return out, err
	}
	inside := func(o edge) bool {
		return !o.found || e.last && last.Int64 >= o.time || !e.last && first.Int64 <= o.time
	}
	if !slices.ContainsFunc(out, inside) {
		return out, nil
	}
	if err := e.wideEdges(p, out); err != nil {
		return nil, err
	}
	for i := range out {
		if !inside(out[i]) {
			continue
		}
		if err := e.inBlocks(p.engine, p.columns[i].id, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inHead looks through the rows that lie as they came, of each layout only until
// all columns have a value.
func (e *edges) inHead(p *plan, out []edge) error {
	type use struct{ pos, out int }
	uses := map[int64][]use{}
	for i, c := range p.columns {
		for _, at := range c.places {
			uses[at.layout] = append(uses[at.layout], use{int(at.pos), i})
		}
	}
	for layout, open := range uses {
		var vals sql.RawBytes
		err := eachOf(e.head, func(scan scanner) error {
			var o edge
			if err := scan(&o.id, &o.time, &o.step, &o.flags, &vals); err != nil {
				return err
			}
			open = slices.DeleteFunc(open, func(u use) bool {
				v, ok := valueAt(vals, u.pos)
				if !ok || v != v {
					return false
				}
				o.found, o.value = true, v
				e.take(&out[u.out], o)
				return true
			})
			if len(open) == 0 {
				return errEnough
			}
			return nil
		}, p.engine, layout, e.from, e.to)
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	return nil
}

// take keeps the one of two that lies further out.
func (e *edges) take(have *edge, o edge) {
	order := cmp.Or(cmp.Compare(o.time, have.time), cmp.Compare(o.id, have.id))
	if !have.found || e.last && order > 0 || !e.last && order < 0 {
		*have = o
	}
}

// inBlocks looks at a series' sums from the range's edge inwards until no block
// can reach further out, and unpacks the piece that holds the edge.
func (e *edges) inBlocks(engine, series int64, have *edge) error {
	var segments []segment
	best := int64(math.MinInt64)
	var data sql.RawBytes
	if !e.last {
		best = math.MaxInt64
	}
	if have.found {
		best = have.time
	}
	err := eachOf(e.sums, func(scan scanner) (err error) {
		var first int64
		var seg segment
		if err := scan(&first, &seg.block, &seg.chunk, &data); err != nil {
			return err
		}
		if e.last && first+blockSpan < best || !e.last && first > best {
			return errEnough
		}
		if e.packed.sums, err = e.packed.dec.DecodeAggregates(e.packed.sums, data); err != nil {
			return damaged("sums of chunk", seg.chunk, err)
		}
		for _, a := range e.packed.sums {
			if a.First >= e.to || a.Last < e.from || e.last && min(a.Last, e.to-1) < best || !e.last && max(a.First, e.from) > best {
				continue
			}
			seg.sums = append(seg.sums, a)
			// Where the range cuts through a piece, its edge lies somewhere inside.
			if e.last && a.Last < e.to {
				best = a.Last
			} else if !e.last && a.First >= e.from {
				best = a.First
			}
		}
		if len(seg.sums) > 0 {
			segments = append(segments, seg)
		}
		return nil
	}, engine, series, e.from-blockSpan, e.to)
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	id := int64(math.MinInt64)
	return e.packed.unpack(segments, func(_ *segment, r *chunk.Rows, v []float64) {
		for i, x := range v {
			if t := r.Times[i]; x == x && t >= e.from && t < e.to {
				e.take(have, edge{true, t, r.Steps[i], id, r.Flags[i], x})
				id++
			}
		}
	})
}

// enginesAtOnce is the engines whose edges are found in one transaction.
const enginesAtOnce = 128

// Columns implements store.Samples.
func (s *Store) Columns(ctx context.Context, sel store.Selection) (out []store.SeriesInfo, err error) {
	from, to := sel.Range()
	plans, err := s.plans(ctx, sel.Engines, sel.Metrics)
	if err != nil || from >= to {
		return nil, s.failure("list columns", err)
	}
	for part := range slices.Chunk(plans, enginesAtOnce) {
		err := s.read(ctx, func(tx *sql.Tx) error {
			firsts, err := newEdges(tx, from, to, false)
			if err != nil {
				return err
			}
			lasts, err := newEdges(tx, from, to, true)
			if err != nil {
				return err
			}
			for i := range part {
				p := &part[i]
				first, err := firsts.find(p)
				if err != nil {
					return err
				}
				last, err := lasts.find(p)
				if err != nil {
					return err
				}
				for k, c := range p.columns {
					if first[k].found {
						out = append(out, store.SeriesInfo{Engine: p.engine, Column: c.Column, First: first[k].time, Last: last[k].time})
					}
				}
			}
			return nil
		})
		if err != nil {
			return nil, s.failure("list columns", err)
		}
	}
	return out, nil
}

// Latest implements store.Samples.
func (s *Store) Latest(ctx context.Context, engines []int64, metrics []string, since int64) (out []store.Latest, err error) {
	from, to := store.Selection{From: since, To: store.MaxTime + 1}.Range()
	plans, err := s.plans(ctx, engines, metrics)
	if err != nil {
		return nil, s.failure("read latest values", err)
	}
	for part := range slices.Chunk(plans, enginesAtOnce) {
		err := s.read(ctx, func(tx *sql.Tx) error {
			lasts, err := newEdges(tx, from, to, true)
			if err != nil {
				return err
			}
			var ids []int64
			for _, p := range part {
				ids = append(ids, p.engine)
			}
			captures, err := perturbations(tx, ids, from, to)
			if err != nil {
				return err
			}
			for i := range part {
				p := &part[i]
				last, err := lasts.find(p)
				if err != nil {
					return err
				}
				for k, o := range last {
					if !o.found {
						continue
					}
					for _, c := range captures {
						if c.Engine == p.engine && c.From <= o.time && o.time <= c.To {
							o.flags |= store.Perturbed
						}
					}
					out = append(out, store.Latest{Engine: p.engine, Column: p.columns[k].Column, Time: o.time, Step: o.step, Flags: o.flags, Value: o.value})
				}
			}
			return nil
		})
		if err != nil {
			return nil, s.failure("read latest values", err)
		}
	}
	return out, nil
}
