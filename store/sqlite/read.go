package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/chunk"
)

// points is one series as it is read. ids grow by arrival.
type points struct {
	times, steps []int64
	flags        []store.Flags
	values       []float64
	ids          []int64
}

func (p *points) Len() int { return len(p.times) }

func (p *points) add(id, time, step int64, flags store.Flags, v float64) {
	p.times, p.steps, p.flags, p.values, p.ids = append(p.times, time), append(p.steps, step), append(p.flags, flags), append(p.values, v), append(p.ids, id)
}

// order sorts by time, equal times by arrival.
func (p *points) order() {
	sorted := true
	for i := 1; i < len(p.times) && sorted; i++ {
		sorted = p.times[i-1] < p.times[i] || p.times[i-1] == p.times[i] && p.ids[i-1] < p.ids[i]
	}
	if sorted {
		return
	}
	at := make([]int, len(p.times))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.times[a], p.times[b]), cmp.Compare(p.ids[a], p.ids[b]))
	})
	q := points{}
	for _, i := range at {
		q.add(p.ids[i], p.times[i], p.steps[i], p.flags[i], p.values[i])
	}
	*p = q
}

// gatherValues bounds the values that are read in one go, unless one series has more.
const gatherValues = 2 << 20

// gather reads the columns of a plan in a time range and gives each to yield,
// outside of any transaction. Each column is read on one state of the database.
func (s *Store) gather(ctx context.Context, p *plan, from, to int64, yield func(c *column, got *points) error) error {
	for rest := *p; len(rest.columns) > 0; {
		var out []points
		var captures []store.Event
		err := s.read(ctx, func(tx *sql.Tx) (err error) {
			if captures, err = perturbations(tx, []int64{p.engine}, from, to); err != nil {
				return err
			}
			if out, err = packedPoints(tx, &rest, from, to); err != nil {
				return err
			}
			query, err := tx.Prepare(headQuery)
			if err != nil {
				return err
			}
			defer query.Close()
			return head(query, &plan{p.engine, rest.columns[:len(out)]}, from, to, out)
		})
		if err != nil {
			return err
		}
		for i := range out {
			out[i].order()
			perturb(&out[i], captures)
			if err := yield(&rest.columns[i], &out[i]); err != nil {
				return err
			}
			out[i] = points{}
		}
		rest.columns = rest.columns[len(out):]
	}
	return nil
}

// packedPoints reads from the chunks as many of the plan's first columns as fit.
func packedPoints(tx *sql.Tx, p *plan, from, to int64) ([]points, error) {
	b := newBlocks(tx)
	found, err := b.find([]plan{*p}, from, to)
	if err != nil {
		return nil, err
	}
	var all []segment
	var total int64
	index := map[*segments]int{}
	for i := range p.columns {
		s := found[[2]int64{p.engine, p.columns[i].id}]
		for k := range s.list {
			for _, a := range s.list[k].sums {
				total += a.N
			}
		}
		if total > gatherValues && i > 0 {
			break
		}
		index[s] = i
		all = append(all, s.list...)
	}
	out := make([]points, len(index))
	id := int64(math.MinInt64) // before all rows of the head
	take := func(column int, r *chunk.Rows, v []float64) {
		got := &out[column]
		first, _ := slices.BinarySearch(r.Times, from)
		for k := first; k < len(v) && r.Times[k] < to; k++ {
			if v[k] == v[k] {
				got.add(id, r.Times[k], r.Steps[k], r.Flags[k], v[k])
				id++
			}
		}
	}
	err = b.unpack(all, func(seg *segment, r *chunk.Rows, v []float64) { take(index[seg.series], r, v) })
	if err == nil {
		err = b.wide([]plan{{p.engine, p.columns[:len(out)]}}, from, to, func(_, c int, r *chunk.Rows, v []float64) { take(c, r, v) })
	}
	return out, err
}

// headQuery finds the rows of a stream that lie as they came, with some neighbouring
// columns' values.
const headQuery = `SELECT id, time, step, flags, substr(vals, ?, ?) FROM sample WHERE engine = ? AND layout = ? AND time >= ? AND time < ? ORDER BY time, id`

// head reads the rows that lie as they came, by the query above.
func head(query *sql.Stmt, p *plan, from, to int64, out []points) error {
	type use struct{ pos, out int }
	uses := map[int64][]use{}
	var order []int64
	for i, c := range p.columns {
		for _, at := range c.places {
			if uses[at.layout] == nil {
				order = append(order, at.layout)
			}
			uses[at.layout] = append(uses[at.layout], use{int(at.pos), i})
		}
	}
	var id, time, step, flags int64
	var vals sql.RawBytes
	row := []any{&id, &time, &step, &flags, &vals} // once: there are many rows
	for _, layout := range order {
		of := uses[layout]
		first, last := of[0].pos, of[0].pos
		for _, u := range of {
			first, last = min(first, u.pos), max(last, u.pos)
		}
		err := eachOf(query, func(scan scanner) error {
			if err := scan(row...); err != nil {
				return err
			}
			for _, u := range of {
				v, ok := valueAt(vals, u.pos-first)
				if !ok {
					return fmt.Errorf("%w: row %d has no column %d", store.ErrCorrupt, id, u.pos)
				}
				if v == v { // absent otherwise
					out[u.out].add(id, time, step, store.Flags(flags), v)
				}
			}
			return nil
		}, 8*first+1, 8*(last-first+1), p.engine, layout, from, to)
		if err != nil {
			return err
		}
	}
	return nil
}

// valueAt unpacks one value of a row.
func valueAt(vals []byte, pos int) (float64, bool) {
	if len(vals) < 8*(pos+1) {
		return 0, false
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(vals[8*pos:])), true
}

// perturbations are the captures during which engines' samples were taken.
func perturbations(tx *sql.Tx, engines []int64, from, to int64) (out []store.Event, err error) {
	err = each(tx, func(scan scanner) error {
		e, err := scanEvent(scan)
		out = append(out, e)
		return err
	}, eventColumns+`WHERE engine IN (SELECT value FROM json_each(?)) AND stop >= ? AND start < ? AND kind = ? ORDER BY start, id`, list(engines), from, to, string(store.CaptureEvent))
	return out, err
}

// perturb marks what was taken during captures.
func perturb(p *points, captures []store.Event) {
	for _, c := range captures {
		first, _ := slices.BinarySearch(p.times, c.From)
		for i := first; i < len(p.times) && p.times[i] <= c.To; i++ {
			p.flags[i] |= store.Perturbed
		}
	}
}

// Read implements store.Samples. No transaction is open while yield runs.
func (s *Store) Read(ctx context.Context, sel store.Selection, yield func(*store.Series) error) error {
	from, to := sel.Range()
	plans, err := s.plans(ctx, sel.Engines, sel.Metrics)
	if err != nil {
		return s.failure("read samples", err)
	}
	for i := range plans {
		p := &plans[i]
		var stopped error
		err := s.gather(ctx, p, from, to, func(c *column, got *points) error {
			if got.Len() > 0 {
				stopped = yield(&store.Series{Engine: p.engine, Column: c.Column, Times: got.times, Steps: got.steps, Flags: got.flags, Values: got.values})
			}
			return stopped
		})
		if stopped != nil {
			return stopped
		}
		if err != nil {
			return s.failure(fmt.Sprintf("read samples of engine %d", p.engine), err)
		}
	}
	return nil
}
