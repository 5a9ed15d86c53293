package web

import (
	"cmp"
	"math"
	"slices"
)

// When an engine is an outlier: its mean over the range is farther from the
// engines' median than farScale standard deviations, estimated from the median
// deviation, and than farShare of the median itself: twice that among few
// engines, whose median deviation is a matter of luck.
const (
	farScale    = 3.5
	farShare    = 0.05
	fewPeers    = 8
	farEngines  = 4 // with fewer, nobody can say who is the odd one
	maxOutliers = 5
)

// madSigma turns a median absolute deviation into a standard deviation, for normal values.
const madSigma = 1.4826

// farEngine is an outlier's place among the engines.
type farEngine struct {
	at  int
	off float64
}

// findOutliers names the engines that are far from the others, the farthest first.
func findOutliers(engines []laidEngine) []farEngine {
	if len(engines) < farEngines {
		return nil
	}
	means := make([]float64, len(engines))
	for i, e := range engines {
		means[i] = e.mean
	}
	middle := median(means)
	away := make([]float64, len(means))
	for i, m := range means {
		away[i] = math.Abs(m - middle)
	}
	share := farShare
	if len(engines) < fewPeers {
		share *= 2
	}
	limit := max(farScale*madSigma*median(away), share*math.Abs(middle))
	var far []farEngine
	for i, d := range away {
		if d > limit {
			far = append(far, farEngine{i, means[i]/middle - 1})
		}
	}
	slices.SortStableFunc(far, func(a, b farEngine) int { return cmp.Compare(away[b.at], away[a.at]) })
	return far[:min(len(far), maxOutliers)]
}

// median is the middle value, between the middle two of an even number.
func median(values []float64) float64 { return quantile(slices.Sorted(slices.Values(values)), 0.5) }

// quantile interpolates between the neighbours in sorted values, none of them NaN; NaN of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// band is the spread over the engines in each cell in which one of them has samples.
func (b *seriesBuilder) band(c *seriesColumn, r seriesRead, scale float64) *seriesBand {
	out := &seriesBand{Steps: stepKind(r.only), Label: c.Label}
	held := make([][]float64, len(c.laid))
	for j, l := range c.laid {
		held[j] = b.grid.held(l.cells)
	}
	values := make([]float64, 0, len(held))
	broken := false
	for i := range b.grid.cells {
		values = values[:0]
		fresh := false
		for j := range held {
			if v := held[j][i]; !math.IsNaN(v) {
				values = append(values, v*scale)
			}
			fresh = fresh || c.laid[j].cells[i].n > 0
		}
		if len(values) == 0 && !broken && len(out.Cells) > 0 {
			nan := math.NaN()
			out.put(i, nan, nan, nan, nan, nan)
			broken = true
		}
		if len(values) == 0 || !fresh {
			continue
		}
		broken = false
		slices.Sort(values)
		out.put(i, values[0], quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9), values[len(values)-1])
	}
	return out
}

func (s *seriesBand) put(i int, lowest, p10, p50, p90, highest float64) {
	s.Cells = append(s.Cells, i)
	s.Min, s.P10, s.P50, s.P90, s.Max = append(s.Min, lowest), append(s.P10, p10), append(s.P50, p50), append(s.P90, p90), append(s.Max, highest)
}
