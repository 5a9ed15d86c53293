package compare

import "math"

// evidentSkew is how many standard errors of a normal sample's skewness, √(6 ÷ n), the
// points' must be away from 0 to be taken for real.
const evidentSkew = 2.5

// skewness is that of points around their mean, from their sums of powers.
func skewness(squares, cubes float64, points int) float64 {
	v := squares / float64(points)
	if !(v > 0) {
		return 0
	}
	return cubes / float64(points) / math.Pow(v, 1.5)
}

// jointSkew is the skewness of two columns' points, 0 where as many independent normal
// points would show as much. It is one for both: a short column that has missed the rare
// large values looks symmetric, and it is this one that misleads.
func jointSkew(a, b *estimate) float64 {
	n := a.effect + b.effect
	if !(n > 2) {
		return 0
	}
	s := (a.skew*a.effect + b.skew*b.effect) / n
	if math.Abs(s) <= evidentSkew*math.Sqrt(6/n) {
		return 0
	}
	return s
}

// cumulant is the third one of the level: that of a mean of effect independent points.
func (e *estimate) cumulant(skew float64) float64 {
	if !(e.v > 0) {
		return 0
	}
	return skew * math.Pow(e.v, 1.5) / math.Sqrt(e.effect)
}

// skewed widens a difference's standard error where its sign fits the points' skewness.
//
// Points with a few large values among them make a mean and its error depend on each
// other: without those values a column looks both low and exactly known. Two columns alike
// make up for each other, a short one against a long one does not. Hall (1992) transforms
// Student's statistic t with skewness κ into one that is nearly without:
//
//	t + κt²/3 + κ²t³/27 + κ/6
//
// Where this is nearer to 0, the error is taken to be larger by as much. Where it is
// farther away nothing is gained: a verdict must not rest on a skewness that is itself
// only estimated.
func (d *Difference) skewed(a, b *estimate) {
	v := d.SE * d.SE
	if !(v > 0) || math.IsInf(v, 0) {
		return
	}
	skew := jointSkew(a, b)
	k := (b.cumulant(skew) - a.cumulant(skew)) / math.Pow(v, 1.5)
	t := d.Value / d.SE
	if k*t >= 0 {
		return
	}
	h := t + k*t*t/3 + k*k*t*t*t/27 + k/6
	switch {
	case h*t <= 0 || math.Abs(h) < math.Abs(t)/mostSkew:
		d.SE *= mostSkew
	case math.Abs(h) < math.Abs(t):
		d.SE *= t / h
	}
}

// mostSkew bounds what skewness widens an error by.
const mostSkew = 4
