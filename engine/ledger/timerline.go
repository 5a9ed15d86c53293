package ledger

import "strings"

// timer reads one timer: a name, which may have blanks, and parts with slashes between
// them, as in
//
//	schedule:cpp cur1.2ms/mean1.0ms/max6.1ms/100calls/10.2%
//
// in any order. A word that isn't cur, mean or max makes an extra metric, cpu.word.
func (b *body) timer(s string) {
	end := strings.LastIndexByte(s, ' ')
	if end <= 0 {
		b.fail(BadValue, s)
		return
	}
	name := s[:end]
	if x, ok := scanScalar(s[end+1:]); ok && x.unit == "" {
		b.number(place{name, plain, ""}, "", x) // not a timer
		return
	}
	for _, p := range b.split(s[end+1:], "/") {
		key, unit, x, ok := b.timerPart(p)
		v := x.v
		if ok && unit != "" {
			v, ok = x.in(unit)
			x.unit = ""
		}
		if !ok {
			b.fail(BadValue, s)
			continue
		}
		b.labelled(key, name, "", v, x.unit)
	}
}

// timerPart reads a part: its metric's key and unit, or an extra key without one.
func (b *body) timerPart(p string) (key string, unit Unit, x scalar, ok bool) {
	keys := timerKeys[b.line.Section]
	for k := range timerParts {
		part := &timerParts[k]
		digits, is := strings.CutPrefix(p, part.member)
		if !is {
			continue
		}
		if x, ok = scanScalar(digits); !ok || x.absent {
			continue
		}
		m, _ := own(keys[k])
		// calls and share have no word: their unit tells them.
		if part.member != "" || x.unit == part.suffix {
			return keys[k], m.Unit, x, true
		}
	}
	word := 0
	for word < len(p) && isWord(p[word]) {
		word++
	}
	// A percentile's digits belong to its name: p99 and 3.0ms in p993.0ms.
	if word == 1 && p[0] == 'p' {
		word = 0
		if len(p) > 3 && isDigit(p[1]) && isDigit(p[2]) && isDigit(p[3]) {
			word = 3
		}
	}
	if word == 0 {
		return "", "", scalar{}, false
	}
	x, ok = scanScalar(p[word:])
	return string(b.line.Section) + "." + strings.Clone(p[:word]), "", x, ok && !x.absent
}
