package storetest

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func create(t *testing.T, st store.Traces, m store.Meta, n int) store.Upload {
	t.Helper()
	u, err := st.CreateUpload(t.Context(), m, int64(n))
	if err != nil {
		t.Fatalf("CreateUpload: %v", err)
	}
	if len(u.ID) != 32 || u.Offset != 0 || u.Length != int64(n) || u.Trace != "" {
		t.Fatalf("CreateUpload gave %+v", u)
	}
	return u
}

// wantAt checks what the store says of an upload.
func wantAt(t *testing.T, st store.Traces, id string, offset int, trace string) {
	t.Helper()
	u, err := st.Upload(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if u.Offset != int64(offset) || u.Trace != trace {
		t.Fatalf("upload is at %d with trace %q, want %d and %q", u.Offset, u.Trace, offset, trace)
	}
}

// Wherever the pieces are cut, the trace is the whole.
func testUploadCuts(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	const n = 5*MiB + 11
	for i, cuts := range [][]int{
		{}, {1}, {1, 2, 3}, {MiB}, {MiB - 1, MiB, MiB + 1}, {4 * MiB}, {4*MiB - 1, 4*MiB + 1},
		{n - 1}, {5 * MiB, 5*MiB + 10}, {MiB / 2, MiB / 2, MiB},
	} {
		b := Content(uint64(i), n)
		u := create(t, st, store.Meta{Name: "cut.json"}, n)
		from := 0
		for _, to := range append(cuts, n) {
			var err error
			u, err = st.AppendUpload(t.Context(), u.ID, int64(from), bytes.NewReader(b[from:to]))
			if err != nil || u.Offset != int64(to) {
				t.Fatalf("cuts %v: at %d: %+v, %v", cuts, to, u, err)
			}
			from = to
		}
		if u.Trace != ID(b) || u.Existing {
			t.Fatalf("cuts %v: trace %q existing %v, want %q", cuts, u.Trace, u.Existing, ID(b))
		}
		if !bytes.Equal(read(t, st, u.Trace), b) {
			t.Errorf("cuts %v: the bytes differ", cuts)
		}
		// Who lost the last reply can ask again, and even send nothing again.
		wantAt(t, st, u.ID, n, ID(b))
		if u, err := st.AppendUpload(t.Context(), u.ID, n, bytes.NewReader(nil)); err != nil || u.Trace != ID(b) {
			t.Errorf("an empty piece at the end: %+v, %v", u, err)
		}
	}
	if tr, err := st.Trace(t.Context(), ID(Content(0, n))); err != nil || tr.Name != "cut.json" {
		t.Errorf("the trace: %+v, %v", tr, err)
	}
}

func testUploadRestart(t *testing.T, open Open) {
	dir := t.TempDir()
	const n = 3*MiB + 5
	b := Content(1, n)
	st := open(t, dir, store.Options{})
	u := create(t, st, store.Meta{Name: "r.json", Label: "L", Note: "N"}, n)
	from := 0
	for _, to := range []int{1, MiB + 3, 2 * MiB, n} {
		if _, err := st.AppendUpload(t.Context(), u.ID, int64(from), bytes.NewReader(b[from:to])); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		st = open(t, dir, store.Options{})
		from = to
		want := ""
		if to == n {
			want = ID(b)
		}
		wantAt(t, st, u.ID, to, want)
	}
	defer st.Close()
	tr, err := st.Trace(t.Context(), ID(b))
	if err != nil || tr.Meta != (store.Meta{Name: "r.json", Label: "L", Note: "N"}) {
		t.Errorf("trace: %+v, %v", tr, err)
	}
	if !bytes.Equal(read(t, st, ID(b)), b) {
		t.Error("the bytes differ")
	}
}

func testUploadInterrupted(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	const n = 9 * MiB
	b := Content(1, n)
	u := create(t, st, store.Meta{}, n)
	const got = 5*MiB + 123
	_, err := st.AppendUpload(t.Context(), u.ID, 0, broken(b[:got]))
	wantErr(t, err, store.ErrInterrupted)
	wantAt(t, st, u.ID, got, "")
	// A connection that breaks behind the last byte has delivered all.
	u, err = st.AppendUpload(t.Context(), u.ID, got, broken(b[got:]))
	if err != nil || u.Trace != ID(b) {
		t.Fatalf("the rest: %+v, %v", u, err)
	}
	if !bytes.Equal(read(t, st, ID(b)), b) {
		t.Error("the bytes differ")
	}
}

func testUploadErrors(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	for _, n := range []int64{0, -1} {
		_, err := st.CreateUpload(t.Context(), store.Meta{}, n)
		wantErr(t, err, store.ErrInvalid)
	}
	_, err := st.Upload(t.Context(), "nope")
	wantErr(t, err, store.ErrNotFound)
	_, err = st.AppendUpload(t.Context(), "nope", 0, bytes.NewReader(nil))
	wantErr(t, err, store.ErrNotFound)
	wantErr(t, st.DropUpload(t.Context(), "nope"), store.ErrNotFound)

	b := Content(1, 2*MiB)
	u := create(t, st, store.Meta{}, len(b))
	if _, err := st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b[:100])); err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{0, 99, 101, 2 * MiB, -1} {
		_, err := st.AppendUpload(t.Context(), u.ID, off, bytes.NewReader(b))
		var oe *store.OffsetError
		if !errors.Is(err, store.ErrOffset) || !errors.As(err, &oe) || oe.Have != 100 || oe.Got != off {
			t.Errorf("offset %d: %v", off, err)
		}
	}
	wantAt(t, st, u.ID, 100, "")
	// More than announced is refused, and the right rest still accepted.
	_, err = st.AppendUpload(t.Context(), u.ID, 100, bytes.NewReader(append(bytes.Clone(b[100:]), 'x')))
	wantErr(t, err, store.ErrTooLarge)
	wantAt(t, st, u.ID, 100, "")
	if u, err = st.AppendUpload(t.Context(), u.ID, 100, bytes.NewReader(b[100:])); err != nil || u.Trace != ID(b) {
		t.Errorf("the right rest: %+v, %v", u, err)
	}

	// The type is judged at the first bytes, also when they come one by one.
	u = create(t, st, store.Meta{}, 100)
	_, err = st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader([]byte("<html>")))
	wantErr(t, err, store.ErrNotTrace)
	wantAt(t, st, u.ID, 0, "")
	if _, err = st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader([]byte{0x1f})); err != nil {
		t.Fatal(err)
	}
	_, err = st.AppendUpload(t.Context(), u.ID, 1, bytes.NewReader([]byte{0x00}))
	wantErr(t, err, store.ErrNotTrace)
	// A file that never shows what it is does not become a trace.
	u = create(t, st, store.Meta{}, 3)
	_, err = st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader([]byte("  \n")))
	wantErr(t, err, store.ErrNotTrace)
}

