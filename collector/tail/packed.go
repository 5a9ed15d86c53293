package tail

import (
	"compress/bzip2"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds what a zstd file makes its reader hold: what `zstd --long` writes by default.
const maxWindow = 128 << 20

// unpackers read compressed rotated files, by the ending of their names.
var unpackers = map[string]func(r io.Reader) (io.Reader, error){
	".gz":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	".bz2": func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil },
	".zst": func(r io.Reader) (io.Reader, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	},
}

// otherPackers write files that cannot be read here.
var otherPackers = []string{".xz", ".lz4", ".lzma", ".Z", ".br", ".7z", ".zip"}

// packing is the ending of a compressed file's name, "" of a plain one's, and whether it can be read.
func packing(name string) (ending string, readable bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", true
	}
	if _, ok := unpackers[name[i:]]; ok {
		return name[i:], true
	}
	if slices.Contains(otherPackers, name[i:]) {
		return name[i:], false
	}
	return "", true
}

// openBytes opens an entry's file.
func openBytes(e entry) (bytesAt, *os.File, error) {
	f, err := os.Open(e.path)
	if err != nil {
		return nil, nil, err
	}
	if e.packed == "" {
		return f, f, nil
	}
	return &packedBytes{file: f, unpack: unpackers[e.packed]}, f, nil
}

// packedBytes reads what is in a compressed file. Going forward is cheap; going back begins anew.
type packedBytes struct {
	file   *os.File
	unpack func(r io.Reader) (io.Reader, error)
	z      io.Reader
	at     int64
}

func (g *packedBytes) ReadAt(p []byte, off int64) (int, error) {
	if g.z == nil || off < g.at {
		g.release()
		if _, err := g.file.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		z, err := g.unpack(g.file)
		if err != nil {
			return 0, endOfPacked(err)
		}
		g.z, g.at = z, 0
	}
	n, err := io.CopyN(io.Discard, g.z, off-g.at)
	g.at += n
	if err != nil {
		return 0, endOfPacked(err)
	}
	m, err := io.ReadFull(g.z, p)
	g.at += int64(m)
	return m, endOfPacked(err)
}

// endOfPacked takes a damaged rest for the end: what could be read before it is still good.
func endOfPacked(err error) error {
	var path *os.PathError
	if err == nil || errors.As(err, &path) {
		return err
	}
	return io.EOF
}

func (g *packedBytes) release() {
	if c, ok := g.z.(io.Closer); ok {
		_ = c.Close() // of a reader in memory: there is nothing to lose
	}
	g.z = nil
}

func (g *packedBytes) Close() error {
	g.release()
	return g.file.Close()
}
