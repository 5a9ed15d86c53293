package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
)

var tusHeader = []string{"Tus-Resumable", "1.0.0"}

func (a *api) create(n int, header ...string) (path string) {
	a.t.Helper()
	r := a.want(201, "POST", "/api/uploads", nil, append(header, "Tus-Resumable", "1.0.0", "Upload-Length", strconv.Itoa(n))...)
	path = r.header.Get("Location")
	if !strings.HasPrefix(path, "/api/uploads/") || r.header.Get("Tus-Resumable") != "1.0.0" || r.header.Get("Upload-Expires") == "" {
		a.t.Fatalf("created: %v", r.header)
	}
	return path
}

func patchHeader(offset int) []string {
	return []string{"Tus-Resumable", "1.0.0", "Content-Type", "application/offset+octet-stream", "Upload-Offset", strconv.Itoa(offset)}
}

func (a *api) offset(path string) int {
	a.t.Helper()
	r := a.want(200, "HEAD", path, nil, tusHeader...)
	n, err := strconv.Atoi(r.header.Get("Upload-Offset"))
	if err != nil || r.header.Get("Cache-Control") != "no-store" {
		a.t.Fatalf("HEAD %s: %v", path, r.header)
	}
	return n
}

func TestUpload(t *testing.T) {
	a := newAPI(t, store.Options{MaxTrace: 8 * mib})
	r := a.want(204, "OPTIONS", "/api/uploads", nil)
	if r.header.Get("Tus-Version") != "1.0.0" || r.header.Get("Tus-Max-Size") != fmt.Sprint(8*mib) || r.header.Get("Tus-Extension") != "creation,termination,expiration" {
		t.Errorf("OPTIONS: %v", r.header)
	}
	enc := base64.StdEncoding.EncodeToString
	meta := "filename " + enc([]byte("追踪.json")) + ",label " + enc([]byte("prod")) + ",note " + enc([]byte("a\nb")) + ",unknown"
	b := storetest.Content(1, 3*mib+1)
	path := a.create(len(b), "Upload-Metadata", meta)
	if a.offset(path) != 0 {
		t.Error("a new upload does not begin at 0")
	}
	r = a.want(204, "PATCH", path, bytes.NewReader(b[:mib+5]), patchHeader(0)...)
	if r.header.Get("Upload-Offset") != fmt.Sprint(mib+5) || r.header.Get("X-Trace-Id") != "" {
		t.Errorf("after the first piece: %v", r.header)
	}
	r = a.want(204, "PATCH", path, bytes.NewReader(b[mib+5:]), patchHeader(mib+5)...)
	if r.header.Get("Upload-Offset") != fmt.Sprint(len(b)) || r.header.Get("X-Trace-Id") != storetest.ID(b) || r.header.Get("X-Trace-Existing") != "false" {
		t.Errorf("after the last piece: %v", r.header)
	}
	tr, err := a.st.Trace(t.Context(), storetest.ID(b))
	if err != nil || tr.Meta != (store.Meta{Name: "追踪.json", Label: "prod", Note: "a\nb"}) {
		t.Errorf("the trace: %+v, %v", tr, err)
	}
	// The reply may have been lost: HEAD says it again.
	r = a.want(200, "HEAD", path, nil, tusHeader...)
	if r.header.Get("X-Trace-Id") != storetest.ID(b) || r.header.Get("Upload-Offset") != r.header.Get("Upload-Length") {
		t.Errorf("HEAD after the end: %v", r.header)
	}
	if want := strings.TrimSuffix(meta, ",unknown"); r.header.Get("Upload-Metadata") != want {
		t.Errorf("metadata: %q, want %q", r.header.Get("Upload-Metadata"), want)
	}
	if r = a.want(200, "GET", "/api/traces/"+storetest.ID(b)+"/content", nil); !bytes.Equal(r.body, b) {
		t.Error("the bytes differ")
	}

	// The same bytes again, the last piece through a proxy that knows no PATCH.
	path = a.create(len(b))
	r = a.want(204, "POST", path, bytes.NewReader(b), append(patchHeader(0), "X-HTTP-Method-Override", "PATCH")...)
	if r.header.Get("X-Trace-Existing") != "true" || r.header.Get("X-Trace-Not-Applied") != "" {
		t.Errorf("kept again: %v", r.header)
	}
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	again := a.create(len(b), "Upload-Metadata", "label "+b64("canary")+",note "+b64("a\nb"))
	for _, r := range []answer{
		a.want(204, "PATCH", again, bytes.NewReader(b), patchHeader(0)...),
		a.want(200, "HEAD", again, nil, tusHeader...),
	} {
		if got := r.header.Get("X-Trace-Not-Applied"); got != "label" {
			t.Errorf("kept again with another label: %q was not applied", got)
		}
	}
	a.want(204, "DELETE", path, nil, tusHeader...)
	a.refused(404, "", "HEAD", path, nil, tusHeader...)
	a.want(200, "GET", "/api/traces/"+storetest.ID(b), nil)
}

