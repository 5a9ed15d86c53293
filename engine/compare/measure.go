package compare

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Rules for taking engines, instead of lines, as the sample.
const (
	manyEngines = 8     // from here on always
	someEngines = 3     // from here on when they differ by more than their noise
	engineLevel = 0.005 // level of the test for that
	// … of many engines' largest or smallest, which one engine more or less moves
	extremeLevel = 0.1
)

// maxTrail bounds the points of a small multiple.
const maxTrail = 120

// measured is a row's series of one side and what is known about its level.
type measured struct {
	cell   Cell
	est    estimate
	engine float64 // variance of the level by the levels of the engines, where they are the sample; else 0
	df     float64 // of engine
	round  float64 // further variance because values are printed with few digits

	memory  memory     // of the engines' series
	trend   *trend     // of a column without a steady level
	last    int64      // end of the last line, ns since 1970
	half    bool       // the level moved: only the second half of the time is in est
	before  [4]float64 // the means of the quarters of the whole time
	source  string     // key of the metric that it is of
	refusal *Reason    // why it must not be compared
}

// rule is how a metric's lines become one series.
type rule struct {
	agg        ledger.Aggregation
	counter    bool
	wavers     bool                  // a counter that may fall a little without a restart
	point      bool                  // lines are samples of a moment, and say nothing of the time before them
	sparse     bool                  // engines may have nothing to report in a line
	zeroAbsent bool                  // and then write 0
	exact      bool                  // values are counts: nothing was rounded
	scale      float64               // factor for the aggregated series
	convert    func(float64) float64 // of another metric's values into this row's; nil: as they are
}

// ruleOf reads a metric's definition.
func ruleOf(m ledger.Metric) rule {
	_, derived := derivedMetrics[m.Key]
	r := rule{wavers: derived, exact: isCounted(m), agg: m.Aggregate, counter: m.Kind == ledger.Counter, sparse: m.ZeroIsAbsent || m.Steps == ledger.SameKind,
		// A time to first token is of the step that logs too, but of whichever kind.
		point:      m.Steps == ledger.SameKind || m.ZeroIsAbsent && m.Group == ledger.Latency,
		zeroAbsent: m.ZeroIsAbsent, scale: 1}
	if m.Key == acceptLen || m.Key == verifiedLen {
		r.agg.By = verifiedSeqs
	}
	return r
}

// measure aggregates a row's engines and estimates the level.
func (v *view) measure(id rowID, r rule) measured {
	var out measured
	var lines [][]mark
	var names []string
	var present []Span
	for i := range v.series {
		s, ok := v.source(i, id, r)
		if !ok {
			continue
		}
		m := marks(s, id.kind, r, &out.cell.Left)
		if len(m) == 0 {
			continue
		}
		lines = append(lines, m)
		names = append(names, v.Engines[i].Name)
		present = append(present, s.present())
	}
	g := newGrid(lines)
	a := aligned{grid: g, names: names, lines: lines, parts: make([][]slot, len(lines)), whole: make([][]slot, len(lines))}
	for i := range lines {
		a.parts[i] = g.slots(lines[i], present[i], r)
		a.whole[i] = g.snapped(a.parts[i], lines[i], r)
	}
	j := g.join(a.parts, r)
	out.cell.Left.Alone = j.left
	out.level(a, j, r)
	out.before = out.est.quarters
	rises := out.rises()
	out.settle(a, r)
	out.findTrend(a, r)
	out.last = a.end(a.n - 1)
	if w := partly(g, present, r); w != nil {
		out.cell.Qualifications = append(out.cell.Qualifications, *w)
	}

	c := &out.cell
	c.OK = out.est.n > 0
	c.Level, c.Low, c.High, c.Spread = out.est.level, out.est.level, out.est.level, out.est.spread
	c.Points, c.Effect = out.est.n, out.est.effect
	c.Trail = trail(j, r.scale)
	c.path, c.rises = out.before, rises && !out.half
	return out
}

// aligned is the engines' lines on one grid.
type aligned struct {
	grid
	names        []string
	lines        [][]mark
	parts, whole [][]slot // by engine, see slots and snapped
}

// level estimates the level of a row's series and of its engines.
func (m *measured) level(a aligned, j joined, r rule) {
	m.est = exact(j.x, j.w, a.join(a.whole, r))
	m.est.rescale(r.scale)
	m.round = rounding(a.lines, r)
	m.perEngine(a, r)
	m.est.learn(m.memory)
}

// exact is the level of one series with the error of another, of the same engines.
func exact(x, w []float64, like joined) estimate {
	e := estimateLevel(like.x, like.w)
	if level := mean(x, w); e.n > 0 && !math.IsNaN(level) {
		e.level = level
	}
	e.quarters, e.drifts = byQuarters(x, w), drifting(like.x)
	return e
}

