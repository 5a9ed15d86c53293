// Package curve is an engine's decode performance curve: what one decode step costs at a batch size, measured once per
// deployment by replaying each captured CUDA graph a few times.
//
// A [Curve] is the baseline that decode steps of a trace are laid over. A [Cache] keeps it on disk under a hash of the
// deployment's configuration; [Read] also takes plain CSV and JSON lists, for curves that come from elsewhere. A file
// that is damaged or not ours is reported and never written over.
package curve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Bounds of what counts as a curve. Far beyond any engine, they keep mistakes (a count of tokens for a batch size, a
// time in nanoseconds) and hostile files out.
const (
	MaxBatchSize = 1 << 20
	MaxMs        = 3_600_000 // an hour
	MaxPoints    = 1 << 16
)

// ErrPoint says that a point can't be one of a curve; what is wrong comes with it.
var ErrPoint = errors.New("not a point of a decode curve")

// Point is the measured time of one decode step.
type Point struct {
	BatchSize int     `json:"batch_size"` // 1 to MaxBatchSize
	Ms        float64 `json:"ms"`         // milliseconds, above 0, at most MaxMs
}

func (p Point) check() error {
	switch {
	case p.BatchSize < 1 || p.BatchSize > MaxBatchSize:
		return fmt.Errorf("%w: batch_size is %d; it must be from 1 to %d", ErrPoint, p.BatchSize, MaxBatchSize)
	case math.IsNaN(p.Ms) || p.Ms <= 0 || p.Ms > MaxMs:
		return fmt.Errorf("%w: ms is %v; it must be above 0 and at most %d", ErrPoint, p.Ms, MaxMs)
	}
	return nil
}

// Curve holds at least one point per captured batch size, unless it is the zero Curve, which knows nothing. It does not
// change and may be used by several goroutines.
type Curve struct {
	points []Point // by batch size, each once
}

// New makes a curve of points in any order. Several times for one batch size are repeated measurements of it: their
// median counts, of an even number the mean of the middle two, so that one disturbed replay moves nothing. Errors are
// ErrPoint with the point's place, counted from 1.
func New(points []Point) (Curve, error) {
	if len(points) == 0 {
		return Curve{}, fmt.Errorf("%w: there are no points", ErrPoint)
	}
	if len(points) > MaxPoints {
		return Curve{}, fmt.Errorf("%w: there are %d points; a curve has at most %d", ErrPoint, len(points), MaxPoints)
	}
	for i, p := range points {
		if err := p.check(); err != nil {
			return Curve{}, fmt.Errorf("point %d: %w", i+1, err)
		}
	}
	sorted := slices.Clone(points)
	slices.SortFunc(sorted, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.BatchSize, b.BatchSize), cmp.Compare(a.Ms, b.Ms))
	})
	var c Curve
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].BatchSize == sorted[0].BatchSize {
			n++
		}
		median := sorted[n/2].Ms
		if n%2 == 0 {
			median = sorted[n/2-1].Ms + (median-sorted[n/2-1].Ms)/2
		}
		c.points = append(c.points, Point{sorted[0].BatchSize, median})
		sorted = sorted[n:]
	}
	return c, nil
}

// Points returns the curve's points by batch size.
func (c Curve) Points() []Point { return slices.Clone(c.points) }

// Basis says what an estimate rests on.
type Basis int

// The bases, from the best to none at all.
const (
	Captured     Basis = iota + 1 // this batch size was measured
	Interpolated                  // on the straight line between the two captured sizes around it
	Clamped                       // below the smallest captured size, whose graph such a batch replays: its time
	Unknown                       // above the largest captured size no graph exists; or there is no such batch
)

// At returns the expected time of a decode step with this batch size, in milliseconds, and what it rests on. Unknown
// comes with NaN: beyond the largest graph a step runs without one, and no continuation of the curve foretells that.
func (c Curve) At(batch int) (float64, Basis) {
	i, found := c.search(batch)
	switch {
	case batch < 1 || i == len(c.points):
		return math.NaN(), Unknown
	case found:
		return c.points[i].Ms, Captured
	case i == 0:
		return c.points[0].Ms, Clamped
	}
	lo, hi := c.points[i-1], c.points[i]
	share := float64(batch-lo.BatchSize) / float64(hi.BatchSize-lo.BatchSize)
	return lo.Ms + share*(hi.Ms-lo.Ms), Interpolated
}

// Graph returns the captured point that a batch of this size replays in an engine that pads to the next captured size:
// its steps cost this much, not what lies on the line. False: there is no graph for it.
func (c Curve) Graph(batch int) (Point, bool) {
	i, _ := c.search(batch)
	if batch < 1 || i == len(c.points) {
		return Point{}, false
	}
	return c.points[i], true
}

// search finds the first point not below batch.
func (c Curve) search(batch int) (int, bool) {
	return sort.Find(len(c.points), func(i int) int { return cmp.Compare(batch, c.points[i].BatchSize) })
}
