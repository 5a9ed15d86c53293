package gunzip

import (
	"bytes"
	"compress/flate"
	stdlib "compress/gzip"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// class is what a decoder said of a stream.
type class string

const (
	whole    class = "whole"
	cut      class = "cut short"
	header   class = "no header"
	checksum class = "wrong checksum"
	corrupt  class = "corrupt"
)

func classOf(t testing.TB, err error) class {
	t.Helper()
	var bad flate.CorruptInputError
	switch {
	case err == nil:
		return whole
	case errors.Is(err, io.ErrUnexpectedEOF):
		return cut
	case errors.Is(err, ErrHeader), errors.Is(err, stdlib.ErrHeader):
		return header
	case errors.Is(err, ErrChecksum), errors.Is(err, stdlib.ErrChecksum):
		return checksum
	case errors.Is(err, ErrCorrupt), errors.As(err, &bad):
		return corrupt
	}
	t.Fatalf("unknown error: %v", err)
	return ""
}

// oracle is what the standard library makes of a stream.
func oracle(t testing.TB, packed []byte) ([]byte, class) {
	t.Helper()
	z, err := stdlib.NewReader(bytes.NewReader(packed))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // no bytes at all: here no gzip file either
	}
	var plain []byte
	if err == nil {
		plain, err = io.ReadAll(z)
	}
	return plain, classOf(t, err)
}

// pauses is a source that says "nothing now" before every byte, and ends with its last one.
type pauses struct {
	b    []byte
	slow bool
}

func (p *pauses) Read(b []byte) (int, error) {
	if p.slow = !p.slow; p.slow && len(p.b) > 0 {
		return 0, nil
	}
	n := copy(b[:1], p.b)
	p.b = p.b[n:]
	if len(p.b) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// pieces reads all with Next.
func pieces(z *Reader) (all []byte, err error) {
	for {
		p, err := z.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			if len(p) > 0 {
				return all, errors.New("data came with an error")
			}
			return all, err
		}
		if len(p) == 0 {
			return all, errors.New("an empty piece")
		}
		all = append(all, p...)
	}
}

// decode decodes in several ways, which must not differ.
func decode(t testing.TB, packed []byte) (*Reader, []byte, class) {
	t.Helper()
	z := NewReader(bytes.NewReader(packed))
	plain, err := pieces(z)
	if _, again := z.Next(); again != err && again != io.EOF {
		t.Fatalf("error %v, then %v", err, again)
	}
	for name, src := range map[string]io.Reader{
		"with Read":   bytes.NewReader(packed),
		"1-byte":      iotest.OneByteReader(bytes.NewReader(packed)),
		"with pauses": &pauses{b: packed},
	} {
		got, e := io.ReadAll(NewReader(src))
		if e != err || !bytes.Equal(got, plain) {
			t.Fatalf("%s: %d bytes, error %v; at once: %d bytes, error %v", name, len(got), e, len(plain), err)
		}
	}
	return z, plain, classOf(t, err)
}

// agree decodes and compares with the standard library, which differs in these points:
//
//   - It wants as many bits for every symbol as the block's end takes, so it gives up
//     earlier where a stream is cut short, and then calls that cut what is damaged, too.
//   - It reads 10 bytes of a next header before it looks at any.
//   - It ignores reserved flags, and refuses names and comments from 512 bytes on.
func agree(t testing.TB, packed []byte) ([]byte, class) {
	t.Helper()
	z, got, gotClass := decode(t, packed)
	want, wantClass := oracle(t, packed)
	switch {
	case gotClass == wantClass && bytes.Equal(got, want):
	case wantClass == cut && (gotClass == cut || gotClass == corrupt || gotClass == header) &&
		bytes.HasPrefix(got, want) && len(got)-len(want) <= maxBits*maxMatch:
	case gotClass == header && z.step == stepHeader && z.at == 3 && bytes.HasPrefix(want, got):
	case wantClass == header && len(packed) > 512 && bytes.HasPrefix(got, want):
	default:
		t.Fatalf("%d bytes, %s; compress/gzip: %d bytes, %s; input %.200x", len(got), gotClass, len(want), wantClass, packed)
	}
	return got, gotClass
}

// pack compresses with the standard library.
func pack(t testing.TB, plain []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := stdlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
