package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files is the file system as a spool needs it; tests make it fail.
type Files interface {
	MkdirAll(dir string) error
	List(dir string) (names []string, err error)
	Create(name string) (File, error) // for reading and writing; an old file of that name is emptied
	Open(name string) (File, error)   // for reading
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error
	// Lock makes this process the only one with the file; it fails at once if another has it.
	Lock(name string) (io.Closer, error)
}

// File is one open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Sync() error
	Truncate(size int64) error
}

// Disk is the real file system.
type Disk struct{}

// MkdirAll makes a folder that only its owner can read: log lines may hold names.
func (Disk) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

// List gives the names of a folder's files.
func (Disk) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Create implements Files.
func (Disk) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Open implements Files.
func (Disk) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// Rename implements Files.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// Remove is content with a file that isn't there.
func (Disk) Remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SyncDir makes renames and removals in a folder durable.
func (Disk) SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock implements Files.
func (Disk) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

type diskFile struct{ *os.File }

func (f diskFile) Size() (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}
