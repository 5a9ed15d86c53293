package compare

import (
	"fmt"
	"math"

	"github.com/stepscope/stepscope/engine/ledger"
)

// What is asked of latencies that are told apart though their samples are too few for an
// interval of the mean: as where a queue without end takes times to first token from
// milliseconds to minutes within a few lines.
const (
	minApart  = 12 // points of each side
	apartBy   = 30 // times the largest of the lower side that the smallest of the higher one is
	apartLogs = 8  // distance of the means of the logarithms, in the larger of the two standard deviations
)

// separated judges latencies whose samples don't overlap by far. Hardly ever are two
// stretches of one process so far apart, even lognormal ones with a variation of 150 % and
// an autocorrelation of 0.97: then 2 in 1,000 of 12 points, see TestFarApartIsNoChance. It
// is not asked of other rows, so that it is no further chance of a false verdict for these.
// The interval is what was seen: from the nearest two samples to the farthest.
func separated(r *Row, a, b *measured, d *Difference) (*Reason, bool) {
	if !r.Headline || r.Metric.Group != ledger.Latency {
		return nil, false
	}
	x, ok := logs(a.cell.Trail)
	y, fine := logs(b.cell.Trail)
	if !ok || !fine || min(a.est.n, b.est.n) < minApart || min(x.n, y.n) < minApart {
		return nil, false
	}
	low, high := x, y
	if y.mean < x.mean {
		low, high = y, x
	}
	if high.min < apartBy*low.max || high.mean-low.mean < apartLogs*math.Max(low.sd, high.sd) {
		return nil, false
	}
	nearest, farthest := y.min-x.max, y.max-x.min
	d.interval = func(float64) (float64, float64) { return nearest, farthest }
	d.SE, d.DF, d.P, d.Adjusted = math.NaN(), math.NaN(), math.NaN(), math.NaN() // no test stands behind it
	return why(Apart, "few data, far apart", "数据少，但相距甚远",
		fmt.Sprintf("The samples are too few for an interval of the mean, but they don't overlap by far: the smallest of the longer ones (%s) is %.0f times the largest of the shorter ones (%s). The interval shown is from the nearest two samples to the farthest.",
			Figure(high.min, r.Unit), high.min/low.max, Figure(low.max, r.Unit)),
		fmt.Sprintf("样本不足以给出均值的区间，但两者远不重叠：较长一列的最小值（%s）是较短一列最大值（%s）的 %.0f 倍。所示区间为两列最近与最远样本之差。",
			Figure(high.min, r.Unit), Figure(low.max, r.Unit), high.min/low.max)), true
}

// logged are points and their logarithms.
type logged struct {
	n        int
	min, max float64
	mean, sd float64 // of the logarithms
}

// logs is false where a point is not above 0.
func logs(points []Point) (l logged, ok bool) {
	all := make([]float64, 0, len(points))
	l.min, l.max = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if !(p.Value > 0) {
			return l, false
		}
		l.min, l.max = math.Min(l.min, p.Value), math.Max(l.max, p.Value)
		all = append(all, math.Log(p.Value))
	}
	if l.n = len(all); l.n < 2 {
		return l, false
	}
	var variance float64
	l.mean, variance = meanVariance(all)
	l.sd = math.Sqrt(variance)
	return l, true
}
