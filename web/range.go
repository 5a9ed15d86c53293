package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/views"
)

// rangeLengths are the ranges that end now.
var rangeLengths = map[string]time.Duration{
	"live": 5 * time.Minute, "15m": 15 * time.Minute, "1h": time.Hour, "6h": 6 * time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour,
}

// defaultRange is what a page shows whose address names no time.
const defaultRange = "1h"

// namesRange says whether an address says which time it is about.
func namesRange(c echo.Context) bool {
	return c.QueryParam("from") != "" || c.QueryParam("to") != "" || c.QueryParam("range") != ""
}

// usefulRange is what a deployment's page shows whose address names no time: the
// shortest range up to an hour that holds all there is, or the next shorter one
// where more than half of that would be empty; the last hour of samples where
// they ended longer ago.
func usefulRange(d *deploymentState, now time.Time) views.Range {
	first, last := now, time.Time{}
	for _, e := range d.engines {
		if e.Last == 0 {
			continue
		}
		if t := time.Unix(0, e.First); t.Before(first) {
			first = t
		}
		if t := time.Unix(0, e.Last); t.After(last) {
			last = t
		}
	}
	longest := rangeLengths[defaultRange]
	if !last.IsZero() && now.Sub(last) > longest {
		return views.Range{Key: "own", From: last.Add(time.Second - longest).UTC(), To: last.Add(time.Second).UTC()}
	}
	key := defaultRange
	for i, k := range views.RangeKeys {
		if length, there := rangeLengths[k], now.Sub(first); length >= there && length <= longest {
			key = k
			// The shorter one must show at least half of it.
			if i > 0 && there < length/2 && 2*(rangeLengths[views.RangeKeys[i-1]]-now.Sub(last)) >= last.Sub(first) {
				key = views.RangeKeys[i-1]
			}
			break
		}
	}
	return views.Range{Key: key, From: now.Add(-rangeLengths[key]), To: now}
}

// readRange reads ?from=&to= or ?range= of an address.
func readRange(c echo.Context, now time.Time) (views.Range, error) {
	if from, to := c.QueryParam("from"), c.QueryParam("to"); from != "" || to != "" {
		r := views.Range{Key: "own"}
		if from == "" || to == "" {
			return r, refuse(http.StatusBadRequest, "time_half", nil)
		}
		var err error
		if r.From, err = formTime(from); err != nil {
			return r, badTime("from", from)
		}
		if r.To, err = formTime(to); err != nil {
			return r, badTime("to", to)
		}
		if !r.To.After(r.From) {
			return r, refuse(http.StatusBadRequest, "time_order", nil)
		}
		return r, nil
	}
	key := cmp.Or(c.QueryParam("range"), defaultRange)
	if _, ok := rangeLengths[key]; !ok {
		return views.Range{}, refuse(http.StatusBadRequest, "range", nil, clip(key, 40), strings.Join(views.RangeKeys, ", "))
	}
	return views.Range{Key: key, From: now.Add(-rangeLengths[key]), To: now}, nil
}

func badTime(field, text string) error {
	return refuse(http.StatusBadRequest, "time", nil, field, clip(text, 40))
}

// exactTime is how addresses carry a time: UTC, to the nanosecond.
func exactTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// The times that this server takes: what fits into nanoseconds since 1970, with room.
var (
	firstTime = time.Unix(0, 0)
	lastTime  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// formTime reads a time: RFC 3339, a form's local form (which is UTC here), or
// milliseconds since 1970.
func formTime(text string) (time.Time, error) {
	t, ok := time.Time{}, false
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 && ms < lastTime.UnixMilli() {
		t, ok = time.UnixMilli(ms), true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if got, err := time.Parse(layout, text); err == nil && !ok {
			t, ok = got, true
		}
	}
	if !ok || t.Before(firstTime) || t.After(lastTime) {
		return time.Time{}, fmt.Errorf("%q", clip(text, 40))
	}
	return t.UTC(), nil
}
