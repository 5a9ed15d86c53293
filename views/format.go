package views

import (
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/views/i18n"
)

// megabytes prints bytes in MB (10⁶), three significant figures where the
// number is small, so that one column has one unit.
func megabytes(n int64) string {
	mb := float64(n) / 1e6
	switch {
	case n == 0:
		return "0"
	case n < 1000:
		return "<0.001"
	case mb >= 100:
		return grouped(strconv.FormatFloat(mb, 'f', 0, 64))
	case mb >= 10:
		return strconv.FormatFloat(mb, 'f', 1, 64)
	case mb >= 1:
		return strconv.FormatFloat(mb, 'f', 2, 64)
	}
	return strconv.FormatFloat(mb, 'f', 3, 64)
}

// exactBytes prints a number of bytes in full.
func exactBytes(n int64) string { return grouped(strconv.FormatInt(n, 10)) + " B" }

// grouped sets thousands apart with commas.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short is the beginning of a hash, enough to tell kept traces apart by eye.
func short(id string) string {
	if len(id) > 12 {
		return id[:12]
	}
	return id
}

// orDash prints an absent value as a dash, never as nothing.
func orDash(p Page, s string) string {
	if s == "" {
		return p.t("common.none")
	}
	return harmless(s)
}

// sentenceOf makes a sentence of a message, which is also a part of others. What
// begins with a name or a key stays as it is.
func (p Page) sentenceOf(text string) string {
	text = harmless(text)
	word, _, _ := strings.Cut(text, " ")
	if p.Lang == i18n.English && word != "" && !strings.ContainsFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && r != '\'' }) {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") || strings.HasSuffix(text, "。") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + p.t("common.stop")
}

// upper is a column's letter as it is shown.
func upper(letter string) string { return strings.ToUpper(letter) }

// optionText names a kept trace in a list to choose from.
func (k KeptTrace) optionText(p Page) string {
	text := k.title(p)
	if k.Label != "" {
		text = harmless(k.Label) + " · " + text
	}
	return text + " · " + megabytes(k.Bytes) + " MB · " + k.Created.UTC().Format("2006-01-02 15:04") + " UTC"
}
