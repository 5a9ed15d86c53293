package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
)

// padded returns text as a reader holds it: with readable bytes behind it. What stands
// there must not matter, so callers try several.
func padded(text string, behind byte) (b []byte, w int) {
	b = append([]byte(text), bytes.Repeat([]byte{behind}, padding)...)
	return b, len(text)
}

func TestParseNanos(t *testing.T) {
	for _, x := range []struct {
		text string
		want int64
		kind numKind
	}{
		{"0", 0, numOK}, {"-0", 0, numOK}, {"1", 1000, numOK}, {"1.5", 1500, numOK}, {"1.2345", 1234, numOK}, {"-1.2345", -1235, numOK},
		{"0.0009", 0, numOK}, {"-0.0009", -1, numOK}, {".5", 500, numOK}, {"5.", 5000, numOK}, {"+5", 5000, numOK}, {"1e3", 1_000_000, numOK},
		{"1E-3", 1, numOK}, {"1.5e+2", 150_000, numOK}, {"12345e-8", 0, numOK}, {"-12345e-8", -1, numOK}, {"0e9999999999", 0, numOK}, {"1e-9999999999", 0, numOK},
		{"1743521598000000.123", 1743521598000000123, numOK}, {"1743521598000000.1239999999999999999", 1743521598000000123, numOK},
		{"9223372036854775.807", math.MaxInt64, numOK}, {"9223372036854775.8079", math.MaxInt64, numOK}, {"-9223372036854775.808", math.MinInt64, numOK},
		{"9223372036854775.808", math.MinInt64, numWrapped}, {"18446744073709551.615", -1, numWrapped}, {"18446744073709551.616", math.MaxInt64, numAbove},
		{"-9223372036854775.8081", math.MinInt64, numBelow}, {"1e20", math.MaxInt64, numAbove}, {"-1e20", math.MinInt64, numBelow}, {"1e99999", math.MaxInt64, numAbove},
		{"000000000000000000000000001.5", 1500, numOK}, {"0.000000000000000000000000015e26", 1500, numOK},
		{"", 0, numAbsent}, {"-", 0, numAbsent}, {".", 0, numAbsent}, {"-.", 0, numAbsent}, {"e5", 0, numAbsent}, {"1e", 0, numAbsent}, {"1e+", 0, numAbsent}, {"1.2.3", 0, numAbsent},
		{"1x", 0, numAbsent}, {"nan", 0, numAbsent}, {"inf", 0, numAbsent}, {"0x10", 0, numAbsent}, {"1e5e5", 0, numAbsent}, {"--1", 0, numAbsent}, {"1 2", 0, numAbsent}, {"1e1.5", 0, numAbsent},
	} {
		v, k := parseNanos([]byte(x.text))
		if v != x.want && k != numAbsent || k != x.kind {
			t.Errorf("parseNanos(%q) = %d, %d, want %d, %d", x.text, v, k, x.want, x.kind)
		}
	}
}

func TestParseInt(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "-7": -7, "9007199254740993": 9007199254740993, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"1.9": 1, "-1.1": -2, "1e3": 1000, "12e-1": 1, "1e18": 1_000_000_000_000_000_000,
	} {
		if v, k := parseInt([]byte(text)); v != want || k != numOK {
			t.Errorf("parseInt(%q) = %d, %d, want %d", text, v, k, want)
		}
	}
}

// exact is parseScaled by big numbers.
func exact(text string, scale int) (int64, numKind) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, numAbsent
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	v := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: floor, as the divisor is positive
	switch {
	case v.IsInt64():
		return v.Int64(), numOK
	case v.Sign() < 0:
		return math.MinInt64, numBelow
	case v.IsUint64():
		return int64(v.Uint64()), numWrapped // its bits
	}
	return math.MaxInt64, numAbove
}

