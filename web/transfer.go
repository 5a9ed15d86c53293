package web

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// compress packs pages and JSON. What is compressed already, or is served as
// the bytes it is, goes out untouched.
func compress() echo.MiddlewareFunc {
	return middleware.GzipWithConfig(middleware.GzipConfig{
		MinLength: 1 << 10,
		Skipper: func(c echo.Context) bool {
			p := c.Request().URL.Path
			return strings.HasPrefix(p, staticPrefix) || p == examplePath ||
				strings.HasPrefix(p, "/api/uploads") || strings.HasSuffix(p, "/content")
		},
	})
}

// bodyProgress ends requests whose body stops moving. A limit on the whole
// body would cut an honest upload of many gigabytes.
func bodyProgress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &movingBody{ReadCloser: r.Body, conn: http.NewResponseController(c.Response())}
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
