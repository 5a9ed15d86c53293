package sqlite

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/chunk"
)

const (
	hour = int64(time.Hour)
	day  = 24 * hour
	// blockSpan is the longest time between a block's first and last row.
	blockSpan = day
)

// Levels of blocks: what they are folded into.
const (
	levelPart = iota - 1 // a part of an hour
	levelHour
	levelSome // some hours
	levelDay
)

// block is a block on its way into the database.
type block struct {
	engine      int64
	first, last int64
	level       int
	pieces      [][]byte // rows
	series      []packedSeries
}

// packedSeries is one series of a block.
type packedSeries struct {
	id     int64
	pieces [][]byte // values
	sums   []chunk.Aggregate
}

// insertBlock stores a block: up to an hour as it is, more with a chunk and a sum
// for each series.
func insertBlock(tx *sql.Tx, e *chunk.Encoder, b *block) error {
	if b.level <= levelHour {
		w := chunk.Wide{}
		for _, rows := range b.pieces {
			w.Pieces = append(w.Pieces, chunk.WidePiece{Rows: rows})
		}
		for i := range b.series {
			w.IDs = append(w.IDs, b.series[i].id)
			for n := range w.Pieces {
				w.Pieces[n].Values = append(w.Pieces[n].Values, b.series[i].pieces[n])
			}
		}
		_, err := tx.Exec(`INSERT INTO series_block (engine, first, last, folded, chunk, chunks, data) VALUES (?, ?, ?, ?, 0, ?, ?)`,
			b.engine, b.first, b.last, b.level, len(b.series), chunk.AppendWide(nil, &w))
		return err
	}
	var first int64
	if err := tx.QueryRow(`SELECT coalesce(max(id), 0) + 1 FROM series_chunk`).Scan(&first); err != nil {
		return err
	}
	var id int64
	err := tx.QueryRow(`INSERT INTO series_block (engine, first, last, folded, chunk, chunks, data) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		b.engine, b.first, b.last, b.level, first, len(b.series), chunk.AppendPack(nil, b.pieces)).Scan(&id)
	if err != nil {
		return err
	}
	putChunk, err := tx.Prepare(`INSERT INTO series_chunk (id, series, data) VALUES (?, ?, ?)`)
	if err != nil {
		return err
	}
	defer putChunk.Close()
	putSum, err := tx.Prepare(`INSERT INTO series_sum (engine, series, first, block, chunk, data) VALUES (?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer putSum.Close()
	var buf []byte
	for i := range b.series {
		c := &b.series[i]
		buf = chunk.AppendPack(buf[:0], c.pieces)
		if _, err := putChunk.Exec(first+int64(i), c.id, buf); err != nil {
			return err
		}
		buf = e.AppendAggregates(buf[:0], c.sums)
		if _, err := putSum.Exec(b.engine, c.id, b.first, id, first+int64(i), buf); err != nil {
			return err
		}
	}
	return nil
}

// removeBlock removes a block with its chunks and says how many. A block that
// is gone already is store.ErrNotFound.
func removeBlock(tx *sql.Tx, id int64) (chunks int64, err error) {
	var engine, first, from int64
	err = tx.QueryRow(`DELETE FROM series_block WHERE id = ? RETURNING engine, first, chunk, chunks`, id).Scan(&engine, &first, &from, &chunks)
	if err != nil || from == 0 { // a wide block has its values with it
		return chunks, err
	}
	_, err = tx.Exec(`DELETE FROM series_sum WHERE engine = ?1 AND first = ?2 AND block = ?3
		AND series IN (SELECT series FROM series_chunk WHERE id >= ?4 AND id < ?5)`, engine, first, id, from, from+chunks)
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(`DELETE FROM series_chunk WHERE id >= ? AND id < ?`, from, from+chunks)
	return chunks, err
}

// blocks reads blocks on one state of the database.
type blocks struct {
	tx     *sql.Tx
	dec    chunk.Decoder
	packed map[int64][][]byte // rows of blocks, by their ids
	open   int64              // the block that rows are of
	rows   []chunk.Rows       // by piece; unpacked if it is done
	done   []bool
	values []float64
	sums   []chunk.Aggregate
}

func newBlocks(tx *sql.Tx) *blocks { return &blocks{tx: tx, packed: map[int64][][]byte{}} }

// segment is a series' part in a block.
type segment struct {
	series       *segments
	block, chunk int64
	sums         []chunk.Aggregate // of pieces that overlap the range
}

// has says whether a piece has values in the range.
func (seg *segment) has(piece int) bool {
	return slices.ContainsFunc(seg.sums, func(a chunk.Aggregate) bool { return a.Piece == piece })
}

// segments are all of one series of an engine in a range, by arrival.
type segments struct {
	engine, series int64
	list           []segment
}

// find finds where the series of some engines have values in a time range.
func (b *blocks) find(plans []plan, from, to int64) (map[[2]int64]*segments, error) {
	out := map[[2]int64]*segments{}
	for _, p := range plans {
		for _, c := range p.columns {
			out[[2]int64{p.engine, c.id}] = &segments{engine: p.engine, series: c.id}
		}
	}
	err := b.each(plans, from, to, func(key [2]int64, _ int64, seg segment) {
		of := out[key]
		seg.series, seg.sums = of, slices.Clone(seg.sums)
		of.list = append(of.list, seg)
	})
	for _, s := range out {
		slices.SortFunc(s.list, func(a, b segment) int { return cmp.Compare(a.block, b.block) })
	}
	return out, err
}

// each calls f for each block with sums that has values of any of the plans' series in a
// time range, with its engine and series and its beginning. The sums are f's
// only during the call.
func (b *blocks) each(plans []plan, from, to int64, f func(key [2]int64, first int64, seg segment)) error {
	var pairs []int64 // engine and series in one number: ids are far below 2³¹
	for _, p := range plans {
		for _, c := range p.columns {
			pairs = append(pairs, p.engine<<32|c.id)
		}
	}
	var key [2]int64
	var first, block, at int64
	var data sql.RawBytes
	row := []any{&key[0], &key[1], &first, &block, &at, &data} // once: a year of 40 metrics of 64 engines has a million
	return each(b.tx, func(scan scanner) (err error) {
		if err := scan(row...); err != nil {
			return err
		}
		if b.sums, err = b.dec.DecodeAggregates(b.sums, data); err != nil {
			return damaged("sums of chunk", at, err)
		}
		n := 0
		for i := range b.sums {
			if a := &b.sums[i]; a.First < to && a.Last >= from {
				b.sums[n] = *a
				n++
			}
		}
		if n > 0 {
			f(key, first, segment{block: block, chunk: at, sums: b.sums[:n]})
		}
		return nil
	}, `SELECT s.engine, s.series, s.first, s.block, s.chunk, s.data FROM json_each(?) p CROSS JOIN series_sum s
		ON s.engine = p.value >> 32 AND s.series = p.value & 4294967295 AND s.first > ? AND s.first < ?`, list(pairs), from-blockSpan, to)
}

func damaged(what string, id int64, err error) error {
	return fmt.Errorf("%w: %s %d: %w", store.ErrCorrupt, what, id, err)
}

// unpack calls f for the pieces of the segments that have values in the range,
// those of one series by arrival. What f gets is its own only during the call.
func (b *blocks) unpack(all []segment, f func(seg *segment, r *chunk.Rows, v []float64)) error {
	if len(all) == 0 {
		return nil
	}
	at := make(map[int64]*segment, len(all))
	var chunks, missing []int64
	for i := range all {
		chunks = append(chunks, all[i].chunk)
		at[all[i].chunk] = &all[i]
		if _, ok := b.packed[all[i].block]; !ok {
			b.packed[all[i].block] = nil
			missing = append(missing, all[i].block)
		}
	}
	err := each(b.tx, func(scan scanner) (err error) {
		var id int64
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		if b.packed[id], err = chunk.Unpack(data); err != nil {
			return damaged("block", id, err)
		}
		return nil
	}, `SELECT id, data FROM series_block WHERE id IN (SELECT value FROM json_each(?))`, list(missing))
	if err != nil {
		return err
	}
	var data sql.RawBytes
	// Chunks have their ids by arrival, as blocks do, and those of a block lie together.
	return each(b.tx, func(scan scanner) error {
		var id int64
		if err := scan(&id, &data); err != nil {
			return err
		}
		pieces, err := chunk.Unpack(data)
		if err != nil {
			return damaged("chunk", id, err)
		}
		seg := at[id]
		b.start(seg.block, len(b.packed[seg.block]))
		for n, packed := range pieces {
			if len(packed) == 0 || !seg.has(n) {
				continue
			}
			if n >= len(b.done) {
				return damaged("block", seg.block, fmt.Errorf("piece %d is missing", n))
			}
			r, v, err := b.piece(n, b.packed[seg.block][n], packed)
			if err != nil {
				return damaged("chunk", id, err)
			}
			f(seg, r, v)
		}
		return nil
	}, `SELECT id, data FROM series_chunk WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`, list(chunks))
}

// start goes on to a block of so many pieces.
func (b *blocks) start(id int64, pieces int) {
	if b.open == id {
		return
	}
	b.open = id
	for len(b.rows) < pieces {
		b.rows = append(b.rows, chunk.Rows{})
	}
	b.done = slices.Grow(b.done[:0], pieces)[:pieces]
	clear(b.done)
}

// piece unpacks the values of one series in a piece of the open block, and its
// rows, unless another series did.
func (b *blocks) piece(n int, rows, values []byte) (*chunk.Rows, []float64, error) {
	r := &b.rows[n]
	if !b.done[n] {
		if err := r.Decode(rows); err != nil {
			return nil, nil, err
		}
		b.done[n] = true
	}
	b.values = slices.Grow(b.values[:0], len(r.Times))[:len(r.Times)]
	_, err := b.dec.DecodeValues(b.values, values)
	return r, b.values, err
}
