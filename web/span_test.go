package web

import (
	"testing"
	"time"

	"github.com/stepscope/stepscope/views/i18n"
)

func TestSpanInBothLanguages(t *testing.T) {
	for d, want := range map[time.Duration]i18n.Both{
		59900 * time.Millisecond: {EN: "59 s", ZH: "59 秒"},
		15 * time.Minute:         {EN: "15 min", ZH: "15 分钟"},
		47 * time.Hour:           {EN: "47 h", ZH: "47 小时"},
		50 * time.Hour:           {EN: "2 d", ZH: "2 天"},
	} {
		if got := span(d); got != want {
			t.Errorf("%s: %+v, want %+v", d, got, want)
		}
	}
	r := reasonOf("reason.ended", span(2*time.Hour))
	if r.Args[0] != "2 h" || r.ZH[0] != "2 小时" {
		t.Errorf("%+v", r)
	}
}
