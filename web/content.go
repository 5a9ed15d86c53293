package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
)

// content serves a trace's bytes as they came, whole or in ranges. gzip is the
// content's type, never its encoding: a browser must not unpack what is to be
// read, saved and compared by its SHA-256 as it is.
func (h *TracesAPI) content(c echo.Context) error {
	t, err := h.liveTrace(c)
	if err != nil {
		return err
	}
	blob, err := h.st.OpenBlob(c.Request().Context(), t.ID)
	if err != nil {
		return storeError(err)
	}
	defer blob.Close()
	header := c.Response().Header()
	header.Set("Content-Type", t.ContentType)
	header.Set("Content-Disposition", attachment(t.Name))
	header.Set("ETag", `"`+t.ID+`"`)
	// The bytes never change, but a deleted trace must not come from a cache.
	header.Set("Cache-Control", "private, no-cache")
	body := &watched{Blob: blob}
	http.ServeContent(&movingResponse{ResponseWriter: c.Response(), conn: http.NewResponseController(c.Response())},
		c.Request(), "", time.Time{}, body)
	if body.err != nil && !errors.Is(body.err, context.Canceled) {
		// The header is out, so the client learns it from the missing bytes:
		// the connection ends short of Content-Length.
		return storeError(body.err)
	}
	return nil
}

// watched remembers a read error, which http.ServeContent swallows.
type watched struct {
	store.Blob
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Blob.Read(p)
	if err != nil && n == 0 && w.err == nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// movingResponse ends a download that stops moving, as movingBody does for
// uploads: a client that reads nothing would hold the connection for ever.
type movingResponse struct {
	http.ResponseWriter
	conn *http.ResponseController
	set  time.Time
}

func (w *movingResponse) Write(p []byte) (int, error) {
	if now := time.Now(); now.Sub(w.set) > time.Second {
		w.set = now
		_ = w.conn.SetWriteDeadline(now.Add(bodyTimeout))
	}
	return w.ResponseWriter.Write(p)
}

// attachment is a Content-Disposition that saves a file under an untrusted name:
// RFC 6266 with a plain-ASCII name for old clients and the real one in RFC 5987.
func attachment(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == ' ' || r == '.' || r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	v := `attachment; filename="` + plain + `"`
	if plain != name {
		// PathEscape leaves some characters that RFC 5987 wants escaped.
		v += "; filename*=UTF-8''" + strings.NewReplacer("'", "%27", "(", "%28", ")", "%29", "*", "%2A",
			":", "%3A", "@", "%40", "=", "%3D", ",", "%2C", ";", "%3B").Replace(url.PathEscape(name))
	}
	return v
}
