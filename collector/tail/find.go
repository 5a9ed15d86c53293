package tail

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// entry is a file that may hold a generation of a path.
type entry struct {
	path     string
	live     bool   // it is the path itself
	packed   string // ending of a compressed one's name
	number   int    // of x.log.NUMBER, −1 without
	dev, ino uint64
	size     int64
	mod      int64
}

// maxOld bounds how many rotated files are looked at, the newest ones.
const maxOld = 200

// listAttempts is how often a folder is listed until two listings agree: a rotation that is under way could hide a file.
const listAttempts = 8

// errUnstable is temporary.
var errUnstable = errors.New("files are being renamed")

// list finds the files of a path, oldest first, the path itself last.
func (f *File) list() ([]entry, error) {
	before, err := f.listOnce()
	for range listAttempts {
		if err != nil {
			return nil, err
		}
		var now []entry
		now, err = f.listOnce()
		if err == nil && slices.EqualFunc(before, now, func(a, b entry) bool { return a.path == b.path && a.ino == b.ino && a.dev == b.dev }) {
			return now, nil
		}
		before = now
	}
	return nil, errUnstable
}

func (f *File) listOnce() ([]entry, error) {
	f.sealed = f.sealed[:0]
	list, err := f.listFolder(f.path, nil)
	if err != nil {
		return nil, err
	}
	// Containers' logs are links into folders where they are rotated.
	if real, err := filepath.EvalSymlinks(f.path); err == nil && filepath.Dir(real) != filepath.Dir(f.path) {
		if list, err = f.listFolder(real, list); err != nil {
			return nil, err
		}
	}
	sortOld(list)
	if len(list) > maxOld {
		list = list[len(list)-maxOld:]
	}
	return list, nil
}

