package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/stepscope/stepscope/engine/sim/kineto"
	"github.com/stepscope/stepscope/engine/trace"
)

// answer is one line of the harness.
type answer struct {
	Summary string
	Error   *struct{ Error, Hint string }
}

// TestWASMEqualsNative reads the same files natively and by the WASM module under Node,
// with one reader and with three, and wants the same bytes.
func TestWASMEqualsNative(t *testing.T) {
	module := os.Getenv("STEPSCOPE_WASM")
	if module == "" {
		t.Skip("STEPSCOPE_WASM does not name the built module: `make test` builds it and sets the variable")
	}
	if !filepath.IsAbs(module) { // tests run in their package's folder, make in the root
		module = filepath.Join("..", module)
	}
	files := madeFiles(t)
	if dir := os.Getenv("STEPSCOPE_CORPUS"); dir != "" {
		for _, pattern := range []string{"cases/*.json*", "traces/*.json.gz", "traces/dlrm-8rank/*.json.gz"} {
			found, _ := filepath.Glob(filepath.Join(dir, pattern))
			if len(found) == 0 {
				t.Errorf("no file matches %s in STEPSCOPE_CORPUS", pattern)
			}
			files = append(files, found...)
		}
	} else {
		t.Log("STEPSCOPE_CORPUS is not set: only files made here are compared")
	}
	for _, readers := range []int{1, 3} {
		got := runModule(t, module, readers, files)
		for i, name := range files {
			want := native(t, name)
			if want.Error != nil {
				if got[i].Error == nil || *got[i].Error != *want.Error {
					t.Errorf("%s, %d readers: the module says %+v, native says %+v", filepath.Base(name), readers, got[i].Error, *want.Error)
				}
				continue
			}
			if got[i].Summary != want.Summary {
				t.Errorf("%s, %d readers: summaries differ at byte %d:\nmodule: %s\nnative: %s", filepath.Base(name), readers,
					firstDifference(got[i].Summary, want.Summary), around(got[i].Summary, want.Summary), around(want.Summary, got[i].Summary))
			}
		}
	}
}

// madeFiles writes the files that need no corpus: whole, packed, cut, damaged, no trace.
func madeFiles(t *testing.T) []string {
	dir := t.TempDir()
	var files []string
	put := func(name string, b []byte) {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, p)
	}
	var b bytes.Buffer
	if _, err := kineto.Generate(&b, kineto.Options{Steps: 6, Seed: 3, Layers: 3, BytesPerStep: 150_000, IdleSteps: 1}); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	put("whole.json", whole)
	put("cut.json", whole[:len(whole)*2/3])
	damaged := bytes.Clone(whole)
	for i := 40_000; i < len(damaged); i += 30_011 {
		damaged[i] = byte(i)
	}
	put("damaged.json", damaged)
	put("bytes-1-to-255 \x01.json", []byte(`[{"ph":"X","name":"`+strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' {
			return -1
		}
		return r
	}, string(allBytes()))+`","ts":1,"dur":2,"pid":1,"tid":1}]`))
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(whole)
	w.Close()
	put("packed.json.gz", z.Bytes())
	put("packed-cut.json.gz", z.Bytes()[:z.Len()/2])
	third, half := nextEvent(t, whole, len(whole)/3), nextEvent(t, whole, len(whole)/2)
	put("key-of-list.json", swap(t, whole, `"traceEvents"`, `"trac\x02Events"`))
	put("bracket-of-list.json", swap(t, whole, `"traceEvents": [`, `"traceEvents": `))
	put("opened-member.json", swap(t, whole, `"traceEvents"`, `"otherData": {"traceEvents"`))
	put("closed-between.json", slices.Concat(whole[:third], []byte("]"), whole[third:half], []byte("]}"), whole[half:]))
	put("opened-between.json", slices.Concat(whole[:third], []byte("["), whole[third:half], []byte(`{"traceEvents": [`), whole[half:]))
	put("comments.json", slices.Concat(whole[:third], []byte("/* "), whole[third:half], []byte("/* a */"), whole[half:]))
	put("text-before.json", append([]byte("saving {1}\n"), whole...))
	put("escaped-keys.json", swap(t, whole, `"ts"`, `"\u0074s"`))
	from := nextEvent(t, whole, 100_000)
	put("one-event-a-line.json", swap(t, whole[from:third], "},", "}\n"))
	put("no-brackets.json", whole[from:third])
	put("empty.json", nil)
	put("page.html", []byte("<html>login</html>"))
	return files
}

// swap replaces every old, which must be there.
func swap(t *testing.T, data []byte, old, new string) []byte {
	t.Helper()
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("no %q in the capture", old)
	}
	return bytes.ReplaceAll(data, []byte(old), []byte(new))
}

// nextEvent returns where the first event behind at begins.
func nextEvent(t *testing.T, data []byte, at int) int {
	t.Helper()
	i := bytes.Index(data[at:], []byte(`"ph"`))
	if i < 0 {
		t.Fatalf("no event behind byte %d", at)
	}
	return bytes.LastIndexByte(data[:at+i], '{')
}

func allBytes() []byte {
	b := make([]byte, 255)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

func native(t *testing.T, name string) (a answer) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := trace.Read(f, trace.Options{})
	if err != nil {
		e, ok := err.(*trace.Error)
		if !ok {
			t.Fatalf("%s: %v", name, err)
		}
		a.Error = &struct{ Error, Hint string }{e.What, e.Hint}
		return a
	}
	a.Summary = string(trace.Analyze(p, trace.AnalyzeOptions{Name: filepath.Base(name)}).AppendJSON(nil))
	return a
}

func runModule(t *testing.T, module string, readers int, files []string) []answer {
	glue := filepath.Join(runtime.GOROOT(), "lib", "wasm", "wasm_exec.js")
	cmd := exec.CommandContext(t.Context(), "node", "harness.mjs", module, glue, strconv.Itoa(readers))
	cmd.Stdin = strings.NewReader(strings.Join(files, "\n") + "\n")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("node is needed to run the module: %v", err)
	}
	var got []answer
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatalf("the harness printed %q: %v", line, err)
		}
		got = append(got, a)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(files) {
		t.Fatalf("%d answers for %d files", len(got), len(files))
	}
	return got
}

func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func around(a, b string) string {
	i := firstDifference(a, b)
	return a[max(0, i-60):min(len(a), i+60)]
}
