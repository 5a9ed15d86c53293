package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

	folder  time.Time // the folder's change that was seen last
	changed time.Time // when a change was seen last
}

// Chunk is some complete lines of one file, and where reading stands after them.
type Chunk struct {
	Data     []byte // complete lines with their line breaks; it is the buffer's
	Path     string // where they stand
	Offset   int64  // of Data in there
	Modified time.Time
	TooLong  int    // lines that were skipped, each counted once
	Cut      int    // lines without an end, left behind in files that were rotated away
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
		if live {
			f.cur.path = f.path
		}
		return false, nil
	case live:
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

// leave ends a generation that has been rotated away and is read to its end, once there is something after it. next is the
// path's file, if there is one.
func (f *File) leave(c *Chunk, buf []byte, rest int, next fs.FileInfo) (again bool, err error) {
	begun := next != nil && next.Size() > 0
	if !begun && !f.folderChanged() {
		return false, nil // nobody has written to the new file yet, perhaps still to the old one
	}
	list, err := f.list()
	if err != nil {
		f.folder = time.Time{}
		return false, temporary(err)
	}
	g := f.cur
	after, since := list, g.Mod
	if at := slices.IndexFunc(list, func(e entry) bool { return e.dev == g.Dev && e.ino == g.Ino }); at >= 0 {
		after, since = list[at+1:], 0
	}
	if e, _, ok := f.unseen(after, since); !ok || e.live && !begun {
		return false, nil
	}
	// What came between the last look and the rename is in the file by now.
	last := f.cur.gz || len(f.old) >= maxStragglers
	if took, _, err := f.take(c, f.cur, buf, last); err != nil || took {
		if errors.Is(err, errChanged) {
			err = nil
		}
		return false, err
	}
	f.finish(g.Head)
	g.Till = f.opt.Now().Add(straggle).UnixNano()
	if !last {
		f.old = append(f.old, g)
	} else {
		if rest > 0 {
			c.Cut++
		}
		g.close()
	}
	f.cur, f.pos.Now = nil, cursor{Mod: g.Mod}
	c.Moved = true
	return true, f.open(after, since)
}

// settle is how long a file or folder is looked at more closely after it was seen to have changed: the times of files have a
// grain, within which a second change does not show.
const settle = 2 * time.Second

func (f *File) settled() bool { return f.opt.Now().Sub(f.changed) > settle }

// folderChanged says whether files may have come or gone since it was asked last.
func (f *File) folderChanged() bool {
	info, err := os.Stat(filepath.Dir(f.path))
	if err != nil {
		return false
	}
	if !info.ModTime().Equal(f.folder) {
		f.folder, f.changed = info.ModTime(), f.opt.Now()
	}
	return !f.settled()
}

// temporary hides what the next poll will have got over.
func temporary(err error) error {
	if errors.Is(err, errUnstable) {
		return nil
	}
	return err
}

// finish remembers a generation as read.
func (f *File) finish(head mark) {
	if head.N == 0 {
		return
	}
	f.pos.Done = append(f.pos.Done, head)
	if n := len(f.pos.Done) - maxDone; n > 0 {
		f.pos.Done = slices.Delete(f.pos.Done, 0, n)
	}
}

// resume finds the generation that was being read, wherever it is now.
func (f *File) resume(c *Chunk) (again bool, err error) {
	list, err := f.list()
	if err != nil {
		return false, temporary(err)
	}
	at := f.pos.Now
	if at.Off == 0 {
		return f.opened(f.open(list, at.Mod))
	}
	best, found := -1, matchNone
	for i, e := range slices.Backward(list) {
		if m := at.matches(e); m > found {
			best, found = i, m
		}
		if found == matchAll {
			break
		}
	}
	if found == matchAll {
		f.cur, err = openAt(list[best], at)
		return f.opened(err)
	}
	// It is gone, or what is left of it was read. On with what came after it.
	c.Moved = true
	if at.Skip {
		c.Cut++
	}
	f.finish(at.Head)
	f.pos.Now = cursor{Mod: at.Mod}
	if found == matchHead {
		return f.opened(f.open(list[best+1:], 0))
	}
	return f.opened(f.open(list, at.Mod))
}

// opened says whether there is something to read now.
func (f *File) opened(err error) (again bool, _ error) { return err == nil && f.cur != nil, err }

// open begins the oldest of the listed files that was not read yet.
func (f *File) open(list []entry, since int64) error {
	e, head, ok := f.unseen(list, since)
	if !ok {
		return &fs.PathError{Op: "open", Path: f.path, Err: fs.ErrNotExist}
	}
	g, err := openAt(e, cursor{})
	if err != nil {
		return err
	}
	if len(head) > 0 {
		g.expect = head
	} else if g.Mod != f.pos.Now.Mod {
		f.changed = f.opt.Now()
	}
	f.cur, f.pos.Now = g, g.cursor
	return nil
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
