package logs

import (
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// settle chooses between the two times that a clock shows the same in the hour that is repeated when summer time ends: the
// first of them that does not lie before the line before. last is zero when there was none.
func settle(t time.Time, zone *time.Location, last time.Time) time.Time {
	near := t.In(zone)
	first, second := near, near
	_, before := near.Add(-2 * time.Hour).Zone()
	if _, after := near.Add(2 * time.Hour).Zone(); before <= after {
		return t // by far the most hours of a year
	}
	for _, d := range [...]time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour} { // by which clocks are turned back
		for _, other := range [...]time.Time{near.Add(-d), near.Add(d)} {
			if other.Hour() != near.Hour() || other.Minute() != near.Minute() || other.Day() != near.Day() {
				continue
			}
			if other.Before(first) {
				first = other
			}
			if other.After(second) {
				second = other
			}
		}
	}
	if !last.IsZero() && first.Before(last.Add(-backwards)) {
		return second
	}
	return first
}

// future is how far ahead of the reference a date without a year may be: clocks differ a little.
const future = 24 * time.Hour

// when is a stamp's time. zone is where clocks stand whose zone the line does not tell; ref is a time shortly after which
// the line cannot have been written, such as its file's last change: a missing year is the last one that fits, so that
// December's lines read in January are of the year before. ok is false when there is no time, or none that can be.
func when(s ledger.Stamp, zone *time.Location, ref time.Time) (t time.Time, ok bool) {
	if s.Time.IsZero() {
		return t, false
	}
	at := s.Time
	if s.ZoneKnown {
		zone = time.UTC
	}
	in := func(year int) time.Time {
		return time.Date(year, at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), zone)
	}
	if s.YearKnown {
		t = in(at.Year())
	} else {
		// A zone can have moved the date over the turn of the year: then its year is not 0 but beside it.
		turn := at.Year()
		fits := false
		for year := ref.In(zone).Year() + 1; year > ref.Year()-8; year-- { // 8: a 29 February is that far away at most
			t = in(year + turn)
			if t.Day() == at.Day() && t.Sub(ref) <= future {
				fits = true
				break
			}
		}
		if !fits {
			return t, false
		}
	}
	if y := t.UTC().Year(); y < 1970 || y >= 2200 {
		return t, false
	}
	return t, true
}
