package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/store/storetest"
)

func TestImport(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := storetest.Content(1, 3000), storetest.Content(2, 2<<20), storetest.Content(3, 10)
	write("a.json", a)
	write("b.json", b)
	write("odd[1].json", c)
	write("page.html", []byte("<html>"))
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	line := func(b []byte, state, name string) string {
		return fmt.Sprintf("%s  %12d bytes  %-8s  %s\n", storetest.ID(b), len(b), state, name)
	}
	f := func(in string, code int, out, says string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		got := run(t.Context(), append([]string{"import", "--db", "x.db"}, args...), &IO{In: strings.NewReader(in), Out: &stdout, Err: &stderr})
		if got != code || stdout.String() != out || !strings.Contains(stderr.String(), says) || (says == "") != (stderr.Len() == 0) {
			t.Errorf("import %v: exit %d, want %d\nout  %swant %serr  %s want %q", args, got, code, stdout.String(), out, stderr.String(), says)
		}
	}
	f("", 0, line(a, "new", "a.json"), "", "--label", "prod", "--note", "n", "a.json")
	f("", 0, line(a, "existing", "a.json")+line(b, "new", "b.json"), "", "?.json")
	f("", 0, line(a, "updated", `a.json  (label was "prod")`), "", "--label", "canary", "--note", "n", "a.json")
	f("", 0, line(a, "updated", `a.json  (label was "canary")  (note was "n")`), "", "--label", "prod", "--note", "m", "a.json")
	f("", 0, line(a, "existing", "a.json"), "", "--label", "prod", "--note", "m", "a.json")
	f("", 0, line(c, "new", "odd[1].json"), "", "odd[1].json")
	f("[1]", 0, line([]byte("[1]"), "new", "trace.json"), "", "-")
	f("", 3, "", "give the file that the profiler wrote", "page.html")
	f("", 3, line(a, "existing", "a.json"), `"page.html"`, "page.html", "a.json")
	f("", 3, "", "the file is empty", "-")
	f("", 1, "", `"none*.json": no such file`, "none*.json")
	f("", 1, "", `"folder" is a folder`, "folder", "page.html")
	f("", 2, "", "no valid pattern", "[")
	f("", 2, "", "expected", "--db")
	f("", 1, "", "no such file", "--db", filepath.Join("gone", "x.db"), "a.json")

	st, err := sqlite.Open(t.Context(), "x.db", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	tr, err := st.Trace(t.Context(), storetest.ID(a))
	if err != nil || tr.Meta != (store.Meta{Name: "a.json", Label: "prod", Note: "m"}) {
		t.Errorf("stored as %+v, %v", tr, err)
	}
	if u, err := st.Usage(t.Context()); err != nil || u.Traces != 4 || u.Bytes != int64(len(a)+len(b)+len(c)+3) {
		t.Errorf("usage: %+v, %v", u, err)
	}
}
