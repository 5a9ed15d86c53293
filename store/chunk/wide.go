package chunk

import (
	"encoding/binary"
	"slices"
)

// wideVersion begins a wide block, so that other forms can come.
const wideVersion = 1

// Wide is a block that holds the values of its series itself: a byte of version,
// the number of series, then a pack of
//
//	ids     integers: the series' ids, rising
//	rows    of the first piece, as AppendRows writes them
//	values  of each series in it, as AppendValues writes them; nothing if all are absent
//	rows    of the second piece …
type Wide struct {
	IDs    []int64
	Pieces []WidePiece
	pack   [][]byte
}

// WidePiece is a piece of a wide block, packed.
type WidePiece struct {
	Rows   []byte
	Values [][]byte // by series
}

// AppendWide appends a wide block to dst. Each of its pieces has values for each id.
func AppendWide(dst []byte, w *Wide) []byte {
	pack := [][]byte{AppendInts(nil, w.IDs)}
	for _, p := range w.Pieces {
		pack = append(append(pack, p.Rows), p.Values...)
	}
	dst = binary.AppendUvarint(append(dst, wideVersion), uint64(len(w.IDs)))
	return AppendPack(dst, pack)
}

// Decode reads what AppendWide wrote, into w's memory. The pieces share b's.
func (w *Wide) Decode(b []byte) (err error) {
	if len(b) == 0 || b[0] != wideVersion {
		return ErrDamaged
	}
	count, size := binary.Uvarint(b[1:])
	if size <= 0 || count > uint64(len(b)) {
		return ErrDamaged
	}
	n := int(count)
	if w.pack, err = unpack(w.pack[:0], b[1+size:]); err != nil {
		return err
	}
	if len(w.pack) == 0 || (len(w.pack)-1)%(n+1) != 0 {
		return ErrDamaged
	}
	w.IDs = slices.Grow(w.IDs[:0], n)[:n]
	if _, err = DecodeInts(w.IDs, w.pack[0]); err != nil {
		return err
	}
	for i := 1; i < n; i++ {
		if w.IDs[i-1] >= w.IDs[i] {
			return ErrDamaged
		}
	}
	w.Pieces = w.Pieces[:0]
	for p := w.pack[1:]; len(p) > 0; p = p[n+1:] {
		w.Pieces = append(w.Pieces, WidePiece{p[0], p[1 : n+1]})
	}
	return nil
}

// Find is the place of a series among the values of each piece, −1 if it isn't there.
func (w *Wide) Find(id int64) int {
	if i, ok := slices.BinarySearch(w.IDs, id); ok {
		return i
	}
	return -1
}
