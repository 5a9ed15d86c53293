package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// captureServer is the API over captures as a test wants it: each look at a capture shows the next of its states.
type captureServer struct {
	*httptest.Server
	mu     sync.Mutex
	begun  string // body of the request that started them
	header http.Header
	script map[int64][]captureAnswer
	cancel []int64
	broken int // so many looks fail
}

func newCaptureServer(t *testing.T, script map[int64][]captureAnswer) *captureServer {
	s := &captureServer{script: script}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/captures", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begun, s.header = string(body), r.Header
		var list []captureAnswer
		for id := range int64(len(s.script)) {
			list = append(list, s.script[id+1][0])
		}
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(map[string]any{"captures": list})
	})
	mux.HandleFunc("GET /api/captures/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.broken > 0 {
			s.broken--
			http.Error(w, "gateway", http.StatusBadGateway)
			return
		}
		id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if len(s.script[id]) > 1 {
			s.script[id] = s.script[id][1:]
		}
		json.NewEncoder(w).Encode(s.script[id][0])
	})
	mux.HandleFunc("POST /api/captures/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
		s.cancel = append(s.cancel, id)
		c := s.script[id][0]
		c.State, c.Done = store.Cancelled, true
		c.Times[store.Cancelled] = c.Times[store.Queued].Add(9 * time.Second)
		s.script[id] = []captureAnswer{c}
		json.NewEncoder(w).Encode(c)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// at is a capture with the times of its states so far, in whole seconds from the first.
func at(id int64, engine string, passed ...store.CaptureState) captureAnswer {
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	c := captureAnswer{ID: id, Engine: engine, Times: map[store.CaptureState]time.Time{}}
	for i, s := range passed {
		c.State, c.Times[s] = s, start.Add(time.Duration(i)*1500*time.Millisecond)
	}
	c.Done = c.State.Done()
	return c
}

func with(c captureAnswer, change func(*captureAnswer)) captureAnswer {
	change(&c)
	return c
}

func TestCapture(t *testing.T) {
	id := strings.Repeat("ab", 32)
	all := []store.CaptureState{store.Queued, store.Asked, store.PickedUp, store.Captured, store.Found, store.Stored}
	s := newCaptureServer(t, map[int64][]captureAnswer{
		1: {at(1, "rank0", all[:1]...), at(1, "rank0", all[:2]...), at(1, "rank0", all[:2]...),
			with(at(1, "rank0", all...), func(c *captureAnswer) {
				c.Trace, c.MoreTraces, c.Bytes, c.Path = id, []string{id}, 98_000_000, "/tmp/x\x1b[2J.json"
			})},
		2: {at(2, "rank1", all[:2]...), with(at(2, "rank1", all[:2]...), func(c *captureAnswer) { c.Warning = "first\nthe engine is busy" }),
			with(at(2, "rank1", store.Queued, store.Asked, store.Failed), func(c *captureAnswer) {
				c.Error, c.Hint = "engine 10.0.0.7:6070: busy", "another client captures"
			})},
	})
	s.broken = 3
	t.Setenv("STEPSCOPE_TOKEN", "secret")
	code, out, errOut := command(t, "capture", "--server", s.URL, "--deployment", "chat", "--engine", "rank0", "--engine", "rank1",
		"--steps", "5", "--note", "why", "--interval", "5ms")
	if code != exitFailure || !strings.Contains(errOut, "1 of 2 captures gave no trace") || !strings.Contains(errOut, "trying again") {
		t.Errorf("exit %d: %s", code, errOut)
	}
	if want := `{"deployment":"chat","engines":["rank0","rank1"],"steps":5,"output_dir":"","note":"why","force":false}`; s.begun != want {
		t.Errorf("asked for %s, want %s", s.begun, want)
	}
	if s.header.Get("Authorization") != "Bearer secret" || !strings.HasPrefix(s.header.Get("User-Agent"), "stepscope/") {
		t.Errorf("header %v", s.header)
	}
	var lines []string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	clock := func(s float64) string {
		return time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(s * 1e9)).Local().Format("15:04:05.000")
	}
	for _, want := range []string{
		"1 rank0 queued " + clock(0) + " +0.0 s",
		"1 rank0 asked " + clock(1.5) + " +1.5 s",
		"1 rank0 picked up " + clock(3) + " +3.0 s",
		"1 rank0 found " + clock(6) + " +6.0 s 98000000 bytes, /tmp/x�[2J.json",
		"1 rank0 stored " + clock(7.5) + " +7.5 s " + s.URL + "/traces/" + id + " and 1 more",
		"2 rank1 ! the engine is busy",
		"2 rank1 failed " + clock(3) + " +3.0 s",
		"engine 10.0.0.7:6070: busy",
		"another client captures",
	} {
		n := 0
		for _, line := range lines {
			if line == want {
				n++
			}
		}
		if n != 1 {
			t.Errorf("line %q is there %d times in\n%s", want, n, out)
		}
	}
	if len(lines) != 12 {
		t.Errorf("%d lines, want 6 + 3 states, a warning and two of an error:\n%s", len(lines), out)
	}
}

