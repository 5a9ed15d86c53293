package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file without a slice was read, and its verdict says what it is worth; a person is told what to do.
func TestSummaryOfNothing(t *testing.T) {
	for text, want := range map[string]string{
		`{"traceEvents":[`:   "the file ends early",
		`{"traceEvents":[]}`: "capture again",
		`{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]}`: "",
	} {
		name := filepath.Join(t.TempDir(), "cut.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, said := command(t, "trace", "summary", name)
		if code != exitOK || !strings.Contains(said, want) || (want == "") != (said == "") || !strings.Contains(out, "events") {
			t.Errorf("%s: exit code %d; output %q; error %q, want %q", text, code, out, said, want)
		}
	}
}

func TestKernelsPerLaunch(t *testing.T) {
	for _, c := range []struct {
		sum, launches int64
		want          string
	}{{1606, 2, "803"}, {1607, 2, "803.5"}, {0, 3, "0"}, {5, 0, "–"}} {
		if got := perLaunch(c.sum, c.launches); got != c.want {
			t.Errorf("%d kernels in %d launches: %q, want %q", c.sum, c.launches, got, c.want)
		}
	}
}
