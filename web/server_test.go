package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

// site is a server with an empty store, and what its log says.
type site struct {
	*Server
	t   *testing.T
	st  store.Store
	log *bytes.Buffer
}

// newSite starts a loopback server; change adjusts its configuration.
func newSite(t *testing.T, change func(*Config)) *site {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	var log bytes.Buffer
	cfg := Config{
		Store: st, Grace: 24 * time.Hour, Assets: builtFiles(t), Addr: netip.MustParseAddr("127.0.0.1"),
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// However slow the machine, a page shows what it would on a fast one.
	s.board.wait, s.catalogues.wait = time.Minute, time.Minute
	return &site{Server: s, t: t, st: st, log: &log}
}

// builtFiles is what a build leaves, in small.
func builtFiles(t *testing.T) fs.FS {
	t.Helper()
	pack := func(s string) *fstest.MapFile {
		var b bytes.Buffer
		zw := gzip.NewWriter(&b)
		io.WriteString(zw, s)
		if err := zw.Close(); err != nil {
			t.Fatal(err)
		}
		return &fstest.MapFile{Data: b.Bytes()}
	}
	return fstest.MapFS{
		"manifest.json":      {Data: []byte(`{"page.js":"page-1a.js","app.css":"app-2b.css","trace.wasm":"trace-3c.wasm"}`)},
		"page-1a.js.gz":      pack("export {}"),
		"app-2b.css.gz":      pack("body{}"),
		"trace-3c.wasm.gz":   pack("\x00asm\x01\x00\x00\x00"),
		"forgotten-9.js.gz":  pack("not in the manifest"),
		"placeholder.gitkep": {Data: []byte("x")},
	}
}

// do sends a request and returns the response with its body read.
func (s *site) do(method, target string, body io.Reader, header ...string) (*http.Response, string) {
	s.t.Helper()
	r := httptest.NewRequest(method, target, body)
	r.Host = "127.0.0.1:8080"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	res := w.Result()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(text)
}

// form sends a form as a browser's own page does.
func (s *site) form(target string, values url.Values, header ...string) (*http.Response, string) {
	s.t.Helper()
	header = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin", "Accept", "text/html"}, header...)
	return s.do("POST", target, strings.NewReader(values.Encode()), header...)
}

func TestRulesForBrowsersAreOnEveryAnswer(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Example = func(w io.Writer) error { _, err := io.WriteString(w, "{}"); return err } })
	const html = "text/html"
	f := func(method, target string, status int, header ...string) {
		t.Helper()
		res, body := s.do(method, target, nil, header...)
		if res.StatusCode != status {
			t.Errorf("%s %s: status %d, want %d: %s", method, target, res.StatusCode, status, body)
		}
		for key, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'; style-src-attr 'unsafe-inline'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := res.Header.Get(key); got != want {
				t.Errorf("%s %s: %s is %q, want %q", method, target, key, got, want)
			}
		}
	}
	f("GET", "/", 302)
	f("GET", "/trace", 200, "Accept", html)
	f("HEAD", "/trace", 200)
	f("GET", "/traces", 200)
	f("GET", "/login", 200)
	f("GET", "/healthz", 200)
	f("GET", "/example.json.gz", 200)
	f("GET", "/static/page-1a.js", 200)
	f("GET", "/static/none.js", 404)
	f("GET", "/no/such/page", 404, "Accept", html)
	f("GET", "/api/traces", 200)
	f("GET", "/api/nothing", 404)
	f("PUT", "/trace", 405)
	f("GET", "/trace", 421, "Host", "evil.example")
	f("POST", "/traces/x/delete", 403, "Sec-Fetch-Site", "cross-site")
}

func TestForeignHostsAreRefused(t *testing.T) {
	f := func(host string, want int) {
		t.Helper()
		if res, _ := newSite(t, nil).do("GET", "/api/traces", nil, "Host", host); res.StatusCode != want {
			t.Errorf("host %q: %d, want %d", host, res.StatusCode, want)
		}
	}
	f("127.0.0.1:8080", 200)
	f("127.0.0.2", 200)
	f("localhost", 200)
	f("LOCALHOST:9", 200)
	f("[::1]:8080", 200)
	f("[::1]", 200)
	f("evil.example", 421)
	f("localhost.evil.example:8080", 421)
	f("127.0.0.1.evil.example", 421)
	f("192.168.1.9:8080", 421)
	f("", 421)
	public := newSite(t, func(c *Config) { c.Addr, c.Token = netip.MustParseAddr("0.0.0.0"), "secret" })
	if res, _ := public.do("GET", "/api/traces", nil, "Host", "stepscope.example"); res.StatusCode != 200 {
		t.Errorf("a server for others refuses its name: %d", res.StatusCode)
	}
}

func TestOtherSitesCannotWrite(t *testing.T) {
	s := newSite(t, nil)
	f := func(method, target string, want int, header ...string) {
		t.Helper()
		if res, _ := s.do(method, target, nil, header...); res.StatusCode != want {
			t.Errorf("%s %s with %v: %d, want %d", method, target, header, res.StatusCode, want)
		}
	}
	id := strings.Repeat("0", 64)
	for _, route := range [][2]string{{"POST", "/traces/" + id + "/delete"}, {"DELETE", "/api/traces/" + id}, {"PUT", "/api/traces"}, {"PATCH", "/api/traces/" + id}, {"POST", "/api/uploads"}, {"POST", "/login"}} {
		f(route[0], route[1], 403, "Sec-Fetch-Site", "cross-site")
		f(route[0], route[1], 403, "Origin", "https://evil.example")
	}
	// The same from the own page, and from a program: there is no such trace.
	f("DELETE", "/api/traces/"+id, 404, "Sec-Fetch-Site", "same-origin")
	f("DELETE", "/api/traces/"+id, 404)
	// Reading is not writing.
	f("GET", "/api/traces", 200, "Sec-Fetch-Site", "cross-site")
}

