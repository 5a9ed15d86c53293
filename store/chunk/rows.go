package chunk

import (
	"encoding/binary"
	"slices"

	"github.com/stepscope/stepscope/store"
)

// Rows is when and how a piece's values were taken; all its series share them.
type Rows struct {
	Times, Steps []int64
	Flags        []store.Flags
}

// AppendRows appends rows to dst, at most MaxRows.
func AppendRows(dst []byte, r *Rows) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(r.Times)))
	dst = AppendInts(dst, r.Times)
	dst = AppendInts(dst, r.Steps)
	for i := 0; i < len(r.Flags); {
		n := i
		for i < len(r.Flags) && r.Flags[i] == r.Flags[n] {
			i++
		}
		dst = binary.AppendUvarint(dst, uint64(r.Flags[n]))
		dst = binary.AppendUvarint(dst, uint64(i-n))
	}
	return dst
}

// DecodeRows reads what AppendRows wrote.
func DecodeRows(b []byte) (*Rows, error) {
	r := &Rows{}
	return r, r.Decode(b)
}

// Decode reads what AppendRows wrote, into r's memory.
func (r *Rows) Decode(b []byte) error {
	count, size := binary.Uvarint(b)
	if size <= 0 || count > MaxRows {
		return ErrDamaged
	}
	n := int(count)
	if cap(r.Times) < n {
		ints := make([]int64, 2*n)
		r.Times, r.Steps, r.Flags = ints[:n:n], ints[n:], make([]store.Flags, n)
	}
	r.Times, r.Steps, r.Flags = r.Times[:n], r.Steps[:n], r.Flags[:n]
	b, err := DecodeInts(r.Times, b[size:])
	if err == nil {
		b, err = DecodeInts(r.Steps, b)
	}
	if err != nil {
		return err
	}
	for i := 0; i < n; {
		flags, size := binary.Uvarint(b)
		if size <= 0 || flags > 1<<16-1 {
			return ErrDamaged
		}
		run, more := binary.Uvarint(b[size:])
		if more <= 0 || run == 0 || run > uint64(n-i) {
			return ErrDamaged
		}
		b = b[size+more:]
		for range run {
			r.Flags[i] = store.Flags(flags)
			i++
		}
	}
	return nil
}

// AppendPack appends several pieces to dst as one run of bytes.
func AppendPack(dst []byte, pieces [][]byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(pieces)))
	for _, p := range pieces {
		dst = binary.AppendUvarint(dst, uint64(len(p)))
	}
	for _, p := range pieces {
		dst = append(dst, p...)
	}
	return dst
}

// Unpack returns the pieces of a pack; they share its memory.
func Unpack(b []byte) ([][]byte, error) { return unpack(nil, b) }

// unpack appends the pieces of a pack to out.
func unpack(out [][]byte, b []byte) ([][]byte, error) {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return nil, ErrDamaged
	}
	sizes := b[n:]
	data := sizes
	for range count {
		_, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, ErrDamaged
		}
		data = data[n:]
	}
	out = slices.Grow(out, int(count))
	for range count {
		size, n := binary.Uvarint(sizes)
		if size > uint64(len(data)) {
			return nil, ErrDamaged
		}
		out, data, sizes = append(out, data[:size:size]), data[size:], sizes[n:]
	}
	return out, nil
}
