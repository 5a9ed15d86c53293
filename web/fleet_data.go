package web

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

// figureKeys are the fleet page's key figures, in its order.
var figureKeys = []string{"completion_TPS", "prompt_TPS", "running", "pending", "KV_cache_usage", "TTFT_max", "avg_nextn_accept_rate", "MFU"}

// figureMetrics are their definitions; otherFigures what stands in for one, named
// in its place, where an engine has another metric of the same kind; boardMetrics
// what the board reads for all of them: the weights of their means besides.
var (
	figureMetrics = lookupAll(figureKeys)
	otherFigures  = map[string][]ledger.Metric{
		"completion_TPS":        lookupAll([]string{"completion_done_TPS", "gen_throughput"}),
		"prompt_TPS":            lookupAll([]string{"prompt_all_TPS", "prompt_done_TPS", "input_throughput"}),
		"KV_cache_usage":        lookupAll([]string{"KV_pool_usage"}),
		"TTFT_max":              lookupAll([]string{"TTFT_avg"}),
		"avg_nextn_accept_rate": lookupAll([]string{"spec_accept_rate"}),
	}
	boardMetrics = withWeights(slices.Concat(append(sortedValues(otherFigures), figureMetrics)...))
)

func sortedValues(m map[string][]ledger.Metric) [][]ledger.Metric {
	var all [][]ledger.Metric
	for _, k := range sortedKeys(m) {
		all = append(all, m[k])
	}
	return all
}

// bestFigure is the column's own metric, or the first present one that stands in for it.
func bestFigure(m ledger.Metric, get func(ledger.Metric) views.Figure) views.Figure {
	own := get(m)
	if !math.IsNaN(own.Value) {
		return own
	}
	for _, other := range otherFigures[m.Key] {
		if f := get(other); !math.IsNaN(f.Value) {
			return f
		}
	}
	return own
}

func lookupAll(keys []string) []ledger.Metric {
	all := make([]ledger.Metric, len(keys))
	for i, k := range keys {
		m, ok := ledger.Lookup(k)
		if !ok {
			panic("web: the metric table has no " + k) // a constant above is wrong
		}
		all[i] = m
	}
	return all
}

