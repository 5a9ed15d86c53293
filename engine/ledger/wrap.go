package ledger

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// timeKeys are the names under which JSON logs keep a line's time.
var timeKeys = map[string]bool{
	"time": true, "timestamp": true, "ts": true, "t": true, "@timestamp": true, "asctime": true,
	"datetime": true, "date": true, "created": true, "repr": true, "eventTime": true, "__REALTIME_TIMESTAMP": true,
}

// unwrap opens a JSON log line: docker's json-file, structured loggers, journald. It
// returns the first string value that mine says is an engine's line, at whatever depth, and the
// time of the record. It is a scan over the tokens rather than a decoder, because a
// record that is cut in the middle still says something.
func unwrap(s string, mine func(string) bool) (inner string, stamp Stamp, ok bool) {
	key := ""
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			raw, end := stringEnd(s, i+1)
			i = end
			if j := skipBlanks(s, i); j < len(s) && s[j] == ':' {
				key, i = raw, j+1
				continue
			}
			switch {
			case !ok && mine(raw):
				inner, ok = unescape(raw), true
			case timeKeys[key]:
				stamp = better(stamp, findStamp(raw))
			}
			key = ""
		case isDigit(c):
			end := i
			for end < len(s) && (isDigit(s[end]) || s[end] == '.') {
				end++
			}
			if e, is := epoch(s[i:end]); is && timeKeys[key] {
				stamp = better(stamp, e)
			}
			key, i = "", end
		case c == '{' || c == '[' || c == ',':
			key = ""
			i++
		default:
			i++
		}
	}
	return inner, stamp, ok
}

// stringEnd returns the string that begins at i, still escaped, and where it ends. A
// string that the line's end cuts ends there.
func stringEnd(s string, i int) (raw string, end int) {
	start := i
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[start:i], i + 1
		}
	}
	return s[start:], len(s)
}

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// unescape undoes JSON's escapes. A wrong one stays as it is.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b', 'f':
			out = append(out, ' ')
		case 'u':
			r, n := hexRune(s[i+1:])
			out = utf8.AppendRune(out, r)
			i += n
		default: // quote, backslash, slash
			out = append(out, c)
		}
	}
	return string(out)
}

// hexRune reads the four digits behind \u. Halves of pairs become U+FFFD: no name that
// matters here has them.
func hexRune(s string) (r rune, n int) {
	if len(s) < 4 {
		return utf8.RuneError, len(s)
	}
	v, err := strconv.ParseUint(s[:4], 16, 16)
	if err != nil {
		return utf8.RuneError, 0
	}
	return rune(v), 4
}

// stripANSI removes terminal control sequences: colours, titles, links.
func stripANSI(s string) string {
	esc := strings.IndexByte(s, 0x1b)
	if esc < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for esc >= 0 {
		out.WriteString(s[:esc])
		s = s[esc:]
		s = s[sequence(s):]
		esc = strings.IndexByte(s, 0x1b)
	}
	out.WriteString(s)
	return out.String()
}

// sequence is the length of the control sequence that s begins with.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	i := 2
	switch s[1] {
	case '[': // parameters, then a letter
		for i < len(s) && s[i] >= 0x20 && s[i] < 0x40 {
			i++
		}
		return min(len(s), i+1)
	case ']': // up to BEL or ESC \
		for i < len(s) && s[i] != 0x07 && s[i] != 0x1b {
			i++
		}
		if i < len(s) && s[i] == 0x1b {
			return min(len(s), i+2)
		}
		return min(len(s), i+1)
	}
	return i
}