func testUploadExpiry(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{UploadTTL: time.Hour})
	b := Content(1, 2*MiB)
	u := create(t, st, store.Meta{}, len(b))
	u2, err := st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b[:MiB]))
	if err != nil || u2.Expires.Before(u.Expires) {
		t.Fatalf("appending moved the expiry from %v to %v, %v", u.Expires, u2.Expires, err)
	}
	if p, err := st.Purge(t.Context(), u2.Expires.Add(-time.Second)); err != nil || p != (store.Purged{}) {
		t.Fatalf("purge before the expiry: %+v, %v", p, err)
	}
	wantAt(t, st, u.ID, MiB, "")
	p, err := st.Purge(t.Context(), u2.Expires)
	if want := (store.Purged{Uploads: 1, Bytes: MiB}); err != nil || p != want {
		t.Fatalf("purge at the expiry: %+v, %v; want %+v", p, err, want)
	}
	_, err = st.Upload(t.Context(), u.ID)
	wantErr(t, err, store.ErrNotFound)
	wantUsage(t, st, 0, 0)

	// A finished upload is forgotten, its trace is not.
	u = create(t, st, store.Meta{}, len(b))
	if u, err = st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Purge(t.Context(), u.Expires); err != nil {
		t.Fatal(err)
	}
	_, err = st.Upload(t.Context(), u.ID)
	wantErr(t, err, store.ErrNotFound)
	wantUsage(t, st, 2*MiB, 1)
}

