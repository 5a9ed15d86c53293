package store

import (
	"testing"
	"time"
)

func TestGrid(t *testing.T) {
	const h = int64(time.Hour)
	f := func(from, to int64, points int, start, width int64) {
		t.Helper()
		q := PointsQuery{Selection: Selection{From: from, To: to}, Points: points}
		if a, b := q.Grid(); a != start || b != width {
			t.Errorf("%d to %d in %d points: from %d, width %d; want %d, %d", from, to, points, a, b, start, width)
		}
		if a, b := q.Grid(); b > 0 && (a > max(from, 0) || (min(to, MaxTime+1)-a-1)/b >= int64(max(points, 1))) && points > 0 && points <= MaxPoints {
			t.Errorf("%d to %d in %d points: %d buckets", from, to, points, (to-a-1)/b+1)
		}
	}
	f(100, 100, 10, 100, 0)
	f(100, 50, 10, 100, 0)
	f(7, 107, 10, 7, 10)
	f(7, 108, 10, 7, 11)         // 101 ns in 10 buckets
	f(7, 5007, 0, 7, 10)         // 500 points
	f(7, 8007, 9999, 7, 2)       // at most 4,000
	f(5, 5+5*h, 10, 5, h/2)      // just half an hour
	f(5, 6+5*h, 10, 0, h)        // more: whole hours, six of them
	f(h+5, 11*h+5, 10, 0, 2*h)   // 10 h in 10 buckets that begin at hours would be 11
	f(0, 365*24*h, 500, 0, 24*h) // 17.52 h
	f(0, 250*24*h, 500, 0, 12*h)
	f(h, 1000*24*h, 500, 0, 48*h)
	f(0, 1000*24*h, 400, 0, 72*h)
	f(-5, MaxTime*2-MaxTime, 1, 0, (MaxTime+24*h-1)/(24*h)*24*h)
}
