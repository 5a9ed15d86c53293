package web

import (
	"testing"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/views/i18n"
)

// The pages have the words of every problem that collectors tell of, in English the same ones.
func TestProblemsHaveWords(t *testing.T) {
	for code, text := range wire.ProblemTexts {
		for key, want := range map[string]string{"problem." + code: text.What, "problem." + code + ".hint": text.Hint} {
			if got := i18n.English.T(key); got != want {
				t.Errorf("%s: the page says %q, the collector %q", key, got, want)
			}
		}
	}
}
