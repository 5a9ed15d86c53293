package foreign

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bucket is one bound of a histogram: N values were at most Le. Buckets are cumulative, as
// Prometheus has them.
type Bucket struct{ Le, N float64 }

// Interval is where a quantile lies: above Lo and at most Hi, in the histogram's unit. A
// Lo of −Inf means that it lies under the first bound, so that only "≤ Hi" is known; a Hi
// of +Inf means that it lies above the last one.
type Interval struct{ Lo, Hi float64 }

// Below says that every value of i is less than every value of o, so that a difference
// between two quantiles is more than the histograms' coarseness.
func (i Interval) Below(o Interval) bool { return i.Hi <= o.Lo }

// ParseBound reads the bound of a stored bucket's label, such as "le=0.001" or "le=+Inf".
func ParseBound(label string) (float64, bool) {
	for part := range strings.SplitSeq(label, ",") {
		if text, ok := strings.CutPrefix(part, "le="); ok {
			le, err := strconv.ParseFloat(text, 64)
			return le, err == nil && !math.IsNaN(le)
		}
	}
	return 0, false
}

// Buckets makes a histogram of increases by label, summed over readings and engines. Only
// readings with the same bounds may be summed by label: [Merge] joins others.
func Buckets(increases map[string]float64) []Bucket {
	var out []Bucket
	for label, n := range increases {
		if le, ok := ParseBound(label); ok {
			out = append(out, Bucket{le, n})
		}
	}
	slices.SortFunc(out, func(a, b Bucket) int { return cmp.Compare(a.Le, b.Le) })
	return out
}

// Merge adds two histograms over the bounds that both have; that is exact, since buckets
// are cumulative. Other bounds are lost.
func Merge(a, b []Bucket) []Bucket {
	var out []Bucket
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Le < b[j].Le:
			i++
		case a[i].Le > b[j].Le:
			j++
		default:
			out = append(out, Bucket{a[i].Le, a[i].N + b[j].N})
			i, j = i+1, j+1
		}
	}
	return out
}

// Quantile says in which bucket the q-quantile lies, by the nearest rank: the smallest
// value that at least q of all values don't exceed. Buckets are ordered by bound; the
// last one must be +Inf. False: there are no values, or this is no histogram.
func Quantile(buckets []Bucket, q float64) (Interval, bool) {
	if len(buckets) == 0 || !math.IsInf(buckets[len(buckets)-1].Le, 1) || !(q >= 0 && q <= 1) {
		return Interval{}, false
	}
	all := buckets[len(buckets)-1].N
	if !(all > 0) || math.IsInf(all, 1) {
		return Interval{}, false
	}
	rank := rankOf(q, all)
	lo, below := math.Inf(-1), 0.0
	for _, b := range buckets {
		if !(b.N >= below) || b.Le <= lo {
			return Interval{}, false
		}
		if b.N >= rank-roundingError*all || math.IsInf(b.Le, 1) {
			return Interval{lo, b.Le}, true
		}
		lo, below = b.Le, b.N
	}
	return Interval{}, false
}

// Estimate is where the q-quantile lies in its bucket if the bucket's values are spread
// evenly over it, with the bucket itself. Under the first bound and above the last one
// nothing more is known than that bound, which is v then. False: as of [Quantile], or
// there is no finite bound.
func Estimate(buckets []Bucket, q float64) (v float64, in Interval, ok bool) {
	in, ok = Quantile(buckets, q)
	switch {
	case !ok || math.IsInf(in.Lo, -1) && math.IsInf(in.Hi, 1):
		return math.NaN(), in, false
	case math.IsInf(in.Lo, -1):
		return in.Hi, in, true
	case math.IsInf(in.Hi, 1):
		return in.Lo, in, true
	}
	below, upTo := 0.0, 0.0
	for _, b := range buckets {
		if b.Le <= in.Lo {
			below = b.N
		}
		if b.Le <= in.Hi {
			upTo = b.N
		}
	}
	rank := rankOf(q, buckets[len(buckets)-1].N)
	return in.Lo + (in.Hi-in.Lo)*min(1, (rank-below)/(upTo-below)), in, true
}

// roundingError is how far sums of increases may be off, as a share of all values.
const roundingError = 1e-9

// rankOf is the nearest rank of a quantile among n values, which need not be whole:
// Prometheus has histograms of fractions.
func rankOf(q, n float64) float64 { return min(n, max(1, math.Ceil(q*n-roundingError*max(1, n)))) }
