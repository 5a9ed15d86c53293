package foreign

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// entry is one series of an engine in one scrape.
type entry struct {
	series    *Series
	increase  float64
	increased bool // increase is known
	used      bool // a rule has read it, so that it needs no place under its own name
}

// view is one engine in one scrape.
type view struct {
	kind, engine string
	label        string  // of the engine in its series
	seconds      float64 // since the scrape before
	fresh        bool    // there is none before, or the server began anew: no increases
	byName       map[string][]*entry
	order        []*entry
	absent       map[string]bool // keys of rules that gave nothing
}

// add puts an entry under its own part of the name: without prefix, and without the _total
// of a counter.
func (v *view) add(e *entry) {
	name, _ := cutPrefix(e.series.Name)
	if e.series.Type == CounterType {
		name = strings.TrimSuffix(name, "_total")
	}
	v.byName[name] = append(v.byName[name], e)
	v.order = append(v.order, e)
}

// rates says whether increases of this scrape mean something.
func (v *view) rates() bool { return !v.fresh && v.seconds >= 0.001 }

// named returns the entries under the first of the names that has any; where says which.
func (v *view) named(names []string, where func(*Series) bool) []*entry {
	for _, n := range names {
		var found []*entry
		for _, e := range v.byName[n] {
			if where == nil || where(e.series) {
				found = append(found, e)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// read applies the rules: of several for one key the first that gives a value. What no rule
// has read is kept under its own name.
func (v *view) read(rules []rule, known map[string]bool) (r Reading, unknown []string, cut int) {
	r = Reading{Engine: v.engine, Section: ledger.Scraped, Step: -1}
	v.absent = map[string]bool{}
	done := map[string]bool{}
	for _, rule := range rules {
		if done[rule.key] {
			continue
		}
		values := rule.read(v, rule.key)
		values = slices.DeleteFunc(values, func(x ledger.Value) bool { return math.IsNaN(x.V) || math.IsInf(x.V, 0) })
		if len(values) > 0 {
			done[rule.key] = true
			delete(v.absent, rule.key)
			r.Values = append(r.Values, values...)
		} else if !done[rule.key] && !v.has(rule) {
			v.absent[rule.key] = true
		}
	}
	// A key is not absent while one of its rules finds its series, though idle.
	for _, rule := range rules {
		if v.has(rule) {
			delete(v.absent, rule.key)
		}
	}
	own, unknown, cut := v.unknown(known)
	r.Values = append(r.Values, own...)
	return r, unknown, cut
}

// has says whether the series that a rule reads are there, whatever they say.
func (v *view) has(r rule) bool {
	for _, n := range r.needs {
		if len(v.byName[n]) > 0 {
			return true
		}
	}
	return false
}

// constantLabels tell nothing apart within one engine.
var constantLabels = []string{"model_name", "engine", "engine_type", "tp_rank", "pp_rank", "moe_ep_rank"}

// unknown gives the values that no rule has used up, the engine's own first, and the names
// of families that have no rule at all. Counters become increases per second, parts of histograms increases.
func (v *view) unknown(known map[string]bool) (values []ledger.Value, names []string, cut int) {
	type kept struct {
		key, label string
		engine     bool
		value      float64
	}
	var all []kept
	index := map[[2]string]int{}
	for _, e := range v.order {
		x := e.series
		if e.used || strings.HasSuffix(x.Name, "_created") || strings.HasSuffix(x.Name, "_info") || x.Name == "process_start_time_seconds" {
			continue
		}
		_, kind := cutPrefix(x.Name)
		if kind != "" && !defined(known, x) {
			names = append(names, x.Family)
		}
		value := x.Value
		if counts(x) {
			if !v.rates() || !e.increased {
				continue
			}
			value = e.increase
			if x.Type == CounterType {
				value /= v.seconds
			}
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		label := restLabel(x.Labels)
		if len(label) > maxLabelBytes {
			cut++
			continue
		}
		at := [2]string{x.Name, label}
		if i, ok := index[at]; ok { // apart only by a constant label
			all[i].value += value
			continue
		}
		index[at] = len(all)
		all = append(all, kept{x.Name, label, kind == v.kind, value})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].engine && !all[j].engine })
	if len(all) > maxUnknown {
		cut += len(all) - maxUnknown
		all = all[:maxUnknown]
	}
	for _, k := range all {
		if _, taken := ledger.Lookup(k.key); taken {
			k.key = "series:" + k.key // a stranger's name must not pass for a metric of the table
		}
		values = append(values, ledger.Value{Key: k.key, Label: k.label, V: k.value})
	}
	return values, names, cut
}

// needed are the names that any rule reads.
func needed(rules []rule) map[string]bool {
	names := map[string]bool{}
	for _, r := range rules {
		for _, n := range r.needs {
			names[n] = true
		}
	}
	return names
}

// defined says whether a series' family is one that a rule reads: what is kept of it beside
// has a definition all the same.
func defined(known map[string]bool, x *Series) bool {
	name, _ := cutPrefix(x.Family)
	return known[name] || known[strings.TrimSuffix(name, "_total")] || known[name+ledger.CountSuffix]
}

// restLabel writes the labels that are not constant as "k=v,k2=v2".
func restLabel(labels []Label) string {
	var b strings.Builder
	for _, l := range labels {
		if slices.Contains(constantLabels, l.Name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.Name + "=" + l.Value)
	}
	return b.String()
}
