package compare

import (
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
	bad := func(why *Said) (ColumnSpec, error) {
		return ColumnSpec{}, saidf("column %.80[1]q: %[2]s; a column is %[4]s", "列 %.80[1]q：%[3]s；列的写法为 %[4]s", text, why.EN, why.ZH, ColumnForms)
	}
	if len(text) > maxSpecText {
		return bad(saidf("it has %d bytes, at most %d are read", "共 %d 字节，最多读取 %d", len(text), maxSpecText))
	}
	if name, label, ok := strings.Cut(text, baselineMark); ok {
		if name == "" || label == "" {
			return bad(saidf("a baseline needs the deployment's name before and its label after %s", "%s 之前须有部署名，之后须有基线标签", baselineMark))
		}
		return ColumnSpec{Deployment: name, Baseline: label}, nil
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		at = len(text)
	}
	c := ColumnSpec{Deployment: text[:at]}
	if c.Deployment == "" {
		return bad(saidf("it does not name a deployment", "没有给出部署名"))
	}
	if at+1 >= len(text) {
		return c, nil
	}
	span := text[at+1:]
	if since, ok := strings.CutPrefix(span, "-"); ok {
		d, err := parseSpan(since)
		if err != nil {
			return bad(err)
		}
		c.Since = d
		return c, nil
	}
	from, to, ok := strings.Cut(span, "..")
	if !ok {
		return bad(saidf("the range %.60q is neither a length such as -1h nor two times with .. between them", "时段 %.60q 既不是 -1h 这样的时长，也不是以 .. 分隔的两个时刻", span))
	}
	var err *Said
	if c.From, err = parseTime(from); err != nil {
		return bad(err)
	}
	if c.To, err = parseTime(to); err != nil {
		return bad(err)
	}
	switch {
	case !c.From.Before(c.To):
		return bad(saidf("the range ends before it begins", "时段的结束不晚于开始"))
	case c.To.Sub(c.From) > MaxRange:
		return bad(saidf("the range is longer than %d days", "时段超过 %d 天", MaxRange/(24*time.Hour)))
	}
	return c, nil
}

// ParseColumns reads all columns of a comparison; the first is the baseline.
func ParseColumns(texts []string) ([]ColumnSpec, error) {
	if n := len(texts); n < MinColumns || n > MaxColumns {
		noun := "columns"
		if n == 1 {
			noun = "column"
		}
		return nil, saidf("%[1]d %[5]s: a comparison has %[2]d to %[3]d, the first is the baseline; a column is %[4]s",
			"%[1]d 列：比较需要 %[2]d 到 %[3]d 列，第一列为基准；列的写法为 %[4]s", n, MinColumns, MaxColumns, ColumnForms, noun)
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

// ParseSpan reads a length of time as 90s, 15m, 1h30m or 7d, from a second to MaxRange.
func ParseSpan(s string) (time.Duration, error) {
	d, said := parseSpan(s)
	if said != nil {
		return 0, said
	}
	return d, nil
}

// parseSpan reads Go's notation, and whole days as "7d".
func parseSpan(s string) (d time.Duration, bad *Said) {
	var err error
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	} else {
		d, err = time.ParseDuration(s)
	}
	switch {
	case err != nil:
		return 0, saidf("%.40q is not a length of time such as 90s, 15m, 1h or 7d", "%.40q 不是 90s、15m、1h 或 7d 这样的时长", s)
	case d < time.Second || d > MaxRange:
		return 0, saidf("the length %.40q is not between 1s and %dd", "时长 %.40q 不在 1s 到 %dd 之间", s, MaxRange/(24*time.Hour))
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

func parseTime(s string) (time.Time, *Said) {
	for _, layout := range []string{time.RFC3339Nano, shortTime} {
		if t, err := time.Parse(layout, s); err == nil {
			if y := t.UTC().Year(); y < 1971 || y > 2250 { // what nanoseconds since 1970 can hold, with room
				return time.Time{}, saidf("a time lies outside 1971 to 2250", "时刻超出 1971 至 2250 年")
			}
			return t.UTC(), nil
		}
	}
	return time.Time{}, saidf("%.40q is not a time such as 2026-03-01T10:00Z", "%.40q 不是 2026-03-01T10:00Z 这样的时刻", s)
}

func formatTime(t time.Time) string {
	if t = t.UTC(); t.Second() == 0 && t.Nanosecond() == 0 {
		return t.Format(shortTime)
	}
	return t.Format(time.RFC3339Nano)
}
