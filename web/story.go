package web

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

// Bounds of a story.
const (
	maxEvents     = 200  // listed
	namedEngines  = 4    // of an event that several have
	togetherGap   = 2e9  // ns: events of a kind this close together are one
	sameShare     = 0.01 // a change smaller than this is none
	maxAlso       = 3    // other metrics whose change is told
	notableChange = 0.05
)

// storyMetrics are those whose change a story tells, the first one always.
var storyMetrics = lookupAll([]string{"completion_TPS", "prompt_TPS", "avg_nextn_accept_rate", "TTFT_mean", "KV_cache_usage", "pending"})

// readStory says what changed against the time of equal length before, and what happened.
func readStory(ctx context.Context, st store.Samples, d *deploymentState, r views.Range) (views.Story, error) {
	from, to := r.From.UnixNano(), r.To.UnixNano()
	var story views.Story
	ids := engineIDs(d, 2*from-to, to)
	now, err := rangeMeans(ctx, st, ids, from, to)
	if err != nil {
		return story, err
	}
	before, err := rangeMeans(ctx, st, ids, 2*from-to, from)
	if err != nil {
		return story, err
	}
	events, err := readEvents(ctx, st, d, from, to)
	if err != nil {
		return story, err
	}
	length := r.To.Sub(r.From)
	// What was there for less than half of the time before is no measure.
	switch known := time.Duration(from - max(2*from-to, firstOf(d, ids))); {
	case known < length/2:
		before = nil
	case known < length*19/20:
		length = known
	}
	story.Changes = changes(now, before, length)
	if len(engineIDs(d, from, to)) == 0 || len(now) == 0 {
		story.Changes = elsewhere(d)
	}
	story.Changes = append(story.Changes, counts(events)...)
	slices.SortStableFunc(events, func(a, b views.EventRow) int { return b.From.Compare(a.From) })
	story.More = max(0, len(events)-maxEvents)
	story.Events = events[:min(len(events), maxEvents)]
	return story, nil
}