func TestUploadRefusals(t *testing.T) {
	a := newAPI(t, store.Options{MaxTrace: 4 * mib, Quota: 6 * mib})
	tus := tusHeader
	length := func(n string) []string { return append([]string{"Upload-Length", n}, tus...) }
	a.refused(412, "tus", "POST", "/api/uploads", nil, "Upload-Length", "5")
	a.refused(412, "tus", "POST", "/api/uploads", nil, "Upload-Length", "5", "Tus-Resumable", "0.2")
	for _, n := range []string{"", "x", "-1", "1e9"} {
		a.refused(400, "Upload-Length", "POST", "/api/uploads", nil, length(n)...)
	}
	a.refused(400, "length", "POST", "/api/uploads", nil, length("0")...)
	a.refused(413, "4 MiB", "POST", "/api/uploads", nil, length(strconv.Itoa(4*mib+1))...)
	a.refused(400, "Upload-Metadata", "POST", "/api/uploads", nil, append(length("5"), "Upload-Metadata", "filename !!!")...)
	a.refused(405, "no POST", "POST", "/api/uploads/"+strings.Repeat("0", 32), nil, tus...)

	for _, id := range []string{"x", strings.Repeat("0", 64), strings.Repeat("Z", 32)} {
		a.refused(400, "", "HEAD", "/api/uploads/"+id, nil, tus...)
		a.refused(400, "no id", "PATCH", "/api/uploads/"+id, nil, patchHeader(0)...)
	}
	unknown := "/api/uploads/" + strings.Repeat("0", 32)
	a.refused(404, "nothing is kept", "PATCH", unknown, strings.NewReader("{"), patchHeader(0)...)
	a.refused(404, "nothing is kept", "DELETE", unknown, nil, tus...)

	b := storetest.Content(1, 2*mib)
	path := a.create(len(b))
	a.refused(415, "piece", "PATCH", path, bytes.NewReader(b), "Tus-Resumable", "1.0.0", "Content-Type", "application/json", "Upload-Offset", "0")
	a.refused(400, "Upload-Offset", "PATCH", path, bytes.NewReader(b), "Tus-Resumable", "1.0.0", "Content-Type", uploadBody)
	a.refused(409, "goes on at byte 0", "PATCH", path, bytes.NewReader(b), patchHeader(7)...)
	a.refused(415, "not a trace", "PATCH", path, strings.NewReader("plain text"), patchHeader(0)...)
	a.refused(413, "announced", "PATCH", path, bytes.NewReader(append(bytes.Clone(b), 'x')), patchHeader(0)...)
	if a.offset(path) != 0 {
		t.Error("a refused piece was stored")
	}
	a.want(204, "PATCH", path, bytes.NewReader(b), patchHeader(0)...)

	// 2 of 6 MiB are in use. Two uploads of 3 may begin; the second doesn't fit.
	one, two := a.create(3*mib), a.create(3*mib)
	a.want(204, "PATCH", one, bytes.NewReader(storetest.Content(2, 3*mib)), patchHeader(0)...)
	a.refused(507, "6 MiB", "PATCH", two, bytes.NewReader(storetest.Content(3, 3*mib)), patchHeader(0)...)
	a.refused(507, "5 MiB of 6 MiB", "POST", "/api/uploads", nil, length(strconv.Itoa(mib+1))...)
}

// A client sends half and its connection breaks; the server keeps that half, and
// the client goes on from there.
func TestUploadResumesAfterBreak(t *testing.T) {
	a := newAPI(t, store.Options{})
	b := storetest.Content(1, 9*mib+1)
	want := sha256.Sum256(b)
	path := a.create(len(b))
	half := 5*mib + 77

	conn := a.dial(path, len(b), 0)
	if _, err := conn.Write(b[:half]); err != nil {
		t.Fatal(err)
	}
	conn.Close() // what was written before still arrives
	got := a.offset(path)
	for range 200 { // HEAD may come before the server has read all of it
		if got == half {
			break
		}
		time.Sleep(10 * time.Millisecond)
		if got < half {
			a.want(204, "PATCH", path, bytes.NewReader(b[got:half]), patchHeader(got)...)
		}
		got = a.offset(path)
	}
	if got != half {
		t.Fatalf("the server has %d bytes, want %d", got, half)
	}
	r := a.want(204, "PATCH", path, bytes.NewReader(b[half:]), patchHeader(half)...)
	if r.header.Get("X-Trace-Id") != hex.EncodeToString(want[:]) {
		t.Errorf("the trace is %s, want %x", r.header.Get("X-Trace-Id"), want)
	}
	if r = a.want(200, "GET", "/api/traces/"+hex.EncodeToString(want[:])+"/content", nil); !bytes.Equal(r.body, b) {
		t.Error("the bytes differ")
	}
}

