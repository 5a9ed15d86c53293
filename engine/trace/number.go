package trace

import (
	"math"
	"math/bits"
)

// numKind says what stood where a number was expected.
type numKind uint8

const (
	numAbsent numKind = iota // no number: null, a word, an object, or out of range
	numOK
	numBelow   // below the smallest int64
	numWrapped // above the largest int64, but a uint64: a negative number that lost its sign
	numAbove   // above the largest uint64
)

// parseNanos reads a decimal number of microseconds and returns it in nanoseconds,
// exactly, rounded down below 1 ns. It never goes through floating point: epoch
// microseconds with three decimals do not fit a float64. text is the number without
// quotes or blanks.
func parseNanos(text []byte) (ns int64, k numKind) { return parseScaled(text, 3) }

// parseInt reads a decimal integer; a fraction is cut towards minus infinity.
func parseInt(text []byte) (v int64, k numKind) { return parseScaled(text, 0) }

// parseScaled returns floor(text × 10^scale).
func parseScaled(text []byte, scale int) (int64, numKind) {
	i, neg := 0, false
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		neg = text[i] == '-'
		i++
	}
	// Find the exponent first: with it known, digits can be taken in one pass.
	exp, mant := 0, text[i:]
	for j, c := range mant {
		if c|0x20 == 'e' {
			e, ok := parseExponent(mant[j+1:])
			if !ok {
				return 0, numAbsent
			}
			exp, mant = e, mant[:j]
			break
		}
	}
	point, digits := -1, 0
	for j, c := range mant {
		switch {
		case isDigit(c):
			digits++
		case c == '.' && point < 0:
			point = j
		default:
			return 0, numAbsent
		}
	}
	if digits == 0 {
		return 0, numAbsent
	}
	intDigits := digits
	if point >= 0 {
		intDigits = point
	}
	keep := intDigits + exp + scale // digits that lie before the decimal point of the result
	var v uint64
	over, rest, n := false, false, 0
	for _, c := range mant {
		if c == '.' {
			continue
		}
		d := uint64(c - '0')
		if n < keep {
			v, over = mul10add(v, d, over)
		} else if d != 0 {
			rest = true
		}
		n++
	}
	for ; n < keep && v != 0; n++ {
		if v, over = mul10add(v, 0, over); over {
			break
		}
	}
	if neg {
		if rest {
			if v++; v == 0 {
				over = true
			}
		}
		if over || v > 1<<63 {
			return math.MinInt64, numBelow
		}
		return -int64(v), numOK
	}
	if over {
		return math.MaxInt64, numAbove
	}
	if v > math.MaxInt64 {
		return int64(v), numWrapped // the bits, for ids
	}
	return int64(v), numOK
}

func mul10add(v, d uint64, over bool) (uint64, bool) {
	hi, lo := bits.Mul64(v, 10)
	lo, c := bits.Add64(lo, d, 0)
	return lo, over || hi != 0 || c != 0
}

// parseExponent reads the digits behind an e; anything beyond ±9999 is as good as that.
func parseExponent(s []byte) (int, bool) {
	i, neg := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	if i == len(s) {
		return 0, false
	}
	e := 0
	for ; i < len(s); i++ {
		if !isDigit(s[i]) {
			return 0, false
		}
		if e < 9999 {
			e = e*10 + int(s[i]-'0')
		}
	}
	e = min(e, 9999)
	if neg {
		e = -e
	}
	return e, true
}
