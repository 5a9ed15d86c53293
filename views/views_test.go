package views

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/views/i18n"
)

func testPage(lang i18n.Lang) Page {
	return Page{
		Lang: lang, Theme: "dark", Nav: "trace", Title: "T", Path: "/trace",
		Query:  url.Values{"trace": {"/example.json.gz"}},
		Assets: map[string]string{"app.css": "/static/app-1.css", "page.js": "/static/page-1.js", "icon.svg": "/static/icon-1.svg"},
	}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile holds what a name in a trace may be: markup, quotes, line breaks.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'&` + "\n\u202e"

func TestHostileNamesStayText(t *testing.T) {
	k := KeptTrace{ID: strings.Repeat("ab", 32), Name: hostile, Label: hostile, Note: hostile, Bytes: 1, Created: time.Unix(0, 0)}
	for name, html := range map[string]string{
		"list":    render(t, Traces(testPage(i18n.English), TraceList{Search: hostile, Traces: []KeptTrace{k}, Deleted: &k, Next: hostile, Grace: "24 h"})),
		"nothing": render(t, Traces(testPage(i18n.Chinese), TraceList{Search: hostile})),
		"error":   render(t, Error(testPage(i18n.English), Failure{Status: 404, Message: hostile, Hint: hostile})),
	} {
		if strings.Contains(html, "<script>") || strings.Contains(html, "<img") {
			t.Errorf("%s: a name became markup:\n%s", name, html)
		}
		if !strings.Contains(html, "&lt;script&gt;") {
			t.Errorf("%s: the name is not shown as it is", name)
		}
	}
	p := testPage(i18n.English)
	p.Query = url.Values{"trace": {hostile}}
	html := render(t, Trace(p, TraceConfig{Version: "</script><script>alert(3)</script>"}))
	if strings.Contains(html, "<script>alert") {
		t.Error("the trace page lets its address or its data become a script")
	}
}

// The strict policy forbids inline scripts, handlers and style elements; the
// pages must not even try.
func TestPagesNeedNoInlineCode(t *testing.T) {
	handler := regexp.MustCompile(`<[^>]+\son[a-z]+=`)
	script := regexp.MustCompile(`<script[^>]*>`)
	html := render(t, Trace(testPage(i18n.English), TraceConfig{}))
	if m := handler.FindString(html); m != "" {
		t.Errorf("an inline handler: %s", m)
	}
	if strings.Contains(html, "<style") || strings.Contains(html, "javascript:") {
		t.Error("an inline style element or a javascript: address")
	}
	for _, tag := range script.FindAllString(html, -1) {
		if !strings.Contains(tag, " src=") && !strings.Contains(tag, `type="application/json"`) {
			t.Errorf("an inline script: %s", tag)
		}
	}
}

// What the scripts look for must be there, once.
func TestTracePageHasItsParts(t *testing.T) {
	html := render(t, Trace(testPage(i18n.English), TraceConfig{Lang: "en", MaxUpload: 7, Example: Example{URL: "/example.json.gz"}}))
	for _, id := range []string{
		"trace", "start", "file-input", "url-form", "url-input", "open-example", "error-box", "tabs", "tpl-tab", "progress",
		"progress-bar", "progress-text", "progress-events", "progress-cancel", "facts", "tpl-fact", "health", "health-verdict", "health-text",
		"repairs", "verdict", "step", "step-facts", "inspect", "keys", "drop-veil", "keep", "keep-form", "keep-progress",
		"keep-result", "keep-error", "keep-url", "tpl-class", "tpl-phases-group", "chart-steps", "chart-shapes", "launches",
		"ss-config", "chart-steps-option", "chart-shapes-option",
	} {
		if n := strings.Count(html, ` id="`+id+`"`); n != 1 {
			t.Errorf("id %q is there %d times, want once", id, n)
		}
	}
	for _, table := range Tables {
		if strings.Count(html, `<table data-table="`+table.ID+`"`) != 1 || strings.Count(html, `id="tpl-`+table.ID+`-row"`) != 1 {
			t.Errorf("table %s or its row template is not there once", table.ID)
		}
	}
	_, after, _ := strings.Cut(html, `<script id="ss-config" type="application/json">`)
	raw, _, _ := strings.Cut(after, "</script>")
	var cfg TraceConfig
	if err := json.Unmarshal([]byte(raw), &cfg); err != nil || cfg.MaxUpload != 7 || cfg.Lang != "en" || cfg.Example.URL != "/example.json.gz" {
		t.Errorf("the page's configuration reads as %+v, error %v, from %s", cfg, err, raw)
	}
	if !strings.Contains(html, "<noscript>") {
		t.Error("nothing says what the page needs when scripts are off")
	}
}

// No figure without a label and a definition, in either language.
func TestEveryColumnIsExplained(t *testing.T) {
	for _, table := range Tables {
		sorted := 0
		keys := map[string]bool{}
		for _, c := range table.Columns {
			for _, lang := range i18n.Langs {
				if s := table.Label(lang, c); strings.HasPrefix(s, "col.") {
					t.Errorf("%s: column %s has no label", table.ID, c.Key)
				}
				if s := table.Def(lang, c); strings.HasPrefix(s, "def.") {
					t.Errorf("%s: column %s has no definition", table.ID, c.Key)
				}
			}
			if keys[c.Key] {
				t.Errorf("%s: column %s is there twice", table.ID, c.Key)
			}
			keys[c.Key] = true
			if c.Sort != "" {
				sorted++
			}
		}
		if sorted > 1 {
			t.Errorf("%s starts sorted by %d columns", table.ID, sorted)
		}
	}
}

func TestSwitchesKeepWhatIsOpen(t *testing.T) {
	html := render(t, Trace(testPage(i18n.English), TraceConfig{}))
	if want := `href="/trace?lang=zh&amp;trace=%2Fexample.json.gz"`; !strings.Contains(html, want) {
		t.Errorf("the language switch loses the trace: no %s", want)
	}
	if want := `href="/trace?theme=light&amp;trace=%2Fexample.json.gz"`; !strings.Contains(html, want) {
		t.Errorf("the theme switch loses the trace: no %s", want)
	}
	if !strings.Contains(html, `<html lang="en" data-theme="dark" data-page="trace">`) {
		t.Error("language and theme are not on the document")
	}
}

func TestUnbuiltAssetsAreSaid(t *testing.T) {
	p := testPage(i18n.English)
	p.Assets = nil
	html := render(t, Trace(p, TraceConfig{}))
	if !strings.Contains(html, "make build") || strings.Contains(html, "<link") || strings.Contains(html, "<script type=\"module\"") {
		t.Error("without assets the page must say so and link to none")
	}
}

func TestMegabytes(t *testing.T) {
	f := func(n int64, want string) {
		t.Helper()
		if got := megabytes(n); got != want {
			t.Errorf("megabytes(%d) = %s, want %s", n, got, want)
		}
	}
	f(0, "0")
	f(999, "<0.001")
	f(1834, "0.002")
	f(1_230_000, "1.23")
	f(98_234_123, "98.2")
	f(410_400_000, "410")
	f(5_210_000_000, "5,210")
	if got := exactBytes(1_234_567); got != "1,234,567 B" {
		t.Errorf("exactBytes = %s", got)
	}
}

// Text and its background must differ enough to be read at night.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("../web/static/css/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, _ := strings.Cut(string(css), "@media")
	auto, dark, _ := strings.Cut(rest, `:root[data-theme="dark"]`)
	for name, block := range map[string]string{"light": light, "dark, by the system": auto, "dark": dark} {
		vars := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
			vars[m[1]] = m[2]
		}
		for _, pair := range [][2]string{
			{"ink", "bg"}, {"ink", "raised"}, {"ink", "hover"}, {"ink", "selected"}, {"ink", "bar"}, {"muted", "bg"}, {"muted", "raised"},
			{"muted", "hover"}, {"muted", "ok-bg"}, {"muted", "warn-bg"}, {"muted", "bad-bg"}, {"faint", "bg"}, {"accent", "bg"}, {"accent", "raised"},
			{"on-accent", "accent"}, {"ok", "ok-bg"}, {"warn", "warn-bg"}, {"bad", "bad-bg"}, {"bad", "bg"},
		} {
			fg, bg := vars[pair[0]], vars[pair[1]]
			if fg == "" || bg == "" {
				t.Fatalf("%s: no colour for %v", name, pair)
			}
			if c := contrast(t, fg, bg); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want 4.5", name, pair[0], pair[1], c)
			}
		}
	}
}

