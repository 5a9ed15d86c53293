package web

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"
)

// compress packs pages and JSON on their way out. What is compressed already,
// or is served as the bytes it is, goes out untouched.
func compress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		p := c.Request().URL.Path
		asIs := strings.HasPrefix(p, staticPrefix) || p == examplePath || strings.HasSuffix(p, "/content")
		if asIs || c.Request().Method == http.MethodHead {
			return next(c)
		}
		res := c.Response()
		res.Header().Add("Vary", "Accept-Encoding")
		if !acceptsGzip(c.Request()) {
			return next(c)
		}
		w := &gzipWriter{ResponseWriter: res.Writer}
		res.Writer = w
		err := next(c)
		if err != nil {
			// The error's answer must pass through here too, not after the end.
			c.Error(err)
		}
		res.Writer = w.ResponseWriter
		return w.close()
	}
}

// gzipWriter compresses a response if its header, once written, says it is a
// page or JSON.
type gzipWriter struct {
	http.ResponseWriter
	zw *gzip.Writer // nil: not compressing
}

// gzipWriters are kept for the next response: each holds about 800 kB.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// WriteHeader decides whether to compress.
func (w *gzipWriter) WriteHeader(status int) {
	h := w.Header()
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	hasBody := status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
	if hasBody && h.Get("Content-Encoding") == "" && (kind == "text/html" || kind == "application/json") {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		w.zw = gzipWriters.Get().(*gzip.Writer)
		w.zw.Reset(w.ResponseWriter)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends p, compressed or not. echo writes the header before.
func (w *gzipWriter) Write(p []byte) (int, error) {
	if w.zw == nil {
		return w.ResponseWriter.Write(p)
	}
	return w.zw.Write(p)
}

// Unwrap gives http.ResponseController the connection's own writer.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// close ends the compressed stream.
func (w *gzipWriter) close() error {
	if w.zw == nil {
		return nil
	}
	err := w.zw.Close()
	w.zw.Reset(io.Discard)
	gzipWriters.Put(w.zw)
	return err
}

// bodyProgress ends requests whose body stops moving. A limit on the whole
// body would cut an honest upload of many gigabytes.
func bodyProgress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Body != nil && r.Body != http.NoBody {
			// In a copy: net/http must still see its own body in its own request. Of
			// any other it would wait for 256 KiB before it sends a refusal.
			r = r.WithContext(r.Context())
			r.Body = &movingBody{ReadCloser: r.Body, conn: http.NewResponseController(c.Response())}
			c.SetRequest(r)
		}
		return next(c)
	}
}

// movingBody sets the connection's read deadline anew as bytes come.
type movingBody struct {
	io.ReadCloser
	conn *http.ResponseController
	set  time.Time // when the deadline was last set
}

// Read moves the deadline at most once a second, which costs nothing beside
// the read itself. After the body's end the deadline is taken away: it would
// otherwise cancel a handler that still works on what it read. Connections
// that know no deadlines (in tests) are left alone.
func (b *movingBody) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.set) > time.Second {
		b.set = now
		_ = b.conn.SetReadDeadline(now.Add(bodyTimeout))
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}
