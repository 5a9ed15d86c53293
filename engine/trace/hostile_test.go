package trace

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// source makes a file of parts that are never held together.
type source struct {
	next func() []byte // nil: the end
	cur  []byte
}

func (s *source) Read(p []byte) (int, error) {
	for len(s.cur) == 0 {
		if s.cur = s.next(); s.cur == nil {
			return 0, io.EOF
		}
	}
	n := copy(p, s.cur)
	s.cur = s.cur[n:]
	return n, nil
}

// file is head, n bodies and tail.
func file(head string, n int, body func(i int, b []byte) []byte, tail string) io.Reader {
	i := -1
	var b []byte
	return &source{next: func() []byte {
		switch i++; {
		case i == 0:
			return []byte(head)
		case i <= n:
			b = body(i-1, b[:0])
			// Many small parts in one read.
			for i < n && len(b) < 1<<15 {
				b = body(i, b)
				i++
			}
			return b
		case i == n+1:
			return []byte(tail)
		}
		return nil
	}}
}

// stretched is head, n bytes of c, and tail.
func stretched(head string, n int, c byte, tail string) io.Reader {
	block := bytes.Repeat([]byte{c}, 1<<16)
	return file(head, n>>16, func(_ int, b []byte) []byte { return append(b, block...) }, tail)
}

// hostile reads src and checks the figures, and that the heap stays below a bound: it is
// looked at whenever the source is asked for bytes, and once more with the summary made.
func hostile(t *testing.T, src io.Reader, maxHeapMB uint64, want string) {
	t.Helper()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak, reads := uint64(0), 0
	look := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	watched := readerFunc(func(p []byte) (int, error) {
		if reads++; reads%256 == 0 {
			look()
		}
		return src.Read(p)
	})
	p, err := Read(watched, Options{})
	if err != nil {
		t.Fatalf("not read: %v", err)
	}
	look()
	check(t, p, want)
	look()
	if used := (peak - min(peak, before.HeapAlloc)) >> 20; used > maxHeapMB {
		t.Errorf("the heap grew by %d MB, want at most %d", used, maxHeapMB)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("feeds hundreds of megabytes")
	}
}

// An event before and one behind what is hostile: both must be read.
const (
	sound   = `{"ph": "X", "name": "a", "ts": 1, "dur": 2}`
	opening = `{"traceEvents": [` + sound + `,`
	closing = `,` + sound + `], "baseTimeNanoseconds": 1700000000000000000}`
	both    = "slices=2; events=3; skipped=1; event_too_long=1; cut at=-; start=1700000000000001000"
)

func TestHostileDepth(t *testing.T) {
	const n = 10 << 20
	hostile(t, stretched(opening, n, '[', closing), 150, "events=2; slices=1; skipped=1; event_too_long=1; cut at="+
		itoa(int64(len(opening)+n+len(closing)))) // nothing closes them, so all behind is inside
	hostile(t, io.MultiReader(stretched(opening, n, '[', ""), stretched("", n, ']', closing)), 150, both)
	hostile(t, io.MultiReader(stretched(opening+`{"args": {"a":`, n, '[', ""), stretched("", n, ']', "}}"+closing)), 150, both)
	hostile(t, io.MultiReader(stretched(`{"x": `, n, '[', ""), stretched("", n, ']', ","+opening[1:len(opening)-1]+"]}")), 150, "events=1; slices=1; header_too_long=1; cut at=-")
	// Below the limit of an element such depth is an ordinary value.
	hostile(t, io.MultiReader(stretched(opening, 1<<20, '[', ""), stretched("", 1<<20, ']', closing)), 150, "slices=2; events=3; skipped=1; event_too_long=-; cut at=-")
	hostile(t, stretched(opening, 1<<20, '{', closing), 150, "slices=2; cut at=-")
}

