package collector

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stepscope/stepscope/collector/capture"
)

// The usual reasons why nothing answers at a profile interface have codes of their own.
func TestWhyAProfileInterfaceIsNotReached(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	const addr = "10.0.0.7:6070"
	for _, c := range []struct {
		kind string
		err  error
		code string
		args []string
	}{
		{capture.DeepInfer, dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "profile.refused", []string{addr}},
		{capture.VLLM, dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "profile.server_refused", []string{addr}},
		{capture.DeepInfer, dial(&net.DNSError{Name: "n", IsNotFound: true}), "profile.unknown_host", []string{addr}},
		{capture.DeepInfer, dial(&net.DNSError{Name: "n", Err: "server misbehaving"}), "profile.failed", []string{addr, "dial tcp: lookup n: server misbehaving"}},
		{capture.DeepInfer, dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), "profile.no_route", []string{addr}},
		{capture.DeepInfer, dial(context.DeadlineExceeded), "profile.timeout", []string{addr, knockWait.String()}},
		{capture.DeepInfer, errors.New("odd"), "profile.failed", []string{addr, "odd"}},
	} {
		p := (&ports{kind: c.kind}).unreached(addr, c.err)
		if p.Code != c.code || !slices.Equal(p.Args, c.args) || p.What == "" || p.Hint == "" {
			t.Errorf("%v: %+v, want %s %q", c.err, p, c.code, c.args)
		}
	}
}
