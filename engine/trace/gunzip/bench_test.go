package gunzip

import (
	"bytes"
	stdlib "compress/gzip"
	"io"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// capture is a generated capture of about 20 MB, and the same as gzip -6.
var capture = sync.OnceValues(func() (plain, packed []byte) {
	var b, z bytes.Buffer
	if _, err := kineto.Generate(&b, kineto.Options{Steps: 4}); err != nil {
		panic(err)
	}
	w, _ := stdlib.NewWriterLevel(&z, 6)
	if _, err := w.Write(b.Bytes()); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes(), z.Bytes()
})

// BenchmarkGunzip compares the decoders on one input; gunzip-next is without the copy that
// Read makes.
func BenchmarkGunzip(b *testing.B) {
	plain, packed := capture()
	decoders := []struct {
		name   string
		decode func(io.Reader) (int64, error)
	}{
		{"compress-gzip", func(src io.Reader) (int64, error) {
			z, err := stdlib.NewReader(src)
			if err != nil {
				return 0, err
			}
			return drain(z)
		}},
		{"klauspost", func(src io.Reader) (int64, error) {
			z, err := gzip.NewReader(src)
			if err != nil {
				return 0, err
			}
			return drain(z)
		}},
		{"gunzip", func(src io.Reader) (int64, error) { return drain(NewReader(src)) }},
		{"gunzip-next", func(src io.Reader) (n int64, err error) {
			z := NewReader(src)
			for {
				p, err := z.Next()
				n += int64(len(p))
				if err == io.EOF {
					return n, nil
				}
				if err != nil {
					return n, err
				}
			}
		}},
	}
	var stdlibNs float64
	for _, d := range decoders {
		b.Run(d.name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			for b.Loop() {
				n, err := d.decode(bytes.NewReader(packed))
				if err != nil || n != int64(len(plain)) {
					b.Fatalf("%d bytes, error %v; want %d bytes", n, err, len(plain))
				}
			}
			ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			if d.name == "compress-gzip" {
				stdlibNs = ns
			}
			if stdlibNs > 0 {
				b.ReportMetric(stdlibNs/ns, "x-stdlib")
			}
		})
	}
}

// drain reads as a trace's reader does, in large pieces.
func drain(r io.Reader) (n int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		k, err := r.Read(buf)
		n += int64(k)
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