func TestHostileStrings(t *testing.T) {
	const n = 64 << 20
	hostile(t, stretched(opening+`{"ph": "X", "ts": 3, "dur": 1, "name": "`, n, 'x', `"}`+closing), 150, both)
	hostile(t, stretched(opening+`{"ph": "X", "ts": 3, "dur": 1, "name": "x", "args": {"s": "`, n, '\\', `"}}`+closing), 150, both)
	hostile(t, stretched(`{"traceName": "`, n, '{', `", `+opening[1:len(opening)-1]+`]}`), 150, "slices=1; header_too_long=1; cut at=-")
	hostile(t, stretched(opening+`{"ph": "X", "name": "never closed`, n, 'x', ``), 150, "slices=1; skipped=1; event_too_long=1; events=2; cut at="+
		itoa(int64(len(opening+`{"ph": "X", "name": "never closed`)+n)))
	hostile(t, stretched(`{"never": "closed`, n, 'x', ``), 150, "slices=0; header_too_long=1; verdict=unusable")
	hostile(t, stretched(opening+`oops `, n, 'x', ","+sound+"]}"), 150, "slices=2; junk_between_events=1; cut at=-")
	hostile(t, stretched(opening+`/*`, n, '*', `*/`+sound+"]}"), 150, "slices=2; cut at=-")
	hostile(t, stretched(opening[:len(opening)-1]+`]} junk`, n, '{', ``), 150, "slices=1; junk_after_root=1; cut at=-")
	hostile(t, stretched("", n, ' ', opening[:len(opening)-1]+`]}`), 150, "slices=1; cut at=-")
	hostile(t, stretched(opening+`{"ph": "X", "ts": 3, "name": "num", "dur": `, n, '9', `}`+closing), 150, both)
}

// Damage over and over must not cost the square of the file's length.
func TestHostileDamage(t *testing.T) {
	const n = 200_000
	hostile(t, file(opening, n, func(_ int, b []byte) []byte { return append(b, `{"ph": "X", "name": "a" b", !},`...) }, sound+"]}"), 150,
		"slices=2; cut at=-; events="+itoa(n+2))
	hostile(t, file(opening, n, func(_ int, b []byte) []byte { return append(b, `{"`...) }, closing), 150, "cut at=-")
	hostile(t, file(opening+`{"ph": "X", "args": {`, n, func(_ int, b []byte) []byte { return append(b, `"a" "b": ",{ `...) }, "}}"+closing), 150, "slices=2; cut at=-")
	hostile(t, file(opening, n, func(_ int, b []byte) []byte { return append(b, "}]}, "...) }, closing), 150, "cut at=-")
	hostile(t, file(`{`, n, func(_ int, b []byte) []byte { return append(b, `"traceName": ! `...) }, opening[1:]+sound+"]}"), 150, "slices=2; cut at=-")
	hostile(t, file(opening, n, func(_ int, b []byte) []byte { return append(b, `{"ph": "X", "ts": 1,,,,`...) }, closing), 150, "cut at=-")
}

func eventOf(b []byte, i int, name, tid, ph, args string) []byte {
	b = append(b, `{"ph": "`...)
	b = append(b, ph...)
	b = append(b, `", "name": "`...)
	b = append(b, name...)
	b = append(b, `", "pid": 1, "tid": `...)
	b = append(b, tid...)
	b = append(b, `, "ts": `...)
	b = strconv.AppendInt(b, int64(i+1), 10)
	b = append(b, `, "dur": 1`...)
	b = append(b, args...)
	return append(b, "},\n"...)
}

func TestHostileTables(t *testing.T) {
	notShort(t)
	const m = 1_000_000
	hostile(t, file(opening, 3*m, func(i int, b []byte) []byte { return eventOf(b, i, "name"+strconv.Itoa(i), "1", "X", "") }, sound+"]}"), 600,
		"slices=3000002; events=3000002; names_capped=1; cat =3000002/3000004000; cut at=-")
	hostile(t, file(opening, 2*m, func(i int, b []byte) []byte { return eventOf(b, i, "n", strconv.Itoa(i), "X", "") }, sound+"]}"), 600,
		"slices=2000002; tables_capped=1; cut at=-")
	hostile(t, file(opening, m, func(i int, b []byte) []byte {
		return eventOf(b, i, "n", "1", "s", `, "cat": "ac2g", "id": `+strconv.Itoa(i))
	}, sound+"]}"), 400, "slices=2; unresolved=1000000; ph s=1000000")
	hostile(t, file(opening, 400_000, func(i int, b []byte) []byte {
		return eventOf(b, i, "n", "1", "C", `, "args": {"series`+strconv.Itoa(i)+`": 1}`)
	}, sound+"]}"), 600, "slices=2; counters=262144; tables_capped=1")
	hostile(t, file(opening, 6000, func(i int, b []byte) []byte { return eventOf(b, i, "n", "1", "X", `, "cat": "c`+strconv.Itoa(i)+`"`) }, sound+"]}"), 100,
		"slices=6002; tables_capped=1")
}

