package compare

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/engine/ledger"
)

// seriesID names a series within an engine.
type seriesID struct{ key, label string }

// rowID names a row of a table.
type rowID struct {
	seriesID
	kind StepKind
}

// view is a side with its series by name. Derived series are added to it.
type view struct {
	*Side
	series []map[seriesID]*Series // by engine
}

func newView(s *Side) *view {
	v := &view{Side: s, series: make([]map[seriesID]*Series, len(s.Engines))}
	for i := range s.Engines {
		e := &s.Engines[i]
		m := make(map[seriesID]*Series, len(e.Series))
		for j := range e.Series {
			m[seriesID{e.Series[j].Key, e.Series[j].Label}] = &e.Series[j]
		}
		v.series[i] = m
	}
	return v
}

// has says whether any engine has a series of the metric.
func (v *view) has(key string) bool {
	for _, m := range v.series {
		for id := range m {
			if id.key == key {
				return true
			}
		}
	}
	return false
}

// definition finds a metric: in the ledger's table, or among those computed here.
func definition(key string) (ledger.Metric, bool) {
	if m, ok := derivedMetrics[key]; ok {
		return m, true
	}
	return ledger.Lookup(key)
}

// order lists all metrics that can be rows, in reading order.
func order() []string {
	var keys []string
	for _, m := range ledger.All() {
		for _, d := range derivedOrder {
			if derivedBefore[d] == m.Key {
				keys = append(keys, d)
			}
		}
		keys = append(keys, m.Key)
	}
	return keys
}

// maxLabels bounds the rows of one metric: labels come from logs that anybody may write
// to, and each row costs time and makes all others weaker.
const maxLabels = 64

// rowIDs lists the rows that the sides' series make, in reading order, and how many were
// left out.
func rowIDs(views []*view, wanted []string) (rows []rowID, left int) {
	labels := make(map[string]map[string]int) // in how many columns
	kinds := make(map[string]map[StepKind]bool)
	for _, v := range views {
		seen := make(map[seriesID]bool)
		for _, engine := range v.series {
			for id, s := range engine {
				if labels[id.key] == nil {
					labels[id.key], kinds[id.key] = make(map[string]int), make(map[StepKind]bool)
				}
				if !seen[id] {
					seen[id] = true
					labels[id.key][id.label]++
				}
				for _, k := range kindsOf(s) {
					kinds[id.key][k] = true
				}
			}
		}
	}
	for _, key := range order() {
		m, _ := definition(key)
		if len(wanted) > 0 && !slices.Contains(wanted, key) || labels[key] == nil {
			continue
		}
		of := []StepKind{BothKinds}
		if m.Steps == ledger.SameKind {
			of = slices.Sorted(maps.Keys(kinds[key]))
		}
		names := slices.SortedFunc(maps.Keys(labels[key]), byLabel)
		if len(names) > maxLabels {
			slices.SortStableFunc(names, func(a, b string) int { return labels[key][b] - labels[key][a] }) // those of all columns first
			left += (len(names) - maxLabels) * len(of)
			names = names[:maxLabels]
			slices.SortFunc(names, byLabel)
		}
		for _, label := range names {
			for _, kind := range of {
				rows = append(rows, rowID{seriesID{key, label}, kind})
			}
		}
	}
	return rows, left
}

// kindsOf lists the kinds of steps that a series has samples of.
func kindsOf(s *Series) []StepKind {
	var prompt, decode, neither bool
	for i := range s.Values {
		var f Flags
		if i < len(s.Flags) {
			f = s.Flags[i]
		}
		switch {
		case f&PromptStep != 0:
			prompt = true
		case f&DecodeStep != 0:
			decode = true
		default:
			neither = true
		}
	}
	var kinds []StepKind
	if neither {
		kinds = append(kinds, BothKinds)
	}
	if decode {
		kinds = append(kinds, DecodeSteps)
	}
	if prompt {
		kinds = append(kinds, PromptSteps)
	}
	return kinds
}

// byLabel sorts positions as numbers, before names.
func byLabel(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// Keys lists the series that a table of the given metrics needs, their weights and the
// figures of the load with them; without any, all that have a definition.
func Keys(wanted []string) []string {
	need := make(map[string]bool)
	add := func(m ledger.Metric) {
		if m.Kind == ledger.Histogram {
			need[m.Key+"_bucket"] = true
			return
		}
		need[m.Key] = true
		if m.Aggregate.By != "" {
			need[m.Aggregate.By] = true
		}
	}
	for _, m := range ledger.All() {
		if len(wanted) == 0 || slices.Contains(wanted, m.Key) || isLoad(m.Key) {
			add(m)
		}
	}
	for _, r := range ledger.Relations() { // what may stand in, or has to be refused
		for _, pair := range [2][2]string{{r.A, r.B}, {r.B, r.A}} {
			if m, ok := ledger.Lookup(pair[1]); ok && slices.Contains(wanted, pair[0]) {
				add(m)
			}
		}
	}
	for _, key := range []string{"finished", "aborted", "running", "pending", "completion_TPS", "avg_nextn_accept_rate", verifiedLen, "verified_tokens"} {
		need[key] = true
	}
	return slices.Sorted(maps.Keys(need))
}
