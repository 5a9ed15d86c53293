package capture

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

func TestCausesHaveCodes(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err        error
		code, text string
	}{
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, "cause_permission", "permission denied"},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, "cause_not_exist", "no such file or directory"},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, "cause_no_space", "no space left on device"},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "cause_refused", "connection refused"},
		{dial(&net.DNSError{Err: "no such host", Name: "n", IsNotFound: true}), "cause_unknown_host", "no such host"},
		{dial(os.ErrDeadlineExceeded), "cause_timeout", "timed out"},
		{context.DeadlineExceeded, "cause_timeout", "timed out"},
		{errors.New("http: server gave HTTP response to HTTPS client"), "cause_plain_http", "the server speaks plain HTTP, not TLS"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "cause_plain_http", "the server speaks plain HTTP, not TLS"},
		{&failure{what: say("cut")}, "cut", "it ends in the middle"},
		{fmt.Errorf("wrapped: %w", &saidError{Said: say("grows")}), "grows", "it still grows"},
		// What has more words than the system's is kept in them.
		{fmt.Errorf("server http://a: %w; start it", syscall.ECONNREFUSED), "", "server http://a: connection refused; start it"},
		{errors.New("odd\nthing"), "", "odd thing"},
	} {
		if got := cause(c.err); got.Code != c.code || got.Text != c.text {
			t.Errorf("%v: %+v, want %q with %q", c.err, got, c.code, c.text)
		}
	}
}

// The sentences of a failed request are those of its error.
func TestEngineErrorsInWords(t *testing.T) {
	for outcome := profile.Busy; outcome <= profile.NotSent; outcome++ {
		for cause := profile.Cause(0); cause <= profile.Unclear; cause++ {
			for tries := 1; tries <= 2; tries++ {
				e := &profile.Error{Outcome: outcome, Cause: cause, Addr: "10.0.0.7:6070", Said: "own {0} words", Tries: tries, Since: time.Unix(7, 0), Err: errors.New("below")}
				if got := engineSaid(e); got.Text != e.Error() || got.Code == "" {
					t.Errorf("%+v, want the words %q", got, e.Error())
				}
			}
		}
	}
}

func TestWarningsKeepTheirCodes(t *testing.T) {
	c := store.Capture{Warning: "of an older server"}
	for range 2 {
		warn(&c, say("grows"))
		warn(&c, say("steps_late", 5))
	}
	want := []store.Said{{Text: "of an older server"}, {Code: "grows", Text: "it still grows"},
		{Code: "steps_late", Text: "5 steps did not come in time: the server was told to stop", Args: []store.Said{{Text: "5"}}}}
	if !reflect.DeepEqual(c.Told.Warnings, want) || c.Warning != want[0].Text+"\n"+want[1].Text+"\n"+want[2].Text {
		t.Errorf("%q, %+v", c.Warning, c.Told.Warnings)
	}
}
