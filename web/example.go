package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"
)

// examplePath is the trace the viewer offers to open.
const examplePath = "/example.json.gz"

// example is the example trace. It is made when first asked for, about 100 MB
// of JSON that never lies in memory whole, and kept compressed.
type example struct {
	write func(io.Writer) error

	mu   sync.Mutex
	gz   []byte
	etag string
}

// serve answers with the trace as a gzip file: no Content-Encoding, since the
// reader unpacks it itself and the browser must not.
func (x *example) serve(c echo.Context) error {
	if x.write == nil {
		return refuse(http.StatusNotFound, "no_example", nil)
	}
	gz, etag, err := x.get(c.Request().Context())
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", "application/gzip")
	h.Set("Content-Disposition", `attachment; filename="example.json.gz"`)
	h.Set("Cache-Control", "no-cache") // ask again, and get 304 while the binary is the same
	h.Set("ETag", etag)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(gz))
	return nil
}

// get makes the trace once; whoever asks meanwhile waits for it. A failure is
// not remembered, and a client that left doesn't stop the making: the next one
// will want it.
func (x *example) get(ctx context.Context) ([]byte, string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	if x.gz != nil {
		return x.gz, x.etag, nil
	}
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if err := x.write(zw); err != nil {
		return nil, "", fmt.Errorf("making the example trace: %w", err)
	}
	if err := zw.Close(); err != nil {
		return nil, "", fmt.Errorf("compressing the example trace: %w", err)
	}
	sum := sha256.Sum256(buf.Bytes())
	x.gz, x.etag = bytes.Clone(buf.Bytes()), `"`+hex.EncodeToString(sum[:])+`"`
	return x.gz, x.etag, nil
}
