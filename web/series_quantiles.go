package web

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

type quantileLevel struct {
	label string
	q     float64
}

// quantileLevels are the quantiles that a histogram's chart shows, by the labels of their lines.
var quantileLevels = []quantileLevel{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}

// histograms are those of the metrics asked for that have quantiles instead of values.
func (b *seriesBuilder) histograms() []ledger.Metric {
	var all []ledger.Metric
	for _, key := range b.q.metrics {
		if m := definition(key); m.Kind == ledger.Histogram {
			all = append(all, m)
		}
	}
	return all
}

// histEngine is one engine's histogram in each cell; nil where nothing was counted.
type histEngine struct {
	id    int64
	cells [][]foreign.Bucket
	whole []foreign.Bucket // over the whole range
}

// addQuantiles adds the lines of a histogram: quantiles of the engines' added
// buckets, never a mean of quantiles, or those of each engine. Of more engines
// than there is room for, only the highest quantile is told.
func (b *seriesBuilder) addQuantiles(answer *seriesAnswer, m ledger.Metric, r seriesRead, seen map[int64]bool) {
	engines := b.histEngines(m, r.points)
	if len(engines) == 0 {
		return
	}
	whole := engines
	if b.q.joined {
		whole = []histEngine{b.merged(engines)}
	}
	for _, e := range engines {
		seen[e.id] = true
		answer.Samples += int64(math.Round(counted(e.whole)))
	}
	levels := quantileLevels
	if b.q.hasLabel {
		levels = slices.DeleteFunc(slices.Clone(levels), func(l quantileLevel) bool { return l.label != b.q.label })
	} else {
		b.addOutliers(answer, quantileColumn(m, levels[len(levels)-1], engines)) // the tail tells who is the odd one
	}
	if len(levels) > 0 && len(whole)*len(levels) > maxLines {
		levels = levels[len(levels)-1:]
	}
	scale := views.QuantileScale(m)
	for _, level := range levels {
		c := quantileColumn(m, level, whole)
		if len(c.laid) > maxLines {
			b.addSpread(answer, c, r, scale)
			continue
		}
		for _, l := range c.laid {
			line := b.line(c, l, r, scale, false)
			if b.q.joined {
				line.Engine = ""
			}
			answer.Lines = append(answer.Lines, line)
		}
	}
}

// quantileColumn is one quantile of each engine.
func quantileColumn(m ledger.Metric, level quantileLevel, engines []histEngine) *seriesColumn {
	c := &seriesColumn{Column: store.Column{Metric: m.Key, Label: level.label}, metric: m}
	for _, e := range engines {
		if l := quantileCells(e, level.q); l.samples > 0 {
			c.laid = append(c.laid, l)
		}
	}
	return c
}

// histEngines gathers the buckets of each engine by cell. Cells are many and
// readings few, so what has room for all cells is of one engine at a time.
func (b *seriesBuilder) histEngines(m ledger.Metric, points []store.Points) []histEngine {
	byEngine := map[int64]map[float64][]*store.Points{}
	var order []int64
	for i := range points {
		p := &points[i]
		le, ok := foreign.ParseBound(p.Label)
		if p.Metric != m.Key+ledger.BucketSuffix || !ok {
			continue
		}
		if byEngine[p.Engine] == nil {
			byEngine[p.Engine] = map[float64][]*store.Points{}
			order = append(order, p.Engine)
		}
		byEngine[p.Engine][le] = append(byEngine[p.Engine][le], p)
	}
	var out []histEngine
	var laid []bound
	for _, id := range order {
		if byEngine[id][math.Inf(1)] == nil {
			continue // no histogram without its last bucket
		}
		bounds := sortedKeys(byEngine[id])
		for len(laid) < len(bounds) {
			laid = append(laid, bound{sums: make([]float64, b.grid.cells), n: make([]float64, b.grid.cells)})
		}
		for i, le := range bounds {
			b.layBound(&laid[i], byEngine[id][le])
		}
		e := histEngine{id: id, cells: make([][]foreign.Bucket, b.grid.cells)}
		last := laid[len(bounds)-1]
		for c := range e.cells {
			if !(last.sums[c] > 0) {
				continue
			}
			for i, le := range bounds {
				// A bound that some of the readings lack can't be summed; the others still can, being cumulative.
				if laid[i].n[c] == last.n[c] {
					e.cells[c] = append(e.cells[c], foreign.Bucket{Le: le, N: laid[i].sums[c]})
				}
			}
			e.whole = addedHistogram(e.whole, e.cells[c])
		}
		if e.whole != nil {
			out = append(out, e)
		}
	}
	return out
}

// bound is what one bucket of a histogram counted in each cell, and from how many readings.
type bound struct{ sums, n []float64 }

// layBound lays a bucket's points into the cells.
func (b *seriesBuilder) layBound(to *bound, points []*store.Points) {
	clear(to.sums)
	clear(to.n)
	for _, p := range points {
		for _, k := range p.Buckets {
			x := k.From
			if b.q.steps {
				x = k.LastStep
			}
			if c := b.grid.at(x); c >= 0 {
				to.sums[c] += k.Sum
				to.n[c] += float64(k.N)
			}
		}
	}
}

// addedHistogram adds two histograms; nothing is added to what isn't there.
func addedHistogram(a, b []foreign.Bucket) []foreign.Bucket {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return foreign.Merge(a, b)
}

// merged adds the engines' histograms. Where cells are shorter than the time
// between two readings, as many are taken together as one reading spans: engines
// are read at different moments, and else a point would be of one or the other.
// Every value is counted once.
func (b *seriesBuilder) merged(engines []histEngine) histEngine {
	if len(engines) == 1 {
		return engines[0]
	}
	out := histEngine{cells: make([][]foreign.Bucket, b.grid.cells)}
	span := b.grid.cells
	for _, e := range engines {
		out.whole = addedHistogram(out.whole, e.whole)
		span = min(span, usualGap(e.cells))
	}
	for i := 0; i < len(out.cells); i += span {
		var sum []foreign.Bucket
		last := -1
		for c := i; c < min(i+span, len(out.cells)); c++ {
			for _, e := range engines {
				if e.cells[c] != nil {
					sum, last = addedHistogram(sum, e.cells[c]), c
				}
			}
		}
		if last >= 0 {
			out.cells[last] = sum
		}
	}
	return out
}

// usualGap is the median distance of cells with values, at least 1.
func usualGap(cells [][]foreign.Bucket) int {
	var gaps []int
	last := -1
	for i, c := range cells {
		if c == nil {
			continue
		}
		if last >= 0 {
			gaps = append(gaps, i-last)
		}
		last = i
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// counted is how many values a histogram has.
func counted(h []foreign.Bucket) float64 {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].N
}

// quantileCells are a quantile of an engine in each cell, its bucket as the
// extremes, and its mean that of all values of the range together.
func quantileCells(e histEngine, q float64) laidEngine {
	l := laidEngine{id: e.id, cells: make([]cell, len(e.cells))}
	l.mean, _, _ = foreign.Estimate(e.whole, q)
	for i, h := range e.cells {
		l.cells[i] = noCell
		if v, in, ok := foreign.Estimate(h, q); ok {
			n := max(1, int64(math.Round(counted(h))))
			l.cells[i] = cell{mean: v, low: in.Lo, high: in.Hi, n: n}
			l.samples += n
		}
	}
	return l
}
