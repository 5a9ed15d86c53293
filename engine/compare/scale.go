package compare

import "math"

// maxScales is how many scales a series is looked at on: its points, and means of a few.
const maxScales = 2

// minCoarse is how many means of neighbours the coarse scale has, or a few more: fewer
// would tell little, more would not be coarse.
const minCoarse = 15

// maxRho bounds autocorrelations: beyond, a series is one excursion.
const maxRho = 0.97

// scale is a series around its mean, of points or of means of neighbours.
type scale struct {
	z      []float64
	s0, s1 float64 // Σ z², Σ z z₋₁
}

func newScale(z []float64) scale {
	s := scale{z: z}
	for i, v := range z {
		s.s0 += v * v
		if i > 0 {
			s.s1 += v * z[i-1]
		}
	}
	return s
}

// means are those of m neighbours each, without the rest at the end, around their mean.
func means(z []float64, m int) []float64 {
	out := make([]float64, len(z)/m)
	total := 0.0
	for i := range out {
		for _, v := range z[i*m : (i+1)*m] {
			out[i] += v / float64(m)
		}
		total += out[i]
	}
	for i := range out {
		out[i] -= total / float64(len(out))
	}
	return out
}

// unbiased corrects a first autocorrelation of n points. Negative ones are taken as 0:
// they would promise more than independent points could hold.
func unbiased(r float64, n int) float64 {
	fn := float64(n)
	return math.Min(maxRho, math.Max(0, (r+1/fn)/(1-3/fn)))
}

// blockLength is the length that has the least mean squared error of the variance
// for a first-order autoregression (Carlstein 1986), at most a quarter of the series.
func blockLength(rho float64, n int) int {
	g := 2 * rho / (1 - rho*rho)
	l := int(math.Ceil(math.Cbrt(1.5 * g * g * float64(n))))
	return max(1, min(l, n/4))
}

// blocks is the bootstrap's variance with blocks of l points.
func (s *scale) blocks(l int, rho float64) float64 {
	n := len(s.z)
	sum := 0.0
	for _, v := range s.z[:l] {
		sum += v
	}
	squares := sum * sum
	for i := l; i < n; i++ {
		sum += s.z[i] - s.z[i-l]
		squares += sum * sum
	}
	raw := squares / float64(l) / float64(n-l+1) / float64(n) // l/n × mean of (sum/l)²
	vn := meanVariance1(rho, n)
	expected := float64(l) / float64(n) * (meanVariance1(rho, l) - vn)
	return raw * vn / expected
}

// regression is the variance of a first-order autoregression's mean, from the sum of
// squares around it.
func (s *scale) regression(rho float64) float64 {
	vn := meanVariance1(rho, len(s.z))
	return s.s0 / float64(len(s.z)) / (1 - vn) * vn
}

// meanVariance1 is the variance of the mean of n points of a first-order autoregression
// with variance 1: (1 + 2 Σ (1 − k/n) ρᵏ) ÷ n, summed in closed form.
func meanVariance1(rho float64, n int) float64 {
	fn := float64(n)
	if rho == 0 {
		return 1 / fn
	}
	q := 1 - rho
	return ((1+rho)/q - 2*rho*(1-math.Pow(rho, fn))/(fn*q*q)) / fn
}
