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

const (
	// compactValues bounds what one engine's hour may take in memory, in values.
	compactValues = 4 << 20
	// compactAtOnce is about the rows of one writing transaction. Those of all
	// engines lie mixed in the same pages, so packing few engines at once would
	// write each page many times; more rows would hold the writer too long.
	compactAtOnce = 10_000
	// partRows is the least rows of a part of an hour that is not over: fewer wait
	// as they came, since each block costs a look-up and some bytes a series.
	partRows = 32
)

// compacted is raw rows of one engine's hour, packed but not yet stored.
type compacted struct {
	ids    []int64 // of the rows
	blocks []block
}

// errRaced: somebody else compacted or removed the same rows meanwhile.
var errRaced = errors.New("changed meanwhile")

// compact packs the rows before a time, by the hour; the last hour in parts.
func (s *Store) compact(ctx context.Context, before int64, m *store.Maintained) error {
	var pending []compacted
	flush := func() error {
		err := s.storeCompacted(ctx, pending, m)
		pending = pending[:0]
		return err
	}
	engines, err := s.stale(ctx, before)
	if err != nil {
		return err
	}
	s.watchClocks(engines, before)
	rows := 0
	for {
		first := before
		for i := range engines {
			if e := &engines[i]; e.oldest < before-s.behind[e.id] {
				first = min(first, e.oldest)
			}
		}
		if first >= before {
			return flush()
		}
		from := first - first%hour
		for i := range engines {
			e := &engines[i]
			for to := min(from+hour, before-s.behind[e.id]); e.oldest < to; {
				c, next, err := s.packHour(ctx, e, from, to)
				if err != nil {
					return err
				}
				if len(c.ids) > 0 {
					pending = append(pending, c)
					rows += len(c.ids)
				}
				// What is too large for one go has to leave before the rest of it is read.
				if rows >= compactAtOnce || next < to {
					if err := flush(); err != nil {
						return err
					}
					rows = 0
				}
				e.oldest = next
			}
		}
	}
}

// staleEngine is an engine with rows to pack.
type staleEngine struct {
	id, oldest, newest int64 // times of its rows
	layouts            []int64
}

// watchClocks notes which engines' clocks are behind, and by how much. They add to
// hours that are long over for others, a wrong time zone does that, and these must not
// be packed and folded anew for every few lines. What came since the last round tells
// them from engines that ended.
func (s *Store) watchClocks(engines []staleEngine, before int64) {
	newest := make(map[int64]int64, len(engines))
	clear(s.behind)
	for _, e := range engines {
		newest[e.id] = e.newest
		if was, ok := s.newest[e.id]; ok && e.newest > was && before-e.newest > int64(closeAfter) {
			s.behind[e.id] = before - e.newest
		}
	}
	s.newest = newest
}

// stale finds the engines with rows from before a time.
func (s *Store) stale(ctx context.Context, before int64) (out []staleEngine, err error) {
	err = s.read(ctx, func(tx *sql.Tx) error {
		return each(tx, func(scan scanner) error {
			var engine, layout int64
			var oldest, newest sql.NullInt64
			if err := scan(&engine, &layout, &oldest, &newest); err != nil {
				return err
			}
			if len(out) == 0 || out[len(out)-1].id != engine {
				out = append(out, staleEngine{id: engine, oldest: math.MaxInt64})
			}
			e := &out[len(out)-1]
			e.layouts = append(e.layouts, layout)
			if oldest.Valid {
				e.oldest, e.newest = min(e.oldest, oldest.Int64), max(e.newest, newest.Int64)
			}
			return nil
		}, `SELECT engine, layout, (SELECT min(time) FROM sample m WHERE m.engine = s.engine AND m.layout = s.layout),
			(SELECT max(time) FROM sample m WHERE m.engine = s.engine AND m.layout = s.layout) FROM stream s ORDER BY engine, layout`)
	})
	return slices.DeleteFunc(out, func(e staleEngine) bool { return e.oldest >= before }), err
}

// rawRow is a row on its way into a block.
type rawRow struct {
	id, time, step int64
	flags          store.Flags
	layout         int64
	vals           []byte
}

