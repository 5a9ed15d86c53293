package foreign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Type is what a series' TYPE line says.
type Type uint8

// The types. A histogram's and a summary's parts all have the type of their family.
const (
	Untyped Type = iota
	GaugeType
	CounterType
	HistogramType
	SummaryType
)

// Label is one label of a series.
type Label struct{ Name, Value string }

// Series is one number of a Prometheus text.
type Series struct {
	Name   string // as written: with _bucket, _sum, _count, _total
	Family string // the name of the TYPE line; a histogram's without the suffix
	Type   Type
	Labels []Label // sorted by name; a bucket's bound is the label "le"
	Value  float64
}

// Label returns the value of a label, "" without.
func (s *Series) Label(name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// id tells a series from all others of one text.
func (s *Series) id() string {
	var b strings.Builder
	b.WriteString(s.Name)
	for _, l := range s.Labels {
		b.WriteByte(0)
		b.WriteString(l.Name)
		b.WriteByte(1)
		b.WriteString(l.Value)
	}
	return b.String()
}

// Text is what was read of a Prometheus text.
type Text struct {
	Series     []Series // sorted by name and labels, distinct
	BadLines   int      // lines that could not be read
	Near       string   // why, of the first of them
	Duplicates int      // series that stood there twice; the first was kept
	Cut        int      // series beyond the limits
	Partial    bool     // lines after the last readable one were given up
}

// ParseText reads Prometheus' text format. Lines that cannot be read are left out and
// counted; it never fails as a whole.
func ParseText(body []byte) Text {
	var out Text
	text := bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text[:len(text):len(text)], '\n')
	}
	var families map[string]*dto.MetricFamily
	for {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		var err error
		families, err = parser.TextToMetricFamilies(bytes.NewReader(text))
		var bad expfmt.ParseError
		if err == nil {
			break
		}
		if out.Near == "" {
			out.Near = err.Error()
		}
		out.BadLines++
		if !errors.As(err, &bad) || out.BadLines > maxBadLines || out.BadLines*len(text) > maxReparsed {
			out.Partial = true
			break
		}
		rest, ok := blankLine(text, bad.Line)
		if !ok {
			out.Partial = true
			break
		}
		text = rest
	}
	for _, f := range families {
		out.family(f)
	}
	slices.SortStableFunc(out.Series, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.CompareFunc(a.Labels, b.Labels, func(x, y Label) int {
			return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Value, y.Value))
		}))
	})
	all := len(out.Series)
	out.Series = slices.CompactFunc(out.Series, func(a, b Series) bool {
		return a.Name == b.Name && slices.Equal(a.Labels, b.Labels)
	})
	out.Duplicates = all - len(out.Series)
	return out
}

// blankLine makes the n-th line (from 1) a copy without that line's text, so that the
// numbers of the others stay.
func blankLine(text []byte, n int) ([]byte, bool) {
	start := 0
	for ; n > 1; n-- {
		i := bytes.IndexByte(text[start:], '\n')
		if i < 0 {
			return nil, false
		}
		start += i + 1
	}
	end := bytes.IndexByte(text[start:], '\n')
	if end < 0 || end == 0 {
		return nil, false // nothing to take away: the parser would stop here again
	}
	return slices.Concat(text[:start], text[start+end:]), true
}

func (t *Text) family(f *dto.MetricFamily) {
	name := clean(f.GetName())
	for _, m := range f.GetMetric() {
		labels, ok := cleanLabels(m.GetLabel())
		if !ok {
			t.Cut++
			continue
		}
		add := func(suffix string, typ Type, v float64, extra ...Label) {
			if len(t.Series) >= maxSeries {
				t.Cut++
				return
			}
			l := labels
			if len(extra) > 0 {
				l = append(slices.Clone(labels), extra...)
				slices.SortStableFunc(l, byName)
			}
			t.Series = append(t.Series, Series{name + suffix, name, typ, l, v})
		}
		switch {
		case m.Histogram != nil:
			h := m.GetHistogram()
			for _, b := range h.GetBucket() {
				add("_bucket", HistogramType, or(b.CumulativeCountFloat, b.GetCumulativeCount()), Label{"le", Bound(b.GetUpperBound())})
			}
			add("_sum", HistogramType, h.GetSampleSum())
			add("_count", HistogramType, or(h.SampleCountFloat, h.GetSampleCount()))
		case m.Summary != nil:
			s := m.GetSummary()
			for _, q := range s.GetQuantile() {
				add("", SummaryType, q.GetValue(), Label{"quantile", Bound(q.GetQuantile())})
			}
			add("_sum", SummaryType, s.GetSampleSum())
			add("_count", SummaryType, float64(s.GetSampleCount()))
		case m.Counter != nil:
			add("", CounterType, m.GetCounter().GetValue())
		case m.Gauge != nil:
			add("", GaugeType, m.GetGauge().GetValue())
		case m.Untyped != nil:
			t.untyped(name, labels, m.GetUntyped().GetValue())
		}
	}
}

// untyped guesses the type from the name, for texts without TYPE lines, or with those of
// OpenMetrics, which name a counter without its _total.
func (t *Text) untyped(name string, labels []Label, v float64) {
	if len(t.Series) >= maxSeries {
		t.Cut++
		return
	}
	s := Series{name, name, Untyped, labels, v}
	if base, ok := strings.CutSuffix(name, "_bucket"); ok {
		if le, err := strconv.ParseFloat(s.Label("le"), 64); err == nil {
			s.Family, s.Type = base, HistogramType
			s.Labels = slices.Clone(labels)
			for i := range s.Labels {
				if s.Labels[i].Name == "le" {
					s.Labels[i].Value = Bound(le)
				}
			}
		}
	} else if strings.HasSuffix(name, "_total") {
		s.Type = CounterType
	} else if base, ok := strings.CutSuffix(name, "_sum"); ok {
		s.Family, s.Type = base, HistogramType
	} else if base, ok := strings.CutSuffix(name, "_count"); ok {
		s.Family, s.Type = base, HistogramType
	}
	t.Series = append(t.Series, s)
}

func or(f *float64, n uint64) float64 {
	if f != nil {
		return *f
	}
	return float64(n)
}

// Bound writes a bucket's upper bound in the shortest way that reads back the same.
func Bound(le float64) string {
	if math.IsInf(le, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(le, 'g', -1, 64)
}

func byName(a, b Label) int { return cmp.Compare(a.Name, b.Name) }

func cleanLabels(pairs []*dto.LabelPair) ([]Label, bool) {
	if len(pairs) > maxLabels {
		return nil, false
	}
	labels := make([]Label, 0, len(pairs))
	for _, p := range pairs {
		labels = append(labels, Label{clean(p.GetName()), clean(p.GetValue())})
	}
	slices.SortStableFunc(labels, byName)
	return labels, true
}

// clean bounds a name and takes control characters out of it.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxNameBytes {
		s = strings.ToValidUTF8(s[:maxNameBytes], "")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return '_'
			}
			return r
		}, s)
	}
	return s
}

// problem is the reader's remark on a text, "" when all of it was read.
func (t *Text) problem() string {
	switch {
	case t.Partial:
		return fmt.Sprintf("the text was given up after %d unreadable lines (%s)", t.BadLines, t.Near)
	case t.BadLines > 0:
		return fmt.Sprintf("%d lines could not be read (%s)", t.BadLines, t.Near)
	case t.Cut > 0:
		return fmt.Sprintf("%d series beyond the limit of %d were left out", t.Cut, maxSeries)
	case t.Duplicates > 0:
		return fmt.Sprintf("%d series stand in the text twice", t.Duplicates)
	}
	return ""
}
