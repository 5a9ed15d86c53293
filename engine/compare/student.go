package compare

import "math"

// tTail is the chance that Student's t with df degrees of freedom lies beyond ±t:
// the regularised incomplete beta function at df ÷ (df + t²) with ½df and ½.
func tTail(t, df float64) float64 {
	if math.IsNaN(t) || !(df > 0) {
		return 1
	}
	if math.IsInf(t, 0) {
		return 0
	}
	return incompleteBeta(df/2, 0.5, df/(df+t*t))
}

// tQuantile is the t beyond which, on both sides together, p of Student's distribution lies.
func tQuantile(p, df float64) float64 {
	if !(p > 0) || !(df > 0) {
		return math.Inf(1)
	}
	lo, hi := 0.0, 1.0
	for tTail(hi, df) > p && hi < 1e12 {
		lo, hi = hi, 2*hi
	}
	// Newton's method, held between the bounds: the tail's slope is minus twice the density.
	la, _ := math.Lgamma((df + 1) / 2)
	lb, _ := math.Lgamma(df / 2)
	norm := la - lb - 0.5*math.Log(df*math.Pi)
	t := (lo + hi) / 2
	for range 60 {
		d := tTail(t, df) - p
		if d > 0 {
			lo = t
		} else {
			hi = t
		}
		next := t + d/(2*math.Exp(norm-(df+1)/2*math.Log1p(t*t/df)))
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		if math.Abs(next-t) <= 1e-9*next {
			return next
		}
		t = next
	}
	return t
}

// fTail is the chance that an F-distributed ratio of variances exceeds f.
func fTail(f, df1, df2 float64) float64 {
	if !(f > 0) {
		return 1
	}
	return incompleteBeta(df2/2, df1/2, df2/(df2+df1*f))
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b), by its
// continued fraction (Abramowitz and Stegun 26.5.8) with Lentz's method.
func incompleteBeta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // the fraction converges fast on the other side only
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny = 1e-300
	c, d := 1.0, 1-(a+b)*x/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	f := d
	for m := 1.0; m < 500; m++ {
		for _, k := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			if d = 1 + k*d; math.Abs(d) < tiny {
				d = tiny
			}
			if c = 1 + k/c; math.Abs(c) < tiny {
				c = tiny
			}
			d = 1 / d
			f *= c * d
		}
		if math.Abs(c*d-1) < 1e-14 {
			break
		}
	}
	return front * f
}
