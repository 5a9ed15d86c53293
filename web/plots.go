package web

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/views"
)

// Bounds of a page's charts. Timers have a chart for each name, and unknown
// series one for each key: names come from outside.
const (
	maxTimerPlots = 40
	maxOtherPlots = 60
)

// timerParts are the parts of a timer that one chart shows.
var timerParts = map[string][]string{"cpu_mean": {"cpu_cur", "cpu_mean", "cpu_max"}, "cuda_mean": {"cuda_cur", "cuda_mean", "cuda_max"}}

// plotGroups are the charts of a deployment: what it has, in the metric table's
// order, and what it lacks with the reason. Without columns (nil) they are those
// that engines of these kinds usually have.
func plotGroups(columns catalogue, kinds []string) []views.PlotGroup {
	var groups []views.PlotGroup
	for _, g := range ledger.Groups() {
		group := views.PlotGroup{Group: g}
		for _, m := range ledger.All() {
			if m.Group == g && charted(m) {
				addPlots(&group, m, columns, kinds)
			}
		}
		if len(group.Plots) > 0 || len(group.Absent) > 0 {
			groups = append(groups, group)
		}
	}
	if other := otherPlots(columns); len(other.Plots) > 0 {
		groups = append(groups, other)
	}
	return groups
}

// charted says whether a metric has a chart of its own: timers stand three in one.
func charted(m ledger.Metric) bool {
	if m.Unit == ledger.Flag && m.Aggregate.Op == ledger.Apart {
		return false
	}
	for _, parts := range timerParts {
		if slices.Contains(parts, m.Key) {
			return timerParts[m.Key] != nil
		}
	}
	return true
}

// deepInfer is the kind of engine whose ledger the other kinds are measured by.
const deepInfer = "deepinfer"

func addPlots(g *views.PlotGroup, m ledger.Metric, columns catalogue, kinds []string) {
	labels, has := columns[m.Key]
	expected := slices.ContainsFunc(kinds, m.Engines.Has)
	if m.Kind == ledger.Histogram {
		// Its quantiles are drawn from its buckets, whose bounds are no lines of their own.
		labels = nil
		_, has = columns[m.Key+ledger.BucketSuffix]
	}
	switch parts := timerParts[m.Key]; {
	case columns == nil && expected && parts == nil:
		g.Plots = append(g.Plots, views.Plot{Metrics: []ledger.Metric{m}})
	case has && parts != nil:
		for i, label := range labels {
			if i == maxTimerPlots {
				g.More += len(labels) - i
				break
			}
			plot := views.Plot{Title: strings.ToUpper(string(m.Section)) + " " + label, Label: label, HasLabel: true}
			for _, key := range parts {
				plot.Metrics = append(plot.Metrics, definition(key))
			}
			g.Plots = append(g.Plots, plot)
		}
	case has:
		g.Plots = append(g.Plots, views.Plot{Metrics: []ledger.Metric{m}, Labels: len(labels)})
	case m.Kind == ledger.Histogram: // its mean is asked for, with the reason
	case columns != nil && len(kinds) > 0 && (expected || m.Engines.Has(deepInfer) && m.Section != ledger.CPU && m.Section != ledger.CUDA):
		// What only another kind of engine has is missed by nobody; what the ledger has is asked for.
		g.Absent = append(g.Absent, views.Missing{Metric: m, Why: absentReason(kindFor(m, kinds), m, false)})
	}
}

// kindFor is the kind of engine that is asked why it lacks a metric: one that could have it, if there is one.
func kindFor(m ledger.Metric, kinds []string) string {
	for _, k := range kinds {
		if m.Engines.Has(k) {
			return k
		}
	}
	return kinds[0]
}

// otherPlots are series under the engines' own names.
func otherPlots(columns catalogue) views.PlotGroup {
	var g views.PlotGroup
	for _, key := range sortedKeys(columns) {
		if _, ok := ledger.Lookup(key); ok || isHistogramPart(key, columns) {
			continue
		}
		if len(g.Plots) == maxOtherPlots {
			g.More++
			continue
		}
		g.Plots = append(g.Plots, views.Plot{Metrics: []ledger.Metric{definition(key)}, Labels: len(columns[key])})
	}
	return g
}

// isHistogramPart says whether an unknown series is the buckets or the sum of a histogram, whose count is enough for a chart.
func isHistogramPart(key string, columns catalogue) bool {
	for _, suffix := range []string{"_bucket", "_sum"} {
		if stem, ok := strings.CutSuffix(key, suffix); ok {
			if _, has := columns[stem+"_count"]; has {
				return true
			}
		}
	}
	return false
}
