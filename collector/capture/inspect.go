package capture

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/store"
)

// ending says how a file's content ends.
type ending int

const (
	cut     ending = iota // in the middle
	odd                   // like a trace, but brackets don't match: a damaged whole, or cut at the end of an event
	whole                 // as it should
	notJSON               // it is no trace at all
)

// inspected is what reading a file once told.
type inspected struct {
	ending      ending
	contentType string     // as [store.Sniff] names it
	sha256      string     // lower-case hex of all bytes
	why         store.Said // for people, of an ending that isn't whole
}

// maxUnpacked bounds how far a compressed file is unpacked to see its end; a real trace of that size is taken as it is.
const maxUnpacked = 16 << 30

var errSize error = &saidError{Said: say("size_changed")}

// inspect reads the size bytes of a file and says whether it is complete.
func inspect(f *os.File, size int64) (inspected, error) {
	sum := sha256.New()
	// Two readers of one pass: the sum takes the bytes as they are, the check may unpack them.
	in := bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(f, 0, size), sum), 256<<10)
	head, err := in.Peek(int(min(size, 64<<10)))
	if err != nil && !errors.Is(err, io.EOF) {
		return inspected{}, err
	}
	if int64(len(head)) < min(size, 64<<10) {
		return inspected{}, errSize
	}
	var res inspected
	kind, decided := store.Sniff(head)
	switch {
	case !decided:
		res.why = say("holds_nothing")
	case kind == store.TypeJSON:
		err = res.json(in)
	case kind == store.TypeGzip:
		err = res.gzip(in)
	default:
		res.ending, res.why = notJSON, say("not_json")
	}
	if err != nil {
		return inspected{}, err
	}
	res.contentType = kind
	// The sum is of the whole file, whatever the check left unread.
	if _, err := io.Copy(io.Discard, in); err != nil {
		return inspected{}, err
	}
	if info, err := f.Stat(); err != nil {
		return inspected{}, err
	} else if info.Size() != size {
		return inspected{}, errSize
	}
	res.sha256 = hex.EncodeToString(sum.Sum(nil))
	return res, nil
}

func (res *inspected) json(r io.Reader) error {
	var b brackets
	if _, err := io.Copy(&b, r); err != nil {
		return err
	}
	res.ending, res.why = b.ending()
	return nil
}

func (res *inspected) gzip(r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return res.badGzip(err)
	}
	head := make([]byte, 4096)
	n, err := io.ReadFull(z, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return res.badGzip(err)
	}
	if kind, decided := store.Sniff(head[:n]); decided && kind != store.TypeJSON {
		res.ending, res.why = notJSON, say("gzip_not_json")
		return nil
	}
	// The trailer's checksum, at the end, is what tells that all is there.
	rest, err := io.Copy(io.Discard, io.LimitReader(z, maxUnpacked))
	if err != nil {
		return res.badGzip(err)
	}
	if n == 0 && rest == 0 {
		res.why = say("holds_nothing")
		return nil
	}
	res.ending = whole
	return nil
}

// badGzip tells damage, or an end in the middle, from a file that can't be read.
func (res *inspected) badGzip(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return err
	}
	res.ending, res.why = cut, say("gzip_cut", cause(err))
	return nil
}

// brackets follows a JSON text far enough to see whether it is closed: brackets outside of strings.
type brackets struct {
	depth    int64
	inString bool
	escaped  bool
	closed   bool // the outermost bracket was closed at least once
	last     byte // last byte that is no blank
}

// Write takes the next piece of the text.
func (b *brackets) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if b.inString {
			p = b.skipString(p)
			continue
		}
		switch c := p[0]; c {
		case '"':
			b.inString, b.last = true, c
		case '{', '[':
			b.depth++
			b.last = c
		case '}', ']':
			b.depth--
			b.closed = b.closed || b.depth == 0
			b.last = c
		case ' ', '\n', '\r', '\t', 0: // zero: some file systems show a growing file's end so
		default:
			b.last = c
		}
		p = p[1:]
	}
	return n, nil
}

// skipString moves to the end of a string, which most of a trace consists of.
func (b *brackets) skipString(p []byte) []byte {
	if b.escaped {
		b.escaped = false
		return p[1:]
	}
	end := bytes.IndexByte(p, '"')
	stretch := p
	if end >= 0 {
		stretch = p[:end]
	}
	if esc := bytes.IndexByte(stretch, '\\'); esc >= 0 {
		b.escaped = true
		return p[esc+1:]
	}
	if end < 0 {
		return nil
	}
	b.inString, b.last = false, '"'
	return p[end+1:]
}

func (b *brackets) ending() (ending, store.Said) {
	switch {
	case b.closed && b.depth == 0 && !b.inString:
		return whole, store.Said{}
	case b.last == '}' || b.last == ']':
		return odd, say("brackets")
	}
	return cut, say("cut")
}
