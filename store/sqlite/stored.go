package sqlite

import (
	"database/sql"
	"errors"
	"slices"

	"github.com/stepscope/stepscope/store/chunk"
)

// foldBytes bounds the packed bytes of what is joined; larger days stay in hours.
const foldBytes = 64 << 20

// storedBlock is a block as it is read to be folded.
type storedBlock struct {
	id     int64
	pieces [][]byte
	series []packedSeries
	wide   bool // its series have no sums
}

// blocksIn reads an engine's blocks up to a level that begin in a time range, by arrival.
// If they are too large it is errTooLarge, and they come without series, so that none
// are joined.
func blocksIn(tx *sql.Tx, engine, from, to int64, level int) (out []storedBlock, err error) {
	var total int64
	err = each(tx, func(scan scanner) error {
		var b storedBlock
		var data []byte
		if err := scan(&b.id, &b.wide, &data); err != nil {
			return err
		}
		total += int64(len(data))
		if b.wide {
			err = b.unpackWide(data)
		} else {
			b.pieces, err = chunk.Unpack(data)
		}
		if err != nil {
			return damaged("block", b.id, err)
		}
		out = append(out, b)
		return nil
	}, `SELECT id, chunk = 0, data FROM series_block WHERE engine = ? AND first >= ? AND first < ? AND folded <= ? ORDER BY id`, engine, from, to, level)
	if err == nil && total > foldBytes {
		err = errTooLarge
	}
	for i := range out {
		if err != nil {
			break
		}
		b := &out[i]
		if b.wide {
			continue
		}
		err = each(tx, func(scan scanner) error {
			var c packedSeries
			var data, sums []byte
			if err := scan(&c.id, &data, &sums); err != nil {
				return err
			}
			if total += int64(len(data)); total > foldBytes {
				return errTooLarge
			}
			var err, failed error
			c.pieces, err = chunk.Unpack(data)
			c.sums, failed = chunk.DecodeAggregates(sums)
			b.series = append(b.series, c)
			if err = errors.Join(err, failed); err != nil {
				return damaged("block", b.id, err)
			}
			return nil
		}, `SELECT c.series, c.data, s.data FROM series_chunk c JOIN series_block b ON b.id = ?1
			JOIN series_sum s ON s.engine = b.engine AND s.series = c.series AND s.first = b.first AND s.block = b.id
			WHERE c.id >= b.chunk AND c.id < b.chunk + b.chunks ORDER BY c.id`, b.id)
	}
	if errors.Is(err, errTooLarge) {
		for i := range out {
			out[i].series = nil
		}
	}
	return out, err
}

var errTooLarge = errors.New("too large to fold")

func (b *storedBlock) unpackWide(data []byte) error {
	var w chunk.Wide
	if err := w.Decode(data); err != nil {
		return err
	}
	for i, id := range w.IDs {
		c := packedSeries{id: id}
		for _, p := range w.Pieces {
			c.pieces = append(c.pieces, p.Values[i])
		}
		b.series = append(b.series, c)
	}
	for _, p := range w.Pieces {
		b.pieces = append(b.pieces, p.Rows)
	}
	return nil
}

// sum sums up the series of a wide block, whose rows are unpacked.
func (b *storedBlock) sum(rows []*chunk.Rows) error {
	var d chunk.Decoder
	var v []float64
	for i := range b.series {
		c := &b.series[i]
		for n, packed := range c.pieces {
			if len(packed) == 0 {
				continue
			}
			v = slices.Grow(v[:0], len(rows[n].Times))[:len(rows[n].Times)]
			if _, err := d.DecodeValues(v, packed); err != nil {
				return err
			}
			c.sums = chunk.Aggregates(c.sums, n, rows[n], v)
		}
	}
	return nil
}
