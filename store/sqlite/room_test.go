package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
)

func TestCheckDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	for _, c := range []struct {
		free, log, add int64
		need           int64 // 0: there is room
	}{
		{free: 0, add: 0},
		{free: 24 * mib, add: 4 * mib},
		{free: 24*mib - 1, add: 4 * mib, need: 24 * mib},
		{free: 30 * mib, log: 6 * mib, add: 4 * mib},
		{free: 30*mib - 1, log: 6 * mib, add: 4 * mib, need: 30 * mib},
		{free: 18 * mib, add: mib},
		{free: 0, add: 1, need: 16*mib + 2},
		{free: -1, add: 4 * mib}, // the file system doesn't say
	} {
		log, err := os.Create(path + "-wal")
		if err == nil {
			err = errors.Join(log.Truncate(c.log), log.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		s := &Store{path: path, free: func(string) (int64, bool) { return c.free, c.free >= 0 }}
		err = s.checkDisk(c.add)
		var space *store.SpaceError
		switch {
		case c.need == 0:
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		case !errors.As(err, &space) || *space != (store.SpaceError{Free: c.free, Need: c.need}) || !errors.Is(err, store.ErrDiskFull):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestFreeSpace(t *testing.T) {
	if n, ok := freeSpace(t.TempDir()); ok && n <= 0 {
		t.Errorf("%d bytes are free where this test just made a folder", n)
	}
	if n, ok := freeSpace(filepath.Join(t.TempDir(), "gone")); ok {
		t.Errorf("a path that isn't there has %d bytes free", n)
	}
}

// smallDisk gives a store a disk of the given size, on which only its own files lie.
func smallDisk(t *testing.T, size int64) *Store {
	t.Helper()
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	s.free = func(path string) (int64, bool) {
		free := size - fileSize(t, path) - logSize(path)
		if free < 0 {
			t.Errorf("the disk is over its size by %d bytes", -free)
		}
		return free, true
	}
	return s
}

// A file that finds no room leaves none of its bytes behind, and deleting makes
// room on the very disk once nobody can want to undo it.
func TestSmallDisk(t *testing.T) {
	s := smallDisk(t, 60*mib)
	now := time.Now()
	s.now = func() time.Time { return now }
	old := keep(t, s, storetest.Content(1, 20*mib))
	next := storetest.Content(2, 30*mib)
	full := func(when string) {
		t.Helper()
		var space *store.SpaceError
		if _, _, err := s.KeepTrace(t.Context(), store.Meta{}, bytes.NewReader(next)); !errors.As(err, &space) {
			t.Errorf("%s: keeping 30 MiB beside 20 of 60: %v", when, err)
		} else if space.Free >= space.Need {
			t.Errorf("%s: refused for want of room: %v", when, err)
		}
		if _, err := s.CreateUpload(t.Context(), store.Meta{}, 30*mib); !errors.As(err, &space) || space.Need != 46*mib {
			t.Errorf("%s: announcing 30 MiB: %v", when, err)
		}
		if n := fileSize(t, s.path) + logSize(s.path); n > 21*mib {
			t.Errorf("%s: %d bytes lie on the disk for 20 MiB of traces", when, n)
		}
		if n := usage(t, s); n != 20*mib {
			t.Errorf("%s: usage is %d", when, n)
		}
	}
	full("before the delete")
	if err := s.DeleteTrace(t.Context(), old.ID); err != nil {
		t.Fatal(err)
	}
	full("seconds after the delete")
	now = now.Add(undoFloor)
	wantBytes(t, s, keep(t, s, next).ID, next)
	if _, err := s.Trace(t.Context(), old.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the deleted trace: %v", err)
	}
}

// An upload that was let in and then finds the disk full gives its room back.
func TestUploadOnFullDisk(t *testing.T) {
	s := smallDisk(t, 60*mib)
	b := storetest.Content(2, 30*mib)
	u, err := s.CreateUpload(t.Context(), store.Meta{}, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b[:8*mib])); !errors.Is(err, store.ErrInterrupted) && err != nil {
		t.Fatal(err)
	}
	keep(t, s, storetest.Content(1, 20*mib))
	if _, err := s.AppendUpload(t.Context(), u.ID, 8*mib, bytes.NewReader(b[8*mib:])); !errors.Is(err, store.ErrDiskFull) {
		t.Fatalf("28 of 30 MiB beside 20 of 60: %v", err)
	}
	if _, err := s.Upload(t.Context(), u.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the upload: %v", err)
	}
	if n := fileSize(t, s.path) + logSize(s.path); n > 21*mib {
		t.Errorf("%d bytes lie on the disk for 20 MiB of traces", n)
	}
}

// Another program may fill the disk between the look and the write.
func TestWriteFails(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	old := keep(t, s, storetest.Content(1, 2*mib))
	limit := func(pages int) {
		t.Helper()
		if _, err := s.w.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	b := storetest.Content(2, 20*mib)
	limit(10 * mib / pageSize)
	_, _, err := s.KeepTrace(t.Context(), store.Meta{}, bytes.NewReader(b))
	if !errors.Is(err, store.ErrDiskFull) {
		t.Fatalf("keeping 20 MiB on a disk of 10: %v", err)
	}
	u, err := s.CreateUpload(t.Context(), store.Meta{}, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if u, err = s.AppendUpload(t.Context(), u.ID, 0, bytes.NewReader(b)); !errors.Is(err, store.ErrDiskFull) {
		t.Fatalf("uploading: at %d, %v", u.Offset, err)
	}
	if n := usage(t, s); n != 2*mib {
		t.Errorf("the failed files still count: %d bytes", n)
	}
	if n := fileSize(t, s.path); n > 3*mib {
		t.Errorf("the file has %d bytes for 2 MiB of traces", n)
	}
	wantBytes(t, s, old.ID, storetest.Content(1, 2*mib))
	limit(1 << 30)
	wantBytes(t, s, keep(t, s, b).ID, b)
}
