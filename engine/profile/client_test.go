package profile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func logTo(c chan<- string) *slog.Logger {
	return slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		c <- string(p)
		return len(p), nil
	}), nil))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// wantError checks an outcome with its cause and returns it.
func wantError(t *testing.T, err error, o Outcome, c Cause) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Outcome != o || e.Cause != c {
		t.Fatalf("got %#v (%v), want %v with cause %d", err, err, o, c)
	}
	return e
}

// What a real server's answer is taken for.
func TestClientReadsAnswers(t *testing.T) {
	f := func(status int, body string, o Outcome, c Cause, said string) {
		t.Helper()
		var calls atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		defer s.Close()
		_, err := (&Client{Addr: s.Listener.Addr().String()}).Capture(t.Context(), Request{})
		e := wantError(t, err, o, c)
		if e.Said != said {
			t.Errorf("%d %.80s: said %q, want %q", status, body, e.Said, said)
		}
		if e.Addr != s.Listener.Addr().String() || e.Tries != 1 || calls.Load() != 1 {
			t.Errorf("%d: %+v after %d calls", status, e, calls.Load())
		}
	}
	html := "<!DOCTYPE html><title>not here</title>"
	f(400, `{"detail":"num_steps is 99"}`, BadRequest, 0, "num_steps is 99")
	f(400, `{"error":"bad\r\ndir \u001b[31m\u202e"}`, BadRequest, 0, "bad  dir \uFFFD[31m\uFFFD")
	f(400, `output_dir not writable`, BadRequest, 0, "output_dir not writable")
	f(422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, BadRequest, 0, `[{"loc":["body"],"msg":"field required"}]`)
	f(409, `{"message":"a capture is running"}`, Busy, 0, "a capture is running")
	f(409, ``, Busy, 0, "")
	f(409, html, Unreachable, NotDeepInfer, "")

	f(503, fmt.Sprintf(`{"detail":"`+textNotPickedUp+`"}`, 30*time.Second), NotPickedUp, 0,
		"the engine did not pick the request up within 30s: it will not take effect")
	f(503, `{"detail":"engine 未接手,请求不会生效"}`, NotPickedUp, 0, "engine 未接手,请求不会生效")
	f(503, fmt.Sprintf(`{"detail":"`+textNoTrace+`"}`, 600*time.Second), NoResult, Unfinished,
		"the capture was picked up but did not finish within 10m0s: no trace will be delivered")
	f(503, `{"error":"trace 不会写出"}`, NoResult, Unfinished, "trace 不会写出")
	f(503, textClosingBefore, NotPickedUp, 0, textClosingBefore)
	f(503, textClosingAfter, NoResult, Unfinished, textClosingAfter)
	f(503, `{"detail":"try later"}`, NoResult, Unclear, "try later")
	f(503, `{"detail":"no trace; will not take effect"}`, NoResult, Unclear, "no trace; will not take effect")
	f(503, ``, NoResult, Unclear, "")
	f(503, html, NoResult, Gateway, "")
	f(502, html, NoResult, Gateway, "")
	f(504, `upstream timed out`, NoResult, Gateway, "upstream timed out")
	f(500, `{"detail":"the trace could not be written"}`, NoResult, Failed, "the trace could not be written")

	f(200, html, Unreachable, NotDeepInfer, "")
	f(200, `{"status":"ok"}`, Unreachable, NotDeepInfer, "")
	f(200, `{"trace_file":7}`, Unreachable, NotDeepInfer, "")
	f(200, `{"trace_file":""}`, Unreachable, NotDeepInfer, "")
	f(200, `null`, Unreachable, NotDeepInfer, "null")
	f(200, `[]`, Unreachable, NotDeepInfer, "[]")
	f(200, `{"trace_file":"/x","pad":"`+strings.Repeat("y", maxBody)+`"}`, Unreachable, NotDeepInfer,
		`{"trace_file":"/x","pad":"`+strings.Repeat("y", maxSaid-len(`{"trace_file":"/x","pad":"`)))
	f(303, ``, Unreachable, NotDeepInfer, "")
	f(401, `{"error":"token?"}`, Unreachable, NotDeepInfer, "token?")
	f(404, `{"detail":"Not Found"}`, Unreachable, NotDeepInfer, "Not Found")
	f(405, ``, Unreachable, NotDeepInfer, "")
}