// A name cannot turn the text around it.
func TestHarmless(t *testing.T) {
	for name, want := range map[string]string{
		"decode step":              "decode step",
		"gpj.\u202egnp\u2069.exe":  "gpj.\uFFFDgnp\uFFFD.exe",
		"\u05e9\u05dc\u05d5\u05dd": "\u05e9\u05dc\u05d5\u05dd",
	} {
		if got := harmless(name); got != want {
			t.Errorf("harmless(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestEventsSayTheirNumberOnlyWhereItCounts(t *testing.T) {
	p := Page{Lang: i18n.English}
	for _, c := range []struct {
		row  EventRow
		want string
	}{
		{EventRow{Kind: "gap", N: 1200}, "1,200 lines"},
		{EventRow{Kind: "dropped", N: 3, Detail: "a burst"}, "3 samples: a burst"},
		{EventRow{Kind: "capture", N: 4, Detail: "capture #4"}, "capture #4"},
		{EventRow{Kind: "restart", N: 1}, ""},
	} {
		if got := c.row.about(p); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
}

func TestLongNotesAreFolded(t *testing.T) {
	for _, c := range [...]struct {
		note, begin string
		folded      bool
	}{
		{strings.Repeat("x", 240), "", false},
		{strings.Repeat("x", 241), strings.Repeat("x", 240), true},
		{strings.Repeat("é", 121), strings.Repeat("é", 120), true}, // of two bytes each
		{"a" + strings.Repeat("é", 121), "a" + strings.Repeat("é", 120), true},
		{"1\n2\n3\n4\n5\n6", "", false},
		{"1\n2\n3\n4\n5\n6\n7", "1\n2\n3\n4\n5\n6", true},
	} {
		begin, folded := KeptTrace{Note: c.note}.noteBegin()
		if begin != c.begin || folded != c.folded {
			t.Errorf("%q: %q, %v; want %q, %v", c.note, begin, folded, c.begin, c.folded)
		}
		page := render(t, Traces(testPage(i18n.English), TraceList{Traces: []KeptTrace{{ID: "a", Name: "n", Note: c.note}}}))
		if got := strings.Contains(page, "<summary><span>"+c.begin+"…</span></summary>"); got != c.folded {
			t.Errorf("%q: folded on the page is %v", c.note, got)
		}
	}
}

// An engine's kind has one name, wherever it is shown.
func TestKindsHaveOneName(t *testing.T) {
	if got := (Target{Kind: "deepinfer"}).belongs(testPage(i18n.English)); got != "DeepInfer" {
		t.Errorf("Collector: %q", got)
	}
	v := Captures{Deployments: []string{"d"}, Form: CaptureForm{Deployment: "d", Engines: []CaptureEngine{{Name: "rank0", Kind: "deepinfer", Role: "mixed"}}}}
	if page := render(t, CaptureEngines(testPage(i18n.English), v)); !strings.Contains(page, "DeepInfer mixed") {
		t.Errorf("Captures: %s", page)
	}
	table := Compare{Table: &compare.Table{Columns: []compare.Column{{Engines: 2, Kinds: []string{"deepinfer", "vllm"}}}}}
	found := false
	for _, fact := range table.facts(testPage(i18n.English)) {
		found = found || fact.Cells[0].Text == "2 · DeepInfer, vLLM"
	}
	if !found {
		t.Error("Compare doesn't name the kinds")
	}
}
