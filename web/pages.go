package web

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

const prefsAge = 365 * 24 * 3600 // seconds a browser remembers language and theme

// toldOnce are parameters that say what was done just now: no link of the page
// hands them on, or it would be said again.
var toldOnce = []string{"done", "started", "gone", "gone_note", "gone_from", "gone_to"}

// page gathers what the frame needs: the reader's language and theme, and
// where the built files are.
func (s *Server) page(c echo.Context, nav, titleKey string) views.Page {
	lang := language(c)
	query := maps.Clone(c.QueryParams())
	for _, k := range toldOnce {
		query.Del(k)
	}
	return views.Page{
		Lang:   lang,
		Theme:  theme(c),
		Nav:    nav,
		Title:  lang.T(titleKey),
		Path:   c.Request().URL.Path,
		Query:  query,
		Assets: s.assets.urls,
	}
}

// language is ?lang=, which is remembered, else the cookie, else what the
// browser prefers.
func language(c echo.Context) i18n.Lang {
	if l, ok := i18n.Parse(c.QueryParam("lang")); ok {
		remember(c, "lang", string(l))
		return l
	}
	if cookie, err := c.Cookie("lang"); err == nil {
		if l, ok := i18n.Parse(cookie.Value); ok {
			return l
		}
	}
	return i18n.Accept(c.Request().Header.Get("Accept-Language"))
}

// theme is ?theme=, which is remembered, else the cookie, else the system's.
func theme(c echo.Context) string {
	if asked := c.QueryParam("theme"); isTheme(asked) {
		remember(c, "theme", asked)
		return asked
	}
	if cookie, err := c.Cookie("theme"); err == nil && isTheme(cookie.Value) {
		return cookie.Value
	}
	return views.Themes[0]
}

func isTheme(name string) bool {
	for _, t := range views.Themes {
		if name == t {
			return true
		}
	}
	return false
}

// remember keeps a preference. The theme's cookie is one the page's script
// writes too, so these are not HttpOnly; they hold nothing private.
func remember(c echo.Context, name, value string) {
	c.SetCookie(&http.Cookie{Name: name, Value: value, Path: "/", MaxAge: prefsAge, SameSite: http.SameSiteLaxMode})
}

// render sends a page. It is rendered to memory first, so that an error turns
// into an error page instead of half a document.
func (s *Server) render(c echo.Context, status int, page templ.Component) error {
	var buf bytes.Buffer
	if err := page.Render(c.Request().Context(), &buf); err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store") // language, theme and lists change under the same address
	return c.HTMLBlob(status, buf.Bytes())
}

// sortedKeys are the keys of a map in their order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// renderError sends the error page.
func (s *Server) renderError(c echo.Context, he *HTTPError) error {
	p := s.page(c, "", "error.title")
	p.Title = p.Lang.T("error.title", strconv.Itoa(he.Status))
	// The switches are links: they must not repeat a request that failed or wrote.
	p.Path, p.Query = "/trace", nil
	f := he.failure(p.Lang)
	f.Fleet, f.Compare = aboutDeployments(c.Request().URL.Path), c.Request().URL.Path == "/compare"
	return s.render(c, he.Status, views.Error(p, *f))
}

// aboutDeployments says whether an address is one of the fleet's.
func aboutDeployments(path string) bool {
	return path == "/compare" || slices.ContainsFunc([]string{"/fleet", "/deployments", "/baselines", "/captures", "/collector"}, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	})
}

// tracePage is the viewer. Which trace it opens is the script's business; the
// address is checked here too, so that a bad link fails where it is read.
func (s *Server) tracePage(c echo.Context) error {
	if from := c.QueryParam("trace"); from != "" && !isOwnPath(from) {
		return refuse(http.StatusBadRequest, "own_traces", nil)
	}
	p := s.page(c, "trace", "trace.title")
	cfg := views.TraceConfig{
		Lang:    string(p.Lang),
		Version: s.cfg.Version,
		Assets: map[string]string{
			"page":   s.assets.urls["page.js"],
			"worker": s.assets.urls["worker.js"],
			"charts": s.assets.urls["charts.js"],
			"wasm":   s.assets.urls["trace.wasm"],
		},
		Example:   views.Example{URL: examplePath, Name: "example.json.gz"},
		API:       views.API{Traces: "/api/traces", Uploads: "/api/uploads"},
		MaxUpload: s.cfg.Limits.MaxUpload,
	}
	return s.render(c, http.StatusOK, views.Trace(p, cfg))
}

// isOwnPath says whether an address stays on this server: an absolute path, no
// host, and nothing a browser would read as one ("//host", "/\host").
func isOwnPath(ref string) bool {
	u, err := url.Parse(ref)
	return err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(ref, "/") &&
		!strings.HasPrefix(ref, "//") && !strings.Contains(ref, `\`)
}
