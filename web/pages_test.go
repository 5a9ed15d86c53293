package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stepscope/stepscope/store"
)

func TestStaticFilesAreCachedForEver(t *testing.T) {
	s := newSite(t, nil)
	f := func(name, kind, content string) {
		t.Helper()
		res, body := s.do("GET", "/static/"+name, nil, "Accept-Encoding", "br, gzip")
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != kind || res.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %d, %v", name, res.StatusCode, res.Header)
		}
		if got := res.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", name, got)
		}
		if got := gunzip(t, body); got != content {
			t.Errorf("%s unpacks to %q, want %q", name, got, content)
		}
		for _, accept := range []string{"", "br", "gzip;q=0"} {
			res, body = s.do("GET", "/static/"+name, nil, "Accept-Encoding", accept)
			if res.Header.Get("Content-Encoding") != "" || body != content || res.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s for %q: %v %q", name, accept, res.Header, body)
			}
		}
		if res, _ := s.do("GET", "/static/"+name, nil, "If-None-Match", `"`+name+`"`); res.StatusCode != 304 {
			t.Errorf("%s again: %d, want 304", name, res.StatusCode)
		}
	}
	f("page-1a.js", "text/javascript; charset=utf-8", "export {}")
	f("app-2b.css", "text/css; charset=utf-8", "body{}")
	f("trace-3c.wasm", "application/wasm", "\x00asm\x01\x00\x00\x00")

	for _, name := range []string{"forgotten-9.js", "manifest.json", "page.js", "..%2fserver.go", "page-1a.js.gz"} {
		if res, _ := s.do("GET", "/static/"+name, nil); res.StatusCode != 404 {
			t.Errorf("/static/%s: %d, want 404", name, res.StatusCode)
		}
	}
	if _, page := s.do("GET", "/trace", nil); !strings.Contains(page, `src="/static/page-1a.js"`) || !strings.Contains(page, `"wasm":"/static/trace-3c.wasm"`) {
		t.Error("the page does not name the built files")
	}
}

