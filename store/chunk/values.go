package chunk

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A list of values is written as one byte of form and
//
//	presence  if some are absent: which ones are there
//	formOne   the one number that all are, 8 bytes
//	formDec   byte scale; integers: the numbers × 10^scale
//	formBits  integers: the numbers' bits
//
// Absent is the NaN that math.NaN gives; any other NaN is a number that keeps
// its bits. Presence is a byte 0 and a bit for each value, or a byte 1 and the
// lengths of runs, absent ones first.
const (
	formNone = iota // all are absent
	formOne
	formDec
	formBits
	someAbsent = 1 << 7
)

// maxScale: a double has 15 sure digits, logs print up to six behind the point.
const maxScale = 9

var pow10 = [maxScale + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

var absentBits = math.Float64bits(math.NaN())

// Encoder packs values. It keeps its memory for the next call.
type Encoder struct {
	ints    encoder
	present []float64
	nums    []int64
}

// AppendValues appends values to dst. Their number is not written.
func (e *Encoder) AppendValues(dst []byte, v []float64) []byte {
	e.present = e.present[:0]
	same := true
	for _, x := range v {
		b := math.Float64bits(x)
		if b == absentBits {
			continue
		}
		e.present = append(e.present, x)
		same = same && b == math.Float64bits(e.present[0])
	}
	form := len(dst)
	dst = append(dst, formNone)
	if len(e.present) == 0 {
		return dst
	}
	if len(e.present) < len(v) {
		dst[form] = someAbsent
		dst = appendPresence(dst, v)
	}
	if same {
		dst[form] |= formOne
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(e.present[0]))
	}
	if scale, ok := e.decimals(); ok {
		dst[form] |= formDec
		dst = append(dst, byte(scale))
	} else {
		dst[form] |= formBits
		e.nums = e.nums[:0]
		for _, x := range e.present {
			e.nums = append(e.nums, int64(math.Float64bits(x)))
		}
	}
	return e.ints.ints(dst, e.nums)
}

// decimals finds the least scale at which all numbers are integers, and those.
// The quotient of an integer below 2⁵³ and a power of ten is the double that
// lies nearest to the decimal, so it is the very number that was read from text.
func (e *Encoder) decimals() (scale int, ok bool) {
	for _, x := range e.present {
		for ; ; scale++ {
			if scale > maxScale {
				return 0, false
			}
			if _, ok := integer(x, scale); ok {
				break
			}
		}
	}
	e.nums = e.nums[:0]
	for _, x := range e.present {
		n, ok := integer(x, scale) // one that was small enough at a lesser scale may not be now
		if !ok {
			return 0, false
		}
		e.nums = append(e.nums, n)
	}
	return scale, true
}

func integer(x float64, scale int) (n int64, ok bool) {
	y := x * pow10[scale]
	if !(math.Abs(y) < 1<<52) { // infinite and NaN as well
		return 0, false
	}
	n = int64(y + math.Copysign(0.5, y))
	return n, float64(n)/pow10[scale] == x && (n != 0 || !math.Signbit(x))
}

func appendPresence(dst []byte, v []float64) []byte {
	start := len(dst)
	dst = append(dst, 1)
	limit := start + 1 + (len(v)+7)/8
	for i, absent := 0, true; i < len(v); absent = !absent {
		n := i
		for i < len(v) && (math.Float64bits(v[i]) == absentBits) == absent {
			i++
		}
		if dst = binary.AppendUvarint(dst, uint64(i-n)); len(dst) > limit {
			break
		}
	}
	if len(dst) <= limit {
		return dst
	}
	dst = append(dst[:start], make([]byte, 1+(len(v)+7)/8)...)
	for i, x := range v {
		if math.Float64bits(x) != absentBits {
			dst[start+1+i/8] |= 1 << (i % 8)
		}
	}
	return dst
}

// Decoder unpacks values. It keeps its memory for the next call.
type Decoder struct {
	nums   []int64
	runs   []int
	ints   []int64   // of aggregates
	values []float64 // …
}

// DecodeValues fills dst from what AppendValues wrote for as many values, absent
// ones with NaN, and returns the bytes behind them.
func (d *Decoder) DecodeValues(dst []float64, b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, ErrDamaged
	}
	form, n := b[0], len(dst)
	b = b[1:]
	d.runs = d.runs[:0]
	if form&someAbsent != 0 {
		if b, err = d.presence(len(dst), b); err != nil {
			return nil, err
		}
		n = 0
		for i := 1; i < len(d.runs); i += 2 {
			n += d.runs[i]
		}
	}
	switch form &^ someAbsent {
	case formNone:
		n = 0
		for i := range dst {
			dst[i] = math.NaN()
		}
		return b, nil
	case formOne:
		if len(b) < 8 {
			return nil, ErrDamaged
		}
		x := math.Float64frombits(binary.LittleEndian.Uint64(b))
		for i := range dst[:n] {
			dst[i] = x
		}
		b = b[8:]
	case formDec:
		if len(b) == 0 || b[0] > maxScale {
			return nil, ErrDamaged
		}
		div := pow10[b[0]]
		if b, err = d.integers(n, b[1:]); err != nil {
			return nil, err
		}
		for i, x := range d.nums {
			dst[i] = float64(x) / div
		}
	case formBits:
		if b, err = d.integers(n, b); err != nil {
			return nil, err
		}
		for i, x := range d.nums {
			dst[i] = math.Float64frombits(uint64(x))
		}
	default:
		return nil, ErrDamaged
	}
	d.spread(dst, n)
	return b, nil
}

func (d *Decoder) integers(n int, b []byte) ([]byte, error) {
	if cap(d.nums) < n {
		d.nums = make([]int64, n)
	}
	d.nums = d.nums[:n]
	return DecodeInts(d.nums, b)
}

// presence reads which of n values are there, as lengths of runs, absent ones first.
func (d *Decoder) presence(n int, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, ErrDamaged
	}
	kind := b[0]
	b = b[1:]
	switch kind {
	case 0:
		size := (n + 7) / 8
		if len(b) < size {
			return nil, ErrDamaged
		}
		for i, absent := 0, true; i < n; absent = !absent {
			from := i
			for i < n {
				word := b[i/8] >> (i % 8)
				if absent {
					word = ^word
				}
				ones := min(bits.TrailingZeros8(^word), 8-i%8, n-i)
				i += ones
				if ones == 0 || i%8 != 0 {
					break
				}
			}
			d.runs = append(d.runs, i-from)
		}
		return b[size:], nil
	case 1:
		for i := 0; i < n; {
			run, size := binary.Uvarint(b)
			if size <= 0 || run > uint64(n-i) || run == 0 && len(d.runs) > 0 {
				return nil, ErrDamaged
			}
			d.runs = append(d.runs, int(run))
			i, b = i+int(run), b[size:]
		}
		return b, nil
	}
	return nil, ErrDamaged
}

// spread moves the first n values of dst to where they belong.
func (d *Decoder) spread(dst []float64, n int) {
	at := len(dst)
	for i := len(d.runs) - 1; i >= 0; i-- {
		run := d.runs[i]
		if i%2 == 1 {
			n -= run
			copy(dst[at-run:at], dst[n:n+run])
		} else {
			for k := at - run; k < at; k++ {
				dst[k] = math.NaN()
			}
		}
		at -= run
	}
}
