package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

// compareQuery is a comparison as an address asks for it. ?c= is a column as
// compare.ParseColumn reads it, repeated; a column without a time of its own has
// the page's (?range= or ?from=&to=), or ?since=, a length such as 1h that ends
// now. ?metric=, repeated, narrows it to some keys.
type compareQuery struct {
	Specs   []compare.ColumnSpec
	Per     compare.Per
	Metrics []string // keys; empty: all
	Now     time.Time
	Since   time.Duration // of columns without a time of their own
}

// maxMetrics is how many keys a comparison can be narrowed to.
const maxMetrics = 500

// key tells comparisons apart. Times that end now are the same for a few seconds.
func (q compareQuery) key() string {
	var b strings.Builder
	relative := false
	for _, s := range q.Specs {
		b.WriteString(strconv.Quote(s.String()))
		relative = relative || s.Baseline == "" && s.From.IsZero()
	}
	fmt.Fprintf(&b, " %s %s %q", q.Per, q.Since, q.Metrics)
	if relative {
		fmt.Fprintf(&b, " %d", q.Now.Unix())
	}
	return b.String()
}

// readCompare reads a comparison from an address. r is the page's time.
func readCompare(values url.Values, r views.Range, now time.Time) (compareQuery, error) {
	q := compareQuery{Per: compare.Per(values.Get("per")), Now: now.Truncate(compareFresh), Since: r.To.Sub(r.From)}
	bad := func(code string, args ...any) (compareQuery, error) {
		return q, refuse(http.StatusBadRequest, code, nil, args...)
	}
	if !slices.Contains(views.Pers, q.Per) {
		return bad("compare_per", clip(string(q.Per), 40))
	}
	if since := values.Get("since"); since != "" {
		length, err := compare.ParseSpan(since)
		if err != nil {
			return bad("compare_since", said(err))
		}
		q.Since = length
	}
	if q.Metrics = values["metric"]; len(q.Metrics) > maxMetrics {
		return bad("compare_metrics", len(q.Metrics), maxMetrics)
	}
	var unknown *compare.UnknownMetric
	if errors.As(compare.CheckMetrics(q.Metrics), &unknown) {
		return bad("compare_metric", unknown.Key, strings.Join(unknown.Near, ", "))
	}
	if n := len(values["c"]); n < compare.MinColumns || n > compare.MaxColumns {
		return bad("compare_columns", n, compare.MinColumns, compare.MaxColumns)
	}
	specs, err := compare.ParseColumns(values["c"])
	if err != nil {
		return bad("compare_column", said(err))
	}
	for i := range specs {
		s := &specs[i]
		// The page's own range has fixed ends, others end now.
		if r.Key == "own" && values.Get("since") == "" && s.Baseline == "" && s.Since == 0 && s.From.IsZero() {
			s.From, s.To = r.From, r.To
		}
	}
	q.Specs = specs
	return q, nil
}

// said is an error as an argument of a refusal: in the reader's language where it knows it.
func said(err error) any {
	var s *compare.Said
	if errors.As(err, &s) {
		return i18n.Both{EN: s.EN, ZH: s.ZH}
	}
	return err
}

// compareColumns are the columns of an address for the form: also those that
// can't be read, so that they can be corrected.
func compareColumns(texts []string) []views.CompareColumn {
	var list []views.CompareColumn
	for _, text := range texts[:min(len(texts), compare.MaxColumns)] {
		c := views.CompareColumn{Deployment: text, Spec: text}
		if s, err := compare.ParseColumn(text); err == nil {
			c.Deployment, c.Spec, c.From, c.To = s.Deployment, s.String(), s.From, s.To
			switch {
			case s.Baseline != "":
				c.Range = "baseline:" + s.Baseline
			case s.Since > 0:
				_, span, _ := strings.Cut(strings.TrimPrefix(s.String(), s.Deployment), "@")
				c.Range = span
			case !s.From.IsZero():
				c.Range = "own"
			}
		}
		list = append(list, c)
	}
	return list
}

// toCompare turns the form of the columns, whose fields stand in a row for each
// column, into the one address that such a comparison has.
func toCompare(c echo.Context) error {
	given := c.QueryParams()
	q := url.Values{}
	for key, list := range given {
		if !slices.Contains([]string{"c", "d", "r", "f", "t", "part"}, key) {
			q[key] = list
		}
	}
	at := func(key string, i int) string {
		if list := given[key]; i < len(list) {
			return list[i]
		}
		return ""
	}
	for i, name := range given["d"] {
		if name == "" {
			continue
		}
		spec, err := formColumn(name, at("r", i), at("f", i), at("t", i))
		if err != nil {
			return err
		}
		q.Add("c", spec.String())
	}
	return c.Redirect(http.StatusSeeOther, (&url.URL{Path: "/compare", RawQuery: q.Encode()}).String())
}

// formColumn is one column of the form.
func formColumn(name, span, from, to string) (compare.ColumnSpec, error) {
	s := compare.ColumnSpec{Deployment: name}
	if label, ok := strings.CutPrefix(span, "baseline:"); ok {
		s.Baseline = label
		return s, nil
	}
	switch {
	case span == "own" && (from == "" || to == ""):
		// Chosen before its times were filled in: the page's time until then.
		return s, nil
	case span == "own":
		var err error
		if s.From, err = formTime(from); err != nil {
			return s, badTime("from", from)
		}
		if s.To, err = formTime(to); err != nil {
			return s, badTime("to", to)
		}
		if !s.To.After(s.From) {
			return s, refuse(http.StatusBadRequest, "time_order", nil)
		}
		return s, nil
	case span != "":
		parsed, err := compare.ParseColumn("x@" + span)
		if err != nil {
			return s, refuse(http.StatusBadRequest, "compare_since", err, clip(span, 40))
		}
		s.Since = parsed.Since
	}
	return s, nil
}
