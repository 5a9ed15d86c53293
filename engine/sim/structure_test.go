package sim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layout is the form of a trace: of each kind of event its text with the values blanked out, so that keys, their order,
// blanks, line breaks and the forms of numbers remain.
type layout struct {
	header []string // keys beside the events, in order
	events map[string]map[string]bool
	flows  string // what is wrong with the first flow that is
	count  map[string]int
}

// blank replaces an event's values: texts, lists, whole numbers, and the digits of decimals, which keep their number of
// places where that is fixed.
func blank(event []byte) string {
	out := make([]byte, 0, len(event))
	key := ""
	for i := 0; i < len(event); i++ {
		switch c := event[i]; {
		case c == '"':
			end := i + 1
			for event[end] != '"' {
				if event[end] == '\\' {
					end++
				}
				end++
			}
			if end+1 < len(event) && event[end+1] == ':' {
				key = string(event[i : end+1])
				out = append(out, key...)
			} else {
				out = append(out, `"…"`...)
			}
			i = end
		case c == '[':
			out = append(out, "[…]"...)
			i += bytes.IndexByte(event[i:], ']')
		case c == '-' || c >= '0' && c <= '9':
			end := i
			for end < len(event) && strings.IndexByte("+-.0123456789eE", event[end]) >= 0 {
				end++
			}
			out = append(out, '0')
			if _, places, ok := bytes.Cut(event[i:end], []byte(".")); ok && key != `"memory bandwidth (GB/s)"` {
				out = append(out, '.')
				out = append(out, bytes.Repeat([]byte("0"), len(places))...)
			}
			i = end - 1
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// parsed is what of an event its layout and its flows depend on.
type parsed struct {
	Ph, Cat, Name string
	PID, TID      json.RawMessage
	TS, ID        json.Number
	Args          struct {
		Correlation json.Number
		Collective  *string `json:"Collective name"`
	}
}

func layoutOf(t *testing.T, data []byte) *layout {
	t.Helper()
	l := &layout{events: map[string]map[string]bool{}, count: map[string]int{}}
	d := json.NewDecoder(bytes.NewReader(data))
	next := func() json.Token {
		tok, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	next()
	launches, works := map[string]bool{}, map[string]bool{}
	type flow struct{ key, ph string }
	var flows []flow
	for d.More() {
		key := next().(string)
		l.header = append(l.header, key)
		if key != "traceEvents" {
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				t.Fatal(err)
			}
			continue
		}
		next()
		for d.More() {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			var e parsed
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			kind := e.Ph + " " + e.Cat
			switch {
			case e.Ph == "M":
				kind += " " + e.Name
			case e.Args.Collective != nil:
				kind += " collective"
			}
			l.count[kind]++
			if l.events[kind] == nil {
				l.events[kind] = map[string]bool{}
			}
			if len(l.events[kind]) < 1000 {
				l.events[kind][blank(raw)] = true
			}
			at := fmt.Sprintf("%s at %s/%s %s", e.Args.Correlation, e.PID, e.TID, e.TS)
			switch e.Cat {
			case "cuda_runtime", "cuda_driver":
				launches[at] = true
			case "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync":
				works[at] = true
			case "ac2g":
				flows = append(flows, flow{fmt.Sprintf("%s at %s/%s %s", e.ID, e.PID, e.TID, e.TS), e.Ph})
			}
		}
		next()
	}
	for _, f := range flows {
		// A flow's id is a correlation; it starts where the call does and ends where the GPU's work starts.
		if f.ph == "s" && !launches[f.key] || f.ph == "f" && !works[f.key] && !launches[f.key] {
			l.flows = fmt.Sprintf("flow %s, id %s, belongs to nothing", f.ph, f.key)
		}
	}
	return l
}

// The simulated engine's traces have the form of a real one of the same profiler's age: the keys, their order, the blanks
// and line breaks between them, the categories, the ids of flows, the places of decimals.
func TestStructureOfRealTraces(t *testing.T) {
	dir := os.Getenv("STEPSCOPE_CORPUS")
	if dir == "" {
		t.Skip("needs the optional folder of traces and cases: set STEPSCOPE_CORPUS to the folder that holds cases/ and traces/ (CONTRIBUTING.md says where it comes from)")
	}
	if testing.Short() {
		t.Skip("reads 48 MB")
	}
	f, err := os.Open(filepath.Join(dir, "traces", "vllm-h100-4rank-rank0.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	want := layoutOf(t, data)

	s, err := Builtin("graph-misses")
	if err != nil {
		t.Fatal(err)
	}
	d := s.Deployments[0]
	d.Trace.Layers, d.Trace.StepBytes = 3, 150_000
	_, e := runLines(t, d, 1, 2500)
	if err := e.Profiler(nil).Start(50); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := e.Step(); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := e.capture(&e.recorder).Write(&b); err != nil {
		t.Fatal(err)
	}
	got := layoutOf(t, b.Bytes())

	if !slices.Equal(got.header, want.header) {
		t.Errorf("keys\n%q, real\n%q", got.header, want.header)
	}
	for _, l := range []*layout{got, want} {
		if l.flows != "" {
			t.Error(l.flows)
		}
	}
	for kind, forms := range got.events {
		switch {
		case kind == "X cuda_sync":
			continue // profilers that watch synchronisation have them; the real trace's did not
		case want.events[kind] == nil:
			t.Errorf("real traces have no event %q", kind)
			continue
		}
		for form := range forms {
			form = strings.Replace(form, `, "graph id": 0, "graph node id": 0`, "", 1) // the real trace's CUPTI did not tell graphs
			if want.events[kind][form] || strings.HasSuffix(kind, "cpu_op collective") && sameKeys(form, want.events[kind]) {
				continue
			}
			t.Errorf("%s:\n%s\nreal ones are\n%s", kind, form, first(want.events[kind]))
			break
		}
	}
	for kind := range want.events {
		if got.events[kind] == nil && kind != "i " {
			t.Errorf("no event %q of %d in the real trace", kind, want.count[kind])
		}
	}
}

var keys = regexp.MustCompile(`"([^"]+)":`)

// sameKeys says whether one of the forms has all keys of a form, in whatever order: PyTorch writes the arguments of
// collective calls in the order of a hash table.
func sameKeys(form string, forms map[string]bool) bool {
	mine := keys.FindAllString(form, -1)
	for f := range forms {
		theirs := keys.FindAllString(f, -1)
		if !slices.ContainsFunc(mine, func(k string) bool { return !slices.Contains(theirs, k) }) {
			return true
		}
	}
	return false
}

func first(forms map[string]bool) string {
	for f := range forms {
		return f
	}
	return ""
}
