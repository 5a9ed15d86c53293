package tail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

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
	last := f.cur.packed || len(f.old) >= maxStragglers
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
	f.cur, f.pos.Now, f.still = nil, cursor{Mod: g.Mod, Begins: g.Begins}, time.Time{}
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
	f.still = time.Time{}
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
	c.Moved, c.Sealed = true, f.sealedSince(at.Mod)
	if at.Skip {
		c.Cut++
	}
	f.finish(at.Head)
	f.pos.Now = cursor{Mod: at.Mod, Begins: at.Begins}
	if found == matchHead {
		return f.opened(f.open(list[best+1:], 0))
	}
	return f.opened(f.open(list, at.Mod))
}

// sealedSince is a compressed file that cannot be read and was written to after a time: what is missing may be in there.
func (f *File) sealedSince(mod int64) string {
	if i := slices.IndexFunc(f.sealed, func(e entry) bool { return e.mod >= mod }); i >= 0 {
		return f.sealed[i].path
	}
	return ""
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
