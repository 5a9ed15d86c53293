package i18n

import "fmt"

// Phrase is a sentence of the catalogue before it is put into a language: what
// is told to whom is known where it arises, the reader's language only later.
type Phrase struct {
	Key  string
	Args []any // for the placeholders: Phrases and Both in their turn, else printed as they are
}

// Both is a text from outside the catalogue in both languages.
type Both struct{ EN, ZH string }

// In is the text in a language.
func (b Both) In(l Lang) string {
	if l == Chinese {
		return b.ZH
	}
	return b.EN
}

// Say puts a phrase into words.
func (l Lang) Say(p Phrase) string { return l.T(p.Key, l.Words(p.Args)...) }

// Words puts arguments into words.
func (l Lang) Words(args []any) []string {
	words := make([]string, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Phrase:
			words[i] = l.Say(a)
		case Both:
			words[i] = a.In(l)
		default:
			words[i] = fmt.Sprint(a)
		}
	}
	return words
}

// Refusal gives the words for a refused request: what happened, and what to do,
// which may be nothing. ok is false for a code without words.
func (l Lang) Refusal(code string, args ...any) (message, hint string, ok bool) {
	return l.coded("refuse."+code, l.Words(args))
}

// Problem gives the words for a collector's or a capture's problem, likewise.
func (l Lang) Problem(code string, args ...string) (what, hint string, ok bool) {
	return l.coded("problem."+code, args)
}

// coded looks up a sentence and the one with its next step.
func (l Lang) coded(key string, args []string) (text, hint string, ok bool) {
	if !Has(key) {
		return "", "", false
	}
	if next := key + ".hint"; Has(next) {
		hint = l.T(next, args...)
	}
	return l.T(key, args...), hint, true
}
