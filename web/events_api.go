package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// maxMarks is how many events charts are marked with; more would cover the lines.
const maxMarks = 500

// eventJSON is an event as charts are marked with it.
type eventJSON struct {
	Kind    string   `json:"kind"`
	From    int64    `json:"from"` // ms since 1970
	To      int64    `json:"to"`
	Engines []string `json:"engines"` // the first few
	Count   int      `json:"count"`   // engines
	N       int64    `json:"n"`       // lines or samples it is about
	Detail  string   `json:"detail"`
}

// events answers GET /api/events?deployment=&range=|from=&to= with what happened
// to the deployment's engines, by start.
func (s *Server) events(c echo.Context) error {
	ctx := c.Request().Context()
	r, err := readRange(c, s.now())
	if err != nil {
		return err
	}
	d, err := s.deployment(ctx, c.QueryParam("deployment"), true)
	if err != nil {
		return err
	}
	rows, err := readEvents(ctx, s.samples, d, r.From.UnixNano(), r.To.UnixNano())
	if err != nil {
		return storeError(err)
	}
	answer := struct {
		Events []eventJSON `json:"events"`
		More   int         `json:"more"` // left out
	}{Events: []eventJSON{}, More: max(0, len(rows)-maxMarks)}
	for _, e := range rows[:min(len(rows), maxMarks)] {
		answer.Events = append(answer.Events, eventJSON{Kind: e.Kind, From: e.From.UnixMilli(), To: e.To.UnixMilli(), Engines: e.Engines, Count: e.Count, N: e.N, Detail: e.Detail})
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, answer)
}
