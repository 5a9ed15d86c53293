package compare

import "math"

// What a verdict needs at least.
const (
	minPoints = 20 // buckets of time on each side
	minEffect = 8  // independent points that they are worth
)

// estimate is the weighted mean of a series over time and how exactly it is known.
type estimate struct {
	level  float64
	spread float64 // standard deviation of the points
	v      float64 // variance of level
	df     float64 // degrees of freedom of v
	n      int
	effect float64 // independent points that the n are worth
	skew   float64 // skewness of the points

	scales []scale // finest first; none where the series is constant
	unit   float64 // factor of the scales' values in the level

	quarters [4]float64 // means of the points of each quarter of the time, by weight
	drifts   bool       // … differ evidently
}

// estimateLevel takes the points of a series by rising time; w nil weighs all
// alike.
//
// The variance of the level is that of independent points times an inflation, because
// neighbours resemble each other. The inflation is that of the moving-block bootstrap
// (Künsch 1989) in its limit of infinitely many resamples, which has a closed form: the
// overlapping blocks' means around the whole mean. It needs no random numbers and is
// exact far out in the tails, where the tests of a large table are decided. Three
// corrections make it fit for short series, where blocks are few:
//
//   - it is scaled by what the closed form would miss for a first-order
//     autoregression with the series' autocorrelation, which is corrected for its known
//     bias −(1+3ρ)/n (Kendall 1954);
//   - the inflation of that autoregression is a lower bound;
//   - both are computed for the points and for means of a few neighbours, and the
//     largest counts: noise of single points hides how slowly what is below it moves.
//
// TestIntervalsCover shows what comes out. Here the series stands alone; for a difference
// the inflation comes from all engines of both columns, see pooled.
func estimateLevel(x, w []float64) estimate {
	n := len(x)
	if n == 0 {
		return estimate{level: math.NaN(), spread: math.NaN()}
	}
	weight := func(i int) float64 {
		if w == nil {
			return 1
		}
		return w[i]
	}
	var sumW, sumX float64
	for i := range x {
		sumW += weight(i)
		sumX += weight(i) * x[i]
	}
	if !(sumW > 0) { // nothing has weight: there is nothing to prefer either
		return estimateLevel(x, nil)
	}
	e := estimate{level: sumX / sumW, n: n, df: math.Max(1, float64(n-1)), effect: float64(n), unit: 1}
	meanW := sumW / float64(n)
	// z is the series' first-order part in the level: for equal weights the deviation from it.
	z := make([]float64, n)
	var squares, cubes, spread, size float64
	for i := range x {
		d := x[i] - e.level
		z[i] = weight(i) / meanW * d
		squares += z[i] * z[i]
		cubes += z[i] * z[i] * z[i]
		spread += weight(i) / meanW * d * d
		size = math.Max(size, math.Abs(x[i]))
	}
	if math.Sqrt(squares/float64(n)) <= 1e-12*size { // constant but for rounding
		return e
	}
	if n < 4 { // a variance of so few says nothing
		e.v, e.df, e.effect = math.Inf(1), 1, 1
		return e
	}
	e.spread = math.Sqrt(spread / float64(n-1))
	e.scales = append(e.scales, newScale(z))
	if m := n / minCoarse; m > 1 {
		e.scales = append(e.scales, newScale(means(z, m)))
	}
	e.inflate(memory{e}.inflation())
	e.skew = skewness(squares, cubes, n)
	return e
}

// byQuarters are the means of a series' quarters, by weight.
func byQuarters(x, w []float64) (q [4]float64) {
	n := len(x)
	for k := range q {
		if from, to := k*n/4, (k+1)*n/4; from < to {
			q[k] = mean(x[from:to], w[from:to])
		}
	}
	return q
}

// inflate sets the variance of the level by an inflation and its degrees of freedom.
// Those of the points' own variance are fewer than the points: for a first-order
// autoregression n (1−ρ²)/(1+ρ²), which is about 1.8 n ÷ inflation in between.
func (e *estimate) inflate(factor, df float64) {
	n := float64(e.n)
	e.v = factor * e.scales[0].s0 / (n * n) * e.unit * e.unit
	e.effect = math.Min(n, n/factor)
	e.df = math.Max(1, 1/(1/math.Min(n-1, 1.8*e.effect)+1/df))
}

// rescale multiplies the level by a factor.
func (e *estimate) rescale(f float64) {
	e.level *= f
	e.spread *= math.Abs(f)
	e.v *= f * f
	e.unit *= f
	e.skew = math.Copysign(1, f) * e.skew
	for q := range e.quarters {
		e.quarters[q] *= f
	}
}

// needsPoints is how many more points a verdict needs; 0 when there are enough.
func (e *estimate) needsPoints() int {
	need := minPoints - e.n
	if e.effect < minEffect && e.v > 0 {
		need = max(need, int(math.Ceil(float64(e.n)*minEffect/math.Max(e.effect, 0.5)))-e.n)
	}
	return max(0, need)
}