// engineIDs are the engines with samples in a time.
func engineIDs(d *deploymentState, from, to int64) []int64 {
	var ids []int64
	for _, e := range d.engines {
		if e.Last >= from && e.First < to {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// firstOf is when the first of some engines' samples came.
func firstOf(d *deploymentState, ids []int64) int64 {
	first := int64(math.MaxInt64)
	for _, e := range d.engines {
		if slices.Contains(ids, e.ID) {
			first = min(first, e.First)
		}
	}
	return first
}

// rangeMeans are the story's metrics over a time: each engine's mean, joined by the metric's rule.
func rangeMeans(ctx context.Context, st store.Samples, ids []int64, from, to int64) (map[string]float64, error) {
	if len(ids) == 0 || from < 0 || from >= to {
		return nil, nil
	}
	keys := withWeights(storyMetrics)
	points, err := st.Points(ctx, store.PointsQuery{Points: 1, Selection: store.Selection{Engines: ids, Metrics: keys, From: from, To: to}})
	if err != nil {
		return nil, err
	}
	means := map[string]map[int64]float64{}
	for _, p := range points {
		c := noCell
		for _, b := range p.Buckets {
			if b.N > 0 {
				c = joined(c, gauge(b, definition(p.Metric)))
			}
		}
		if p.Label == "" && c.n > 0 {
			if means[p.Metric] == nil {
				means[p.Metric] = map[int64]float64{}
			}
			means[p.Metric][p.Engine] = c.mean
		}
	}
	out := map[string]float64{}
	for _, m := range storyMetrics {
		var values, weights []float64
		for _, id := range ids {
			if v, ok := means[m.Key][id]; ok {
				w, has := means[m.Aggregate.By][id]
				if !has {
					w = math.NaN()
				}
				values, weights = append(values, v), append(weights, w)
			}
		}
		if v, n := aggregate(m.Aggregate, values, weights); n > 0 && !math.IsNaN(v) {
			out[m.Key] = v
		}
	}
	return out, nil
}

// changes tells the first metric's level and change, and other notable changes.
func changes(now, before map[string]float64, length time.Duration) []views.Reason {
	var out []views.Reason
	also := 0
	for _, m := range storyMetrics {
		v, ok := now[m.Key]
		if !ok {
			continue
		}
		was, had := before[m.Key]
		rel := v/was - 1
		hasRel := had && was != 0 && !math.IsInf(rel, 0)
		name := views.Reason{Words: ledger.Words{EN: lowerFirst(m.Name.EN), ZH: m.Name.ZH}}
		number, unit := views.Number(m.Unit, v)+" ", unitWords(m.Unit)
		level := i18n.Both{EN: number + unit.EN, ZH: number + unit.ZH}
		change := views.Sig3(100 * math.Abs(rel))
		switch {
		case len(out) == 0 && !hasRel:
			out = append(out, about(name, "story.only", level))
		case len(out) == 0 && math.Abs(rel) < sameShare:
			out = append(out, about(name, "story.same", level, span(length)))
		case len(out) == 0:
			out = append(out, about(name, direction("story.", rel), level, change, span(length)))
		case hasRel && math.Abs(rel) >= notableChange && math.Abs(v-was) >= leastChange(m.Unit) && also < maxAlso:
			key := direction("story.also_", rel)
			if m.Unit == ledger.Share {
				key, change = key+"_points", views.Sig3(100*math.Abs(v-was)) // a share of a share would be mistaken for it
			}
			out = append(out, about(name, key, level, change))
			also++
		}
	}
	return out
}

// leastChange is below what a change is not worth telling, however large it is
// beside a small value: one sequence, one point of a share.
func leastChange(u ledger.Unit) float64 {
	switch u {
	case ledger.Sequences:
		return 1
	case ledger.Share:
		return 0.01
	}
	return 0
}

// lowerFirst is a name inside a sentence; abbreviations stay as they are.
func lowerFirst(name string) string {
	if len(name) > 1 && 'a' <= name[1] && name[1] <= 'z' {
		return strings.ToLower(name[:1]) + name[1:]
	}
	return name
}

func direction(prefix string, rel float64) string {
	if rel < 0 {
		return prefix + "down"
	}
	return prefix + "up"
}

// unitWords is a unit in both languages; shares are written in percent.
func unitWords(u ledger.Unit) i18n.Both {
	if u == ledger.Share {
		return i18n.Both{EN: "%", ZH: "%"}
	}
	return i18n.Both{EN: views.UnitName(i18n.English, u), ZH: views.UnitName(i18n.Chinese, u)}
}

// about is reasonOf with a name before the arguments.
func about(name views.Reason, key string, args ...any) views.Reason {
	r := reasonOf(key, args...)
	r.First = &name
	return r
}

// elsewhere says that a time is empty, and which is not.
func elsewhere(d *deploymentState) []views.Reason {
	out := []views.Reason{{Key: "story.nothing"}}
	first, last := int64(math.MaxInt64), int64(0)
	for _, e := range d.engines {
		if e.Last != 0 {
			first, last = min(first, e.First), max(last, e.Last)
		}
	}
	if last != 0 {
		const layout = "2006-01-02 15:04:05"
		out = append(out, views.Reason{Key: "story.elsewhere",
			Args: []string{time.Unix(0, first).UTC().Format(layout), time.Unix(0, last).UTC().Format(layout)}})
	}
	return out
}

// counts says how often what happened.
func counts(events []views.EventRow) []views.Reason {
	n := map[string]int{}
	for _, e := range events {
		n[e.Kind]++
	}
	if len(n) == 0 {
		return []views.Reason{{Key: "story.no_events"}}
	}
	kinds := sortedKeys(n)
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(n[b], n[a]) })
	var out []views.Reason
	for _, k := range kinds {
		out = append(out, views.Reason{Key: "story.count", Args: []string{strconv.Itoa(n[k])}, Inner: &views.Reason{Key: "event." + k}})
	}
	return out
}

// readEvents lists what happened to a deployment's engines, by start. What
// several engines had at one time is one row.
func readEvents(ctx context.Context, st store.Samples, d *deploymentState, from, to int64) ([]views.EventRow, error) {
	names := map[int64]string{}
	var ids []int64
	for _, e := range d.engines {
		ids = append(ids, e.ID)
		names[e.ID] = e.Name
	}
	if len(ids) == 0 {
		return nil, nil
	}
	events, err := st.Events(ctx, ids, from, to)
	if err != nil {
		return nil, err
	}
	var rows []views.EventRow
	open := map[string]int{} // kind → the row that the next one may belong to
	for _, ev := range events {
		kind := eventKind(ev.Kind)
		start, end := time.Unix(0, ev.From), time.Unix(0, max(ev.To, ev.From))
		if i, ok := open[kind]; ok {
			row := &rows[i]
			if start.Sub(row.From) <= togetherGap && !slices.Contains(row.Engines, names[ev.Engine]) {
				if row.Count++; len(row.Engines) < namedEngines {
					row.Engines = append(row.Engines, names[ev.Engine])
				}
				row.N += ev.Count
				if end.After(row.To) {
					row.To = end
				}
				continue
			}
		}
		open[kind] = len(rows)
		rows = append(rows, views.EventRow{Kind: kind, Engines: []string{names[ev.Engine]}, Count: 1, From: start, To: end, N: ev.Count, Detail: ev.Detail})
	}
	return rows, nil
}

// eventKind is a kind that the pages have words for.
func eventKind(k store.EventKind) string {
	switch k {
	case store.Restart, store.Gap, store.Silence, store.ClockJumped, store.CaptureEvent, store.Unreadable, store.CounterReset, store.Dropped, store.Unavailable:
		return string(k)
	}
	return "other"
}
