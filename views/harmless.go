package views

import "strings"

// harmless is a name as pages show it: marks that turn the text around them
// the other way are replaced, and so are control bytes, as when a trace is
// read. Line breaks of notes stay.
func harmless(name string) string {
	return strings.Map(func(r rune) rune {
		control := r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0
		if control || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, name)
}
