package trace

import (
	"math/bits"
	"unicode/utf8"
)

// Eight bytes at a time: each constant repeats one byte in a word. The tests below mark
// the high bit of every byte that matches; carries and borrows can only create false
// marks above a true one, so the lowest mark is always exact.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// status says how the parse of one element ended.
type status uint8

const (
	stOK   status = iota
	stMore        // ran off the end of the buffered bytes
	stBad         // not what the grammar allows at this place
	stElse        // the reader changed its state: something else goes on here
)

// textFlags say what was met on the way over a piece of JSON.
type textFlags uint8

const (
	flagDirty     textFlags = 1 << iota // a string needs decoding: escape, control byte or non-ASCII
	flagRepaired                        // text that strict JSON forbids: control byte, bad UTF-8, bad escape
	flagNonfinite                       // nan, inf or another word where a number belongs
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isDigit(c byte) bool { return c-'0' <= 9 }

func isHex(c byte) bool { return c-'0' <= 9 || (c|0x20)-'a' <= 5 }

// skipSpace returns the index of the first byte at or after i that is not JSON white space.
func skipSpace(b []byte, i int) int {
	for {
		c := b[i]
		if c > ' ' || !isSpace(c) {
			return i
		}
		i++
	}
}

// scanString scans a string's content from i (just behind the opening quote) to its
// closing quote and returns the index of that quote. b must be padded behind w.
func scanString(b []byte, i, w int) (end int, fl textFlags, st status) {
	for {
		for {
			x := load64(b, i)
			q := x ^ (ones * '"')
			e := x ^ (ones * '\\')
			m := ((q - ones) | (e - ones) | (x - ones*0x20) | x) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
			if i >= w {
				return w, fl, stMore
			}
		}
		if i >= w {
			return w, fl, stMore
		}
		c := b[i]
		if c == '"' {
			return i, fl, stOK
		}
		n, f, st := stringOddity(b, i, w)
		if st != stOK {
			return i, fl, st
		}
		fl |= f | flagDirty
		i += n
	}
}

// stringOddity steps over one escape, control byte or non-ASCII character at b[i] and
// returns its length in bytes.
func stringOddity(b []byte, i, w int) (n int, fl textFlags, st status) {
	c := b[i]
	switch {
	case c == '\\':
		if i+1 >= w {
			return 0, 0, stMore
		}
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			return 2, 0, stOK
		case 'u':
			_, n, ok, st := unicodeEscape(b, i, w)
			if st != stOK {
				return 0, 0, st
			}
			if !ok {
				return n, flagRepaired, stOK
			}
			return n, 0, stOK
		}
		return 1, flagRepaired, stOK // an unknown escape is a literal backslash
	case c < 0x20:
		return 1, flagRepaired, stOK
	case c < utf8.RuneSelf: // a quote or plain byte: false mark, cannot happen on the lowest one
		return 1, 0, stOK
	}
	if !utf8.FullRune(b[i:w]) {
		return 0, 0, stMore
	}
	r, n := utf8.DecodeRune(b[i:w])
	if r == utf8.RuneError && n == 1 {
		return 1, flagRepaired, stOK
	}
	return n, 0, stOK
}

// unicodeEscape decodes the \uXXXX at b[i], with the second half of a surrogate pair
// where there is one. ok is false when it is not a valid escape: n is then 1 (a literal
// backslash) or 6 (a lone surrogate, read as U+FFFD).
func unicodeEscape(b []byte, i, w int) (r rune, n int, ok bool, st status) {
	r, st = hex4(b, i+2, w)
	if st == stMore {
		return 0, 0, false, stMore
	}
	if st == stBad {
		return '\\', 1, false, stOK
	}
	if r < 0xd800 || r > 0xdfff {
		return r, 6, true, stOK
	}
	if r >= 0xdc00 {
		return utf8.RuneError, 6, false, stOK
	}
	// A high surrogate: the low one must follow at once.
	switch {
	case i+6 >= w:
		return 0, 0, false, stMore
	case b[i+6] != '\\':
		return utf8.RuneError, 6, false, stOK
	case i+7 >= w:
		return 0, 0, false, stMore
	case b[i+7] != 'u':
		return utf8.RuneError, 6, false, stOK
	}
	lo, st := hex4(b, i+8, w)
	if st == stMore {
		return 0, 0, false, stMore
	}
	if st == stBad || lo < 0xdc00 || lo > 0xdfff {
		return utf8.RuneError, 6, false, stOK
	}
	return 0x10000 + (r-0xd800)<<10 + (lo - 0xdc00), 12, true, stOK
}

