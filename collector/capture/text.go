package capture

import (
	"strings"
	"unicode"
)

// maxSaid bounds what is kept of a stranger's text, in bytes.
const maxSaid = 400

// oneLine makes a stranger's text one harmless line.
func oneLine(s string) string {
	cut := len(s) > maxSaid
	if cut {
		s = s[:maxSaid]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		// Control characters move cursors, format characters reorder text.
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if s = strings.TrimSpace(s); cut {
		s += "…"
	}
	return s
}
