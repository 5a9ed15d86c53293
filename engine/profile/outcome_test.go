package profile

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Every message names the engine, the reason and what to do next.
func TestErrorTexts(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 5, 7, 0, time.UTC)
	f := func(e Error, want string) {
		t.Helper()
		e.Addr = "10.0.0.7:6070"
		if got := e.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(Error{Outcome: Busy, Tries: 1}, "engine 10.0.0.7:6070: busy; try again later")
	f(Error{Outcome: Busy, Tries: 6, Since: at}, "engine 10.0.0.7:6070: busy; after 6 tries: busy, or hung: no step since 2026-03-02T09:05:07Z")
	f(Error{Outcome: NotPickedUp, Said: "hm"}, "engine 10.0.0.7:6070: not picked up: hm; the engine hangs, is suspended or still loads; trying again later is safe")
	f(Error{Outcome: NoResult, Cause: Lost, Err: errors.New("EOF")},
		"engine 10.0.0.7:6070: no result: EOF; the capture may still run: look for its file in the output folder before trying again")
	f(Error{Outcome: NoResult, Cause: Failed}, "engine 10.0.0.7:6070: no result; see the engine's log; a part of the file may lie in the output folder")
	f(Error{Outcome: BadRequest, Said: "num_steps is 99"}, "engine 10.0.0.7:6070: bad request: num_steps is 99; change the request")
	f(Error{Outcome: Unreachable, Cause: UnknownHost}, "engine 10.0.0.7:6070: unreachable; the host's name can't be resolved; check its spelling or use the address")
	f(Error{Outcome: NotSent, Err: errors.New("context canceled")}, "engine 10.0.0.7:6070: not sent: context canceled")
	f(Error{Outcome: Outcome(99)}, "engine 10.0.0.7:6070: Outcome(99)")

	for _, c := range []Cause{Refused, DialTimeout, UnknownHost, NoRoute, BadAddress, NotDeepInfer, Unfinished, Failed, Lost, GaveUp, Gateway, Unclear} {
		if c.hint() == "" {
			t.Errorf("cause %d has no next step", c)
		}
	}
	if got := (&Error{Addr: "a\x1b[2Jb\nc"}).Error(); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("an address's control characters came through: %q", got)
	}
}

func TestClean(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	f("", "")
	f(" plain 文字 \n", "plain 文字")
	f("a\x00b\u200ec\xffd", "a\uFFFDb\uFFFDc\uFFFDd")
	// Cut in the middle of a character.
	f(strings.Repeat("文", 200), strings.Repeat("文", 133)+"\uFFFD")
}
