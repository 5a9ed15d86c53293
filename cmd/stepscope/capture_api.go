package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// capturesAPI is a server's API over captures.
type capturesAPI struct {
	base   *url.URL
	token  string
	client *http.Client
}

const (
	apiTimeout = 30 * time.Second
	maxAnswer  = 16 << 20 // bytes of an answer: 512 captures with all their texts
)

func newCapturesAPI(server, token string) (*capturesAPI, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("--server %.80q is not an address such as http://127.0.0.1:8080", server)
	}
	if base.Path == "" {
		base.Path = "/"
	}
	return &capturesAPI{base: base, token: token, client: &http.Client{
		Timeout: apiTimeout,
		// A redirect would turn a POST into a GET, and could carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// captureAnswer is a capture as the API gives it.
type captureAnswer struct {
	ID         int64                            `json:"id"`
	Group      string                           `json:"group"`
	Deployment string                           `json:"deployment"`
	Engine     string                           `json:"engine"`
	Collector  string                           `json:"collector"`
	By         string                           `json:"by"`
	Steps      int                              `json:"steps"`
	State      store.CaptureState               `json:"state"`
	Done       bool                             `json:"done"`
	Times      map[store.CaptureState]time.Time `json:"times"`
	Warning    string                           `json:"warning"`
	Error      string                           `json:"error"`
	Hint       string                           `json:"hint"`
	Path       string                           `json:"path"`
	Bytes      int64                            `json:"bytes"`
	Trace      string                           `json:"trace"`
	MoreTraces []string                         `json:"more_traces"`
}

func (a *capturesAPI) start(ctx context.Context, q wire.CaptureRequest) ([]captureAnswer, error) {
	var answer struct {
		Captures []captureAnswer `json:"captures"`
	}
	if err := a.call(ctx, http.MethodPost, "/api/captures", q, &answer); err != nil {
		return nil, err
	}
	if len(answer.Captures) == 0 {
		return nil, errors.New("the server started no capture and did not say why; is it a stepscope server of this version?")
	}
	return answer.Captures, nil
}

func (a *capturesAPI) get(ctx context.Context, id int64) (captureAnswer, error) {
	var c captureAnswer
	err := a.call(ctx, http.MethodGet, "/api/captures/"+strconv.FormatInt(id, 10), nil, &c)
	if err == nil && c.ID != id {
		err = fmt.Errorf("the server answered with capture %d, asked for %d", c.ID, id)
	}
	return c, err
}

func (a *capturesAPI) cancel(ctx context.Context, id int64) error {
	return a.call(ctx, http.MethodPost, "/api/captures/"+strconv.FormatInt(id, 10)+"/cancel", struct{}{}, nil)
}

// link is the address of a page of the server.
func (a *capturesAPI) link(parts ...string) string { return a.base.JoinPath(parts...).Redacted() }

func (a *capturesAPI) call(ctx context.Context, method, path string, body, answer any) error {
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		data = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base.JoinPath(path).String(), data)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "stepscope/"+version())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("asking %s: %w; is the server up?", a.base.Redacted(), err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("asking %s: %w", a.base.Redacted(), err)
	}
	if resp.StatusCode/100 != 2 {
		return a.refusal(resp, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s does not answer like a stepscope server: %w", a.base.Redacted(), err)
	}
	return nil
}

// refusal is the server's no, with what can be done about it here.
func (a *capturesAPI) refusal(resp *http.Response, text []byte) error {
	var said struct {
		Error string   `json:"error"`
		Hint  string   `json:"hint"`
		Idle  []string `json:"idle"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		return fmt.Errorf("%s answers %s: %s", a.base.Redacted(), resp.Status, plain(strings.TrimSpace(string(text[:min(len(text), 300)]))))
	}
	switch {
	case len(said.Idle) > 0:
		said.Hint = "wait for load, or capture all the same with --force"
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		said.Hint = "set STEPSCOPE_TOKEN to the server's token"
	}
	if said.Hint == "" {
		return errors.New(plain(said.Error))
	}
	return fmt.Errorf("%s; %s", plain(said.Error), plain(said.Hint))
}
