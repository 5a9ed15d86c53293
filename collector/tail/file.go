package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Start says where a file that was never read before is begun.
type Start int

// The places to start at.
const (
	AtBeginning Start = iota // with what is in the file
	AtEnd                    // with what comes from now on
	WithRotated              // with the rotated files that are still there
)

// Options are how files are read.
type Options struct {
	MaxLine int // bytes of a line, its end not counted; longer ones are skipped and counted
	Start   Start
	// Whole says how many of data's first bytes may be taken now, at a line's end: lines that belong together stay
	// together. Nil: all of them.
	Whole func(data []byte) int
	// Taken says that a file is read on its own and so is nobody's rotated one. Nil: none is.
	Taken func(path string) bool
	Now   func() time.Time // nil: time.Now
}

// straggle is how long a file that was rotated away is still looked at: its writer may not have noticed yet.
const straggle = time.Minute

// maxStragglers bounds the open files of one path.
const maxStragglers = 4

// ChunkSize is a good size of Next's buffer.
const ChunkSize = 1 << 20

// File reads a path through its rotations. It is for one goroutine.
type File struct {
	path string
	opt  Options
	pos  position
	cur  *generation
	old  []*generation
	told bool // a position was given out

	sealed []entry // rotated files of the last listing that can't be read, for how they are compressed

	folder  time.Time // the folder's change that was seen last
	changed time.Time // when a change was seen last
	end     int64     // size of the path's file when all of it had been read
	still   time.Time // since when it is as it was then, zero when it is not
}

// Chunk is some complete lines of one file, and where reading stands after them.
type Chunk struct {
	Data     []byte // complete lines with their line breaks; it is the buffer's
	Path     string // where they stand
	Offset   int64  // of Data in there
	Modified time.Time
	TooLong  int    // lines that were skipped, each counted once
	Cut      int    // lines without an end, left behind in files that were rotated away
	Sealed   string // a rotated file that can't be read, though the lines after the last position may be in it
	Moved    bool   // Position has changed
	Position string // to be stored with what Data says; set when Moved
	Unread   int64  // bytes that are there already but were not read yet, a part of a line at the end included
}

// Open begins to follow a path that need not exist yet, where a position from an earlier time says, or at opt.Start when
// that is empty. An error concerns the position alone: then the File starts as if there were none.
func Open(path, saved string, opt Options) (*File, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	f := &File{path: path, opt: opt}
	if saved == "" {
		return f, f.begin()
	}
	pos, err := parsePosition(saved)
	if err != nil {
		return f, errors.Join(fmt.Errorf("%s: %w; reading it anew", path, err), f.begin())
	}
	f.pos, f.told = pos, true
	f.reopenOld()
	return f, nil
}

// begin chooses the place to start at in a file never read before.
func (f *File) begin() error {
	if f.opt.Start == WithRotated {
		return nil
	}
	info, err := os.Stat(f.path)
	if err != nil { // nothing there yet: whatever comes is new
		f.pos.Now.Mod = f.opt.Now().UnixNano()
		return nil
	}
	f.pos.Now.Mod = info.ModTime().UnixNano()
	if f.opt.Start != AtEnd || !info.Mode().IsRegular() {
		return nil
	}
	off, err := lastLine(f.path, info.Size())
	if err != nil {
		return err
	}
	g, err := openAt(entry{path: f.path, live: true}, cursor{Off: off})
	if err == nil {
		f.cur, f.pos.Now = g, g.cursor
	}
	return err
}

// lastLine is where the last complete line among the last bytes of a file ends.
func lastLine(path string, size int64) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	from := max(0, size-ChunkSize)
	b, err := readN(file, from, int(size-from))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return from + int64(bytes.LastIndexByte(b, '\n')+1), nil
}

// reopenOld finds the files again that were rotated away shortly before the last stop.
func (f *File) reopenOld() {
	if len(f.pos.Old) == 0 {
		return
	}
	list, err := f.list()
	if err != nil {
		return // the folder is gone, and what was in it
	}
	for _, c := range f.pos.Old {
		for _, e := range slices.Backward(list) {
			if e.live || c.matches(e) != matchAll {
				continue
			}
			if g, err := openAt(e, c); err == nil {
				f.old = append(f.old, g)
			}
			break
		}
	}
}

// Next returns the next lines, or an empty Chunk when there are none now. buf should have ChunkSize bytes. A path that does
// not exist is an error that wraps fs.ErrNotExist; after any error Next may be called again later.
func (f *File) Next(buf []byte) (Chunk, error) {
	var c Chunk
	if f.told && f.unchanged(&c) {
		return c, nil
	}
	for i := 0; i < len(f.old); i++ {
		if g := f.old[i]; f.straggler(&c, g, buf) {
			g.close()
			f.old = slices.Delete(f.old, i, i+1)
			i--
		}
		if len(c.Data) > 0 {
			return f.moved(c), nil
		}
	}
	// A chunk's worth of moves is enough for one call: rotations can't keep it busy for ever.
	for range maxOld {
		again, err := f.step(&c, buf)
		if err != nil {
			return f.moved(c), fmt.Errorf("%s: %w", f.path, err)
		}
		if !again {
			break
		}
	}
	return f.moved(c), nil
}

