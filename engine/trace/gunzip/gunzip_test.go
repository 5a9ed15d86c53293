package gunzip

import (
	"bytes"
	stdlib "compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"unsafe"
)

// noise returns n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

// skewed returns n bytes, each value about 0.6 times as frequent as the one before, so that
// codes of all lengths up to 15 bits occur.
func skewed(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		for b[i] < 30 && r.IntN(10) < 6 {
			b[i]++
		}
	}
	return b
}

// far returns text whose only repetitions are as far away as a match may reach, or nearly.
func far() []byte {
	b := noise(history)
	for _, back := range []int{history, history - 1, history - 258, history} {
		b = append(b, b[len(b)-back:len(b)-back+5000]...)
	}
	return b
}

func samples() map[string][]byte {
	plain, _ := capture()
	periods := []byte{}
	for p := 1; p < 20; p++ {
		periods = append(periods, bytes.Repeat(noise(p), 300)...)
		periods = append(periods, noise(50)...)
	}
	return map[string][]byte{
		"empty":    {},
		"one byte": {'x'},
		"text":     []byte(strings.Repeat("what is said three times is true; ", 100)),
		"zeros":    make([]byte, 3<<20),
		"noise":    noise(300 << 10),
		"skewed":   skewed(300 << 10),
		"far":      far(),
		"periods":  periods,
		"capture":  plain[:1<<20],
	}
}

func TestLevels(t *testing.T) {
	for name, plain := range samples() {
		for level := stdlib.HuffmanOnly; level <= stdlib.BestCompression; level++ {
			packed := pack(t, plain, level)
			if got, c := agree(t, packed); c != whole || !bytes.Equal(got, plain) {
				t.Errorf("%s, level %d: %d bytes, %s; want %d", name, level, len(got), c, len(plain))
			}
		}
	}
}

func TestCapture(t *testing.T) {
	plain, packed := capture()
	got, err := io.ReadAll(NewReader(bytes.NewReader(packed)))
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d bytes, error %v; want %d", len(got), err, len(plain))
	}
}

// 256 MB of zeros: the window moves more than a thousand times.
func TestLong(t *testing.T) {
	const size = 256 << 20
	var b bytes.Buffer
	w, _ := stdlib.NewWriterLevel(&b, stdlib.BestSpeed)
	if _, err := io.CopyN(w, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := drain(NewReader(&b))
	if err != nil || n != size {
		t.Errorf("%d bytes, error %v; want %d", n, err, size)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestMembers(t *testing.T) {
	var packed, want []byte
	for i := range 300 {
		plain := skewed(i * i % 5000)
		want = append(want, plain...)
		packed = append(packed, pack(t, plain, i%10)...)
	}
	if got, c := agree(t, packed); c != whole || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %s; want %d", len(got), c, len(want))
	}
}

// member makes a member of raw DEFLATE data.
func member(flags byte, fields, data []byte, crc, size uint32) []byte {
	b := []byte{0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255}
	b = append(append(b, fields...), data...)
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, crc), size)
}

// hello is a stored block.
var hello = []byte("\x01\x05\x00\xfa\xffhello")

func helloMember(flags byte, fields string) []byte {
	return member(flags, []byte(fields), hello, crc32.ChecksumIEEE([]byte("hello")), 5)
}

func TestHeaderFields(t *testing.T) {
	long := strings.Repeat("n", 511)
	withCRC := func(flags byte, fields string, wrong uint16) []byte {
		head := append([]byte{0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255}, fields...)
		crc := uint16(crc32.ChecksumIEEE(head)) ^ wrong
		return helloMember(flags, fields+string([]byte{byte(crc), byte(crc >> 8)}))
	}
	for _, c := range []struct {
		name   string
		packed []byte
		want   class
	}{
		{"none", helloMember(0, ""), whole},
		{"text flag", helloMember(1, ""), whole},
		{"extra", helloMember(flagExtra, "\x03\x00abc"), whole},
		{"empty extra", helloMember(flagExtra, "\x00\x00"), whole},
		{"longest extra", helloMember(flagExtra, "\xff\xff"+strings.Repeat("\x00", 65535)), whole},
		{"name", helloMember(flagName, "a.json\x00"), whole},
		{"empty name", helloMember(flagName, "\x00"), whole},
		{"name of 511", helloMember(flagName, long+"\x00"), whole},
		{"name of 100000", helloMember(flagName, strings.Repeat("x", 100_000)+"\x00"), whole},
		{"comment", helloMember(flagComment, "why\x00"), whole},
		{"name and comment", helloMember(flagName|flagComment, "n\x00c\x00"), whole},
		{"header CRC", withCRC(flagHeaderCRC, "", 0), whole},
		{"all", withCRC(flagHeaderCRC|flagExtra|flagName|flagComment, "\x02\x00abn\x00c\x00", 0), whole},
		{"wrong header CRC", withCRC(flagHeaderCRC|flagName, "n\x00", 1), header},
		{"reserved flag", helloMember(0x20, ""), header},
		{"method 7", append([]byte{0x1f, 0x8b, 7}, helloMember(0, "")[3:]...), header},
		{"not gzip", []byte("{\"traceEvents\":[]}"), header},
		{"nothing", nil, cut},
		{"half a magic", []byte{0x1f}, cut},
		{"name without end", []byte("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xffname"), cut},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, is := agree(t, c.packed)
			if want := "hello"; is != c.want || c.want == whole && string(got) != want {
				t.Errorf("%q, %s; want %q, %s", got, is, want, c.want)
			}
			// The header alone is told early; members' data is not.
			z := NewReader(iotest.OneByteReader(bytes.NewReader(c.packed)))
			if err := z.Header(); classOf(t, err) != c.want {
				t.Errorf("Header: %v, want %s", err, c.want)
			}
			if got, err := io.ReadAll(z); classOf(t, err) != c.want || c.want == whole && string(got) != "hello" {
				t.Errorf("after Header: %q, %v", got, err)
			}
		})
	}
}

