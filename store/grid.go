package store

import (
	"cmp"
	"time"
)

// From half an hour on, buckets are as long as one of these or whole days, and
// begin at multiples of their length since 1970. So they fall on the edges of
// the hours by which backends sum up, and don't move when the range does.
var gridHours = []int64{1, 2, 3, 4, 6, 8, 12}

const (
	hour = int64(time.Hour)
	day  = 24 * hour
)

// Grid is where a query's buckets lie: the first begins at start, ns since
// 1970, and each is width ns long. Buckets up to half an hour start at the
// range's beginning; the first of longer ones may begin before it, and holds none of
// the samples from before. An empty range has the width 0.
func (q PointsQuery) Grid() (start, width int64) {
	from, to := q.Range()
	if from >= to {
		return from, 0
	}
	points := int64(min(cmp.Or(max(q.Points, 0), DefaultPoints), MaxPoints))
	if width = (to-from-1)/points + 1; width <= hour/2 {
		return from, width
	}
	fits := func(width int64) bool {
		start = from - from%width
		return (to-start-1)/width < points
	}
	for _, h := range gridHours {
		if width <= h*hour && fits(h*hour) {
			return start, h * hour
		}
	}
	for width = (width-1)/day*day + day; !fits(width); {
		width += day
	}
	return start, width
}

// Range is the selection's time range within the times that a row may have.
func (s Selection) Range() (from, to int64) { return max(s.From, 0), min(s.To, MaxTime+1) }
