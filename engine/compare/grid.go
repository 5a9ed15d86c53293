package compare

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
)

// maxBuckets bounds the points of an aggregated series: longer times have wider buckets.
const maxBuckets = 1440

// grid is the buckets of time into which a row's lines are put: bucket k is
// (from + k·width, from + (k+1)·width], since a line speaks for the time before it.
type grid struct {
	from, width int64
	n           int
}

// How wide buckets are.
const (
	mostTime   = 0.9 // the share of the time that is in lines no longer than a bucket
	fewBuckets = 24  // however long lines are, there are not fewer, unless most lines are longer than that
)

// newGrid makes buckets for the lines of several engines, as wide as nearly all lines are
// long: then few lines lie in more than two.
func newGrid(engines [][]mark) grid {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	var usual, long int64
	for _, lines := range engines {
		if len(lines) == 0 {
			continue
		}
		first = min(first, lines[0].since)
		last = max(last, lines[len(lines)-1].t)
		m, l := lengths(lines)
		usual, long = max(usual, m), max(long, l)
	}
	if last < first {
		return grid{}
	}
	span := last - first
	g := grid{from: first, width: max(usual, min(long, span/fewBuckets), span/maxBuckets+1)}
	g.n = g.index(last) + 1
	return g
}

// lengths are the median length of an engine's lines, and the length above which there
// is little of its time.
func lengths(lines []mark) (usual, long int64) {
	d := make([]int64, 0, len(lines))
	var total int64
	for _, m := range lines {
		if l := m.t - m.since; !m.void && l > 0 {
			d = append(d, l)
			total += l
		}
	}
	if len(d) == 0 {
		return 0, 0
	}
	slices.Sort(d)
	below := 0.0
	for _, long = range d {
		if below += float64(long); below >= mostTime*float64(total) {
			break
		}
	}
	return d[len(d)/2], long
}

// index is the bucket of a moment.
func (g grid) index(t int64) int { return int((t - g.from - 1) / g.width) }

// end is the last moment of a bucket.
func (g grid) end(k int) int64 { return g.from + int64(k+1)*g.width }

// slot is one engine's part of one bucket.
type slot struct {
	x     float64 // mean by weight, or by time where there is none
	w     float64 // the weight
	cover float64 // the share of the bucket's time that is known; of single steps 1
	life  bool    // the engine reports at this time: it has to be part of a sum
}

// slots puts an engine's lines into the buckets: each by the time that lies in them. A
// weight is what was counted in the line's time, so that each bucket has its part of it.
//
// An engine that is about to report its first line, or whose next line is not there yet,
// is not gone: its buckets are incomplete, for as long as a line may be.
func (g grid) slots(lines []mark, present Span, r rule) []slot {
	out := make([]slot, g.n)
	if len(lines) == 0 {
		return out
	}
	put := func(k int, x, w, cover float64) {
		s := &out[k]
		s.cover += cover
		if w > 0 {
			s.w += w
			s.x += (x - s.x) * w / s.w
		}
	}
	for _, m := range lines {
		switch length := float64(m.t - m.since); {
		case m.void:
		case r.point:
			put(g.index(m.t), m.x, m.w, 0)
			out[g.index(m.t)].cover = 1
		case length > 0:
			for k := max(0, g.index(m.since+1)); k <= g.index(m.t); k++ {
				part := float64(min(m.t, g.end(k)) - max(m.since, g.end(k)-g.width))
				w := part
				if r.agg.By != "" {
					w = m.w * part / length
				}
				put(k, m.x, w, part/float64(g.width))
			}
		}
	}
	for k := range out {
		out[k].life = g.end(k) > present.From && g.end(k)-g.width < present.To
		if r.agg.By == "" {
			out[k].w = out[k].cover
		}
	}
	return out
}

// shortLine is how long a line may be, in buckets, to be taken as a whole by snapped.
const shortLine = 1.5

// snapped puts each line as a whole into the bucket that holds its middle. Means over
// time need its parts where they are, see slots; but a line that lies in two buckets makes
// these resemble each other, and the error of such a mean looks larger than it is. So this
// is what errors are estimated from. Buckets that hold no middle stay as they are.
func (g grid) snapped(parts []slot, lines []mark, r rule) []slot {
	if r.point {
		return parts
	}
	out := slices.Clone(parts)
	whole := make([]slot, g.n)
	for _, m := range lines {
		length := m.t - m.since
		if m.void || length <= 0 {
			continue
		}
		first, last := max(0, g.index(m.since+1)), g.index(m.t)
		if float64(length) <= shortLine*float64(g.width) {
			first = max(0, g.index(m.since+(length+1)/2))
			last = first
		}
		for k := first; k <= last; k++ {
			part := length
			if first < last {
				part = min(m.t, g.end(k)) - max(m.since, g.end(k)-g.width)
			}
			w := float64(part)
			if r.agg.By != "" {
				w *= m.w / float64(length)
			}
			if s := &whole[k]; w > 0 {
				s.w += w
				s.x += (m.x - s.x) * w / s.w
			}
		}
	}
	for k, s := range whole {
		if s.w > 0 && parts[k].cover > 0 {
			out[k].x = s.x
			if r.agg.By != "" {
				out[k].w = s.w
			}
		}
	}
	return out
}

// joined is a row's series of one column: its engines as one.
type joined struct {
	t    []int64 // ends of buckets
	x, w []float64
	left int // buckets left out because an engine was missing
}

// join aggregates the engines' slots by the metric's rule. A sum, a maximum or a mean
// of which an engine is missing would be another one, so that bucket is left out; one of
// which only a part of the time is known counts by that part.
// Of engines that have nothing to report at times, as without any first token
// or at a step of the other kind, those that have stand for all.
func (g grid) join(engines [][]slot, r rule) joined {
	j := joined{t: make([]int64, 0, g.n), x: make([]float64, 0, g.n), w: make([]float64, 0, g.n)}
	gap := 0
	for k := range g.n {
		var sum, weight, cover float64
		top, bottom := math.Inf(-1), math.Inf(1)
		have, alive := 0, 0
		for _, slots := range engines {
			s := slots[k]
			if s.life {
				alive++
			}
			if s.cover == 0 {
				continue
			}
			have++
			weight += s.w
			cover += s.cover
			sum += s.x
			top, bottom = math.Max(top, s.x), math.Min(bottom, s.x)
		}
		if have == 0 { // of no engine: missing if there is something before and behind
			gap++
			continue
		}
		if len(j.t) > 0 && !r.sparse {
			j.left += gap
		}
		gap = 0
		if have < alive && !r.sparse {
			j.left++
			continue
		}
		x, w := sum*float64(max(alive, have))/float64(have), cover/float64(have)
		switch r.agg.Op {
		case ledger.WeightedMean:
			if !(weight > 0) {
				continue
			}
			x = 0
			for _, slots := range engines {
				if s := slots[k]; s.cover > 0 {
					x += s.x * s.w / weight
				}
			}
			w = weight
		case ledger.Max:
			x = top
		case ledger.Min:
			x = bottom
		}
		j.t = append(j.t, g.end(k))
		j.x = append(j.x, x)
		j.w = append(j.w, w)
	}
	return j
}
