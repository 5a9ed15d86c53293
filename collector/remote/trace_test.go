package remote

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
)

// source is a file that counts from where it was read.
type source struct {
	data    []byte
	offsets []int64
}

func (s *source) file(name string) wire.TraceFile {
	return wire.TraceFile{Meta: store.Meta{Name: name, Label: "prod", Note: "line 1\nline 2"}, Size: int64(len(s.data)), SHA256: storetest.ID(s.data),
		Open: func(off int64) (io.ReadCloser, error) {
			s.offsets = append(s.offsets, off)
			return io.NopCloser(bytes.NewReader(s.data[off:])), nil
		}}
}

// cutAfter lets so many bytes of the next PATCH through and breaks the connection.
func cutAfter(n int64) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodPatch {
			next.ServeHTTP(w, r)
			return
		}
		r.Body = io.NopCloser(&cut{r: io.LimitReader(r.Body, n)})
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// cut fails where a connection breaks.
type cut struct{ r io.Reader }

func (c *cut) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// The connection breaks, the server restarts, the collector restarts: the
// transfer goes on where the server stands, and the bytes are the file's.
func TestATraceIsResumed(t *testing.T) {
	f := newFar(t)
	state := filepath.Join(t.TempDir(), "uploads.json")
	restarted := func() *Link { return f.link(func(o *Options) { o.State = state }) }
	l := restarted()
	s := &source{data: storetest.Content(1, 5<<20)}
	for _, n := range []int64{1 << 20, 100, 2 << 20} {
		f.set(cutAfter(n))
		if _, err := l.PutTrace(t.Context(), s.file("a.json")); err == nil {
			t.Fatal("a broken connection is no failure")
		}
		f.restart()
		l = restarted()
	}
	f.set(nil)
	id, err := l.PutTrace(t.Context(), s.file("a.json"))
	if err != nil || id != storetest.ID(s.data) {
		t.Fatalf("%s, %v", id, err)
	}
	if want := []int64{0, 1 << 20, 1<<20 + 100, 3<<20 + 100}; !slices.Equal(s.offsets, want) {
		t.Errorf("read from %v, want %v", s.offsets, want)
	}
	tr, err := f.st.Trace(t.Context(), id)
	if err != nil || tr.Bytes != 5<<20 || tr.Name != "a.json" || tr.Label != "prod" || tr.Note != "line 1\nline 2" {
		t.Errorf("%+v, %v", tr, err)
	}
	// Known by its sum: not read again, by whoever has it.
	if id, err := f.link(nil).PutTrace(t.Context(), s.file("b.json")); err != nil || id != storetest.ID(s.data) || len(s.offsets) != 4 {
		t.Errorf("%s, %v, read from %v", id, err, s.offsets)
	}
	if restarted().uploads.get(storetest.ID(s.data)) != "" {
		t.Error("a finished upload is remembered")
	}
}

// The last byte arrived, its answer didn't.
func TestALostLastAnswer(t *testing.T) {
	f := newFar(t)
	l := f.link(nil)
	s := &source{data: storetest.Content(2, 300_000)}
	f.set(cutAfter(1 << 30))
	if _, err := l.PutTrace(t.Context(), s.file("a.json")); err == nil {
		t.Fatal("no failure")
	}
	f.set(nil)
	if id, err := l.PutTrace(t.Context(), s.file("a.json")); err != nil || id != storetest.ID(s.data) || len(s.offsets) != 1 {
		t.Errorf("%s, %v, read from %v", id, err, s.offsets)
	}
}

// Uploads that the server forgot begin anew.
func TestAnExpiredUploadBeginsAnew(t *testing.T) {
	f := newFar(t)
	l := f.link(nil)
	s := &source{data: storetest.Content(3, 300_000)}
	f.set(cutAfter(1000))
	if _, err := l.PutTrace(t.Context(), s.file("a.json")); err == nil {
		t.Fatal("no failure")
	}
	f.set(nil)
	if err := f.st.DropUpload(t.Context(), l.uploads.get(storetest.ID(s.data))); err != nil {
		t.Fatal(err)
	}
	if id, err := l.PutTrace(t.Context(), s.file("a.json")); err != nil || id != storetest.ID(s.data) || !slices.Equal(s.offsets, []int64{0, 0}) {
		t.Errorf("%s, %v, read from %v", id, err, s.offsets)
	}
}

// A file that changes while it is sent is nobody's trace.
func TestAChangedFileIsNotKept(t *testing.T) {
	f := newFar(t)
	l := f.link(nil)
	s := &source{data: storetest.Content(4, 300_000)}
	file := s.file("a.json")
	s.data = storetest.Content(5, 300_000)
	if _, err := l.PutTrace(t.Context(), file); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "changed while it was read") {
		t.Fatalf("%v", err)
	}
	if u, err := f.st.Usage(t.Context()); err != nil || u.Traces != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	for _, bad := range []wire.TraceFile{{SHA256: file.SHA256}, {Size: 5, SHA256: "../x"}, {Size: 5, SHA256: strings.ToUpper(file.SHA256)}} {
		if _, err := l.PutTrace(t.Context(), bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v", err)
		}
	}
	short := s.file("b.json")
	short.Size += 10 // it became shorter: the connection can't give what was announced
	if _, err := l.PutTrace(t.Context(), short); err == nil {
		t.Error("a file shorter than announced was taken")
	}
	notTrace := &source{data: []byte("<html>")}
	if _, err := l.PutTrace(t.Context(), notTrace.file("c.json")); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "not a trace") {
		t.Errorf("%v", err)
	}
}

func TestAStuckUploadEnds(t *testing.T) {
	f := newFar(t)
	l := f.link(nil)
	l.stall = 50 * time.Millisecond
	stuck, release := io.Pipe()
	defer release.Close()
	data := storetest.Content(6, 300_000)
	_, err := l.PutTrace(t.Context(), wire.TraceFile{Size: int64(len(data)), SHA256: storetest.ID(data), Open: func(int64) (io.ReadCloser, error) { return stuck, nil }})
	if !errors.Is(err, errStalled) || !strings.Contains(err.Error(), f.srv.URL) {
		t.Errorf("%v", err)
	}
}
