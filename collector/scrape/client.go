package scrape

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
)

const (
	// maxBody is the most read of one answer, after decompression. A server with all options
	// and 16 ranks answers with some 2 MB.
	maxBody = 8 << 20
	// maxRedirects is enough for a trailing slash and a change of path.
	maxRedirects = 3
	// maxWait bounds one scrape, whatever the interval.
	maxWait = 10 * time.Second
	minWait = 3 * time.Second // TensorRT-LLM's list waits up to 2 s for a record
)

// errElsewhere ends a scrape that is sent to another server.
var errElsewhere = errors.New("redirected to another server")

// newClient makes a client that keeps to one server: no proxy, no redirect elsewhere.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: minWait}).DialContext,
			MaxIdleConns:           4,
			IdleConnTimeout:        2 * time.Minute,
			TLSHandshakeTimeout:    5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			first := via[0].URL
			if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
				return fmt.Errorf("%w, %s", errElsewhere, req.URL.Host)
			}
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}
}

// answer is what a server said.
type answer struct {
	at      time.Time // when it began to answer
	body    []byte
	cut     bool // there was more than maxBody
	problem *wire.Problem
}

// problem is why a scrape failed, as of now.
func (s *Source) problem(code string, args ...string) *wire.Problem {
	return wire.NewProblem(s.opt.Now(), code, args...)
}

// get asks for one address. limit bounds the body.
func (s *Source) get(ctx context.Context, u *url.URL, wait time.Duration, limit int64) answer {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return answer{problem: s.problem("metrics.address", err.Error())}
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.1")
	req.Header.Set("User-Agent", "stepscope")
	if s.opt.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.opt.Token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return answer{problem: s.explain(err, u, wait)}
	}
	defer res.Body.Close()
	a := answer{at: s.opt.Now()}
	if kind, _ := s.known(); res.StatusCode != http.StatusOK {
		a.problem = s.problem(statusProblem(res.StatusCode, kind), u.String(), res.Status)
		return a
	}
	if t := res.Header.Get("Content-Type"); strings.HasPrefix(t, "application/vnd.google.protobuf") {
		a.problem = s.problem("metrics.protobuf", u.Host)
		return a
	}
	a.body, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		a.problem = s.broken(err, len(a.body), u, wait)
		a.body = nil
		return a
	}
	if int64(len(a.body)) > limit {
		a.cut = true
		a.body = a.body[:limit]
		if i := bytes.LastIndexByte(a.body, '\n'); i >= 0 && a.body[0] != '[' {
			a.body = a.body[:i+1] // no half number is taken for a whole one
		}
	}
	return a
}

// explain says what a failed request means.
func (s *Source) explain(err error, u *url.URL, wait time.Duration) *wire.Problem {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errElsewhere):
		_, where, _ := strings.Cut(err.Error(), errElsewhere.Error()+", ")
		return s.problem("metrics.elsewhere", u.String(), where)
	case errors.Is(err, syscall.ECONNREFUSED):
		return s.problem("metrics.refused", u.Host)
	case errors.As(err, &dns):
		return s.problem("metrics.unknown_host", u.Hostname())
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		return s.problem("metrics.no_route", u.Host)
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return s.problem("metrics.timeout", u.String(), wait.String())
	case errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return s.problem("metrics.plain_http", u.Host)
	case errors.As(err, &cert):
		return s.problem("metrics.certificate", u.Host, cert.Err.Error())
	case strings.Contains(err.Error(), "malformed HTTP"):
		return s.problem("metrics.not_http", u.Host)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return s.problem("metrics.closed", u.String())
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return s.problem("metrics.failed", u.String(), err.Error())
}

// broken says what an answer that stopped midway means.
func (s *Source) broken(err error, n int, u *url.URL, wait time.Duration) *wire.Problem {
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return s.problem("metrics.slow", u.String(), strconv.Itoa(n), wait.String())
	}
	return s.problem("metrics.broken", u.String(), strconv.Itoa(n), err.Error())
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// statusProblem is what an answer other than 200 means for an engine of a kind.
func statusProblem(status int, kind string) (code string) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "metrics.token"
	case status == http.StatusNotFound && kind != "":
		return "metrics.not_found_" + strings.ReplaceAll(kind, "-", "_")
	case status == http.StatusNotFound:
		return "metrics.not_found"
	case status >= 500:
		return "metrics.server_error"
	case status >= 300 && status < 400:
		return "metrics.redirect"
	}
	return "metrics.status"
}
