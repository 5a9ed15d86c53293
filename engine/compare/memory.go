package compare

import "math"

// memory is what several series tell of how much a metric's samples resemble their
// neighbours: the more they do, the less their number counts.
type memory []estimate

func (m *memory) add(e estimate) {
	if len(e.scales) > 0 {
		*m = append(*m, e)
	}
}

// rho is the autocorrelation of a scale that the series show together, and the points it
// rests on; none when no series is long enough.
func (m memory) rho(scale int) (r, n float64) {
	series := 0.0
	for _, e := range m {
		if scale < len(e.scales) && e.scales[scale].s0 > 0 {
			s := &e.scales[scale]
			r += float64(len(s.z)) * s.s1 / s.s0
			n += float64(len(s.z))
			series++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return unbiased(r/n, int(n/series)), n
}

// inflation is by what factor the variance of the mean exceeds that of independent
// points, with the degrees of freedom of that knowledge. Each scale is looked at in two
// ways, by blocks and as an autoregression, over all series together; the largest counts.
// One standard error is added to autocorrelations, so that short series don't look more
// certain than they are.
func (m memory) inflation() (factor, df float64) {
	for i := range maxScales {
		r, n := m.rho(i)
		if n == 0 {
			continue
		}
		r = math.Min(maxRho, r+math.Sqrt((1-r*r)/n))
		var blocks, regression, weight, free float64
		for _, e := range m {
			if i >= len(e.scales) {
				continue
			}
			s, fine := &e.scales[i], &e.scales[0]
			w := float64(e.n)
			base := fine.s0 / (w * w)
			l := blockLength(r, len(s.z))
			blocks += w * s.blocks(l, r) / base
			regression += w * s.regression(r) / base
			weight += w
			free += 1.5 * (float64(len(s.z))/float64(l) - 1)
		}
		if f := math.Max(blocks, regression) / weight; f > factor {
			factor, df = f, math.Max(1, free)
		}
	}
	return factor, df
}

// farApart is how many standard errors two autocorrelations may differ by before they
// are taken for two.
const farApart = 3.5

// pooled recomputes the estimates of two columns with what all engines of both tell
// together, which is far better known than what one series does. Columns whose engines
// evidently differ in that keep their own; and so does a column whose joint series has
// more inflation than its engines, as where the load moves all of them alike.
func pooled(a, b estimate, engines [2]memory) (estimate, estimate) {
	if alike(engines[0], engines[1]) {
		all := append(append(memory{}, engines[0]...), engines[1]...)
		engines = [2]memory{all, all}
	}
	for k, e := range []*estimate{&a, &b} {
		e.learn(engines[k])
	}
	return a, b
}

// learn sets the inflation by what engines tell, unless the series itself has more.
func (e *estimate) learn(engines memory) {
	if len(e.scales) == 0 {
		return
	}
	if e.unlike(engines) {
		engines = memory{*e}
	}
	factor, df := engines.inflation()
	e.inflate(factor, df)
}

// unlike says whether a series evidently has a higher autocorrelation than engines show.
func (e *estimate) unlike(engines memory) bool {
	for i := range e.scales {
		own, points := memory{*e}.rho(i)
		if r, n := engines.rho(i); n == 0 || own-r > farApart*math.Sqrt((1-r*r)/points) {
			return true
		}
	}
	return false
}

// alike says whether the series of two columns may have the same autocorrelations.
func alike(a, b memory) bool {
	for i := range maxScales {
		x, nx := a.rho(i)
		y, ny := b.rho(i)
		if nx == 0 || ny == 0 {
			continue
		}
		r := (x*nx + y*ny) / (nx + ny)
		if math.Abs(x-y) > farApart*math.Sqrt((1-r*r)*(1/nx+1/ny)) {
			return false
		}
	}
	return true
}
