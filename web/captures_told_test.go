package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// A capture's texts come in the page's language: by their codes, or as an older or newer collector wrote them.
func TestCaptureTextsInThePagesLanguage(t *testing.T) {
	s := capturable(t, 40)
	fail := func(change func(c *store.Capture)) {
		t.Helper()
		made, err := s.hub.StartCaptures(t.Context(), wire.CaptureRequest{Deployment: "prod", Engines: []string{"rank0"}, Steps: 20, By: "cli"})
		if err != nil {
			t.Fatal(err)
		}
		c := store.Capture{ID: made[0].ID, State: store.Failed}
		change(&c)
		if err := s.hub.Update(t.Context(), "node1", wire.CaptureUpdate{Capture: c}); err != nil {
			t.Fatal(err)
		}
	}
	fail(func(c *store.Capture) {
		why := wire.Say("listing", "/data/"+pageHostile, wire.Say("cause_permission"))
		next, late, own := wire.Say("read_folder_next"), wire.Say("steps_late", 5), store.Said{Code: "of_tomorrow", Text: "a newer warning"}
		c.Error, c.Hint, c.Warning = why.Text, next.Text, late.Text+"\n"+own.Text
		c.Told = store.Told{Warnings: []store.Said{late, own}, Error: why, Hint: next}
	})
	fail(func(c *store.Capture) {
		c.Error, c.Hint, c.Warning = "an older error", "an older hint", "an older warning"
	})

	for lang, c := range map[string]struct{ has, lacks []string }{
		"en": {
			[]string{"listing /data/", ": permission denied<", "the collector must be able to read the folder", "5 steps did not come in time",
				"a newer warning", "an older error", "an older hint", "an older warning"},
			[]string{"没有权限"},
		},
		"zh": {
			[]string{"列出 /data/", "：没有权限<", "采集器必须能读取该目录", "5 步没有及时完成：已要求服务停止", "a newer warning", "an older error", "an older hint", "an older warning"},
			[]string{"permission denied", "did not come in time", "must be able to read"},
		},
	} {
		_, page := s.do(http.MethodGet, "/captures?lang="+lang, nil, "Accept", "text/html", "Accept-Language", lang)
		for _, text := range c.has {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", lang, text)
			}
		}
		for _, text := range append(c.lacks, "<script>alert") {
			if strings.Contains(page, text) {
				t.Errorf("%s has %q", lang, text)
			}
		}
	}
}

// The server's own words have codes too, and a cancelled capture keeps its warnings.
func TestCancelledByHasACode(t *testing.T) {
	s := capturable(t, 0)
	made, err := s.hub.StartCaptures(t.Context(), wire.CaptureRequest{Deployment: "prod", Engines: []string{"rank0"}, Steps: 20, By: "cli", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.hub.CancelCapture(t.Context(), made[0].ID, "cli")
	if err != nil || c.Error != "cancelled by cli" || c.Told.Error.Code != "cancelled_by" || c.Told.Error.Args[0].Text != "cli" {
		t.Fatalf("%+v, %v", c, err)
	}
	if len(c.Told.Warnings) != 1 || c.Told.Warnings[0].Code != "idle" || c.Warning != "the engine had no running sequence when this was asked" {
		t.Errorf("warning %q, %+v", c.Warning, c.Told.Warnings)
	}
}
