package curve

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is the curve of the golden file: times that need all their digits.
func sample(t *testing.T) File {
	return File{
		Key:     Key(map[string]string{"model": "V4.1-Flash", "gpu": "H200", "context_parallel_size": "8"}),
		Created: time.Date(2026, 3, 2, 9, 5, 7, 0, time.UTC),
		Curve:   mustNew(t, 1, 11.25, 2, 11.300000000000002, 64, 1.0/3, 256, 3.6e6),
	}
}

func same(a, b File) bool {
	return a.Key == b.Key && a.Created.Equal(b.Created) && slices.Equal(a.Curve.points, b.Curve.points)
}

func TestGolden(t *testing.T) {
	want := sample(t)
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "decode-curve.json")
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, golden) {
		t.Errorf("the format has changed (run with -update if it should):\n%s", data)
	}
	got, err := Read(bytes.NewReader(golden), path)
	if err != nil || !same(got, want) {
		t.Errorf("read %+v (%v), want %+v", got, err, want)
	}

	// Every changed byte is noticed, unless it changes nothing that counts.
	for i := range golden {
		broken := slices.Clone(golden)
		broken[i] ^= 1
		if got, err := Read(bytes.NewReader(broken), path); err == nil && !same(got, want) {
			t.Errorf("byte %d changed from %q to %q went unnoticed: %+v", i, golden[i], broken[i], got)
		}
	}
	for n := range len(golden) - 2 { // without its last brace and line break
		if _, err := Read(bytes.NewReader(golden[:n]), path); err == nil {
			t.Errorf("cut after %d bytes, and read", n)
		}
	}
}

