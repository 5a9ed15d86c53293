package tail

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// bytesAt is an open file, or what is in a compressed one.
type bytesAt interface {
	io.ReaderAt
	io.Closer
}

// generation is an open file that is being read.
type generation struct {
	path   string // under which it was found
	r      bytesAt
	file   *os.File // r's file, compressed or not
	packed bool

	cursor
	head, tail []byte // what Head and Tail are the marks of
	// expect is how the file began when it was chosen: the first read checks that it is still the same.
	expect []byte
}

// openAt opens the file of an entry and gets ready to read it from a place that its contents are known to match.
func openAt(e entry, at cursor) (*generation, error) {
	r, file, err := openBytes(e)
	if err != nil {
		return nil, err
	}
	g := &generation{path: e.path, r: r, file: file, packed: e.packed != "", cursor: at}
	if err := g.refresh(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	g.head, err = readN(r, 0, int(min(at.Off, headBytes)))
	if err == nil {
		g.tail, err = readN(r, at.Off-min(at.Off, tailBytes), int(min(at.Off, tailBytes)))
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	g.Head, g.Tail, g.Begins = markOf(g.head), markOf(g.tail), beginsOf(g.head)
	return g, nil
}

// refresh notes which file it is and when it was changed last.
func (g *generation) refresh() error {
	info, err := g.file.Stat()
	if err != nil {
		return err
	}
	g.Dev, g.Ino = identity(info)
	g.Mod = info.ModTime().UnixNano()
	return nil
}

// readN reads exactly n bytes.
func readN(r io.ReaderAt, off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := r.ReadAt(b, off)
	if got == n {
		return b, nil
	}
	return nil, err
}

// errChanged says that a file is no longer the generation that was being read.
var errChanged = errors.New("the file was cut or replaced")

// read fills buf with what follows the reading place. buf's first bytes are used to check in the same system call that the
// place is still the same one.
func (g *generation) read(buf []byte) ([]byte, error) {
	k := len(g.tail)
	n, err := g.r.ReadAt(buf, g.Off-int64(k))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n < k || !bytes.Equal(buf[:k], g.tail) {
		return nil, errChanged
	}
	data := buf[k:n]
	if g.expect != nil {
		if m := min(len(g.expect), len(data)); !bytes.Equal(g.expect[:m], data[:m]) || m < len(g.expect) {
			return nil, errChanged
		}
	}
	return data, nil
}

// advance moves the reading place over data, which read returned.
func (g *generation) advance(data []byte) {
	if len(data) == 0 {
		return
	}
	g.expect = nil
	if room := headBytes - len(g.head); room > 0 {
		g.head = append(g.head, data[:min(room, len(data))]...)
		g.Head, g.Begins = markOf(g.head), beginsOf(g.head)
	}
	if len(data) >= tailBytes {
		g.tail = append(g.tail[:0], data[len(data)-tailBytes:]...)
	} else {
		keep := g.tail[max(0, len(g.tail)+len(data)-tailBytes):]
		g.tail = append(append(make([]byte, 0, tailBytes), keep...), data...)
	}
	g.Off += int64(len(data))
	g.Tail = markOf(g.tail)
}

// unread is how many bytes lie behind the reading place, as far as known without decompressing.
func (g *generation) unread() int64 {
	info, err := g.file.Stat()
	if err != nil || g.packed {
		return 0
	}
	return max(0, info.Size()-g.Off)
}

func (g *generation) close() { g.r.Close() }
