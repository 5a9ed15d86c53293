package store

import "bytes"

// Content types of traces.
const (
	TypeJSON = "application/json"
	TypeGzip = "application/gzip"
	TypeZstd = "application/zstd"
)

// SniffLimit is how many bytes Sniff may need: a file that begins with more
// blanks than this is refused.
const SniffLimit = 64 << 10

// Sniff tells from a file's first bytes what it is, never from its name.
// decided is false while more bytes are needed; a decided empty string means
// that this is no trace.
func Sniff(b []byte) (contentType string, decided bool) {
	for _, m := range [...]struct{ magic, contentType string }{
		{"\x1f\x8b", TypeGzip},
		{"\x28\xb5\x2f\xfd", TypeZstd},
	} {
		if n := min(len(b), len(m.magic)); string(b[:n]) == m.magic[:n] {
			return answer(m.contentType, n == len(m.magic))
		}
	}
	// A zstd file may begin with a skippable frame: 0x184D2A50 to …5F,
	// lowest byte first. One of them begins like a JSON array, with '['.
	if len(b) > 0 && b[0]&0xf0 == 0x50 {
		const rest = "\x2a\x4d\x18"
		if n := min(len(b)-1, len(rest)); string(b[1:1+n]) == rest[:n] {
			return answer(TypeZstd, n == len(rest))
		}
	}
	return sniffJSON(b)
}

// sniffJSON wants '{' or '[' behind a byte-order mark and blanks. UTF-16 passes
// because the zero half of each of its ASCII characters is skipped like a blank.
func sniffJSON(b []byte) (string, bool) {
	for _, bom := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		n := min(len(b), len(bom))
		if string(b[:n]) != bom[:n] {
			continue
		}
		if n < len(bom) {
			return "", false
		}
		b = b[n:]
		break
	}
	i := bytes.IndexFunc(b, func(r rune) bool { return r != ' ' && r != '\t' && r != '\n' && r != '\r' && r != 0 })
	switch {
	case i < 0:
		return "", len(b) >= SniffLimit
	case b[i] == '{' || b[i] == '[':
		return TypeJSON, true
	}
	return "", true
}

func answer(contentType string, decided bool) (string, bool) {
	if !decided {
		return "", false
	}
	return contentType, true
}
