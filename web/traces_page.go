package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

// listPage is how many kept traces one page shows.
const listPage = 100

// tracesPage lists the kept traces. After a change its address says which one,
// so that going back and reloading change nothing again.
func (s *Server) tracesPage(c echo.Context) error {
	ctx := c.Request().Context()
	q := store.Query{Text: c.QueryParam("q"), After: c.QueryParam("after"), Limit: listPage}
	got, err := s.cfg.Store.ListTraces(ctx, q)
	if err != nil {
		return storeError(err)
	}
	v := views.TraceList{Search: q.Text, Next: got.Next, Later: q.After != "", Grace: hours(s.cfg.Grace)}
	for _, t := range got.Traces {
		v.Traces = append(v.Traces, kept(t))
	}
	switch done := c.QueryParam("done"); done {
	case "saved", "restored":
		v.Done = done
	}
	if id := c.QueryParam("deleted"); id != "" {
		// Gone for good or back again since: then there is nothing to undo.
		if t, err := s.cfg.Store.Trace(ctx, id); err == nil && !t.Live() {
			k := kept(t)
			v.Deleted = &k
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return storeError(err)
		}
	}
	return s.render(c, http.StatusOK, views.Traces(s.page(c, "traces", "list.title"), v))
}

// deleteTrace hides a trace; the page it leads to offers to undo that.
func (s *Server) deleteTrace(c echo.Context) error {
	id := c.Param("id")
	if err := s.cfg.Store.DeleteTrace(c.Request().Context(), id); err != nil {
		return storeError(err)
	}
	return toList(c, "deleted", id)
}

// restoreTrace undoes that.
func (s *Server) restoreTrace(c echo.Context) error {
	if _, err := s.cfg.Store.RestoreTrace(c.Request().Context(), c.Param("id")); err != nil {
		return storeError(err)
	}
	return toList(c, "done", "restored")
}

// editTrace changes what people say about a trace.
func (s *Server) editTrace(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	name, label, note := form.Get("name"), form.Get("label"), form.Get("note")
	patch := store.Patch{Name: &name, Label: &label, Note: &note}
	if err := checkPatch(patch); err != nil {
		return err
	}
	if _, err := s.cfg.Store.UpdateTrace(c.Request().Context(), c.Param("id"), patch); err != nil {
		return storeError(err)
	}
	return toList(c, "done", "saved")
}

// checkPatch refuses to take a trace's name away; Clean leaves nothing of some.
func checkPatch(p store.Patch) error {
	if p.Name != nil && (store.Meta{Name: *p.Name}).Clean().Name == "" {
		return refuse(http.StatusBadRequest, "trace_name", nil)
	}
	return nil
}

// toList leads a browser from a form to the list.
func toList(c echo.Context, key, value string) error {
	return c.Redirect(http.StatusSeeOther, "/traces?"+url.Values{key: {value}}.Encode())
}

// readForm reads a small form from the body; parameters of the address don't count.
func readForm(c echo.Context) (url.Values, error) {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		status := http.StatusBadRequest
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		return nil, refuse(status, "form", err)
	}
	return r.PostForm, nil
}

func kept(t store.Trace) views.KeptTrace {
	return views.KeptTrace{ID: t.ID, Name: t.Name, Label: t.Label, Note: t.Note, Bytes: t.Bytes, Created: t.Created}
}

// hours prints the grace period.
func hours(d time.Duration) string {
	return strconv.FormatFloat(d.Hours(), 'f', -1, 64) + " h"
}
