package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/views"
)

const (
	tokenCookie = "stepscope_token"
	tokenDays   = 30 // how long a browser remembers the token
)

// checkToken lets writing requests through only with the server's token, as a
// bearer token or in the cookie that /login sets. Without a token there is
// nothing to check: New allows that on loopback only.
func (s *Server) checkToken(next echo.HandlerFunc) echo.HandlerFunc {
	if s.cfg.Token == "" {
		return next
	}
	return func(c echo.Context) error {
		r := c.Request()
		if isRead(r.Method) || r.URL.Path == "/login" || s.hasToken(r) {
			return next(c)
		}
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="stepscope"`)
		return refuse(http.StatusUnauthorized, "token", nil)
	}
}

// isRead says whether a method changes nothing.
func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// hasToken looks for the token in the header and in the cookie.
func (s *Server) hasToken(r *http.Request) bool {
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return sameToken(given, s.cfg.Token)
	}
	cookie, err := r.Cookie(tokenCookie)
	return err == nil && sameToken(cookie.Value, cookieValue(s.cfg.Token))
}

// sameToken compares in a time that tells nothing about where they differ.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// cookieValue is what a browser keeps instead of the token: whoever reads the
// cookie file can't use it as the token elsewhere.
func cookieValue(token string) string {
	sum := sha256.Sum256([]byte("stepscope cookie\x00" + token))
	return hex.EncodeToString(sum[:])
}

// loginPage asks for the token; a link with ?token= enters it at once.
func (s *Server) loginPage(c echo.Context) error {
	if s.cfg.Token == "" {
		return s.renderLogin(c, http.StatusOK, "unneeded")
	}
	if given := c.QueryParam("token"); given != "" {
		return s.enter(c, given)
	}
	if s.hasToken(c.Request()) {
		return s.renderLogin(c, http.StatusOK, "done")
	}
	return s.renderLogin(c, http.StatusOK, "")
}

// login takes the token from the form.
func (s *Server) login(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	if s.cfg.Token == "" {
		return s.renderLogin(c, http.StatusOK, "unneeded")
	}
	return s.enter(c, form.Get("token"))
}

// enter sets the cookie and takes the token out of the address bar.
func (s *Server) enter(c echo.Context, given string) error {
	if !sameToken(given, s.cfg.Token) {
		return s.renderLogin(c, http.StatusUnauthorized, "wrong")
	}
	c.SetCookie(&http.Cookie{
		Name: tokenCookie, Value: cookieValue(s.cfg.Token), Path: "/", MaxAge: tokenDays * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.Request().TLS != nil,
	})
	return c.Redirect(http.StatusSeeOther, "/login")
}

func (s *Server) renderLogin(c echo.Context, status int, state string) error {
	p := s.page(c, "", "login.title")
	return s.render(c, status, views.Login(p, state))
}
