package i18n

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryKeyHasBothLanguages(t *testing.T) {
	if len(catalogue) < 200 {
		t.Fatalf("the catalogue has %d keys: tables are missing", len(catalogue))
	}
	placeholder := regexp.MustCompile(`\{\d\}`)
	for key, text := range catalogue {
		if strings.TrimSpace(text.en) == "" || strings.TrimSpace(text.zh) == "" {
			t.Errorf("%s: en %q, zh %q: one is missing", key, text.en, text.zh)
		}
		en, zh := placeholder.FindAllString(text.en, -1), placeholder.FindAllString(text.zh, -1)
		if len(en) != len(zh) {
			t.Errorf("%s: placeholders differ: %q and %q", key, text.en, text.zh)
		}
	}
}

// Keys in templates are checked both ways: none unknown, none unused. Keys
// built at run time are named by their prefix.
func TestTemplatesAndCatalogueAgree(t *testing.T) {
	used := map[string]bool{}
	prefixes := []string{"col.", "def.", "block.", "note.", "nav.", "theme.", "error.", "login.",
		"health.", "reason.", "rule.", "better.", "role.", "fleet.count_", "range.", "figure.", "short.",
		"verdict.", "story.", "event.", "part.", "plot.", "group.", "capture.n_", "compare.show_", "compare.left_", "compare.per_", "compare.steps_", "compare.align_", "fairlevel.", "verdictword.", "collector.sum", "capturestate.", "collstate.", "target."}
	call := regexp.MustCompile(`[.(\s](?:t|T|page)\([^"()]*"([a-z0-9_.]+)"\s*([+,)])`)
	files := 0
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "node_modules" || d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		source := strings.HasSuffix(name, ".templ") || strings.HasSuffix(name, ".go")
		if !source || strings.HasSuffix(name, "_templ.go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], ".") {
				continue
			}
			if m[2] == "+" {
				continue // a prefix: what it makes is checked by the tests of views
			}
			used[m[1]] = true
			if !Has(m[1]) {
				t.Errorf("%s uses %q, which the catalogue lacks", name, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 || len(used) < 80 {
		t.Fatalf("found %d keys in %d files: the search is broken", len(used), files)
	}
	for key := range catalogue {
		dynamic := false
		for _, p := range prefixes {
			dynamic = dynamic || strings.HasPrefix(key, p)
		}
		if !used[key] && !dynamic && key != "list.saved" && key != "list.restored" && key != "fleet.saved" && key != "fleet.restored" && key != "fleet.baseline" {
			t.Errorf("%s: no page uses it", key)
		}
	}
}

func TestLanguageChoice(t *testing.T) {
	f := func(header string, want Lang) {
		t.Helper()
		if got := Accept(header); got != want {
			t.Errorf("Accept(%q) = %s, want %s", header, got, want)
		}
	}
	f("", English)
	f("de,fr;q=0.9", English)
	f("zh-CN,zh;q=0.9,en;q=0.8", Chinese)
	f("en-GB,en;q=0.9,zh;q=0.8", English)
	f("de, zh-TW;q=0.7", Chinese)
	f("zhx", English)
}

func TestPlaceholders(t *testing.T) {
	if got := English.T("list.deleted", "a {1} b", "24 h"); !strings.Contains(got, "“a {1} b”") || !strings.Contains(got, "24 h") {
		t.Errorf("an argument was taken for a placeholder: %q", got)
	}
	if got := Chinese.T("no.such.key"); got != "no.such.key" {
		t.Errorf("unknown key gives %q", got)
	}
}

func TestWordsFollowTheirNumber(t *testing.T) {
	catalogue["test.number"] = text{"{0} {0|engine|engines} of {1} {1|host runs|hosts run} {2}", "{0} {1} {2}"}
	defer delete(catalogue, "test.number")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"1", "2", "a|b}"}, "1 engine of 2 hosts run a|b}"},
		{[]string{"0", "1", "{0|x|y}"}, "0 engines of 1 host runs {0|x|y}"}, // arguments are nobody's words
		{[]string{"1,000"}, "1,000 engines of {1} {1|host runs|hosts run} {2}"},
	} {
		if got := English.T("test.number", c.args...); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}
