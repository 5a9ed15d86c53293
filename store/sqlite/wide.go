package sqlite

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stepscope/stepscope/store/chunk"
)

// wideIn finds wide blocks of engines that have rows in a time range. None is
// longer than an hour.
const wideIn = `SELECT b.engine, b.id FROM json_each(?) p CROSS JOIN series_block b ON b.engine = p.value AND b.chunk = 0 AND b.first > ? AND b.first < ? AND b.last >= ?`

// wide calls f for the pieces of wide blocks that have values of the plans'
// columns in a time range, those of one column by arrival. They all came after
// what blocks with sums have of their time. What f gets is its own only during the
// call.
func (b *blocks) wide(plans []plan, from, to int64, f func(plan, column int, r *chunk.Rows, v []float64)) error {
	index := make(map[int64]int, len(plans))
	engines := make([]int64, len(plans))
	for i, p := range plans {
		index[p.engine], engines[i] = i, p.engine
	}
	var found [][2]int64
	err := each(b.tx, func(scan scanner) error {
		var of [2]int64
		err := scan(&of[0], &of[1])
		found = append(found, of)
		return err
	}, wideIn, list(engines), from-hour, to, from)
	if err != nil || len(found) == 0 {
		return err
	}
	slices.SortFunc(found, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	ids := make([]int64, len(found))
	for i, of := range found {
		ids[i] = of[1]
	}
	var w chunk.Wide
	var data sql.RawBytes
	return each(b.tx, func(scan scanner) error {
		var id, engine int64
		if err := scan(&id, &engine, &data); err != nil {
			return err
		}
		if err := w.Decode(data); err != nil {
			return damaged("block", id, err)
		}
		i := index[engine]
		return b.wideColumns(id, &w, plans[i].columns, func(c, _ int, r *chunk.Rows, v []float64) { f(i, c, r, v) })
	}, `SELECT b.id, b.engine, b.data FROM json_each(?) p CROSS JOIN series_block b ON b.id = p.value`, list(ids))
}

// wideColumns calls f for the pieces n of a wide block that have values of some columns.
func (b *blocks) wideColumns(id int64, w *chunk.Wide, columns []column, f func(c, n int, r *chunk.Rows, v []float64)) error {
	b.start(id, len(w.Pieces))
	for c := range columns {
		at := w.Find(columns[c].id)
		if at < 0 {
			continue
		}
		for n, p := range w.Pieces {
			if len(p.Values[at]) == 0 {
				continue
			}
			r, v, err := b.piece(n, p.Rows, p.Values[at])
			if err != nil {
				return damaged("block", id, fmt.Errorf("series %d: %w", columns[c].id, err))
			}
			f(c, n, r, v)
		}
	}
	return nil
}

// wideOrder is where the ids of edges from wide blocks begin: after those from
// blocks with sums and before those of the head, with room for 16 pieces.
const wideOrder = math.MinInt64 / 2

// wideEdges looks through an engine's wide blocks from the range's edge inwards.
func (e *edges) wideEdges(p *plan, out []edge) error {
	var w chunk.Wide
	var data sql.RawBytes
	err := eachOf(e.wide, func(scan scanner) error {
		var id, first, last int64
		if err := scan(&id, &first, &last, &data); err != nil {
			return err
		}
		// Blocks come by their beginnings and end up to an hour later.
		done, reaches := true, false
		for i := range out {
			done = done && out[i].found && (e.last && first+hour <= out[i].time || !e.last && first > out[i].time)
			reaches = reaches || !out[i].found || e.last && last >= out[i].time || !e.last && first <= out[i].time
		}
		if done {
			return errEnough
		}
		if !reaches {
			return nil
		}
		if err := w.Decode(data); err != nil {
			return damaged("block", id, err)
		}
		return e.packed.wideColumns(id, &w, p.columns, func(c, n int, r *chunk.Rows, v []float64) {
			for i, x := range v {
				if t := r.Times[i]; x == x && t >= e.from && t < e.to {
					e.take(&out[c], edge{true, t, r.Steps[i], wideOrder + (id<<4+int64(n))*chunk.MaxRows + int64(i), r.Flags[i], x})
				}
			}
		})
	}, p.engine, e.from-hour, e.to, e.from)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}
