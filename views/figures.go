package views

import (
	"math"
	"strconv"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/views/i18n"
)

// Figure is one number of a metric as a page shows it. A NaN value is absent, for the reason Why.
type Figure struct {
	Metric ledger.Metric
	Value  float64
	N, Of  int    // engines that the value comes from, of how many; 0 where it is one engine's own
	Why    Reason // of an absent value
}

// Reason is a sentence of the catalogue with what it is about. Args are untrusted texts;
// one that is about another has it as its first or its last argument.
type Reason struct {
	Key   string
	Args  []string
	ZH    []string // the arguments in Chinese, where those of Args are English
	First *Reason  // goes before the arguments
	Inner *Reason
	Words ledger.Words // the whole sentence, instead of Key
	About string       // the key of the metric whose definition is behind the sentence, if any
}

// says prints a reason in the page's language.
func (p Page) says(r Reason) string {
	if r.Words.EN != "" {
		return harmless(Words(p.Lang, r.Words))
	}
	var args []string
	if r.First != nil {
		args = append(args, p.says(*r.First))
	}
	own := r.Args
	if p.Lang == i18n.Chinese && len(r.ZH) == len(own) {
		own = r.ZH
	}
	for _, a := range own {
		args = append(args, harmless(a))
	}
	if r.Inner != nil {
		args = append(args, p.says(*r.Inner))
	}
	return p.t(r.Key, args...)
}

// Sig3 prints x with three significant figures but never more than three decimals, thousands
// grouped: the same as the scripts' sig3. What is not zero but would print as zero is "<0.001".
func Sig3(x float64) string {
	a := math.Abs(x)
	sign := ""
	if x < 0 {
		sign = "−"
	}
	switch {
	case math.IsNaN(x):
		return "–"
	case math.IsInf(x, 0):
		return sign + "∞"
	case a == 0:
		return "0"
	case a < 0.0005 && x < 0:
		return ">−0.001"
	case a < 0.0005:
		return "<0.001"
	case a >= 1e15:
		return sign + strconv.FormatFloat(a, 'e', 2, 64)
	case a >= 99.95:
		return sign + grouped(strconv.FormatFloat(a, 'f', 0, 64))
	case a >= 9.995:
		return sign + strconv.FormatFloat(a, 'f', 1, 64)
	case a >= 0.9995:
		return sign + strconv.FormatFloat(a, 'f', 2, 64)
	}
	return sign + strconv.FormatFloat(a, 'f', 3, 64)
}

// Scale is what a value of the unit is multiplied by to be shown: shares are shown as percentages.
func Scale(u ledger.Unit) float64 {
	if u == ledger.Share {
		return 100
	}
	return 1
}

// QuantileScale is what a histogram's bounds are multiplied by to be shown: times
// are told in ms, as the means beside them.
func QuantileScale(m ledger.Metric) float64 {
	if m.Unit == ledger.Seconds {
		return 1000
	}
	return Scale(m.Unit)
}

// charted is a metric with the unit that its chart has: quantiles of times are in ms.
func charted(m ledger.Metric) ledger.Metric {
	if m.Kind == ledger.Histogram && m.Unit == ledger.Seconds {
		m.Unit = ledger.Milliseconds
	}
	return m
}

// UnitName is how the pages write a unit.
func UnitName(l i18n.Lang, u ledger.Unit) string {
	return harmless(Words(l, u.Words()))
}

// Words picks a text of the metric table in the page's language.
func Words(l i18n.Lang, w ledger.Words) string {
	if l == i18n.Chinese {
		return w.ZH
	}
	return w.EN
}

// text is the number without its unit, or a dash.
func (f Figure) text(p Page) string {
	if f.absent() {
		return p.t("common.none")
	}
	return Number(f.Metric.Unit, f.Value)
}

// Number prints a value as it is shown beside its unit: shares in percent, whole
// numbers of things whole, and all others with three significant figures.
func Number(u ledger.Unit, v float64) string {
	v *= Scale(u)
	switch u {
	case ledger.Sequences, ledger.Requests, ledger.Preemptions, ledger.Calls, ledger.Communicators, ledger.Tokens:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			sign := ""
			if v < 0 {
				sign = "−"
			}
			return sign + grouped(strconv.FormatFloat(math.Abs(v), 'f', 0, 64))
		}
	}
	return Sig3(v)
}

// shortName is what a metric is called where there is little room.
func shortName(p Page, m ledger.Metric) string {
	if key := "short." + m.Key; i18n.Has(key) {
		return p.t(key)
	}
	return Words(p.Lang, m.Name)
}

// unitOf is a metric's unit with the mark of an estimate.
func unitOf(p Page, m ledger.Metric) string {
	if m.Estimate {
		return p.t("figure.estimate", UnitName(p.Lang, m.Unit))
	}
	return UnitName(p.Lang, m.Unit)
}

// title says the exact value, where it comes from and what it means.
func (f Figure) title(p Page) string {
	if math.IsNaN(f.Value) {
		if f.Why.Key == "" && f.Why.Words.EN == "" {
			return p.t("figure.absent")
		}
		return p.says(f.Why)
	}
	s := Words(p.Lang, f.Metric.Name) + ": " + strconv.FormatFloat(f.Value*Scale(f.Metric.Unit), 'g', -1, 64) + " " + UnitName(p.Lang, f.Metric.Unit)
	if f.Of > 0 {
		s += " · " + p.t("figure.of", ruleName(p, f.Metric), strconv.Itoa(f.N), strconv.Itoa(f.Of))
	}
	return s
}

// ruleName says how the values of several engines become one.
func ruleName(p Page, m ledger.Metric) string {
	if m.Kind == ledger.Histogram {
		return p.t("rule.buckets")
	}
	if m.Aggregate.Op == ledger.WeightedMean && m.Aggregate.By != "" {
		by, ok := ledger.Lookup(m.Aggregate.By)
		name := m.Aggregate.By
		if ok {
			name = Words(p.Lang, by.Name)
		}
		return p.t("rule.mean_by", name)
	}
	return p.t("rule." + string(m.Aggregate.Op))
}

func (f Figure) absent() bool { return math.IsNaN(f.Value) }

// absentClass sets an absent figure back.
func (f Figure) absentClass() string {
	if math.IsNaN(f.Value) {
		return "num absent"
	}
	return "num"
}

// groupName is what a group of metrics is called; the empty group has those the table doesn't know.
func groupName(p Page, g ledger.Group) string {
	if g == "" {
		return p.t("group.other")
	}
	return p.t("group." + string(g))
}

// known says whether the metric table defines a metric.
func known(m ledger.Metric) bool {
	_, ok := ledger.Lookup(m.Key)
	return ok
}

// viewOf names the two ways to draw many engines.
func viewOf(joined bool) string {
	if joined {
		return "joined"
	}
	return "engines"
}
