package curve

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	keyA = Key(map[string]string{"model": "a"})
	keyB = Key(map[string]string{"model": "b"})
)

// clock is a cache's time, moved by hand.
type clock struct{ now time.Time }

func newCache(t *testing.T) (*Cache, *clock) {
	k := &clock{time.Date(2026, 3, 2, 9, 5, 7, 0, time.UTC)}
	return &Cache{Dir: filepath.Join(t.TempDir(), "cache", "curves"), Now: func() time.Time { return k.now }}, k
}

// files are the names in the cache's folder.
func files(t *testing.T, c *Cache) []string {
	t.Helper()
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCache(t *testing.T) {
	c, k := newCache(t)
	if _, err := c.Load(keyA); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), c.Path(keyA)) {
		t.Errorf("empty cache: %v, want ErrMissing with the path", err)
	}
	a, b := mustNew(t, 1, 5, 8, 6), mustNew(t, 1, 50)
	store := func(key string, v Curve) {
		t.Helper()
		if err := c.Store(key, v); err != nil {
			t.Fatal(err)
		}
	}
	load := func(key string, want Curve) {
		t.Helper()
		if got, err := c.Load(key); err != nil || !slices.Equal(got.points, want.points) {
			t.Errorf("loaded %v (%v), want %v", got.points, err, want.points)
		}
	}
	expired := func(key string) {
		t.Helper()
		if _, err := c.Load(key); !errors.Is(err, ErrExpired) || !strings.Contains(err.Error(), c.Path(key)) {
			t.Errorf("got %v, want ErrExpired with the path", err)
		}
	}
	store(keyA, a)
	store(keyB, b)
	load(keyA, a)
	load(keyB, b)
	if got, want := files(t, c), []string{"decode-curve-" + keyA + ".json", "decode-curve-" + keyB + ".json"}; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("folder holds %q, want %q", got, want)
	}

	made := k.now
	k.now = made.Add(DefaultTTL)
	load(keyA, a)
	k.now = made.Add(DefaultTTL + time.Second)
	expired(keyA)
	store(keyA, b) // an old file of ours makes way
	load(keyA, b)
	expired(keyB)

	// A clock that was set back doesn't make curves good for ever.
	k.now = made.Add(DefaultTTL + time.Second - clockSlack)
	load(keyA, b)
	k.now = k.now.Add(-time.Second)
	expired(keyA)

	k.now = made.Add(time.Hour)
	load(keyB, b)
	c.TTL = time.Hour - time.Second
	expired(keyB)
}

func TestCacheUsesTheRealClock(t *testing.T) {
	c := &Cache{Dir: t.TempDir()}
	if err := c.Store(keyA, mustNew(t, 1, 5)); err != nil {
		t.Fatal(err)
	}
	if ms, b := func() (float64, Basis) { v, _ := c.Load(keyA); return v.At(1) }(); ms != 5 || b != Captured {
		t.Errorf("got %v on %v", ms, b)
	}
}