func TestCaptureJSON(t *testing.T) {
	s := newCaptureServer(t, map[int64][]captureAnswer{1: {at(1, "rank0", store.Queued), at(1, "rank0", store.Queued, store.Stored)}})
	code, out, errOut := command(t, "capture", "--server", s.URL, "--deployment", "chat", "--json", "--interval", "5ms")
	var got struct{ Captures []captureAnswer }
	if err := json.Unmarshal([]byte(out), &got); code != 0 || errOut != "" || err != nil || len(got.Captures) != 1 || got.Captures[0].State != store.Stored {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errOut)
	}
	code, out, _ = command(t, "capture", "--server", s.URL, "--deployment", "chat", "--json", "--no-follow")
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
}

// Interrupted: what is not done is cancelled, and its end awaited.
func TestCaptureInterrupted(t *testing.T) {
	s := newCaptureServer(t, map[int64][]captureAnswer{
		1: {at(1, "rank0", store.Queued)},
		2: {at(2, "rank1", store.Queued, store.Stored)},
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := &cancelOn{cancel: cancel, word: "rank0"}
	var stderr bytes.Buffer
	code := run(ctx, []string{"capture", "--server", s.URL, "--deployment", "chat", "--interval", "5ms"}, &IO{In: strings.NewReader(""), Out: cancelled, Err: &stderr})
	if code != exitFailure || !strings.Contains(stderr.String(), "cancelled, as far as they were not stored yet") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	if !slices.Equal(s.cancel, []int64{1}) {
		t.Errorf("cancelled %v, want the one that was not done", s.cancel)
	}
	if !strings.Contains(cancelled.String(), "cancelled  ") {
		t.Errorf("out %s", cancelled.String())
	}
}

// cancelOn ends a context once a word was written.
type cancelOn struct {
	bytes.Buffer
	word   string
	cancel func()
}

func (c *cancelOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.word)) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

func TestCaptureRefused(t *testing.T) {
	var mu sync.Mutex
	status, body := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	defer s.Close()
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{409, `{"error":"no sequence is running on rank0","hint":"force: true","idle":["rank0"]}`, "no sequence is running on rank0; wait for load, or capture all the same with --force"},
		{401, `{"error":"needs its token","hint":"log in"}`, "needs its token; set STEPSCOPE_TOKEN to the server's token"},
		{404, `{"error":"there is no deployment \"chat\""}`, `there is no deployment "chat"`},
		{502, "<html>\x1b[31m", "answers 502 Bad Gateway: <html>�[31m"},
		{302, "", "answers 302 Found"},
		{201, "{}", "started no capture"},
		{201, "<html>", "does not answer like a stepscope server"},
	} {
		mu.Lock()
		status, body = c.status, c.body
		mu.Unlock()
		code, out, errOut := command(t, "capture", "--server", s.URL, "--deployment", "chat")
		if code != exitFailure || out != "" || !strings.Contains(errOut, c.want) {
			t.Errorf("%d %s: exit %d, %s%s; want %q", c.status, c.body, code, out, errOut, c.want)
		}
	}
	for _, args := range [][]string{{"--steps", "51"}, {"--steps", "0"}, {"--server", "chat:80"}, {"--interval", "0s"}} {
		if code, _, _ := command(t, append([]string{"capture", "--deployment", "chat"}, args...)...); code != exitUsage {
			t.Errorf("%v: exit %d", args, code)
		}
	}
	if code, _, errOut := command(t, "capture", "--server", "http://127.0.0.1:1", "--deployment", "chat"); code != exitFailure || !strings.Contains(errOut, "is the server up?") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}
