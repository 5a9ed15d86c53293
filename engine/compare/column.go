package compare

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a comparison may be asked for.
const (
	MinColumns  = 2
	MaxColumns  = 6
	MaxRange    = 400 * 24 * time.Hour
	maxSpecText = 1024 // bytes
)

// ColumnSpec is a column as it is asked for: a deployment, with at most one of
// Since, From and To, and Baseline. Without any of them the range is the asker's
// own default.
type ColumnSpec struct {
	Deployment string
	Since      time.Duration // the range is this long and ends now
	From, To   time.Time     // To exclusive
	Baseline   string        // label of a kept range
}

// ColumnForms shows how a column can be written.
const ColumnForms = "NAME, NAME@-1h, NAME@2026-03-01T10:00Z..2026-03-01T11:00Z or NAME@baseline:LABEL"

const (
	baselineMark = "@baseline:"
	shortTime    = "2006-01-02T15:04Z07:00"
)

// ParseColumn reads one column, in one of ColumnForms. Names may contain "@" if a
// range follows, or an "@" with nothing behind it.
func ParseColumn(text string) (ColumnSpec, error) {
	bad := func(why string) (ColumnSpec, error) {
		return ColumnSpec{}, fmt.Errorf("column %.80q: %s; a column is %s", text, why, ColumnForms)
	}
	if len(text) > maxSpecText {
		return bad(fmt.Sprintf("it has %d bytes, at most %d are read", len(text), maxSpecText))
	}
	if name, label, ok := strings.Cut(text, baselineMark); ok {
		if name == "" || label == "" {
			return bad("a baseline needs the deployment's name before and its label after " + baselineMark)
		}
		return ColumnSpec{Deployment: name, Baseline: label}, nil
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		at = len(text)
	}
	c := ColumnSpec{Deployment: text[:at]}
	if c.Deployment == "" {
		return bad("it does not name a deployment")
	}
	if at+1 >= len(text) {
		return c, nil
	}
	span := text[at+1:]
	if since, ok := strings.CutPrefix(span, "-"); ok {
		d, err := parseSpan(since)
		if err != nil {
			return bad(err.Error())
		}
		c.Since = d
		return c, nil
	}
	from, to, ok := strings.Cut(span, "..")
	if !ok {
		return bad(fmt.Sprintf("the range %.60q is neither a length such as -1h nor two times with .. between them", span))
	}
	var err error
	if c.From, err = parseTime(from); err != nil {
		return bad(err.Error())
	}
	if c.To, err = parseTime(to); err != nil {
		return bad(err.Error())
	}
	switch {
	case !c.From.Before(c.To):
		return bad("the range ends before it begins")
	case c.To.Sub(c.From) > MaxRange:
		return bad(fmt.Sprintf("the range is longer than %d days", MaxRange/(24*time.Hour)))
	}
	return c, nil
}

// ParseColumns reads all columns of a comparison; the first is the baseline.
func ParseColumns(texts []string) ([]ColumnSpec, error) {
	if len(texts) < MinColumns || len(texts) > MaxColumns {
		return nil, fmt.Errorf("%d columns: a comparison has %d to %d, the first is the baseline; a column is %s",
			len(texts), MinColumns, MaxColumns, ColumnForms)
	}
	all := make([]ColumnSpec, 0, len(texts))
	for _, t := range texts {
		c, err := ParseColumn(t)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// String is the column as ParseColumn reads it.
func (c ColumnSpec) String() string {
	switch {
	case c.Baseline != "":
		return c.Deployment + baselineMark + c.Baseline
	case c.Since > 0:
		return c.Deployment + "@-" + formatSpan(c.Since)
	case !c.From.IsZero():
		return c.Deployment + "@" + formatTime(c.From) + ".." + formatTime(c.To)
	case strings.Contains(c.Deployment, "@"):
		return c.Deployment + "@"
	}
	return c.Deployment
}

// parseSpan reads a length of time: Go's notation, and whole days as "7d".
func parseSpan(s string) (time.Duration, error) {
	var d time.Duration
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%.40q is not a number of days", s)
		}
		d = time.Duration(n) * 24 * time.Hour
	} else {
		var err error
		if d, err = time.ParseDuration(s); err != nil {
			return 0, fmt.Errorf("%.40q is not a length of time such as 90s, 15m, 1h or 7d", s)
		}
	}
	if d < time.Second || d > MaxRange {
		return 0, fmt.Errorf("the length %.40q is not between 1s and %dd", s, MaxRange/(24*time.Hour))
	}
	return d, nil
}

// formatSpan writes days, hours, minutes or seconds, whichever is whole.
func formatSpan(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	case d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return d.String()
}

func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, shortTime} {
		if t, err := time.Parse(layout, s); err == nil {
			if y := t.UTC().Year(); y < 1971 || y > 2250 { // what nanoseconds since 1970 can hold, with room
				return time.Time{}, errors.New("a time lies outside 1971 to 2250")
			}
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time such as 2026-03-01T10:00Z", s)
}

func formatTime(t time.Time) string {
	if t = t.UTC(); t.Second() == 0 && t.Nanosecond() == 0 {
		return t.Format(shortTime)
	}
	return t.Format(time.RFC3339Nano)
}