func TestTokenGuardsEveryChange(t *testing.T) {
	if _, err := New(Config{Addr: netip.MustParseAddr("0.0.0.0"), Assets: fstest.MapFS{}, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "--token") {
		t.Errorf("a server others can reach starts without a token: %v", err)
	}
	s := newSite(t, func(c *Config) { c.Token = "s3cret" })
	id := strings.Repeat("0", 64)
	f := func(method, target string, want int, header ...string) {
		t.Helper()
		if res, _ := s.do(method, target, nil, header...); res.StatusCode != want {
			t.Errorf("%s %s with %v: %d, want %d", method, target, header, res.StatusCode, want)
		}
	}
	for _, route := range [][2]string{{"DELETE", "/api/traces/" + id}, {"PUT", "/api/traces"}, {"POST", "/api/uploads"}, {"POST", "/traces/" + id + "/delete"}, {"POST", "/traces/" + id + "/edit"}} {
		f(route[0], route[1], 401)
		f(route[0], route[1], 401, "Authorization", "Bearer wrong")
		f(route[0], route[1], 401, "Cookie", "stepscope_token=s3cret")
	}
	f("GET", "/traces", 200)
	f("DELETE", "/api/traces/"+id, 404, "Authorization", "Bearer s3cret")

	if res, body := s.form("/login", url.Values{"token": {"guess"}}); res.StatusCode != 401 || !strings.Contains(body, "not this server") || len(res.Cookies()) != 0 {
		t.Errorf("a wrong token: %d, cookies %v", res.StatusCode, res.Cookies())
	}
	for _, res := range []*http.Response{
		first(s.form("/login", url.Values{"token": {"s3cret"}})),
		first(s.do("GET", "/login?token=s3cret", nil)),
	} {
		if res.StatusCode != 303 || len(res.Cookies()) != 1 {
			t.Fatalf("the right token: %d, cookies %v", res.StatusCode, res.Cookies())
		}
		cookie := res.Cookies()[0]
		if strings.Contains(cookie.Value, "s3cret") || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
			t.Errorf("cookie %+v gives the token away", cookie)
		}
		f("DELETE", "/api/traces/"+id, 404, "Cookie", cookie.Name+"="+cookie.Value)
	}
}

func first(res *http.Response, _ string) *http.Response { return res }

func TestErrorsHaveTwoFaces(t *testing.T) {
	secret := errors.New("open /secret/path: denied")
	s := newSite(t, func(c *Config) { c.Example = func(io.Writer) error { return secret } })
	res, body := s.do("GET", "/example.json.gz", nil)
	if res.StatusCode != 500 || strings.Contains(body, "secret") || !strings.Contains(body, `"error"`) {
		t.Errorf("the client reads %d %s", res.StatusCode, body)
	}
	if !strings.Contains(s.log.String(), "/secret/path") {
		t.Errorf("the log lacks the cause: %s", s.log)
	}
	if res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an error may be cached: %q", res.Header.Get("Cache-Control"))
	}
	res, body = s.do("GET", "/nowhere", nil, "Accept", "text/html", "Accept-Language", "zh")
	if res.StatusCode != 404 || !strings.Contains(body, "该地址没有内容") || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page for 404: %d %s", res.StatusCode, body)
	}
	if res, body := s.do("GET", "/api/nowhere", nil, "Accept", "text/html"); res.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"error":"there is nothing at this address","hint":"check the address","code":"no_page"`) {
		t.Errorf("the API answers %s %s", res.Header.Get("Content-Type"), body)
	}
}

func TestPanicsBecomeErrors(t *testing.T) {
	var panics atomic.Bool
	panics.Store(true)
	s := newSite(t, func(c *Config) {
		c.Example = func(w io.Writer) error {
			if panics.Load() {
				panic("boom")
			}
			_, err := io.WriteString(w, "{}")
			return err
		}
	})
	res, body := s.do("GET", "/example.json.gz", nil, "Accept-Encoding", "gzip")
	if res.StatusCode != 500 || strings.Contains(body, "boom") || !strings.Contains(s.log.String(), "boom") {
		t.Errorf("after a panic: %d %q, log %s", res.StatusCode, body, s.log)
	}
	panics.Store(false)
	if res, _ := s.do("GET", "/example.json.gz", nil); res.StatusCode != 200 {
		t.Errorf("the panic left a lock behind: %d", res.StatusCode)
	}
}

func TestServeDrainsAndStops(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	s := newSite(t, func(c *Config) {
		c.Example = func(w io.Writer) error {
			close(begun)
			<-release
			_, err := io.WriteString(w, `{"traceEvents":[]}`)
			return err
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	got := make(chan error, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String() + "/example.json.gz")
		if err == nil {
			var body []byte
			body, err = io.ReadAll(res.Body)
			res.Body.Close()
			if err == nil && (res.StatusCode != 200 || len(body) == 0) {
				err = errors.New(res.Status)
			}
		}
		got <- err
	}()
	<-begun
	stop()
	close(release)
	if err := <-got; err != nil {
		t.Errorf("the request under way was lost: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve returned %v", err)
	}
}
