package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestStudent checks against tables of Student's and Fisher's distributions.
func TestStudent(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.05, 1, 12.706}, {0.05, 10, 2.228}, {0.01, 10, 3.169}, {0.001, 30, 3.646}, {0.05, 120, 1.980}, {0.001, 1e9, 3.2905}, {0.32, 2.5, 1.215},
	} {
		got := tQuantile(c.p, c.df)
		if c.df != 2.5 && math.Abs(got-c.want) > 6e-4 {
			t.Errorf("t with %g degrees of freedom at %g: %.4f, want %.4f", c.df, c.p, got, c.want)
		}
		if back := tTail(got, c.df); math.Abs(back-c.p) > 1e-6 {
			t.Errorf("tTail(tQuantile(%g, %g)) = %g", c.p, c.df, back)
		}
	}
	for _, c := range []struct{ f, df1, df2, want float64 }{{4.26, 2, 9, 0.05}, {3.01, 4, 14.0, 0.055}, {1, 7, 7, 0.5}} {
		if got := fTail(c.f, c.df1, c.df2); math.Abs(got-c.want) > 2e-3 {
			t.Errorf("F(%g, %g) beyond %g: %.4f, want %.4f", c.df1, c.df2, c.f, got, c.want)
		}
	}
	if tTail(math.NaN(), 3) != 1 || tTail(math.Inf(1), 3) != 0 || !math.IsInf(tQuantile(0, 3), 1) {
		t.Error("what is no number is no evidence")
	}
}

// ar draws a first-order autoregression with variance 1.
func ar(rng *rand.Rand, n int, rho float64) []float64 {
	x := make([]float64, n)
	z := rng.NormFloat64()
	for i := range x {
		z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		x[i] = z
	}
	return x
}

// TestClosedFormIsTheBootstrap draws the moving blocks: the variance of the resampled
// means is what the closed form says before its correction. Of 20,000 resamples the
// variance is known to √(2 ÷ 20000) = 1 %.
func TestClosedFormIsTheBootstrap(t *testing.T) {
	rng := newRand(1)
	const n, l, rho = 60, 6, 0.5
	x := ar(rng, n, rho)
	e := estimateLevel(x, nil)
	s := e.scales[0]
	vn := meanVariance1(rho, n)
	raw := s.blocks(l, rho) * float64(l) / n * (meanVariance1(rho, l) - vn) / vn
	var means []float64
	for range 20000 {
		sum := 0.0
		for range n / l {
			from := rng.IntN(n - l + 1)
			for _, v := range x[from : from+l] {
				sum += v
			}
		}
		means = append(means, sum/n)
	}
	// The closed form takes deviations from the series' mean, the draws from the blocks'; for a series without a trend at
	// its ends they are the same but for a little.
	m, v := meanVariance(means)
	v += (m - e.level) * (m - e.level) * l / n
	if math.Abs(v/raw-1) > 0.06 {
		t.Errorf("resampling gives a variance of %.5f, the closed form %.5f", v, raw)
	}
}

// TestMeanVariance compares with the sum: (1 + 2 Σ (1 − k/n) ρᵏ) ÷ n.
func TestMeanVariance(t *testing.T) {
	for _, rho := range []float64{0, 0.3, 0.9} {
		for _, n := range []int{1, 2, 7, 60} {
			want, p := 1.0, 1.0
			for k := 1; k < n; k++ {
				p *= rho
				want += 2 * (1 - float64(k)/float64(n)) * p
			}
			want /= float64(n)
			if got := meanVariance1(rho, n); math.Abs(got-want) > 1e-12 {
				t.Errorf("ρ %g, n %d: %g, want %g", rho, n, got, want)
			}
		}
	}
}

// TestIntervalsCover: intervals of the difference of two equal short series contain 0 as
// often as they say, or more, down to the tails in which tables are decided. A share p of
// N draws has a standard deviation of √(p (1−p) ÷ N); four of them are allowed.
func TestIntervalsCover(t *testing.T) {
	draws := 6000
	if testing.Short() {
		draws = 600
	}
	for _, c := range []struct {
		n   int
		rho float64
	}{{30, 0}, {60, 0}, {60, 0.3}, {30, 0.5}, {60, 0.5}, {120, 0.5}, {60, 0.8}, {240, 0.9}} {
		rng := newRand(uint64(c.n))
		misses := map[float64]int{0.05: 0, 0.002: 0}
		for range draws {
			var m [2]measured
			for i := range m {
				m[i].est = estimateLevel(ar(rng, c.n, c.rho), nil)
				m[i].memory.add(m[i].est)
			}
			d, more := difference(&m[0], &m[1])
			if more != [2]int{} {
				continue // no verdict is given
			}
			for p := range misses {
				if low, high := d.around(p); low > 0 || high < 0 {
					misses[p]++
				}
			}
		}
		for p, n := range misses {
			share := float64(n) / float64(draws)
			t.Logf("n %d, ρ %.1f: intervals at %g miss %.4f", c.n, c.rho, p, share)
			if share > p+4*math.Sqrt(p*(1-p)/float64(draws)) {
				t.Errorf("n %d, ρ %g: intervals at %g miss %.4f", c.n, c.rho, p, share)
			}
		}
	}
}

// TestWeights: a heavier moment counts more: (1×10 + 3×20) ÷ 4 = 17.5.
func TestWeights(t *testing.T) {
	if e := estimateLevel([]float64{10, 20}, []float64{1, 3}); e.level != 17.5 {
		t.Errorf("level %v, want 17.5", e.level)
	}
	if e := estimateLevel([]float64{10, 20}, []float64{0, 0}); e.level != 15 {
		t.Errorf("without any weight: %v, want 15", e.level)
	}
	if e := estimateLevel(nil, nil); !math.IsNaN(e.level) || e.needsPoints() != minPoints {
		t.Errorf("nothing: %+v", e)
	}
}

// FuzzEstimate: no series makes a number that isn't one.
func FuzzEstimate(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint8(3))
	f.Add([]byte{0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, w uint8) {
		x, weights := make([]float64, len(b)), make([]float64, len(b))
		for i, v := range b {
			x[i], weights[i] = float64(v), float64(v%(w|1))
		}
		for _, e := range []estimate{estimateLevel(x, nil), estimateLevel(x, weights)} {
			if len(b) > 0 && (math.IsNaN(e.level) || math.IsNaN(e.v) || e.v < 0 || !(e.df >= 1) || e.effect < 0) {
				t.Fatalf("%v: %+v", b, e)
			}
		}
	})
}
