package trace

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// unlearned reads data by looking at every key, quote and bracket: no layout is ever learned.
func unlearned(data []byte, o Options) string {
	r := NewReader(o)
	r.learned = maxLearned
	r.Write(data)
	err := r.Close()
	return outcome(r.Partial(), err, len(data))
}

// argValues are values that arguments may have, some of which need more than comparing words.
var argValues = []string{
	"0", "7", "-1", "12345678", "123456789012345", "1234567890123456", "123456789012345678", "18446744073709551615",
	"99999999999999999999", "0.5", "-0.25", "1.", ".5", "1e3", "1.5E-3", "01", "-", "12a", "1 ", `"8"`, `""`, `"plain"`,
	`"a longer string, of more than sixteen bytes"`, `"esc\"aped"`, `"\u0041"`, "\"\xc3\xa4\"", "\"\x01\"", "\"\xff\"", "[]", "[1, 2]", `{"a": 1}`,
	"[[1, 2], [3]]", "[1}", "true", "null", "false", "nan", "-inf", "Infinity", "1.#INF", "{", "]", `"`, "",
}

// TestLayoutsChangeNothing compares reading by learned layouts with reading without.
func TestLayoutsChangeNothing(t *testing.T) {
	same := func(name string, data []byte) {
		t.Helper()
		if got, want := wholeOf(data, Options{}), unlearned(data, Options{}); got != want {
			a, b := around(got, want)
			t.Fatalf("%s:\n learned …%s\nlooking …%s\n%.2000q", name, a, b, data)
		}
	}
	keys := []string{"device", "stream", "correlation", "graph id", "External id", "a", "\\u0064evice", "grid", "a key of more than fifteen bytes"}
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		// A few forms of args, each with values that mostly stay of their kind.
		var list []string
		for range 3 {
			n := rnd.IntN(5)
			form := make([]string, n)
			kinds := make([]string, n)
			for i := range form {
				form[i], kinds[i] = keys[rnd.IntN(len(keys))], argValues[rnd.IntN(len(argValues)-6)]
			}
			gap := []string{" ", "", "\n      "}[rnd.IntN(3)]
			for range 4 + rnd.IntN(4) {
				var args []string
				for i, k := range form {
					v := kinds[i]
					if rnd.IntN(4) == 0 {
						v = argValues[rnd.IntN(len(argValues))]
					}
					args = append(args, `"`+k+`":`+gap+v)
				}
				cat := []string{"kernel", "cuda_runtime", "cpu_op"}[rnd.IntN(3)]
				list = append(list, slice(cat, "cudaLaunchKernel", "0", "7", num(len(list)+1), "1", strings.Join(args, ","+gap)))
			}
		}
		rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		same("made", []byte(document(list...)))
	}
	var b bytes.Buffer
	if _, err := kineto.Generate(&b, kineto.Options{Steps: 3, Seed: 9, Layers: 2, BytesPerStep: 60_000}); err != nil {
		t.Fatal(err)
	}
	same("generated", b.Bytes())
	for range 300 {
		data := bytes.Clone(b.Bytes())
		for range 1 + rnd.IntN(40) {
			at := rnd.IntN(len(data))
			switch rnd.IntN(3) {
			case 0:
				data[at] = byte(rnd.IntN(256))
			case 1:
				data[at] = `"{}[],:\0e-.`[rnd.IntN(12)]
			default:
				n := min(rnd.IntN(12), len(data)-at)
				data = append(data[:at], data[at+n:]...)
			}
		}
		same("damaged", data)
	}
	for _, x := range examples {
		if sniff([]byte(x.in)) == packPlain {
			same(x.name, []byte(x.in))
		}
	}
	same("args twice", []byte(document(repeated(9, func(i int) string {
		return `{"ph": "X", "cat": "kernel", "name": "k", "ts": ` + num(i+1) + `, "dur": 1, "args": {"device": 3}, "args": {"device": ` +
			[]string{"4", `"5"`, "6, "}[i/3] + `}}`
	})...)))
}

func repeated(n int, f func(i int) string) (list []string) {
	for i := range n {
		list = append(list, f(i))
	}
	return list
}
