package trace

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reference is docs/trace-summary.md.
func reference(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "trace-summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

func codeSpans(s string) (list []string) {
	for _, m := range codeSpan.FindAllStringSubmatch(s, -1) {
		list = append(list, m[1])
	}
	return list
}

// firstCells calls f with the code spans in the first cell of every table row, and with
// the heading above it.
func firstCells(doc string, f func(heading string, spans []string)) {
	heading, fenced := "", false
	for line := range strings.Lines(doc) {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		case strings.HasPrefix(line, "| `"):
			f(heading, codeSpans(strings.Split(line, "|")[1]))
		}
	}
}

// fill sets everything in v to something that is neither null nor empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	}
}

// namedByFile are the objects whose keys come from the file.
var namedByFile = []string{"categories", "category_ns", "events_by_phase", "facts.versions"}

// keyPaths adds the path of every key in v to paths, such as devices[].stream_list[].sum_ns.
func keyPaths(t *testing.T, at string, v any, paths map[string]bool) {
	switch v := v.(type) {
	case nil:
		t.Errorf("%s is null in a summary that has everything", at)
	case []any:
		if len(v) == 0 {
			t.Errorf("%s is empty in a summary that has everything", at)
		}
		for _, x := range v {
			if _, ok := x.(map[string]any); ok {
				keyPaths(t, at+"[]", x, paths)
			}
		}
	case map[string]any:
		if len(v) == 0 {
			t.Errorf("%s is empty in a summary that has everything", at)
		}
		if slices.Contains(namedByFile, at) {
			return
		}
		for k, x := range v {
			path := strings.TrimPrefix(at+"."+k, ".")
			paths[path] = true
			keyPaths(t, path, x, paths)
		}
	}
}

func TestReferenceHasEveryKey(t *testing.T) {
	var s Summary
	fill(reflect.ValueOf(&s).Elem())
	s.Facts.Versions = []versionOf{{"nccl", "1"}}
	var v any
	if err := json.Unmarshal(s.AppendJSON(nil), &v); err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	keyPaths(t, "", v, paths)
	documented := map[string]bool{}
	firstCells(reference(t), func(heading string, spans []string) {
		objects := codeSpans(heading)
		if heading == "The object" {
			objects = []string{""}
		}
		for _, span := range spans {
			// A cell has the whole path of a key that not all objects of the heading have.
			candidates := []string{span}
			if !strings.Contains(span, "[].") {
				candidates = nil
				for _, o := range objects {
					candidates = append(candidates, strings.TrimPrefix(o+"."+span, "."))
				}
			}
			known := false
			for _, path := range candidates {
				documented[path] = true
				known = known || paths[path]
			}
			if len(objects) > 0 && !known {
				t.Errorf("the table below %q has %q, which is not in the JSON", heading, span)
			}
		}
	})
	for path := range paths {
		if !documented[path] {
			t.Errorf("no table has %q", path)
		}
	}
}

// sourceWarningCodes finds the codes in the package's source: the first argument of calls
// to warn, and the field named code of table entries.
func sourceWarningCodes(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	add := func(e ast.Expr) {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			codes[code] = true
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "warn" && len(n.Args) > 0 {
					add(n.Args[0])
				}
			case *ast.CompositeLit:
				addTableCodes(n, add)
			}
			return true
		})
	}
	return codes
}

// addTableCodes calls add with the field named code of each entry of a table of structs.
func addTableCodes(table *ast.CompositeLit, add func(ast.Expr)) {
	array, ok := table.Type.(*ast.ArrayType)
	if !ok {
		return
	}
	entry, ok := array.Elt.(*ast.StructType)
	if !ok {
		return
	}
	at, i := -1, 0
	for _, field := range entry.Fields.List {
		for _, name := range field.Names {
			if name.Name == "code" {
				at = i
			}
			i++
		}
	}
	for _, e := range table.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if c, ok := e.(*ast.CompositeLit); ok && at >= 0 && at < len(c.Elts) {
			add(c.Elts[at])
		}
	}
}

func TestReferenceHasEveryWarningCode(t *testing.T) {
	codes := sourceWarningCodes(t)
	// One of each way in which the source names a code: else the search is broken.
	for _, code := range []string{"truncated", "untimed", "skipped", "unlinked_launches", "flows_capped"} {
		if !codes[code] {
			t.Fatalf("the search for codes in the source misses %q, found %v", code, codes)
		}
	}
	documented := map[string]bool{}
	firstCells(reference(t), func(heading string, spans []string) {
		if heading != "Warning codes" {
			return
		}
		for _, code := range spans {
			if documented[code] {
				t.Errorf("the table has %q twice", code)
			}
			documented[code] = true
			if !codes[code] {
				t.Errorf("the table has %q, which no code path gives", code)
			}
		}
	})
	for code := range codes {
		if !documented[code] {
			t.Errorf("the table lacks %q", code)
		}
	}
}

// fencedBlock returns the content of the fenced block with that info string.
func fencedBlock(t *testing.T, doc, info string) string {
	t.Helper()
	_, rest, ok := strings.Cut(doc, "\n```"+info+"\n")
	if !ok {
		t.Fatalf("no block %q", info)
	}
	block, _, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		t.Fatalf("the block %q does not end", info)
	}
	return block + "\n"
}

func TestReferenceExample(t *testing.T) {
	doc := reference(t)
	in := fencedBlock(t, doc, "json example.json")
	var want bytes.Buffer
	if err := json.Compact(&want, []byte(fencedBlock(t, doc, "json summary"))); err != nil {
		t.Fatal(err)
	}
	want.Truncate(len(bytes.TrimRight(want.Bytes(), "\n")))
	p, err := ReadRanges(strings.NewReader(in), int64(len(in)), 2, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := Analyze(p, AnalyzeOptions{Name: "example.json"}).AppendJSON(nil)
	for i := range min(len(got), want.Len()) {
		if got[i] != want.Bytes()[i] {
			from := max(0, i-40)
			t.Fatalf("the example's summary has %q where the page has %q",
				got[from:min(len(got), i+40)], want.Bytes()[from:min(want.Len(), i+40)])
		}
	}
	if len(got) != want.Len() {
		t.Fatalf("the example's summary has %d bytes, the page %d", len(got), want.Len())
	}
}
