package views

import "strings"

// inline is a name inside a sentence: marks that turn the text behind them
// round are left out, and right-to-left letters are kept to themselves. Cells
// and paragraphs of their own need no such care.
func inline(name string) string {
	rtl := false
	text := strings.Map(func(r rune) rune {
		if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		rtl = rtl || r >= 0x0590 && r <= 0x08ff || r == 0x200f || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff
		return r
	}, name)
	if rtl {
		return "\u2068" + text + "\u2069"
	}
	return text
}
