package ledger

import (
	"strings"
	"time"
)

// maxPrefixBytes is how much of a line's prefix is searched for a time, from its start.
const maxPrefixBytes = 4096

// better is the more complete of two times; of equals the inner one, which stood nearer
// to the engine's own words.
func better(outer, inner Stamp) Stamp {
	if inner.Time.IsZero() || !outer.Time.IsZero() && outer.known() > inner.known() {
		return outer
	}
	return inner
}

// known ranks times: without a year they are worth least.
func (s Stamp) known() int {
	n := 0
	if s.YearKnown {
		n += 2
	}
	if s.ZoneKnown {
		n++
	}
	return n
}

// findStamp looks for the most complete time in a prefix, in any of the common layouts:
// ISO 8601 and its relatives, Python's and Go's logging, syslog, glog, ctime, RFC 1123,
// the common log format, and seconds since 1970 at the very start.
func findStamp(s string) Stamp {
	best := scanStamps(s[:min(len(s), maxPrefixBytes)], false)
	if best.Time.IsZero() {
		word, _, _ := strings.Cut(strings.TrimLeft(s, " ["), " ")
		best, _ = epoch(strings.TrimRight(word, "]:,"))
	}
	return best
}

// scanStamps tries every place in s. A time begins after something that is neither part
// of a word nor of a longer number, except where a line was torn: there it may follow
// anything.
func scanStamps(s string, torn bool) Stamp {
	best := Stamp{}
	for i := 0; i < len(s); i++ {
		if !torn && i > 0 && !boundary(s[:i]) {
			continue
		}
		c := clock{s: s, i: i}
		if stamp, ok := c.stamp(); ok {
			best = better(best, stamp)
			i = c.i - 1
		}
	}
	return best
}

func boundary(before string) bool {
	last := before[len(before)-1]
	inNumber := strings.IndexByte("-/.:,", last) >= 0 && len(before) > 1 && isDigit(before[len(before)-2])
	return !isDigit(last) && !isWord(last) && !inNumber
}

// clock reads one time from s at i.
type clock struct {
	s string
	i int

	year, month, day, hour, min, sec, nano int
	zone                                   time.Duration // east of UTC
	zoneKnown                              bool
}

// stamp tries the layouts of the date; all go on with the time of day.
func (c *clock) stamp() (Stamp, bool) {
	start := c.i
	for _, date := range [...]func(*clock) bool{(*clock).iso, (*clock).compact, (*clock).monthDay, (*clock).glog, (*clock).named, (*clock).dayNamed} {
		*c = clock{s: c.s, i: start}
		if date(c) && c.timeOfDay() {
			if s, ok := c.result(); ok {
				return s, true
			}
		}
	}
	return Stamp{}, false
}

// iso is 2026-08-20 or 2026/08/20 and what separates it from the time.
func (c *clock) iso() bool {
	if !c.fullYear() || !c.oneOf("-/") || !c.number(&c.month, 2) || !c.oneOf("-/") || !c.number(&c.day, 2) {
		return false
	}
	return c.oneOf("T t_")
}

// compact is 20260820.
func (c *clock) compact() bool {
	return c.fullYear() && c.number(&c.month, 2) && c.number(&c.day, 2) && c.oneOf("T -_")
}

// monthDay is 08-20 or 08/20, as vLLM prints it.
func (c *clock) monthDay() bool {
	return c.number(&c.month, 2) && c.oneOf("-/") && c.number(&c.day, 2) && c.oneOf(" ")
}

// glog is I0820, or I20260820 with the year switched on.
func (c *clock) glog() bool {
	if !c.oneOf("IWEF") {
		return false
	}
	at := c.i
	if c.compact() {
		return true
	}
	c.i, c.year = at, 0
	return c.number(&c.month, 2) && c.number(&c.day, 2) && c.oneOf(" ")
}

// named is Aug 20 (syslog), where a day below ten has a second blank; ctime's year
// follows the time.
func (c *clock) named() bool {
	if !c.name() || !c.oneOf(" ") {
		return false
	}
	if c.oneOf(" ") {
		return c.number(&c.day, 1) && c.oneOf(" ")
	}
	return c.number(&c.day, 2) && c.oneOf(" ")
}

// dayNamed is 20/Aug/2026:… or 20 Aug 2026 ….
func (c *clock) dayNamed() bool {
	return c.number(&c.day, 2) && c.oneOf("/ -") && c.name() && c.oneOf("/ -") && c.fullYear() && c.oneOf(": T")
}

