package tail

import (
	"errors"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
)

// openBytes opens an entry's file.
func openBytes(e entry) (bytesAt, *os.File, error) {
	f, err := os.Open(e.path)
	if err != nil {
		return nil, nil, err
	}
	if !e.gz {
		return f, f, nil
	}
	return &gzipBytes{file: f}, f, nil
}

// gzipBytes reads what is in a compressed file. Going forward is cheap; going back begins anew.
type gzipBytes struct {
	file *os.File
	z    *gzip.Reader
	at   int64
}

func (g *gzipBytes) ReadAt(p []byte, off int64) (int, error) {
	if g.z == nil || off < g.at {
		if _, err := g.file.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		z, err := gzip.NewReader(g.file)
		if err != nil {
			return 0, endOfGzip(err)
		}
		g.z, g.at = z, 0
	}
	n, err := io.CopyN(io.Discard, g.z, off-g.at)
	g.at += n
	if err != nil {
		return 0, endOfGzip(err)
	}
	m, err := io.ReadFull(g.z, p)
	g.at += int64(m)
	return m, endOfGzip(err)
}

// endOfGzip takes a damaged rest for the end: what could be read before it is still good.
func endOfGzip(err error) error {
	var path *os.PathError
	if err == nil || errors.As(err, &path) {
		return err
	}
	return io.EOF
}

func (g *gzipBytes) Close() error { return g.file.Close() }
