package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// staticPrefix is where the built files live. Their names carry a hash of
// their content, so a browser may keep them for ever.
const staticPrefix = "/static/"

// dist is what scripts/build-web.sh made, or just a placeholder before that:
// the build output is not committed.
//
//go:embed all:static/dist
var dist embed.FS

// Built is the browser's part as built into this binary.
func Built() fs.FS {
	sub, err := fs.Sub(dist, "static/dist")
	if err != nil {
		panic(err) // the path above is a constant
	}
	return sub
}

// contentTypes are the kinds of files a build makes. They don't come from the
// system's table, which differs between machines; a wrong one for WebAssembly
// would keep browsers from compiling it while it loads.
var contentTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".wasm": "application/wasm",
}

// assets are the built files, each kept gzip-compressed only.
type assets struct {
	urls  map[string]string // "page.js" → "/static/page-….js"
	files map[string][]byte // "page-….js" → gzip bytes
}

// loadAssets reads the manifest and the files it names. A folder without a
// manifest is an unbuilt one and gives no assets.
func loadAssets(fsys fs.FS) (*assets, error) {
	a := &assets{urls: map[string]string{}, files: map[string][]byte{}}
	raw, err := fs.ReadFile(fsys, "manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("web: reading the asset manifest: %w", err)
	}
	var manifest map[string]string
	if err := json.Unmarshal(raw, &manifest); err != nil {
		return nil, fmt.Errorf("web: the asset manifest is damaged (run make build): %w", err)
	}
	for source, name := range manifest {
		if contentTypes[path.Ext(name)] == "" {
			return nil, fmt.Errorf("web: asset %q is of a kind this server doesn't know", name)
		}
		packed, err := fs.ReadFile(fsys, name+".gz")
		if err != nil {
			return nil, fmt.Errorf("web: the manifest names a missing asset (run make build): %w", err)
		}
		a.files[name] = packed
		a.urls[source] = staticPrefix + name
	}
	return a, nil
}

// serve answers with one file, compressed as it is kept unless the client
// can't take that.
func (a *assets) serve(c echo.Context) error {
	name := c.Param("name")
	packed, ok := a.files[name]
	if !ok {
		return refuse(http.StatusNotFound, "no_file", nil)
	}
	h := c.Response().Header()
	h.Set("Content-Type", contentTypes[path.Ext(name)])
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", `"`+name+`"`)
	body := bytes.NewReader(packed)
	if acceptsGzip(c.Request()) {
		h.Set("Content-Encoding", "gzip")
	} else {
		plain, err := unpack(packed)
		if err != nil {
			return fmt.Errorf("unpacking asset %s: %w", name, err)
		}
		body = bytes.NewReader(plain)
	}
	// Ranges would be of the compressed form, which no client means.
	c.Request().Header.Del("Range")
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, body)
	return nil
}

// acceptsGzip says whether the client takes gzip; "gzip;q=0" is a refusal.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if coding == "gzip" || coding == "*" {
			q := strings.ReplaceAll(params, " ", "")
			return q != "q=0" && q != "q=0.0"
		}
	}
	return false
}

func unpack(packed []byte) ([]byte, error) {
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(zr); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