// timeOfDay is 12:34:56 with a fraction and a zone, if they are there.
func (c *clock) timeOfDay() bool {
	if !c.number(&c.hour, 2) {
		return false
	}
	colon := c.oneOf(":")
	if !c.number(&c.min, 2) || c.oneOf(":") != colon || !c.number(&c.sec, 2) {
		return false
	}
	if at := c.i; c.oneOf(".,") {
		scale := 100_000_000
		for ; c.i < len(c.s) && isDigit(c.s[c.i]); c.i++ {
			c.nano += int(c.s[c.i]-'0') * scale
			scale /= 10
		}
		if c.i == at+1 {
			c.i = at
		}
	}
	if c.i < len(c.s) && isDigit(c.s[c.i]) {
		return false
	}
	c.readZone()
	if at := c.i; c.year == 0 && (!c.oneOf(" ") || !c.fullYear()) {
		c.i, c.year = at, 0
	}
	return true
}

// readZone is Z, UTC, GMT, +08:00, +0800 or +08, with or without a blank before it.
// Other abbreviations name several zones each and are left unread.
func (c *clock) readZone() {
	at := c.i
	c.oneOf(" ")
	for _, utc := range [...]string{"UTC", "GMT", "Z", "z"} {
		if rest, ok := strings.CutPrefix(c.s[c.i:], utc); ok && (rest == "" || !isWord(rest[0]) && !isDigit(rest[0])) {
			c.i += len(utc)
			c.zoneKnown = true
			return
		}
	}
	if c.i < len(c.s) && (c.s[c.i] == '+' || c.s[c.i] == '-') {
		sign := time.Duration(1)
		if c.s[c.i] == '-' {
			sign = -1
		}
		c.i++
		var h, m int
		if c.number(&h, 2) && h <= 14 {
			before := c.i
			if c.oneOf(":"); !c.number(&m, 2) {
				c.i, m = before, 0
			}
			if m < 60 && (c.i == len(c.s) || !isDigit(c.s[c.i])) {
				c.zone = sign * (time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)
				c.zoneKnown = true
				return
			}
		}
	}
	c.i = at
}

// result checks the ranges. A leap second is taken for the second after it.
func (c *clock) result() (Stamp, bool) {
	if c.month < 1 || c.month > 12 || c.day < 1 || c.hour > 23 || c.min > 59 || c.sec > 60 {
		return Stamp{}, false
	}
	// Year 0 is a leap year, so that a date without its year may be 29 February.
	day := time.Date(c.year, time.Month(c.month), c.day, 0, 0, 0, 0, time.UTC)
	if int(day.Month()) != c.month {
		return Stamp{}, false
	}
	t := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.min, c.sec, c.nano, time.UTC).Add(-c.zone)
	return Stamp{Time: t, ZoneKnown: c.zoneKnown, YearKnown: c.year != 0}, true
}

// number reads exactly n digits.
func (c *clock) number(v *int, n int) bool {
	if c.i+n > len(c.s) {
		return false
	}
	x := 0
	for _, d := range []byte(c.s[c.i : c.i+n]) {
		if !isDigit(d) {
			return false
		}
		x = 10*x + int(d-'0')
	}
	*v, c.i = x, c.i+n
	return true
}

// fullYear reads a year in which a log can have been written.
func (c *clock) fullYear() bool {
	return c.number(&c.year, 4) && c.year >= 1970 && c.year < 2200
}

func (c *clock) oneOf(set string) bool {
	if c.i < len(c.s) && strings.IndexByte(set, c.s[c.i]) >= 0 {
		c.i++
		return true
	}
	return false
}

// name reads an English month.
func (c *clock) name() bool {
	for m := time.January; m <= time.December; m++ {
		if strings.HasPrefix(c.s[c.i:], m.String()[:3]) {
			c.month, c.i = int(m), c.i+3
			return true
		}
	}
	return false
}

// epoch reads seconds, ms, µs or ns since 1970; the number's size tells which. A number
// below 10⁹ (2001) is none.
func epoch(s string) (Stamp, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if len(whole) < 10 || len(whole) > 19 || len(fraction) > 18 {
		return Stamp{}, false
	}
	var n int64
	for _, d := range []byte(whole) {
		if !isDigit(d) || n > (1<<63-10)/10 {
			return Stamp{}, false
		}
		n = 10*n + int64(d-'0')
	}
	unit := int64(time.Second)
	for limit := int64(100_000_000_000); n >= limit && unit > 1; limit *= 1000 {
		unit /= 1000
	}
	ns := n % (int64(time.Second) / unit) * unit
	for scale := unit / 10; scale > 0 && fraction != ""; scale /= 10 {
		if !isDigit(fraction[0]) {
			return Stamp{}, false
		}
		ns += int64(fraction[0]-'0') * scale
		fraction = fraction[1:]
	}
	if n < 1_000_000_000 {
		return Stamp{}, false
	}
	return Stamp{Time: time.Unix(n/(int64(time.Second)/unit), ns).UTC(), ZoneKnown: true, YearKnown: true}, true
}