func TestAssetsMissingOrDamaged(t *testing.T) {
	unbuilt := newSite(t, func(c *Config) { c.Assets = fstest.MapFS{".gitkeep": {}} })
	if res, page := unbuilt.do("GET", "/trace", nil); res.StatusCode != 200 || !strings.Contains(page, "make build") {
		t.Errorf("unbuilt: %d, and the page does not say what to do", res.StatusCode)
	}
	f := func(manifest, want string) {
		t.Helper()
		_, err := loadAssets(fstest.MapFS{"manifest.json": {Data: []byte(manifest)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("manifest %s: error %v, want %q", manifest, err, want)
		}
	}
	f(`{`, "make build")
	f(`{"page.js":"page-1.js"}`, "missing asset")
	f(`{"x":"page-1.exe"}`, "kind")
}

func TestPagesAreCompressed(t *testing.T) {
	s := newSite(t, nil)
	res, body := s.do("GET", "/trace", nil, "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(gunzip(t, body), "</html>") {
		t.Errorf("the page is not compressed whole: %v", res.Header)
	}
	res, body = s.do("GET", "/no", nil, "Accept-Encoding", "gzip", "Accept", "text/html")
	if res.StatusCode != 404 || res.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(gunzip(t, body), "</html>") {
		t.Errorf("the error page is not compressed whole: %d %v", res.StatusCode, res.Header)
	}
	res, body = s.do("GET", "/api/traces", nil, "Accept-Encoding", "gzip")
	if !strings.Contains(gunzip(t, body), `"traces"`) {
		t.Errorf("the API's answer: %v", res.Header)
	}
	// A trace goes out as the bytes it is: the reader counts and unpacks them.
	trace, _, err := s.st.KeepTrace(t.Context(), store.Meta{Name: "a.json"}, strings.NewReader(`{"traceEvents":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	res, body = s.do("GET", "/api/traces/"+trace.ID+"/content", nil, "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Encoding") != "" || body != `{"traceEvents":[]}` {
		t.Errorf("a trace is served as %v %q", res.Header, body)
	}
}

func TestLanguageAndTheme(t *testing.T) {
	s := newSite(t, nil)
	f := func(target, html, setCookie string, header ...string) {
		t.Helper()
		res, body := s.do("GET", target, nil, header...)
		if !strings.Contains(body, html) {
			t.Errorf("%s with %v: no %s in %.200s", target, header, html, body)
		}
		if got := res.Header.Get("Set-Cookie"); !strings.HasPrefix(got, setCookie) || (setCookie == "") != (got == "") {
			t.Errorf("%s with %v: cookie %q, want %q", target, header, got, setCookie)
		}
	}
	f("/trace", `<html lang="en" data-theme="auto"`, "")
	f("/trace", `<html lang="zh"`, "", "Accept-Language", "zh-CN,en;q=0.5")
	f("/trace?lang=zh", `<html lang="zh"`, "lang=zh; Path=/; Max-Age=31536000; SameSite=Lax")
	f("/trace", `<html lang="zh"`, "", "Cookie", "lang=zh", "Accept-Language", "en")
	f("/trace?lang=en", `<html lang="en"`, "lang=en;", "Cookie", "lang=zh")
	f("/trace?lang=xx", `<html lang="zh"`, "", "Cookie", "lang=zh")
	f("/traces?theme=dark", `data-theme="dark"`, "theme=dark;")
	f("/traces", `data-theme="light"`, "", "Cookie", "theme=light")
	f("/traces?theme=%22%3E", `data-theme="auto"`, "", "Cookie", `theme="><script>`)
}

func TestExample(t *testing.T) {
	made := 0
	s := newSite(t, func(c *Config) {
		c.Example = func(w io.Writer) error { made++; _, err := io.WriteString(w, `{"traceEvents":[]}`); return err }
	})
	res, body := s.do("GET", "/example.json.gz", nil, "Accept-Encoding", "gzip")
	if res.Header.Get("Content-Type") != "application/gzip" || res.Header.Get("Content-Encoding") != "" || gunzip(t, body) != `{"traceEvents":[]}` {
		t.Errorf("the example is served as %v", res.Header)
	}
	etag := res.Header.Get("ETag")
	if res, _ := s.do("GET", "/example.json.gz", nil, "If-None-Match", etag); etag == "" || res.StatusCode != 304 {
		t.Errorf("again with ETag %s: %d, want 304", etag, res.StatusCode)
	}
	if res, part := s.do("GET", "/example.json.gz", nil, "Range", "bytes=0-1"); res.StatusCode != 206 || part != "\x1f\x8b" {
		t.Errorf("a range: %d %q", res.StatusCode, part)
	}
	if made != 1 {
		t.Errorf("made %d times, want once", made)
	}
	none := newSite(t, nil)
	if res, _ := none.do("GET", "/example.json.gz", nil); res.StatusCode != 404 {
		t.Errorf("without an example: %d, want 404", res.StatusCode)
	}
}

func TestViewerOpensOwnAddressesOnly(t *testing.T) {
	s := newSite(t, nil)
	f := func(from string, want int) {
		t.Helper()
		if res, _ := s.do("GET", "/trace?trace="+url.QueryEscape(from), nil, "Accept", "text/html"); res.StatusCode != want {
			t.Errorf("?trace=%s: %d, want %d", from, res.StatusCode, want)
		}
	}
	f("/example.json.gz", 200)
	f("/api/traces/ab/content", 200)
	f("https://evil.example/x", 400)
	f("//evil.example/x", 400)
	f(`/\evil.example/x`, 400)
	f("x.json", 400)
	f("javascript:alert(1)", 400)
}

func TestKeptTracesWithoutScripts(t *testing.T) {
	s := newSite(t, nil)
	if _, page := s.do("GET", "/traces", nil); !strings.Contains(page, "No trace is kept yet") {
		t.Error("the empty list does not say so")
	}
	keep := func(name, label, content string) string {
		t.Helper()
		trace, _, err := s.st.KeepTrace(t.Context(), store.Meta{Name: name, Label: label}, strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return trace.ID
	}
	a := keep("a.json", "decode", `[1]`)
	keep("<b>.json", "prefill", `[22]`)
	_, page := s.do("GET", "/traces", nil)
	for _, want := range []string{`href="/trace?trace=%2Fapi%2Ftraces%2F` + a + `%2Fcontent"`, `action="/traces/` + a + `/delete"`, "&lt;b&gt;.json", `title="4 B"`, a[:12], "2 shown"} {
		if !strings.Contains(page, want) {
			t.Errorf("the list has no %s", want)
		}
	}
	if _, found := s.do("GET", "/traces?q=DECODE", nil); !strings.Contains(found, "a.json") || strings.Contains(found, "&lt;b&gt;") {
		t.Error("the search for decode finds something else")
	}
	if _, none := s.do("GET", "/traces?q=zzz", nil); !strings.Contains(none, "Nothing kept matches “zzz”") {
		t.Error("a search in vain does not say so")
	}

	follow := func(res *http.Response) string {
		t.Helper()
		if res.StatusCode != 303 {
			t.Fatalf("the form leads nowhere: %d", res.StatusCode)
		}
		_, page := s.do("GET", res.Header.Get("Location"), nil)
		return page
	}
	page = follow(first(s.form("/traces/"+a+"/edit", url.Values{"name": {"c.json"}, "label": {"new"}, "note": {"two\nlines"}})))
	if !strings.Contains(page, "Saved.") || !strings.Contains(page, "c.json") || !strings.Contains(page, "two\nlines") {
		t.Error("the edit is not shown")
	}
	if res, _ := s.form("/traces/"+a+"/edit", url.Values{"name": {" "}}); res.StatusCode != 400 {
		t.Errorf("an empty name: %d, want 400", res.StatusCode)
	}
	if res, _ := s.form("/traces/"+a+"/edit", url.Values{"note": {strings.Repeat("x", maxForm)}}); res.StatusCode != 413 {
		t.Errorf("an endless form: %d, want 413", res.StatusCode)
	}
	page = follow(first(s.form("/traces/"+a+"/delete", nil)))
	if !strings.Contains(page, "Deleted “c.json”") || !strings.Contains(page, `action="/traces/`+a+`/restore"`) || strings.Contains(page, `data-id="`+a) {
		t.Error("after deleting, no undo or the trace still listed")
	}
	page = follow(first(s.form("/traces/"+a+"/restore", nil)))
	if !strings.Contains(page, "Restored.") || !strings.Contains(page, `data-id="`+a) {
		t.Error("undo did not bring the trace back")
	}
	if res, page := s.form("/traces/"+strings.Repeat("0", 64)+"/delete", nil); res.StatusCode != 404 || !strings.Contains(page, "</html>") {
		t.Errorf("deleting what is not there: %d", res.StatusCode)
	}
}

func gunzip(t *testing.T, packed string) string {
	t.Helper()
	zr, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatalf("%.40q is not gzip: %v", packed, err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(zr); err != nil {
		t.Fatal(err)
	}
	return plain.String()
}