// Whatever lies in a curve's place and isn't this curve stays as it is.
func TestCacheOverwritesNothingForeign(t *testing.T) {
	other, err := File{Key: keyB, Created: time.Now(), Curve: mustNew(t, 1, 50)}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, content, reason string) {
		t.Helper()
		c, _ := newCache(t)
		if err := os.MkdirAll(c.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := c.Path(keyA)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, loadErr := c.Load(keyA)
		storeErr := c.Store(keyA, mustNew(t, 1, 5))
		for _, err := range []error{loadErr, storeErr} {
			var e *FormatError
			if !errors.As(err, &e) || e.File != path || !strings.Contains(e.Reason, reason) || e.Next == "" {
				t.Errorf("%s: got %v, want %q with a next step", name, err, reason)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%s: the file was changed to %q (%v)", name, got, err)
		}
		if got := files(t, c); len(got) != 1 {
			t.Errorf("%s: folder holds %q", name, got)
		}
	}
	f("empty", "", "empty")
	f("cut", string(other[:len(other)/2]), "unexpected end")
	f("damaged", strings.Replace(string(other), "50", "51", 1), "checksum")
	f("trace", `{"traceEvents":[]}`, "another kind")
	f("other key", string(other), "not the curve of this configuration")
	f("plain list", "1,2\n", "not the curve of this configuration")
	f("newer", strings.Replace(string(other), `"version": 1`, `"version": 2`, 1), "version 2")
	f("something else", "hello", "does not name the columns")
}

func TestCacheRefuses(t *testing.T) {
	c, _ := newCache(t)
	for _, key := range []string{"", "x", "../../etc/passwd", strings.Repeat("A", 64)} {
		if _, err := c.Load(key); err == nil || !strings.Contains(err.Error(), "not a key") {
			t.Errorf("Load(%q): %v", key, err)
		}
		if err := c.Store(key, mustNew(t, 1, 5)); err == nil || !strings.Contains(err.Error(), "not a key") {
			t.Errorf("Store(%q): %v", key, err)
		}
	}
	if err := c.Store(keyA, Curve{}); !errors.Is(err, ErrPoint) {
		t.Errorf("Store of nothing: %v", err)
	}
	if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused call left a folder: %v", err)
	}

	// A folder in the file's place, and a file in the folder's.
	if err := os.MkdirAll(c.Path(keyA), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(keyA); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("a folder was loaded: %v", err)
	}
	if err := c.Store(keyA, mustNew(t, 1, 5)); err == nil {
		t.Error("a folder was replaced")
	}
	c.Dir = filepath.Join(c.Dir, "file")
	if err := os.WriteFile(c.Dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Store(keyA, mustNew(t, 1, 5)); err == nil {
		t.Error("stored below a file")
	}
}

var errDisk = errors.New("no space left on device")

// failing is the real disk until the named call, and notes the order of calls.
type failing struct {
	Disk
	at    string
	calls []string
}

func (d *failing) call(name string) error {
	d.calls = append(d.calls, name)
	if name == d.at {
		return errDisk
	}
	return nil
}

func (d *failing) Open(path string) (io.ReadCloser, error) {
	if err := d.call("open"); err != nil {
		return nil, err
	}
	return d.Disk.Open(path)
}

func (d *failing) CreateTemp(dir string) (TempFile, error) {
	if err := d.call("create"); err != nil {
		return nil, err
	}
	f, err := d.Disk.CreateTemp(dir)
	return &failingFile{f, d}, err
}

func (d *failing) Rename(from, to string) error {
	if err := d.call("rename"); err != nil {
		return err
	}
	return d.Disk.Rename(from, to)
}

func (d *failing) Remove(path string) error {
	return errors.Join(d.call("remove"), d.Disk.Remove(path))
}

type failingFile struct {
	TempFile
	d *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if err := f.d.call("write"); err != nil {
		n, _ := f.TempFile.Write(p[:len(p)/2])
		return n, err
	}
	return f.TempFile.Write(p)
}

func (f *failingFile) Sync() error  { return errors.Join(f.d.call("sync"), f.TempFile.Sync()) }
func (f *failingFile) Close() error { return errors.Join(f.d.call("close"), f.TempFile.Close()) }

func TestStoreIsAtomic(t *testing.T) {
	f := func(at, calls string) {
		t.Helper()
		c, _ := newCache(t)
		if err := c.Store(keyA, mustNew(t, 1, 5)); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(c.Path(keyA))
		if err != nil {
			t.Fatal(err)
		}
		d := &failing{Disk: osDisk{}, at: at}
		c.Disk = d
		if err := c.Store(keyA, mustNew(t, 1, 6)); (err == nil) != (at == "") || err != nil && !errors.Is(err, errDisk) {
			t.Errorf("%s fails: got %v", at, err)
		}
		if got := strings.Join(d.calls, " "); got != calls {
			t.Errorf("%s fails: called %s, want %s", at, got, calls)
		}
		after, err := os.ReadFile(c.Path(keyA))
		if err != nil || bytes.Equal(before, after) != (at != "") {
			t.Errorf("%s fails: file is now %s (%v)", at, after, err)
		}
		if got := files(t, c); len(got) != 1 {
			t.Errorf("%s fails: left behind %q", at, got)
		}
	}
	f("", "open create write sync close rename")
	f("open", "open")
	f("create", "open create")
	f("write", "open create write close remove")
	f("sync", "open create write sync close remove")
	f("close", "open create write sync close remove")
	f("rename", "open create write sync close rename remove")
}

func TestRenameReportsALostFolder(t *testing.T) {
	dir := t.TempDir()
	if err := (osDisk{}).Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for a file that isn't there", err)
	}
}

// Several engines of one deployment start at once: each reader sees one of their curves, whole.
func TestCacheInParallel(t *testing.T) {
	c, _ := newCache(t)
	if err := c.Store(keyA, mustNew(t, 1, 1)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		v := mustNew(t, 1, float64(i+1), 64, float64(i+1))
		wg.Go(func() {
			for range 20 {
				if err := c.Store(keyA, v); err != nil {
					t.Error(err)
				}
				got, err := c.Load(keyA)
				if err != nil {
					t.Error(err)
					continue
				}
				one, _ := got.At(1)
				if all, b := got.At(64); b == Captured && all != one {
					t.Errorf("a mixed curve: %v", got.points)
				}
			}
		})
	}
	wg.Wait()
	if got := files(t, c); len(got) != 1 {
		t.Errorf("left behind %q", got)
	}
}