func TestKey(t *testing.T) {
	a := Key(map[string]string{"a": "1", "b": "2"})
	if len(a) != 64 || !isKey(a) {
		t.Errorf("key %q", a)
	}
	if b := Key(map[string]string{"b": "2", "a": "1"}); b != a {
		t.Error("the order matters")
	}
	seen := map[string]bool{}
	for _, m := range []map[string]string{nil, {"a": "1"}, {"a": "1", "b": "2"}, {"a": "2", "b": "1"}, {"a": "1b2"}, {"a1": "b2"}, {"a": "11:b1:2"}, {"a": ""}, {"": "a"}} {
		seen[Key(m)] = true
	}
	if len(seen) != 9 {
		t.Errorf("9 configurations have %d keys", len(seen))
	}
	// SHA-256 of "5:model2:V4", by another tool.
	if got, want := Key(map[string]string{"model": "V4"}), "729aac8732634bdc8e609ba0432407aceb00cfb2535abf1d0a9088b6ba8429e5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []string{"", "abc", strings.ToUpper(a), a[:63], a + "0", "../" + a[3:], strings.Repeat("g", 64)} {
		if isKey(bad) {
			t.Errorf("%q passed for a key", bad)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	f := sample(t)
	f.Curve = Curve{}
	if _, err := f.Encode(); !errors.Is(err, ErrPoint) {
		t.Errorf("got %v for no points", err)
	}
	f = sample(t)
	f.Key = "../../etc/passwd"
	if _, err := f.Encode(); err == nil || !strings.Contains(err.Error(), "not a key") {
		t.Errorf("got %v for a path", err)
	}
}

func TestReadLists(t *testing.T) {
	want := mustNew(t, 1, 11.5, 8, 12.25, 64, 20)
	f := func(text string) {
		t.Helper()
		got, err := Read(strings.NewReader(text), "x")
		if err != nil || !slices.Equal(got.Curve.points, want.points) || got.Key != "" || !got.Created.IsZero() {
			t.Errorf("%q: got %+v (%v), want %v", text, got, err, want.points)
		}
	}
	f("1,11.5\n8,12.25\n64,20\n")
	f("64,20\n8,12.25\n1,11.5")
	f("batch_size,ms\n1,11.5\n8,12.25\n64,20\n")
	f("ms,batch_size\n11.5,1\n12.25,8\n20,64\n")
	f("\xef\xbb\xbfrank;ms;batch_size;note\r\n0;11.5;1;a\r\n0;12.25;8;\r\n0;2e1;64;\"b;c\"\r\n")
	f("# measured at night\n\n1\t11.5\n8\t12.25\n# end\n64\t20\n")
	f(" 1 , 11.5 \n \"8\",\"12.25\"\n+64,+20.0\n")
	f("8,12\n64,20\n1,11.5\n8,12.5\n") // the same size twice: 12.25 between them
	f(`[[1,11.5],[8,12.25],[64,20]]`)
	f(" \n[ [64, 2e1], [8, 12.25], [1, 11.5] ]\n")
	f(`[{"batch_size":1,"ms":11.5},{"ms":12.25,"batch_size":8,"runs":5},[64,20]]`)
}

func TestReadRefuses(t *testing.T) {
	own, err := sample(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		t.Helper()
		if !bytes.Contains(own, []byte(old)) {
			t.Fatalf("nothing to change: %s", old)
		}
		return strings.Replace(string(own), old, new, 1)
	}
	// resummed is the file with a checksum that fits its change.
	resummed := func(f func(*document)) string {
		var d document
		if err := json.Unmarshal(own, &d); err != nil {
			t.Fatal(err)
		}
		f(&d)
		d.Checksum = d.sum()
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	f := func(text, place, reason string) {
		t.Helper()
		got, err := Read(strings.NewReader(text), "dir/x.json")
		var e *FormatError
		if !errors.As(err, &e) || e.Place != place || !strings.Contains(e.Reason, reason) {
			t.Errorf("%.80q: got %v, want %q at %q", text, err, reason, place)
			return
		}
		if !strings.HasPrefix(err.Error(), `"dir/x.json"`) || e.Next == "" || got.Curve.points != nil {
			t.Errorf("%.80q: error %q with %v", text, err, got)
		}
	}
	f("", "", "empty")
	f(" \n\t", "", "empty")
	f("\xef\xbb\xbf", "", "empty")
	f(strings.Repeat(" ", maxFile+1), "", "longer than 4194304 bytes")

	f(`{"traceEvents":[]}`, "", "another kind")
	f(`{"format":7,"points":"x"}`, "", "another kind")
	f(`{"format":"stepscope-decode-curve","points":"x"}`, "byte 47", "points is a string")
	f(`{}`, "", "another kind")
	f(`{"format":"stepscope-decode-curve"`, "byte 34", "unexpected end")
	f(change(`"version": 1`, `"version": 2`), "", "version 2 of the format; this program reads version 1")
	f(change("11.25", "11.26"), "", "checksum")
	f(change("11.25", "NaN"), fmt.Sprintf("byte %d", bytes.Index(own, []byte("11.25"))+1), "invalid character 'N'")
	f(resummed(func(d *document) { d.Points[0].Ms = -1 }), "", "point 1: not a point of a decode curve: ms is -1")
	f(resummed(func(d *document) { d.Points = nil }), "", "no points")
	f(resummed(func(d *document) { d.Key = "x" }), "", "no hash of a configuration")
	f(resummed(func(d *document) { d.Created = "yesterday" }), "", "time of creation")

	const neither = "is neither [batch_size, ms] nor"
	f(`[`, "byte 1", "unexpected end")
	f(`[]`, "", "no points")
	f(`[[1,2],[2,NaN]]`, "byte 11", "invalid character 'N'")
	f(`[[1,2],[2]]`, "element 2", neither)
	f(`[[1,2,3]]`, "element 1", neither)
	f(`[1,2]`, "element 1", neither)
	f(`[null]`, "element 1", neither)
	f(`[{"batch_size":1}]`, "element 1", neither)
	f(`[["1",2]]`, "element 1", "must be an integer")
	f(`[[1,"2"]]`, "element 1", "must be a decimal number")
	f(`[[1,null]]`, "element 1", "must be a decimal number")
	f(`[[1.5,2]]`, "element 1", `batch_size is "1.5"`)
	f(`[[1,2],[2,-3]]`, "element 2", "ms is -3")
	f(`[[1,1e400]]`, "element 1", `ms is "1e400"`)
	f(`[[123456789012345678901,2]]`, "element 1", "batch_size is")
	f("["+strings.Repeat("0,", MaxPoints)+"0]", "", "65537 points")
	f(strings.Repeat("[", 20000), "byte 10001", "max depth")

	f("# nothing\n", "", "no points")
	f("batch_size,ms\n", "", "no points")
	f("1,2\n2,NaN\n", "line 2", `ms is "NaN"`)
	f("nan,2\n", "line 1", `batch_size is "nan"`)
	f("1,2\n# c\n\n3,-inf\n", "line 4", `ms is "-inf"`)
	f("1,0x10\n", "line 1", "does not name the columns")
	f("1,2\n2,0x1p4\n", "line 2", `ms is "0x1p4"`)
	f("1,2\n2,1_0\n", "line 2", `ms is "1_0"`)
	f("1,2\n2,1e999\n", "line 2", `ms is "1e999"`)
	f("1,2\n-2,3\n", "line 2", "batch_size is -2")
	f("1,2\n2.0,3\n", "line 2", `batch_size is "2.0"`)
	f("1,2\n2\n", "line 2", "1 columns")
	f("1,2,3\n", "line 1", "3 columns")
	f("ms,batch_size\n1\n", "line 2", "1 columns")
	f("1;2,5\n", "line 1", `ms is "2,5"`)
	f("1 2\n", "line 1", "1 columns")
	f("size,time\n1,2\n", "line 1", `["size" "time"] does not name the columns batch_size and ms`)
	f("1,2\n2,\"3\n", "line 2", "extraneous or missing")
	f("<html><body>404</body></html>", "line 1", "does not name the columns")
	f("\x7fELF\x02\x01\x01", "line 1", "")
	f(strings.Repeat("1,1\n", MaxPoints+1), "line 65537", "more than 65536 points")
}

func TestReadKeepsReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	if _, err := Read(iotest.ErrReader(broken), "x.csv"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "x.csv") {
		t.Errorf("got %v, want the reader's own error with the file", err)
	}
}

func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "decode-curve.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, s := range []string{"1,2\n", "ms;batch_size\n2;1", `[[1,2],{"batch_size":2,"ms":3}]`, "[", "{}", "1,NaN", "#\n", "\"", "a\tb\n1\t2"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Read(bytes.NewReader(data), "fuzz")
		if err != nil {
			var e *FormatError
			if !errors.As(err, &e) || e.Reason == "" || e.Next == "" {
				t.Fatalf("error without reason or next step: %v", err)
			}
			return
		}
		points := got.Curve.Points()
		if len(points) == 0 {
			t.Fatal("a curve without points")
		}
		for i, p := range points {
			if p.check() != nil || i > 0 && points[i-1].BatchSize >= p.BatchSize {
				t.Fatalf("point %d of %v", i, points)
			}
			if ms, b := got.Curve.At(p.BatchSize); ms != p.Ms || b != Captured {
				t.Fatalf("captured %v, got %v", p, ms)
			}
		}
		last := points[len(points)-1].BatchSize
		for batch := 1; batch <= min(last, 1000); batch++ {
			if ms, b := got.Curve.At(batch); math.IsNaN(ms) || ms <= 0 || ms > MaxMs || b == Unknown {
				t.Fatalf("batch %d: %v on %v", batch, ms, b)
			}
		}
		if got.Key == "" {
			got.Key = Key(nil)
		}
		again, err := got.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Read(bytes.NewReader(again), "again")
		if err != nil || !slices.Equal(back.Curve.points, points) || back.Key != got.Key {
			t.Fatalf("written %s, read %+v (%v)", again, back, err)
		}
	})
}
