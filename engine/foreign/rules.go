package foreign

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
)

// rule makes the values of one key of the table from series.
type rule struct {
	key   string
	needs []string // series, any of which makes the metric exist, by their own part of the name
	read  func(v *view, key string) []ledger.Value
}

// rulesOf are the rules of a kind in the order of trying.
func rulesOf(kind string) []rule {
	switch kind {
	case VLLM:
		return vllmRules
	case SGLang:
		return sglangRules
	case TensorRTLLM:
		return trtllmRules
	}
	return nil
}

// from names series, the newest name first; where keeps some of them, nil all.
type from struct {
	names []string
	where func(*Series) bool
}

func series(names ...string) from { return from{names: names} }

// only keeps series whose label has one of the values.
func (f from) only(label string, values ...string) from {
	f.where = func(s *Series) bool { return slices.Contains(values, s.Label(label)) }
	return f
}

// except drops series whose label has one of the values.
func (f from) except(label string, values ...string) from {
	f.where = func(s *Series) bool { return !slices.Contains(values, s.Label(label)) }
	return f
}

// part names a part of a histogram or summary.
func (f from) part(suffix string) from {
	names := make([]string, len(f.names))
	for i, n := range f.names {
		names[i] = n + suffix
	}
	return from{names, f.where}
}

// of finds the entries; those that only grow if growing, else the others. Untyped ones
// may be either.
func (f from) of(v *view, growing bool) []*entry {
	return slices.DeleteFunc(v.named(f.names, f.where), func(e *entry) bool {
		return e.series.Type != Untyped && counts(e.series) != growing
	})
}

// increase sums what the counters grew by; false when one of them is not known, or there
// are none.
func (f from) increase(v *view) (sum float64, ok bool) {
	if !v.rates() {
		return 0, false
	}
	for _, e := range f.of(v, true) {
		if !e.increased {
			return 0, false
		}
		sum, ok = sum+e.increase, true
	}
	return sum, ok
}

// use marks the series as read, so that they need no place under their own names.
func (f from) use(v *view) {
	for _, e := range v.named(f.names, f.where) {
		e.used = true
	}
}

// one is a single value, nothing when it isn't known.
func one(key, label string, v float64, ok bool) []ledger.Value {
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return []ledger.Value{{Key: key, Label: label, V: v}}
}

// combined makes one value of what several ranks or priorities say, by the metric's own
// rule. Those that are not a number don't count.
func combined(key string, entries []*entry, scale float64) (float64, bool) {
	op := ledger.Sum
	if m, ok := ledger.Lookup(key); ok {
		op = m.Aggregate.Op
	}
	n, acc := 0, 0.0
	for _, e := range entries {
		x := e.series.Value
		switch {
		case math.IsNaN(x):
			continue
		case n == 0:
			acc = x
		case op == ledger.Max:
			acc = max(acc, x)
		case op == ledger.Min:
			acc = min(acc, x)
		case op != ledger.Apart:
			acc += x
		}
		n++
	}
	if op == ledger.WeightedMean && n > 0 {
		acc /= float64(n)
	}
	return acc * scale, n > 0
}

// gauge reads a gauge as it is.
func gauge(key string, scale float64, f from) rule {
	return rule{key, f.names, func(v *view, key string) []ledger.Value {
		f.use(v)
		x, ok := combined(key, f.of(v, false), scale)
		return one(key, "", x, ok)
	}}
}

// gaugeBy reads a gauge for each value of a label.
func gaugeBy(key string, scale float64, label string, f from) rule {
	return rule{key, f.names, func(v *view, key string) []ledger.Value {
		f.use(v)
		var out []ledger.Value
		for _, g := range grouped(f.of(v, false), label) {
			x, ok := combined(key, g.entries, scale)
			out = append(out, one(key, g.label, x, ok)...)
		}
		return out
	}}
}

// labelled is one of several sources that make the series of one key.
type labelled struct {
	label string
	f     from
}

// gauges reads several gauges under one key.
func gauges(key string, scale float64, parts ...labelled) rule {
	return rule{key, needs(parts), func(v *view, key string) []ledger.Value {
		var out []ledger.Value
		for _, p := range parts {
			p.f.use(v)
			x, ok := combined(key, p.f.of(v, false), scale)
			out = append(out, one(key, p.label, x, ok)...)
		}
		return out
	}}
}

func needs(parts []labelled) []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.f.names...)
	}
	return names
}

// rate is the increase of counters per second.
func rate(key string, scale float64, f from) rule { return rates(key, scale, labelled{"", f}) }

// rates is the same for several series of one key.
func rates(key string, scale float64, parts ...labelled) rule {
	return rule{key, needs(parts), func(v *view, key string) []ledger.Value {
		var out []ledger.Value
		for _, p := range parts {
			p.f.use(v)
			x, ok := p.f.increase(v)
			if ok {
				out = append(out, one(key, p.label, x/v.seconds*scale, ok)...)
			}
		}
		return out
	}}
}

// rateEach is the increase per second of one GPU, of which each rank tells its own: their mean.
func rateEach(key string, scale float64, f from) rule {
	return rule{key, f.names, func(v *view, key string) []ledger.Value {
		f.use(v)
		x, ok := f.increase(v)
		n := float64(len(f.of(v, true)))
		return one(key, "", x/n/v.seconds*scale, ok)
	}}
}

// total is the sum of counters as they stand, for keys that are counters in the table.
func total(key string, f from) rule {
	return rule{key, f.names, func(v *view, key string) []ledger.Value {
		f.use(v)
		x, ok := combined(key, f.of(v, true), 1)
		return one(key, "", x, ok)
	}}
}

