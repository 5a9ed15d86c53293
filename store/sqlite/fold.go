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

// folds are the spans over which blocks are joined and the levels they have then.
// A step between hours and days keeps the last 24 hours of a series at about ten
// blocks.
var folds = []struct {
	span  int64
	level int
}{{hour, levelHour}, {3 * hour, levelSome}, {day, levelDay}}

// fold makes one block of an engine's blocks of an hour, for all hours that end
// before packed, then of three hours and of a day, for all that end before closed. A
// year of a series is then 365 rows to look at. What came late joins its day here. A
// damaged block keeps its own window as it is, and no other; it is the error.
func (s *Store) fold(ctx context.Context, packed, closed int64) error {
	var harm error
	for _, f := range folds {
		after, before := int64(0), closed
		switch f.level {
		case levelHour:
			before = packed
		case levelSome: // whole days need no step in between
			after = closed - closed%day
		}
		type window struct{ engine, start int64 }
		var windows []window
		err := s.read(ctx, func(tx *sql.Tx) error {
			return each(tx, func(scan scanner) error {
				var w window
				err := scan(&w.engine, &w.start)
				windows = append(windows, w)
				return err
			}, `SELECT DISTINCT engine, first - first % ?1 FROM series_block WHERE folded < 2 AND folded < ?2 AND first >= ?3 AND first < ?4`,
				f.span, f.level, after, before-before%f.span)
		})
		if err != nil {
			return err
		}
		for _, w := range windows {
			if w.start+f.span > before-s.behind[w.engine] {
				continue
			}
			err := s.foldWindow(ctx, w.engine, w.start, f.span, f.level)
			if errors.Is(err, store.ErrCorrupt) {
				harm = cmp.Or(harm, err)
			} else if err != nil {
				return err
			}
		}
	}
	return harm
}

func (s *Store) foldWindow(ctx context.Context, engine, start, span int64, level int) error {
	var stored []storedBlock
	var alone []int64 // blocks that stay as they are
	var folded []block
	var gone []int64
	err := s.read(ctx, func(tx *sql.Tx) (err error) {
		stored, err = blocksIn(tx, engine, start, start+span, level)
		return err
	})
	large := errors.Is(err, errTooLarge)
	if err != nil && !large {
		return err
	}
	g := newGroups()
	for i := range stored {
		for k := range stored[i].series {
			g.join(stored[i].id, stored[i].series[k].id)
		}
	}
	byGroup := map[int64][]storedBlock{}
	for _, b := range stored {
		byGroup[g.root(b.id)] = append(byGroup[g.root(b.id)], b)
	}
	for _, group := range byGroup {
		if len(group) == 1 && (large || level == levelHour || !group[0].wide) {
			alone = append(alone, group[0].id)
			continue
		}
		b, err := join(engine, group, level)
		if err != nil {
			return err
		}
		folded = append(folded, b)
		for _, old := range group {
			gone = append(gone, old.id)
		}
	}
	slices.SortFunc(folded, func(a, b block) int { return cmp.Compare(a.first, b.first) })
	err = s.write(ctx, func(tx *sql.Tx) error {
		// A block that came meanwhile would have a lesser id than one that it is later than.
		var n int
		err := tx.QueryRow(`SELECT count(*) FROM series_block WHERE engine = ? AND first >= ? AND first < ? AND folded <= ?`, engine, start, start+span, level).Scan(&n)
		if err != nil || n != len(stored) {
			return errors.Join(err, errRaced)
		}
		for _, id := range gone {
			if _, err := removeBlock(tx, id); errors.Is(err, sql.ErrNoRows) {
				return errRaced
			} else if err != nil {
				return err
			}
		}
		var e chunk.Encoder
		for i := range folded {
			folded[i].level = level
			if err := insertBlock(tx, &e, &folded[i]); err != nil {
				return err
			}
		}
		_, err = tx.Exec(`UPDATE series_block SET folded = ? WHERE id IN (SELECT value FROM json_each(?))`, level, list(alone))
		return err
	})
	if errors.Is(err, errRaced) {
		return nil
	}
	return err
}

// pieceAt is a piece of one of the blocks to join.
type pieceAt struct {
	block, piece int
	rows         *chunk.Rows
}

