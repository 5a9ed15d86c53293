package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
)

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	return zippedAt(data, gzip.DefaultCompression)
}

func zippedAt(data []byte, level int) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		panic(err)
	}
	return b.Bytes()
}

func wide(text string, big, mark bool) string {
	var b strings.Builder
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	for _, u := range units {
		if big {
			b.WriteByte(byte(u >> 8))
			b.WriteByte(byte(u))
		} else {
			b.WriteByte(byte(u))
			b.WriteByte(byte(u >> 8))
		}
	}
	return b.String()
}

// plain is what is packed in every way below; with a name beyond ASCII.
var plain = document(opA, op("你😀", "4", "2"), opC)

const (
	whole  = "slices=3; events=3; span=8000; skipped=0; repaired=0; interned 你😀=yes; cut at=-; "
	noise  = "\x9c\x02junk behind the data, neither zero nor gzip"
	blanks = "                                                                "
)

var packed = func() []example {
	g := string(zippedAt([]byte(plain), gzip.BestSpeed))
	half := len(plain) / 2
	two := string(zippedAt([]byte(plain[:half]), gzip.BestCompression)) + string(zippedAt([]byte(plain[half:]), gzip.HuffmanOnly))
	inner := string(zippedAt([]byte(g), gzip.NoCompression))
	wrongSum := []byte(g)
	wrongSum[len(wrongSum)-5]++
	wrongLen := []byte(g)
	wrongLen[len(wrongLen)-1]++
	size := "packing=gzip; json=" + itoa(int64(len(plain))) + "; "
	return table(
		example{"gzip", g, whole + size + "bytes=" + itoa(int64(len(g)))},
		example{"gzip without compression", string(zippedAt([]byte(plain), gzip.NoCompression)), whole + size},
		example{"gzip of two members", two, whole + size + "gzip_junk=-; bytes=" + itoa(int64(len(two)))},
		example{"gzip with an empty member between", g[:0] + string(zippedAt([]byte(plain[:7]), 6)) + string(zippedAt(nil, 6)) + string(zippedAt([]byte(plain[7:]), 6)), whole + size},
		example{"gzip in gzip", inner, whole + size + "bytes=" + itoa(int64(len(inner)))},
		example{"gzip with name, comment and extra field", headed(plain), whole + size},
		example{"junk behind the gzip", g + noise, whole + size + "gzip_junk=1; gzip_junk.at=" + itoa(int64(len(plain))) + "; bytes=" + itoa(int64(len(g)+len(noise)))},
		example{"much junk behind the gzip", g + strings.Repeat(noise, 8000), whole + size + "gzip_junk=1; bytes=" + itoa(int64(len(g)+8000*len(noise)))},
		example{"zero padding behind the gzip", g + strings.Repeat("\x00", 1024), whole + size + "bytes=" + itoa(int64(len(g)+1024))},
		example{"gzip header behind the gzip, cut", g + g[:7], whole + size},
		example{"wrong checksum", string(wrongSum), whole + size + "gzip_checksum=1"},
		example{"wrong length", string(wrongLen), whole + size + "gzip_checksum=1"},
		example{"checksum missing", g[:len(g)-8], whole + size + "gzip_truncated=1"},
		example{"zstd", string(zstdOf(plain)), whole + "packing=zstd; json=" + itoa(int64(len(plain)))},
		example{"zstd in gzip", string(zippedAt(zstdOf(plain), 6)), whole},
		example{"UTF-16, little-endian, marked", wide(plain, false, true), whole + "utf16=1; packing=none"},
		example{"UTF-16, big-endian, marked", wide(plain, true, true), whole + "utf16=1"},
		example{"UTF-16, little-endian", wide(plain, false, false), whole + "utf16=1; json=" + itoa(int64(len(plain)))},
		example{"UTF-16, big-endian", wide(plain, true, false), whole + "utf16=1"},
		example{"UTF-16 in gzip", string(zippedAt([]byte(wide(plain, false, true)), 6)), whole + "utf16=1; packing=gzip"},
		example{"UTF-16 with half a character behind", wide(plain, false, true) + "x", "slices=3; utf16=1"},
		example{"UTF-16 with a lone surrogate", wide(document(opA, op("x", "4", "2"), opC), false, true)[:0] + strings.Replace(wide(document(opA, op("@", "4", "2"), opC), false, true), "@\x00", "\x3d\xd8", 1),
			"slices=3; interned \ufffd=yes; utf16=1"},
		example{"gzip of a bare list", string(zippedAt([]byte("["+opA+","), 6)), "slices=1; packing=gzip; cut at=-"},
	)
}()