func TestBehindMembers(t *testing.T) {
	packed := helloMember(0, "")
	for _, c := range []struct {
		name, tail string
		want       class
	}{
		{"nothing", "", whole},
		{"zero", "\x00", header},
		{"zeros", strings.Repeat("\x00", 512), header},
		{"junk", "junk behind the data", header},
		{"start of a header", "\x1f\x8b\x08", cut},
		{"start and junk", "\x1f\x8bjunk", header},
		{"a member and zeros", string(packed) + "\x00\x00", header},
	} {
		got, is := agree(t, append(bytes.Clone(packed), c.tail...))
		if want := strings.Repeat("hello", 1+strings.Count(c.tail, "hello")); is != c.want || string(got) != want {
			t.Errorf("%s: %q, %s; want %q, %s", c.name, got, is, want, c.want)
		}
	}
}

func TestChecksum(t *testing.T) {
	for name, packed := range map[string][]byte{
		"checksum": member(0, nil, hello, 1, 5),
		"size":     member(0, nil, hello, crc32.ChecksumIEEE([]byte("hello")), 6),
	} {
		if got, c := agree(t, packed); string(got) != "hello" || c != checksum {
			t.Errorf("%s: %q, %s; want hello, %s", name, got, c, checksum)
		}
	}
}

func TestSourceErrors(t *testing.T) {
	_, packed := capture()
	failure := errors.New("the network went away")
	want, _ := oracle(t, packed[:5000])
	got, err := io.ReadAll(NewReader(io.MultiReader(bytes.NewReader(packed[:5000]), iotest.ErrReader(failure))))
	if err != failure || !bytes.HasPrefix(got, want) || len(want) == 0 {
		t.Errorf("%d bytes, error %v; want at least %d, %v", len(got), err, len(want), failure)
	}
	if err := NewReader(iotest.ErrReader(failure)).Header(); err != failure {
		t.Errorf("header: error %v, want %v", err, failure)
	}
	if _, err := NewReader(stuck{}).Next(); err != io.ErrNoProgress {
		t.Errorf("stuck source: error %v, want %v", err, io.ErrNoProgress)
	}
	for _, n := range []liar{-1, inSize + 1} {
		if _, err := NewReader(n).Next(); err != errSource {
			t.Errorf("source that read %d bytes: error %v, want %v", n, err, errSource)
		}
	}
	if n, err := NewReader(stuck{}).Read(nil); n != 0 || err != nil {
		t.Errorf("Read of nothing: %d, %v", n, err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

type liar int

func (n liar) Read([]byte) (int, error) { return int(n), nil }

// What is decoded is returned before the source is asked for more, which may take long.
func TestReturnsBeforeWaiting(t *testing.T) {
	packed := pack(t, []byte(strings.Repeat("a line of text\n", 100)), 6)
	asked := 0
	z := NewReader(iotest.OneByteReader(reader(func(p []byte) (int, error) {
		n := copy(p, packed[asked:])
		asked += n
		return n, nil
	})))
	p, err := z.Next()
	if err != nil || asked == len(packed) || string(p) != "a line of text\n"[:len(p)] {
		t.Errorf("first piece %q, error %v, after %d of %d bytes", p, err, asked, len(packed))
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func TestMemory(t *testing.T) {
	if size := unsafe.Sizeof(Reader{}); size > 300<<10 {
		t.Errorf("a Reader takes %d bytes, want at most 300 KB", size)
	}
	_, packed := capture()
	src := bytes.NewReader(nil)
	z := NewReader(src)
	if allocs := testing.AllocsPerRun(2, func() {
		src.Reset(packed)
		*z = Reader{src: src}
		for {
			if _, err := z.Next(); err != nil {
				return
			}
		}
	}); allocs > 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}
