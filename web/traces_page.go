package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	s.editing.Lock()
	defer s.editing.Unlock()
	if err := s.onlyTraceChanges(c.Request().Context(), c.Param("id"), form, &patch); err != nil {
		return err
	}
	if _, err := s.cfg.Store.UpdateTrace(c.Request().Context(), c.Param("id"), patch); err != nil {
		return storeError(err)
	}
	return toList(c, "done", "saved")
}

// onlyTraceChanges is onlyChanges for a trace's form.
func (s *Server) onlyTraceChanges(ctx context.Context, id string, form url.Values, p *store.Patch) error {
	if !form.Has("was_name") {
		return nil // from a program, which says all there shall be
	}
	now, err := s.cfg.Store.Trace(ctx, id)
	if err != nil {
		return storeError(err)
	}
	return keepOthersEdits(form, []editedField{
		{"name", now.Name, refuse(http.StatusConflict, "edited_name", nil, clip(now.Name, 200)), func() { p.Name = nil }},
		{"label", now.Label, refuse(http.StatusConflict, "edited_label", nil, clip(now.Label, 200)), func() { p.Label = nil }},
		{"note", now.Note, refuse(http.StatusConflict, "edited_note", nil, clip(now.Note, 200)), func() { p.Note = nil }},
	})
}

// checkPatch refuses to take a trace's name away, Clean leaves nothing of some,
// and what is too long.
func checkPatch(p store.Patch) error {
	var m store.Meta
	for to, from := range map[*string]*string{&m.Name: p.Name, &m.Label: p.Label, &m.Note: p.Note} {
		if from != nil {
			*to = *from
		}
	}
	if p.Name != nil && m.Clean().Name == "" {
		return refuse(http.StatusBadRequest, "trace_name", nil)
	}
	return checkMeta(m)
}

// checkMeta refuses what Clean would cut: who said it would not be told.
func checkMeta(m store.Meta) error {
	size := func(text string) int { return len(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))) }
	if n := size(m.Name); n > store.MaxName {
		return refuse(http.StatusBadRequest, "long_name", nil, n, store.MaxName)
	}
	if n := size(m.Label); n > store.MaxLabel {
		return refuse(http.StatusBadRequest, "long_label", nil, n, store.MaxLabel)
	}
	if n := size(m.Note); n > store.MaxNote {
		return refuse(http.StatusBadRequest, "long_note", nil, n, store.MaxNote)
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
