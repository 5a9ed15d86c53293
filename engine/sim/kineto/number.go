package kineto

import (
	"strconv"
	"unicode/utf8"
)

// appendMicros writes nanoseconds as microseconds with exactly three decimals, without passing through a float: the
// absolute times of a trace need more digits than float64 has.
func appendMicros(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u // right for the smallest int64 too
	}
	q, r := u/1000, u%1000
	b = appendUint(b, q)
	return append(b, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}

// appendRatio writes num ÷ den with six decimals, cut off, as Kineto writes its "per SM" figures.
func appendRatio(b []byte, num, den int64) []byte {
	q, r := num/den, num%den*1_000_000/den
	b = appendInt(b, q)
	b = append(b, '.')
	for d := int64(100_000); d > 0; d /= 10 {
		b = append(b, byte('0'+r/d%10))
	}
	return b
}

func appendInt(b []byte, v int64) []byte   { return strconv.AppendInt(b, v, 10) }
func appendUint(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }

// appendText writes the inside of a JSON string. Kineto itself does not escape control bytes; a writer of valid files must.
// Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = append(b, s[start:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, "\uFFFD"...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(b, s[start:]...)
}
