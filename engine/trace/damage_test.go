package trace

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// A trace cut at any byte: an error only before its first bracket; then every whole event
// is read, the cut one is counted as given up, and the cut is told.
func TestCutAtEveryByte(t *testing.T) {
	events := []string{opA, kernel("k\\u00e9\\n", "2.5", "1.25", "7"), launch("cudaLaunchKernel", "1", "1", "7"), flow("s", "7", "1"), counter("c", "1", `"x": [1, {"y": "]}"}]`), annotation("n", "4", "2"), firstB}
	for form, frame := range map[string][2]string{
		"object": {`{"schemaVersion": 1, "traceEvents": [`, `], "baseTimeNanoseconds": 1700000000000000000, "traceName": "x"}`}, "list": {"[", "]"},
		"list with a byte-order mark": {"\ufeff [", "]\n"},
	} {
		data := frame[0]
		var ends, begins []int
		for i, e := range events {
			if i > 0 {
				data += ",\n  "
			}
			begins = append(begins, len(data))
			data += e
			ends = append(ends, len(data))
		}
		data += frame[1]
		isObject := strings.HasPrefix(data, "{")
		for n := range len(data) {
			p, err := Read(strings.NewReader(data[:n]), Options{})
			if err != nil {
				if n > strings.IndexAny(data, "[{") {
					t.Fatalf("%s cut at %d: %v", form, n, err)
				}
				continue
			}
			whole, begun := 0, 0
			for i := range events {
				if ends[i] <= n {
					whole++
				}
				if begins[i] < n {
					begun++
				}
			}
			s := Analyze(p, AnalyzeOptions{})
			slices := int64(0)
			for _, e := range events[:whole] {
				if strings.Contains(e, `"ph": "X"`) {
					slices++
				}
			}
			h := s.Health
			if h.Events != int64(begun) || h.Skipped != int64(begun-whole) || h.Slices != slices || h.Repaired != 0 {
				t.Fatalf("%s cut at %d (%q): events %d, skipped %d, slices %d, repaired %d; want %d, %d, %d, 0",
					form, n, data[max(0, n-30):n], h.Events, h.Skipped, h.Slices, h.Repaired, begun, begun-whole, slices)
			}
			// An object is whole only with its last brace; a list may lack its bracket.
			wantCut := isObject || begun > whole
			if h.TruncatedAt.OK != wantCut || wantCut && h.TruncatedAt.V != int64(n) {
				t.Fatalf("%s cut at %d (%q): truncated %+v", form, n, data[max(0, n-30):n], h.TruncatedAt)
			}
		}
	}
}

// Valid JSON reads the same whatever its blanks and the order of its keys.
func TestLayoutDoesNotMatter(t *testing.T) {
	data, _ := generateSmall(t, kineto.Options{Seed: 31, Steps: 2})
	want := asJSON(read(t, data), 0)
	var compact, indented, sorted bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&indented, data, "\r\n ", "\t  "); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&sorted).Encode(v); err != nil { // keys in order of the alphabet
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"compact": compact.Bytes(), "indented": indented.Bytes(), "keys sorted": sorted.Bytes()} {
		got := strings.Replace(asJSON(read(t, b), 0), `"json_bytes":`+itoa(int64(len(b))), `"json_bytes":`+itoa(int64(len(data))), 1)
		if name == "keys sorted" { // header versions are listed in the file's order
			got, want := cutOut(got, `"versions":{`), cutOut(want, `"versions":{`)
			if got != want {
				a, b := around(got, want)
				t.Errorf("%s:\n got …%s\nwant …%s", name, a, b)
			}
			continue
		}
		if got != want {
			a, b := around(got, want)
			t.Errorf("%s:\n got …%s\nwant …%s", name, a, b)
		}
	}
}

// cutOut removes what stands between open and the next brace.
func cutOut(s, open string) string {
	i := strings.Index(s, open)
	return s[:i] + s[i+strings.IndexByte(s[i:], '}'):]
}

