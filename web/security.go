package web

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
)

// contentSecurityPolicy lets pages load nothing but this server's own files.
// 'wasm-unsafe-eval' compiles the reader; style attributes are what the charts'
// tooltips and the bars in cells need. Workers take it from their own response,
// so it is on every answer.
const contentSecurityPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; " +
	"connect-src 'self'; img-src 'self' data:; style-src 'self'; style-src-attr 'unsafe-inline'; font-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// secureHeaders puts the rules for browsers on every answer, errors included.
func secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Embedder-Policy", "require-corp")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		return next(c)
	}
}

// checkHost refuses requests that reach a loopback server under a foreign name:
// that is a web site whose name was made to resolve to this machine, trying to
// read traces as if it were this server's own page.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	if !s.cfg.Addr.IsLoopback() {
		return next
	}
	return func(c echo.Context) error {
		if host := c.Request().Host; !isLoopbackHost(host) {
			return refuse(http.StatusMisdirectedRequest, "host", errors.New("host "+host))
		}
		return next(c)
	}
}

// isLoopbackHost judges a Host header, with or without a port.
func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// checkOrigin refuses writing requests that another site's page makes a
// browser send. Programs without a browser send no such headers and pass.
func (s *Server) checkOrigin() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := protection.Check(c.Request()); err != nil {
				return refuse(http.StatusForbidden, "foreign", err)
			}
			return next(c)
		}
	}
}