// Lists of the summary that a browser could not hold.
func TestHostileLists(t *testing.T) {
	notShort(t)
	const m = 140_000
	hostile(t, file(opening, m, func(i int, b []byte) []byte {
		return eventOf(b, 2*i, "step[DECODE bs="+strconv.Itoa(i)+"]", "1", "X", `, "cat": "user_annotation"`)
	}, sound+"]}"), 400, "slices=140002; steps=131072; steps_capped=8928; shapes=16384; phases=131072; tables_capped=1")
	hostile(t, file(opening, 5000, func(i int, b []byte) []byte {
		return eventOf(b, i, "k", "7", "X", `, "cat": "kernel", "args": {"device": `+strconv.Itoa(i)+`}`)
	}, sound+"]}"), 100, "slices=5002; gpus=4096; tables_capped=1; kernel k=5000/5000000/1000/1000")
}

func TestHostileNesting(t *testing.T) {
	const n = 100_000
	hostile(t, file(opening, n, func(i int, b []byte) []byte {
		b = append(b, `{"ph": "X", "cat": "user_annotation", "name": "n`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `", "pid": 1, "tid": 1, "ts": `...)
		b = strconv.AppendInt(b, int64(i+1), 10)
		b = append(b, `, "dur": `...)
		b = strconv.AppendInt(b, int64(2*(n-i)), 10)
		return append(b, "},"...)
	}, sound+"]}"), 300, "slices=100002; phases=100000; phase n0=1/200000000/2000; cut at=-")
	hostile(t, file(opening, n, func(i int, b []byte) []byte { return eventOf(b, i, "n", "1", "B", "") }, sound+"]}"), 100, "slices=2; unfinished=100000; events=100002")
}

// Joins that must not cost the product of two long lists.
func TestHostileJoins(t *testing.T) {
	const n = 3000
	hostile(t, file(opening, n, func(i int, b []byte) []byte {
		b = append(append(b, on(num(i), "deepinfer:schedule", "1", "100")...), ',')
		return append(append(b, on(num(n+i), "deepinfer:launch_forward_N1_B1", "2", "1")...), ',')
	}, sound+"]}"), 200, "steps=3000; phase deepinfer:launch_forward_N1_B1=3000/3000000/3000000")
	hostile(t, io.MultiReader(
		file(opening, 5*n, func(i int, b []byte) []byte { return eventOf(b, i, "n", num(i), "X", `, "cat": "user_annotation"`) }, ""),
		file("", 5*n, func(i int, b []byte) []byte {
			return eventOf(b, i, "thread_name", num(i), "M", `, "args": {"name": "x"}`)
		}, sound+"]}")),
		200, "slices=15002; phase n=15000/15000000/15000000")
}

// Packed bombs: what they hold goes by in a stream.
func TestHostilePacking(t *testing.T) {
	notShort(t)
	hostile(t, pack(stretched("", 512<<20, ' ', opening[:len(opening)-1]+"]}")), 150, "slices=1; packing=gzip; cut at=-")
	const n = 8_000_000 // 350 MB
	hostile(t, pack(file(opening, n, func(_ int, b []byte) []byte { return append(append(b, sound...), ',') }, sound+"]}")), 150,
		"slices=8000002; events=8000002; span=2000; cut at=-")
}

// pack gzips a stream as it is read.
func pack(src io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		_, err := io.Copy(z, src)
		z.Close()
		w.CloseWithError(err)
	}()
	return r
}

// Flow ids whose low bits are all equal must not share one place in the table: adding
// them would then cost the square of their number.
func TestFlowTableSpreads(t *testing.T) {
	for _, shift := range []uint{0, 4, 16, 32, 44, 51} {
		f := flows{slots: make([]flowRun, 1<<14)}
		used := map[int]bool{}
		for i := range uint64(1 << 12) {
			used[f.hash(i<<shift, 0)] = true
		}
		if len(used) < 1<<11 {
			t.Errorf("4096 ids that are multiples of 2^%d share %d places", shift, len(used))
		}
	}
}

// Names made to be long, many and alike.
func TestHostileNames(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	hostile(t, file(opening, 200, func(i int, b []byte) []byte { return eventOf(b, i, long+strconv.Itoa(i), "1", "X", "") }, sound+"]}"), 500,
		"slices=202; names_capped=1; cut at=-")
}