// headed has every optional field of a gzip header.
func headed(text string) string {
	raw := zippedAt([]byte(text), 6)
	head := []byte{0x1f, 0x8b, 8, 0x1f, 0, 0, 0, 0, 0, 255, 3, 0, 'a', 'b', 'c', 'n', 'a', 'm', 'e', 0, 'c', 'o', 'm', 0}
	sum := crc32.ChecksumIEEE(head) // the header's own checksum, low half
	head = append(head, byte(sum), byte(sum>>8))
	return string(append(head, raw[10:]...))
}

func zstdOf(text string) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

func TestPacked(t *testing.T) { run(t, packed) }

// A gzip file cut anywhere gives what can be unpacked of it.
func TestGzipCutAnywhere(t *testing.T) {
	g := zipped(t, []byte(plain))
	for n := range len(g) {
		p, err := Read(bytes.NewReader(g[:n]), Options{})
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Hint == "" || n > 18 && strings.Contains(e.What, "the file is empty") {
				t.Errorf("cut at %d of %d: error %q; want one that says the gzip data is cut", n, len(g), err)
			}
			continue
		}
		f := figures(p, Analyze(p, AnalyzeOptions{}))
		if n < len(g)-8 && f["gzip_truncated"] != "1" {
			t.Errorf("cut at %d of %d: no warning gzip_truncated, warnings %s", n, len(g), f["warnings"])
		}
	}
}

// Bits of a gzip file flipped: whatever comes out, it says that something is wrong, and
// chunks do not matter.
func TestGzipDamagedAnywhere(t *testing.T) {
	g := zipped(t, []byte(plain))
	good := wholeOf(g, Options{})
	for i := 10; i < len(g); i++ {
		bad := append([]byte(nil), g...)
		bad[i] ^= 1 << (i % 8)
		want := wholeOf(bad, Options{})
		if want == good && !unpacksTo(bad, plain) { // padding bits may be anything
			t.Errorf("byte %d damaged: not noticed", i)
		}
		if got := chunked(bad, Options{}, sizes(1+i%5)); got != want {
			t.Errorf("byte %d damaged, in chunks:\n got %s\nwant %s", i, got, want)
		}
	}
}

func unpacksTo(packed []byte, text string) bool {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return false
	}
	got, err := io.ReadAll(z)
	return err == nil && string(got) == text
}

func TestTooManyPackings(t *testing.T) {
	data := []byte(plain)
	for range 12 {
		data = zippedAt(data, gzip.BestSpeed)
	}
	if _, err := Read(bytes.NewReader(data), Options{}); err == nil || !strings.Contains(err.Error(), "packed") {
		t.Errorf("packed twelve times: error %v, want one that says so", err)
	}
}

// What is packed and not a trace says what it is; what cannot be unpacked says so.
func TestPackedButNotATrace(t *testing.T) {
	for name, x := range map[string]struct{ in, want string }{
		"gzip of nothing":        {string(zippedAt(nil, 6)), "empty"},
		"gzip of text":           {string(zippedAt([]byte("hello world, no trace"), 6)), "hello"},
		"gzip magic only":        {"\x1f\x8b", "gzip"},
		"gzip of unknown method": {"\x1f\x8b\x07" + blanks, "gzip"},
		"corrupt from the start": {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff" + blanks, "gzip"},
		"zstd magic only":        {"\x28\xb5\x2f\xfd", "zstd"},
		"zstd noise":             {"\x28\xb5\x2f\xfd" + strings.Repeat("\xff", 64), "zstd"},
	} {
		_, err := Read(strings.NewReader(x.in), Options{})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, x.want)
		}
	}
}
