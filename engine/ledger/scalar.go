package ledger

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// scalar is one number as written.
type scalar struct {
	v      float64
	digits string // what v was read from
	unit   string // as written: ms, GiB, %, …; boolUnit for True and False
	absent bool   // None and the like: the field has no number now
}

// maxUnitBytes bounds what is taken for a unit; longer is text.
const maxUnitBytes = 16

// scanScalar reads a number and a unit, with or without a blank between them, with or
// without quotes around. False: it is something else.
func scanScalar(s string) (scalar, bool) {
	if s == "" || !isDigit(s[0]) || !isDigit(s[len(s)-1]) { // most are nothing but a number
		s = strings.Trim(s, " \t\"'")
		if x, ok := scanWord(s); ok {
			return x, true
		}
	}
	digits, rest := cutNumber(s)
	if digits == "" {
		return scalar{}, false
	}
	x := scalar{digits: digits, unit: strings.TrimLeft(rest, " \t")}
	// What cutNumber accepts parses; beyond float64's range it is infinite.
	x.v, _ = strconv.ParseFloat(digits, 64)
	return x, isUnit(x.unit)
}

// scanWord reads what stands for a number.
func scanWord(s string) (scalar, bool) {
	if len(s) > len("false") {
		return scalar{}, false
	}
	switch strings.ToLower(s) {
	case "none", "null", "n/a", "-":
		return scalar{v: math.NaN(), absent: true}, true
	case "true":
		return scalar{v: 1, unit: boolUnit}, true
	case "false":
		return scalar{unit: boolUnit}, true
	}
	return scalar{}, false
}

// boolUnit marks True and False.
const boolUnit = "bool"

// cutNumber splits a decimal number, nan or inf off the front of s.
func cutNumber(s string) (number, rest string) {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	for _, word := range [...]string{"infinity", "inf", "nan"} {
		if len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word) {
			if word == "nan" {
				return s[i : i+len(word)], s[i+len(word):] // a signed nan is none to ParseFloat
			}
			return s[:i+len(word)], s[i+len(word):]
		}
	}
	count := func() int {
		from := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i - from
	}
	n := count()
	if i < len(s) && s[i] == '.' {
		i++
		n += count()
	}
	if n == 0 {
		return "", s
	}
	if end := i; i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if count() == 0 {
			i = end
		}
	}
	return s[:i], s[i:]
}

// isUnit says whether a number may be followed by this: letters and slashes, as in ms,
// GiB, tok/s, µs.
func isUnit(s string) bool {
	if len(s) > maxUnitBytes {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && r != '/' && r != '%' {
			return false
		}
	}
	return true
}

// scales turn written units into the one that the metric's values have.
var scales = map[Unit]map[string]float64{
	Milliseconds: {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1, "s": 1e3, "sec": 1e3, "min": 6e4},
	GiB: {"B": 1.0 / (1 << 30), "KiB": 1.0 / (1 << 20), "MiB": 1.0 / (1 << 10), "GiB": 1, "TiB": 1 << 10,
		"KB": 1e3 / (1 << 30), "kB": 1e3 / (1 << 30), "MB": 1e6 / (1 << 30), "GB": 1e9 / (1 << 30), "TB": 1e12 / (1 << 30)},
	Flag:            {boolUnit: 1},
	StepsPerSecond:  {"steps/s": 1, "step/s": 1, "/s": 1},
	TokensPerSecond: {"tokens/s": 1, "token/s": 1, "tok/s": 1, "t/s": 1},
	Tokens:          {"tokens": 1, "token": 1, "tok": 1},
	Sequences:       {"seqs": 1, "seq": 1, "reqs": 1, "req": 1},
	Requests:        {"reqs": 1, "req": 1, "requests": 1},
	Calls:           {"calls": 1, "call": 1},
	TFLOPs:          {"TFLOPs": 1, "TFLOP": 1, "GFLOPs": 1e-3, "GFLOP": 1e-3, "PFLOPs": 1e3, "PFLOP": 1e3},
}

// in gives the number in a metric's unit. Without a unit it already is.
func (x scalar) in(u Unit) (float64, bool) {
	switch {
	case x.unit == "":
		return x.v, true
	case x.unit == "%" && (u == Share || u == Ratio):
		if strings.ContainsAny(x.digits, "eEnN") {
			return x.v / 100, true
		}
		v, _ := strconv.ParseFloat(x.digits+"e-2", 64) // exact, where a division would round again
		return v, true
	}
	scale, ok := scales[u][x.unit]
	return x.v * scale, ok
}
