package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of Meta's fields, in bytes of UTF-8.
const (
	MaxName  = 255
	MaxLabel = 120
	MaxNote  = 4000
)

// Clean returns m as it is stored: valid UTF-8, without control characters
// (the note keeps its line breaks) and without characters that reorder text,
// which can make one file name look like another. The name loses its folders,
// whatever the system they come from. What is too long is cut; what is not
// given stays empty.
func (m Meta) Clean() Meta {
	name := m.Name
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = cleanLine(name, MaxName)
	if name == "." || name == ".." {
		name = ""
	}
	return Meta{Name: name, Label: cleanLine(m.Label, MaxLabel), Note: cleanText(m.Note, MaxNote)}
}

// Apply returns m with the patch's fields, cleaned. A name cannot be taken
// away: ErrInvalid.
func (m Meta) Apply(p Patch) (Meta, error) {
	if p.Name != nil {
		m.Name = *p.Name
	}
	if p.Label != nil {
		m.Label = *p.Label
	}
	if p.Note != nil {
		m.Note = *p.Note
	}
	m = m.Clean()
	if m.Name == "" {
		return Meta{}, fmt.Errorf("%w: a trace's name can't be empty", ErrInvalid)
	}
	return m, nil
}

// Fold brings text into the form in which searches compare it.
func Fold(s string) string { return strings.ToLower(s) }

func cleanLine(s string, max int) string {
	return clean(s, max, func(r rune) bool { return unicode.IsControl(r) })
}

func cleanText(s string, max int) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return clean(s, max, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

func clean(s string, max int, drop func(rune) bool) string {
	s = strings.Map(func(r rune) rune {
		if drop(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.TrimSpace(s)
	if len(s) <= max {
		return s
	}
	s = s[:max]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return strings.TrimSpace(s)
}
