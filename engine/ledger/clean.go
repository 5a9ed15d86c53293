package ledger

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names and texts come from other people's processes. Writer and parser clean them with
// the same functions, so that what was read once is written and read again unchanged.

// plainText makes control characters and blanks of all kinds into spaces, and bytes that
// are not UTF-8 into U+FFFD.
func plainText(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return strings.Map(spaced, s)
		}
	}
	return s
}

func spaced(r rune) rune {
	if unicode.IsSpace(r) || unicode.IsControl(r) {
		return ' '
	}
	return r
}

const brackets = "()[]{}"

// cleanKey makes the name of a field safe: blanks, control characters and the grammar's
// own signs become underscores.
func cleanKey(s string) string { return cleanName(s, brackets+"|= ") }

// cleanLabel makes the name of a timer or a group safe. Inner blanks and balanced
// brackets may stay; sep is what separates such names besides "|".
func cleanLabel(s, sep string) string {
	s = cut(strings.ToValidUTF8(s, "\uFFFD"), MaxNameBytes)
	if !enclosed(s, "|"+sep) {
		return cleanName(s, brackets+"|"+sep)
	}
	return cleanName(s, "")
}

func cleanName(s, signs string) string {
	if isPlainName(s) {
		return s
	}
	s = cut(strings.ToValidUTF8(s, "\uFFFD"), MaxNameBytes)
	s = strings.Map(func(r rune) rune {
		if r != ' ' && unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(signs, r) {
			return '_'
		}
		return r
	}, s)
	s = strings.ReplaceAll(s, "RANK ", "RANK_") // not the head of another line
	if s = strings.Trim(s, " "); s == "" {
		return "_"
	}
	return s
}

// isPlainName says that a name has nothing to clean, as almost all have: this is asked for every value of every line.
func isPlainName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isWord(c) && !isDigit(c) && c != '.' && c != ':' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= MaxNameBytes
}

// cleanText keeps a text on its line, and from looking like the head of another.
func cleanText(s string) string {
	s = strings.Map(spaced, cut(strings.ToValidUTF8(s, "\uFFFD"), MaxTextBytes))
	return strings.Trim(strings.ReplaceAll(s, "RANK ", "RANK_"), " ")
}

// cleanField makes a text safe as the value of a field among others.
func cleanField(s string) string {
	s = cleanText(s)
	if enclosed(s, "|") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(brackets+"|", r) {
			return '_'
		}
		return r
	}, s)
}

// enclosed says that brackets are balanced and that no byte of seps stands outside them.
func enclosed(s, seps string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isOpen(c):
			depth++
		case isClose(c):
			if depth--; depth < 0 {
				return false
			}
		case depth == 0 && strings.IndexByte(seps, c) >= 0:
			return false
		}
	}
	return depth == 0
}

func isOpen(c byte) bool  { return c == '(' || c == '[' || c == '{' }
func isClose(c byte) bool { return c == ')' || c == ']' || c == '}' }

// cut shortens s to at most n bytes without cutting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
