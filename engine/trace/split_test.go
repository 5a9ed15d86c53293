package trace

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// outcome is what reading gives: the summary's JSON, or the error's text.
func outcome(p *Partial, err error, size int) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return asJSON(p, size)
}

func wholeOf(data []byte, o Options) string {
	p, err := Read(bytes.NewReader(data), o)
	return outcome(p, err, len(data))
}

func splitOf(data []byte, cuts []int64, o Options) string {
	p, err := readCuts(bytes.NewReader(data), int64(len(data)), cuts, o)
	return outcome(p, err, len(data))
}

// ranges makes the readers of a split and has each read its range.
func ranges(data []byte, cuts []int64, o Options, root byte) []*rangeReader {
	rs := make([]*rangeReader, len(cuts)+1)
	from := int64(0)
	for i := range rs {
		to := int64(NoEnd)
		if i < len(cuts) {
			to = cuts[i]
		}
		r := &rangeReader{Reader: NewRangeReader(o, from, to, root), src: bytes.NewReader(data), size: int64(len(data))}
		r.Write(data[from:])
		if !r.done() {
			r.err = r.Close()
		}
		rs[i], from = r, to
	}
	return rs
}

// leanSplitOf is splitOf without its large buffers: one that can be called for every byte.
func leanSplitOf(data []byte, cuts []int64, o Options) string {
	root, ok := Splittable(data)
	if !ok {
		return splitOf(data, cuts, o)
	}
	parts, err := joinRanges(ranges(data, cuts, o, root), cuts)
	if err != nil {
		return outcome(nil, err, len(data))
	}
	return outcome(Merge(parts...), nil, len(data))
}

// sameSplit fails if reading data in the given ranges does not give want.
func sameSplit(t *testing.T, split func([]byte, []int64, Options) string, data []byte, cuts []int64, o Options, want string) bool {
	t.Helper()
	got := split(data, cuts, o)
	if got == want {
		return true
	}
	a, b := around(got, want)
	t.Errorf("cut at %v (%q | %q):\n got …%s\nwant …%s", cuts, tail(data, cuts[0]), head(data, cuts[0]), a, b)
	return false
}

// around returns where two texts begin to differ.
func around(got, want string) (string, string) {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-60)
	return got[from:min(len(got), i+60)], want[from:min(len(want), i+60)]
}

func tail(data []byte, at int64) []byte { return data[max(0, at-20):at] }

func head(data []byte, at int64) []byte { return data[at:min(int64(len(data)), at+20)] }

// inputs are the examples of all tables and the collected cases where they are at hand.
func splitInputs(t *testing.T) []example {
	t.Helper()
	list := append([]example(nil), examples...)
	if dir := os.Getenv("STEPSCOPE_CORPUS"); dir != "" {
		for _, x := range collected {
			data, err := os.ReadFile(corpus(t, "cases", x.name))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, example{x.name, string(data), ""})
		}
	}
	if len(list) < 100 {
		t.Fatalf("only %d inputs", len(list))
	}
	return list
}

// Every single cut of every example: inside names, escapes, numbers, UTF-8 sequences.
// Most examples share their text; a cut in the middle of the same 80 bytes is tried in the
// first two of them.
func TestEveryCut(t *testing.T) {
	// Each reader has buffers many times the size of these inputs.
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	seen := map[string]int{}
	for _, x := range splitInputs(t) {
		data := []byte(x.in)
		want := wholeOf(data, Options{})
		step := 1
		if testing.Short() {
			step = 7
		}
		if len(data) > 5_000 {
			step = len(data) / 10
		}
		for cut := 1; cut < len(data); cut += step {
			near := x.in[max(0, cut-40):min(len(data), cut+40)]
			if seen[near]++; seen[near] > 2 {
				continue
			}
			if !sameSplit(t, leanSplitOf, data, []int64{int64(cut)}, Options{}, want) {
				t.Logf("input %s: %.300q", x.name, x.in)
				break
			}
		}
	}
}

// Pairs and triples of cuts, also equal ones, with few rows as well.
func TestManyCuts(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	r := rand.New(rand.NewPCG(1, 2))
	tries := 4
	if testing.Short() {
		tries = 5
	}
	for _, x := range splitInputs(t) {
		data := []byte(x.in)
		for _, o := range []Options{{}, {Rows: 1}, {Rows: 3, Columns: 1}} {
			want := wholeOf(data, o)
			tries := tries
			if len(data) > 5_000 {
				tries = 2
			}
			for range tries {
				cuts := randomCuts(r, len(data), 1+r.IntN(4))
				if !sameSplit(t, splitOf, data, cuts, o, want) {
					t.Logf("input %s, options %+v: %.300q", x.name, o, x.in)
					break
				}
			}
		}
	}
}

func randomCuts(r *rand.Rand, size, n int) []int64 {
	cuts := make([]int64, n)
	for i := range cuts {
		cuts[i] = r.Int64N(int64(size) + 1)
	}
	for i := range cuts { // few: sorted by insertion
		for k := i; k > 0 && cuts[k] < cuts[k-1]; k-- {
			cuts[k], cuts[k-1] = cuts[k-1], cuts[k]
		}
	}
	return cuts
}

