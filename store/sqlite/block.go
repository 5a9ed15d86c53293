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

// block is a block on its way into the database.
type block struct {
	engine      int64
	first, last int64
	level       int      // of folding
	pieces      [][]byte // rows
	series      []packedSeries
}

// packedSeries is one series of a block.
type packedSeries struct {
	id     int64
	pieces [][]byte // values
	sums   []chunk.Aggregate
}

// insertBlock stores a block with its chunks.
func insertBlock(tx *sql.Tx, e *chunk.Encoder, b *block) error {
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
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(`DELETE FROM series_sum WHERE engine = ?1 AND first = ?2 AND block = ?3
		AND series IN (SELECT series FROM series_chunk WHERE id >= ?4 AND id < ?5)`, engine, first, id, from, from+chunks)
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(`DELETE FROM series_chunk WHERE id >= ? AND id < ?`, from, from+chunks)
	return chunks, err
}

// blocks reads blocks on one state of the database and keeps what it unpacked.
type blocks struct {
	tx     *sql.Tx
	dec    chunk.Decoder
	loaded map[int64]*openBlock
	values []float64
	sums   []chunk.Aggregate
}

type openBlock struct {
	pieces [][]byte
	rows   []*chunk.Rows // unpacked so far
}

func newBlocks(tx *sql.Tx) *blocks { return &blocks{tx: tx, loaded: map[int64]*openBlock{}} }

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

// each calls f for each block that has values of any of the plans' series in a
// time range, with its engine and series and its beginning. The sums are f's
// only during the call.
func (b *blocks) each(plans []plan, from, to int64, f func(key [2]int64, first int64, seg segment)) error {
	var pairs []int64 // engine and series in one number: ids are far below 2³¹
	for _, p := range plans {
		for _, c := range p.columns {
			pairs = append(pairs, p.engine<<32|c.id)
		}
	}
	var data sql.RawBytes
	return each(b.tx, func(scan scanner) (err error) {
		var key [2]int64
		var first int64
		var seg segment
		if err := scan(&key[0], &key[1], &first, &seg.block, &seg.chunk, &data); err != nil {
			return err
		}
		if b.sums, err = b.dec.DecodeAggregates(b.sums, data); err != nil {
			return damaged("sums of chunk", seg.chunk, err)
		}
		n := 0
		for i := range b.sums {
			if a := &b.sums[i]; a.First < to && a.Last >= from {
				b.sums[n] = *a
				n++
			}
		}
		if seg.sums = b.sums[:n]; n > 0 {
			f(key, first, seg)
		}
		return nil
	}, `SELECT s.engine, s.series, s.first, s.block, s.chunk, s.data FROM json_each(?) p CROSS JOIN series_sum s
		ON s.engine = p.value >> 32 AND s.series = p.value & 4294967295 AND s.first > ? AND s.first < ?`, list(pairs), from-blockSpan, to)
}

func damaged(what string, id int64, err error) error {
	return fmt.Errorf("%w: %s %d: %w", store.ErrCorrupt, what, id, err)
}

// unpack calls f for the pieces of the segments that have values in the range,
// those of one series by arrival.
func (b *blocks) unpack(all []segment, f func(seg *segment, r *chunk.Rows, v []float64)) error {
	if len(all) == 0 {
		return nil
	}
	at := make(map[int64]*segment, len(all))
	var chunks, missing []int64
	for i := range all {
		chunks = append(chunks, all[i].chunk)
		at[all[i].chunk] = &all[i]
		if b.loaded[all[i].block] == nil {
			b.loaded[all[i].block] = &openBlock{}
			missing = append(missing, all[i].block)
		}
	}
	err := each(b.tx, func(scan scanner) (err error) {
		var id int64
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		o := b.loaded[id]
		if o.pieces, err = chunk.Unpack(data); err != nil {
			return damaged("block", id, err)
		}
		o.rows = make([]*chunk.Rows, len(o.pieces))
		return nil
	}, `SELECT id, data FROM series_block WHERE id IN (SELECT value FROM json_each(?))`, list(missing))
	if err != nil {
		return err
	}
	var data sql.RawBytes
	// Chunks have their ids by arrival, as blocks do.
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
		for n, packed := range pieces {
			if len(packed) == 0 || !seg.has(n) {
				continue
			}
			rows, err := b.piece(seg.block, n)
			if err != nil {
				return err
			}
			if cap(b.values) < len(rows.Times) {
				b.values = make([]float64, len(rows.Times))
			}
			v := b.values[:len(rows.Times)]
			if _, err := b.dec.DecodeValues(v, packed); err != nil {
				return damaged("chunk", id, err)
			}
			f(seg, rows, v)
		}
		return nil
	}, `SELECT id, data FROM series_chunk WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`, list(chunks))
}

// piece unpacks the rows of a piece.
func (b *blocks) piece(id int64, n int) (*chunk.Rows, error) {
	o := b.loaded[id]
	if n >= len(o.pieces) {
		return nil, damaged("block", id, fmt.Errorf("piece %d is missing", n))
	}
	if o.rows[n] == nil {
		rows, err := chunk.DecodeRows(o.pieces[n])
		if err != nil {
			return nil, damaged("block", id, err)
		}
		o.rows[n] = rows
	}
	return o.rows[n], nil
}
