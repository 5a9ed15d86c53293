package ledger

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// layoutKeys are all metrics that the writer and the parser know.
func layoutKeys() []string {
	var keys []string
	for _, layout := range [][]slot{statsLayout, ncclLayout} {
		for _, s := range layout {
			for _, p := range s.parts {
				keys = append(keys, p.key)
			}
		}
	}
	keys = append(keys, ncclGroup.key)
	for _, section := range []Section{CPU, CUDA} {
		k := timerKeys[section]
		keys = append(keys, k[:]...)
	}
	return keys
}

// No metric without a definition, no definition without a metric, in the writer, the
// parser and the ledger.
func TestTableCoversLines(t *testing.T) {
	var table []string
	for _, m := range Metrics() {
		table = append(table, m.Key)
	}
	keys := layoutKeys()
	slices.Sort(keys)
	slices.Sort(table)
	if !slices.Equal(keys, table) {
		t.Errorf("layout has\n%v\ntable has\n%v", keys, table)
	}
	if len(slices.Compact(slices.Clone(table))) != len(Metrics()) {
		t.Error("a key stands in the table twice")
	}

	// Whatever a ledger logs is in the table; together with the NCCL sample it is all of it.
	l := newLedger(t, config())
	add(t, l, 0, 0, Step{})
	l.CPU.Add("a", 1)
	l.CUDA.Add("a", 1)
	lines := l.Log(at(0), &State{})
	nccl, _ := NewNCCLMemory(0, 0, 1).Sample(10, []NCCLGroup{{"dp", 1}}, nil)
	logged := map[string]bool{}
	for _, line := range append(lines, nccl) {
		for _, v := range line.Values {
			m, ok := Lookup(v.Key)
			if !ok || m.Section != line.Section {
				t.Errorf("%s in [%s] has definition %v of [%s]", v.Key, line.Section, ok, m.Section)
			}
			if (m.Label.EN != "") != (v.Label != "") {
				t.Errorf("%s has label %q, but the table says %q", v.Key, v.Label, m.Label.EN)
			}
			logged[v.Key] = true
		}
	}
	for _, key := range table {
		if !logged[key] {
			t.Errorf("%s is never logged", key)
		}
	}
}

// The table decides each question, in both languages.
func TestTableIsComplete(t *testing.T) {
	han := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	for _, m := range Metrics() {
		words := reflect.ValueOf(m)
		for i := range words.NumField() {
			w, ok := words.Field(i).Interface().(Words)
			if !ok {
				continue
			}
			field := words.Type().Field(i).Name
			optional := field == "Denominator" || field == "Label"
			if (w.EN == "") != (w.ZH == "") || w.EN == "" && !optional {
				t.Errorf("%s: %s is %+v", m.Key, field, w)
			}
			if han(w.EN) || w.ZH != "" && !han(w.ZH) {
				t.Errorf("%s: %s has its languages mixed up: %+v", m.Key, field, w)
			}
		}
		if !slices.Contains([]Group{Throughput, Speculation, Load, Caches, Latency, Compute, MoE, TimersGroup, Network}, m.Group) {
			t.Errorf("%s: group %q", m.Key, m.Group)
		}
		if !slices.Contains([]Op{Sum, WeightedMean, Max, Min, Apart}, m.Aggregate.Op) {
			t.Errorf("%s: aggregation %q", m.Key, m.Aggregate.Op)
		}
		if by := m.Aggregate.By; by != "" {
			if w, ok := Lookup(by); !ok || w.Aggregate.Op != Sum || m.Aggregate.Op != WeightedMean || w.Section != m.Section {
				t.Errorf("%s: weight %q", m.Key, by)
			}
		}
		if m.Unit == "" || m.Better == "" || m.Kind == "" || m.Steps == "" || m.Section == "" {
			t.Errorf("%s: something is undecided: %+v", m.Key, m)
		}
		if m.Kind == Counter && m.Aggregate.Op != Sum {
			t.Errorf("%s: a counter that is not summed", m.Key)
		}
		// A mean or a share has a denominator that a reader may ask for.
		if (m.Unit == Share || m.Aggregate.Op == WeightedMean) && m.Denominator.EN == "" {
			t.Errorf("%s has no denominator", m.Key)
		}
		// Units are understood as the layout writes them.
		if x := (scalar{v: 1, digits: "1", unit: string(m.Unit)}); scales[m.Unit] != nil && m.Unit != Flag {
			if got, ok := x.in(m.Unit); !ok && m.Unit != Sequences && m.Unit != Requests || ok && got != 1 {
				t.Errorf("%s: unit %q is not understood", m.Key, m.Unit)
			}
		}
	}
}

// What the contract says about single metrics.
func TestTableFacts(t *testing.T) {
	get := func(key string) Metric {
		m, ok := Lookup(key)
		if !ok {
			t.Fatalf("no %s", key)
		}
		return m
	}
	for _, m := range Metrics() {
		if want := m.Key == "MFU" || m.Key == "attn_TFLOPs"; m.Estimate != want {
			t.Errorf("%s: estimate is %v", m.Key, m.Estimate)
		}
		if want := m.Key == "finished" || m.Key == "preempted" || m.Key == "aborted"; (m.Kind == Counter) != want {
			t.Errorf("%s: kind is %s", m.Key, m.Kind)
		}
	}
	if get("batch_usage").Steps != SameKind || get("completion_TPS").Steps != AnySteps {
		t.Error("which steps may be compared")
	}
	if get("TTFT_max").Aggregate.Op != Max || !get("TTFT_mean").ZeroIsAbsent {
		t.Error("TTFT")
	}
	if _, ok := Lookup("no such metric"); ok {
		t.Error("found a metric that isn't there")
	}
	// Callers get a copy.
	Metrics()[0].Key = "changed"
	if Metrics()[0].Key == "changed" {
		t.Error("the table can be changed")
	}
}
