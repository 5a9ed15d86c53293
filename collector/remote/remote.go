// Package remote is a collector's way to a server on another machine: a
// wire.Link over HTTP. It tries each call once; when to try again is the
// caller's to decide. Traces go through the server's resumable uploads.
package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// The times that calls may take.
const (
	callTime    = 30 * time.Second
	deliverTime = 60 * time.Second // the server's disk may be busy
	pollTime    = 45 * time.Second // a poll waits half a minute at the server
	stallTime   = 60 * time.Second // an upload that moves no byte
	finishTime  = 3 * time.Minute  // from an upload's last byte to the answer
	dialTime    = 10 * time.Second
)

const maxAnswer = 32 << 20 // bytes: a welcome names every source's position

// Options say which server, and how to be let in.
type Options struct {
	URL     string      // "https://stepscope.example:8080", a path before the API's is kept
	Token   string      // the server's token, if it has one
	Version string      // of this program, for the server's log and records
	TLS     *tls.Config // nil: the system's roots
	// State is a file that remembers unfinished uploads over restarts; "" remembers them in memory only.
	State string
}

// Link is the way to one server. All methods may be called from many goroutines.
type Link struct {
	base    *url.URL
	opt     Options
	client  *http.Client
	uploads *uploads
	stall   time.Duration // stallTime, but in tests

	mu      sync.Mutex
	process string // value of wire.ProcessHeader, from Hello
}

var _ wire.Link = (*Link)(nil)

// New checks the options. It opens no connection.
func New(o Options) (*Link, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("server address %q: %w; give it as http://host:port", o.URL, err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("server address %q: give it as http://host:port or https://host:port, without user, query or fragment", o.URL)
	}
	if o.State != "" {
		o.State = filepath.Clean(o.State)
	}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       o.TLS,
		TLSHandshakeTimeout:   dialTime,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
	}
	l := &Link{base: u, opt: o, uploads: loadUploads(o.State), stall: stallTime}
	l.client = &http.Client{Transport: t, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		// A redirected POST would arrive as a GET without its body.
		return fmt.Errorf("the server sends on to %s: give that as its address", r.URL.Redacted())
	}}
	return l, nil
}

// Error is a server's refusal.
type Error struct {
	URL     string
	Status  int
	Message string // what the server says
	Hint    string // what it advises, or what is known of the status
	kind    error
}

// Error has the address, the server's words and the next step.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s answers %d: %s", e.URL, e.Status, e.Message)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap gives store.ErrInvalid for what will not go away by trying again,
// wire.ErrTaken for a name in use, else nil.
func (e *Error) Unwrap() error { return e.kind }

// call is one request.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         io.Reader
	length       int64 // of the body; 0: known from it
}

// do sends a call and returns an answer of 2xx; its body is the caller's to close.
func (l *Link) do(ctx context.Context, c call) (*http.Response, error) {
	u := l.base.JoinPath(c.path)
	u.RawQuery = c.query.Encode()
	req, err := http.NewRequestWithContext(ctx, c.method, u.String(), c.body)
	if err != nil {
		return nil, err
	}
	if c.length > 0 {
		req.ContentLength = c.length
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "stepscope-collector/"+l.opt.Version)
	if l.opt.Token != "" {
		req.Header.Set("Authorization", "Bearer "+l.opt.Token)
	}
	l.mu.Lock()
	if l.process != "" {
		req.Header.Set(wire.ProcessHeader, l.process)
	}
	l.mu.Unlock()
	res, err := l.client.Do(req)
	if err != nil {
		return nil, l.explain(ctx, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, refusal(res, u)
}

// explain says of a failed connection where it went and what to do.
func (l *Link) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		return fmt.Errorf("server %s: %w", l.base.Redacted(), cause)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // its text repeats method and address
	}
	hint := "check the network between here and there"
	var dns *net.DNSError
	var unknown *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		hint = "check the host's name in the server address"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = "start the server there (stepscope serve), or check the port in the server address"
	case errors.As(err, &unknown):
		hint = "the server's certificate is not trusted here: add its authority to this system, or check the host's name"
	case errors.As(err, &timeout) && timeout.Timeout():
		hint = "the server is overloaded or unreachable: look at its log, and check the network between here and there"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		hint = "the server speaks plain HTTP: give its address with http://"
	}
	return fmt.Errorf("server %s: %w; %s", l.base.Redacted(), err, hint)
}

