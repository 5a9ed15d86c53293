package compare

import "math"

// trial is a difference that is tested, or would be with more data: those count too,
// since which series seem long enough is chance as well.
type trial struct {
	diff     *Difference
	headline bool
	short    bool // too few data: no verdict
}

// difference compares two measured levels; nil when nothing can be said about its
// exactness. more is how many more points each side needs for a verdict.
func difference(a, b *measured) (d *Difference, more [2]int) {
	x, y := pooled(a.est, b.est, [2]memory{a.memory, b.memory})
	more = [2]int{x.needsPoints(), y.needsPoints()}
	b.cell.Effect = y.effect
	d = &Difference{Value: b.est.level - a.est.level, Rel: math.NaN()}
	if math.Abs(d.Value) <= 1e-9*math.Max(math.Abs(a.est.level), math.Abs(b.est.level)) {
		d.Value = 0 // rounding of sums
	}
	if a.est.level != 0 {
		d.Rel = d.Value / math.Abs(a.est.level)
	}
	type part struct{ v, df float64 }
	parts := []part{{a.round, roundingFree}, {b.round, roundingFree}}
	for k, e := range []*estimate{&x, &y} {
		p := part{e.v, e.df}
		if m := []*measured{a, b}[k]; m.engine > e.v { // which holds the lines' noise, too
			p = part{m.engine, m.df}
			d.EnginesVary = true
		}
		parts = append(parts, p)
	}
	var v, spread float64
	for _, p := range parts {
		v += p.v
		if p.v > 0 {
			spread += p.v * p.v / p.df
		}
	}
	if math.IsInf(v, 0) || math.IsNaN(v) || math.IsNaN(d.Value) {
		return nil, more
	}
	d.SE = math.Sqrt(v)
	if v == 0 { // both constant: no chance is left
		d.DF = math.Inf(1)
		if d.Value == 0 {
			d.P = 1
		}
		return d, more
	}
	d.DF = v * v / spread // Welch and Satterthwaite
	d.skewed(&x, &y)
	d.P = tTail(d.Value/d.SE, d.DF)
	return d, more
}

// settle shares the table's level among the trials and gives each its interval and
// adjusted chance. Headline rows share one half and the others the other half
// (weighted Bonferroni: it holds however the metrics depend on each other).
func settle(trials []trial, level float64) {
	var count [2]int
	for _, t := range trials {
		count[class(t.headline)]++
	}
	for _, t := range trials {
		share := level / float64(count[class(t.headline)])
		if count[0] > 0 && count[1] > 0 {
			share /= 2
		}
		d := t.diff
		if d.Low95, d.High95 = d.around(0.05); t.short {
			d.Low, d.High, d.Adjusted = math.Inf(-1), math.Inf(1), 1
			continue
		}
		d.Adjusted = math.Min(1, d.P*level/share)
		d.Low, d.High = d.around(share)
	}
}

func class(headline bool) int {
	if headline {
		return 1
	}
	return 0
}

// around is the interval of the difference that misses it with chance p.
func (d *Difference) around(p float64) (low, high float64) {
	if d.interval != nil {
		return d.interval(p)
	}
	if d.SE == 0 {
		return d.Value, d.Value
	}
	half := tQuantile(p, d.DF) * d.SE
	return d.Value - half, d.Value + half
}

// evident says whether the interval for the whole table excludes no difference.
// Buckets of histograms are open below, so that adjoining ones are apart.
func (d *Difference) evident() bool {
	if d.interval != nil && d.Value != 0 {
		return d.Low >= 0 || d.High <= 0
	}
	return d.Low > 0 || d.High < 0
}
