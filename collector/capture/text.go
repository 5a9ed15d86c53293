package capture

import (
	"errors"
	"io/fs"
	"strings"
	"unicode"
)

// maxSaid bounds what is kept of a stranger's text, in bytes.
const maxSaid = 400

// oneLine makes a stranger's text one harmless line.
func oneLine(s string) string { return oneLineOf(s, maxSaid) }

func oneLineOf(s string, most int) string {
	cut := len(s) > most
	if cut {
		s = s[:most]
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

// short is a name of a stranger's, for a text in which it is not alone.
func short(name string) string { return oneLineOf(name, 200) }

// reason is an error without the path that its text repeats.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return oneLine(p.Err.Error())
	}
	return oneLine(err.Error())
}