func testUploadDrop(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	b := Content(1, 5*MiB)
	u := create(t, st, store.Meta{}, len(b))
	// Dropped while bytes still come: the transfer fails and leaves nothing.
	pr, pw := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := st.AppendUpload(t.Context(), u.ID, 0, pr)
		done <- err
	}()
	if _, err := pw.Write(b[:MiB]); err != nil {
		t.Fatal(err)
	}
	if err := st.DropUpload(t.Context(), u.ID); err != nil {
		t.Fatal(err)
	}
	pw.CloseWithError(errBroken)
	wantErr(t, <-done, store.ErrNotFound)
	wantUsage(t, st, 0, 0)
	_, err := st.Upload(t.Context(), u.ID)
	wantErr(t, err, store.ErrNotFound)
}

func testUploadTooMany(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	var last store.Upload
	for range store.MaxUploads {
		last = create(t, st, store.Meta{}, 10)
	}
	_, err := st.CreateUpload(t.Context(), store.Meta{}, 10)
	wantErr(t, err, store.ErrTooMany)
	if err := st.DropUpload(t.Context(), last.ID); err != nil {
		t.Fatal(err)
	}
	create(t, st, store.Meta{}, 10)
}

func testUploadBusy(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	b := Content(1, 2*MiB)
	u := create(t, st, store.Meta{}, len(b))
	pr, pw := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := st.AppendUpload(t.Context(), u.ID, 0, pr)
		done <- err
	}()
	if _, err := pw.Write(b[:10]); err != nil { // now it is at work
		t.Fatal(err)
	}
	_, err := st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b))
	wantErr(t, err, store.ErrBusy)
	pw.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantAt(t, st, u.ID, 10, "")
}

func testSameBytesAtOnce(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	b := Content(1, 3*MiB+1)
	const n = 6
	var wg sync.WaitGroup
	existing := make([]bool, n)
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			var tr store.Trace
			if i%2 == 0 {
				tr, existing[i], errs[i] = st.KeepTrace(t.Context(), store.Meta{}, bytes.NewReader(b))
			} else {
				var u store.Upload
				if u, errs[i] = st.CreateUpload(t.Context(), store.Meta{}, int64(len(b))); errs[i] == nil {
					u, errs[i] = st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b))
				}
				tr.ID, existing[i] = u.Trace, u.Existing
			}
			if errs[i] == nil && tr.ID != ID(b) {
				errs[i] = errors.New("id is " + tr.ID)
			}
		})
	}
	wg.Wait()
	first := 0
	for i := range n {
		if errs[i] != nil {
			t.Errorf("transfer %d: %v", i, errs[i])
		}
		if !existing[i] {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d transfers say that they were the first", first)
	}
	wantUsage(t, st, int64(len(b)), 1)
	if !bytes.Equal(read(t, st, ID(b)), b) {
		t.Error("the bytes differ")
	}
}

// While an upload stands still in its middle, everything else goes on.
func testReadersDuringUpload(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	old := Content(1, 3*MiB)
	keep(t, st, store.Meta{Name: "old.json"}, old)
	b := Content(2, 10*MiB)
	pr, pw := io.Pipe()
	done := make(chan error)
	go func() {
		_, _, err := st.KeepTrace(t.Context(), store.Meta{Name: "new.json"}, pr)
		done <- err
	}()
	for off := 0; off < len(b); off += MiB {
		if _, err := pw.Write(b[off : off+MiB]); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, st, ID(old)), old) {
			t.Error("the bytes differ")
		}
		if got, _ := names(t, st, store.Query{}); len(got) != 1 {
			t.Errorf("a half-received trace is listed: %v", got)
		}
		note := string(rune('a' + off/MiB))
		if _, err := st.UpdateTrace(t.Context(), ID(old), store.Patch{Note: &note}); err != nil {
			t.Error(err)
		}
		if _, err := st.Purge(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
	}
	pw.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, st, ID(b)), b) {
		t.Error("the bytes differ")
	}
}
