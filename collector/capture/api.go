package capture

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
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/store"
)

const (
	dialWait  = 10 * time.Second
	maxAnswer = 64 << 10 // bytes of an answer's text; the servers send a sentence
)

// outcome is what an API server's answer means.
type outcome int

const (
	taken       outcome = iota // 2xx
	busy                       // another recording is under way
	missing                    // there is no such call
	refused                    // the request, or who sends it, is not accepted
	failed                     // the server failed
	unreachable                // the request was not sent
	lost                       // sent, and no whole answer came
)

// answer is one answer of an API server.
type answer struct {
	outcome outcome
	status  int
	said    store.Said // the server's own words, cleaned
	err     error
}

// text gives the place's answer in a line.
func (a answer) text() store.Said {
	switch {
	case a.err != nil:
		return cause(a.err)
	case a.said.Text != "":
		return say("http_said", a.status, a.said)
	}
	return store.Said{Text: fmt.Sprintf("HTTP %d", a.status)}
}

// baseURL is the address of an API server, from host:port or a URL.
func baseURL(addr string) (*url.URL, error) {
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &saidError{Said: say("bad_address", oneLine(addr))}
	}
	if u.Path == "" {
		u.Path = "/" // JoinPath would make a relative path of none
	}
	return u, nil
}

// post sends one request, once: a repeated start would be another recording.
func (e Engine) post(ctx context.Context, call string, body any) answer {
	base, err := baseURL(e.Addr)
	if err != nil {
		return answer{outcome: unreachable, err: err}
	}
	var data []byte
	header := http.Header{}
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return answer{outcome: refused, err: err}
		}
		header.Set("Content-Type", "application/json")
	}
	if e.Token != "" {
		header.Set("Authorization", "Bearer "+e.Token)
	}
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req := (&http.Request{
		Method: http.MethodPost, URL: base.JoinPath(call), Header: header,
		Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)),
	}).WithContext(traced)
	// The transport alone follows no redirects. A fresh connection for each call: a kept one might be dead, and nobody
	// would know whether the request had been read.
	t := &http.Transport{DialContext: (&net.Dialer{Timeout: dialWait}).DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer}
	resp, err := t.RoundTrip(req)
	if err != nil {
		if context.Cause(ctx) != nil {
			err = context.Cause(ctx)
		}
		if connected.Load() {
			return answer{outcome: lost, err: err}
		}
		return answer{outcome: unreachable, err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	a := answer{status: resp.StatusCode, said: spoken(text), err: nil}
	a.outcome = meaning(resp.StatusCode, a.said.Text)
	if err != nil && a.outcome == taken {
		a.outcome, a.err = lost, err
	}
	return a
}

// meaning reads a status. SGLang says that it is busy with a 500 and words.
func meaning(status int, said string) outcome {
	low := strings.ToLower(said)
	switch {
	case status/100 == 2:
		return taken
	case status == http.StatusConflict,
		status >= 400 && (strings.Contains(low, "already in progress") || strings.Contains(low, "already active") || strings.Contains(low, "already started")):
		return busy
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return missing
	case status/100 == 4, status/100 == 3:
		return refused
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return lost // a gateway may have passed the request on
	}
	return failed
}

// spoken is the message in a body of unknown origin.
func spoken(body []byte) store.Said {
	body = bytes.TrimSpace(body)
	var fields map[string]json.RawMessage
	if len(body) > 0 && body[0] == '<' {
		return say("html_page")
	}
	if json.Unmarshal(body, &fields) == nil {
		for _, key := range []string{"detail", "error", "message"} {
			if raw, ok := fields[key]; ok {
				var s string
				if json.Unmarshal(raw, &s) != nil {
					s = string(raw)
				}
				return store.Said{Text: oneLine(s)}
			}
		}
	}
	return store.Said{Text: oneLine(string(body))}
}

// start asks an API server to record, again while it is busy.
func (s *session) start(body any, missingHint store.Said) error {
	for try := 0; ; try++ {
		s.ask()
		ctx, cancel := context.WithTimeout(s.ctx, s.r.cfg.Waits.Call)
		a := s.eng.post(ctx, "/start_profile", body)
		cancel()
		if cause := context.Cause(s.ctx); cause != nil {
			return cause
		}
		switch a.outcome {
		case taken:
			s.set(store.PickedUp)
			return nil
		case lost:
			// It may have begun: go on as if, and stop it in any case.
			s.warn(say("answer_lost", a.text()))
			s.set(store.PickedUp)
			return nil
		case busy:
			again, err := s.backOff(try, a.said.Text)
			if err != nil {
				return err
			}
			if again {
				continue
			}
			return s.refusal("/start_profile", a, say("another_records_next"))
		case missing:
			return s.refusal("/start_profile", a, missingHint)
		case refused:
			return s.refusal("/start_profile", a, say("token_next"))
		case unreachable:
			return s.refusal("/start_profile", a, reachHint(a.err))
		}
		return s.refusal("/start_profile", a, say("server_log_next"))
	}
}

func (s *session) refusal(call string, a answer, hint store.Said) error {
	return &failure{what: say("call_refused", call, oneLine(s.eng.Addr), a.text()), hint: hint}
}

func reachHint(err error) store.Said {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return say("refused_next")
	case errors.As(err, &dns):
		return say("unknown_host_next")
	}
	return say("network_next")
}