func withWeights(metrics []ledger.Metric) []string {
	var keys []string
	for _, m := range metrics {
		keys = append(keys, m.Key)
		if m.Aggregate.By != "" {
			keys = append(keys, m.Aggregate.By)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// fewEngines is how many engines a deployment may have to be shown open.
const fewEngines = 8

// fleetView makes the page's view of a snapshot: filtered, folded, the worst first.
func fleetView(s *snapshot, search string, open, closed []string, now time.Time) views.Fleet {
	v := views.Fleet{Search: search, Open: open, Closed: closed, Columns: figureMetrics, Now: now}
	if s == nil {
		v.Pending = true
		return v
	}
	v.All = len(s.deployments)
	match := matcher(search)
	for _, d := range s.deployments {
		row := d.row // its lists are shared: nothing here changes them
		v.Engines += len(row.Engines)
		for _, e := range row.Engines {
			v.Healths[e.Health]++
		}
		// A deployment that matches by itself shows as it would; else only the engines that do.
		whole := search == "" || match(deploymentText(row))
		var matching []views.FleetEngine
		for _, e := range row.Engines {
			if !whole && match(engineText(row.Name, e)) {
				matching = append(matching, e)
			}
		}
		if !whole && len(matching) == 0 {
			continue
		}
		switch {
		case slices.Contains(closed, row.Name):
			row.Engines = nil
		case !whole:
			row.Engines, row.Open = matching, true
		case slices.Contains(open, row.Name), len(row.Engines) <= fewEngines:
			row.Open = true
		default:
			row.Engines = nil
		}
		v.Deployments = append(v.Deployments, row)
	}
	sort.SliceStable(v.Deployments, func(i, j int) bool { return v.Deployments[i].Health > v.Deployments[j].Health })
	return v
}

// viewDeployment is a deployment with all its engines.
func viewDeployment(d *deploymentState, now time.Time) views.FleetDeployment {
	row := views.FleetDeployment{Name: d.Name, Note: d.Note, GPUs: d.GPUs, Peak: d.PeakTFLOPs, Count: len(d.engines), Spark: d.trend}
	for k, val := range d.Labels {
		row.Labels = append(row.Labels, views.Label{Key: k, Value: val})
	}
	slices.SortFunc(row.Labels, func(a, b views.Label) int { return cmp.Compare(a.Key, b.Key) })
	for _, l := range d.baselines {
		row.Baselines = append(row.Baselines, viewBaseline(l))
	}
	for _, e := range d.engines {
		engine := viewEngine(e, now)
		row.Engines = append(row.Engines, engine)
		row.Kinds = addNew(row.Kinds, e.Kind)
		row.Models = addNew(row.Models, e.Model)
		row.Parallel = addNew(row.Parallel, e.Parallel)
		row.Versions = addNew(row.Versions, e.Version)
		if engine.Last.After(row.Last) {
			row.Last = engine.Last
		}
	}
	slices.SortStableFunc(row.Engines, func(a, b views.FleetEngine) int {
		return cmp.Or(cmp.Compare(b.Health, a.Health), cmp.Compare(a.Rank, b.Rank))
	})
	row.Health, row.Reasons = judgeDeployment(row.Engines)
	for _, m := range figureMetrics {
		row.Figures = append(row.Figures, bestFigure(m, func(m ledger.Metric) views.Figure { return joinedFigure(d, m) }))
	}
	return row
}

// maxTraits is how many different models and the like a deployment's row tells.
const maxTraits = 3

func addNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) || len(list) == maxTraits {
		return list
	}
	return append(list, s)
}

func viewBaseline(l store.Baseline) views.Baseline {
	return views.Baseline{ID: l.ID, Name: l.Name, Note: l.Note, From: time.Unix(0, l.From), To: time.Unix(0, l.To)}
}

func viewEngine(e *engineState, now time.Time) views.FleetEngine {
	v := views.FleetEngine{Name: e.Name, Kind: e.Kind, Role: e.Role, Model: e.Model, Parallel: e.Parallel, Version: e.Version,
		Host: e.Host, Rank: e.Rank, GPU: e.GPU}
	if e.Last != 0 {
		v.Last = time.Unix(0, e.Last)
	}
	v.Health, v.Reasons = judgeEngine(e, now)
	for _, m := range figureMetrics {
		v.Figures = append(v.Figures, bestFigure(m, func(m ledger.Metric) views.Figure { return figure(e, m) }))
	}
	return v
}

// joinedFigure is a metric's value over a deployment's engines by its own rule.
func joinedFigure(d *deploymentState, m ledger.Metric) views.Figure {
	values, weights := make([]float64, len(d.engines)), make([]float64, len(d.engines))
	by := ledger.Metric{Key: m.Aggregate.By}
	reported := 0
	var newest *engineState // of those that have said something of it
	said := int64(-1)
	for i, e := range d.engines {
		values[i], weights[i] = e.value(m), e.value(by)
		if l := e.latest[store.Column{Metric: m.Key}]; l.Time > said {
			newest, said = e, l.Time
		}
		if !math.IsNaN(values[i]) {
			reported++
		}
	}
	v, n := aggregate(m.Aggregate, values, weights)
	if only := slices.IndexFunc(values, func(x float64) bool { return !math.IsNaN(x) }); reported == 1 && n == 0 && math.IsNaN(weights[only]) {
		v, n = values[only], 1 // one value needs no weight
	}
	f := views.Figure{Metric: m, Value: v, N: n, Of: len(d.engines)}
	switch {
	case !math.IsNaN(v):
	case reported == 0:
		f.Why = views.Reason{Key: "figure.absent"}
		if newest != nil {
			f.Why = whyAbsent(newest, m)
		}
	case m.Aggregate.Op == ledger.Apart:
		f.Why = views.Reason{Key: "figure.apart"}
	case m.Aggregate.Op == ledger.WeightedMean:
		f.Why = views.Reason{Key: "figure.weightless"}
	}
	return f
}

// matcher takes a filter's words, all of which must occur, whatever their case.
func matcher(query string) func(string) bool {
	words := strings.Fields(strings.ToLower(query))
	return func(text string) bool {
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	}
}

// deploymentText is what the filter looks at, in lower case.
func deploymentText(d views.FleetDeployment) string {
	parts := append([]string{d.Name, d.Note, d.Health.String()}, d.Kinds...)
	parts = append(append(parts, d.Models...), d.Parallel...)
	for _, l := range d.Labels {
		parts = append(parts, l.Key+"="+l.Value)
	}
	return strings.ToLower(strings.Join(parts, "\n"))
}

func engineText(deployment string, e views.FleetEngine) string {
	return strings.ToLower(strings.Join([]string{deployment, e.Name, e.Kind, e.Role, e.Model, e.Parallel, e.Version, e.Host, e.Health.String()}, "\n"))
}