// dial begins a PATCH on a connection of its own and sends only its header.
func (a *api) dial(path string, length, offset int) net.Conn {
	a.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.srv.URL, "http://"))
	if err != nil {
		a.t.Fatal(err)
	}
	fmt.Fprintf(conn, "PATCH %s HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nContent-Type: %s\r\nUpload-Offset: %d\r\nContent-Length: %d\r\n\r\n",
		path, uploadBody, offset, length-offset)
	return conn
}

// A connection that died without a word must not lock its client out: the next
// request takes over at once, with all that had come.
func TestUploadTakeover(t *testing.T) {
	a := newAPI(t, store.Options{})
	b := storetest.Content(1, 6*mib)
	path := a.create(len(b))
	dead := a.dial(path, len(b), 0)
	defer dead.Close()
	if _, err := dead.Write(b[:5*mib]); err != nil { // and then silence
		t.Fatal(err)
	}
	got := a.offset(path)
	for got < 5*mib { // on the old connection there may be more on its way than was read
		a.want(204, "PATCH", path, bytes.NewReader(b[got:5*mib]), patchHeader(got)...)
		got = a.offset(path)
	}
	r := a.want(204, "PATCH", path, bytes.NewReader(b[got:]), patchHeader(got)...)
	if r.header.Get("X-Trace-Id") != storetest.ID(b) {
		t.Errorf("after the takeover: %v", r.header)
	}
}

// generator makes n bytes that look like JSON at their start, and their SHA-256.
type generator struct {
	left int
	src  *rand.ChaCha8
	sum  interface {
		io.Writer
		Sum([]byte) []byte
	}
	first bool
}

func newGenerator(n int) *generator {
	return &generator{left: n, src: rand.NewChaCha8([32]byte{1}), sum: sha256.New(), first: true}
}

func (g *generator) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), g.left)]
	g.src.Read(p)
	if g.first {
		p[0], g.first = '{', false
	}
	g.left -= len(p)
	g.sum.Write(p)
	return len(p), nil
}

// A large upload and a large download hold a few MB, whatever the size.
func TestStreamingMemory(t *testing.T) {
	const n = 128 * mib
	a := newAPI(t, store.Options{})
	var before, m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	ctx, stop := context.WithCancel(context.Background())
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		for ctx.Err() == nil {
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			time.Sleep(5 * time.Millisecond)
		}
	}()
	g := newGenerator(n)
	a.want(201, "PUT", "/api/traces", g)
	id := hex.EncodeToString(g.sum.Sum(nil))
	res, err := a.srv.Client().Get(a.srv.URL + "/api/traces/" + id + "/content")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	sum := sha256.New()
	if got, err := io.Copy(sum, res.Body); got != n || err != nil {
		t.Fatalf("downloaded %d bytes, %v", got, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != id {
		t.Errorf("downloaded %s, want %s", got, id)
	}
	stop()
	<-sampled
	if grown := int64(peak.Load()) - int64(before.HeapInuse); grown > 64*mib {
		t.Errorf("the heap grew by %d MiB", grown/mib)
	} else {
		t.Logf("the heap grew by %.1f MiB", float64(grown)/mib)
	}
}

// Uploads of the same file at once end as one trace.
func TestSameUploadAtOnce(t *testing.T) {
	a := newAPI(t, store.Options{})
	b := storetest.Content(1, 5*mib)
	done := make(chan error)
	for range 4 {
		go func() {
			req, err := http.NewRequest("PUT", a.srv.URL+"/api/traces", bytes.NewReader(b))
			if err == nil {
				var res *http.Response
				if res, err = a.srv.Client().Do(req); err == nil {
					res.Body.Close()
					if res.StatusCode != 201 {
						err = fmt.Errorf("status %d", res.StatusCode)
					}
				}
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if u, err := a.st.Usage(t.Context()); err != nil || u.Bytes != 5*mib || u.Traces != 1 {
		t.Errorf("usage: %+v, %v", u, err)
	}
}
