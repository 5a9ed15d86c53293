package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

// pairChoices is how many kept traces a side can be chosen from without
// searching; others are reached from the list of traces.
const pairChoices = 200

// compareTracesPage is two traces side by side: ?a= and ?b= name kept ones. An
// id that nothing is kept under is said in place, so that the other side can be
// read all the same.
func (s *Server) compareTracesPage(c echo.Context) error {
	ctx := c.Request().Context()
	got, err := s.cfg.Store.ListTraces(ctx, store.Query{Limit: pairChoices})
	if err != nil {
		return storeError(err)
	}
	var v views.TracePair
	for _, t := range got.Traces {
		v.Choices = append(v.Choices, kept(t))
	}
	p := s.page(c, "compare", "pair.title")
	cfg := views.PairConfig{
		Lang:   string(p.Lang),
		Assets: map[string]string{"worker": s.assets.urls["worker.js"], "wasm": s.assets.urls["trace.wasm"]},
		API:    views.API{Traces: "/api/traces", Uploads: "/api/uploads"},
		Sides:  map[string]views.Stored{},
	}
	for _, side := range []struct {
		name string
		to   **views.KeptTrace
		miss *string
	}{{"a", &v.A, &v.MissA}, {"b", &v.B, &v.MissB}} {
		id := c.QueryParam(side.name)
		if id == "" {
			continue
		}
		t, err := s.cfg.Store.Trace(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && !t.Live():
			*side.miss = id
		case err != nil:
			return storeError(err)
		default:
			k := kept(t)
			*side.to = &k
			_, err := s.cfg.Store.Summary(ctx, id)
			cfg.Sides[side.name] = views.Stored{ID: t.ID, Name: t.Name, Label: t.Label, Summary: err == nil}
		}
	}
	return s.render(c, http.StatusOK, views.CompareTraces(p, v, cfg))
}
