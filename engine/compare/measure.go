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
)

// maxTrail bounds the points of a small multiple.
const maxTrail = 120

// measured is a row's series of one side and what is known about its level.
type measured struct {
	cell   Cell
	est    estimate
	engine float64 // further variance of the level because engines differ among themselves
	df     float64 // of engine

	memory  memory     // of the engines' series
	half    bool       // the level moved: only the second half of the time is in est
	before  [4]float64 // then, the means of the quarters of the whole time
	refusal *Reason    // why it must not be compared
}

// rule is how a metric's lines become one series.
type rule struct {
	agg        ledger.Aggregation
	counter    bool
	wavers     bool                  // a counter that may fall a little without a restart
	sparse     bool                  // engines may have nothing to report in a line
	zeroAbsent bool                  // and then write 0
	scale      float64               // factor for the aggregated series
	convert    func(float64) float64 // of another metric's values into this row's; nil: as they are
}

// ruleOf reads a metric's definition.
func ruleOf(m ledger.Metric) rule {
	_, derived := derivedMetrics[m.Key]
	return rule{wavers: derived, agg: m.Aggregate, counter: m.Kind == ledger.Counter, sparse: m.ZeroIsAbsent || m.Steps == ledger.SameKind,
		zeroAbsent: m.ZeroIsAbsent, scale: 1}
}

// measure aggregates a row's engines and estimates the level.
func (v *view) measure(id rowID, r rule) measured {
	var out measured
	var lines [][]mark
	var names []string
	for i, all := range v.series {
		s := all[id.seriesID]
		if s == nil {
			continue
		}
		m := marks(s, v.weights(i, id, r), id.kind, r, &out.cell.Left)
		if len(m) == 0 {
			continue
		}
		lines = append(lines, m)
		names = append(names, v.Engines[i].Name)
	}
	pace := paces(lines)
	g := newGrid(lines, pace)
	slots := make([][]slot, len(lines))
	for i := range lines {
		slots[i] = g.slots(lines[i], pace[i], !r.zeroAbsent, r.agg.By == "")
	}
	j := g.join(slots, r.agg.Op, r.sparse)
	out.cell.Left.Alone = j.left
	out.est = j.estimate(r)
	out.perEngine(lines, slots, names, r)
	out.est.learn(out.memory)
	out.settle(g, lines, slots, names, r)

	c := &out.cell
	c.OK = out.est.n > 0
	c.Level, c.Low, c.High, c.Spread = out.est.level, out.est.level, out.est.level, out.est.spread
	c.Points, c.Effect = out.est.n, out.est.effect
	c.Trail = trail(j, r.scale)
	return out
}

func (j joined) estimate(r rule) estimate {
	w := j.w
	if r.agg.Op != ledger.WeightedMean || r.agg.By == "" {
		w = nil // every moment counts the same
	}
	e := estimateLevel(j.x, w)
	e.rescale(r.scale)
	return e
}

// weights is the series that weighs a row's lines, nil for equal weights.
func (v *view) weights(engine int, id rowID, r rule) *Series {
	if r.agg.Op != ledger.WeightedMean || r.agg.By == "" {
		return nil
	}
	if s := v.series[engine][seriesID{r.agg.By, id.label}]; s != nil {
		return s
	}
	return v.series[engine][seriesID{r.agg.By, ""}]
}

// perEngine fills in the engines' levels, and the variance that comes from their
// differing among themselves.
//
// The lines' noise says how well these engines' level is known. If engines of one
// deployment differ by more than that (other hosts, other experts), then another
// draw of engines would have had another level; that excess is part of the
// difference of two deployments. With few engines it is taken in only if it is
// evident, because its estimate is then poor itself.
func (m *measured) perEngine(lines [][]mark, slots [][]slot, names []string, r rule) {
	var levels []float64
	var noise, df float64
	for i, all := range slots {
		var x, w []float64
		for _, s := range all {
			if s.have && (s.w > 0 || r.agg.By == "") {
				x, w = append(x, s.x), append(w, s.w)
			}
		}
		used := 0
		for _, l := range lines[i] {
			if !l.void {
				used++
			}
		}
		m.cell.Lines += used
		if len(x) == 0 {
			continue
		}
		if r.agg.By == "" {
			w = nil
		}
		e := estimateLevel(x, w)
		levels = append(levels, e.level)
		m.memory.add(e)
		noise += e.v
		df += e.df
		m.cell.Engines = append(m.cell.Engines, EngineLevel{Name: names[i], Level: e.level, Lines: used})
	}
	markOutliers(m.cell.Engines)
	n := len(levels)
	if n < someEngines || r.agg.Op != ledger.Sum && r.agg.Op != ledger.WeightedMean || math.IsInf(noise, 0) {
		return
	}
	mean, between := meanVariance(levels)
	noise /= float64(n)
	if between <= noise || math.Sqrt(between) <= 1e-9*math.Abs(mean) {
		return
	}
	if n < manyEngines && noise > 0 && fTail(between/noise, float64(n-1), df) > engineLevel {
		return
	}
	factor := 1 / float64(n) // of a mean
	if r.agg.Op == ledger.Sum {
		factor = float64(n)
	}
	m.engine = (between - noise) * factor * r.scale * r.scale
	m.df = float64(n - 1)
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
