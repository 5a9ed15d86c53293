package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
)

func inspectText(t testing.TB, text string) (inspected, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return inspect(f, int64(len(text)))
}

func TestInspect(t *testing.T) {
	whole1 := gz(t, doc)
	big := `{"traceEvents":[` + strings.Repeat(`{"name":"a\"]}","ts":1},`, 20000) + `{}]}`
	for _, c := range []struct {
		name, text string
		want       ending
		kind       string
	}{
		{"object", doc, whole, store.TypeJSON},
		{"array", "[1,2]\n\n", whole, store.TypeJSON},
		{"byte-order mark", "\xef\xbb\xbf" + doc, whole, store.TypeJSON},
		{"larger than a buffer", big, whole, store.TypeJSON},
		{"brackets in strings", `{"a":"]}\\\"}","b":["{"]}`, whole, store.TypeJSON},
		{"zeros behind, as of a file that is made longer first", doc + "\x00\x00", whole, store.TypeJSON},
		{"two documents", doc + doc, whole, store.TypeJSON},
		{"cut in a number", doc[:len(doc)-4], cut, store.TypeJSON},
		{"cut in a string", `{"a":"b}`, cut, store.TypeJSON},
		{"cut behind an event", `{"traceEvents":[{"ts":1},{"ts":2}`, odd, store.TypeJSON},
		{"cut behind a comma", `{"traceEvents":[{"ts":1},`, cut, store.TypeJSON},
		{"one bracket", "{", cut, store.TypeJSON},
		{"too many closed", "{}}", odd, store.TypeJSON},
		{"empty", "", cut, ""},
		{"blanks", "  \n", cut, ""},
		{"gzip", whole1, whole, store.TypeGzip},
		{"gzip without its last byte", whole1[:len(whole1)-1], cut, store.TypeGzip},
		{"gzip without its trailer", whole1[:len(whole1)-8], cut, store.TypeGzip},
		{"gzip head", whole1[:4], cut, store.TypeGzip},
		{"gzip with a damaged sum", whole1[:len(whole1)-8] + "\x00\x00\x00\x00" + whole1[len(whole1)-4:], cut, store.TypeGzip},
		{"two members", whole1 + whole1, whole, store.TypeGzip},
		{"gzip of nothing", gz(t, ""), cut, store.TypeGzip},
		{"gzip of text", gz(t, "hello"), notJSON, store.TypeGzip},
		{"text", "hello", notJSON, ""},
		{"an ELF program", "\x7fELF\x02\x01", notJSON, ""},
		{"zstd", "\x28\xb5\x2f\xfd\x00\x00", notJSON, store.TypeZstd},
	} {
		got, err := inspectText(t, c.text)
		sum := sha256.Sum256([]byte(c.text))
		if err != nil || got.ending != c.want || got.contentType != c.kind {
			t.Errorf("%s: ending %d of %q (%s), %v; want %d of %q", c.name, got.ending, got.contentType, got.why.Text, err, c.want, c.kind)
		}
		if got.sha256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: sum %s", c.name, got.sha256)
		}
		if (got.ending == whole) != (got.why.Text == "") {
			t.Errorf("%s: why is %q", c.name, got.why.Text)
		}
	}
}

// A file that is not as long as it was when it was listed.
func TestInspectChanged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	write(t, doc, name)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int64{int64(len(doc)) - 1, int64(len(doc)) + 1, 1 << 20} {
		if _, err := inspect(f, size); !errors.Is(err, errSize) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Brackets come out the same however a text is cut into pieces, and a valid document is always whole.
func FuzzBrackets(f *testing.F) {
	for _, s := range []string{doc, `{"a":"\\"}`, `[["}"]`, `"`, `{"\"`, "[}\x00", `{"a":"\u00e9\n"}`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		var one, two brackets
		one.Write([]byte(text))
		if at < 0 || at > len(text) {
			at = len(text) / 2
		}
		for _, part := range []string{text[:at], text[at:]} {
			if n, err := two.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, len(part), err)
			}
		}
		if one != two {
			t.Fatalf("%+v in one piece, %+v cut at %d", one, two, at)
		}
		trimmed := strings.TrimLeft(text, " \n\r\t")
		if trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid([]byte(text)) {
			if e, why := one.ending(); e != whole {
				t.Fatalf("a valid document is %d: %s", e, why)
			}
			if e, _ := cutOff(text).ending(); e == whole {
				t.Fatal("a document without its end is whole")
			}
		}
	})
}

