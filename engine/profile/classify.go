package profile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// classify reads an engine's answer: the trace's path, or what became of the request. cut tells why body is not whole.
func classify(status int, body []byte, cut error) (string, *Error) {
	said, trace, kind := readAnswer(body)
	fail := func(o Outcome, c Cause) (string, *Error) {
		return "", &Error{Outcome: o, Cause: c, Said: said, Err: cut}
	}
	switch status {
	case http.StatusOK:
		switch {
		case cut != nil:
			return fail(NoResult, Lost)
		case trace == "":
			return fail(Unreachable, NotDeepInfer)
		}
		return trace, nil
	case http.StatusInternalServerError:
		return fail(NoResult, Failed)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		// A gateway may have passed the request on before it gave up.
		return fail(NoResult, Gateway)
	case http.StatusServiceUnavailable:
		return fail(unavailable(said, kind))
	}
	if kind == page {
		return fail(Unreachable, NotDeepInfer)
	}
	switch status {
	case http.StatusConflict:
		return fail(Busy, 0)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return fail(BadRequest, 0)
	}
	return fail(Unreachable, NotDeepInfer)
}

// unavailable tells the two 503s apart, which only their words do. Words that fit neither, or both, leave open what
// happens, and then the request counts as running.
func unavailable(said string, kind answerKind) (Outcome, Cause) {
	if kind == page {
		return NoResult, Gateway
	}
	text := strings.ToLower(said)
	has := func(phrases ...string) bool {
		for _, p := range phrases {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	before := has("not take effect", "no effect", "不会生效")
	after := has("no trace", "not be delivered", "not be written", "不会写出")
	switch {
	case before && !after:
		return NotPickedUp, 0
	case after && !before:
		return NoResult, Unfinished
	}
	return NoResult, Unclear
}

// answerKind is what a body looks like.
type answerKind int

const (
	words  answerKind = iota // plain text, or nothing
	object                   // JSON object
	page                     // HTML, or JSON that is no object
)

// readAnswer finds a trace's path or a message in a body of unknown origin.
func readAnswer(body []byte) (said, trace string, kind answerKind) {
	body = bytes.TrimSpace(body)
	var fields map[string]json.RawMessage
	switch {
	case len(body) > 0 && body[0] == '<':
		return "", "", page
	case json.Unmarshal(body, &fields) == nil && fields != nil:
		for _, key := range []string{"detail", "error", "message"} {
			if raw, ok := fields[key]; ok {
				if said = clean(text(raw)); said == "" {
					said = clean(string(raw)) // a list of complaints, say
				}
				break
			}
		}
		return said, text(fields["trace_file"]), object
	case json.Valid(body):
		return clean(string(body)), "", page
	}
	return clean(string(body)), "", words
}

// text is the string that raw holds, or "" when it holds something else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// unsent says why no connection came about.
func unsent(ctx context.Context, err error) *Error {
	var dns *net.DNSError
	var timeout net.Error
	e := &Error{Outcome: Unreachable, Err: err}
	switch {
	case ctx.Err() != nil:
		e.Outcome, e.Err = NotSent, context.Cause(ctx)
	case errors.As(err, &dns) && !dns.IsTimeout:
		e.Cause = UnknownHost
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Cause = Refused
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Cause = DialTimeout
	default:
		e.Cause = NoRoute
	}
	return e
}

// unanswered says what an error means that came after the connection: some of the request may have arrived.
func unanswered(ctx context.Context, err error) *Error {
	switch {
	case ctx.Err() != nil:
		return &Error{Outcome: NoResult, Cause: GaveUp, Err: context.Cause(ctx)}
	// net/http has no error value for an answer that is not HTTP.
	case strings.Contains(err.Error(), "malformed HTTP"):
		return &Error{Outcome: Unreachable, Cause: NotDeepInfer, Err: err}
	}
	return &Error{Outcome: NoResult, Cause: Lost, Err: err}
}
