package web

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
)

// Resumable uploads by tus 1.0 (https://tus.io): the core protocol with the
// extensions creation, termination and expiration.
const (
	uploadsPath   = "/api/uploads"
	tusVersion    = "1.0.0"
	tusExtensions = "creation,termination,expiration"
	uploadBody    = "application/offset+octet-stream"
	uploadDigits  = 32 // of an upload's id
)

// Headers beside those of tus: the trace that a finished upload has become,
// whether its bytes had been kept before, and the fields of the metadata that
// were not stored because of that.
const (
	traceHeader      = "X-Trace-Id"
	existingHeader   = "X-Trace-Existing"
	notAppliedHeader = "X-Trace-Not-Applied"
)

// tusOptions tells clients what this server can do.
func (h *TracesAPI) tusOptions(c echo.Context) error {
	header := c.Response().Header()
	header.Set("Tus-Resumable", tusVersion)
	header.Set("Tus-Version", tusVersion)
	header.Set("Tus-Extension", tusExtensions)
	if h.limits.MaxUpload > 0 {
		header.Set("Tus-Max-Size", strconv.FormatInt(h.limits.MaxUpload, 10))
	}
	return c.NoContent(http.StatusNoContent)
}

// tus checks the protocol's version and puts it on every answer.
func (h *TracesAPI) tus(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Tus-Resumable", tusVersion)
		if c.Request().Header.Get("Tus-Resumable") != tusVersion {
			header.Set("Tus-Version", tusVersion)
			return refuse(http.StatusPreconditionFailed, "tus_version", nil, tusVersion)
		}
		return next(c)
	}
}

// overriddenUpload serves a POST that stands for another method.
func (h *TracesAPI) overriddenUpload(c echo.Context) error {
	switch c.Request().Header.Get("X-HTTP-Method-Override") {
	case http.MethodPatch:
		return h.patchUpload(c)
	case http.MethodDelete:
		return h.deleteUpload(c)
	case http.MethodHead:
		return h.headUpload(c)
	}
	return refuse(http.StatusMethodNotAllowed, "upload_method", nil)
}

func (h *TracesAPI) createUpload(c echo.Context) error {
	r := c.Request()
	length, err := headerInt(r, "Upload-Length")
	if err != nil {
		return err
	}
	if h.limits.MaxUpload > 0 && length > h.limits.MaxUpload {
		return storeError(&store.LimitError{Err: store.ErrTooLarge, Limit: h.limits.MaxUpload, Size: length})
	}
	m, err := parseMetadata(r.Header.Get("Upload-Metadata"))
	if err != nil {
		return err
	}
	if err := checkMeta(m); err != nil {
		return err
	}
	u, err := h.st.CreateUpload(r.Context(), m, length)
	if err != nil {
		return storeError(err)
	}
	c.Response().Header().Set("Location", uploadsPath+"/"+u.ID)
	setUpload(c, u)
	return c.NoContent(http.StatusCreated)
}

func (h *TracesAPI) headUpload(c echo.Context) error {
	id, err := hexParam(c, uploadDigits)
	if err != nil {
		return err
	}
	// Who asks where to go on has lost the connection of before, even if this
	// server has not noticed yet: what it still holds is stored first.
	release, err := h.uploads.acquire(c.Request().Context(), id, func() {})
	if err != nil {
		return err
	}
	defer release()
	u, err := h.st.Upload(c.Request().Context(), id)
	if err != nil {
		return storeError(err)
	}
	header := c.Response().Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Upload-Length", strconv.FormatInt(u.Length, 10))
	if m := formatMetadata(u.Meta); m != "" {
		header.Set("Upload-Metadata", m)
	}
	setUpload(c, u)
	if err := h.setNotApplied(c, u); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

func (h *TracesAPI) patchUpload(c echo.Context) error {
	id, err := hexParam(c, uploadDigits)
	if err != nil {
		return err
	}
	r := c.Request()
	if r.Header.Get("Content-Type") != uploadBody {
		return refuse(http.StatusUnsupportedMediaType, "upload_type", nil, uploadBody)
	}
	offset, err := headerInt(r, "Upload-Offset")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	conn := http.NewResponseController(c.Response())
	release, err := h.uploads.acquire(ctx, id, func() {
		cancel()
		_ = conn.SetReadDeadline(longAgo) // wakes a read that waits for a dead client
	})
	if err != nil {
		return err
	}
	defer release()
	u, err := h.st.AppendUpload(ctx, id, offset, r.Body)
	if errors.Is(err, store.ErrTooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, "upload_grown", err)
	}
	if err != nil {
		return storeError(err)
	}
	setUpload(c, u)
	if err := h.setNotApplied(c, u); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (h *TracesAPI) deleteUpload(c echo.Context) error {
	id, err := hexParam(c, uploadDigits)
	if err != nil {
		return err
	}
	release, err := h.uploads.acquire(c.Request().Context(), id, func() {})
	if err != nil {
		return err
	}
	defer release()
	if err := h.st.DropUpload(c.Request().Context(), id); err != nil {
		return storeError(err)
	}
	return c.NoContent(http.StatusNoContent)
}

// setUpload writes the headers that say how far an upload is.
func setUpload(c echo.Context, u store.Upload) {
	header := c.Response().Header()
	header.Set("Upload-Offset", strconv.FormatInt(u.Offset, 10))
	header.Set("Upload-Expires", u.Expires.UTC().Format(http.TimeFormat))
	if u.Trace != "" {
		header.Set(traceHeader, u.Trace)
		header.Set(existingHeader, strconv.FormatBool(u.Existing))
	}
}

// headerInt reads a header that must hold a number of bytes.
func headerInt(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.Header.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, refuse(http.StatusBadRequest, "upload_header", nil, name)
	}
	return n, nil
}

// parseMetadata reads tus metadata: pairs of a key and base64, with commas between.
func parseMetadata(s string) (m store.Meta, err error) {
	for pair := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), " ")
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
		if err != nil {
			return m, refuse(http.StatusBadRequest, "upload_metadata", err, strconv.Quote(key))
		}
		switch key {
		case "filename":
			m.Name = string(b)
		case "label":
			m.Label = string(b)
		case "note":
			m.Note = string(b)
		}
	}
	return m, nil
}

func formatMetadata(m store.Meta) string {
	var pairs []string
	for _, p := range [...]struct{ key, value string }{{"filename", m.Name}, {"label", m.Label}, {"note", m.Note}} {
		if p.value != "" {
			pairs = append(pairs, p.key+" "+base64.StdEncoding.EncodeToString([]byte(p.value)))
		}
	}
	return strings.Join(pairs, ",")
}