var pieces = []string{
	`{"ph": "X", `, `{"name": "`, `},{`, `}, {"ts": 1`, `]}`, `],"traceName": "x"`, `"traceEvents": [`, `"baseTimeNanoseconds": 5,`, `/*`, `*/`, `//`, `, ,`, `nan`, `-nan(ind)`, `1.#INF`,
	`\u`, `\ud83d`, `\`, `"`, `": "`, `", "`, `null,`, `"args": {"a": [{"ph": "X", "ts": 1}]},`, `{"args": `, "\n\n\n", "\x00", "\xff", "\xef\xbb\xbf", strings.Repeat(" ", 70), strings.Repeat("[", 70),
}

// damage changes data in one random way.
func damage(r *rand.Rand, data []byte) []byte {
	at := r.IntN(len(data))
	n := min(len(data)-at, 1+r.IntN(1<<r.IntN(12)))
	out := append([]byte(nil), data[:at]...)
	switch r.IntN(12) {
	case 0: // another byte
		return append(append(out, byte(r.IntN(256))), data[at+1:]...)
	case 1: // another character of JSON
		return append(append(out, `{}[]",:\/ 0-eE.nN`[r.IntN(17)]), data[at+1:]...)
	case 2: // bytes lost
		return append(out, data[at+n:]...)
	case 3: // bytes twice
		return append(append(out, data[at:at+n]...), data[at:]...)
	case 4: // a log line
		return append(append(out, "\nINFO 12:00 \"x\" {1}\n"...), data[at:]...)
	case 5: // zeros, as of a lost block
		return append(append(out, make([]byte, n)...), data[at+n:]...)
	case 6: // bytes of another place
		from := r.IntN(len(data) - n + 1)
		return append(append(out, data[from:from+n]...), data[min(at+n, len(data)):]...)
	case 7, 8, 9, 10: // a piece that means something
		return append(append(out, pieces[r.IntN(len(pieces))]...), data[at:]...)
	}
	return out // cut
}

// Captures damaged at random: never an error behind the first bracket, what is not damaged
// is there, and neither cuts nor chunks change the result.
func TestDamagedCaptures(t *testing.T) {
	base, truth := generateSmall(t, kineto.Options{Seed: 32, Steps: 3, PrefillEvery: 2})
	rounds := 60
	if testing.Short() {
		rounds = 6
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 99))
		data := base
		hits := 1 + r.IntN(6)
		for range hits {
			data = damage(r, data)
		}
		o := Options{}
		if seed%4 == 0 {
			o.Rows = 1 + r.IntN(800)
		}
		want := wholeOf(data, o)
		if strings.HasPrefix(want, "error") && bytes.IndexByte(data, '{') >= 0 && bytes.IndexByte(data[:min(len(data), 40)], '{') == 1 {
			t.Errorf("seed %d: %s", seed, want)
		}
		for range 4 {
			if !sameSplit(t, splitOf, data, randomCuts(r, len(data), 1+r.IntN(7)), o, want) {
				t.Fatalf("seed %d", seed)
			}
		}
		if got := chunked(data, o, func() int { return 1 + r.IntN(5000) }); got != want {
			a, b := around(got, want)
			t.Fatalf("seed %d in chunks:\n got …%s\nwant …%s", seed, a, b)
		}
		packed := zippedAt(data, 1)
		if got, want := chunked(packed, o, func() int { return 1 + r.IntN(3001) }), wholeOf(packed, o); got != want {
			t.Fatalf("seed %d: packed and in chunks, another result", seed)
		}
	}
	// One hit in the events costs few of them.
	from, to := bytes.Index(base, []byte(`"traceEvents"`))+20, bytes.LastIndex(base, []byte(`"traceName"`))-10
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 7))
		at := from + r.IntN(to-from)
		data := append([]byte(nil), base...)
		data[at] ^= 1 << r.IntN(8)
		s := Analyze(read(t, data), AnalyzeOptions{})
		if lost := truth.Slices - s.Health.Slices; lost > 3 || s.Start.V == 0 || s.Health.TruncatedAt.OK {
			t.Errorf("bit flipped at %d (%q now %q): lost %d slices, start %d, truncated %v", at, base[at-20:at+20], data[at], lost, s.Start.V, s.Health.TruncatedAt.OK)
		}
	}
}

