package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/views"
)

// maxFilter is the longest filter, in bytes, and maxFolds the most deployments
// an address opens or closes.
const (
	maxFilter = 256
	maxFolds  = 64
)

// home leads to the fleet when there is one, else to the trace viewer.
func (s *Server) home(c echo.Context) error {
	to := "/trace"
	// Not from the board: the first engine may have reported a moment ago.
	engines, err := s.samples.Engines(c.Request().Context(), "")
	if err != nil {
		return storeError(err)
	}
	if len(engines) > 0 {
		to = "/fleet"
	}
	return c.Redirect(http.StatusFound, to)
}

// fleetPage lists the deployments. With ?part=body it is only what follows the
// engines, for the page's script.
func (s *Server) fleetPage(c echo.Context) error {
	part := c.QueryParam("part") == "body"
	snap, err := s.board.get(c.Request().Context(), part)
	if err != nil {
		return storeError(err)
	}
	q := c.QueryParams()
	search := strings.TrimSpace(clip(c.QueryParam("q"), maxFilter))
	open, closed := folds(q["open"]), folds(q["closed"])
	mute := s.hub.mute()
	p := s.page(c, "fleet", "fleet.title")
	if part {
		// Many browsers look at the same: one rendering of a snapshot is enough.
		key := fmt.Sprintf("fleet %d %s %q %q %q %q", snap.version, p.Lang, search, open, closed, mute)
		body, err := s.answers.get(c.Request().Context(), key, func() ([]byte, error) {
			var b bytes.Buffer
			v := fleetView(snap, search, open, closed, snap.at)
			v.Mute = mute
			err := views.FleetBody(p, v).Render(context.WithoutCancel(c.Request().Context()), &b)
			return b.Bytes(), err
		})
		if err != nil {
			return err
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		return c.HTMLBlob(http.StatusOK, body)
	}
	v := fleetView(snap, search, open, closed, s.now())
	v.Mute = mute
	v.Deleted = c.QueryParam("deleted")
	switch done := c.QueryParam("done"); done {
	case "saved", "restored":
		v.Done = done
	}
	return s.render(c, http.StatusOK, views.FleetPage(p, v))
}

func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "")
	}
	return s
}

func folds(names []string) []string { return names[:min(len(names), maxFolds)] }
