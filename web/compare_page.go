package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

// How long a page waits for its comparison before it says that it is being
// computed, and how long its script waits for each answer.
const (
	comparePatience = 80 * time.Millisecond
	comparePoll     = 10 * time.Second
)

// compareRoutes mounts the pages that compare and their API.
func (s *Server) compareRoutes(e *echo.Echo) {
	read := []string{http.MethodGet, http.MethodHead}
	e.Match(read, "/compare", s.comparePage)
	e.Match(read, "/compare/traces", s.compareTracesPage)
	e.Match(read, "/api/compare", s.compareAPI)
	e.Match(read, "/api/compare/trails", s.compareTrails)
}

// comparePage puts deployments side by side.
func (s *Server) comparePage(c echo.Context) error {
	if len(c.QueryParams()["d"]) > 0 {
		return toCompare(c)
	}
	ctx := c.Request().Context()
	if c.Request().URL.RawQuery == "" {
		to, err := s.latestPair(ctx)
		if err != nil {
			return err
		}
		if to != "" {
			return c.Redirect(http.StatusSeeOther, to)
		}
	}
	r, err := readRange(c, s.now())
	if err != nil {
		return err
	}
	p := s.page(c, "compare", "compare.title")
	p.Range = &r
	p.Query = maps.Clone(p.Query)
	p.Query.Del("part") // links of the part lead to whole pages
	v := views.Compare{
		Columns: compareColumns(c.QueryParams()["c"]), Per: compare.Per(c.QueryParam("per")), Align: c.QueryParam("align"), Show: c.QueryParam("show"),
		Sort:      c.QueryParam("sort"),
		Baselines: map[string][]string{},
	}
	if !slices.Contains(views.Aligns, v.Align) {
		v.Align = ""
	}
	if !slices.Contains(views.Shows, v.Show) {
		v.Show = ""
	}
	deployments, err := s.samples.Deployments(ctx)
	if err != nil {
		return storeError(err)
	}
	for _, d := range deployments {
		v.Deployments = append(v.Deployments, d.Name)
	}
	baselines, err := s.samples.Baselines(ctx, "")
	if err != nil {
		return storeError(err)
	}
	for _, b := range baselines {
		v.Baselines[b.Deployment] = append(v.Baselines[b.Deployment], b.Name)
	}
	status := http.StatusOK
	if len(v.Columns) >= compare.MinColumns || c.QueryParam("per") != "" {
		err := s.fillCompare(c, r, &v)
		var he *HTTPError
		if !errors.As(err, &he) && err != nil || he != nil && c.QueryParam("part") == "body" {
			return err
		}
		if he != nil { // said in place
			v.Failure, status = he.failure(p.Lang), he.Status
		}
	}
	if c.QueryParam("part") == "body" {
		return s.render(c, http.StatusOK, views.CompareBody(p, v))
	}
	return s.render(c, status, views.ComparePage(p, v))
}

// latestPair is the address that compares the two deployments which reported
// last, the one known for longer as the baseline; "" with fewer.
func (s *Server) latestPair(ctx context.Context) (string, error) {
	deployments, err := s.samples.Deployments(ctx)
	if err != nil {
		return "", storeError(err)
	}
	engines, err := s.samples.Engines(ctx, "")
	if err != nil {
		return "", storeError(err)
	}
	last := map[string]int64{}
	for _, e := range engines {
		last[e.Deployment] = max(last[e.Deployment], e.Last)
	}
	deployments = slices.DeleteFunc(deployments, func(d store.Deployment) bool { return last[d.Name] == 0 })
	if len(deployments) < compare.MinColumns {
		return "", nil
	}
	slices.SortStableFunc(deployments, func(a, b store.Deployment) int { return cmp.Compare(last[b.Name], last[a.Name]) })
	pair := deployments[:2]
	slices.SortStableFunc(pair, func(a, b store.Deployment) int { return a.Created.Compare(b.Created) })
	q := url.Values{}
	for _, d := range pair {
		q.Add("c", compare.ColumnSpec{Deployment: d.Name}.String())
	}
	return (&url.URL{Path: "/compare", RawQuery: q.Encode()}).String(), nil
}

// fillCompare computes the comparison.
func (s *Server) fillCompare(c echo.Context, r views.Range, v *views.Compare) error {
	patience := comparePatience
	if c.QueryParam("part") == "body" {
		patience = comparePoll
	}
	got, done, err := s.startCompare(c, r, patience)
	if err != nil {
		return err
	}
	if !done {
		v.Pending = true
	} else {
		v.Table, v.Took = got.table, got.took
	}
	q := url.Values{}
	for _, key := range []string{"c", "per", "metric", "since", "range", "from", "to"} {
		if list := c.QueryParams()[key]; len(list) > 0 {
			q[key] = list
		}
	}
	v.Config = views.CompareConfig{Trails: "/api/compare/trails?" + q.Encode(), Assets: map[string]string{"charts": s.assets.urls["charts.js"]}}
	for _, col := range v.Columns {
		v.Config.Names = append(v.Config.Names, col.Deployment)
	}
	return nil
}

// startCompare begins the comparison of an address and waits for it for a while.
func (s *Server) startCompare(c echo.Context, r views.Range, patience time.Duration) (*comparison, bool, error) {
	q, err := readCompare(c.QueryParams(), r, s.now())
	if err != nil {
		return nil, false, err
	}
	got, err := s.comparisons.start(q)
	if err != nil {
		return nil, false, err
	}
	done, err := got.wait(c.Request().Context(), patience)
	return got, done, err
}
