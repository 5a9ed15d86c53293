package store

import (
	"encoding/json"
	"slices"
)

// Said is a sentence that is kept with its code, so that a page can tell it in its reader's language.
type Said struct {
	Code string `json:"code,omitempty"` // stays the same over versions; "": there is Text only, such as another program's words
	Text string `json:"text,omitempty"` // in English, complete; untrusted
	Args []Said `json:"args,omitempty"` // fill the sentence's {0}, {1} …
}

// Told is what a capture's Warning, Error and Hint say, by codes. Whoever sets those without it leaves it empty: then
// the English texts are all there is.
type Told struct {
	Warnings []Said `json:"warnings,omitempty"` // the lines of Warning
	Error    Said   `json:"error,omitzero"`
	Hint     Said   `json:"hint,omitzero"`
}

// Bounds of what is told: real sentences have three arguments and lie four deep.
const (
	maxSaidArgs  = 10
	maxSaidDepth = 8
	maxWarnings  = 64
	maxTold      = 64 << 10 // bytes as JSON
)

// Clean bounds what is told, and makes its texts harmless with text. What is too large is left out as a whole, as the
// English texts are kept beside it.
func (t Told) Clean(text func(string) string) Told {
	t.Warnings = slices.Clone(t.Warnings[:min(len(t.Warnings), maxWarnings)])
	for i := range t.Warnings {
		t.Warnings[i] = t.Warnings[i].clean(text, maxSaidDepth)
	}
	if len(t.Warnings) == 0 {
		t.Warnings = nil
	}
	t.Error, t.Hint = t.Error.clean(text, maxSaidDepth), t.Hint.clean(text, maxSaidDepth)
	if b, err := json.Marshal(t); err != nil || len(b) > maxTold {
		return Told{}
	}
	return t
}

// clean leaves a sentence with its English text where its arguments are too many or too deep.
func (s Said) clean(text func(string) string, depth int) Said {
	s.Code, s.Text = text(s.Code), text(s.Text)
	if len(s.Args) == 0 {
		s.Args = nil
		return s
	}
	if depth <= 1 || len(s.Args) > maxSaidArgs {
		return Said{Text: s.Text}
	}
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = s.Args[i].clean(text, depth-1)
	}
	return s
}
