package sqlite

import (
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
	folded      bool
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
		b.engine, b.first, b.last, b.folded, first, len(b.series), chunk.AppendPack(nil, b.pieces)).Scan(&id)
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
}

type openBlock struct {
	pieces [][]byte
	rows   []*chunk.Rows // unpacked so far
}

func newBlocks(tx *sql.Tx) *blocks { return &blocks{tx: tx, loaded: map[int64]*openBlock{}} }

// segment is a series' part in a block.
type segment struct {
	block, chunk int64
	sums         []chunk.Aggregate // of pieces that overlap the range
}

// has says whether a piece has values in the range.
func (seg *segment) has(piece int) bool {
	return slices.ContainsFunc(seg.sums, func(a chunk.Aggregate) bool { return a.Piece == piece })
}

// segments finds where an engine's series has values in a time range, by arrival.
func (b *blocks) segments(engine, series, from, to int64) (out []segment, err error) {
	err = each(b.tx, func(scan scanner) error {
		var seg segment
		var data sql.RawBytes
		if err := scan(&seg.block, &seg.chunk, &data); err != nil {
			return err
		}
		sums, err := b.dec.DecodeAggregates(nil, data)
		if err != nil {
			return damaged("sums of chunk", seg.chunk, err)
		}
		n := 0
		for _, a := range sums {
			if a.First < to && a.Last >= from {
				sums[n] = a
				n++
			}
		}
		if seg.sums = sums[:n]; n > 0 {
			out = append(out, seg)
		}
		return nil
	}, `SELECT block, chunk, data FROM series_sum WHERE engine = ? AND series = ? AND first > ? AND first < ? ORDER BY block`,
		engine, series, from-blockSpan, to)
	return out, err
}

func damaged(what string, id int64, err error) error {
	return fmt.Errorf("%w: %s %d: %w", store.ErrCorrupt, what, id, err)
}

// load reads the packed rows of blocks that aren't there yet.
func (b *blocks) load(segments []segment) error {
	var ids []int64
	for _, seg := range segments {
		if b.loaded[seg.block] == nil {
			ids = append(ids, seg.block)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return each(b.tx, func(scan scanner) error {
		var id int64
		var data []byte
		if err := scan(&id, &data); err != nil {
			return err
		}
		pieces, err := chunk.Unpack(data)
		if err != nil {
			return damaged("block", id, err)
		}
		b.loaded[id] = &openBlock{pieces: pieces, rows: make([]*chunk.Rows, len(pieces))}
		return nil
	}, `SELECT id, data FROM series_block WHERE id IN (SELECT value FROM json_each(?))`, list(ids))
}

// piece unpacks the rows of a piece.
func (b *blocks) piece(id int64, n int) (*chunk.Rows, error) {
	o := b.loaded[id]
	if o == nil || n >= len(o.pieces) {
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

// values calls f for each piece of the segments that want takes, by arrival.
func (b *blocks) values(segments []segment, want func(seg *segment, piece int) bool, f func(r *chunk.Rows, v []float64)) error {
	var ids []int64
	at := map[int64]*segment{}
	for i := range segments {
		ids = append(ids, segments[i].chunk)
		at[segments[i].chunk] = &segments[i]
	}
	if len(ids) == 0 {
		return nil
	}
	if err := b.load(segments); err != nil {
		return err
	}
	var values []float64
	var data sql.RawBytes
	// Chunks have ids by arrival, as blocks do.
	return each(b.tx, func(scan scanner) error {
		var id int64
		if err := scan(&id, &data); err != nil {
			return err
		}
		pieces, err := chunk.Unpack(data)
		if err != nil {
			return damaged("chunk", id, err)
		}
		for n, packed := range pieces {
			if len(packed) == 0 || !want(at[id], n) {
				continue
			}
			rows, err := b.piece(at[id].block, n)
			if err != nil {
				return err
			}
			if cap(values) < len(rows.Times) {
				values = make([]float64, len(rows.Times))
			}
			values = values[:len(rows.Times)]
			if _, err := b.dec.DecodeValues(values, packed); err != nil {
				return damaged("chunk", id, err)
			}
			f(rows, values)
		}
		return nil
	}, `SELECT id, data FROM series_chunk WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`, list(ids))
}
