package compare

import (
	"math"
	"slices"
	"sort"

	"github.com/stepscope/stepscope/engine/ledger"
)

// maxBuckets bounds the points of an aggregated series: longer times have wider buckets.
const maxBuckets = 1440

// reach is how late, in distances between lines, a line may come and still stand for a
// bucket that ended before it: lines jitter.
const reach = 0.5

// mark is one sample of one engine, ready for alignment.
type mark struct {
	t    int64
	x, w float64
	void bool // left out, and nothing later may stand in for it
}

// marks reads a series for one kind of step: what may not be used becomes void,
// counters become rates per second, and a 0 that means nothing is nothing.
func marks(s *Series, weights *Series, kind StepKind, r rule, left *Left) []mark {
	out := make([]mark, 0, len(s.Values))
	prev := -1 // last finite sample, for rates
	at := 0    // in weights
	for i, v := range s.Values {
		var f Flags
		if i < len(s.Flags) {
			f = s.Flags[i]
		}
		if !ofKind(f, kind) || r.zeroAbsent && v == 0 {
			continue
		}
		m := mark{t: s.Times[i], x: v, w: 1}
		last := prev
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			prev = i
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			left.NotFinite++
			m.void = true
		case f&Perturbed != 0:
			left.Perturbed++
			m.void = true
		case f&Filling != 0:
			left.Filling++
			m.void = true
		case r.counter:
			if last < 0 || s.Times[i] <= s.Times[last] {
				continue // a rate needs two moments
			}
			if v < s.Values[last] && !r.wavers || f&ClockJump != 0 {
				left.Resets++
				m.void = true
				break
			}
			m.x = (v - s.Values[last]) / (float64(s.Times[i]-s.Times[last]) / 1e9)
		}
		if r.convert != nil {
			if m.x = r.convert(m.x); math.IsInf(m.x, 0) || math.IsNaN(m.x) {
				m.x, m.void = 0, true
			}
		}
		if weights != nil {
			for at < len(weights.Times) && weights.Times[at] < m.t {
				at++
			}
			m.w = 0
			if at < len(weights.Times) && weights.Times[at] == m.t && weights.Values[at] > 0 {
				m.w = weights.Values[at]
			}
		}
		out = append(out, m)
	}
	return out
}

func ofKind(f Flags, kind StepKind) bool {
	switch kind {
	case PromptSteps:
		return f&PromptStep != 0
	case DecodeSteps:
		return f&DecodeStep != 0
	}
	return true
}

// paces are the intervals of several engines.
func paces(engines [][]mark) []int64 {
	out := make([]int64, len(engines))
	for i := range engines {
		out[i] = interval(engines[i])
	}
	return out
}

// interval is the median distance of an engine's lines; 0 with fewer than two.
func interval(lines []mark) int64 {
	d := make([]int64, 0, len(lines))
	for i := 1; i < len(lines); i++ {
		if gap := lines[i].t - lines[i-1].t; gap > 0 {
			d = append(d, gap)
		}
	}
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// grid is the buckets of time into which a row's lines are put: bucket k is
// (from + k·width, from + (k+1)·width], since a line speaks for the time before it.
type grid struct {
	from, width int64
	n           int
}

// newGrid makes buckets, given each engine's lines and their interval: as wide as the distance of the slowest engine's lines, so
// that every engine has about one line or more in each.
func newGrid(engines [][]mark, pace []int64) grid {
	first, last, width := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
	for i, lines := range engines {
		if len(lines) == 0 {
			continue
		}
		first = min(first, lines[0].t)
		last = max(last, lines[len(lines)-1].t)
		width = max(width, pace[i])
	}
	if last < first {
		return grid{}
	}
	span := last - first
	width = max(width, span/maxBuckets+1)
	g := grid{from: first - width, width: width}
	g.n = g.index(last) + 1
	return g
}

// index is the bucket of a moment.
func (g grid) index(t int64) int { return int((t - g.from - 1) / g.width) }

// end is the last moment of a bucket.
func (g grid) end(k int) int64 { return g.from + int64(k+1)*g.width }

// slot is one engine's part of one bucket.
type slot struct {
	x, w float64 // weighted mean of the lines, and the sum of their weights
	have bool    // a line lies in the bucket, or a later one speaks for it
	life bool    // the engine reports at this time: it has to be part of a sum
}

// slots puts an engine's lines into the buckets. With fill a bucket without a line
// takes the next one's value if that follows within reach of the engine's own pace;
// equal lets an engine count once however many lines it has.
func (g grid) slots(lines []mark, pace int64, fill, equal bool) []slot {
	out := make([]slot, g.n)
	if len(lines) == 0 {
		return out
	}
	void := make([]bool, g.n)
	for _, m := range lines {
		k := g.index(m.t)
		if m.void {
			void[k] = true
			continue
		}
		s := &out[k]
		if s.w+m.w > 0 {
			s.x += (m.x - s.x) * m.w / (s.w + m.w)
		}
		s.w += m.w
		s.have = true
	}
	if equal {
		for k := range out {
			out[k].w = 1
		}
	}
	first, last := g.index(lines[0].t), g.index(lines[len(lines)-1].t)
	far := int64(reach * float64(max(pace, g.width)))
	// An engine that is just about to report its first line, or has just reported its last one, is not gone: the bucket
	// is incomplete.
	margin := int(far/g.width) + 1
	for k := max(0, first-margin); k <= min(g.n-1, last+margin); k++ {
		out[k].life = true
		if k > last || out[k].have || void[k] || !fill {
			continue
		}
		next := sort.Search(len(lines), func(i int) bool { return lines[i].t > g.end(k) })
		if next < len(lines) && !lines[next].void && lines[next].t-g.end(k) <= far {
			out[k].x, out[k].have = lines[next].x, true
			if !equal {
				out[k].w = lines[next].w
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
// of which an engine is missing would be another one, so that bucket is left out.
// sparse says that engines have nothing to report at times, as without any first token
// or at a step of the other kind: then those that have stand for all.
func (g grid) join(engines [][]slot, op ledger.Op, sparse bool) joined {
	var j joined
	for k := range g.n {
		var sum, weight float64
		top, bottom := math.Inf(-1), math.Inf(1)
		have, alive := 0, 0
		for _, slots := range engines {
			s := slots[k]
			if s.life {
				alive++
			}
			if !s.have {
				continue
			}
			have++
			weight += s.w
			sum += s.x
			top, bottom = math.Max(top, s.x), math.Min(bottom, s.x)
		}
		if have == 0 {
			continue
		}
		if have < alive && !sparse {
			j.left++
			continue
		}
		x, w := sum*float64(max(alive, have))/float64(have), 1.0
		switch op {
		case ledger.WeightedMean:
			if !(weight > 0) {
				continue
			}
			x = 0
			for _, slots := range engines {
				if s := slots[k]; s.have {
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