func hex4(b []byte, i, w int) (rune, status) {
	var r rune
	for k := range 4 {
		if i+k >= w {
			return 0, stMore
		}
		c := b[i+k]
		if !isHex(c) {
			return 0, stBad
		}
		if c <= '9' {
			c -= '0'
		} else {
			c = (c | 0x20) - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	return r, stOK
}

// skipValue steps over the JSON value at b[i] and returns the index behind it. It checks
// strings and brackets, and of the rest only what tells a damaged event from a whole one.
func skipValue(b []byte, i, w int) (end int, fl textFlags, st status) {
	switch c := b[i]; {
	case i >= w:
		return i, 0, stMore
	case c == '"':
		end, fl, st = scanString(b, i+1, w)
		if st != stOK {
			return end, fl, st
		}
		return end + 1, fl &^ flagDirty, stOK
	case c == '{' || c == '[':
		return skipNested(b, i, w)
	case isDigit(c) || c == '-' || c == '+' || c == '.':
		return skipNumber(b, i, w)
	case isLetter(c):
		return skipWord(b, i, w)
	}
	return i, 0, stBad
}

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }

// skipNumber steps over a number, also one that is spelled -inf, 1.#QNAN or -nan(ind).
func skipNumber(b []byte, i, w int) (end int, fl textFlags, st status) {
	j := i
	for j < w && numberByte(b[j]) {
		if c := b[j]; isLetter(c) && c|0x20 != 'e' || c == '#' {
			fl |= flagNonfinite
		}
		j++
	}
	if j >= w {
		return j, fl, stMore // the number may go on in the next chunk
	}
	return j, fl, stOK
}

func numberByte(c byte) bool {
	return isDigit(c) || isLetter(c) || c == '.' || c == '-' || c == '+' || c == '#' || c == '_' || c == '(' || c == ')'
}

// skipWord steps over true, false, null and over the words that stand for numbers.
func skipWord(b []byte, i, w int) (end int, fl textFlags, st status) {
	j := i
	for j < w && (isLetter(b[j]) || isDigit(b[j]) || b[j] == '_') {
		j++
	}
	if j >= w && j-i < 16 {
		return j, 0, stMore
	}
	if j < w && b[j] == '(' && (b[i]|0x20 == 'n') { // nan(ind), nan(snan)
		for k := j; k < j+16; k++ {
			if k >= w {
				return w, 0, stMore
			}
			if b[k] == ')' {
				return k + 1, flagNonfinite, stOK
			}
		}
	}
	switch string(b[i:j]) {
	case "true", "false", "null", "True", "False", "None":
		return j, 0, stOK
	case "nan", "NaN", "NAN", "Nan", "inf", "Inf", "INF", "Infinity", "infinity", "INFINITY", "undefined":
		return j, flagNonfinite, stOK
	}
	return i, 0, stBad
}

// skipNested steps over the object or array that opens at b[i]. Nesting is a counter and
// a stack of bits, not recursion, so a depth bomb costs nothing; below 64 levels the
// kind of a bracket is no longer checked.
func skipNested(b []byte, i, w int) (end int, fl textFlags, st status) {
	depth, lost := 0, 0 // brackets at depth ≤ lost have fallen out of kinds
	var kinds uint64    // bit 0: the innermost bracket is an object
	for {
		if i >= w {
			return w, fl, stMore
		}
		switch c := b[i]; {
		case c == '"':
			// A plain string of up to 15 bytes, the usual key, is stepped over here: a call
			// for each would cost more than the string.
			x := load64(b, i+1)
			q, o := x^(ones*'"'), x^(ones*'\\')
			m, n := ((q-ones)|(o-ones)|(x-ones*0x20)|x)&highs, i+1
			if m == 0 {
				n, x = i+9, load64(b, i+9)
				q, o = x^(ones*'"'), x^(ones*'\\')
				m = ((q - ones) | (o - ones) | (x - ones*0x20) | x) & highs
			}
			if n += bits.TrailingZeros64(m) >> 3; n < w && m != 0 && b[n] == '"' {
				i = n + 1
				break
			}
			e, f, st := scanString(b, i+1, w)
			if st != stOK {
				return e, fl, st
			}
			fl |= f
			i = e + 1
		case c == '}' || c == ']':
			if depth > lost && (kinds&1 == 1) != (c == '}') {
				return i, fl, stBad
			}
			kinds >>= 1
			i++
			if depth--; depth == 0 {
				return i, fl &^ flagDirty, stOK
			}
		case c == '{' || c == '[':
			if depth > lost && !mayOpen(b, i, kinds&1 == 1) {
				return i, fl, stBad
			}
			kinds <<= 1
			if c == '{' {
				kinds |= 1
			}
			depth++
			lost = max(lost, depth-64)
			i++
		case (c == 'e' || c == 'E') && i > 0 && (isDigit(b[i-1]) || b[i-1] == '.'):
			i++ // an exponent
		case isLetter(c):
			e, f, st := skipWord(b, i, w)
			if st != stOK {
				return e, fl, st
			}
			fl |= f
			i = e
		case c == '#' && i > 0 && b[i-1] == '.': // 1.#INF
			e, f, st := skipNumber(b, i, w)
			if st != stOK {
				return e, fl, st
			}
			fl |= f
			i = e
		case c >= 0x40:
			return i, fl, stBad
		default:
			i++
		}
		// Numbers, blanks and punctuation lie below 0x40: run to the next byte that does not.
		for {
			x := load64(b, i)
			q := x ^ (ones * '"')
			h := x ^ (ones * '#')
			m := ((x + ones*0x40) | x | (q-ones)&^q | (h-ones)&^h) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
			if i >= w {
				return w, fl, stMore
			}
		}
	}
}

// shortString returns the length of the string whose content begins at b[i], or -1 if it
// is longer than 15 bytes or holds anything that is not plain ASCII.
func shortString(b []byte, i int) int {
	x, y := load64(b, i), load64(b, i+8)
	q, e := x^(ones*'"'), x^(ones*'\\')
	m := ((q - ones) | (e - ones) | (x - ones*0x20) | x) & highs
	n := 0
	if m == 0 {
		q, e = y^(ones*'"'), y^(ones*'\\')
		if m = ((q - ones) | (e - ones) | (y - ones*0x20) | y) & highs; m == 0 {
			return -1
		}
		n = 8
	}
	n += bits.TrailingZeros64(m) >> 3
	if b[i+n] != '"' {
		return -1
	}
	return n
}

// mayOpen tells whether a bracket may open at b[i]: behind a colon in an object, behind a
// comma or an opening bracket in an array. An event that lost its closing brace swallows
// the next one otherwise.
func mayOpen(b []byte, i int, inObject bool) bool {
	j := i - 1
	for j > 0 && isSpace(b[j]) {
		j--
	}
	if inObject {
		return b[j] == ':'
	}
	return b[j] == ',' || b[j] == '['
}
