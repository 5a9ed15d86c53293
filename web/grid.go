package web

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// holdGaps is for how many of its usual distances an engine's last value stands
// for it when several engines are joined: they log at different moments.
const holdGaps = 2.5

// grid divides a stretch of the x axis, in ns or in steps, into equal cells.
type grid struct {
	from, width int64
	cells       int
}

// timeGrid is the grid of the buckets that a store answers a query with.
func timeGrid(q store.PointsQuery) grid {
	start, width := q.Grid()
	if width == 0 {
		return grid{}
	}
	return grid{from: start, width: width, cells: int((q.To-start-1)/width) + 1}
}

// cell is what one engine's samples in a cell come to.
type cell struct {
	mean, low, high float64 // NaN where there is no sample
	n               int64
}

var noCell = cell{mean: math.NaN(), low: math.NaN(), high: math.NaN()}

// at is the cell of a place, −1 outside.
func (g grid) at(x int64) int {
	if x < g.from || g.width <= 0 {
		return -1
	}
	if i := (x - g.from) / g.width; i < int64(g.cells) {
		return int(i)
	}
	return -1
}

// lay puts the buckets of one series over time into cells. Counters become
// their increase per minute.
func (g grid) lay(p *store.Points, m ledger.Metric) []cell { return g.layPer(p, m, minute) }

// layPer does so on any axis; per is how much of it a counter's increase is told for.
func (g grid) layPer(p *store.Points, m ledger.Metric, per int64) []cell {
	cells := make([]cell, g.cells)
	for i := range cells {
		cells[i] = noCell
	}
	if m.Kind == ledger.Counter {
		g.layIncrease(cells, p, per)
		return cells
	}
	for _, b := range p.Buckets {
		if i := g.at(b.From); i >= 0 && b.N > 0 {
			cells[i] = joined(cells[i], gauge(b, m))
		}
	}
	return cells
}

// laySteps does so over the engine's steps: a bucket lies where its last step
// does, and counters become their increase per 1,000 steps.
func (g grid) laySteps(p *store.Points, m ledger.Metric) []cell {
	moved := store.Points{Engine: p.Engine, Column: p.Column, Width: p.Width}
	for _, b := range p.Buckets {
		if b.LastStep >= 0 {
			b.From = b.LastStep
			moved.Buckets = append(moved.Buckets, b)
		}
	}
	return g.layPer(&moved, m, thousandSteps)
}

// gauge is a bucket's mean and extremes. Where 0 means that there was nothing
// to report, only a bucket of nothing but zeros can be told to be absent.
func gauge(b store.Bucket, m ledger.Metric) cell {
	c := cell{mean: b.Sum / float64(b.N), low: b.Min, high: b.Max, n: b.N}
	if m.ZeroIsAbsent && b.Max == 0 && b.Min == 0 || math.IsNaN(c.mean) || math.IsInf(c.mean, 0) {
		return noCell
	}
	return c
}

// joined is what two buckets in one cell come to.
func joined(a, b cell) cell {
	if a.n == 0 {
		return b
	}
	if b.n == 0 {
		return a
	}
	n := a.n + b.n
	return cell{mean: (a.mean*float64(a.n) + b.mean*float64(b.n)) / float64(n), low: min(a.low, b.low), high: max(a.high, b.high), n: n}
}

// What a counter's increase is told for: in ns over time, in steps over steps.
const (
	minute        = int64(60e9)
	thousandSteps = int64(1000)
)

// layIncrease turns a running total into its increase between one bucket and the
// next, for so much of the axis. What grew in a cell is divided by how much of
// the axis it grew over. A total that fell began anew at 0.
func (g grid) layIncrease(cells []cell, p *store.Points, per int64) {
	over := make([]float64, len(cells))
	for k := 1; k < len(p.Buckets); k++ {
		a, b := p.Buckets[k-1], p.Buckets[k]
		i := g.at(b.From)
		if i < 0 || b.From <= a.From || b.N == 0 {
			continue
		}
		grown := b.Last - a.Last
		if grown < 0 {
			grown = b.Last
		}
		span := float64(b.From-a.From) / float64(per)
		v := grown / span
		c := cell{mean: v, low: v, high: v, n: b.N}
		if old := cells[i]; old.n > 0 {
			c = cell{mean: (old.mean*over[i] + grown) / (over[i] + span), low: min(old.low, v), high: max(old.high, v), n: old.n + b.N}
		}
		cells[i] = c
		over[i] += span
	}
}

// reachOf is how far apart two values of a series may be and still belong to one
// unbroken line, in cells: holdGaps times the usual distance, but where rows come
// by chance, as those of prompt steps do, no less than nearly all distances and a half.
func reachOf(cells []cell) float64 {
	var gaps []float64
	last := -1
	for i, c := range cells {
		if c.n == 0 {
			continue
		}
		if last >= 0 {
			gaps = append(gaps, float64(i-last))
		}
		last = i
	}
	if len(gaps) == 0 {
		return holdGaps
	}
	slices.Sort(gaps)
	return max(holdGaps*quantile(gaps, 0.5), 1.5*quantile(gaps, 0.95))
}

// held is the mean of each cell; an empty one has the value before it as far
// as reachOf says, then NaN.
func (g grid) held(cells []cell) []float64 {
	out := make([]float64, len(cells))
	reach := reachOf(cells)
	last := -1
	for i, c := range cells {
		out[i] = math.NaN()
		if c.n > 0 {
			last = i
		}
		if last >= 0 && float64(i-last) <= reach {
			out[i] = cells[last].mean
		}
	}
	return out
}