// source is an engine's series of a row with what weighs it.
func (v *view) source(engine int, id rowID, r rule) (s source, ok bool) {
	all := v.series[engine]
	s = source{Series: all[id.seriesID], from: v.From, breaks: v.Engines[engine].Breaks, captured: v.Engines[engine].Captured}
	if s.Series == nil {
		return s, false
	}
	s.usual = usualDistance(s.Times)
	if r.agg.Op == ledger.WeightedMean && r.agg.By != "" {
		if s.weights = all[seriesID{r.agg.By, id.label}]; s.weights == nil {
			s.weights = all[seriesID{r.agg.By, ""}]
		}
	}
	return s, true
}

// perEngine fills in the engines' levels, and the variance that comes from their
// differing among themselves.
//
// The lines' noise says how well these engines' level is known. If engines of one
// deployment differ by more than that (other hosts, other experts), then another
// draw of engines would have had another level; that excess is part of the
// difference of two deployments. With few engines it is taken in only if it is
// evident, because its estimate is then poor itself.
func (m *measured) perEngine(a aligned, r rule) {
	var levels []float64
	var noise, df float64
	for i, lines := range a.lines {
		used := 0
		for _, l := range lines {
			if !l.void && l.w > 0 {
				used++
			}
		}
		m.cell.Lines += used
		x, w := known(a.parts[i])
		if len(x) == 0 {
			continue
		}
		likeX, likeW := known(a.whole[i])
		e := exact(x, w, joined{x: likeX, w: likeW})
		levels = append(levels, e.level)
		m.memory.add(e)
		noise += e.v
		df += e.df
		m.cell.Engines = append(m.cell.Engines, EngineLevel{Name: a.names[i], Level: e.level, Lines: used})
	}
	markOutliers(m.cell.Engines)
	n := len(levels)
	if n < someEngines || math.IsInf(noise, 0) {
		return
	}
	mean, between := meanVariance(levels)
	noise /= float64(n)
	if math.Sqrt(between) <= 1e-9*math.Abs(mean) {
		return
	}
	factor, level := 1/float64(n), engineLevel // of a mean
	switch r.agg.Op {
	case ledger.Sum:
		factor = float64(n)
	case ledger.WeightedMean:
	default: // an extreme strays by less than one engine does
		factor = 1
		if n >= manyEngines {
			level = extremeLevel
		}
	}
	always := n >= manyEngines && factor != 1
	if !always && (between <= noise || noise > 0 && fTail(between/noise, float64(n-1), df) > level) {
		return
	}
	m.engine = between * factor * r.scale * r.scale
	m.df = float64(n - 1)
}

// known are the values of one engine's slots that have weight.
func known(all []slot) (x, w []float64) {
	x, w = make([]float64, 0, len(all)), make([]float64, 0, len(all))
	for _, s := range all {
		if s.w > 0 {
			x, w = append(x, s.x), append(w, s.w)
		}
	}
	return x, w
}

// mean is that of values by weight; NaN when nothing has any.
func mean(x, w []float64) float64 {
	var sum, weight float64
	for i := range x {
		sum += w[i] * x[i]
		weight += w[i]
	}
	return sum / weight
}

func meanVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x)-1)
}

// markOutliers marks engines far from the others: beyond three robust standard
// deviations (1.4826 × the median distance from the median) and 2 % of the median.
func markOutliers(engines []EngineLevel) {
	if len(engines) < 4 {
		return
	}
	levels := make([]float64, len(engines))
	for i, e := range engines {
		levels[i] = e.Level
	}
	mid := median(levels)
	for i := range levels {
		levels[i] = math.Abs(levels[i] - mid)
	}
	far := math.Max(3*1.4826*median(levels), 0.02*math.Abs(mid))
	for i := range engines {
		engines[i].Outlier = math.Abs(engines[i].Level-mid) > far
	}
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// trail thins a series to minima and maxima, so that spikes survive.
func trail(j joined, scale float64) []Point {
	n := len(j.x)
	out := make([]Point, 0, min(n, maxTrail))
	at := func(i int) Point { return Point{j.t[i], j.x[i] * scale} }
	if n <= maxTrail {
		for i := range j.x {
			out = append(out, at(i))
		}
		return out
	}
	const bins = maxTrail / 2
	for b := range bins {
		from, to := b*n/bins, (b+1)*n/bins
		lo, hi := from, from
		for i := from; i < to; i++ {
			if j.x[i] < j.x[lo] {
				lo = i
			}
			if j.x[i] > j.x[hi] {
				hi = i
			}
		}
		out = append(out, at(min(lo, hi)))
		if lo != hi {
			out = append(out, at(max(lo, hi)))
		}
	}
	return out
}
