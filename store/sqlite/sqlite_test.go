package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
)

const mib = storetest.MiB

func open(t *testing.T, dir string, o store.Options) store.Store {
	t.Helper()
	return openStore(t, filepath.Join(dir, "test.db"), o)
}

func openStore(t *testing.T, path string, o store.Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func keep(t *testing.T, s *Store, b []byte) store.Trace {
	t.Helper()
	tr, _, err := s.KeepTrace(t.Context(), store.Meta{}, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func wantBytes(t *testing.T, s *Store, id string, want []byte) {
	t.Helper()
	b, err := s.OpenBlob(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(b); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want %d bytes", len(got), err, len(want))
	}
}

func usage(t *testing.T, s *Store) int64 {
	t.Helper()
	u, err := s.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u.Bytes
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

func TestConformance(t *testing.T) { storetest.RunTests(t, open) }

func TestFileSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "what? 100% #1 追踪.db")
	s := openStore(t, path, store.Options{})
	for pragma, want := range map[string]string{
		"auto_vacuum": "2", "journal_mode": "wal", "page_size": "8192", "application_id": "1398031696", "synchronous": "2", "foreign_keys": "1",
	} {
		var got string
		if err := s.w.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", pragma, got, err, want)
		}
	}
	if _, err := s.r.Exec(`DELETE FROM trace`); err == nil {
		t.Error("a reading connection could write")
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", fi, err)
	}
}

// Deleted bytes leave the file, not only its tables.
func TestPurgeShrinksFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := openStore(t, path, store.Options{})
	first, second := keep(t, s, storetest.Content(1, 80*mib)), keep(t, s, storetest.Content(2, mib))
	if err := s.DeleteTrace(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	p, err := s.Purge(t.Context(), s.now().Add(store.DefaultGrace))
	if err != nil || p != (store.Purged{Traces: 1, Bytes: 80 * mib}) {
		t.Fatalf("purged %+v, %v", p, err)
	}
	if n := fileSize(t, path); n > 2*mib {
		t.Errorf("the file still has %d bytes for 1 MiB of traces", n)
	}
	wantBytes(t, s, second.ID, storetest.Content(2, mib))
}

// A delete makes room at once when the quota presses, oldest first, but never in
// the minute in which people undo.
func TestReclaim(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{Quota: 10 * mib})
	now := time.Now()
	s.now = func() time.Time { return now }
	a, b, c := keep(t, s, storetest.Content(1, 3*mib)), keep(t, s, storetest.Content(2, 3*mib)), keep(t, s, storetest.Content(3, 3*mib))
	remove := func(id string) {
		t.Helper()
		if err := s.DeleteTrace(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	remove(b.ID)
	remove(a.ID)
	next := storetest.Content(4, 4*mib)
	if _, _, err := s.KeepTrace(t.Context(), store.Meta{}, bytes.NewReader(next)); !errors.Is(err, store.ErrQuota) {
		t.Fatalf("seconds after the delete: %v", err)
	}
	now = now.Add(undoFloor)
	if _, err := s.CreateUpload(t.Context(), store.Meta{}, 8*mib); !errors.Is(err, store.ErrQuota) {
		t.Fatalf("more than deleted traces can give: %v", err)
	}
	if n := usage(t, s); n != 9*mib {
		t.Fatalf("traces were given up in vain: %d bytes are left", n)
	}
	keep(t, s, next)
	if n := usage(t, s); n != 10*mib {
		t.Errorf("usage is %d", n)
	}
	if _, err := s.Trace(t.Context(), b.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the trace deleted first: %v", err)
	}
	for _, id := range []string{a.ID, c.ID} {
		if _, err := s.Trace(t.Context(), id); err != nil {
			t.Errorf("a trace whose room was not needed: %v", err)
		}
	}
}

// copyOpen copies an open database as a killed process would leave it.
func copyOpen(t *testing.T, s *Store) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(s.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestUncleanEnd(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	b := storetest.Content(1, 3*mib)
	tr := keep(t, s, b)
	wantBytes(t, openStore(t, copyOpen(t, s), store.Options{}), tr.ID, b)

	samples := deliverDay(t, s, 1, 50, "stats")
	if _, err := s.Maintain(t.Context(), time.Unix(0, t0).Add(20*time.Hour), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if n := countSamples(t, openStore(t, copyOpen(t, s), store.Options{})); n != samples {
		t.Errorf("%d samples after an unclean end, want %d", n, samples)
	}

	for _, damage := range []string{`DELETE FROM series_chunk WHERE id = (SELECT max(id) FROM series_chunk)`, `DELETE FROM series_sum WHERE chunk = (SELECT max(id) - 1 FROM series_chunk)`,
		`UPDATE series_block SET data = x'01' WHERE id = (SELECT max(id) FROM series_block WHERE chunk = 0)`, `UPDATE series_block SET chunks = chunks + 1 WHERE chunk = 0`,
		`DELETE FROM chunk WHERE n = 1`, `UPDATE blob SET bytes = bytes + 1048576`} {
		if _, err := s.w.Exec(damage); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), copyOpen(t, s), store.Options{})
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "put back a copy") {
			t.Errorf("after %s: %v", damage, err)
		}
	}
}

func TestForeignFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE theirs (x)`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, bytes.Repeat([]byte("no database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, text} {
		before, _ := os.ReadFile(path)
		if _, err := Open(t.Context(), path, store.Options{}); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", filepath.Base(path))
		}
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none", "x.db"), store.Options{}); err == nil || !strings.Contains(err.Error(), "make the folder") {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestNewerLayout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := openStore(t, path, store.Options{})
	if _, err := s.w.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Open(t.Context(), path, store.Options{}); err == nil || !strings.Contains(err.Error(), "layout 999") {
		t.Errorf("a newer layout: %v", err)
	}
}

func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			s, err := Open(context.Background(), path, store.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, _, err := s.KeepTrace(context.Background(), store.Meta{}, bytes.NewReader(storetest.Content(uint64(i), 100))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := usage(t, openStore(t, path, store.Options{})); n != 500 {
		t.Errorf("%d bytes are kept, want 500", n)
	}
}

// Two processes on one upload: who comes second writes nothing.
func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s1, s2 := openStore(t, path, store.Options{}), openStore(t, path, store.Options{})
	b := storetest.Content(1, 2*mib)
	u, err := s1.CreateUpload(t.Context(), store.Meta{}, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	pr, pw := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s1.AppendUpload(context.Background(), u.ID, 0, pr)
		done <- err
	}()
	if _, err := pw.Write(b[:1000]); err != nil {
		t.Fatal(err)
	}
	if _, err := s2.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b[:mib])); err != nil {
		t.Fatal(err)
	}
	pw.Close()
	if err := <-done; !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the slower process: %v", err)
	}
	if u, err = s2.AppendUpload(t.Context(), u.ID, mib, bytes.NewReader(b[mib:])); err != nil || u.Trace != storetest.ID(b) {
		t.Fatalf("the rest: %+v, %v", u, err)
	}
	wantBytes(t, s1, u.Trace, b)
}

// Downloads without a pause must not make the log grow with each upload.
func TestLogStaysShort(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	old := keep(t, s, storetest.Content(1, 8*mib))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				b, err := s.OpenBlob(context.Background(), old.ID)
				if err == nil {
					_, err = io.Copy(io.Discard, b)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	keep(t, s, storetest.Content(2, 96*mib))
	// One more batch may follow the one that passed the limit.
	if n := logSize(s.path); n > maxLog+2*batchRows*rowSize {
		t.Errorf("the log has %d bytes", n)
	}
	stop()
	readers.Wait()
}
