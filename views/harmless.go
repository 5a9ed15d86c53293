package views

import "strings"

// harmless is a name as pages show it: marks that turn the text around them
// the other way are replaced, as control bytes are when a trace is read.
func harmless(name string) string {
	return strings.Map(func(r rune) rune {
		if r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, name)
}
