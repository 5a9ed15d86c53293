package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Figure writes a value in a row's unit for people: three significant figures, shares
// as percentages, "–" for what is no number.
func Figure(v float64, unit string) string { return figureIn(v, unit, "en") }

// figureIn is Figure in a language, "en" or "zh".
func figureIn(v float64, unit, lang string) string {
	if math.IsNaN(v) {
		return "–"
	}
	base, rest, _ := strings.Cut(unit, "/")
	if unit == string(ledger.Share) || base == string(ledger.Share) && rest != "" {
		return significant(100*v) + " %"
	}
	switch unit {
	case "", string(ledger.Ratio), string(ledger.Flag):
		return significant(v)
	case string(ledger.Milliseconds):
		if math.Abs(v) >= 1e4 && !math.IsInf(v, 0) {
			return significant(v/1000) + " s"
		}
	}
	return significant(v) + " " + in(ledger.Unit(unit).Words(), lang)
}

// significant writes three significant figures, without an exponent up to 10¹⁵ and with
// a real minus sign.
func significant(v float64) string {
	a := math.Abs(v)
	var s string
	switch {
	case math.IsInf(v, 0):
		s = "∞"
	case a == 0:
		return "0"
	case a >= 1e15 || a < 1e-4:
		s = strconv.FormatFloat(a, 'g', 3, 64)
	case a >= 100:
		s = strconv.FormatFloat(a, 'f', 0, 64)
	default:
		digits := 2 - int(math.Floor(math.Log10(a)))
		s = strconv.FormatFloat(a, 'f', digits, 64)
	}
	if v < 0 {
		return "−" + s
	}
	return s
}

// Change writes a difference: relative where that means something, in percentage
// points for shares.
func Change(d *Difference, unit string) string { return ChangeIn(d, unit, "en") }

// ChangeIn is Change in a language, "en" or "zh".
func ChangeIn(d *Difference, unit, lang string) string {
	if unit == string(ledger.Share) {
		return points(d.Value)
	}
	if math.IsNaN(d.Rel) {
		return plus(d.Value) + figureIn(d.Value, unit, lang)
	}
	return percent(d.Rel)
}

func points(v float64) string {
	return plus(v) + significant(100*v) + " pp"
}

func plus(v float64) string {
	if v > 0 {
		return "+"
	}
	return ""
}

// interval writes the interval of a difference that holds for the whole table, relative
// to the level of A where there is one.
func span(d *Difference, base float64, unit string) string { return spanIn(d, base, unit, "en") }

func spanIn(d *Difference, base float64, unit, lang string) string {
	scale, suffix := 1.0, " "+in(ledger.Unit(unit).Words(), lang)
	switch {
	case unit == string(ledger.Share):
		scale, suffix = 100, " pp"
	case base != 0:
		scale, suffix = 100/math.Abs(base), " %"
	}
	return fmt.Sprintf("%s%s … %s%s%s", plus(d.Low), significant(d.Low*scale), plus(d.High), significant(d.High*scale), suffix)
}
