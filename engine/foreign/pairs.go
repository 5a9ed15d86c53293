package foreign

import (
	"math"
	"strconv"
	"strings"
)

// pair is one "key: value" or "key = value" of a log line.
type pair struct {
	key   string
	texts []string // more than one where the value is a list
}

// number reads the first value, with the unit behind it ("%", "ms") if any. "N/A" and the
// like are no numbers.
func (p pair) number() (v float64, unit string, ok bool) {
	return cutNumber(p.texts[0])
}

func cutNumber(s string) (v float64, unit string, ok bool) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && strings.IndexByte("+-.0123456789eE", s[i]) >= 0 {
		i++
	}
	// An exponent's letter may be the unit's first one.
	for ; i > 0; i-- {
		v, err := strconv.ParseFloat(s[:i], 64)
		if err == nil && !math.IsInf(v, 0) {
			return v, strings.TrimSpace(s[i:]), true
		}
	}
	return 0, "", false
}

// splitPairs reads a list of pairs that commas separate. sep is what stands between key
// and value: ": " or " = ". "3 reqs" without a key is the pair of key "reqs"; a lone
// number goes on with the list of the pair before.
func splitPairs(s, sep string) []pair {
	var out []pair
	for part := range strings.SplitSeq(s, ", ") {
		part = strings.Trim(part, " ,|")
		if part == "" {
			continue
		}
		if len(out) == maxPairs {
			break
		}
		if key, value, ok := strings.Cut(part, sep); ok {
			out = append(out, pair{strings.TrimSpace(key), []string{strings.TrimSpace(value)}})
			continue
		}
		if v, rest, ok := cutNumber(part); ok && rest == "" && len(out) > 0 {
			last := &out[len(out)-1]
			if len(last.texts) < maxPairs {
				last.texts = append(last.texts, part)
			}
		} else if ok {
			out = append(out, pair{rest, []string{strconv.FormatFloat(v, 'g', -1, 64)}})
		}
	}
	return out
}

// fields gives access to the pairs of one line by key.
type fields map[string]pair

func fieldsOf(s, sep string) fields {
	f := fields{}
	for _, p := range splitPairs(s, sep) {
		if _, there := f[p.key]; !there {
			f[p.key] = p
		}
	}
	return f
}

// number returns the value of the first of the keys that is there and a number.
func (f fields) number(keys ...string) (float64, bool) {
	for _, k := range keys {
		if p, ok := f[k]; ok {
			if v, _, ok := p.number(); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// share returns a value between 0 and 1, whether it is written so or as a percentage.
func (f fields) share(keys ...string) (float64, bool) {
	for _, k := range keys {
		if p, ok := f[k]; ok {
			if v, unit, ok := p.number(); ok {
				if unit == "%" {
					v /= 100
				}
				return v, true
			}
		}
	}
	return 0, false
}
