package compare

import (
	"math"
	"sort"
	"strings"
)

// driftDistance is how many standard deviations of the steady column's points the mean of
// a column that never settles has to be away. Points of one steady process are not: even
// with an autocorrelation of 0.97 its short stretches show a quarter of its spread, and it
// strays by four times that spread at most.
const driftDistance = 16

// settledSpread is how much of the whole time's spread the second half may have at most,
// to count as settled. Half of a wandering series has more.
const settledSpread = 0.2

// settle deals with a column that changed within its time, as where a draft head drifts
// or a queue fills up: its points are worth too few independent ones, and more lines of
// the same time would not make its level exact. If its second half is steady, that half
// stands for it. The choice looks at nothing but the column's own steadiness.
func (m *measured) settle(a aligned, r rule) {
	if m.est.n < 2*minPoints || m.est.effect >= minEffect || !m.est.drifts {
		return
	}
	h := measured{cell: Cell{Left: m.cell.Left}, before: m.before}
	late := a.from(a.n / 2)
	h.level(late, late.join(late.parts, r), r)
	if h.est.needsPoints() > 0 || h.est.spread > settledSpread*m.est.spread {
		return
	}
	h.half = true
	*m = h
}

// from is what lies in the buckets from k on.
func (a aligned) from(k int) aligned {
	from := a.end(k - 1)
	late := aligned{grid: grid{from: from, width: a.width, n: a.n - k}, names: a.names}
	for i, lines := range a.lines {
		first := sort.Search(len(lines), func(n int) bool { return lines[n].t > from })
		late.lines = append(late.lines, lines[first:])
		late.parts = append(late.parts, a.parts[i][k:])
		late.whole = append(late.whole, a.whole[i][k:])
	}
	return late
}

// drifted judges a difference whose one column never settles while the other is steady.
// Such a column has no level to speak of, but where it evidently rises or falls from
// quarter to quarter, each of these lies on the same side of the steady column, and its
// mean beyond driftDistance, it does not work as that one does. It returns false where that is not given.
func drifted(a, b *measured, more [2]int, d *Difference) bool {
	steady, moving := &a.est, &b.est
	switch {
	case more[0] > 0 && more[1] == 0:
		steady, moving = &b.est, &a.est
	case more[0] > 0 || more[1] == 0:
		return false
	}
	away := moving.level - steady.level
	if moving.n < minPoints || !moving.drifts || steady.v <= 0 || math.Abs(away) < driftDistance*steady.spread {
		return false
	}
	q := moving.quarters
	for i := range q {
		if (q[i]-steady.level)*away <= 0 || i > 0 && (q[i]-q[i-1])*(q[3]-q[0]) <= 0 {
			return false
		}
	}
	d.SE = 2 * math.Sqrt(steady.v*(1+float64(steady.n)/float64(moving.n))+a.engine+b.engine)
	d.DF = steady.df
	d.P = tTail(d.Value/d.SE, d.DF)
	return true
}

// driftLevel is the level of the test whether a series drifts: one that is only slow
// must not be said to.
const driftLevel = 0.001

// drifting says whether the means of a series' quarters differ by more than what is seen
// within them: around each quarter's own straight line, and as a first-order
// autoregression, since neighbours resemble each other.
func drifting(x []float64) bool {
	n := len(x)
	if n < minPoints {
		return false
	}
	rest := make([]float64, 0, n)
	var means []float64
	for k := range 4 {
		part := x[k*n/4 : (k+1)*n/4]
		c := float64(len(part)-1) / 2
		var mean, slope, squares float64
		for i, v := range part {
			d := float64(i) - c
			mean += v / float64(len(part))
			slope += d * v
			squares += d * d
		}
		slope /= squares
		for i, v := range part {
			rest = append(rest, v-mean-slope*(float64(i)-c))
		}
		means = append(means, mean)
	}
	mean, between := meanVariance(means)
	s := newScale(rest)
	if math.Sqrt(between) <= 1e-9*math.Abs(mean) {
		return false
	}
	free := float64(n - 8) // two numbers are fitted to each quarter
	r := unbiased(s.s1/math.Max(s.s0, math.SmallestNonzeroFloat64), n/4)
	r = math.Min(maxRho, r+math.Sqrt((1-r*r)/free))
	noise := s.s0 / free * meanVariance1(r, n/4)
	return noise == 0 || fTail(between/noise, 3, math.Max(1, free*(1-r)/(1+r))) < driftLevel
}

// driftReason is the condition that the figures of a column which changed carry.
func (m *measured) driftReason(letter, unit string) *Reason {
	q := m.before
	parts, partsZH := make([]string, len(q)), make([]string, len(q))
	for i := range q {
		parts[i], partsZH[i] = Figure(q[i], unit), figureIn(q[i], unit, "zh")
	}
	path, pathZH := strings.Join(parts, " → "), strings.Join(partsZH, " → ")
	short, shortZH := parts[0]+" → "+parts[3], partsZH[0]+" → "+partsZH[3]
	if m.half {
		return why(Drift, letter+" drifted, second half only", letter+" 有漂移，仅用后半段",
			"Column "+letter+" changed within its time (by quarters: "+path+"). Its second half is steady and stands for it here.",
			letter+" 列在其时段内发生变化（按四分之一时段："+pathZH+"）。其后半段平稳，此处以后半段为准。")
	}
	return why(Drift, letter+" drifts: "+short, letter+" 持续漂移："+shortZH,
		"Column "+letter+" changes throughout its time (by quarters: "+path+"), so its mean says little about another time. It lies beyond anything that the steady column does.",
		letter+" 列在整个时段内持续变化（按四分之一时段："+pathZH+"），其均值难以代表其他时段；但它远在平稳一列的波动之外。")
}
