package web

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/views"
)

// largest keeps the columns a chart has room for, and says how many it left out.
func largest(columns []*seriesColumn) ([]*seriesColumn, int) {
	if len(columns) <= maxLines {
		return columns, 0
	}
	bySize := slices.Clone(columns)
	slices.SortStableFunc(bySize, func(a, b *seriesColumn) int { return cmp.Compare(b.size, a.size) })
	limit := bySize[:maxLines]
	kept := slices.DeleteFunc(slices.Clone(columns), func(c *seriesColumn) bool { return !slices.Contains(limit, c) })
	return kept, len(columns) - len(kept)
}

// addColumn adds the lines of one column: joined, one for each engine, or a band.
func (b *seriesBuilder) addColumn(answer *seriesAnswer, c *seriesColumn, r seriesRead, alone bool) {
	scale := views.Scale(c.metric.Unit)
	if alone {
		b.addOutliers(answer, c)
	}
	apart := c.metric.Aggregate.Op == ledger.Apart
	if (b.q.joined || !alone) && !(apart && alone) && (len(c.laid) > 1 || b.q.joined) {
		if line, ok := b.join(c, r, scale); ok {
			answer.Lines = append(answer.Lines, line)
			return
		}
	}
	if !alone {
		// Several columns of several engines that no rule joins: as many as there is room for.
		for _, l := range c.laid {
			if len(answer.Lines) == maxLines {
				answer.More++
				continue
			}
			answer.Lines = append(answer.Lines, b.line(c, l, r, scale, false))
		}
		return
	}
	if len(c.laid) > maxLines {
		b.addSpread(answer, c, r, scale)
		return
	}
	far := findOutliers(c.laid)
	for i, l := range c.laid {
		isFar := slices.ContainsFunc(far, func(o farEngine) bool { return o.at == i })
		answer.Lines = append(answer.Lines, b.line(c, l, r, scale, isFar))
	}
}

// addOutliers names the engines of a column that are far from the others.
func (b *seriesBuilder) addOutliers(answer *seriesAnswer, c *seriesColumn) {
	for _, o := range findOutliers(c.laid) {
		name := b.name(c, c.laid[o.at])
		if !slices.ContainsFunc(answer.Outliers, func(x outlier) bool { return x.Engine == name }) {
			answer.Outliers = append(answer.Outliers, outlier{name, o.off})
		}
	}
}

// addSpread adds a band over a column's many engines, and the lines of the outliers.
func (b *seriesBuilder) addSpread(answer *seriesAnswer, c *seriesColumn, r seriesRead, scale float64) {
	answer.Bands = append(answer.Bands, b.band(c, r, scale))
	for _, o := range findOutliers(c.laid) {
		answer.Lines = append(answer.Lines, b.line(c, c.laid[o.at], r, scale, true))
	}
}

// line is one engine's own line.
func (b *seriesBuilder) line(c *seriesColumn, l laidEngine, r seriesRead, scale float64, far bool) seriesLine {
	line := seriesLine{Metric: c.Metric, Label: c.Label, Engine: b.name(c, l), Steps: stepKind(r.only), Samples: l.samples, Outlier: far}
	spread := false
	reach := reachOf(l.cells)
	last := -1
	for i, k := range l.cells {
		if k.n == 0 {
			continue
		}
		if last >= 0 && float64(i-last) > reach {
			line.put(last+1, noCell, 1) // nothing came for long: the line is broken there
		}
		line.put(i, k, scale)
		spread = spread || k.low < k.high
		last = i
	}
	if !spread {
		line.Low, line.High = nil, nil
	}
	if c.metric.Kind != ledger.Histogram {
		line.Counts = nil
	}
	return line
}

func (l *seriesLine) put(i int, k cell, scale float64) {
	l.Cells, l.Counts = append(l.Cells, i), append(l.Counts, k.n)
	l.Mean, l.Low, l.High = append(l.Mean, k.mean*scale), append(l.Low, k.low*scale), append(l.High, k.high*scale)
}

// join makes one line of all engines by the metric's rule. ok is false where the rule forbids it.
func (b *seriesBuilder) join(c *seriesColumn, r seriesRead, scale float64) (seriesLine, bool) {
	if c.metric.Aggregate.Op == ledger.Apart && len(c.laid) > 1 {
		return seriesLine{}, false
	}
	if len(c.laid) == 1 {
		line := b.line(c, c.laid[0], r, scale, false)
		line.Engine = ""
		return line, true
	}
	line := seriesLine{Metric: c.Metric, Label: c.Label, Steps: stepKind(r.only)}
	held := make([][]float64, len(c.laid))
	weights := b.weights(c, r)
	for j, l := range c.laid {
		held[j] = b.grid.held(l.cells)
		line.Samples += l.samples
	}
	values, by := make([]float64, len(held)), make([]float64, len(held))
	broken, spread := false, false
	for i := range b.grid.cells {
		fresh := false
		low, high := math.Inf(1), math.Inf(-1)
		down, up := 0.0, 0.0
		for j := range held {
			values[j], by[j] = held[j][i], math.NaN()
			if weights != nil && weights[j] != nil {
				by[j] = weights[j][i]
			}
			if k := c.laid[j].cells[i]; k.n > 0 {
				fresh, low, high = true, min(low, k.low), max(high, k.high)
				down, up = max(down, k.mean-k.low), max(up, k.high-k.mean)
			}
		}
		v, n := aggregate(c.metric.Aggregate, values, by)
		if n == 0 || math.IsNaN(v) {
			if !broken && len(line.Cells) > 0 {
				line.put(i, noCell, 1)
			}
			broken = true
			continue
		}
		if !fresh {
			continue // only values that stand for later ones: the line goes on as it is
		}
		broken = false
		k := cell{mean: v, low: v, high: v, n: 1}
		// The extremes of a maximum, a minimum and a mean are the engines'. How far a sum went is not known:
		// it is told as far as any one engine alone moved it, so that a spike of one survives.
		if c.metric.Aggregate.Op == ledger.Sum {
			k.low, k.high = v-down, v+up
		} else {
			k.low, k.high = min(v, low), max(v, high)
		}
		spread = spread || k.low < k.high
		line.put(i, k, scale)
	}
	if n := len(line.Cells) - 1; n >= 0 && math.IsNaN(line.Mean[n]) {
		line.Cells, line.Mean, line.Low, line.High = line.Cells[:n], line.Mean[:n], line.Low[:n], line.High[:n]
	}
	if !spread {
		line.Low, line.High = nil, nil
	}
	line.Counts = nil
	return line, len(line.Cells) > 0
}

// weights are those of a mean for each engine of a column, nil without.
func (b *seriesBuilder) weights(c *seriesColumn, r seriesRead) [][]float64 {
	by := c.metric.Aggregate.By
	if c.metric.Aggregate.Op != ledger.WeightedMean || by == "" {
		return nil
	}
	m := definition(by)
	all := make([][]float64, len(c.laid))
	for j, l := range c.laid {
		for i := range r.points {
			p := &r.points[i]
			// A weight has the column's own label, or one for all of them.
			if p.Engine == l.id && p.Metric == by && (p.Label == c.Label || p.Label == "") && (all[j] == nil || p.Label == c.Label) {
				all[j] = b.grid.held(b.lay(p, m))
			}
		}
	}
	return all
}
