package store

import (
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	f := func(in, want string, decided bool) {
		t.Helper()
		got, ok := Sniff([]byte(in))
		if got != want || ok != decided {
			t.Errorf("Sniff(%.20q) = %q, %v; want %q, %v", in, got, ok, want, decided)
		}
	}
	f(`{"traceEvents":[]}`, TypeJSON, true)
	f("[\n", TypeJSON, true)
	f("[", "", false) // 0x5b also begins a zstd skippable frame
	f("\x5b\x2a\x4d\x18", TypeZstd, true)
	f(" \t\r\n{", TypeJSON, true)
	f("\xef\xbb\xbf\n[", TypeJSON, true)
	f("\xff\xfe{\x00", TypeJSON, true)      // UTF-16, low byte first
	f("\xfe\xff\x00 \x00[", TypeJSON, true) // UTF-16, high byte first, a blank
	f("\x00{\x00\"", TypeJSON, true)        // UTF-16 without a mark
	f("\x1f\x8b\x08", TypeGzip, true)
	f("\x28\xb5\x2f\xfd", TypeZstd, true)
	f("\x5a\x2a\x4d\x18\x00", TypeZstd, true) // skippable frame

	f("", "", false)
	f("  \n", "", false)
	f("\xef", "", false)
	f("\xef\xbb", "", false)
	f("\x1f", "", false)
	f("\x28\xb5\x2f", "", false)
	f("\x50\x2a", "", false)
	f(strings.Repeat(" ", SniffLimit-1), "", false)

	f(strings.Repeat(" ", SniffLimit), "", true)
	f("<html>", "", true)
	f("PK\x03\x04", "", true)
	f("\x1f\x00", "", true)
	f("\x28\xb5\x2f\x00", "", true)
	f(`"text"`, "", true)
	f("\x7fELF", "", true)
	f("\xef\xbb{", "", true)
}

// However a file is cut into pieces, the decision is the one over the whole.
func TestSniffPrefixes(t *testing.T) {
	for _, in := range []string{
		"\xef\xbb\xbf  {\"a\":1}", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd\x00", "\x51\x2a\x4d\x18\x00",
		"\xff\xfe \x00[\x00", "\n\n[1]", "hello", "PK\x03\x04",
	} {
		want, _ := Sniff([]byte(in))
		for n := range len(in) + 1 {
			got, ok := Sniff([]byte(in[:n]))
			if ok && got != want {
				t.Errorf("%q cut at %d: %q, whole: %q", in, n, got, want)
			}
			if !ok && got != "" {
				t.Errorf("%q cut at %d: undecided but %q", in, n, got)
			}
		}
	}
}

func TestMetaClean(t *testing.T) {
	f := func(in, want Meta) {
		t.Helper()
		if got := in.Clean(); got != want {
			t.Errorf("%+v.Clean() = %+v, want %+v", in, got, want)
		}
	}
	f(Meta{Name: "../../etc/passwd"}, Meta{Name: "passwd"})
	f(Meta{Name: `C:\traces\run 1.json`}, Meta{Name: "run 1.json"})
	f(Meta{Name: ".."}, Meta{})
	f(Meta{Name: "a\x00b\x1b[31mc\r\nd"}, Meta{Name: "ab[31mcd"})
	f(Meta{Name: "evil\u202egnp.json"}, Meta{Name: "evilgnp.json"})
	f(Meta{Name: "\xff.json"}, Meta{Name: "\uFFFD.json"})
	f(Meta{Label: " prod\n"}, Meta{Label: "prod"})
	f(Meta{Note: "one\r\ntwo\x07"}, Meta{Note: "one\ntwo"})
	f(Meta{Name: "追踪.json.gz"}, Meta{Name: "追踪.json.gz"})
	// 85 three-byte letters are 255 bytes exactly; an 86th does not fit and is
	// not cut in its middle.
	f(Meta{Name: strings.Repeat("追", 86)}, Meta{Name: strings.Repeat("追", 85)})
	f(Meta{Name: "a" + strings.Repeat("追", 85)}, Meta{Name: "a" + strings.Repeat("追", 84)})
}

func TestMetaApply(t *testing.T) {
	s := func(v string) *string { return &v }
	old := Meta{Name: "a.json", Label: "x", Note: "n"}
	got, err := old.Apply(Patch{Label: s(""), Note: s("new")})
	if want := (Meta{Name: "a.json", Note: "new"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := old.Apply(Patch{Name: s(" / ")}); err == nil {
		t.Error("an empty name was accepted")
	}
}
