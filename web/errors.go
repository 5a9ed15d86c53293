package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

// HTTPError is an error with two faces: Status and the words of Code go to the
// client, Err stays in the log. Handlers return it whenever the client can do
// something about the failure; any other error is answered with a bare 500, so
// that no path, query or driver text leaks by accident.
type HTTPError struct {
	Status int    // HTTP status of the answer
	Code   string // says which refusal this is, to programs and to the catalogue, which has its words in each language
	Args   []any  // of those words; phrases among them are put into the reader's language
	Err    error  // the cause, for the log only; may be nil
}

// refuse is how requests are refused. What happened and what to do are the
// catalogue's "refuse.<code>" and "refuse.<code>.hint" with args in them; err is
// the cause, for the log, or nil.
func refuse(status int, code string, err error, args ...any) *HTTPError {
	return &HTTPError{Status: status, Code: code, Args: args, Err: err}
}

// In is what happened and what to do next, which may be nothing, in a language.
func (e *HTTPError) In(l i18n.Lang) (message, hint string) {
	message, hint, ok := l.Refusal(e.Code, e.Args...)
	if !ok {
		message, hint, _ = l.Refusal("internal")
	}
	return message, hint
}

// Error joins the message and the cause; it is what the log shows.
func (e *HTTPError) Error() string {
	message, _ := e.In(i18n.English)
	if e.Err == nil {
		return message
	}
	return message + ": " + e.Err.Error()
}

// Unwrap gives errors.Is and errors.As access to the cause.
func (e *HTTPError) Unwrap() error { return e.Err }

// words are a message and the next step.
type words struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// errorBody is the JSON form of an error, the same on every API route: in
// English, by its code and parameters for programs, and in the pages' other
// language for their scripts.
type errorBody struct {
	words
	Code   string   `json:"code,omitempty"`
	Params []string `json:"params,omitempty"`
	ZH     *words   `json:"zh,omitempty"`
}

func (e *HTTPError) body() errorBody {
	b := errorBody{Code: e.Code, Params: i18n.English.Words(e.Args), ZH: &words{}}
	b.Error, b.Hint = e.In(i18n.English)
	b.ZH.Error, b.ZH.Hint = e.In(i18n.Chinese)
	return b
}

// failure is the error as a page shows it.
func (e *HTTPError) failure(l i18n.Lang) *views.Failure {
	f := &views.Failure{Status: e.Status}
	f.Message, f.Hint = e.In(l)
	return f
}

// asHTTPError turns whatever a handler or the router returned into what the
// client may read.
func asHTTPError(err error) *HTTPError {
	var he *HTTPError
	if errors.As(err, &he) {
		return he
	}
	var ee *echo.HTTPError
	if !errors.As(err, &ee) {
		return refuse(http.StatusInternalServerError, "internal", err)
	}
	switch ee.Code {
	case http.StatusNotFound:
		return refuse(ee.Code, "no_page", ee.Internal)
	case http.StatusMethodNotAllowed:
		return refuse(ee.Code, "method", ee.Internal)
	}
	return refuse(ee.Code, "http", ee.Internal, strings.ToLower(http.StatusText(ee.Code)))
}

// wantsJSON says whether an error of this request is read by a program: every
// API route, and whoever doesn't accept HTML.
func wantsJSON(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		return true
	}
	return !strings.Contains(r.Header.Get("Accept"), "text/html")
}

// handleError answers with the error's public face and logs the private one.
// It is echo's HTTPErrorHandler.
func (s *Server) handleError(err error, c echo.Context) {
	he := asHTTPError(err)
	r := c.Request()
	// A client that went away is no fault of ours and would fill the log.
	if he.Status >= 500 && !errors.Is(err, context.Canceled) {
		s.log.LogAttrs(r.Context(), slog.LevelError, "request failed",
			slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", he.Status), slog.String("error", err.Error()))
	}
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	h.Del("ETag")
	h.Del("Content-Disposition")
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		_ = c.NoContent(he.Status)
		return
	}
	if wantsJSON(r) {
		_ = c.JSON(he.Status, he.body())
		return
	}
	if err := s.renderError(c, he); err != nil && r.Context().Err() == nil { // a reader that left misses nothing
		s.log.Error("rendering the error page failed", "error", err)
	}
}