// cutOff is the brackets of a text without its last bracket.
func cutOff(text string) *brackets {
	var b brackets
	b.Write([]byte(text[:strings.LastIndexAny(text, "}]")]))
	return &b
}

func TestNames(t *testing.T) {
	di := deepInferNames(2, 3, nil)
	id := "stepscope0123456789ab"
	for _, c := range []struct {
		match matcher
		name  string
		want  string // rank/part, or "" for no match
	}{
		{di, "profile-10.0.0.7-gpu2-rank3-20261129-101112-013.json", "3/-1"},
		{di, "profile-10.0.0.7-gpu2-rank4-20261129-101112-013.json", ""},
		{di, "profile-10.0.0.7-gpu1-rank3-20261129-101112-013.json", ""},
		{di, "profile-10.0.0.7-gpu2-rank3-20261129-101112-013.json.truth", ""},
		{deepInferNames(-1, -1, nil), "profile-::1-gpu0-rank9-20261129-101112-013.json", "9/-1"},
		{vllmNames, "dp0_pp0_tp0_dcp0_ep0_rank0.1766000000123456789.pt.trace.json.gz", "0/0"},
		{vllmNames, "pre_dp1_pp0_tp7_dcp0_ep15_rank15.1766000000123456789.pt.trace.json", "15/1"},
		{vllmNames, "rank0.1766000000123456789.pt.trace.json.gz", "0/-1"},
		{vllmNames, "4f2a-11-rank-3.1766000000123456789.pt.trace.json.gz", "3/-1"},
		{vllmNames, "node7_4711.1766000000123456789.pt.trace.json.gz", "-1/-1"},
		{vllmNames, "node7_4711.async_llm.1766000000123456789.pt.trace.json.gz", ""},
		{vllmNames, "profiler_out_0.txt", ""},
		{vllmNames, "dp0_rank0.pt.trace.json.gz", ""},
		{sglangNames(id), id + "-TP-0.trace.json.gz", "0/-1"},
		{sglangNames(id), "pre-" + id + "-TP-3-DP-1-PP-0-EP-2-EXTEND.trace.json.gz", "3/1"},
		{sglangNames(id), id + "-TP-0-decode.trace.json.gz", "0/-1"},
		{sglangNames(id), "merged-" + id + ".trace.json.gz", ""},
		{sglangNames(id), id + "-TP-0-memory.1.pickle", ""},
		{sglangNames(id), id + "0-TP-0.trace.json.gz", ""},
		{trtNames, "trtllm-trace-1766000000-0a1b2c3d-rank-12.json", "12/-1"},
		{trtNames, "trtllm-trace-1766000000-0a1b2c3d-rank-12.json.tmp", ""},
		{trtNames, "trtllm-trace-x-0a1b2c3d-rank-12.json", ""},
	} {
		f, ok := c.match(c.name)
		got := ""
		if ok {
			got = fmt.Sprintf("%d/%d", f.rank, f.part)
		}
		if got != c.want {
			t.Errorf("%s is %q, want %q", c.name, got, c.want)
		}
	}
	if f, _ := vllmNames("rank0.1766000000123456789.pt.trace.json"); f.time.UnixNano() != 1766000000123456789 {
		t.Errorf("time %s", f.time)
	}
}

// Any name: no panic, and what matches has no separator and sensible numbers.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"profile-10.0.0.7-gpu2-rank3-20261129-101112-013.json", "rank0.1766000000123456789.pt.trace.json.gz",
		"stepscope01-TP-3-DP-1.trace.json.gz", "trtllm-trace-1766000000-0a1b2c3d-rank-12.json", "../rank0.1766000000123456789.pt.trace.json"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for i, m := range []matcher{deepInferNames(-1, -1, nil), vllmNames, sglangNames("stepscope01"), trtNames} {
			if info, ok := m(name); ok && (info.rank < -1 || info.part < -1 || info.rank > 1_000_000_000) {
				t.Errorf("matcher %d gives %+v of %q", i, info, name)
			}
		}
	})
}
