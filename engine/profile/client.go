package profile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

const (
	dialWait = 10 * time.Second
	// graceWait is what the client waits beyond the engine's own waits: for the engine's IO worker, which may still
	// write another trace when a request comes.
	graceWait = 2 * time.Minute
)

// errLimit is the cause of a call that ended by the client's own limit, not by its caller.
var errLimit = errors.New("no answer within the engine's own waits")

// Client asks one engine for captures. Its fields are not changed during calls; calls may run side by side.
type Client struct {
	Addr string // host:port of the engine's interface

	PickupWait     time.Duration // the engine's [DefaultPickupWait]
	CompletionWait time.Duration // the engine's [DefaultCompletionWait]

	// LastStep is the time of the engine's last known step, from its log for example; nil or zero: unknown. It only
	// makes Busy say more.
	LastStep func() time.Time

	dial func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a plain dialer
}

// Capture sends one request and waits for its end: the path of the trace on the engine's node, which is the engine's
// word and untrusted, or an [*Error]. It never sends a request twice. When ctx ends it returns at once; what the engine
// does then depends on how far it was (NotSent or NoResult), and errors.Is tells ctx's error.
func (c *Client) Capture(ctx context.Context, q Request) (string, error) {
	trace, err := c.once(ctx, q)
	if err != nil {
		err.Tries, err.Since = 1, time.Now()
		c.stamp(err)
		return "", err
	}
	return trace, nil
}

// CaptureWhenFree is Capture with patience: while the engine is Busy it tries again, up to five times within twice the
// pickup wait, with growing pauses. A healthy engine takes or refuses a request in that time and a capture of 50 steps
// ends; one that still refuses everything is very busy or hangs. No other outcome is tried again.
func (c *Client) CaptureWhenFree(ctx context.Context, q Request) (string, error) {
	first := time.Now()
	for try := 0; ; try++ {
		trace, err := c.once(ctx, q)
		if err == nil {
			return trace, nil
		}
		err.Tries, err.Since = try+1, first
		c.stamp(err)
		if err.Outcome != Busy || try == len(pauses) {
			return "", err
		}
		select {
		case <-time.After(c.pause(try)):
		case <-ctx.Done():
			err.Err = context.Cause(ctx)
			return "", err
		}
	}
}

// pauses are the shares of twice the pickup wait that lie before each new try: with 30 s they are 2, 4, 8, 16 and 30 s.
var pauses = [...]time.Duration{1, 2, 4, 8, 15}

func (c *Client) pause(try int) time.Duration {
	const whole = 1 + 2 + 4 + 8 + 15
	return 2 * c.pickupWait() * pauses[try] / whole
}

func (c *Client) pickupWait() time.Duration {
	if c.PickupWait > 0 {
		return c.PickupWait
	}
	return DefaultPickupWait
}

func (c *Client) completionWait() time.Duration {
	if c.CompletionWait > 0 {
		return c.CompletionWait
	}
	return DefaultCompletionWait
}

// stamp adds what the client knows about its engine.
func (c *Client) stamp(e *Error) {
	e.Addr = c.Addr
	if e.Outcome == Busy && c.LastStep != nil {
		if t := c.LastStep(); !t.IsZero() {
			e.Since = t
		}
	}
}

// once sends one request.
func (c *Client) once(ctx context.Context, q Request) (string, *Error) {
	target, err := c.target()
	if err != nil {
		return "", &Error{Outcome: Unreachable, Cause: BadAddress, Err: err}
	}
	if q.NumSteps < 0 || q.NumSteps > MaxSteps {
		return "", &Error{Outcome: BadRequest, Err: fmt.Errorf("num_steps is %d; it must be from 1 to %d", q.NumSteps, MaxSteps)}
	}
	if !utf8.ValidString(q.OutputDir) {
		return "", &Error{Outcome: BadRequest, Err: fmt.Errorf("output_dir %.200q is not UTF-8, so it can't be sent", q.OutputDir)}
	}
	body, _ := json.Marshal(q) // a number and a string always have their JSON

	ctx, cancel := context.WithTimeoutCause(ctx, c.pickupWait()+c.completionWait()+graceWait, errLimit)
	defer cancel()
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req := (&http.Request{
		Method:        http.MethodPost,
		URL:           target,
		Header:        http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}).WithContext(traced)

	// The transport alone: it follows no redirects.
	resp, err := c.transport().RoundTrip(req)
	switch {
	case err != nil && !connected.Load():
		return "", unsent(ctx, err)
	case err != nil:
		return "", unanswered(ctx, err)
	}
	defer resp.Body.Close()
	// What is longer is no engine's; its beginning will not pass for one.
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil && ctx.Err() != nil {
		return "", unanswered(ctx, err)
	}
	return classify(resp.StatusCode, answer, err)
}

// transport makes a connection for one request. A kept one could turn out to be closed already, and then nobody knows
// whether the engine has read the request. Proxies of the environment don't lead to engines.
func (c *Client) transport() *http.Transport {
	dial := c.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialWait}).DialContext
	}
	return &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxBody}
}

func (c *Client) target() (*url.URL, error) {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	if _, err := netip.ParseAddr(host); err != nil && !isHostName(host) {
		return nil, fmt.Errorf("%q is no host", host)
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/profile"}, nil
}

// isHostName reports whether s has a host name's characters, which have no meaning of their own in a URL.
func isHostName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == ""
}
