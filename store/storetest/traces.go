package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func testKeepRead(t *testing.T, open Open) {
	dir := t.TempDir()
	st := open(t, dir, store.Options{})
	sizes := []int{2, MiB - 1, MiB, MiB + 1, 4 * MiB, 4*MiB + 3, 9*MiB + 17}
	before := time.Now().Add(-time.Minute)
	for i, n := range sizes {
		tr := keep(t, st, store.Meta{Name: fmt.Sprint(n, ".json"), Label: "prod", Note: "a\nb"}, Content(uint64(i), n))
		if tr.Name != fmt.Sprint(n, ".json") || tr.Label != "prod" || tr.Note != "a\nb" || tr.ContentType != store.TypeJSON {
			t.Errorf("kept as %+v", tr)
		}
		if !tr.Live() || tr.Created.Before(before) || tr.Created.After(time.Now().Add(time.Minute)) {
			t.Errorf("created %v, deleted %v", tr.Created, tr.Deleted)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, dir, store.Options{})
	defer st.Close()
	for i, n := range sizes {
		want := Content(uint64(i), n)
		if !bytes.Equal(read(t, st, ID(want)), want) {
			t.Errorf("%d bytes came back different", n)
		}
		tr, err := st.Trace(t.Context(), ID(want))
		if err != nil || tr.Bytes != int64(n) {
			t.Errorf("trace of %d bytes: %+v, %v", n, tr, err)
		}
	}
	// A name is made up where none is given.
	if tr := keep(t, st, store.Meta{}, []byte("\x1f\x8b\x08rest")); tr.Name != "trace.json.gz" || tr.ContentType != store.TypeGzip {
		t.Errorf("unnamed gzip became %+v", tr)
	}
	if _, err := st.Trace(t.Context(), ID([]byte("never kept"))); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown trace: %v", err)
	}
	if _, err := st.OpenBlob(t.Context(), "x' OR '1'='1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown blob: %v", err)
	}
}

func testSeek(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	want := Content(1, 3*MiB+5)
	keep(t, st, store.Meta{}, want)
	b, err := st.OpenBlob(t.Context(), ID(want))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if b.Size() != int64(len(want)) {
		t.Errorf("Size is %d, want %d", b.Size(), len(want))
	}
	for _, off := range []int{2 * MiB, 0, MiB - 1, 3 * MiB, 3*MiB + 4, 7} {
		if pos, err := b.Seek(int64(off), io.SeekStart); pos != int64(off) || err != nil {
			t.Fatalf("Seek(%d) = %d, %v", off, pos, err)
		}
		n := min(MiB+9, len(want)-off)
		got := make([]byte, n)
		if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, want[off:off+n]) {
			t.Errorf("%d bytes at %d differ (%v)", n, off, err)
		}
	}
	if pos, err := b.Seek(-3, io.SeekEnd); pos != int64(len(want)-3) || err != nil {
		t.Errorf("Seek from the end: %d, %v", pos, err)
	}
	if pos, err := b.Seek(1, io.SeekCurrent); pos != int64(len(want)-2) || err != nil {
		t.Errorf("Seek from here: %d, %v", pos, err)
	}
	if rest, err := io.ReadAll(b); err != nil || !bytes.Equal(rest, want[len(want)-2:]) {
		t.Errorf("the last two bytes: %q, %v", rest, err)
	}
	if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if _, err := b.Seek(-1, io.SeekStart); err == nil {
		t.Error("a seek before the start was accepted")
	}
	if pos, _ := b.Seek(math.MaxInt32, io.SeekStart); pos != math.MaxInt32 {
		t.Errorf("a seek beyond the end gave %d", pos)
	}
	if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("beyond the end: %d, %v", n, err)
	}
}

