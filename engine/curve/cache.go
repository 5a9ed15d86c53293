package curve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// DefaultTTL is how long a cached curve counts: long enough for restarts, short enough that a new driver or a hotter
// room shows up.
const DefaultTTL = 7 * 24 * time.Hour

// clockSlack is how far in the future a curve may have been made before its age counts as unknown.
const clockSlack = 5 * time.Minute

// What Load finds in place of a curve. Both mean: measure and store.
var (
	ErrMissing = errors.New("no curve in the cache")
	ErrExpired = errors.New("the cached curve has outlived its time")
)

// Disk is what a [Cache] does to files.
type Disk interface {
	// Open opens a file for reading; one that isn't there is fs.ErrNotExist.
	Open(path string) (io.ReadCloser, error)
	// CreateTemp creates dir if need be, and in it a new file with a name of its own.
	CreateTemp(dir string) (TempFile, error)
	// Rename puts a file in another one's place at once, and returns when that outlasts a power cut.
	Rename(from, to string) error
	// Remove deletes a file.
	Remove(path string) error
}

// TempFile is a file on its way to its final name.
type TempFile interface {
	io.WriteCloser
	Name() string
	Sync() error
}

// Cache keeps the curves of deployments in a folder, one file per key. Its fields are not changed during calls; calls
// may run side by side, in several processes too.
type Cache struct {
	Dir  string
	TTL  time.Duration    // age from which a curve no longer counts; 0: DefaultTTL
	Now  func() time.Time // nil: time.Now
	Disk Disk             // nil: the operating system's
}

// Path is the file of a key. Keys come from [Key].
func (c *Cache) Path(key string) string {
	return filepath.Join(c.Dir, "decode-curve-"+key+".json")
}

// Load returns the curve of a key: ErrMissing without a file, ErrExpired with an old one, a [*FormatError] with one that
// is damaged or not ours. Files are left as they are.
func (c *Cache) Load(key string) (Curve, error) {
	f, err := c.read(key)
	if err != nil {
		return Curve{}, err
	}
	ttl := c.TTL
	if ttl == 0 {
		ttl = DefaultTTL
	}
	if age := c.now().Sub(f.Created); age > ttl || age < -clockSlack {
		return Curve{}, fmt.Errorf("%w: made %s, good for %v: %s", ErrExpired, f.Created.Format(time.RFC3339), ttl, c.Path(key))
	}
	return f.Curve, nil
}

// Store writes the curve of a key as made now. Readers see the old file or the new one, whole, even after a crash. A file
// in its place that is damaged or not ours stays, and Store returns its [*FormatError].
func (c *Cache) Store(key string, v Curve) error {
	data, err := File{Key: key, Created: c.now(), Curve: v}.Encode()
	if err != nil {
		return err
	}
	if _, err := c.read(key); err != nil && !errors.Is(err, ErrMissing) {
		return err
	}
	if err := c.replace(c.Path(key), data); err != nil {
		return fmt.Errorf("the curve could not be kept: %w", err)
	}
	return nil
}

func (c *Cache) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

func (c *Cache) disk() Disk {
	if c.Disk != nil {
		return c.Disk
	}
	return osDisk{}
}

// read returns the file of a key, whatever its age.
func (c *Cache) read(key string) (File, error) {
	if !isKey(key) {
		return File{}, fmt.Errorf("curve: %.80q is not a key of a configuration; make one with Key", key)
	}
	path := c.Path(key)
	r, err := c.disk().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("%w: %s", ErrMissing, path)
	}
	if err != nil {
		return File{}, fmt.Errorf("the cached curve can't be opened: %w", err)
	}
	defer r.Close()
	f, err := Read(r, path)
	if err != nil {
		return File{}, err
	}
	// Plain lists have no key; a renamed file has another one.
	if f.Key != key {
		return File{}, &FormatError{File: path, Reason: "not the curve of this configuration", Next: "move the file elsewhere; the cache makes its own"}
	}
	return f, nil
}

// replace writes data beside path and puts it in its place.
func (c *Cache) replace(path string, data []byte) error {
	d := c.disk()
	f, err := d.CreateTemp(c.Dir)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		// Without this, a power cut after the rename could leave an empty file under the final name.
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if err = d.Rename(f.Name(), path); err == nil {
			return nil
		}
	}
	if gone := d.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// osDisk is the operating system's files.
type osDisk struct{}

func (osDisk) Open(path string) (io.ReadCloser, error) { return os.Open(path) }

func (osDisk) CreateTemp(dir string) (TempFile, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, ".decode-curve-*.tmp")
}

func (osDisk) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	// The new name is in the folder, and that must reach the disk too.
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (osDisk) Remove(path string) error { return os.Remove(path) }