func TestClientSendsWhatIsAsked(t *testing.T) {
	f := func(q Request, want string) {
		t.Helper()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, 200)
			n, _ := r.Body.Read(body)
			if got := r.Method + " " + r.URL.String() + " " + string(body[:n]); got != want {
				t.Errorf("sent %s, want %s", got, want)
			}
			if !r.Close || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("keeps the connection: %v, header %v", !r.Close, r.Header)
			}
			_, _ = w.Write([]byte(`{"trace_file":"/mnt/a\u0000b"}`))
		}))
		defer s.Close()
		got, err := (&Client{Addr: s.Listener.Addr().String()}).Capture(t.Context(), q)
		if err != nil || got != "/mnt/a\x00b" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	f(Request{}, `POST /profile {}`)
	f(Request{NumSteps: 50, OutputDir: "/mnt"}, `POST /profile {"num_steps":50,"output_dir":"/mnt"}`)
}

func TestClientCantConnect(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	_, err = (&Client{Addr: closed.Addr().String()}).Capture(t.Context(), Request{})
	e := wantError(t, err, Unreachable, Refused)
	for _, want := range []string{closed.Addr().String(), "refused", "interface is off", "bind failed", "port is wrong"} {
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%q lacks %q", e, want)
		}
	}

	dialFails := func(with error) *Client {
		return &Client{Addr: "engine:6070", dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: with}
		}}
	}
	_, err = dialFails(&net.DNSError{Err: "no such host", Name: "engine", IsNotFound: true}).Capture(t.Context(), Request{})
	wantError(t, err, Unreachable, UnknownHost)
	_, err = dialFails(os.ErrDeadlineExceeded).Capture(t.Context(), Request{})
	wantError(t, err, Unreachable, DialTimeout)
	_, err = dialFails(&net.DNSError{Err: "slow", Name: "engine", IsTimeout: true}).Capture(t.Context(), Request{})
	wantError(t, err, Unreachable, DialTimeout)
	_, err = dialFails(errors.New("network is unreachable")).Capture(t.Context(), Request{})
	wantError(t, err, Unreachable, NoRoute)

	for _, addr := range []string{"", "engine", "engine:", "engine:x", "engine:0", "engine:65536", ":6070", "http://engine:6070", "a/b:6070", "u@h:6070", "::1:6070", "a%zz:6070", "a\x7fb:6070"} {
		_, err = (&Client{Addr: addr}).Capture(t.Context(), Request{})
		wantError(t, err, Unreachable, BadAddress)
	}
	for _, steps := range []int{-1, 51} {
		_, err = dialFails(errors.New("asked")).Capture(t.Context(), Request{NumSteps: steps})
		wantError(t, err, BadRequest, 0)
	}

	_, err = dialFails(errors.New("asked")).Capture(t.Context(), Request{OutputDir: "/tmp/\xff"})
	wantError(t, err, BadRequest, 0)

	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errDisk)
	_, err = dialFails(errors.New("asked")).Capture(gone, Request{})
	if wantError(t, err, NotSent, 0); !errors.Is(err, errDisk) {
		t.Errorf("got %v, want the context's cause", err)
	}
}

// answerRaw serves one connection with these bytes and closes it.
func answerRaw(t *testing.T, answer string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buf := make([]byte, 4096)
		for got := ""; !strings.HasSuffix(got, "{}"); {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			got += string(buf[:n])
		}
		_, _ = conn.Write([]byte(answer))
	}()
	return l.Addr().String()
}

func TestClientLosesTheAnswer(t *testing.T) {
	f := func(answer string, o Outcome, c Cause) {
		t.Helper()
		_, err := (&Client{Addr: answerRaw(t, answer)}).CaptureWhenFree(t.Context(), Request{})
		wantError(t, err, o, c)
	}
	f("", NoResult, Lost)
	f("HTTP/1.1 200 OK\r\nContent-Le", NoResult, Lost)
	f("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"trace_file\":\"/x\"}", NoResult, Lost)
	f("HTTP/1.1 503 Unavailable\r\nContent-Length: 100\r\n\r\n{\"detail\":\"", NoResult, Unclear)
	f("SSH-2.0-OpenSSH_9.2\r\n", Unreachable, NotDeepInfer)
	f("\x15\x03\x01\x00\x02\x02\x16", Unreachable, NotDeepInfer)
}
