package web

import (
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

// What is no longer of the present. An engine that gave a line every few seconds
// is silent much sooner than one that gives a line a minute.
const (
	silentSoonest = 45 * time.Second // nobody is called silent before
	silentPaces   = 5                // so many of its usual distances without a line
	oldSoonest    = 30 * time.Second // a value that is no older than this, seen from the engine's newest line, is current
	oldPaces      = 4
	oldAfter      = 2 * time.Minute // where the usual distance is unknown
)

// pace is the longest usual distance of an engine's lines, 0 where too few came
// to tell. Buckets hold how many lines came in each; the first and the last are cut
// off by the range, by the engine's start or by the present.
func pace(p *store.Points) time.Duration {
	var longest int64
	for k := 1; k+1 < len(p.Buckets); k++ {
		b := p.Buckets[k]
		if b.N == 0 {
			continue
		}
		// Lines of one bucket are as far apart as they are on average; to the bucket
		// before there may be more.
		longest = max(longest, p.Width/b.N, b.From-p.Buckets[k-1].From-p.Width)
	}
	return time.Duration(longest)
}

// hear notes when the engine itself gave something last. Readings of its cards go
// on when it has died: the lines with its figures count, where there are any.
func (e *engineState) hear(now time.Time, pace time.Duration) {
	e.pace, e.heard = pace, e.Last
	var newest int64
	for _, l := range e.latest {
		newest = max(newest, l.Time)
	}
	switch {
	case newest > 0:
		e.heard = newest
	case pace > 0: // it gave figures, but none for long
		e.heard = min(e.Last, now.Add(-latestWithin).UnixNano())
	}
	e.silent = e.silence(now)
}

// silentFrom is how long an engine gives nothing until it counts as silent.
func (e *engineState) silentFrom() time.Duration {
	if e.pace == 0 {
		return silentAfter
	}
	return min(silentAfter, max(silentSoonest, silentPaces*e.pace))
}

// silence is for how long an engine has given nothing, 0 while that is usual.
func (e *engineState) silence(now time.Time) time.Duration {
	if e.Last == 0 {
		return 0
	}
	if d := now.Sub(time.Unix(0, e.heard)); d >= e.silentFrom() {
		return d
	}
	return 0
}

// behind is how much older a value is than the engine's newest line, 0 while it may stand for it.
func (e *engineState) behind(l store.Latest) time.Duration {
	old := oldAfter
	if e.pace > 0 {
		old = min(oldAfter, max(oldSoonest, oldPaces*e.pace))
	}
	if d := time.Duration(e.heard - l.Time); d > old {
		return d
	}
	return 0
}

// silentReason tells of a silence.
func silentReason(e *engineState) views.Reason {
	return reasonOf("reason.silent", span(e.silent), time.Unix(0, e.heard).UTC().Format("15:04:05"))
}