// packHour reads and packs an engine's rows of an hour, or as many as fit into
// memory. next is the time from which on there are more rows.
func (s *Store) packHour(ctx context.Context, e *staleEngine, from, to int64) (c compacted, next int64, err error) {
	var rows []rawRow
	var layouts map[int64]*layout
	err = s.read(ctx, func(tx *sql.Tx) (err error) {
		if layouts, err = s.layouts(tx, e.layouts); err != nil {
			return err
		}
		widest := 1
		for _, l := range layouts {
			widest = max(widest, len(l.ids))
		}
		limit := min(max(compactValues/widest, 1), chunk.MaxRows)
		for _, id := range e.layouts {
			err := each(tx, func(scan scanner) error {
				r := rawRow{layout: id}
				err := scan(&r.id, &r.time, &r.step, &r.flags, &r.vals)
				if err == nil && len(r.vals) != 8*len(layouts[id].ids) {
					err = fmt.Errorf("%w: row %d has %d bytes for %d columns", store.ErrCorrupt, r.id, len(r.vals), len(layouts[id].ids))
				}
				rows = append(rows, r)
				return err
			}, `SELECT id, time, step, flags, vals FROM sample WHERE engine = ? AND layout = ? AND time >= ? AND time < ? ORDER BY time, id LIMIT ?`,
				e.id, id, from, to, limit)
			if err != nil {
				return err
			}
		}
		slices.SortFunc(rows, func(a, b rawRow) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id)) })
		if next = to; len(rows) >= limit {
			rows = rows[:limit]
			next = rows[limit-1].time // there may be more of this time
		} else {
			next, err = nextRow(tx, e, to)
		}
		return err
	})
	if err != nil {
		return compacted{}, 0, err
	}
	least, level := 1, levelHour
	if to < from+hour {
		level = levelPart
		if next >= to { // else there is no room for those that wait
			least = partRows
		}
	}
	var enc chunk.Encoder
	for _, of := range groupRows(rows, layouts) {
		if len(of) < least {
			continue
		}
		for i := range of {
			c.ids = append(c.ids, of[i].id)
		}
		if b := packRows(&enc, e.id, of, layouts); len(b.series) > 0 {
			b.level = level
			c.blocks = append(c.blocks, b)
		}
	}
	return c, next, nil
}

// nextRow is the time of an engine's first row from a time on.
func nextRow(tx *sql.Tx, e *staleEngine, from int64) (next int64, err error) {
	next = math.MaxInt64
	for _, id := range e.layouts {
		var t sql.NullInt64
		if err := tx.QueryRow(`SELECT min(time) FROM sample WHERE engine = ? AND layout = ? AND time >= ?`, e.id, id, from).Scan(&t); err != nil {
			return 0, err
		}
		if t.Valid {
			next = min(next, t.Int64)
		}
	}
	return next, nil
}

// groupRows parts rows by groups of layouts that have series in common.
func groupRows(rows []rawRow, layouts map[int64]*layout) (out [][]rawRow) {
	g := newGroups()
	for id, l := range layouts {
		for _, series := range l.ids {
			g.join(id, series)
		}
	}
	at := map[int64]int{}
	for _, r := range rows {
		root := g.root(r.layout)
		i, ok := at[root]
		if !ok {
			i, out = len(out), append(out, nil)
			at[root] = i
		}
		out[i] = append(out[i], r)
	}
	return out
}

func packRows(e *chunk.Encoder, engine int64, rows []rawRow, layouts map[int64]*layout) block {
	n := len(rows)
	r := chunk.Rows{Times: make([]int64, n), Steps: make([]int64, n), Flags: make([]store.Flags, n)}
	values := map[int64][]float64{}
	var order []int64
	for i := range rows {
		r.Times[i], r.Steps[i], r.Flags[i] = rows[i].time, rows[i].step, rows[i].flags
		for pos, id := range layouts[rows[i].layout].ids {
			x, _ := valueAt(rows[i].vals, pos)
			if x != x {
				continue
			}
			v := values[id]
			if v == nil {
				v = make([]float64, n)
				for k := range v {
					v[k] = math.NaN()
				}
				values[id], order = v, append(order, id)
			}
			v[i] = x
		}
	}
	b := block{engine: engine, first: r.Times[0], last: r.Times[n-1], pieces: [][]byte{chunk.AppendRows(nil, &r)}}
	slices.Sort(order)
	for _, id := range order {
		b.series = append(b.series, packedSeries{id: id, pieces: [][]byte{e.AppendValues(nil, values[id])}})
	}
	return b
}

// storeCompacted puts blocks in the place of the rows they were made of.
func (s *Store) storeCompacted(ctx context.Context, all []compacted, m *store.Maintained) error {
	if len(all) == 0 {
		return nil
	}
	var rows, chunks int64
	err := s.write(ctx, func(tx *sql.Tx) error {
		rows, chunks = 0, 0
		var e chunk.Encoder
		for i := range all {
			res, err := tx.Exec(`DELETE FROM sample WHERE id IN (SELECT value FROM json_each(?))`, list(all[i].ids))
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n != int64(len(all[i].ids)) {
				return errors.Join(err, errRaced)
			}
			rows += int64(len(all[i].ids))
			for k := range all[i].blocks {
				if err := insertBlock(tx, &e, &all[i].blocks[k]); err != nil {
					return err
				}
				chunks += int64(len(all[i].blocks[k].series))
			}
		}
		return nil
	})
	if errors.Is(err, errRaced) { // the rows that are left wait for the next round
		return nil
	}
	m.Rows, m.Chunks = m.Rows+rows, m.Chunks+chunks
	return err
}

// groups joins what has a series in common.
type groups struct{ parent, first map[int64]int64 }

func newGroups() groups { return groups{map[int64]int64{}, map[int64]int64{}} }

// join says that an item has a series.
func (g groups) join(item, series int64) {
	if other, ok := g.first[series]; ok {
		a, b := g.root(item), g.root(other)
		g.parent[max(a, b)] = min(a, b)
		return
	}
	g.first[series] = item
}

// root is the item that stands for a group.
func (g groups) root(item int64) int64 {
	for {
		p, ok := g.parent[item]
		if !ok || p == item {
			return item
		}
		item = p
	}
}