// Examples damaged at random: small inputs meet more states of the reader than large ones.
func TestDamagedExamples(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	rounds := uint64(6)
	if testing.Short() {
		rounds = 1
	}
	for i, x := range examples {
		if len(x.in) > 5_000 {
			continue
		}
		for seed := range rounds {
			damagedExample(t, x, uint64(i), seed)
		}
	}
}

func damagedExample(t *testing.T, x example, i, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(i, seed))
	data := []byte(x.in)
	for range 1 + r.IntN(3) {
		if len(data) > 0 {
			data = damage(r, data)
		}
	}
	if len(data) == 0 {
		return
	}
	o := Options{}
	if seed%4 == 1 {
		o.Rows = 1 + r.IntN(4)
	}
	want := wholeOf(data, o)
	for range 3 {
		if !sameSplit(t, leanSplitOf, data, randomCuts(r, len(data), 1+r.IntN(3)), o, want) {
			t.Fatalf("%s, seed %d: %q", x.name, seed, data)
		}
	}
	if got := chunked(data, o, func() int { return 1 + r.IntN(60) }); got != want {
		a, b := around(got, want)
		t.Fatalf("%s, seed %d in chunks:\n got …%s\nwant …%s\n%q", x.name, seed, a, b, data)
	}
	if p, err := Read(bytes.NewReader(data), o); err == nil {
		if sane(t, Analyze(p, AnalyzeOptions{})); t.Failed() {
			t.Fatalf("%s, seed %d: %q", x.name, seed, data)
		}
	}
}

// Generated captures: cuts at random give one reader's result, with few rows too.
func TestCutCaptures(t *testing.T) {
	base, _ := generateSmall(t, kineto.Options{Seed: 33, Steps: 6, ZOS: true, IdleSteps: 1})
	r := rand.New(rand.NewPCG(8, 9))
	for _, o := range []Options{{}, {Rows: 100}, {Rows: 500, Columns: 1000}} {
		want := wholeOf(base, o)
		for range 12 {
			sameSplit(t, splitOf, base, randomCuts(r, len(base), 1+r.IntN(6)), o, want)
		}
		for k := 2; k < 6; k++ {
			p, err := ReadRanges(bytes.NewReader(base), int64(len(base)), k, o)
			if got := outcome(p, err, len(base)); got != want {
				t.Errorf("%d ranges, options %+v: another result", k, o)
			}
		}
	}
}

// The columns of all ranges are those of one reader.
func TestColumnsOfRanges(t *testing.T) {
	base, _ := generateSmall(t, kineto.Options{Seed: 34, Steps: 2})
	type cell struct {
		ts, dur        int64
		name, pid, tid string
	}
	cells := func(p *Partial) (list []cell) {
		a := &analysis{p: p}
		for i := range p.cols.n {
			b, k := p.cols.blocks[i/colBlock], i%colBlock
			tr := p.tracks.list[b.track[k]]
			list = append(list, cell{b.ts[k], b.dur[k], p.names.str(b.name[k]), a.identText(tr.pid), a.identText(tr.tid)})
		}
		return list
	}
	o := Options{Columns: 1 << 20}
	p, err := Read(bytes.NewReader(base), o)
	if err != nil {
		t.Fatal(err)
	}
	want := cells(p)
	cuts := []int64{int64(len(base) / 3), int64(len(base) / 2)}
	parts, err := joinRanges(ranges(base, cuts, o, '{'), cuts)
	if err != nil {
		t.Fatal(err)
	}
	var got []cell
	for _, part := range parts {
		got = append(got, cells(part)...)
	}
	if len(parts) != 3 || len(want) < 100 || len(got) != len(want) {
		t.Fatalf("%d parts with %d columns, want 3 with %d (at least 100)", len(parts), len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("column %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