// join makes one block of several, which come by arrival. Hours that follow
// each other in time stay as they are; parts of hours and what overlaps are
// unpacked and put in order.
func join(engine int64, group []storedBlock, level int) (block, error) {
	var pieces []pieceAt
	for i := range group {
		for n, packed := range group[i].pieces {
			rows, err := chunk.DecodeRows(packed)
			if err != nil || len(rows.Times) == 0 {
				return block{}, damaged("block", group[i].id, cmp.Or(err, chunk.ErrDamaged))
			}
			pieces = append(pieces, pieceAt{i, n, rows})
		}
		for _, c := range group[i].series {
			whole := len(c.pieces) == len(group[i].pieces)
			for _, a := range c.sums {
				whole = whole && a.Piece < len(c.pieces)
			}
			if !whole {
				return block{}, damaged("block", group[i].id, fmt.Errorf("%w: %d pieces, %d of series %d", chunk.ErrDamaged, len(group[i].pieces), len(c.pieces), c.id))
			}
		}
	}
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b pieceAt) int { return cmp.Compare(a.rows.Times[0], b.rows.Times[0]) })
	for i := 1; i < len(sorted); i++ {
		if last := sorted[i-1].rows.Times; last[len(last)-1] >= sorted[i].rows.Times[0] {
			return rebuild(engine, group, pieces)
		}
	}
	if level == levelHour {
		return rebuild(engine, group, pieces)
	}
	for i := range group {
		if !group[i].wide {
			continue
		}
		var rows []*chunk.Rows
		for _, p := range pieces {
			if p.block == i {
				rows = append(rows, p.rows)
			}
		}
		if err := group[i].sum(rows); err != nil {
			return block{}, damaged("block", group[i].id, err)
		}
	}
	last := sorted[len(sorted)-1].rows.Times
	out := block{engine: engine, first: sorted[0].rows.Times[0], last: last[len(last)-1]}
	at := map[[2]int]int{} // where each block's piece lies now
	for i, p := range sorted {
		out.pieces = append(out.pieces, group[p.block].pieces[p.piece])
		at[[2]int{p.block, p.piece}] = i
	}
	out.series = emptySeries(group, len(sorted))
	for i := range group {
		for _, c := range group[i].series {
			to := find(out.series, c.id)
			for n, packed := range c.pieces {
				to.pieces[at[[2]int{i, n}]] = packed
			}
			for _, a := range c.sums {
				a.Piece = at[[2]int{i, a.Piece}]
				to.sums = append(to.sums, a)
			}
		}
	}
	for i := range out.series {
		slices.SortStableFunc(out.series[i].sums, func(a, b chunk.Aggregate) int { return cmp.Compare(a.Piece, b.Piece) })
	}
	return out, nil
}

// emptySeries is all series of the blocks, with room for so many pieces.
func emptySeries(group []storedBlock, pieces int) (out []packedSeries) {
	for i := range group {
		for _, c := range group[i].series {
			out = append(out, packedSeries{id: c.id})
		}
	}
	slices.SortFunc(out, func(a, b packedSeries) int { return cmp.Compare(a.id, b.id) })
	out = slices.CompactFunc(out, func(a, b packedSeries) bool { return a.id == b.id })
	for i := range out {
		out[i].pieces = make([][]byte, pieces)
	}
	return out
}

func find(series []packedSeries, id int64) *packedSeries {
	i, _ := slices.BinarySearchFunc(series, id, func(c packedSeries, id int64) int { return cmp.Compare(c.id, id) })
	return &series[i]
}

// rebuild unpacks pieces that overlap, sorts their rows by time, equal times by
// arrival, and packs them by the hour.
func rebuild(engine int64, group []storedBlock, pieces []pieceAt) (block, error) {
	var all chunk.Rows
	offset := map[[2]int]int{}
	for _, p := range pieces {
		offset[[2]int{p.block, p.piece}] = len(all.Times)
		all.Times = append(all.Times, p.rows.Times...)
		all.Steps = append(all.Steps, p.rows.Steps...)
		all.Flags = append(all.Flags, p.rows.Flags...)
	}
	order := make([]int, len(all.Times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all.Times[a], all.Times[b]) })
	rows := chunk.Rows{Times: take(all.Times, order), Steps: take(all.Steps, order), Flags: take(all.Flags, order)}
	out := block{engine: engine, first: rows.Times[0], last: rows.Times[len(order)-1]}
	var cuts []int // ends of the new pieces
	for i := 1; i <= len(order); i++ {
		start := 0
		if len(cuts) > 0 {
			start = cuts[len(cuts)-1]
		}
		if i == len(order) || rows.Times[i]/hour != rows.Times[i-1]/hour || i-start == chunk.MaxRows {
			cuts = append(cuts, i)
		}
	}
	hours := make([]chunk.Rows, len(cuts))
	for n, end := range cuts {
		start := 0
		if n > 0 {
			start = cuts[n-1]
		}
		hours[n] = chunk.Rows{Times: rows.Times[start:end], Steps: rows.Steps[start:end], Flags: rows.Flags[start:end]}
		out.pieces = append(out.pieces, chunk.AppendRows(nil, &hours[n]))
	}
	out.series = emptySeries(group, len(cuts))
	var e chunk.Encoder
	var d chunk.Decoder
	v := make([]float64, len(order))
	for i := range out.series {
		c := &out.series[i]
		for k := range v {
			v[k] = math.NaN()
		}
		for b := range group {
			for _, old := range group[b].series {
				if old.id != c.id {
					continue
				}
				for n, packed := range old.pieces {
					if len(packed) == 0 {
						continue
					}
					p := pieces[slices.IndexFunc(pieces, func(p pieceAt) bool { return p.block == b && p.piece == n })]
					from := offset[[2]int{b, n}]
					if _, err := d.DecodeValues(v[from:from+len(p.rows.Times)], packed); err != nil {
						return block{}, damaged("block", group[b].id, err)
					}
				}
			}
		}
		w, from := take(v, order), 0
		for n, end := range cuts {
			if sums := chunk.Aggregates(nil, n, &hours[n], w[from:end]); len(sums) > 0 {
				c.pieces[n] = e.AppendValues(nil, w[from:end])
				c.sums = append(c.sums, sums...)
			}
			from = end
		}
	}
	return out, nil
}

func take[T int64 | float64 | store.Flags](v []T, order []int) []T {
	out := make([]T, len(order))
	for i, k := range order {
		out[i] = v[k]
	}
	return out
}
