package curve

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// mustNew is a curve of batch size, ms, batch size, ms, …
func mustNew(t *testing.T, v ...float64) Curve {
	t.Helper()
	var points []Point
	for i := 0; i < len(v); i += 2 {
		points = append(points, Point{int(v[i]), v[i+1]})
	}
	c, err := New(points)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew(t *testing.T) {
	f := func(in []Point, want ...Point) {
		t.Helper()
		before := slices.Clone(in)
		c, err := New(in)
		if err != nil || !slices.Equal(c.Points(), want) {
			t.Errorf("%v became %v (%v), want %v", in, c.Points(), err, want)
		}
		if !slices.Equal(in, before) {
			t.Errorf("%v was changed to %v", before, in)
		}
	}
	f([]Point{{1, 2}}, Point{1, 2})
	f([]Point{{64, 9}, {1, 5}, {8, 6}}, Point{1, 5}, Point{8, 6}, Point{64, 9})
	f([]Point{{8, 6}, {8, 6}}, Point{8, 6})
	f([]Point{{8, 90}, {1, 5}, {8, 6}, {8, 7}}, Point{1, 5}, Point{8, 7})
	f([]Point{{8, 90}, {8, 6}, {8, 7}, {8, 8}}, Point{8, 7.5})
	f([]Point{{1, math.SmallestNonzeroFloat64}, {MaxBatchSize, MaxMs}}, Point{1, math.SmallestNonzeroFloat64}, Point{MaxBatchSize, MaxMs})
}

func TestNewRefuses(t *testing.T) {
	f := func(in []Point, want string) {
		t.Helper()
		c, err := New(in)
		if !errors.Is(err, ErrPoint) || !strings.Contains(err.Error(), want) || c.points != nil {
			t.Errorf("%.100v: got %v, %v; want %q", in, c.points, err, want)
		}
	}
	f(nil, "no points")
	f([]Point{{1, 1}, {0, 1}}, "point 2: not a point of a decode curve: batch_size is 0; it must be from 1 to 1048576")
	f([]Point{{-4, 1}}, "batch_size is -4")
	f([]Point{{MaxBatchSize + 1, 1}}, "batch_size is 1048577")
	f([]Point{{1, 0}}, "ms is 0; it must be above 0 and at most 3600000")
	f([]Point{{1, -1}}, "ms is -1")
	f([]Point{{1, math.NaN()}}, "ms is NaN")
	f([]Point{{1, math.Inf(1)}}, "ms is +Inf")
	f([]Point{{1, 3600000.5}}, "ms is 3.6000005e+06")
	f(make([]Point, MaxPoints+1), "65537 points")
}

func TestAt(t *testing.T) {
	c := mustNew(t, 4, 10, 8, 12, 16, 20, 17, 20.5)
	f := func(batch int, ms float64, basis Basis) {
		t.Helper()
		got, b := c.At(batch)
		if b != basis || got != ms && !(math.IsNaN(got) && math.IsNaN(ms)) {
			t.Errorf("batch %d: got %v on %v, want %v on %v", batch, got, b, ms, basis)
		}
	}
	f(4, 10, Captured)
	f(8, 12, Captured)
	f(17, 20.5, Captured)
	f(5, 10.5, Interpolated)
	f(7, 11.5, Interpolated)
	f(12, 16, Interpolated)
	f(15, 19, Interpolated)
	f(1, 10, Clamped)
	f(3, 10, Clamped)
	f(18, math.NaN(), Unknown)
	f(math.MaxInt, math.NaN(), Unknown)
	f(0, math.NaN(), Unknown)
	f(math.MinInt, math.NaN(), Unknown)

	// Costs need not grow with the batch.
	if ms, b := mustNew(t, 1, 10, 3, 8).At(2); ms != 9 || b != Interpolated {
		t.Errorf("falling curve: got %v on %v, want 9", ms, b)
	}
	if ms, b := (Curve{}).At(1); !math.IsNaN(ms) || b != Unknown {
		t.Errorf("zero curve: got %v on %v", ms, b)
	}
}

func TestGraph(t *testing.T) {
	c := mustNew(t, 4, 10, 8, 12)
	f := func(batch int, want Point, ok bool) {
		t.Helper()
		if got, o := c.Graph(batch); got != want || o != ok {
			t.Errorf("batch %d: got %v, %v; want %v, %v", batch, got, o, want, ok)
		}
	}
	f(1, Point{4, 10}, true)
	f(4, Point{4, 10}, true)
	f(5, Point{8, 12}, true)
	f(8, Point{8, 12}, true)
	f(9, Point{}, false)
	f(0, Point{}, false)
	f(-1, Point{}, false)
}

func TestPointsAreACopy(t *testing.T) {
	c := mustNew(t, 1, 5, 2, 6)
	c.Points()[0].Ms = 99
	if ms, _ := c.At(1); ms != 5 {
		t.Errorf("a caller changed the curve to %v", ms)
	}
}
