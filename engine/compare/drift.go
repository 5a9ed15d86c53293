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
	if m.est.n < 2*minPoints || m.est.effect >= minEffect || len(m.est.scales) == 0 {
		return
	}
	h := measured{cell: Cell{Left: m.cell.Left}, before: m.est.quarters}
	m.before = h.before
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
// Such a column has no level to speak of, but where every quarter of its time lies on the
// same side of the steady column, and its mean beyond driftDistance, it does not work as
// that one does. It returns false where that is not given.
func drifted(a, b *measured, more [2]int, d *Difference) bool {
	steady, moving := &a.est, &b.est
	switch {
	case more[0] > 0 && more[1] == 0:
		steady, moving = &b.est, &a.est
	case more[0] > 0 || more[1] == 0:
		return false
	}
	away := moving.level - steady.level
	if moving.n < minPoints || steady.v <= 0 || len(moving.scales) == 0 || math.Abs(away) < driftDistance*steady.spread {
		return false
	}
	for _, q := range moving.quarters {
		if (q-steady.level)*away <= 0 {
			return false
		}
	}
	d.SE = 2 * math.Sqrt(steady.v*(1+float64(steady.n)/float64(moving.n))+a.engine+b.engine)
	d.DF = steady.df
	d.P = tTail(d.Value/d.SE, d.DF)
	return true
}

// driftReason is the condition that the figures of a column which changed carry.
func (m *measured) driftReason(letter, unit string) *Reason {
	q := m.before
	parts := make([]string, len(q))
	for i := range q {
		parts[i] = Figure(q[i], unit)
	}
	path := strings.Join(parts, " → ")
	short := parts[0] + " → " + parts[3]
	if m.half {
		return why(Drift, letter+" drifted, second half only", letter+" 有漂移，仅用后半段",
			"Column "+letter+" changed within its time (by quarters: "+path+"). Its second half is steady and stands for it here.",
			letter+" 列在其时段内发生变化（按四分之一时段："+path+"）。其后半段平稳，此处以后半段为准。")
	}
	return why(Drift, letter+" drifts: "+short, letter+" 持续漂移："+short,
		"Column "+letter+" changes throughout its time (by quarters: "+path+"), so its mean says little about another time. It lies beyond anything that the steady column does.",
		letter+" 列在整个时段内持续变化（按四分之一时段："+path+"），其均值难以代表其他时段；但它远在平稳一列的波动之外。")
}
