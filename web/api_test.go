package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/store/storetest"
)

const mib = 1 << 20

// api is a whole server on a real connection, and what a client does with it.
type api struct {
	t   *testing.T
	st  store.Traces
	srv *httptest.Server
}

func newAPI(t *testing.T, o store.Options) *api {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Store: st, Limits: Limits{MaxUpload: o.MaxTrace}, Assets: fstest.MapFS{},
		Addr: netip.MustParseAddr("127.0.0.1"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	a := &api{t: t, st: st, srv: httptest.NewServer(s.Handler())}
	t.Cleanup(func() {
		a.srv.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends one request; header holds pairs of a name and a value.
func (a *api) do(method, path string, body io.Reader, header ...string) answer {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.srv.URL+path, body)
	if err != nil {
		a.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := a.srv.Client().Do(req)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, b}
}

// want sends one request and checks the status.
func (a *api) want(status int, method, path string, body io.Reader, header ...string) answer {
	a.t.Helper()
	r := a.do(method, path, body, header...)
	if r.status != status {
		a.t.Fatalf("%s %s: status %d, want %d: %s", method, path, r.status, status, r.body)
	}
	return r
}

// refused checks that an error says what happened and what to do.
func (a *api) refused(status int, says string, method, path string, body io.Reader, header ...string) {
	a.t.Helper()
	r := a.want(status, method, path, body, header...)
	if method == http.MethodHead {
		return
	}
	var e struct{ Error, Hint string }
	if err := json.Unmarshal(r.body, &e); err != nil || !strings.Contains(e.Error, says) || e.Hint == "" {
		a.t.Errorf("%s %s: %s (%v); want an error with %q and a hint", method, path, r.body, err, says)
	}
}

func (a *api) put(query string, b []byte) (id string, existing bool) {
	a.t.Helper()
	r := a.want(http.StatusCreated, "PUT", "/api/traces?"+query, bytes.NewReader(b))
	var got struct {
		ID, SHA256 string
		Bytes      int64
		Existing   bool
	}
	if err := json.Unmarshal(r.body, &got); err != nil {
		a.t.Fatal(err)
	}
	if got.ID != storetest.ID(b) || got.SHA256 != got.ID || got.Bytes != int64(len(b)) || r.header.Get("Location") != "/api/traces/"+got.ID {
		a.t.Fatalf("PUT answers %s with Location %q", r.body, r.header.Get("Location"))
	}
	return got.ID, got.Existing
}

func (a *api) list(query string) (names []string, next string) {
	a.t.Helper()
	r := a.want(http.StatusOK, "GET", "/api/traces?"+query, nil)
	var got struct {
		Traces []traceJSON
		Next   *string
	}
	if err := json.Unmarshal(r.body, &got); err != nil {
		a.t.Fatal(err)
	}
	for _, tr := range got.Traces {
		names = append(names, tr.Name)
	}
	if got.Next != nil {
		next = *got.Next
	}
	return names, next
}

func TestKeepAndFetch(t *testing.T) {
	a := newAPI(t, store.Options{})
	b := storetest.Content(1, 3*mib+7)
	id, existing := a.put("name=run.json&label=prod&note=first", b)
	if existing {
		t.Error("the first keep says existing")
	}
	if again, existing := a.put("name=other.json", b); again != id || !existing {
		t.Errorf("the second keep: %s, existing %v", again, existing)
	}
	// What was given with bytes kept before is not lost without a word.
	for query, want := range map[string]keptJSON{
		"name=run.json&label=+prod":               {},
		"name=other.json&label=canary&note=first": {Kept: &metaJSON{"run.json", "prod", "first"}, NotApplied: []string{"name", "label"}},
	} {
		r := a.want(http.StatusCreated, "PUT", "/api/traces?"+query, bytes.NewReader(b))
		var got keptJSON
		if err := json.Unmarshal(r.body, &got); err != nil {
			t.Fatal(err)
		}
		if !got.Existing || !reflect.DeepEqual(got.Kept, want.Kept) || !slices.Equal(got.NotApplied, want.NotApplied) ||
			strings.Contains(got.Hint, "PATCH /api/traces/"+id) != (want.Kept != nil) {
			t.Errorf("PUT again with %s answers %s", query, r.body)
		}
	}
	r := a.want(200, "GET", "/api/traces/"+id, nil)
	var tr traceJSON
	if err := json.Unmarshal(r.body, &tr); err != nil {
		t.Fatal(err)
	}
	created := tr.Created
	if want := (traceJSON{ID: id, Name: "run.json", Label: "prod", Note: "first", Bytes: int64(len(b)), SHA256: id,
		ContentType: "application/json", Created: created}); tr != want || created.IsZero() {
		t.Errorf("meta is %+v, want %+v", tr, want)
	}

	content := "/api/traces/" + id + "/content"
	r = a.want(200, "GET", content, nil, "Accept-Encoding", "gzip")
	if !bytes.Equal(r.body, b) {
		t.Error("the bytes differ")
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "ETag": `"` + id + `"`, "Content-Encoding": "", "Accept-Ranges": "bytes",
		"Content-Length": fmt.Sprint(len(b)), "Content-Disposition": `attachment; filename="run.json"`,
		"X-Content-Type-Options": "nosniff",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	r = a.want(200, "HEAD", content, nil)
	if r.header.Get("Content-Length") != fmt.Sprint(len(b)) {
		t.Errorf("HEAD says %q bytes", r.header.Get("Content-Length"))
	}
	if r = a.want(304, "GET", content, nil, "If-None-Match", `"`+id+`"`); len(r.body) != 0 {
		t.Error("a 304 with a body")
	}
	a.want(200, "GET", content, nil, "If-None-Match", `"other"`)

	f := func(spec string, from, to int) {
		t.Helper()
		r := a.want(206, "GET", content, nil, "Range", "bytes="+spec)
		if !bytes.Equal(r.body, b[from:to]) {
			t.Errorf("range %s gives other bytes", spec)
		}
		if got, want := r.header.Get("Content-Range"), fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(b)); got != want {
			t.Errorf("range %s: Content-Range %q, want %q", spec, got, want)
		}
	}
	f("0-0", 0, 1)
	f("1048575-1048576", mib-1, mib+1)
	f("100-2500000", 100, 2500001)
	f("-9", len(b)-9, len(b))
	f("3145728-", 3*mib, len(b))
	a.want(416, "GET", content, nil, "Range", "bytes=99999999-")
	// A resumed download of something else starts anew.
	r = a.want(200, "GET", content, nil, "Range", "bytes=5-9", "If-Range", `"other"`)
	if !bytes.Equal(r.body, b) {
		t.Error("If-Range with another tag did not give the whole")
	}
	a.want(206, "GET", content, nil, "Range", "bytes=5-9", "If-Range", `"`+id+`"`)
}

// gzip stays gzip: the browser must get the file as it is.
func TestGzipIsServedAsItIs(t *testing.T) {
	a := newAPI(t, store.Options{})
	b := append([]byte{0x1f, 0x8b, 8}, storetest.Content(2, 5000)...)
	id, _ := a.put("name=run.json.gz", b)
	r := a.want(200, "GET", "/api/traces/"+id+"/content", nil, "Accept-Encoding", "gzip")
	if !bytes.Equal(r.body, b) || r.header.Get("Content-Type") != "application/gzip" || r.header.Get("Content-Encoding") != "" {
		t.Errorf("type %q, encoding %q, %d bytes", r.header.Get("Content-Type"), r.header.Get("Content-Encoding"), len(r.body))
	}
}

// What can never be kept is refused by its announced length: the body here does
// not exist, so an answer shows that nobody waited for it.
func TestImpossibleLengthsAreRefusedBeforeTheBody(t *testing.T) {
	f := func(o store.Options, length int64, says string) {
		t.Helper()
		a := newAPI(t, o)
		conn, err := net.Dial("tcp", a.srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "PUT /api/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n", length)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var e struct{ Error, Hint string }
		if err := json.NewDecoder(res.Body).Decode(&e); err != nil || res.StatusCode != 413 || !strings.Contains(e.Error, says) || e.Hint == "" {
			t.Errorf("%d %+v (%v); want 413 with %q", res.StatusCode, e, err, says)
		}
	}
	f(store.Options{MaxTrace: 2 * mib}, 2*mib+1, "larger than 2 MiB")
	f(store.Options{MaxTrace: 2 * mib}, math.MaxInt64, "larger than 2 MiB")
	f(store.Options{Quota: 3 * mib}, 3*mib+1, "all that may be kept here, 3 MiB")
}

func TestRefusals(t *testing.T) {
	a := newAPI(t, store.Options{MaxTrace: 2 * mib, Quota: 3 * mib})
	a.refused(415, "not a trace", "PUT", "/api/traces?name=x.json", strings.NewReader("<html>no</html>"))
	a.refused(415, "not a trace", "PUT", "/api/traces", strings.NewReader(""))
	a.refused(413, "2 MiB", "PUT", "/api/traces", bytes.NewReader(storetest.Content(1, 2*mib+1)))
	// Without Content-Length the limit is met while streaming.
	a.refused(413, "2 MiB", "PUT", "/api/traces", io.MultiReader(bytes.NewReader(storetest.Content(1, 2*mib)), strings.NewReader("x")))
	a.put("", storetest.Content(2, 2*mib))
	a.refused(507, "3 MiB", "PUT", "/api/traces", bytes.NewReader(storetest.Content(3, mib+1)))

	for _, id := range []string{"x", strings.Repeat("A", 64), strings.Repeat("g", 64), strings.Repeat("a", 63), "..%2f..%2fetc", "%00"} {
		a.refused(400, "no id", "GET", "/api/traces/"+id, nil)
		a.refused(400, "no id", "GET", "/api/traces/"+id+"/content", nil)
		a.refused(400, "no id", "DELETE", "/api/traces/"+id, nil)
		a.refused(400, "no id", "POST", "/api/traces/"+id+"/restore", nil)
	}
	unknown := "/api/traces/" + strings.Repeat("0", 64)
	a.refused(404, "nothing is kept", "GET", unknown, nil)
	a.refused(404, "nothing is kept", "GET", unknown+"/content", nil)
	a.refused(404, "nothing is kept", "DELETE", unknown, nil)
	a.refused(404, "nothing is kept", "POST", unknown+"/restore", nil)
	a.refused(404, "nothing is kept", "PATCH", unknown, strings.NewReader(`{"name":"x"}`))
	for _, limit := range []string{"0", "-1", "x", "501"} {
		a.refused(400, "limit", "GET", "/api/traces?limit="+limit, nil)
	}
	a.refused(400, "cursor", "GET", "/api/traces?after=zzz", nil)
}

func TestEditDeleteRestore(t *testing.T) {
	a := newAPI(t, store.Options{})
	b := storetest.Content(1, 2000)
	id, _ := a.put("name=a.json&label=x&note=n", b)
	path := "/api/traces/" + id
	r := a.want(200, "PATCH", path, strings.NewReader(`{"label":"y","note":"two\nlines"}`))
	var tr traceJSON
	if err := json.Unmarshal(r.body, &tr); err != nil || tr.Name != "a.json" || tr.Label != "y" || tr.Note != "two\nlines" {
		t.Errorf("edited: %s", r.body)
	}
	for _, bad := range []string{"", "{", "[]", `{"name":5}`, `{"bytes":1}`, `{"name":"a"} x`, `{"name":""}`, `{"note":"` + strings.Repeat("n", maxPatch) + `"}`} {
		a.want(400, "PATCH", path, strings.NewReader(bad))
	}

	a.want(204, "DELETE", path, nil)
	a.want(204, "DELETE", path, nil)
	a.refused(404, "deleted", "GET", path, nil)
	a.refused(404, "deleted", "GET", path+"/content", nil)
	if names, _ := a.list(""); len(names) != 0 {
		t.Errorf("the list still has %v", names)
	}
	r = a.want(200, "POST", path+"/restore", nil)
	if err := json.Unmarshal(r.body, &tr); err != nil || tr.Deleted || tr.Label != "y" {
		t.Errorf("restored: %s", r.body)
	}
	if r = a.want(200, "GET", path+"/content", nil); !bytes.Equal(r.body, b) {
		t.Error("the bytes differ")
	}
}

func TestListAndSearch(t *testing.T) {
	a := newAPI(t, store.Options{})
	r := a.want(200, "GET", "/api/traces", nil)
	if got := strings.TrimSpace(string(r.body)); got != `{"traces":[],"next":null}` {
		t.Errorf("an empty list is %s", got)
	}
	for i := range 5 {
		a.put(fmt.Sprintf("name=t%d.json&label=%s", i, []string{"even", "odd"}[i%2]), storetest.Content(uint64(i), 100))
	}
	if names, next := a.list("q=EVEN"); fmt.Sprint(names) != "[t4.json t2.json t0.json]" || next != "" {
		t.Errorf("search gives %v, %q", names, next)
	}
	names, next := a.list("limit=2")
	more, end := a.list("limit=3&after=" + next)
	if fmt.Sprint(names, more) != "[t4.json t3.json] [t2.json t1.json t0.json]" || end != "" {
		t.Errorf("pages are %v, %v, %q", names, more, end)
	}
}

// A name from a client goes into a header and onto a disk: it must stay a name.
func TestHostileNames(t *testing.T) {
	a := newAPI(t, store.Options{})
	f := func(name, want string) {
		t.Helper()
		if got := attachment(store.Meta{Name: name}.Clean().Name); got != want {
			t.Errorf("%q becomes %s, want %s", name, got, want)
		}
	}
	f("../../etc/passwd", `attachment; filename="passwd"`)
	f("a\"; filename=\"b.exe", `attachment; filename="a__ filename__b.exe"; filename*=UTF-8''a%22%3B%20filename%3D%22b.exe`)
	f("a\r\nSet-Cookie: x=1", `attachment; filename="aSet-Cookie_ x_1"; filename*=UTF-8''aSet-Cookie%3A%20x%3D1`)
	f("追踪.json", `attachment; filename="__.json"; filename*=UTF-8''%E8%BF%BD%E8%B8%AA.json`)
	f("it's 100%.json", `attachment; filename="it_s 100_.json"; filename*=UTF-8''it%27s%20100%25.json`)

	id, _ := a.put("name=..%2F..%2F%22%0d%0aX-Evil%3A%201%E2%80%AE.json", storetest.Content(1, 100))
	r := a.want(200, "GET", "/api/traces/"+id+"/content", nil)
	if r.header.Get("X-Evil") != "" {
		t.Error("a header was injected")
	}
	if got, want := r.header.Get("Content-Disposition"), `attachment; filename="_X-Evil_ 1.json"; filename*=UTF-8''%22X-Evil%3A%201.json`; got != want {
		t.Errorf("Content-Disposition is %s, want %s", got, want)
	}
}

// A trace purged in the middle of a download breaks the connection: the client
// sees an error, never a short file that looks whole.
func TestPurgedWhileDownloading(t *testing.T) {
	a := newAPI(t, store.Options{})
	b := storetest.Content(1, 64*mib) // more than the connection's buffers hold
	id, _ := a.put("", b)
	res, err := a.srv.Client().Get(a.srv.URL + "/api/traces/" + id + "/content")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, mib)
	if _, err := io.ReadFull(res.Body, first); err != nil {
		t.Fatal(err)
	}
	a.want(204, "DELETE", "/api/traces/"+id, nil)
	tr, err := a.st.Trace(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.st.Purge(context.Background(), tr.Deleted.Add(store.DefaultGrace)); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(res.Body)
	if err != io.ErrUnexpectedEOF {
		t.Errorf("after the purge: %d bytes and %v, want an unexpected end", len(rest), err)
	}
	if !bytes.Equal(first, b[:mib]) || !bytes.HasPrefix(b[mib:], rest) {
		t.Error("other bytes came")
	}
}
