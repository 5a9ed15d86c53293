package compare

import "math"

// What a verdict needs at least.
const (
	minPoints = 20 // buckets of time on each side
	minEffect = 6  // independent points that they are worth
)

// estimate is the weighted mean of a series over time and how exactly it is known.
type estimate struct {
	level  float64
	spread float64 // standard deviation of the points
	v      float64 // variance of level
	df     float64 // degrees of freedom of v
	n      int
	effect float64 // independent points that the n are worth
	block  int     // points in a block

	z      []float64 // the points' first-order parts in the level, whose mean is 0; nil where v needs none
	s0, s1 float64   // Σ z², Σ z z₋₁
	unit   float64   // factor of z in the level
}

// estimateLevel takes the points of a series by rising time; w nil weighs all
// alike.
//
// The variance is that of the mean under the moving-block bootstrap (Künsch 1989)
// in its limit of infinitely many resamples, which has a closed form: the
// overlapping blocks' means around the whole mean. It needs no random numbers and
// is exact far out in the tails, where the tests of a large table are decided. Two
// corrections make it fit for short series, where blocks are few:
//
//   - it is scaled by what the closed form would miss for a first-order
//     autoregression with the series' own autocorrelation, which is corrected for
//     its known bias −(1+3ρ)/n (Kendall 1954);
//   - the plain variance of that autoregression is a lower bound.
//
// The degrees of freedom are those of overlapping batch means, 1.5 (n/l − 1)
// (Meketon and Schmeiser 1984). TestIntervalsCover shows what comes out.
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
	e := estimate{level: sumX / sumW, n: n, block: 1, df: math.Max(1, float64(n-1)), effect: float64(n), unit: 1}
	meanW := sumW / float64(n)
	// z is the series' first-order part in the level: for equal weights the deviation from it.
	z := make([]float64, n)
	var sq, scale float64
	for i := range x {
		d := x[i] - e.level
		z[i] = weight(i) / meanW * d
		sq += weight(i) / meanW * d * d
		e.s0 += z[i] * z[i]
		if i > 0 {
			e.s1 += z[i] * z[i-1]
		}
		scale = math.Max(scale, math.Abs(x[i]))
	}
	if n > 1 {
		e.spread = math.Sqrt(sq / float64(n-1))
	}
	if math.Sqrt(e.s0/float64(n)) <= 1e-12*scale { // constant but for rounding
		e.spread = 0
		return e
	}
	if n < 4 { // a variance of so few says nothing
		e.v, e.df, e.effect = math.Inf(1), 1, 1
		return e
	}
	e.z = z
	e.correlate(autocorrelation(e.s1/e.s0, n))
	return e
}

// correlate computes the variance for an autocorrelation.
func (e *estimate) correlate(rho float64) {
	e.block = blockLength(rho, e.n)
	e.v = math.Max(blockVariance(e.z, e.block, rho), arVariance(e.s0, rho, e.n)) * e.unit * e.unit
	e.df = math.Max(1, 1.5*(float64(e.n)/float64(e.block)-1))
	e.effect = math.Min(float64(e.n), e.s0*e.unit*e.unit/float64(e.n-1)/e.v)
}

// memory is what is known about a metric's autocorrelation from several series.
type memory struct {
	sum float64 // Σ n × first autocorrelation of the series
	n   float64 // points of all series
	of  int     // series
}

func (m *memory) add(e estimate) {
	if e.z != nil {
		m.sum += float64(e.n) * e.s1 / e.s0
		m.n += float64(e.n)
		m.of++
	}
}

// pooled recomputes the estimates of two columns with the autocorrelation that all
// engines of both show together, which is far better known than that of one series, and
// decides how long the blocks have to be. One standard error is added, so that short
// series don't look more certain than they are. A column that evidently has another
// autocorrelation, as where the load moves all engines alike, keeps its own.
func pooled(a, b estimate, m memory) (estimate, estimate) {
	if m.of == 0 {
		return a, b
	}
	r := autocorrelation(m.sum/m.n, int(m.n)/m.of)
	margin := math.Sqrt((1 - r*r) / m.n)
	for _, e := range []*estimate{&a, &b} {
		if e.z == nil {
			continue
		}
		own := autocorrelation(e.s1/e.s0, e.n)
		if sd := math.Sqrt((1 - r*r) / float64(e.n)); math.Abs(own-r) > 2.5*sd {
			e.correlate(math.Min(maxRho, own+sd))
			continue
		}
		e.correlate(math.Min(maxRho, r+margin))
	}
	return a, b
}

// maxRho bounds autocorrelations: beyond, a series is one excursion.
const maxRho = 0.97

// autocorrelation is the first one, corrected for bias. Negative ones are taken as
// 0: they would promise more than independent points could hold.
func autocorrelation(r float64, n int) float64 {
	fn := float64(n)
	r = (r + 1/fn) / (1 - 3/fn)
	return math.Min(maxRho, math.Max(0, r))
}

// blockLength is the length that has the least mean squared error of the variance
// for a first-order autoregression (Carlstein 1986), at most a quarter of the series.
func blockLength(rho float64, n int) int {
	g := 2 * rho / (1 - rho*rho)
	l := int(math.Ceil(math.Cbrt(1.5 * g * g * float64(n))))
	return max(1, min(l, n/4))
}

// blockVariance is the bootstrap's variance of the mean of z, which has mean 0.
func blockVariance(z []float64, l int, rho float64) float64 {
	n := len(z)
	sum := 0.0
	for _, v := range z[:l] {
		sum += v
	}
	squares := sum * sum
	for i := l; i < n; i++ {
		sum += z[i] - z[i-l]
		squares += sum * sum
	}
	raw := squares / float64(l) / float64(n-l+1) / float64(n) // l/n × mean of (sum/l)²
	vn := arMean(rho, n)
	expected := float64(l) / float64(n) * (arMean(rho, l) - vn)
	return raw * vn / expected
}

// arVariance is the variance of the mean of a first-order autoregression, from the
// sum of squares around the series' mean.
func arVariance(s0, rho float64, n int) float64 {
	vn := arMean(rho, n)
	return s0 / float64(n) / (1 - vn) * vn
}

// arMean is the variance of the mean of n points of a first-order autoregression
// with variance 1: (1 + 2 Σ (1 − k/n) ρᵏ) ÷ n, summed in closed form.
func arMean(rho float64, n int) float64 {
	fn := float64(n)
	if rho == 0 {
		return 1 / fn
	}
	q := 1 - rho
	return ((1+rho)/q - 2*rho*(1-math.Pow(rho, fn))/(fn*q*q)) / fn
}

// needsPoints is how many more points a verdict needs; 0 when there are enough.
func (e estimate) needsPoints() int {
	need := minPoints - e.n
	if e.effect < minEffect && e.v > 0 {
		need = max(need, int(math.Ceil(float64(e.n)*minEffect/math.Max(e.effect, 0.5)))-e.n)
	}
	return max(0, need)
}