// decimal reports whether text is a decimal number as JSON and its bad relatives write it,
// with an exponent that big numbers can take.
func decimal(text string) bool {
	mant, exp, ok := strings.Cut(strings.ToLower(text), "e")
	if ok {
		exp = strings.TrimLeft(exp, "+-")
		if exp == "" || len(exp) > 3 || strings.Trim(exp, "0123456789") != "" {
			return false
		}
	}
	mant = strings.TrimLeft(mant, "+-")
	return strings.Trim(mant, "0123456789.") == "" && strings.Trim(mant, ".") != "" && strings.Count(mant, ".") <= 1
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.5", "-1.2345", "1e3", "1E-3", ".5", "5.", "+7", "1743521598000000.123", "18446744073709551.615", "18446744073709551.616",
		"-9223372036854775.808", "9223372036854775.807", "-9223372036854775.8081", "99999999e-12", "00.10e+02", "1e20", "nan", "12345678901234567", "1234567890123456.789"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, scale := range []int{0, 3} {
			got, k := parseScaled([]byte(s), scale)
			if decimal(s) && strings.Count(s, "+")+strings.Count(s, "-") <= 2 && !strings.HasPrefix(s, "+-") && !strings.HasPrefix(s, "-+") && !strings.HasPrefix(s, "--") && !strings.HasPrefix(s, "++") {
				want, wk := exact(s, scale)
				if wk != numAbsent && (got != want || k != wk) {
					t.Errorf("%q × 10^%d = %d, %d, want %d, %d", s, scale, got, k, want, wk)
				}
			}
		}
		// As a value in an event, whatever follows it and lies behind the buffer.
		for _, end := range []string{",", "}", " ", "\n"} {
			for _, behind := range []byte{0, '5', '"', ' '} {
				b, w := padded(s+end+"\"name\"", behind)
				ns, k, e, st := parseTime(b, 0, w)
				if !decimal(s) || st != stOK || e != len(s) {
					continue
				}
				want, wk := parseNanos([]byte(s))
				if k != wk || ns != want && k != numAbsent {
					t.Errorf("parseTime(%q) = %d, %d, want %d, %d", s+end, ns, k, want, wk)
				}
			}
		}
	})
}

func TestScanString(t *testing.T) {
	for _, x := range []struct {
		raw  string
		end  int
		fl   textFlags
		st   status
		want string
	}{
		{`abc"`, 3, 0, stOK, "abc"}, {`"`, 0, 0, stOK, ""}, {`a\"b"`, 4, flagDirty, stOK, `a"b`}, {`a\\"`, 3, flagDirty, stOK, `a\`}, {"a\x01b\"", 3, flagDirty | flagRepaired, stOK, "a\ufffdb"},
		{"caf\xc3\xa9\"", 5, flagDirty, stOK, "café"}, {"\xff\"", 1, flagDirty | flagRepaired, stOK, "\ufffd"}, {`\ud83d\ude00"`, 12, flagDirty, stOK, "😀"}, {`\ud83d"`, 6, flagDirty | flagRepaired, stOK, "\ufffd"},
		{`\u00"`, 4, flagDirty | flagRepaired, stOK, `\u00`}, {`\q"`, 2, flagDirty | flagRepaired, stOK, `\q`}, {"\x7f\"", 1, 0, stOK, "\x7f"},
		{`abc`, 3, 0, stMore, ""}, {`abcdefgh`, 8, 0, stMore, ""}, {`a\`, 1, 0, stMore, ""}, {`\u12`, 0, 0, stMore, ""}, {"\xe4\xb8", 0, 0, stMore, ""},
	} {
		for _, lead := range []string{"", "1", "1234567", "12345678", "123456789abcdef"} { // at every place of a word
			for _, behind := range []byte{0, '"', '\\', 0xff} {
				b, w := padded(lead+x.raw, behind)
				end, fl, st := scanString(b, 0, w)
				if st != x.st || st == stOK && (end != len(lead)+x.end || fl != x.fl) {
					t.Errorf("scanString(%q) = %d, %d, %d, want %d, %d, %d", lead+x.raw, end, fl, st, len(lead)+x.end, x.fl, x.st)
				}
				if st == stOK {
					if got := string(decodeString(b[:end])); got != lead+x.want {
						t.Errorf("%q reads %q, want %q", lead+x.raw, got, lead+x.want)
					}
				}
			}
		}
	}
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "abc", "a\"b", `\`, "é你😀", "\x00\x01\x1f", "\u2028", "\xff\xc0", "a\tb\nc", `\u0041`, "12345678\"", "\U0010ffff", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		valid, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(valid, &want); err != nil {
			t.Fatal(err)
		}
		b, w := padded(string(valid), '"')
		end, fl, st := scanString(b, 1, w)
		if st != stOK || end != len(valid)-1 || fl&flagRepaired != 0 {
			t.Fatalf("valid %s: end %d, flags %d, status %d", valid, end, fl, st)
		}
		n := newNames(1<<10, 1<<20)
		if got := n.str(n.raw(b[1:end], fl)); got != want {
			t.Fatalf("%s reads %q, want %q", valid, got, want)
		}
		// What we write, others read.
		var back string
		if err := json.Unmarshal(appendQuoted(nil, s), &back); err != nil || back != want {
			t.Fatalf("%q written as %s, read as %q: %v", s, appendQuoted(nil, s), back, err)
		}
		// The same bytes raw between quotes: nothing fails, and the end is that of a string.
		b, w = padded(s+`"`, 0)
		if end, _, st = scanString(b, 0, w); st == stOK && b[end] != '"' {
			t.Fatalf("%q ends at %d, no quote", s, end)
		}
		if strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 && (st != stOK || end != len(s)) {
			t.Fatalf("%q ends at %d with status %d, want %d", s, end, st, len(s))
		}
	})
}