// ratio divides increases, and adds plus. It leaves its counters under their own names,
// since a ratio cannot be taken apart again.
func ratio(key string, plus float64, num, den from) rule {
	return ratios(key, plus, fraction{"", num, den})
}

// fraction is one of several ratios of one key.
type fraction struct {
	label    string
	num, den from
}

func ratios(key string, plus float64, parts ...fraction) rule {
	var names []string
	for _, p := range parts {
		names = append(append(names, p.den.names...), p.num.names...)
	}
	return rule{key, names, func(v *view, key string) []ledger.Value {
		var out []ledger.Value
		for _, p := range parts {
			num, ok := p.num.increase(v)
			den, ok2 := p.den.increase(v)
			if ok && ok2 && den > 0 {
				out = append(out, one(key, p.label, plus+num/den, true)...)
			}
		}
		return out
	}}
}

// mean is Δsum ÷ Δcount of a histogram or summary.
func mean(key string, scale float64, f from) rule {
	sum, count := f.part(ledger.SumSuffix), f.part(ledger.CountSuffix)
	return rule{key, count.names, func(v *view, key string) []ledger.Value {
		s, ok := sum.increase(v)
		n, ok2 := count.increase(v)
		return one(key, "", s/n*scale, ok && ok2 && n > 0)
	}}
}

// meanBy is the same for each value of a label.
func meanBy(key string, label string, f from) rule {
	sum, count := f.part(ledger.SumSuffix), f.part(ledger.CountSuffix)
	return rule{key, count.names, func(v *view, key string) []ledger.Value {
		if !v.rates() {
			return nil
		}
		sum.use(v)
		count.use(v)
		sums := grouped(sum.of(v, true), label)
		var out []ledger.Value
		for _, g := range grouped(count.of(v, true), label) {
			n, ok := added(g.entries)
			i := slices.IndexFunc(sums, func(s group) bool { return s.label == g.label })
			if i < 0 || !ok || n <= 0 {
				continue
			}
			s, ok := added(sums[i].entries)
			out = append(out, one(key, g.label, s/n, ok)...)
		}
		return out
	}}
}

// added sums increases.
func added(entries []*entry) (sum float64, ok bool) {
	for _, e := range entries {
		if !e.increased {
			return 0, false
		}
		sum += e.increase
	}
	return sum, len(entries) > 0
}

// histogram keeps a histogram's increases: its count and sum always, its buckets when
// something was counted.
func histogram(key string, f from) rule {
	buckets, sum, count := f.part(ledger.BucketSuffix), f.part(ledger.SumSuffix), f.part(ledger.CountSuffix)
	return rule{key, count.names, func(v *view, key string) []ledger.Value {
		buckets.use(v)
		sum.use(v)
		count.use(v)
		n, ok := count.increase(v)
		if !ok {
			return nil
		}
		out := []ledger.Value{{Key: key + ledger.CountSuffix, V: n}}
		if s, ok := sum.increase(v); ok {
			out = append(out, ledger.Value{Key: key + ledger.SumSuffix, V: s})
		}
		if n == 0 {
			return out
		}
		for _, g := range grouped(buckets.of(v, true), "le") {
			if n, ok := added(g.entries); ok {
				out = append(out, ledger.Value{Key: key + ledger.BucketSuffix, Label: "le=" + g.label, V: n})
			}
		}
		return out
	}}
}

// group is the entries that have one value of a label.
type group struct {
	label   string
	entries []*entry
}

// grouped splits entries by a label, ordered as numbers where they are some.
func grouped(entries []*entry, label string) []group {
	var out []group
	for _, e := range entries {
		l := e.series.Label(label)
		i := slices.IndexFunc(out, func(g group) bool { return g.label == l })
		if i < 0 {
			i = len(out)
			out = append(out, group{label: l})
		}
		out[i].entries = append(out[i].entries, e)
	}
	slices.SortFunc(out, func(a, b group) int {
		x, isX := ParseBound("le=" + a.label)
		y, isY := ParseBound("le=" + b.label)
		if isX && isY {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a.label, b.label)
	})
	return out
}

// latency is the rules of a latency: its histogram and the mean of each reading in ms.
func latency(key string, f from) []rule {
	return []rule{histogram(key, f), mean(key+"_avg", 1000, f)}
}

// quotient divides two other means, of which each may come from several sources.
func quotient(key string, num, den []rule) rule {
	return rule{key, den[0].needs, func(v *view, key string) []ledger.Value {
		first := func(rules []rule) (float64, bool) {
			for _, r := range rules {
				if x := r.read(v, r.key); len(x) > 0 {
					return x[0].V, true
				}
			}
			return 0, false
		}
		a, ok := first(num)
		b, ok2 := first(den)
		return one(key, "", a/b, ok && ok2 && b > 0)
	}}
}

// ratioOfSum is a ÷ (a + b) of increases.
func ratioOfSum(key string, a, b from) rule {
	return rule{key, a.names, func(v *view, key string) []ledger.Value {
		x, ok := a.increase(v)
		y, ok2 := b.increase(v)
		return one(key, "", x/(x+y), ok && ok2 && x+y > 0)
	}}
}

// InMetrics says whether a kind of engine has a metric in its Prometheus text in at least
// one version or setting.
func InMetrics(kind, key string) bool {
	if base := baseKey(key); base != "" {
		key = base
	}
	return slices.ContainsFunc(rulesOf(kind), func(r rule) bool { return r.key == key })
}
