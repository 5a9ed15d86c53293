package tail

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRotatedNames(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		var e entry
		if got := rotatedName("x.log", name, &e); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, name := range []string{"x.log.1", "x.log.12", "x.log.1.zst", "x.log-20260820.bz2", "x.log.1.xz", "x.log-20260820", "x.log.2026-08-20", "x.log.2026-08-20_10-00", "x.log.1.gz", "x.log.gz",
		"x-2026-08-20T10-00-00.000.log", "x-2026-08-20T10-00-00.000.log.gz", "x.log.old"} {
		f(name, true)
	}
	for _, name := range []string{"x.log", "y.log", "x.logs", "x.log.txt", "x-1.log", "x.log.1.rar", "xx.log.1", "x.log.x1"} {
		f(name, false)
	}
}

// Positions stay small enough to be stored with each batch.
func TestPositionSize(t *testing.T) {
	r := newRig(t)
	for range 40 {
		r.lines(40)
		r.read()
		r.rename()
	}
	r.lines(1)
	r.read()
	r.want()
	if len(r.saved) > 4096 {
		t.Errorf("a position of %d bytes", len(r.saved))
	}
}

// A writer that does not append leaves a hole when its file is truncated: what it writes behind that is read.
func TestHole(t *testing.T) {
	for _, running := range []bool{true, false} {
		r := newRig(t)
		r.lines(300)
		r.read()
		f, err := os.OpenFile(r.path, os.O_WRONLY, 0)
		r.check(err)
		_, err = f.Seek(0, 2)
		r.check(err)
		r.copy()
		r.truncate()
		if !running {
			r.stop()
		}
		for range 3 {
			_, err = fmt.Fprintf(f, "line %04d %s\n", r.n, strings.Repeat("x", r.n%7))
			r.check(err)
			r.n++
			r.read()
		}
		r.check(f.Close())
		r.want()
	}
}

// Containers' logs are links to files that are rotated in another folder.
func TestLink(t *testing.T) {
	for _, running := range []bool{true, false} {
		r := newRig(t)
		link := filepath.Join(t.TempDir(), "pod.log")
		r.path = filepath.Join(r.dir, "0.log")
		r.check(os.Symlink(r.path, link))
		r.lines(10)
		follow := func() {
			target := r.path
			r.path = link
			r.read()
			r.path = target
		}
		follow()
		r.lines(5)
		r.check(os.Rename(r.path, r.path+".20261129-101500"))
		r.lines(5)
		if !running {
			r.stop()
		}
		follow()
		r.want()
	}
}
