package tail

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// rig is a log with its reader, which forgets everything but the last position when it is restarted.
type rig struct {
	t     *testing.T
	dir   string
	path  string
	opt   Options
	file  *File
	saved string
	now   time.Time
	got   []string
	cut   int
	long  int
	n     int

	sealed string // the last rotated file that can't be read
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, dir: t.TempDir(), now: time.Now()}
	r.path = filepath.Join(r.dir, "x.log")
	r.opt = Options{MaxLine: 1000, Now: func() time.Time { return r.now }}
	return r
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// write appends text to the log.
func (r *rig) write(text string) {
	r.t.Helper()
	f, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	r.check(err)
	_, err = f.WriteString(text)
	r.check(errors.Join(err, f.Close()))
}

// lines appends n numbered lines, each different from all others.
func (r *rig) lines(n int) {
	r.t.Helper()
	for range n {
		r.write(fmt.Sprintf("line %04d %s\n", r.n, strings.Repeat("x", r.n%7)))
		r.n++
	}
}

// older moves x.log.1 to x.log.2 and so on.
func (r *rig) older() {
	r.t.Helper()
	for i := 8; i > 0; i-- {
		err := os.Rename(fmt.Sprintf("%s.%d", r.path, i), fmt.Sprintf("%s.%d", r.path, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) rename() {
	r.t.Helper()
	r.older()
	r.check(os.Rename(r.path, r.path+".1"))
}

func (r *rig) copy() {
	r.t.Helper()
	r.older()
	text, err := os.ReadFile(r.path)
	r.check(err)
	r.check(os.WriteFile(r.path+".1", text, 0o600))
}

func (r *rig) truncate() { r.t.Helper(); r.check(os.Truncate(r.path, 0)) }

// read reads all there is.
func (r *rig) read() {
	r.t.Helper()
	if r.file == nil {
		var err error
		r.file, err = Open(r.path, r.saved, r.opt)
		r.check(err)
	}
	buf := make([]byte, 4096)
	for range 10000 {
		c, err := r.file.Next(buf)
		r.note(c)
		if c.Moved {
			r.saved = c.Position
		}
		r.cut += c.Cut
		r.long += c.TooLong
		for line := range strings.Lines(string(c.Data)) {
			r.got = append(r.got, strings.TrimSuffix(line, "\n"))
		}
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		r.check(err)
		if len(c.Data) == 0 && !c.Moved {
			return
		}
	}
	r.t.Fatal("reading never ends")
}

// note keeps what was told of rotated files that can't be read.
func (r *rig) note(c Chunk) {
	if c.Sealed != "" {
		r.sealed = filepath.Base(c.Sealed)
	}
}

// stop forgets the reader.
func (r *rig) stop() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// want compares what was read with all lines written but those lost, in order.
func (r *rig) want(lost ...int) {
	r.t.Helper()
	var want []string
	for i := range r.n {
		if !slices.Contains(lost, i) {
			want = append(want, fmt.Sprintf("line %04d %s", i, strings.Repeat("x", i%7)))
		}
	}
	if !slices.Equal(r.got, want) {
		r.t.Errorf("got %d lines, want %d:\n%s", len(r.got), len(want), diff(r.got, want))
	}
}

func diff(got, want []string) string {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Sprintf("at %d: want %q, got %q", i, want[i], got[i:min(len(got), i+3)])
		}
	}
	return fmt.Sprintf("more than wanted: %q", got[len(want):])
}

func (r *rig) compress(i int) { r.t.Helper(); r.compressAs(i, ".gz") }

// compressAs replaces x.log.i by a compressed one.
func (r *rig) compressAs(i int, ending string) {
	r.t.Helper()
	name := fmt.Sprintf("%s.%d", r.path, i)
	text, err := os.ReadFile(name)
	r.check(err)
	info, err := os.Stat(name)
	r.check(err)
	f, err := os.Create(name + ending)
	r.check(err)
	var z io.WriteCloser = gzip.NewWriter(f)
	if ending == ".zst" {
		z, err = zstd.NewWriter(f)
		r.check(err)
	}
	_, err = z.Write(text)
	r.check(errors.Join(err, z.Close(), f.Close(), os.Chtimes(name+ending, info.ModTime(), info.ModTime()), os.Remove(name)))
	for i := 8; i > 0; i-- { // numbers of compressed ones move too; rename() knows only plain ones
		if i > 1 {
			_ = os.Rename(fmt.Sprintf("%s.%d%s", r.path, i, ending), fmt.Sprintf("%s.%d%s", r.path, i+1, ending))
		}
	}
}
