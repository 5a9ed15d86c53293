// Package i18n holds every sentence the server prints, in English and Chinese,
// in tables of key → text. The browser's scripts bring their own sentences.
package i18n

import "strings"

// Lang is a language the pages speak, as it stands in <html lang>.
type Lang string

// The languages, the default first.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// Langs lists the languages in the order the switch shows them.
var Langs = []Lang{English, Chinese}

// Name is what the language calls itself.
func (l Lang) Name() string {
	if l == Chinese {
		return "中文"
	}
	return "English"
}

// Parse gives the language for a tag like "zh-CN", and false for one we don't speak.
func Parse(tag string) (Lang, bool) {
	primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
	for _, l := range Langs {
		if primary == string(l) {
			return l, true
		}
	}
	return English, false
}

// Accept picks the language from an Accept-Language header: the first one in
// it that we speak. Browsers send the list in order of preference, so the
// quality values need no second look.
func Accept(header string) Lang {
	for part := range strings.SplitSeq(header, ",") {
		tag, _, _ := strings.Cut(part, ";")
		if l, ok := Parse(tag); ok {
			return l
		}
	}
	return English
}

// text is one sentence in each language.
type text struct{ en, zh string }

// catalogue is the union of the tables in this package.
var catalogue = merge(frameTexts, traceTexts, columnTexts, definitionTexts, listTexts, errorTexts, fleetTexts, deploymentTexts, pairTexts, captureTexts, collectorTexts, compareTexts, refusalTexts, problemTexts, saidTexts)

// merge joins the tables and panics at start-up when two define the same key:
// one of the two would silently never be shown.
func merge(tables ...map[string]text) map[string]text {
	all := map[string]text{}
	for _, table := range tables {
		for key, t := range table {
			if _, twice := all[key]; twice {
				panic("i18n: key defined twice: " + key)
			}
			all[key] = t
		}
	}
	return all
}

// T gives the sentence of a key. Placeholders {0}, {1}, … are replaced by args
// as they are; whoever prints the result escapes it. {0|engine|engines} is the
// first word where argument 0 is "1", else the second. An unknown key comes back
// as itself, which a test over all templates keeps from happening.
func (l Lang) T(key string, args ...string) string {
	t, ok := catalogue[key]
	if !ok {
		return key
	}
	s := t.en
	if l == Chinese {
		s = t.zh
	}
	if len(args) == 0 {
		return s
	}
	s = number(s, args)
	pairs := make([]string, 0, 2*len(args))
	for i, a := range args {
		pairs = append(pairs, "{"+string(rune('0'+i))+"}", a)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// number chooses the words that follow a number.
func number(s string, args []string) string {
	for from := 0; ; {
		bar := strings.IndexByte(s[from:], '|')
		if bar < 0 {
			return s
		}
		bar += from
		from = bar + 1
		open, end := bar-2, strings.IndexByte(s[bar:], '}')
		if open < 0 || s[open] != '{' || end < 0 || int(s[bar-1]-'0') >= len(args) {
			continue
		}
		one, many, ok := strings.Cut(s[bar+1:bar+end], "|")
		if !ok {
			continue
		}
		word := many
		if args[s[bar-1]-'0'] == "1" {
			word = one
		}
		s = s[:open] + word + s[bar+end+1:]
		from = open + len(word)
	}
}

// Has says whether the catalogue knows the key.
func Has(key string) bool {
	_, ok := catalogue[key]
	return ok
}
