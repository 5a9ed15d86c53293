package capture

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// say is a sentence that pages have in their languages.
func say(code string, args ...any) store.Said { return wire.Say(code, args...) }

// saidError is an error with such a sentence.
type saidError struct {
	store.Said
	kind error // what errors.Is finds, or nil
}

func (e *saidError) Error() string { return e.Text }
func (e *saidError) Unwrap() error { return e.kind }

// cause says why something failed: the usual reasons in words that pages know, others in the system's own.
func cause(err error) store.Said {
	var known *saidError
	var engine *profile.Error
	var fail *failure
	switch {
	case errors.As(err, &fail):
		return fail.what
	case errors.As(err, &engine):
		return engineSaid(engine)
	case errors.As(err, &known):
		return known.Said
	}
	if code := causeCode(err); code != "" {
		return say(code)
	}
	return store.Said{Text: reason(err)}
}

// causes are the system's usual errors.
var causes = []struct {
	err  error
	code string
}{
	{fs.ErrPermission, "cause_permission"}, {fs.ErrNotExist, "cause_not_exist"}, {syscall.ENOSPC, "cause_no_space"}, {syscall.EIO, "cause_io"},
	{syscall.ESTALE, "cause_stale"}, {syscall.ECONNREFUSED, "cause_refused"}, {syscall.EHOSTUNREACH, "cause_no_route"}, {syscall.ENETUNREACH, "cause_no_route"},
	{syscall.ECONNRESET, "cause_broken_off"}, {io.ErrUnexpectedEOF, "cause_broken_off"}, {context.DeadlineExceeded, "cause_timeout"},
}

func causeCode(err error) string {
	// What a server or a checker says in words of its own is more than the error underneath.
	bare := err
	for wrapped := true; wrapped; {
		switch e := bare.(type) {
		case *fs.PathError:
			bare = e.Err
		case *os.SyscallError:
			bare = e.Err
		case *net.OpError:
			bare = e.Err
		default:
			wrapped = false
		}
	}
	if dns, ok := bare.(*net.DNSError); ok && dns.IsNotFound {
		return "cause_unknown_host"
	}
	if timeout, ok := bare.(net.Error); ok && timeout.Timeout() {
		return "cause_timeout"
	}
	if _, ok := bare.(tls.RecordHeaderError); ok || bare.Error() == "http: server gave HTTP response to HTTPS client" {
		return "cause_plain_http"
	}
	if errors.Unwrap(bare) != nil {
		return ""
	}
	for _, c := range causes {
		if errors.Is(bare, c.err) {
			return c.code
		}
	}
	return ""
}

// engineSaid is a failed request to a DeepInfer engine, in the words of its error.
func engineSaid(e *profile.Error) store.Said {
	addr := oneLine(e.Addr)
	var s, next store.Said
	switch e.Outcome {
	case profile.Busy:
		s, next = say("engine_busy", addr), say("engine_later")
		if e.Tries > 1 {
			next = say("engine_hangs", e.Tries, e.Since.Format(time.RFC3339))
		}
	case profile.NotPickedUp:
		s, next = say("engine_not_picked_up", addr), say("engine_loads")
	case profile.NoResult:
		s, next = say("engine_no_result", addr), causeNext(e.Cause)
	case profile.BadRequest:
		s, next = say("engine_bad_request", addr), say("engine_change")
	case profile.Unreachable:
		s, next = say("engine_unreachable", addr), causeNext(e.Cause)
	case profile.NotSent:
		s, next = say("engine_not_sent", addr), causeNext(e.Cause)
	default:
		return store.Said{Text: oneLine(e.Error())}
	}
	if e.Said != "" {
		s = say("detail", s, oneLine(e.Said))
	}
	if e.Err != nil {
		s = say("detail", s, cause(e.Err))
	}
	if next.Text != "" {
		s = say("and", s, next)
	}
	return s
}

// causeNext is what to do about an engine that gave no trace.
func causeNext(c profile.Cause) store.Said {
	switch c {
	case profile.Refused:
		return say("engine_refused")
	case profile.DialTimeout:
		return say("engine_dial_timeout")
	case profile.UnknownHost:
		return say("engine_unknown_host")
	case profile.NoRoute:
		return say("engine_no_route")
	case profile.BadAddress:
		return say("engine_bad_address")
	case profile.NotDeepInfer:
		return say("engine_not_deepinfer")
	case profile.Failed:
		return say("engine_failed")
	case profile.Unfinished, profile.Lost, profile.GaveUp, profile.Gateway, profile.Unclear:
		return say("engine_may_run")
	}
	return store.Said{}
}

// warn adds a warning to a capture, unless it has it already or too many.
func warn(c *store.Capture, s store.Said) {
	had := warnings(*c)
	if text := joinTexts(c.Warning, s.Text); text != c.Warning {
		c.Warning, c.Told.Warnings = text, append(slices.Clone(had), s)
	}
}

// warnings are a capture's, in English only where no codes came with them.
func warnings(c store.Capture) []store.Said {
	if len(c.Told.Warnings) == 0 && c.Warning != "" {
		return []store.Said{{Text: c.Warning}}
	}
	return c.Told.Warnings
}
