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
	"strings"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/engine/foreign"
)

const (
	// maxBody is the most read of one answer, after decompression. A server with all options
	// and 16 ranks answers with some 2 MB.
	maxBody = 16 << 20
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
	problem *trouble
}

// trouble is why a scrape failed, in words, and what to do.
type trouble struct{ what, next string }

// get asks for one address. limit bounds the body.
func (s *Source) get(ctx context.Context, u *url.URL, wait time.Duration, limit int64) answer {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return answer{problem: &trouble{err.Error(), "correct the address in the configuration"}}
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.1")
	req.Header.Set("User-Agent", "stepscope")
	if s.opt.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.opt.Token)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return answer{problem: explain(err, u, wait)}
	}
	defer res.Body.Close()
	a := answer{at: s.opt.Now()}
	if kind, _ := s.known(); res.StatusCode != http.StatusOK {
		a.problem = status(res, kind, u)
		return a
	}
	if t := res.Header.Get("Content-Type"); strings.HasPrefix(t, "application/vnd.google.protobuf") {
		a.problem = &trouble{u.Host + " answers in protocol buffers, not text", "the server does not heed the Accept header: look for a proxy in between, or scrape the engine's own port"}
		return a
	}
	a.body, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		a.problem = broken(err, len(a.body), u, wait)
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
func explain(err error, u *url.URL, wait time.Duration) *trouble {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errElsewhere):
		_, where, _ := strings.Cut(err.Error(), errElsewhere.Error()+", ")
		return &trouble{fmt.Sprintf("%s sends to another server, %s, which is not followed", u, where), "enter that server's address if it is meant"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &trouble{fmt.Sprintf("nothing listens at %s (connection refused)", u.Host), "start the engine, or correct host and port; in a container, publish the port"}
	case errors.As(err, &dns):
		return &trouble{fmt.Sprintf("the host name %s is not known", u.Hostname()), "correct the name, or enter an IP address"}
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		return &trouble{fmt.Sprintf("there is no way to %s", u.Host), "check network and firewall between collector and engine"}
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return &trouble{fmt.Sprintf("%s did not answer within %s", u, wait), "the server hangs, is still loading its model, or a firewall drops the packets; try curl from the collector's host"}
	case errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return &trouble{fmt.Sprintf("%s speaks plain HTTP, not TLS", u.Host), "write http:// before the address"}
	case errors.As(err, &cert):
		return &trouble{fmt.Sprintf("the certificate of %s is not trusted: %v", u.Host, cert.Err), "install its authority on the collector's host, or scrape over http://"}
	case strings.Contains(err.Error(), "malformed HTTP"):
		return &trouble{fmt.Sprintf("%s does not speak HTTP", u.Host), "correct the port; if it speaks TLS, write https:// before the address"}
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return &trouble{fmt.Sprintf("%s: %v", u, err), "try curl from the collector's host"}
}

// broken says what an answer that stopped midway means.
func broken(err error, n int, u *url.URL, wait time.Duration) *trouble {
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return &trouble{fmt.Sprintf("%s sent %d bytes and then not the rest within %s", u, n, wait), "the server or a proxy is too slow; scrape it less often, or look at its load"}
	}
	return &trouble{fmt.Sprintf("the answer of %s broke off after %d bytes: %v", u, n, err), "the server or a proxy closed the connection; look at its log"}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// status says what an answer other than 200 means for an engine of a kind.
func status(res *http.Response, kind string, u *url.URL) *trouble {
	t := &trouble{what: fmt.Sprintf("%s answers %s", u, res.Status)}
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		t.next = "the server or a proxy wants a token: set token for this target"
	case res.StatusCode == http.StatusNotFound:
		t.next = map[string]string{
			foreign.VLLM:        "correct the port: vLLM's API server (8000) has /metrics always; a router in front of it may not",
			foreign.SGLang:      "start SGLang with --enable-metrics: without it there is no /metrics",
			foreign.TensorRTLLM: "set return_perf_metrics: true for /prometheus/metrics, enable_iter_perf_stats: true for /metrics; older versions have only the latter",
		}[kind]
		if t.next == "" {
			t.next = "correct the port and path; SGLang needs --enable-metrics"
		}
	case res.StatusCode >= 500:
		t.next = "look at the server's log; it may still be loading, or its engine has died"
	case res.StatusCode >= 300 && res.StatusCode < 400:
		t.next = "the server sends on without saying where: correct the path"
	default:
		t.next = "correct port and path: this may be another program"
	}
	return t
}