// chunked reads data in pieces whose sizes come from next.
func chunked(data []byte, o Options, next func() int) string {
	p := NewPush(o)
	for rest := data; len(rest) > 0; {
		n := min(max(next(), 1), len(rest))
		copy(p.Space(n), rest[:n])
		rest = rest[n:]
		if !p.Commit(n) {
			break
		}
	}
	if err := p.Close(); err != nil {
		return outcome(nil, err, len(data))
	}
	return outcome(p.Partial(), nil, len(data))
}

func sizes(n int) func() int { return func() int { return n } }

// Chunks of any size, however the file is packed: Push gives what Read gives.
func TestEveryChunk(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, x := range splitInputs(t) {
		data := []byte(x.in)
		want := wholeOf(data, Options{})
		for _, n := range []int{1, 2, 3, 7, 64, 0, len(data)} {
			next := sizes(n)
			if n == 0 {
				next = func() int { return 1 + r.IntN(40) }
			}
			if len(data) > 100_000 {
				next = sizes(n * 10_007)
			}
			if got := chunked(data, Options{}, next); got != want {
				a, b := around(got, want)
				t.Errorf("%s in chunks of %d (0: random):\n got …%s\nwant …%s\n%.300q", x.name, n, a, b, x.in)
				break
			}
		}
	}
}

// A Reader that is written to equals one that reads, and odd sources do not matter.
func TestWriteEqualsRead(t *testing.T) {
	data, _ := generateSmall(t, kineto.Options{Seed: 21, Steps: 2})
	want := wholeOf(data, Options{})
	for _, n := range []int{1, 13, 4096, len(data)} {
		r := NewReader(Options{})
		for rest := data; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			if k, err := r.Write(rest[:min(n, len(rest))]); k != min(n, len(rest)) || err != nil {
				t.Fatalf("wrote %d bytes: %v", k, err)
			}
		}
		if got := outcome(r.Partial(), r.Close(), len(data)); got != want {
			t.Errorf("written %d bytes at a time: another result", n)
		}
	}
	for name, src := range map[string]io.Reader{
		"half reads": iotest.HalfReader(bytes.NewReader(data)), "data with the error": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		p, err := Read(src, Options{})
		if got := outcome(p, err, len(data)); got != want {
			t.Errorf("%s: another result", name)
		}
	}
	for name, src := range map[string]io.Reader{
		"fails once, early":           iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(data))),
		"fails at the start":          iotest.ErrReader(iotest.ErrTimeout),
		"fails in the middle":         io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(iotest.ErrTimeout)),
		"fails in the middle of gzip": io.MultiReader(bytes.NewReader(zipped(t, data)[:900]), iotest.ErrReader(iotest.ErrTimeout)),
	} {
		if _, err := Read(src, Options{}); !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("a source that %s gave the error %v, want its own", name, err)
		}
	}
}

// A partial that travels as bytes is the same partial.
func TestPartialsTravel(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	big, _ := generateSmall(t, kineto.Options{Seed: 22, Steps: 3})
	list := append(splitInputs(t), example{name: "generated", in: string(big)})
	for _, x := range list {
		data := []byte(x.in)
		root, ok := Splittable(data)
		if !ok || len(data) > 1<<20 {
			continue
		}
		for _, o := range []Options{{}, {Rows: 2}} {
			want := wholeOf(data, o)
			for range 4 {
				cuts := randomCuts(r, len(data), 2)
				parts, err := joinRanges(ranges(data, cuts, o, root), cuts)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range parts {
					q, err := DecodePartial(p.AppendBinary(nil))
					if err != nil {
						t.Fatal(err)
					}
					parts[i] = q
				}
				if got := asJSON(Merge(parts...), len(data)); got != want {
					a, b := around(got, want)
					t.Errorf("%s, cuts %v, options %+v:\n got …%s\nwant …%s", x.name, cuts, o, a, b)
				}
			}
		}
	}
}

func TestDecodePartialRefusesOtherBytes(t *testing.T) {
	p := read(t, []byte(document(opA, kernel("k", "3", "1", "1"), annotation("n", "1", "2"))))
	good := p.AppendBinary(nil)
	for n := range len(good) {
		if _, err := DecodePartial(good[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were taken", n, len(good))
		}
	}
	if _, err := DecodePartial(append(append([]byte{}, good...), 0)); err == nil {
		t.Error("a byte too many was taken")
	}
	if _, err := DecodePartial([]byte(strings.Repeat("\xff", 4096))); err == nil {
		t.Error("noise was taken")
	}
}

func generateSmall(t testing.TB, o kineto.Options) ([]byte, kineto.Truth) {
	t.Helper()
	o.Layers, o.BytesPerStep = 3, 60_000
	var b bytes.Buffer
	truth, err := kineto.Generate(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), truth
}
