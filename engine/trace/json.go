package trace

import (
	"strconv"
	"unicode/utf8"
)

// writer appends JSON by hand: encoding/json would more than double the WASM module, and
// the bytes must be the same on both sides.
type writer struct {
	b   []byte
	sep bool
}

func (w *writer) comma() {
	if w.sep {
		w.b = append(w.b, ',')
	}
	w.sep = true
}

func (w *writer) open(c byte) {
	w.comma()
	w.b = append(w.b, c)
	w.sep = false
}

func (w *writer) close(c byte) {
	w.b = append(w.b, c)
	w.sep = true
}

func (w *writer) key(k string) {
	w.comma()
	w.b = appendQuoted(w.b, k)
	w.b = append(w.b, ':')
	w.sep = false
}

func (w *writer) int(k string, v int64) {
	w.key(k)
	w.b = strconv.AppendInt(w.b, v, 10)
	w.sep = true
}

func (w *writer) opt(k string, v Opt) {
	if v.OK {
		w.int(k, v.V)
		return
	}
	w.null(k)
}

func (w *writer) null(k string) {
	w.key(k)
	w.b = append(w.b, "null"...)
	w.sep = true
}

func (w *writer) str(k, v string) {
	w.key(k)
	w.value(v)
}

func (w *writer) value(v string) {
	w.comma()
	w.b = appendQuoted(w.b, v)
	w.sep = true
}

// orNull writes v, or null for the empty string.
func (w *writer) orNull(k, v string) {
	if v == "" {
		w.null(k)
		return
	}
	w.str(k, v)
}

func (w *writer) bool(k string, v bool) {
	w.key(k)
	w.b = strconv.AppendBool(w.b, v)
	w.sep = true
}

func (w *writer) object(k string, f func()) {
	w.key(k)
	w.open('{')
	f()
	w.close('}')
}

func (w *writer) array(k string, f func()) {
	w.key(k)
	w.open('[')
	f()
	w.close(']')
}

func (w *writer) ints(k string, list []int64) {
	w.array(k, func() {
		for _, v := range list {
			w.comma()
			w.b = strconv.AppendInt(w.b, v, 10)
		}
	})
}

func (w *writer) strs(k string, list []string) {
	w.array(k, func() {
		for _, v := range list {
			w.value(v)
		}
	})
}

// list writes an array of objects.
func list[T any](w *writer, k string, items []T, f func(*T)) {
	w.array(k, func() {
		for i := range items {
			w.open('{')
			f(&items[i])
			w.close('}')
		}
	})
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends s as a JSON string. Control characters are escaped, and so are the
// two line separators that JavaScript once took for line ends.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(b, "\ufffd"...)
			case r == '\u2028' || r == '\u2029':
				b = append(b, `\u202`...)
				b = append(b, hexDigits[r&15])
			default:
				b = append(b, s[i:i+n]...)
			}
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}