// unchanged says that a file that was read to its end is as it was: with a thousand files, almost all are at any moment, and
// this costs one system call.
func (f *File) unchanged(c *Chunk) bool {
	if f.cur == nil || len(f.old) > 0 || f.still.IsZero() || f.opt.Now().Sub(f.still) < settle {
		return false
	}
	info, err := os.Stat(f.path)
	if err != nil || info.Size() != f.end || info.ModTime().UnixNano() != f.cur.Mod {
		return false
	}
	dev, ino := identity(info)
	c.Unread = f.end - f.cur.Off
	return dev == f.cur.Dev && ino == f.cur.Ino && ino != 0
}

// rest notes how the file is after all of it was read.
func (f *File) rest(info fs.FileInfo, read int) {
	end := f.cur.Off + int64(read)
	mod := info.ModTime().UnixNano()
	if info.Size() != end {
		f.still = time.Time{}
		return
	}
	if f.still.IsZero() || f.end != end || f.cur.Mod != mod {
		f.end, f.still = end, f.opt.Now()
		f.cur.Mod = mod
	}
}

// moved completes a chunk.
func (f *File) moved(c Chunk) Chunk {
	if f.cur != nil {
		f.pos.Now = f.cur.cursor
		c.Unread = f.cur.unread()
	}
	if !f.told { // where reading began must be known even if nothing comes for long
		f.told, c.Moved = true, true
	}
	if c.Moved {
		f.pos.Old = f.pos.Old[:0]
		for _, g := range f.old {
			f.pos.Old = append(f.pos.Old, g.cursor)
		}
		c.Position = f.pos.String()
	}
	return c
}

// step reads from the current generation, or moves on to the next one. again: there may be more at once.
func (f *File) step(c *Chunk, buf []byte) (again bool, err error) {
	if f.cur == nil {
		return f.resume(c)
	}
	info, err := os.Stat(f.path)
	live := err == nil && f.isCurrent(info)
	if live && f.cur.Off == 0 && f.cur.expect == nil {
		if info.Size() == 0 && info.ModTime().UnixNano() == f.cur.Mod && f.settled() {
			return false, nil
		}
		// The file has its first bytes, or was filled and emptied without our seeing it.
		f.cur.close()
		f.pos.Now, f.cur = f.cur.cursor, nil
		return true, nil
	}
	took, rest, readErr := f.take(c, f.cur, buf, false)
	switch {
	case errors.Is(readErr, errChanged):
		f.cur.close()
		f.pos.Now, f.cur = f.cur.cursor, nil
		c.Moved = true
		return true, nil
	case readErr != nil:
		return false, readErr
	case took:
		f.still = time.Time{}
		if live {
			f.cur.path = f.path
		}
		return false, nil
	case live:
		f.rest(info, rest)
		return false, nil
	case err != nil:
		info = nil // renamed, with nothing in its place yet
	}
	return f.leave(c, buf, rest, info)
}

// isCurrent says whether the path is the file that is being read.
func (f *File) isCurrent(info fs.FileInfo) bool {
	own, err := f.cur.file.Stat()
	return err == nil && os.SameFile(own, info)
}

// take reads complete lines of a generation into a chunk. took is false when there are none; rest is then how much of a line
// without an end there is. final: what waits for lines to come is taken as well.
func (f *File) take(c *Chunk, g *generation, buf []byte, final bool) (took bool, rest int, err error) {
	data, err := g.read(buf)
	if err != nil {
		return false, 0, err
	}
	full := len(data) == len(buf)-len(g.tail)
	if hole := len(data) - len(bytes.TrimLeft(data, "\x00")); hole > 0 {
		// A writer that does not append goes on at its old place after a truncation, behind a hole.
		g.advance(data[:hole])
		c.Moved = true
		return true, 0, nil
	}
	if g.Skip {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			g.advance(data)
			c.Moved = c.Moved || len(data) > 0
			return len(data) > 0, 0, nil
		}
		g.advance(data[:end])
		g.Skip, c.Moved = false, true
		return true, 0, nil // the next call goes on behind it
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	if tail := len(data) - end; end == 0 && tail > f.opt.MaxLine {
		g.advance(data)
		g.Skip, c.Moved = true, true
		c.TooLong++
		return true, 0, nil
	}
	if whole := end; f.opt.Whole != nil && !final {
		if whole = f.opt.Whole(data[:end]); whole > 0 || !full {
			end = whole
		}
	}
	if end == 0 {
		return false, len(data), nil
	}
	c.Data, c.Path, c.Offset, c.Moved = data[:end], g.path, g.Off, true
	g.advance(data[:end])
	c.Modified = time.Unix(0, g.Mod)
	if err := g.refresh(); err == nil {
		c.Modified = time.Unix(0, g.Mod)
	}
	return true, 0, nil
}

// straggler looks once more into a file that was rotated away. It returns true when the file is done with.
func (f *File) straggler(c *Chunk, g *generation, buf []byte) bool {
	over := f.opt.Now().UnixNano() > g.Till
	took, rest, err := f.take(c, g, buf, over)
	if err != nil || over && !took {
		c.Moved = true
		if err == nil && rest > 0 {
			c.Cut++
		}
		return true
	}
	return false
}

// Close closes the files. The position of the last chunk stays good.
func (f *File) Close() {
	for _, g := range append(f.old, f.cur) {
		if g != nil {
			g.close()
		}
	}
	f.cur, f.old = nil, nil
}
