package spool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// faults is the real file system with failures at will.
type faults struct {
	Disk
	mu   sync.Mutex
	fail func(op, name string) error // nil: none
	tear int                         // bytes of a failing write that still arrive
	lazy bool                        // syncs do nothing: for tests that kill nobody and open much
}

func (f *faults) check(op, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		return nil
	}
	return f.fail(op, name)
}

// set makes operations fail from now on; an empty op heals.
func (f *faults) set(op string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = func(o, _ string) error {
		if o == op {
			return err
		}
		return nil
	}
}

func (f *faults) Create(name string) (File, error) {
	if err := f.check("create", name); err != nil {
		return nil, err
	}
	file, err := f.Disk.Create(name)
	return faultyFile{file, f, name}, err
}

func (f *faults) Open(name string) (File, error) {
	if err := f.check("open", name); err != nil {
		return nil, err
	}
	file, err := f.Disk.Open(name)
	return faultyFile{file, f, name}, err
}

func (f *faults) Rename(from, to string) error {
	if err := f.check("rename", from); err != nil {
		return err
	}
	return f.Disk.Rename(from, to)
}

func (f *faults) Remove(name string) error {
	if err := f.check("remove", name); err != nil {
		return err
	}
	return f.Disk.Remove(name)
}

func (f *faults) SyncDir(dir string) error {
	if err := f.check("syncdir", dir); err != nil {
		return err
	}
	if f.lazy {
		return nil
	}
	return f.Disk.SyncDir(dir)
}

type faultyFile struct {
	File
	f    *faults
	name string
}

func (f faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.f.check("write", f.name); err != nil {
		n, _ := f.File.WriteAt(p[:min(f.f.tear, len(p))], off)
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.f.check("read", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f faultyFile) Sync() error {
	if err := f.f.check("sync", f.name); err != nil {
		return err
	}
	if f.f.lazy {
		return nil
	}
	return f.File.Sync()
}

func (f faultyFile) Truncate(n int64) error {
	if err := f.f.check("truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(n)
}

// Whatever fails while a batch is taken, the batch counts as not taken, can be
// tried again with more in it, and is there once, in its last form.
func TestFailuresOfTheDisk(t *testing.T) {
	for _, op := range []string{"write", "sync", "create", "rename", "syncdir"} {
		for _, truncates := range []bool{true, false} {
			for _, fault := range []error{syscall.ENOSPC, syscall.EIO} {
				t.Run(op+"/"+fault.Error(), func(t *testing.T) {
					fs := &faults{tear: 40}
					dir := t.TempDir()
					// Every batch begins a segment, so that all of the operations happen.
					s := mustOpen(t, dir, Options{Segment: 1, Files: fs})
					mustAppend(t, s, batch(1, 3))
					fs.mu.Lock()
					fs.fail = func(o, _ string) error {
						if o == op || o == "truncate" && !truncates {
							return fault
						}
						return nil
					}
					fs.mu.Unlock()
					for range 2 {
						err := s.Append(batch(2, 3))
						if !errors.Is(err, fault) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "writable") {
							t.Fatalf("%v; want the reason, the place and what to do", err)
						}
					}
					fs.set("", nil)
					mustAppend(t, s, batch(2, 5))
					mustAppend(t, s, batch(3, 1))
					s = reopen(t, s, dir, Options{Files: fs})
					wantBatches(t, s, batch(1, 3), batch(2, 5), batch(3, 1))
					if w, _ := s.Welcome(); w.Seq != 3 || w.Positions[0].Value != "3" {
						t.Errorf("%+v", w)
					}
					if st := s.Stats(); st.Damaged != 0 {
						t.Errorf("%+v: torn writes that were reported are no damage", st)
					}
				})
			}
		}
	}
}

// A disk that was full when the server took the last batch: the next is taken as soon as there is room, and a restart
// before that knows where the sources stand.
func TestAFullDiskWithNothingWaiting(t *testing.T) {
	for _, restart := range []bool{false, true} {
		fs := &faults{}
		dir := t.TempDir()
		s := mustOpen(t, dir, Options{Files: fs})
		mustAppend(t, s, batch(1, 3))
		fs.set("write", syscall.ENOSPC)
		if err := s.Append(batch(2, 3)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		s.Ack(1)
		if err := s.Append(batch(2, 3)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		fs.set("", nil)
		if restart {
			s = reopen(t, s, dir, Options{Files: fs})
			if w, known := s.Welcome(); !known || w.Seq != 1 || w.Positions[0].Value != "1" {
				t.Errorf("%+v, known %v; want batch 1's", w, known)
			}
			s.Ack(1) // the server says again that it has it
		}
		mustAppend(t, s, batch(2, 5))
		s = reopen(t, s, dir, Options{Files: fs})
		s.Ack(1)
		wantBatches(t, s, batch(2, 5))
	}
}

// A disk that can't be read is no damaged batch: nothing is given up.
func TestReadErrorsKeepTheBatch(t *testing.T) {
	fs := &faults{}
	s := mustOpen(t, t.TempDir(), Options{Files: fs})
	mustAppend(t, s, batch(1, 3))
	fs.set("read", syscall.EIO)
	if _, err := s.Next(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Fatalf("%v", err)
	}
	fs.set("", nil)
	wantBatches(t, s, batch(1, 3))
}

// A part that can't be removed is reported, costs nothing else, and goes at the next start.
func TestFilesThatCantBeRemoved(t *testing.T) {
	fs := &faults{}
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{Segment: 1, Files: fs})
	mustAppend(t, s, batch(1, 3))
	mustAppend(t, s, batch(2, 3))
	fs.set("remove", syscall.EACCES)
	s.Ack(1)
	if st := s.Stats(); !errors.Is(st.Fault, syscall.EACCES) || st.Batches != 1 {
		t.Errorf("%+v", st)
	}
	wantBatches(t, s, batch(2, 3))
	fs.set("", nil)
	s = reopen(t, s, dir, Options{Files: fs})
	// What the server has is known when it answers.
	if _, err := s.Meet(welcome(1)); err != nil {
		t.Fatal(err)
	}
	wantBatches(t, s, batch(2, 3))
}

// Bytes that turn round on the disk cost the batch they are in, and no other.
func TestDamageIsSteppedOver(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	for i := range 5 {
		mustAppend(t, s, batch(uint64(i+1), 3))
	}
	off, name := s.records[2].off, filepath.Base(s.path(s.active.number))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(at int64) []byte {
		b := bytes.Clone(data)
		b[at] ^= 0x10
		return b
	}
	for at := off; at < off+headSize+20; at++ { // each byte of the head, some of the payload
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), damaged(at), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, dir, Options{})
		wantBatches(t, s, batch(1, 3), batch(2, 3), batch(4, 3), batch(5, 3))
		if st := s.Stats(); st.Damaged != 1 {
			t.Fatalf("byte %d: %+v, want 1 damaged", at-off, st)
		}
	}
	// Damage that comes while it is open shows when the batch is to be sent.
	s = mustOpen(t, dir, Options{})
	if err := os.WriteFile(filepath.Join(dir, name), damaged(off+headSize), 0o600); err != nil {
		t.Fatal(err)
	}
	wantBatches(t, s, batch(1, 3), batch(2, 3), batch(4, 3), batch(5, 3))
	if st := s.Stats(); st.Damaged != 1 {
		t.Errorf("%+v", st)
	}
}

func TestOneProcessHasTheFolder(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir, Options{})
	if _, err := Open(filepath.Join(dir, "lock"), Options{}); err == nil {
		t.Error("a file was taken for a folder")
	}
}
