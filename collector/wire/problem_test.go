package wire

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNewProblem(t *testing.T) {
	at := time.Unix(7, 0)
	p := NewProblem(at, "metrics.certificate", "h:1", "{0} expired")
	if p.What != "the certificate of h:1 is not trusted: {0} expired" || p.Hint != "Install its authority on the collector's host, or scrape over http://." ||
		p.Code != "metrics.certificate" || !slices.Equal(p.Args, []string{"h:1", "{0} expired"}) || p.Count != 1 || !p.Time.Equal(at) {
		t.Errorf("%+v", p)
	}
	// The same again counts on; another one begins anew.
	again := NewProblem(at.Add(time.Minute), "metrics.certificate", "h:1", "{0} expired")
	again.Since(p)
	other := NewProblem(at.Add(time.Minute), "metrics.certificate", "h:2", "x")
	other.Since(again)
	if again.Count != 2 || !again.Time.Equal(at) || other.Count != 1 || !other.Time.Equal(at.Add(time.Minute)) {
		t.Errorf("again %+v, other %+v", again, other)
	}
	for text, want := range map[string]string{"{1}{0}{9}{": "ba{9}{", "{x}{0}": "{x}a", "{0": "{0", "{{0}}": "{a}"} {
		if got := fill(text, []string{"a", "b"}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Every code in the sources has its texts, and every text is used. Codes built at run time are named by their beginning.
func TestProblemTextsAndSourcesAgree(t *testing.T) {
	quoted := regexp.MustCompile(`(?:(?:Problem|problem|say|lack|tell|note)\([^"\n]*|code :?= |return |\{)"((?:log|metrics|gpu|profile|config|deliver|schedule|spool|collector|facts)\.[a-z_]+)"`)
	used := map[string]bool{}
	for _, dir := range []string{"../../collector", "../../web"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "problem.go" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range quoted.FindAllSubmatch(text, -1) {
				used[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for code := range used {
		if _, ok := ProblemTexts[code]; !ok && !strings.HasSuffix(code, "_") {
			t.Errorf("%q has no texts", code)
		}
	}
	for code, text := range ProblemTexts {
		built := strings.HasPrefix(code, "log.no_stats_") || strings.HasPrefix(code, "metrics.not_found_")
		if !used[code] && !built {
			t.Errorf("%q is used nowhere", code)
		}
		if text.What == "" || text.Hint == "" {
			t.Errorf("%q: %+v; both texts are needed", code, text)
		}
	}
}
