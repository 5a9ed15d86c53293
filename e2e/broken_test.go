package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrokenFile opens a file with one fault of each kind: all else counts, and each fault is listed with its place.
func TestBrokenFile(t *testing.T) {
	doc := `{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"deepinfer:schedule","pid":1,"tid":1,"ts":10,"dur":50},
{"ph":"X","cat":"user_annotation","name":"deepinfer:` + "\x07\x01" + `bell","pid":1,"tid":1,"ts":20,"dur":3.5},
{"ph":"X","cat":"cpu_op","name":"D:\jobs\quant\eval.py","pid":1,"tid":1,"ts":22,"dur":1},
null,
{"ph":"X","cat":"cpu_op","name":"nan arg","pid":1,"tid":1,"ts":30,"dur":3,"args":{"x":NaN}},
{"ph":"X","cat":"cpu_op","name":"nan time","pid":1,"tid":1,"ts":35,"dur":NaN},
{"ph":"X","cat":"cpu_op","name":"backwards","pid":1,"tid":1,"ts":36,"dur":-2},
]} and something behind
`
	at := func(part string) int64 {
		i := strings.Index(doc, part)
		if i < 0 {
			t.Fatalf("no %q in the document", part)
		}
		return int64(strings.LastIndex(doc[:i+1], "\n{")) + 1
	}
	path := written(t, "broken.json", []byte(doc))
	p := open(t, shared, "/trace")
	p.drop(path)
	p.done()
	sameAsNative(t, p, 0, path)

	if got := p.fact("Events"); got != "7, 5 slices" {
		t.Errorf("events: %q", got)
	}
	health := p.text("#health-text")
	for _, want := range []string{"1 skipped", "2 repaired", "1 clipped"} {
		if !strings.Contains(health, want) {
			t.Errorf("the health strip does not say %q: %s", want, health)
		}
	}
	if got := eval[string](p, `document.querySelector("#health").dataset.verdict`); got != "warn" {
		t.Errorf("verdict: %q", got)
	}
	p.click("#repairs > summary")
	tb := p.table("repairs")
	for code, want := range map[string]struct{ count, offset int64 }{
		"skipped":         {1, int64(strings.Index(doc, "null,"))},
		"repaired":        {2, at("deepinfer:\x07")},
		"nonfinite":       {1, at("nan arg")},
		"untimed":         {1, at("nan time")},
		"clipped":         {1, at("backwards")},
		"trailing_comma":  {1, int64(strings.Index(doc, "]} and"))},
		"junk_after_root": {1, int64(strings.Index(doc, "and something"))},
	} {
		found := false
		for _, r := range tb.rows {
			if r.Cells["code"].Text == code {
				found = true
				tb.wantInt(r, "count", want.count)
				tb.wantInt(r, "offset", want.offset)
				if len(r.Cells["message"].Text) < 20 {
					t.Errorf("%s: message %q", code, r.Cells["message"].Text)
				}
			}
		}
		if !found {
			t.Errorf("no repair %q is listed", code)
		}
	}
	phases := p.table("phases")
	phases.wantNs(phases.one("deepinfer:\uFFFD\uFFFDbell"), "total_ns", 3500)
	p.shot("broken")
}

// TestTruncatedFiles cuts a trace in the middle of an event, plain and packed: what is there counts, and is marked.
func TestTruncatedFiles(t *testing.T) {
	whole, err := os.ReadFile(smallTrace(t).path)
	if err != nil {
		t.Fatal(err)
	}
	cut := whole[:len(whole)*3/5]
	for cut[len(cut)-1] == '\n' || cut[len(cut)-1] == ',' {
		cut = cut[:len(cut)-1]
	}
	p := open(t, shared, "/trace")
	path := written(t, "cut.json", cut)
	p.drop(path)
	p.done()
	sum := sameAsNative(t, p, 0, path)
	if got, want := p.text("#health-text"), fmt.Sprintf("the file ends early, at byte %s", grouped(int64(len(cut)))); !strings.Contains(got, want) {
		t.Errorf("health: %q, want %q", got, want)
	}
	if got := p.text("#verdict"); !strings.Contains(got, "the file ends early") {
		t.Errorf("the verdict keeps silent about it: %q", got)
	}
	if n := sum.Health.Slices; n == 0 || n >= smallTrace(t).truth.Slices {
		t.Errorf("%d slices of three fifths of a file with %d", n, smallTrace(t).truth.Slices)
	}
	checkPhases(t, p, sum)
	p.shot("truncated")

	packed, err := os.ReadFile(gzipped(t, smallTrace(t).path))
	if err != nil {
		t.Fatal(err)
	}
	path = written(t, "cut.json.gz", packed[:len(packed)/2])
	p.choose(path)
	p.until(`document.querySelector("#facts dd")?.textContent === "cut.json.gz"`)
	sameAsNative(t, p, 1, path)
	if got := p.text("#health-text"); !strings.Contains(got, "the file ends early") {
		t.Errorf("health of the packed file: %q", got)
	}
}

// TestCases opens every small case of the corpus; the reader's own tests know what is right, here the page must agree.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(corpus(t, "cases", "*.json*"))
	if err != nil || len(files) == 0 {
		t.Fatal("STEPSCOPE_CORPUS names a folder without cases: ", err)
	}
	p := open(t, shared, "/trace")
	for i, path := range files {
		name := filepath.Base(path)
		p.choose(path)
		p.until(`document.querySelector("#trace").dataset.state === "done" && document.querySelector("#facts dd")?.textContent === ` + quote(name))
		sum := sameAsNative(t, p, i, path)
		if got, want := p.fact("Events"), grouped(sum.Health.Events)+", "; !strings.HasPrefix(got, want) {
			t.Errorf("%s: events %q, want %s", name, got, want)
		}
		if got := eval[string](p, `document.querySelector("#health").dataset.verdict`); got != sum.Health.Verdict {
			t.Errorf("%s: verdict %q, want %q", name, got, sum.Health.Verdict)
		}
		if len(sum.Health.Warnings) > 0 {
			eval[bool](p, `document.querySelector("#repairs").open = true`)
			tb := p.table("repairs")
			if len(tb.rows) != len(sum.Health.Warnings) {
				t.Errorf("%s: %d warnings listed, want %d", name, len(tb.rows), len(sum.Health.Warnings))
			}
			for _, w := range sum.Health.Warnings {
				for _, r := range tb.rows {
					if r.Cells["code"].Text == w.Code && w.Offset != nil {
						tb.wantInt(r, "offset", *w.Offset)
					}
				}
			}
		}
	}
}
