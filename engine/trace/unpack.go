package trace

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stepscope/stepscope/engine/trace/gunzip"
)

// maxLayers is how many packings around each other are undone.
const maxLayers = 4

// sniffLen is how many bytes tell how a file is packed.
const sniffLen = 4

type packing uint8

const (
	packPlain packing = iota
	packGzip
	packZstd
	packUTF16LE
	packUTF16BE
)

// sniff tells how data is packed by its first bytes, never by a file's name.
func sniff(b []byte) packing {
	switch {
	case len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b:
		return packGzip
	case len(b) >= 4 && b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd:
		return packZstd
	case len(b) >= 2 && (b[0] == 0xff && b[1] == 0xfe || (b[0] == '{' || b[0] == '[') && b[1] == 0):
		return packUTF16LE
	case len(b) >= 2 && (b[0] == 0xfe && b[1] == 0xff || b[0] == 0 && (b[1] == '{' || b[1] == '[')):
		return packUTF16BE
	}
	return packPlain
}

// Splittable reports whether a file that begins with head can be read by several readers
// on byte ranges: plain UTF-8 can, packed data cannot. root is the first byte that is not
// blank, 0 if head is too short to tell.
func Splittable(head []byte) (root byte, ok bool) {
	if sniff(head) != packPlain {
		return 0, false
	}
	if len(head) >= 3 && string(head[:3]) == "\xef\xbb\xbf" {
		head = head[3:]
	}
	for _, c := range head {
		if !isSpace(c) {
			return c, c == '{' || c == '['
		}
	}
	return 0, false
}

// Read reads a whole trace from src, however it is packed. The error says why src is not a
// trace, or what src.Read failed with; a damaged or truncated trace is not an error.
func Read(src io.Reader, o Options) (*Partial, error) {
	r := NewReader(o)
	if err := readPacked(r, src); err != nil {
		return nil, err
	}
	return r.Partial(), nil
}

// readPacked unpacks src, feeds it to r and closes r.
func readPacked(r *Reader, src io.Reader) error {
	in := &countReader{src: src}
	data, err := unpackLayers(r, in)
	if err != nil {
		if in.err != nil && in.err != io.EOF {
			return in.err // the source failed, not the packing
		}
		return err
	}
	if err := feed(r, data); err != nil {
		if in.err != nil && in.err != io.EOF {
			return in.err
		}
		if err := r.packError(err); err != nil {
			return err
		}
		if err := in.skip(); err != nil { // the rest counts as the file's bytes
			return err
		}
	}
	r.sh.fileBytes = in.n
	return r.Close()
}

// unpackLayers undoes packings until plain text comes out.
func unpackLayers(r *Reader, src io.Reader) (io.Reader, error) {
	for range maxLayers {
		b := bufio.NewReaderSize(src, 1<<16)
		head, err := b.Peek(sniffLen)
		if err != nil && err != io.EOF {
			return b, nil // the read below meets the same error
		}
		switch sniff(head) {
		case packGzip:
			z := gunzip.NewReader(b)
			if z.Header() != nil {
				return nil, &Error{Code: "packed_damaged", What: "the gzip header is damaged", Hint: "Download or copy the file again."}
			}
			r.sh.compression = Gzip
			src = z
		case packZstd:
			z, err := newZstd(b)
			if err != nil {
				return nil, err
			}
			r.sh.compression = Zstd
			src = z
		case packUTF16LE, packUTF16BE:
			r.sh.note(issUTF16, 0)
			return newUTF16Reader(b, sniff(head) == packUTF16BE), nil
		default:
			return b, nil
		}
	}
	return nil, &Error{Code: "packed_often", What: "the file is packed more than " + itoa(maxLayers) + " times", Hint: "Unpack it by hand and open the .json inside."}
}

// packError turns an error of an unpacker into an entry of the file's health: what came
// before it counts. Where nothing came, the file cannot be read.
func (r *Reader) packError(err error) error {
	off := r.Consumed()
	cut := errors.Is(err, io.ErrUnexpectedEOF)
	junk := errors.Is(err, gunzip.ErrHeader)
	switch {
	case off == 0 && cut:
		return &Error{Code: "packed_cut", What: "the " + string(r.sh.compression) + " data ends before anything could be unpacked", Hint: "Download or copy the file again."}
	case off == 0 && !junk:
		return &Error{Code: "packed_damaged", What: "the " + string(r.sh.compression) + " data is damaged before anything could be unpacked", Hint: "Download or copy the file again."}
	case cut:
		r.sh.note(issGzipTruncated, off)
	case junk:
		r.sh.note(issGzipJunk, off)
	case errors.Is(err, gunzip.ErrChecksum):
		r.sh.note(issGzipChecksum, off)
	default:
		r.sh.note(issGzipCorrupt, off)
	}
	return nil
}

// feed reads src straight into the reader's buffer until src ends or the reader is done.
func feed(r *Reader, src io.Reader) error {
	const chunk = 1 << 18
	for {
		n, err := src.Read(r.Space(chunk)[:chunk])
		if n > 0 && !r.Commit(n) {
			return nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

type countReader struct {
	src io.Reader
	n   int64
	err error
}

func (c *countReader) Read(p []byte) (int, error) {
	if c.err != nil { // a failed source stays failed: bufio asks again
		return 0, c.err
	}
	n, err := c.src.Read(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// skip reads to the end, or until nothing comes any more. (io.Copy with io.Discard would
// cost the module 9 KB.)
func (c *countReader) skip() error {
	buf := make([]byte, 1<<16)
	for empty := 0; c.err == nil && empty < 100; empty++ {
		if n, _ := c.Read(buf); n > 0 {
			empty = 0
		}
	}
	if c.err == io.EOF {
		return nil
	}
	return c.err
}

// utf16Reader turns UTF-16 into UTF-8.
type utf16Reader struct {
	src *bufio.Reader
	big bool
	out []byte
	err error
}

func newUTF16Reader(src *bufio.Reader, big bool) *utf16Reader {
	return &utf16Reader{src: src, big: big}
}

func (u *utf16Reader) unit() (rune, bool) {
	var b [2]byte
	if _, u.err = io.ReadFull(u.src, b[:]); u.err != nil {
		if u.err == io.ErrUnexpectedEOF {
			u.err = io.EOF
		}
		return 0, false
	}
	if u.big {
		return rune(b[0])<<8 | rune(b[1]), true
	}
	return rune(b[1])<<8 | rune(b[0]), true
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	u.out = u.out[:0]
	for len(u.out)+2*utf8.UTFMax <= len(p) && u.err == nil {
		c, ok := u.unit()
		if !ok {
			break
		}
		for utf16.IsSurrogate(c) {
			lo, ok := u.unit()
			if !ok {
				c = utf8.RuneError
				break
			}
			if r := utf16.DecodeRune(c, lo); r != utf8.RuneError {
				c = r
				break
			}
			u.out = utf8.AppendRune(u.out, utf8.RuneError)
			c = lo
			if len(u.out)+2*utf8.UTFMax > len(p) {
				break
			}
		}
		u.out = utf8.AppendRune(u.out, c)
	}
	n := copy(p, u.out)
	if n == 0 && u.err != nil {
		return 0, u.err
	}
	return n, nil
}
