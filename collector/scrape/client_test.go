package scrape

import (
	"compress/gzip"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/foreign"
)

// problemOf waits for a target to have a problem.
func problemOf(t *testing.T, s *Source) wire.Target {
	t.Helper()
	for range 1000 {
		if x := s.Targets()[0]; x.Problem != nil {
			return x
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no problem: %+v", s.Targets())
	return wire.Target{}
}

func TestProblems(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := closed.Addr().String()
	closed.Close()
	elsewhere := server(t, "/metrics", fixture(t, "vllm-dp.1.txt"))
	answers := func(f http.HandlerFunc) string {
		s := httptest.NewServer(f)
		t.Cleanup(s.Close)
		return s.URL
	}
	code := func(n int) string {
		return answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) })
	}
	says := func(text string) string {
		return answers(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, c := range []struct {
		name, kind, address string
		health              wire.Health
		what, hint          string
	}{
		{"refused", "", refused, wire.Down, "connection refused", "Start the engine"},
		{"no such host", "", "no-such-host.invalid:8000", wire.Down, "not known", "IP address"},
		{"404 of SGLang", foreign.SGLang, code(404), wire.Down, "404", "--enable-metrics"},
		{"404 of unknown", "", code(404), wire.Down, "404", "--enable-metrics"},
		{"401", "", code(401), wire.Down, "401", "token"},
		{"503", "", code(503), wire.Down, "503", "loading"},
		{"redirect elsewhere", "", answers(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/metrics", http.StatusFound)
		}), wire.Down, "not followed", "address"},
		{"redirect loop", "", answers(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/metrics", http.StatusFound)
		}), wire.Down, "redirects", "curl"},
		{"another engine", foreign.SGLang, says(fixture(t, "vllm-dp.1.txt")), wire.Down, "of vLLM", "kind"},
		{"no engine", "", says("go_goroutines 7\n"), wire.Down, "no metrics of", "--enable-metrics"},
		{"other JSON", "", says(`{"status":"ok"}`), wire.Down, "no metrics of", "--enable-metrics"},
		{"empty list", "", says("[]"), wire.Quiet, "empty", "enable_iter_perf_stats"},
		{"an HTML page", foreign.VLLM, says("<html>"), wire.Down, "HTML", "port"},
		{"protocol buffers", foreign.VLLM, answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.google.protobuf; encoding=delimited")
		}), wire.Down, "protocol buffers", "proxy"},
		{"plain HTTP", "", strings.Replace(elsewhere.URL, "http:", "https:", 1), wire.Down, "plain HTTP", "http://"},
		{"unknown authority", "", secure.URL, wire.Down, "not trusted", "authority"},
		{"broken off", foreign.VLLM, answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "vllm:num_requests_running 1\n")
		}), wire.Down, "broke off after 28 bytes", "closed"},
		{"closed", foreign.VLLM, answers(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), wire.Down, "closed the connection without an answer", "restarting"},
		{"a bad address", "", "ftp://x", wire.Down, "neither http nor https", "configuration"},
		{"a name with a password", "", "http://u:p@x:1", wire.Down, "host:port", "configuration"},
	} {
		src, m := start(t, Options{Kind: c.kind, Address: c.address, Every: time.Hour})
		x := problemOf(t, src)
		if x.Health != c.health || !strings.Contains(x.Problem.What, c.what) || !strings.Contains(x.Problem.Hint, c.hint) {
			t.Errorf("%s: %s, %+v", c.name, x.Health, x.Problem)
		}
		if len(m.got) != 0 {
			t.Errorf("%s: %d batches", c.name, len(m.got))
		}
	}
}

// A server that hangs or drips is given up in time; the wait is shortened for the test.
func TestSlowServers(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for what, handler := range map[string]http.HandlerFunc{
		"did not answer within": func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
		"and then not the rest": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, "#\n")
				w.(http.Flusher).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		},
	} {
		srv := httptest.NewServer(handler)
		s := New(Options{Address: srv.URL})
		a := s.get(t.Context(), s.endpoints[0].url, 200*time.Millisecond, maxBody)
		if a.problem == nil || !strings.Contains(a.problem.What, what) || a.problem.Hint == "" {
			t.Errorf("%+v", a.problem)
		}
		srv.CloseClientConnections()
		srv.Close()
	}
}

func TestBodies(t *testing.T) {
	text := fixture(t, "vllm-dp.1.txt")
	packed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, text)
		z.Close()
	}))
	t.Cleanup(packed.Close)
	s := New(Options{Address: packed.URL, Token: "secret"})
	a := s.get(t.Context(), s.endpoints[0].url, time.Second, maxBody)
	if a.problem != nil || string(a.body) != text {
		t.Errorf("%+v %d bytes", a.problem, len(a.body))
	}
	// Beyond the limit only whole lines are left.
	a = s.get(t.Context(), s.endpoints[0].url, time.Second, 200)
	if a.problem != nil || !a.cut || len(a.body) > 200 || !strings.HasPrefix(text, string(a.body)) || !strings.HasSuffix(string(a.body), "\n") {
		t.Errorf("%+v", a)
	}
	// A redirect to the path with or without a slash is followed.
	srv := server(t, "/prometheus/metrics", text)
	s = New(Options{Address: srv.URL, Path: "/prometheus/metrics/"})
	if a = s.get(t.Context(), s.endpoints[0].url, time.Second, maxBody); a.problem != nil || string(a.body) != text {
		t.Errorf("%+v", a.problem)
	}
}
