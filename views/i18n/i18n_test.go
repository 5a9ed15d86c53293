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
	prefixes := []string{"col.", "def.", "block.", "note.", "nav.", "theme.", "login.",
		"health.", "reason.", "rule.", "better.", "role.", "fleet.count_", "range.", "figure.", "short.",
		"verdict.", "story.", "event.", "part.", "plot.", "group.", "capture.n_", "compare.show_", "compare.sort_", "compare.by_", "compare.left_", "compare.per_", "compare.steps_", "compare.align_", "fairlevel.", "verdictword.", "collector.sum", "capturestate.", "collstate.", "target.", "refuse.", "problem.", "said.", "uncapturable."}
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

// Every refusal of the server has words, and no words are left of one that is gone.
func TestRefusalsHaveWords(t *testing.T) {
	names, err := filepath.Glob("../../web/*.go")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	// bad and no are refuse with some of its arguments given; fields are refused by the code that formNumber is given.
	call := regexp.MustCompile(`\b(?:(?:refuse|bad|no)\([^"\n]*?|formNumber\(form\.Get\("\w+"\), )"([a-z_]+)"`)
	phrase := regexp.MustCompile(`Key: "((?:refuse|uncapturable)\.[a-z_]+)"`)
	used := map[string]bool{}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(source), -1) {
			if strings.HasSuffix(name, "_test.go") {
				break
			}
			used["refuse."+m[1]] = true
			if _, _, ok := English.Refusal(m[1]); !ok {
				t.Errorf("%s refuses with %q, which has no words", name, m[1])
			}
		}
		for _, m := range phrase.FindAllStringSubmatch(string(source), -1) {
			used[m[1]] = true
			if !Has(m[1]) {
				t.Errorf("%s says %q, which has no words", name, m[1])
			}
		}
	}
	if len(used) < 60 {
		t.Fatalf("found %d refusals: the search is broken", len(used))
	}
	for key := range refusalTexts {
		if !used[strings.TrimSuffix(key, ".hint")] {
			t.Errorf("%s: nobody refuses so", key)
		}
	}
}

func TestPhrasesInPhrases(t *testing.T) {
	message, hint, ok := Chinese.Refusal("capture_engine", "rank0", Phrase{Key: "uncapturable.down", Args: []any{"n:6070"}})
	if want := "无法采集引擎“rank0”：无法连接其 profile 接口 n:6070"; message != want || hint == "" || !ok {
		t.Errorf("%q, %q, %v; want %q and a hint", message, hint, ok, want)
	}
	if got := English.Say(Phrase{Key: "refuse.capture_steps", Args: []any{51}}); got != "steps is 51" {
		t.Errorf("a number: %q", got)
	}
	if _, _, ok := English.Refusal("no_such"); ok {
		t.Error("an unknown code has words")
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
