package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// HTTPError is an error with two faces: Status, Message and Hint go to the
// client, Err stays in the log. Handlers return it whenever the client can do
// something about the failure; any other error is answered with a bare 500, so
// that no path, query or driver text leaks by accident.
type HTTPError struct {
	Status  int    // HTTP status of the answer
	Message string // what happened, for the reader
	Hint    string // what to do next; may be empty
	Err     error  // the cause, for the log only; may be nil
}

// Error joins the message and the cause; it is what the log shows.
func (e *HTTPError) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap gives errors.Is and errors.As access to the cause.
func (e *HTTPError) Unwrap() error { return e.Err }

// errorBody is the JSON form of an error, the same on every API route.
type errorBody struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// asHTTPError turns whatever a handler or the router returned into what the
// client may read.
func asHTTPError(err error) *HTTPError {
	var he *HTTPError
	if errors.As(err, &he) {
		return he
	}
	var ee *echo.HTTPError
	if errors.As(err, &ee) {
		return &HTTPError{Status: ee.Code, Message: strings.ToLower(http.StatusText(ee.Code)), Hint: routerHint(ee.Code), Err: ee.Internal}
	}
	return &HTTPError{
		Status:  http.StatusInternalServerError,
		Message: "the server failed to answer this request",
		Hint:    "the server's log has the cause; try again",
		Err:     err,
	}
}

// routerHint is the next step after the router refused a request.
func routerHint(status int) string {
	switch status {
	case http.StatusNotFound:
		return "check the address"
	case http.StatusMethodNotAllowed:
		return "use a method that the Allow header names"
	}
	return "correct the request"
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
		_ = c.JSON(he.Status, errorBody{Error: he.Message, Hint: he.Hint})
		return
	}
	if err := s.renderError(c, he); err != nil && r.Context().Err() == nil { // a reader that left misses nothing
		s.log.Error("rendering the error page failed", "error", err)
	}
}
