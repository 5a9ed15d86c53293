package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
)

// Limits bound what clients may send. The store enforces its own limits while it
// receives; these let a request be refused before its first byte.
type Limits struct {
	MaxUpload int64 // bytes of one trace; 0 is no limit
}

// maxPatch bounds the body of an edit, in bytes.
const maxPatch = 64 << 10

// TracesAPI is the JSON API over kept traces and the resumable uploads.
type TracesAPI struct {
	st      store.Traces
	limits  Limits
	uploads transfers
}

// NewTracesAPI makes the API over a store.
func NewTracesAPI(st store.Traces, limits Limits) *TracesAPI {
	return &TracesAPI{st: st, limits: limits, uploads: transfers{running: map[string]*transfer{}}}
}

// Register mounts the API under /api.
func (h *TracesAPI) Register(e *echo.Echo) {
	read := []string{http.MethodGet, http.MethodHead}
	e.Match(read, "/api/traces", h.list)
	e.PUT("/api/traces", h.put)
	e.Match(read, "/api/traces/:id", h.get)
	e.PATCH("/api/traces/:id", h.edit)
	e.DELETE("/api/traces/:id", h.delete)
	e.POST("/api/traces/:id/restore", h.restore)
	e.Match(read, "/api/traces/:id/content", h.content)

	e.OPTIONS(uploadsPath, h.tusOptions)
	e.POST(uploadsPath, h.tus(h.createUpload))
	e.HEAD(uploadsPath+"/:id", h.tus(h.headUpload))
	e.PATCH(uploadsPath+"/:id", h.tus(h.patchUpload))
	e.DELETE(uploadsPath+"/:id", h.tus(h.deleteUpload))
	// For clients behind proxies that let only GET and POST through.
	e.POST(uploadsPath+"/:id", h.tus(h.overriddenUpload))
}

// traceJSON is a trace as the API shows it.
type traceJSON struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Label       string    `json:"label"`
	Note        string    `json:"note"`
	Bytes       int64     `json:"bytes"`
	SHA256      string    `json:"sha256"`
	ContentType string    `json:"content_type"`
	Created     time.Time `json:"created"`
	Deleted     bool      `json:"deleted"`
}

func toJSON(t store.Trace) traceJSON {
	return traceJSON{ID: t.ID, Name: t.Name, Label: t.Label, Note: t.Note, Bytes: t.Bytes,
		SHA256: t.ID, ContentType: t.ContentType, Created: t.Created, Deleted: !t.Live()}
}

// hexParam reads an id from the path: lower-case hex of just this length.
func hexParam(c echo.Context, digits int) (string, error) {
	id := c.Param("id")
	if !isHex(id, digits) {
		return "", refuse(http.StatusBadRequest, "trace_id", nil, digits)
	}
	return id, nil
}

// isHex says whether s is lower-case hex of just this length.
func isHex(s string, digits int) bool {
	for i := range len(s) {
		if b := s[i]; (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return len(s) == digits
}

func traceID(c echo.Context) (string, error) { return hexParam(c, 64) }

// liveTrace finds the trace that the path names.
func (h *TracesAPI) liveTrace(c echo.Context) (store.Trace, error) {
	id, err := traceID(c)
	if err != nil {
		return store.Trace{}, err
	}
	t, err := h.st.Trace(c.Request().Context(), id)
	if err != nil {
		return t, storeError(err)
	}
	if !t.Live() {
		return t, refuse(http.StatusNotFound, "trace_deleted", nil)
	}
	return t, nil
}

func (h *TracesAPI) list(c echo.Context) error {
	q := store.Query{Text: c.QueryParam("q"), After: c.QueryParam("after")}
	if s := c.QueryParam("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > store.MaxPage {
			return refuse(http.StatusBadRequest, "limit", nil, store.MaxPage)
		}
		q.Limit = n
	}
	p, err := h.st.ListTraces(c.Request().Context(), q)
	if err != nil {
		return storeError(err)
	}
	answer := struct {
		Traces []traceJSON `json:"traces"`
		Next   *string     `json:"next"` // null on the last page
	}{Traces: make([]traceJSON, len(p.Traces))}
	for i, t := range p.Traces {
		answer.Traces[i] = toJSON(t)
	}
	if p.Next != "" {
		answer.Next = &p.Next
	}
	return c.JSON(http.StatusOK, answer)
}

// put keeps one streamed body: curl -T trace.json.gz 'http://…/api/traces?name=…'.
func (h *TracesAPI) put(c echo.Context) error {
	r := c.Request()
	if err := h.checkLength(r.Context(), r.ContentLength); err != nil {
		return storeError(err)
	}
	m := store.Meta{Name: c.QueryParam("name"), Label: c.QueryParam("label"), Note: c.QueryParam("note")}
	if err := checkMeta(m); err != nil {
		return err
	}
	t, existing, err := h.st.KeepTrace(r.Context(), m, r.Body)
	if err != nil {
		return storeError(err)
	}
	c.Response().Header().Set("Location", "/api/traces/"+t.ID)
	return c.JSON(http.StatusCreated, toKept(t, existing, m))
}

// checkLength refuses a body that could never be kept before its first byte. A
// store that is merely full is no reason: a new file may get deleted traces' room.
func (h *TracesAPI) checkLength(ctx context.Context, n int64) error {
	if h.limits.MaxUpload > 0 && n > h.limits.MaxUpload {
		return &store.LimitError{Err: store.ErrTooLarge, Limit: h.limits.MaxUpload, Size: n}
	}
	if n <= 0 { // not announced
		return nil
	}
	u, err := h.st.Usage(ctx)
	if err == nil && u.Quota > 0 && n > u.Quota {
		return refuse(http.StatusRequestEntityTooLarge, "over_quota", store.ErrTooLarge, sizeText(u.Quota))
	}
	return err
}

func (h *TracesAPI) get(c echo.Context) error {
	t, err := h.liveTrace(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, toJSON(t))
}

func (h *TracesAPI) edit(c echo.Context) error {
	id, err := traceID(c)
	if err != nil {
		return err
	}
	var body struct {
		Name  *string `json:"name"`
		Label *string `json:"label"`
		Note  *string `json:"note"`
	}
	d := json.NewDecoder(http.MaxBytesReader(c.Response(), c.Request().Body, maxPatch))
	d.DisallowUnknownFields()
	err = d.Decode(&body)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			err = nil
		} else {
			err = errors.Join(errors.New("bytes behind the object"), err)
		}
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "trace_edit", err, err)
	}
	if err := checkPatch(store.Patch(body)); err != nil {
		return err
	}
	t, err := h.st.UpdateTrace(c.Request().Context(), id, store.Patch(body))
	if err != nil {
		return storeError(err)
	}
	return c.JSON(http.StatusOK, toJSON(t))
}

func (h *TracesAPI) delete(c echo.Context) error {
	id, err := traceID(c)
	if err != nil {
		return err
	}
	if err := h.st.DeleteTrace(c.Request().Context(), id); err != nil {
		return storeError(err)
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *TracesAPI) restore(c echo.Context) error {
	id, err := traceID(c)
	if err != nil {
		return err
	}
	t, err := h.st.RestoreTrace(c.Request().Context(), id)
	if err != nil {
		return storeError(err)
	}
	return c.JSON(http.StatusOK, toJSON(t))
}
