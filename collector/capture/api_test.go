package capture

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestMeaning(t *testing.T) {
	for _, c := range []struct {
		status int
		said   string
		want   outcome
	}{
		{200, "", taken}, {204, "", taken},
		{409, "", busy}, {500, "Profiling is already in progress.", busy}, {400, "profiler already started", busy},
		{404, "Not Found", missing}, {405, "", missing}, {501, "", missing},
		{400, "bad", refused}, {401, "", refused}, {422, "", refused}, {307, "", refused},
		{500, "boom", failed}, {503, "", failed}, {502, "", lost}, {504, "", lost},
	} {
		if got := meaning(c.status, c.said); got != c.want {
			t.Errorf("%d %q means %d, want %d", c.status, c.said, got, c.want)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for addr, want := range map[string]string{
		"10.0.0.7:8000": "http://10.0.0.7:8000/start", "https://gpu7/vllm/": "https://gpu7/vllm/start", "http://[::1]:8000": "http://[::1]:8000/start",
		"ftp://x": "", "http://": "", "a b:1": "", "": "",
	} {
		u, err := baseURL(addr)
		got := ""
		if err == nil {
			got = u.JoinPath("/start").String()
		}
		if got != want {
			t.Errorf("%q gives %q (%v), want %q", addr, got, err, want)
		}
	}
}

// What a request meets on its way: the token goes along, redirects are not followed, answers are bounded, an end in the
// middle is told from a request that was never sent.
func TestPost(t *testing.T) {
	var handler atomic.Pointer[http.HandlerFunc]
	on := func(f http.HandlerFunc) { handler.Store(&f) }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load())(w, r) }))
	defer s.Close()
	e := Engine{Addr: s.URL + "/base", Token: "secret"}
	on(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/base/start_profile" || r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer secret" || string(body) != `{"a":1}` {
			t.Errorf("%s %s %v %s", r.Method, r.URL, r.Header, body)
		}
		io.WriteString(w, strings.Repeat("x", 1<<20))
	})
	if a := e.post(t.Context(), "/start_profile", map[string]int{"a": 1}); a.outcome != taken || len(a.said.Text) > maxSaid+3 {
		t.Errorf("%d with %d bytes", a.outcome, len(a.said.Text))
	}
	on(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://127.0.0.1:1/", 307) })
	if a := e.post(t.Context(), "/x", nil); a.outcome != refused {
		t.Errorf("a redirect is %+v", a)
	}
	on(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	if a := e.post(t.Context(), "/x", nil); a.outcome != lost || a.err == nil {
		t.Errorf("a lost answer is %+v", a)
	}
	on(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
	})
	if a := e.post(t.Context(), "/x", nil); a.outcome != lost {
		t.Errorf("half an answer is %+v", a)
	}
	release := make(chan struct{})
	on(func(w http.ResponseWriter, r *http.Request) { <-release })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if a := e.post(ctx, "/x", nil); a.outcome != lost || a.err == nil {
		t.Errorf("no answer is %+v", a)
	}
	close(release)
	for _, addr := range []string{"127.0.0.1:1", "no.such.host.invalid:80", "bad address", "ftp://x"} {
		if a := (Engine{Addr: addr}).post(t.Context(), "/x", nil); a.outcome != unreachable {
			t.Errorf("%s is %+v", addr, a)
		}
	}
}

// Whatever a server says becomes one line without control characters.
func FuzzSpoken(f *testing.F) {
	for _, s := range []string{`{"detail":"Not Found"}`, `{"message":["a"],"success":false}`, "<html>", "Start profiling.\n", "\x1b[31m\xff\u202e", `{"error":{"a":"b"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := spoken(body).Text
		if !utf8.ValidString(s) || len(s) > maxSaid*3+3 || strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q becomes %q", body, s)
		}
	})
}
