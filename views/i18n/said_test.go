package i18n

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/collector/wire"
)

// The pages have the collectors' sentences about captures: in English the same, in Chinese with the same arguments, and
// no others.
func TestSaidTextsAreTheCollectors(t *testing.T) {
	places := regexp.MustCompile(`\{\d\}`)
	for code, english := range wire.SaidTexts {
		own := saidTexts["said."+code]
		if own.en != english || own.zh == "" {
			t.Errorf("%s: %q and %q; the collector says %q", code, own.en, own.zh, english)
		}
		en, zh := places.FindAllString(own.en, -1), places.FindAllString(own.zh, -1)
		slices.Sort(zh)
		slices.Sort(en)
		if !slices.Equal(en, zh) {
			t.Errorf("%s: %q has other arguments than %q", code, own.zh, own.en)
		}
	}
	if len(saidTexts) != len(wire.SaidTexts) {
		t.Errorf("%d sentences, the collectors have %d", len(saidTexts), len(wire.SaidTexts))
	}
}

func TestSaidOfAnotherVersion(t *testing.T) {
	if got, ok := Chinese.Said("changed", "{0}.json"); !ok || got != "{0}.json 在发送时被改动" {
		t.Errorf("%q, %v", got, ok)
	}
	if got, ok := Chinese.Said("changed"); ok {
		t.Errorf("without its argument: %q", got)
	}
	if got, ok := Chinese.Said("of_tomorrow"); ok {
		t.Errorf("an unknown code: %q", got)
	}
}