// refusal reads an error's answer.
func refusal(res *http.Response, u *url.URL) error {
	e := &Error{URL: u.Scheme + "://" + u.Host + u.Path, Status: res.StatusCode, Message: http.StatusText(res.StatusCode)}
	var body struct{ Error, Hint string }
	if b, err := io.ReadAll(io.LimitReader(res.Body, 64<<10)); err == nil && json.Unmarshal(b, &body) == nil && body.Error != "" {
		e.Message, e.Hint = body.Error, body.Hint
	}
	switch res.StatusCode {
	case http.StatusUnauthorized:
		e.Hint = "give the collector the server's token with --token or STEPSCOPE_TOKEN"
	case http.StatusForbidden:
		// Nobody's words but a proxy's: the server has no reason to forbid a program anything.
		e.Hint = "something between here and the server may refuse the request; " + e.Hint
	case http.StatusNotFound:
		if body.Error == "" {
			e.Hint = "is this the address of a Stepscope server, of this version?"
		}
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		e.kind = store.ErrInvalid
	}
	if res.Header.Get(wire.TakenHeader) != "" {
		e.kind = wire.ErrTaken
	}
	return e
}

// post sends a message as JSON and reads the answer into out, if it isn't nil.
func (l *Link) post(ctx context.Context, path string, query url.Values, limit time.Duration, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	res, err := l.do(ctx, call{method: http.MethodPost, path: path, query: query,
		header: http.Header{"Content-Type": {"application/json"}}, body: bytes.NewReader(b)})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)) // the connection is used again
		return err
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(out); err != nil {
		return l.explain(ctx, fmt.Errorf("the answer to %s can't be read: %w", path, err))
	}
	return nil
}

func named(collector string) url.Values { return url.Values{"collector": {collector}} }

// Hello implements wire.Link.
func (l *Link) Hello(ctx context.Context, h wire.Hello) (w wire.Welcome, err error) {
	l.mu.Lock()
	l.process = strconv.FormatInt(h.Started.UnixNano(), 10) + " " + printable(h.Host)
	l.mu.Unlock()
	err = l.post(ctx, wire.HelloPath, nil, callTime, h, &w)
	return w, err
}

// printable makes a host's name fit for a header.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f {
			return '_'
		}
		return r
	}, s)
}

// packers are kept for the next batch: each holds several 100 kB.
var packers = sync.Pool{New: func() any {
	zw, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is a valid one
	return zw
}}

// Deliver implements wire.Link.
func (l *Link) Deliver(ctx context.Context, collector string, b *store.Batch) error {
	plain, err := wire.AppendBatch(nil, b)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	zw := packers.Get().(*gzip.Writer)
	defer packers.Put(zw)
	zw.Reset(&packed)
	if _, err := zw.Write(plain); err != nil {
		return err
	}
	if err := zw.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	res, err := l.do(ctx, call{method: http.MethodPost, path: wire.DeliverPath, query: named(collector),
		header: http.Header{"Content-Type": {wire.BatchType}, "Content-Encoding": {"gzip"}}, body: &packed})
	if err != nil {
		return fmt.Errorf("delivering batch %d: %w", b.Seq, err)
	}
	return res.Body.Close()
}

// Report implements wire.Link.
func (l *Link) Report(ctx context.Context, r wire.Report) error {
	return l.post(ctx, wire.ReportPath, nil, callTime, r, nil)
}

// Poll implements wire.Link.
func (l *Link) Poll(ctx context.Context, collector string) (list []wire.Command, err error) {
	err = l.post(ctx, wire.PollPath, named(collector), pollTime, struct{}{}, &list)
	return list, err
}

// Update implements wire.Link.
func (l *Link) Update(ctx context.Context, collector string, u wire.CaptureUpdate) error {
	return l.post(ctx, wire.UpdatePath, named(collector), callTime, u, nil)
}

// RequestCaptures implements wire.Link.
func (l *Link) RequestCaptures(ctx context.Context, collector string, q wire.CaptureRequest) (list []store.Capture, err error) {
	err = l.post(ctx, wire.RequestPath, named(collector), callTime, q, &list)
	var e *Error
	if errors.As(err, &e) && e.kind == nil {
		switch e.Status {
		case http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests, http.StatusInsufficientStorage:
			e.kind = store.ErrInvalid // the checks refused it
		}
	}
	return list, err
}
