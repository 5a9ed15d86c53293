package profile

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Outcome says how a capture ended that gave no trace, and with it what may be done next.
type Outcome int

// The outcomes. Only Busy, NotPickedUp, Unreachable and NotSent leave it certain that the engine does nothing.
const (
	Busy        Outcome = iota + 1 // a capture is pending or running, or the engine hangs: back off, try again
	NotPickedUp                    // nothing will happen: trying again later is safe
	NoResult                       // it may have run and a file may still appear: look for it before trying again
	BadRequest                     // the same request will fail again
	Unreachable                    // no engine's interface answered: see the cause
	NotSent                        // the caller gave up before the request went out
)

// String is the outcome in a few words.
func (o Outcome) String() string {
	switch o {
	case Busy:
		return "busy"
	case NotPickedUp:
		return "not picked up"
	case NoResult:
		return "no result"
	case BadRequest:
		return "bad request"
	case Unreachable:
		return "unreachable"
	case NotSent:
		return "not sent"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}

// Cause is the likely reason of an outcome that has several.
type Cause int

// The causes of Unreachable, then those of NoResult.
const (
	Refused      Cause = iota + 1 // nothing listens: interface off, its bind failed, or wrong port
	DialTimeout                   // no connection in time: host down or packets dropped
	UnknownHost                   // the name has no address
	NoRoute                       // the network leads nowhere, or the connection failed for another reason
	BadAddress                    // not host:port
	NotDeepInfer                  // somebody else listens there

	Unfinished // the engine gave the capture up after its completion wait
	Failed     // the engine's profiler or disk failed
	Lost       // the connection broke before the whole answer had come
	GaveUp     // the caller stopped waiting, or the client's own limit passed
	Gateway    // something between here and the engine answered in its place
	Unclear    // an answer that doesn't say whether the request takes effect
)

// hint is what to do about a cause.
func (c Cause) hint() string {
	switch c {
	case Refused:
		return "the interface is off (DEEPINFER_PROFILE_HTTP_ENABLE=1 turns it on), its bind failed (the engine's log says so), or the port is wrong (6070 + driver GPU id)"
	case DialTimeout:
		return "the host is down or a firewall drops packets; check the address and the network"
	case UnknownHost:
		return "the host's name can't be resolved; check its spelling or use the address"
	case NoRoute:
		return "there is no way to the host; check the address and the network"
	case BadAddress:
		return "give host:port, for example 10.0.0.7:6070"
	case NotDeepInfer:
		return "another service answers there; check the port (6070 + driver GPU id)"
	case Failed:
		return "see the engine's log; a part of the file may lie in the output folder"
	case Unfinished, Lost, GaveUp, Gateway, Unclear:
		return "the capture may still run: look for its file in the output folder before trying again"
	}
	return ""
}

// Error is a capture that gave no trace.
type Error struct {
	Outcome Outcome
	Cause   Cause     // of Unreachable and NoResult, else 0
	Addr    string    // the engine, host:port
	Said    string    // the engine's own words, cleaned; "" when it gave none
	Tries   int       // requests sent
	Since   time.Time // Busy: the engine's last step as far as known, else the first refusal
	Err     error     // what failed underneath, or nil
}

// Error gives place, reason and next step.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine %s: %s", clean(e.Addr), e.Outcome)
	if e.Said != "" {
		fmt.Fprintf(&b, ": %s", e.Said)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", clean(e.Err.Error()))
	}
	switch e.Outcome {
	case Busy:
		if e.Tries > 1 {
			fmt.Fprintf(&b, "; after %d tries: busy, or hung: no step since %s", e.Tries, e.Since.Format(time.RFC3339))
		} else {
			b.WriteString("; try again later")
		}
	case NotPickedUp:
		b.WriteString("; the engine hangs, is suspended or still loads; trying again later is safe")
	case BadRequest:
		b.WriteString("; change the request")
	default:
		if h := e.Cause.hint(); h != "" {
			fmt.Fprintf(&b, "; %s", h)
		}
	}
	return b.String()
}

// Unwrap returns what failed underneath.
func (e *Error) Unwrap() error { return e.Err }

// maxSaid bounds what is kept of a stranger's text, in bytes.
const maxSaid = 400

// clean makes a stranger's text one harmless line.
func clean(s string) string {
	if len(s) > maxSaid {
		s = s[:maxSaid]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		// Control characters move cursors, format characters reorder text.
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
