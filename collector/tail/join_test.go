package tail

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
)

func joinedLines(data string) (got []string) {
	Lines([]byte(data), func(_ int, line []byte) { got = append(got, string(line)) })
	return got
}

func TestLines(t *testing.T) {
	f := func(data string, want ...string) {
		t.Helper()
		if got := joinedLines(data); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", data, got, want)
		}
	}
	f("")
	f("a\nb\r\n\nc\n", "a", "b", "", "c")
	const t1, t2, t3 = "2026-08-20T10:00:00.000000001Z", "2026-08-20T10:00:00.000000002Z", "2026-08-20T10:00:00.000000003+08:00"
	f(t1+" stdout F whole\n", t1+" stdout F whole")
	f(t1+" stdout P one \n"+t2+" stdout P two \n"+t3+" stdout F three\n", t1+" stdout P one two three")
	f(t1+" stdout P one\n"+t2+" stderr F other\n"+t3+" stdout F two\n", t2+" stderr F other", t1+" stdout P onetwo")
	f(t1+" stdout P alone\n", t1+" stdout P alone")
	f(t1+" stdout P\n"+t2+" stdout F x\n", t1+" stdout Px")
	f(`{"log":"one ","stream":"stdout","time":"`+t1+`"}`+"\n"+`{"log":"\u0041\n","stream":"stdout","time":"`+t2+`"}`+"\n", t1+" one A")
	f(`{"log":"whole\n","stream":"stdout","time":"`+t1+`"}`+"\n", `{"log":"whole\n","stream":"stdout","time":"`+t1+`"}`)
	f(`{"log":"cut`+"\n", `{"log":"cut`)
	f("2026-08-20 stdout F no time of CRI\n", "2026-08-20 stdout F no time of CRI")
}

func TestWhole(t *testing.T) {
	const c = "2026-08-20T10:00:00.000000001Z "
	f := func(whole, rest string) {
		t.Helper()
		if got := Whole([]byte(whole + rest)); got != len(whole) {
			t.Errorf("%q: %d bytes, want %d", whole+rest, got, len(whole))
		}
	}
	f("", "")
	f("a\nb\n", "")
	f("a\n", c+"stdout P x\n")
	f("a\n"+c+"stdout P x\n"+c+"stdout F y\n", "")
	f("a\n", c+"stdout P x\n"+c+"stderr F y\nb\n")
	f("a\n"+c+"stdout P x\n"+c+"stderr P y\n"+c+"stdout F x\n"+c+"stderr F y\nz\n", "")
}

// A piece at the end of a file is not taken before the rest of its line is there.
func TestPiecesWait(t *testing.T) {
	const c = "2026-08-20T10:00:00.000000001Z stdout "
	r := newRig(t)
	r.opt.Whole = Whole
	r.write(c + "F a\n" + c + "P b\n")
	r.read()
	r.stop()
	r.write(c + "F c\n")
	r.read()
	want := []string{c + "F a", c + "P b", c + "F c"}
	if !slices.Equal(r.got, want) {
		t.Errorf("got %q", r.got)
	}
}

func TestStream(t *testing.T) {
	long := strings.Repeat("z", 3000)
	in := "a\nb\n" + long + "\nc\nhalf"
	for _, piece := range []int{1, 7, 1 << 16} {
		var got []string
		tooLong, cut := 0, 0
		err := Stream(context.Background(), &slow{[]byte(in), piece}, Options{MaxLine: 1000}, func(c Chunk) error {
			if len(c.Data) > 0 && !bytes.HasPrefix([]byte(in)[c.Offset:], c.Data) {
				t.Errorf("pieces of %d: %q is not at %d", piece, c.Data, c.Offset)
			}
			for line := range strings.Lines(string(c.Data)) {
				if len(line) < 1000 { // a line that is there as a whole is the reader's to refuse
					got = append(got, strings.TrimSpace(line))
				}
			}
			tooLong += c.TooLong
			cut += c.Cut
			return nil
		})
		if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) || cut != 1 || piece < 3000 && tooLong != 1 {
			t.Errorf("pieces of %d: %q, %d too long, %d cut, error %v", piece, got, tooLong, cut, err)
		}
	}
}

// slow gives some bytes at a time.
type slow struct {
	b []byte
	n int
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.n)], s.b)
	s.b = s.b[n:]
	return n, nil
}
