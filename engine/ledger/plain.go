package ledger

import "strings"

// Plain takes off what logging has put around a line of any engine: colours and other
// control signs, and JSON around the first text that mine says is the engine's. The Stamp
// is the time found in the JSON; the line's own prefix is left in place for [FindStamp].
func Plain(raw []byte, mine func(string) bool) (line string, stamp Stamp) {
	s := plainText(stripANSI(string(raw)))
	for range maxWraps {
		open := strings.IndexByte(s, '{')
		if open < 0 || mine(s[:open]) {
			break
		}
		inner, at, ok := unwrap(s[open:], mine)
		if !ok {
			break
		}
		s, stamp = plainText(stripANSI(inner)), better(better(stamp, findStamp(s[:open])), at)
	}
	return s, stamp
}

// FindStamp looks for the most complete time in the prefix of a line, in any of the common
// layouts. outer is a time known already, such as that of [Plain]; the better one is
// returned.
func FindStamp(prefix string, outer Stamp) Stamp { return better(outer, findStamp(prefix)) }
