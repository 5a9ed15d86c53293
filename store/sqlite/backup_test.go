package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
)

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "test.db"), store.Options{})
	b := storetest.Content(1, 3*mib)
	tr := keep(t, s, b)
	samples := deliverDay(t, s, 1, 50, "stats")
	if _, err := s.Maintain(t.Context(), time.Unix(0, t0).Add(20*time.Hour), store.Retention{}); err != nil { // some in chunks, some not
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copy 100%?.db")
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(copied); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", fi, err)
	}
	if err := s.Backup(t.Context(), copied); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second backup to the same file: %v", err)
	}
	keep(t, s, storetest.Content(2, mib)) // not in the copy

	restored := filepath.Join(dir, "restored.db")
	if kept, err := Restore(t.Context(), copied, restored, false); err != nil || kept != "" {
		t.Fatalf("restore: %q, %v", kept, err)
	}
	if fi, err := os.Stat(restored); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the restored file: %v, %v", fi, err)
	}
	r := openStore(t, restored, store.Options{})
	wantBytes(t, r, tr.ID, b)
	if n := usage(t, r); n != 3*mib {
		t.Errorf("the restored database keeps %d bytes of traces", n)
	}
	if n := countSamples(t, r); n != samples {
		t.Errorf("%d samples restored, want %d", n, samples)
	}
	for pragma, want := range map[string]string{"auto_vacuum": "2", "journal_mode": "wal", "page_size": "8192", "application_id": "1398031696"} {
		var got string
		if err := r.w.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("restored: %s is %q, %v; want %q", pragma, got, err, want)
		}
	}
}

// A copy that is made while batches come and rows are packed is the state of one moment.
func TestBackupWhileWriting(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "test.db"), store.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	delivered := make(chan int)
	go func() {
		defer close(delivered)
		for n := 1; ctx.Err() == nil; n++ {
			_, err := s.Deliver(t.Context(), "node", numbered(n))
			if err == nil && n%20 == 0 {
				_, err = s.Maintain(t.Context(), time.Unix(0, t0+int64(n)*600*int64(time.Second)), store.Retention{})
			}
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case delivered <- n:
			case <-ctx.Done():
			}
		}
	}()
	for k, wait := range []int{5, 90, 60} {
		first := 0
		for range wait {
			first = <-delivered
		}
		copied, restored := filepath.Join(dir, fmt.Sprint("copy", k)), filepath.Join(dir, fmt.Sprint("restored", k))
		made := make(chan error)
		go func() { made <- s.Backup(t.Context(), copied) }()
		last, ready := first, false
		for !ready {
			select {
			case last = <-delivered:
			case err := <-made:
				if ready = true; err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := Restore(t.Context(), copied, restored, false); err != nil {
			t.Fatal(err)
		}
		r := openStore(t, restored, store.Options{})
		_, seq, err := r.Positions(t.Context(), "node")
		if err != nil || int(seq) < first || int(seq) > last+1 {
			t.Fatalf("the copy holds %d batches, %v; made while %d to %d came", seq, err, first, last)
		}
		wantNumbered(t, r, int(seq))
	}
	stop()
	for range delivered {
	}
}

func countSamples(t *testing.T, s *Store) (n int) {
	t.Helper()
	engines, err := s.Engines(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, e := range engines {
		ids = append(ids, e.ID)
	}
	err = s.Read(t.Context(), store.Selection{Engines: ids, To: store.MaxTime}, func(r *store.Series) error {
		n += len(r.Values)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBackupStopped(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	keep(t, s, storetest.Content(1, mib))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Backup(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped backup: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stopped backup leaves %v", err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "test.db"), filepath.Join(dir, "copy.db")
	s := openStore(t, path, store.Options{})
	old := keep(t, s, storetest.Content(1, 2*mib))
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	keep(t, s, storetest.Content(2, mib))

	good, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(name string, content []byte, want string) {
		t.Helper()
		from := filepath.Join(dir, name)
		if err := os.WriteFile(from, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Restore(t.Context(), from, filepath.Join(dir, "new.db"), false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", name, err, want)
		}
		if found, err := filepath.Glob(filepath.Join(dir, "new.db*")); err != nil || len(found) > 0 {
			t.Errorf("%s leaves %v, %v", name, found, err)
		}
	}
	refused("text", bytes.Repeat([]byte("no database\n"), 1000), "not a database")
	refused("empty", nil, "no database of this program")
	refused("half", good[:len(good)/2/pageSize*pageSize], "damaged")
	broken := bytes.Clone(good)
	copy(broken[len(broken)/pageSize/2*pageSize:], bytes.Repeat([]byte{0xff}, pageSize)) // a page in the middle
	refused("broken", broken, "")
	if _, err := Restore(t.Context(), filepath.Join(dir, "none"), filepath.Join(dir, "new.db"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing copy: %v", err)
	}

	if _, err := Restore(t.Context(), copied, path, false); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("over an existing database: %v", err)
	}
	if _, err := Restore(t.Context(), copied, path, true); !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "stop it") {
		t.Errorf("over a database in use: %v", err)
	}
	if n := usage(t, s); n != 3*mib {
		t.Errorf("the database in use keeps %d bytes", n)
	}
	s.Close()
	kept, err := Restore(t.Context(), copied, path, true)
	if err != nil {
		t.Fatal(err)
	}
	s = openStore(t, path, store.Options{})
	wantBytes(t, s, old.ID, storetest.Content(1, 2*mib))
	if n := usage(t, s); n != 2*mib {
		t.Errorf("the restored database keeps %d bytes", n)
	}
	if n := usage(t, openStore(t, kept, store.Options{})); n != 3*mib {
		t.Errorf("what was replaced keeps %d bytes", n)
	}
	// A database that can't even be read is what restoring is for.
	s.Close()
	if err := os.WriteFile(path, bytes.Repeat([]byte("no database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), copied, path, true); err != nil {
		t.Errorf("over a ruined file: %v", err)
	}
}
