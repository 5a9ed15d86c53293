package chunk

import (
	"encoding/binary"
	"math/bits"
)

// A list of integers is written as
//
//	order   byte: 0 the numbers, 1 their differences, 2 the differences of those
//	start   varint for each order: the first number, the first difference
//	scale   uvarint: all numbers to follow are multiples of it
//	blocks  of 64: varint least, byte width, then each number less the least in so many bits
//
// Differences wrap around, so no list is impossible.
const (
	blockLen = 64
	maxOrder = 2
	maxWidth = 56 // wider ones take whole words: 8 bytes from any byte on hold 57 bits
)

// AppendInts appends a list of integers to dst. The length is not written.
func AppendInts(dst []byte, v []int64) []byte {
	var e encoder
	return e.ints(dst, v)
}

// encoder keeps its memory from list to list.
type encoder struct{ diff [maxOrder][]int64 }

func (e *encoder) ints(dst []byte, v []int64) []byte {
	best, order, cost := v, 0, packedBits(v)
	for k, from := 1, v; k <= maxOrder && len(from) > 1; k++ {
		d := e.diff[k-1][:0]
		for i := 1; i < len(from); i++ {
			d = append(d, from[i]-from[i-1])
		}
		e.diff[k-1] = d
		if c := packedBits(d) + k*(8+bits.Len64(zigzag(from[0]))); c < cost {
			best, order, cost = d, k, c
		}
		from = d
	}
	dst = append(dst, byte(order))
	if order > 0 {
		dst = binary.AppendVarint(dst, v[0])
	}
	if order > 1 {
		dst = binary.AppendVarint(dst, e.diff[0][0])
	}
	scale := commonScale(best)
	dst = binary.AppendUvarint(dst, scale)
	var block [blockLen]int64
	for len(best) > 0 {
		n := min(len(best), blockLen)
		for i, x := range best[:n] {
			if scale > 1 {
				x = divide(x, scale)
			}
			block[i] = x
		}
		dst = appendBlock(dst, block[:n])
		best = best[n:]
	}
	return dst
}

// divide is x / scale for a multiple of scale.
func divide(x int64, scale uint64) int64 {
	if x < 0 {
		return -int64(uint64(-x) / scale)
	}
	return int64(uint64(x) / scale)
}

// packedBits is what the blocks of a list take.
func packedBits(v []int64) (n int) {
	for len(v) > 0 {
		b := v[:min(len(v), blockLen)]
		least, most := limits(b)
		n += len(b)*bits.Len64(uint64(most)-uint64(least)) + 8 + bits.Len64(zigzag(least))
		v = v[len(b):]
	}
	return n
}

func zigzag(x int64) uint64 { return uint64(x)<<1 ^ uint64(x>>63) }

func limits(v []int64) (least, most int64) {
	least, most = v[0], v[0]
	for _, x := range v[1:] {
		least, most = min(least, x), max(most, x)
	}
	return least, most
}

// commonScale is the greatest common divisor, 1 for zeros only.
func commonScale(v []int64) uint64 {
	var g uint64
	for _, x := range v {
		a := uint64(x)
		if x < 0 {
			a = -a
		}
		for a != 0 {
			g, a = a, g%a
		}
		if g == 1 {
			break
		}
	}
	return max(g, 1)
}

func appendBlock(dst []byte, v []int64) []byte {
	least, most := limits(v)
	width := bits.Len64(uint64(most) - uint64(least))
	if width > maxWidth {
		width = 64
	}
	dst = append(binary.AppendVarint(dst, least), byte(width))
	var acc uint64
	var have int
	for _, x := range v {
		u := uint64(x) - uint64(least)
		acc |= u << have
		if have += width; have >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			have -= 64
			acc = u >> (width - have) // a shift by 64 gives 0
		}
	}
	for ; have > 0; have -= 8 {
		dst, acc = append(dst, byte(acc)), acc>>8
	}
	return dst
}

// DecodeInts fills dst from what AppendInts wrote for as many integers, and
// returns the bytes behind them.
func DecodeInts(dst []int64, b []byte) (rest []byte, err error) {
	if len(b) == 0 || b[0] > maxOrder {
		return nil, ErrDamaged
	}
	order := int(b[0])
	b = b[1:]
	var start [maxOrder]int64
	for i := range order {
		if start[i], b, err = varint(b); err != nil {
			return nil, err
		}
	}
	scale, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, ErrDamaged
	}
	b = b[n:]
	packed := dst[min(order, len(dst)):]
	for v := packed; len(v) > 0; v = v[min(len(v), blockLen):] {
		if b, err = decodeBlock(v[:min(len(v), blockLen)], b); err != nil {
			return nil, err
		}
	}
	if scale != 1 {
		for i := range packed {
			packed[i] *= int64(scale)
		}
	}
	switch order {
	case 1:
		sum(dst, start[0])
	case 2:
		if len(dst) > 1 {
			dst[0] = start[0]
			sum(dst[1:], start[1]) // the differences
			sum(dst, start[0])
		} else {
			sum(dst, start[0])
		}
	}
	return b, nil
}

// sum turns differences, which lie in v from its second place on, into numbers.
func sum(v []int64, first int64) {
	if len(v) == 0 {
		return
	}
	v[0] = first
	for i := 1; i < len(v); i++ {
		first += v[i]
		v[i] = first
	}
}

func varint(b []byte) (int64, []byte, error) {
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, ErrDamaged
	}
	return v, b[n:], nil
}

func decodeBlock(v []int64, b []byte) ([]byte, error) {
	least, b, err := varint(b)
	if err != nil || len(b) == 0 {
		return nil, ErrDamaged
	}
	width := int(b[0])
	b = b[1:]
	if width > maxWidth && width != 64 {
		return nil, ErrDamaged
	}
	size := (len(v)*width + 7) / 8
	if len(b) < size {
		return nil, ErrDamaged
	}
	switch width {
	case 0:
		for i := range v {
			v[i] = least
		}
	case 64:
		for i := range v {
			v[i] = least + int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	default:
		// Each number is cut out of the 8 bytes from its first one on; the
		// copy has as many behind the last.
		var buf [blockLen*maxWidth/8 + 8]byte
		copy(buf[:], b[:size])
		mask := uint64(1)<<width - 1
		for i, at := 0, 0; i < len(v); i, at = i+1, at+width {
			v[i] = least + int64(binary.LittleEndian.Uint64(buf[at>>3:])>>(at&7)&mask)
		}
	}
	return b[size:], nil
}
