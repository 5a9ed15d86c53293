package views

import (
	"net/url"
	"time"

	"github.com/a-h/templ"

	"github.com/stepscope/stepscope/engine/compare"
)

// Range is the time a page is about. Key is one of RangeKeys, or "own".
type Range struct {
	Key      string
	From, To time.Time
}

// RangeKeys are the ranges that end now, the shortest first. "live" is the last five minutes.
var RangeKeys = []string{"live", "15m", "1h", "6h", "24h", "7d"}

// rangeLink is this page's address with another range; what else it shows stays.
func (p Page) rangeLink(key string) templ.SafeURL {
	q := p.query()
	q.Del("from")
	q.Del("to")
	q.Set("range", key)
	return templ.SafeURL((&url.URL{Path: p.Path, RawQuery: q.Encode()}).String())
}

// fixedLink is this page's address with its time as it is now: it shows the same
// to whoever opens it later.
func (p Page) fixedLink() templ.SafeURL {
	q := p.query()
	q.Del("range")
	q.Set("from", stamp(p.Range.From))
	q.Set("to", stamp(p.Range.To))
	// Columns of a comparison may end now on their own.
	for i, text := range q["c"] {
		if s, err := compare.ParseColumn(text); err == nil && s.Since > 0 {
			s.From, s.To, s.Since = p.Range.To.Add(-s.Since), p.Range.To, 0
			q["c"][i] = s.String()
		}
	}
	if length, err := compare.ParseSpan(q.Get("since")); err == nil {
		q.Set("from", stamp(p.Range.To.Add(-length)))
	}
	q.Del("since")
	return templ.SafeURL((&url.URL{Path: p.Path, RawQuery: q.Encode()}).String())
}

// query is a copy of the page's parameters.
func (p Page) query() url.Values {
	q := url.Values{}
	for k, v := range p.Query {
		q[k] = append([]string(nil), v...)
	}
	return q
}

// kept are the parameters that the form for an own range hands on.
func (p Page) kept() url.Values {
	q := p.query()
	for _, k := range []string{"from", "to", "range", "lang", "theme"} {
		q.Del(k)
	}
	return q
}

// inputTime is a time as a field of a form takes it, in UTC.
func inputTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
