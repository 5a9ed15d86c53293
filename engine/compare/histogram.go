package compare

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/foreign"
)

// quantile is a row that a histogram makes.
type quantile struct {
	stat string
	q    float64
}

var quantiles = []quantile{{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}}

// histogram is the buckets of all engines of a side: for each bound the share of
// values at or below it, and how exactly that is known.
type histogram struct {
	bounds []float64 // ascending, the last may be +Inf
	share  []estimate
	count  float64 // values in all
	lines  int
	left   Left
}

// histogramOf sums the increases of a metric's buckets over engines and, for the
// estimates, over buckets of time. Percentiles are never averaged: counts are added.
func (v *view) histogramOf(key string) (h histogram, ok bool) {
	type column struct {
		bound float64
		marks []mark
	}
	var engines [][]column
	var all [][]mark
	bounds := map[float64]int{}
	for e, series := range v.series {
		var cols []column
		for id := range series {
			bound, is := foreign.ParseBound(id.label)
			if id.key != key+"_bucket" || !is {
				continue
			}
			var left Left
			s, _ := v.source(e, rowID{seriesID: id}, rule{})
			m := marks(s, BothKinds, rule{point: true}, &left)
			if len(m) == 0 {
				continue
			}
			if len(cols) == 0 {
				h.left.Perturbed += left.Perturbed
				h.left.Filling += left.Filling
				h.left.NotFinite += left.NotFinite
				h.lines += len(m)
			}
			cols = append(cols, column{bound, m})
			bounds[bound]++
		}
		if len(cols) > 0 {
			slices.SortFunc(cols, func(a, b column) int { return compareFloat(a.bound, b.bound) })
			engines = append(engines, cols)
			all = append(all, cols[0].marks)
		}
	}
	for b, n := range bounds { // a bound that an engine lacks can't be summed over engines
		if n == len(engines) {
			h.bounds = append(h.bounds, b)
		}
	}
	if len(h.bounds) < 2 {
		return h, false
	}
	slices.Sort(h.bounds)
	g := newGrid(all)
	counts := make([][]float64, len(h.bounds)) // by bound, then by bucket of time
	for i := range counts {
		counts[i] = make([]float64, g.n)
	}
	for _, cols := range engines {
		for _, c := range cols {
			i, found := slices.BinarySearch(h.bounds, c.bound)
			if !found {
				continue
			}
			for _, m := range c.marks {
				if k := g.index(m.t); !m.void && m.x >= 0 && k >= 0 && k < g.n {
					counts[i][k] += m.x
				}
			}
		}
	}
	total := counts[len(counts)-1]
	h.share = make([]estimate, len(h.bounds))
	for i := range h.bounds {
		var x, w []float64
		for k, n := range total {
			if n > 0 {
				x, w = append(x, math.Min(1, counts[i][k]/n)), append(w, n)
			}
		}
		h.share[i] = estimateLevel(x, w)
	}
	for _, n := range total {
		h.count += n
	}
	return h, h.count > 0
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// at is the index of the bucket that holds the quantile.
func (h *histogram) at(q float64) int {
	for i := range h.share {
		if h.share[i].level >= q {
			return i
		}
	}
	return len(h.share) - 1
}

// lower is the open lower end of a bucket.
func (h *histogram) lower(i int) float64 {
	if i == 0 {
		return math.Min(0, h.bounds[0])
	}
	return h.bounds[i-1]
}

// within is the interval of bounds between which the quantile lies but for a chance of
// p (Woodruff 1952): the bounds whose share is not evidently on one side of q.
func (h *histogram) within(q, p float64) (low, high float64) {
	first, last := 0, len(h.bounds)-1
	for i := range h.share {
		if below(h.share[i], q) < p/2 {
			first = i + 1
		}
		if above(h.share[i], q) < p/2 && i < last {
			last = i
		}
	}
	first = min(first, last)
	return h.lower(first), h.bounds[last]
}

// below is the one-sided chance that a share as small as this comes from one that is
// q or more; above the other way round.
func below(e estimate, q float64) float64 { return oneSided(q-e.level, e) }
func above(e estimate, q float64) float64 { return oneSided(e.level-q, e) }

func oneSided(d float64, e estimate) float64 {
	if e.v == 0 {
		// All points alike: n values of them on one side say as much as n coin throws.
		if d > 0 {
			return math.Pow(0.5, float64(e.n))
		}
		return 1
	}
	p := tTail(d/math.Sqrt(e.v), e.df) / 2
	if d < 0 {
		p = 1 - p
	}
	return p
}

// apart is the two-sided chance that two quantiles that lie in one bucket look as
// different as these: at some common bound one share is below q and the other above.
func apart(a, b *histogram, q float64) float64 {
	best := 0.5
	for i, bound := range a.bounds {
		k, found := slices.BinarySearch(b.bounds, bound)
		if !found {
			continue
		}
		x, y := a.share[i], b.share[k]
		best = math.Min(best, math.Min(above(x, q)+below(y, q), below(x, q)+above(y, q)))
	}
	return math.Min(1, 2*best)
}

// cell shows a quantile as its bucket: what lies inside is not known.
func (h *histogram) cell(q float64) Cell {
	i := h.at(q)
	c := Cell{OK: true, Low: h.lower(i), High: h.bounds[i], Lines: h.lines, Points: h.share[i].n, Effect: h.share[i].effect, Left: h.left}
	c.Level = (c.Low + c.High) / 2
	if math.IsInf(c.High, 1) {
		c.Level = c.Low
	}
	return c
}

// quantileTrial compares a quantile of two histograms; the interval of the difference
// reaches from one end of the buckets to the other.
func quantileTrial(a, b *histogram, ca, cb *Cell, q float64) *Difference {
	d := &Difference{Value: cb.Level - ca.Level, Rel: math.NaN(), SE: math.NaN(), DF: math.NaN(), P: apart(a, b, q)}
	if ca.Level != 0 {
		d.Rel = d.Value / math.Abs(ca.Level)
	}
	d.interval = func(p float64) (low, high float64) {
		al, ah := a.within(q, p/2)
		bl, bh := b.within(q, p/2)
		return bl - ah, bh - al
	}
	return d
}
