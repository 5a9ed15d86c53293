package web

import (
	"strings"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views/i18n"
)

// captureTexts are what a capture's page row says.
type captureTexts struct {
	warnings  []string
	err, hint string
}

// toldIn puts what a capture tells into a language. In English it is what the collector wrote, in other languages what
// its codes say; a collector before the codes, or one of another version, is quoted as it is.
func toldIn(c store.Capture, l i18n.Lang) captureTexts {
	t := captureTexts{err: c.Error, hint: c.Hint}
	if c.Warning != "" {
		t.warnings = strings.Split(c.Warning, "\n")
	}
	if len(c.Told.Warnings) > 0 {
		t.warnings = t.warnings[:0]
		for _, w := range c.Told.Warnings {
			t.warnings = append(t.warnings, sentenceIn(w, l))
		}
	}
	if l == i18n.English {
		return t
	}
	if c.Told.Error.Text != "" {
		t.err = sentenceIn(c.Told.Error, l)
	}
	if c.Told.Hint.Text != "" {
		t.hint = sentenceIn(c.Told.Hint, l)
	}
	return t
}

// sentenceIn puts a sentence into a language, or leaves it in English where its code is not known.
func sentenceIn(s store.Said, l i18n.Lang) string {
	if s.Code == "" || l == i18n.English {
		return s.Text
	}
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = sentenceIn(a, l)
	}
	if text, ok := l.Said(s.Code, args...); ok {
		return text
	}
	return s.Text
}