func testDedupe(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	b := Content(1, 2*MiB+1)
	first := keep(t, st, store.Meta{Name: "one.json", Label: "A"}, b)
	again, existing, err := st.KeepTrace(t.Context(), store.Meta{Name: "two.json", Label: "B"}, bytes.NewReader(b))
	if err != nil || !existing || again != first {
		t.Errorf("kept again: %+v, existing %v, %v; want %+v", again, existing, err, first)
	}
	wantUsage(t, st, int64(len(b)), 1)

	// The same by an upload in two pieces.
	u, err := st.CreateUpload(t.Context(), store.Meta{Name: "three.json"}, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range [][]byte{b[:MiB+7], b[MiB+7:]} {
		if u, err = st.AppendUpload(t.Context(), u.ID, u.Offset, bytes.NewReader(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if u.Trace != first.ID || !u.Existing {
		t.Errorf("upload of kept bytes: %+v", u)
	}
	wantUsage(t, st, int64(len(b)), 1)

	// Kept again after a delete, it is there again, under its new name.
	if err := st.DeleteTrace(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	back, existing, err := st.KeepTrace(t.Context(), store.Meta{Name: "four.json"}, bytes.NewReader(b))
	if err != nil || !existing || !back.Live() || back.Name != "four.json" || back.Label != "" {
		t.Errorf("kept after a delete: %+v, existing %v, %v", back, existing, err)
	}
	wantUsage(t, st, int64(len(b)), 1)
	if !bytes.Equal(read(t, st, first.ID), b) {
		t.Error("the bytes differ")
	}
}

func testNotTrace(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	for _, in := range []string{"", " \n", "<html>", "PK\x03\x04", "\x1f", string(bytes.Repeat([]byte{' '}, 3*MiB)), "\x7fELF" + string(make([]byte, 2*MiB))} {
		_, _, err := st.KeepTrace(t.Context(), store.Meta{Name: "x.json"}, bytes.NewReader([]byte(in)))
		if !errors.Is(err, store.ErrNotTrace) {
			t.Errorf("%.8q of %d bytes: %v", in, len(in), err)
		}
	}
	// The decision falls at the first bytes: the rest is not waited for.
	if _, _, err := st.KeepTrace(t.Context(), store.Meta{}, broken([]byte("<html>"))); !errors.Is(err, store.ErrNotTrace) {
		t.Errorf("HTML at the start: %v", err)
	}
	wantUsage(t, st, 0, 0)
}

func testTooLarge(t *testing.T, open Open) {
	const limit = 5*MiB + 3
	st := fresh(t, open, store.Options{MaxTrace: limit})
	keep(t, st, store.Meta{}, Content(1, limit))
	_, _, err := st.KeepTrace(t.Context(), store.Meta{}, bytes.NewReader(Content(2, limit+1)))
	wantErr(t, err, store.ErrTooLarge)
	var le *store.LimitError
	if !errors.As(err, &le) || le.Limit != limit {
		t.Errorf("the error does not say the limit: %v", err)
	}
	wantUsage(t, st, limit, 1)
	_, err = st.CreateUpload(t.Context(), store.Meta{}, limit+1)
	wantErr(t, err, store.ErrTooLarge)
	if _, err = st.CreateUpload(t.Context(), store.Meta{}, limit); err != nil {
		t.Errorf("an upload of just the limit: %v", err)
	}
}

func testQuota(t *testing.T, open Open) {
	const quota = 12 * MiB
	st := fresh(t, open, store.Options{Quota: quota, Grace: time.Hour})
	kept := keep(t, st, store.Meta{}, Content(1, 5*MiB))
	u, err := st.CreateUpload(t.Context(), store.Meta{}, 6*MiB)
	if err != nil {
		t.Fatal(err)
	}
	if u, err = st.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(Content(2, 6*MiB)[:5*MiB])); err != nil {
		t.Fatal(err)
	}
	wantUsage(t, st, 10*MiB, 1) // an upload in progress counts

	_, _, err = st.KeepTrace(t.Context(), store.Meta{}, bytes.NewReader(Content(3, 2*MiB+1)))
	wantErr(t, err, store.ErrQuota)
	var le *store.LimitError
	if !errors.As(err, &le) || le.Limit != quota || le.Used != 10*MiB {
		t.Errorf("the error does not say the quota and what is used: %v", err)
	}
	wantUsage(t, st, 10*MiB, 1)
	_, err = st.CreateUpload(t.Context(), store.Meta{}, 2*MiB+1)
	wantErr(t, err, store.ErrQuota)

	// Exactly full is allowed; then the upload's last MiB does not fit, and
	// fits again when there is room.
	full := keep(t, st, store.Meta{}, Content(4, 2*MiB))
	last := Content(2, 6*MiB)[5*MiB:]
	_, err = st.AppendUpload(t.Context(), u.ID, 5*MiB, bytes.NewReader(last))
	wantErr(t, err, store.ErrQuota)
	for _, id := range []string{full.ID, kept.ID} {
		if err := st.DeleteTrace(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	wantUsage(t, st, 12*MiB, 0) // deleted traces count until they are purged
	if _, err := st.Purge(t.Context(), time.Now().Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	wantUsage(t, st, 5*MiB, 0)
	u, err = st.AppendUpload(t.Context(), u.ID, 5*MiB, bytes.NewReader(last))
	if err != nil || u.Trace != ID(Content(2, 6*MiB)) {
		t.Fatalf("with room again: %+v, %v", u, err)
	}
	wantUsage(t, st, 6*MiB, 1)
}

func testKeepInterrupted(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	_, _, err := st.KeepTrace(t.Context(), store.Meta{}, broken(Content(1, 6*MiB)))
	wantErr(t, err, store.ErrInterrupted)
	wantErr(t, err, errBroken)
	wantUsage(t, st, 0, 0)
}

func testBlobs(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{})
	for _, n := range []int{0, 1, 5*MiB + 1} {
		b := Content(uint64(n), max(n, 2))[:n]
		for range 2 { // the second time the bytes are there
			id, err := st.PutBlob(t.Context(), bytes.NewReader(b))
			if err != nil || id != ID(b) {
				t.Fatalf("PutBlob of %d bytes = %s, %v", n, id, err)
			}
		}
		wantUsage(t, st, int64(n), 0)
		if !bytes.Equal(read(t, st, ID(b)), b) {
			t.Errorf("%d bytes came back different", n)
		}
		if err := st.RemoveBlob(t.Context(), ID(b)); err != nil {
			t.Fatal(err)
		}
		wantErr(t, st.RemoveBlob(t.Context(), ID(b)), store.ErrNotFound)
	}
	wantUsage(t, st, 0, 0)

	// Bytes that are there become a trace without a second copy, and then they
	// belong to it.
	b := Content(9, MiB)
	if _, err := st.PutBlob(t.Context(), bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if tr := keep(t, st, store.Meta{}, b); tr.ContentType != store.TypeJSON {
		t.Errorf("content type is %q", tr.ContentType)
	}
	wantUsage(t, st, MiB, 1)
	wantErr(t, st.RemoveBlob(t.Context(), ID(b)), store.ErrInUse)
}

func testDeleteRestorePurge(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{Grace: time.Hour})
	a := keep(t, st, store.Meta{Name: "a.json"}, Content(1, 3*MiB))
	b := keep(t, st, store.Meta{Name: "b.json"}, Content(2, 2*MiB))
	unknown := ID(nil)
	wantErr(t, st.DeleteTrace(t.Context(), unknown), store.ErrNotFound)
	_, err := st.RestoreTrace(t.Context(), unknown)
	wantErr(t, err, store.ErrNotFound)

	for range 2 { // deleting what is deleted is no error and no new date
		if err := st.DeleteTrace(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := st.Trace(t.Context(), a.ID)
	if err != nil || gone.Live() {
		t.Fatalf("deleted trace: %+v, %v", gone, err)
	}
	p, err := st.ListTraces(t.Context(), store.Query{})
	if err != nil || len(p.Traces) != 1 || p.Traces[0].ID != b.ID {
		t.Fatalf("list after delete: %+v, %v", p, err)
	}
	if pg, err := st.Purge(t.Context(), gone.Deleted.Add(time.Hour-time.Second)); err != nil || pg != (store.Purged{}) {
		t.Fatalf("purge within the grace period: %+v, %v", pg, err)
	}
	for range 2 {
		back, err := st.RestoreTrace(t.Context(), a.ID)
		if err != nil || back != a {
			t.Fatalf("restored: %+v, %v; want %+v", back, err, a)
		}
	}
	if !bytes.Equal(read(t, st, a.ID), Content(1, 3*MiB)) {
		t.Error("restored bytes differ")
	}

	if err := st.DeleteTrace(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	gone, _ = st.Trace(t.Context(), a.ID)
	pg, err := st.Purge(t.Context(), gone.Deleted.Add(time.Hour))
	if want := (store.Purged{Traces: 1, Bytes: 3 * MiB}); err != nil || pg != want {
		t.Fatalf("purge: %+v, %v; want %+v", pg, err, want)
	}
	wantUsage(t, st, 2*MiB, 1)
	_, err = st.Trace(t.Context(), a.ID)
	wantErr(t, err, store.ErrNotFound)
	_, err = st.RestoreTrace(t.Context(), a.ID)
	wantErr(t, err, store.ErrNotFound)
	_, err = st.OpenBlob(t.Context(), a.ID)
	wantErr(t, err, store.ErrNotFound)
	if !bytes.Equal(read(t, st, b.ID), Content(2, 2*MiB)) {
		t.Error("the other trace's bytes differ")
	}
	keep(t, st, store.Meta{Name: "a.json"}, Content(1, 3*MiB)) // and it can come again
}

// A reader whose bytes are purged fails; it never sees other bytes or a short end.
func testPurgeWhileReading(t *testing.T, open Open) {
	st := fresh(t, open, store.Options{Grace: time.Hour})
	want := Content(1, 4*MiB)
	keep(t, st, store.Meta{}, want)
	b, err := st.OpenBlob(t.Context(), ID(want))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got := make([]byte, MiB/2)
	if _, err := io.ReadFull(b, got); err != nil {
		t.Fatal(err)
	}
	if err := st.DeleteTrace(t.Context(), ID(want)); err != nil {
		t.Fatal(err)
	}
	next := make([]byte, MiB)
	if _, err := io.ReadFull(b, next); err != nil || !bytes.Equal(slices.Concat(got, next), want[:3*MiB/2]) {
		t.Fatalf("a download goes on after the delete: %v", err)
	}
	if _, err := st.Purge(t.Context(), time.Now().Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	keep(t, st, store.Meta{}, Content(2, 4*MiB)) // may take the freed place
	rest, err := io.ReadAll(b)
	switch {
	case err == nil && bytes.Equal(rest, want[3*MiB/2:]):
	case errors.Is(err, store.ErrNotFound) && bytes.HasPrefix(want[3*MiB/2:], rest):
	default:
		t.Errorf("after the purge: %d bytes, %v", len(rest), err)
	}
}