// listFolder adds the path, if it is f's own, and its rotated files.
func (f *File) listFolder(path string, list []entry) ([]entry, error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range names {
		e := entry{path: filepath.Join(dir, d.Name()), number: -1}
		if d.Name() == base {
			if path != f.path {
				continue
			}
			e.path, e.live = f.path, true
		} else if !rotatedName(base, d.Name(), &e) || f.opt.Taken != nil && f.opt.Taken(e.path) {
			continue
		}
		info, err := os.Stat(e.path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		e.dev, e.ino = identity(info)
		e.size, e.mod = info.Size(), info.ModTime().UnixNano()
		if _, readable := packing(e.path); !readable && !e.live {
			f.sealed = append(f.sealed, e)
			continue
		}
		list = append(list, e)
	}
	return list, nil
}

// sortOld puts the oldest first and the path itself last. Numbers are surest, but dates may stand in their place.
func sortOld(list []entry) {
	numbered := !slices.ContainsFunc(list, func(e entry) bool { return !e.live && e.number < 0 })
	slices.SortFunc(list, func(a, b entry) int {
		if a.live != b.live {
			if a.live {
				return 1
			}
			return -1
		}
		if numbered && a.number != b.number {
			return cmp.Compare(b.number, a.number)
		}
		plainLast := 0
		if (a.packed == "") != (b.packed == "") { // the same lines twice, while it is being compressed
			plainLast = 1
			if a.packed != "" {
				plainLast = -1
			}
		}
		return cmp.Or(cmp.Compare(a.mod, b.mod), plainLast, cmp.Compare(b.number, a.number), strings.Compare(a.path, b.path))
	})
}

// rotatedName says whether a file is a rotated one of base: x.log.1, x.log-20260820, x.log.2026-08-20_10, x.log.1.gz,
// x-2026-08-20T10-00-00.log, compressed or not. e gets how.
func rotatedName(base, name string, e *entry) bool {
	e.packed, _ = packing(name)
	name = strings.TrimSuffix(name, e.packed)
	rest, ok := strings.CutPrefix(name, base)
	if !ok {
		ext := filepath.Ext(base)
		stem := strings.TrimSuffix(base, ext)
		if rest, ok = strings.CutPrefix(name, stem); !ok || ext == "" {
			return false
		}
		if rest, ok = strings.CutSuffix(rest, ext); !ok || digits(rest) < 8 {
			return false
		}
	}
	switch {
	case rest == "":
		return e.packed != ""
	case strings.IndexByte("._-", rest[0]) < 0:
		return false
	}
	suffix := rest[1:]
	if n, err := strconv.Atoi(suffix); err == nil && n >= 0 && n < 1e6 {
		e.number = n
		return true
	}
	return suffix == "old" || suffix == "bak" || digits(suffix) >= 6 && strings.Trim(suffix, "0123456789-_.:TZ+") == ""
}

func digits(s string) (n int) {
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

// Rotated says whether a file's name looks like that of a rotated or compressed one, which is not to be followed for itself.
func Rotated(path string) bool {
	base := filepath.Base(path)
	if ending, _ := packing(base); ending != "" {
		return true
	}
	i := strings.LastIndexByte(base, '.')
	if i <= 0 {
		return false
	}
	n, err := strconv.Atoi(base[i+1:])
	return err == nil && n >= 0 && n < 1000
}

// match says how much of a cursor's contents a file has.
type match int

const (
	matchNone match = iota
	matchHead       // it begins the same, but ends earlier or goes on differently
	matchAll        // everything up to the reading place is there
)

// matches compares a file with a cursor. A cursor at the very beginning matches by inode alone.
func (c *cursor) matches(e entry) match {
	if c.Off == 0 {
		if e.live && e.dev == c.Dev && e.ino == c.Ino {
			return matchAll
		}
		return matchNone
	}
	r, _, err := openBytes(e)
	if err != nil {
		return matchNone
	}
	defer r.Close()
	head, err := readN(r, 0, c.Head.N)
	if err != nil || markOf(head) != c.Head {
		return matchNone
	}
	tail, err := readN(r, c.Off-int64(c.Tail.N), c.Tail.N)
	if err != nil || markOf(tail) != c.Tail {
		return matchHead
	}
	return matchAll
}

// beginning reads how a file begins.
func beginning(e entry) []byte {
	r, _, err := openBytes(e)
	if err != nil {
		return nil
	}
	defer r.Close()
	b := make([]byte, headBytes)
	n, _ := r.ReadAt(b, 0) // a short file is no error here
	return b[:n]
}

// done says whether a file that begins like this has been read to its end before.
func (f *File) done(head []byte) bool {
	return slices.ContainsFunc(f.pos.Done, func(m mark) bool { return m.N > 0 && m.N <= len(head) && markOf(head[:m.N]) == m })
}

// begins says whether a short file begins like what was read last. Only that file's copy does so within one tick of the
// clock; of any other time it may be a restarted engine's, whose first lines can be the same.
func (f *File) begins(head []byte) bool {
	marks := f.pos.Now.Begins
	if f.cur != nil {
		marks = f.cur.Begins
	}
	for _, m := range slices.Backward(marks) {
		if m.N <= len(head) {
			return markOf(head[:m.N]) == m
		}
	}
	return false
}

// unseen chooses from a list, oldest first, the first file that was not read: with its beginning. A file whose beginning a
// later one has too is the unfinished copy of that one.
func (f *File) unseen(list []entry, since int64) (entry, []byte, bool) {
	heads := make([][]byte, len(list))
	for i, e := range list {
		heads[i] = beginning(e)
	}
	for i, e := range list {
		if !e.live && (e.mod < since || len(heads[i]) == 0 || f.done(heads[i]) || e.mod == since && f.begins(heads[i])) {
			continue
		}
		again := slices.ContainsFunc(heads[i+1:], func(later []byte) bool {
			return len(heads[i]) > 0 && bytes.HasPrefix(later, heads[i])
		})
		if !again {
			return e, heads[i], true
		}
	}
	return entry{}, nil, false
}
