package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views/i18n"
)

const pageHostile = `"><script>alert(1)</script>`

// capturable has a collector that can capture rank0 of "prod", which runs so many sequences.
func capturable(t *testing.T, running float64) *site {
	s := newSite(t, nil)
	ctx := t.Context()
	e := store.EngineKey{Deployment: "prod", Name: "rank0"}
	hello := wire.Hello{Collector: "node1", Host: "node1", Started: time.Now()}
	if _, err := s.hub.Hello(ctx, hello); err != nil {
		t.Fatal(err)
	}
	b := &store.Batch{
		Engines: []store.EngineInfo{
			{EngineKey: e, Kind: "deepinfer", Rank: 0, GPU: 0},
			{EngineKey: store.EngineKey{Deployment: "prod", Name: pageHostile}, Kind: "vllm", Rank: 1, GPU: 1},
			{EngineKey: store.EngineKey{Deployment: "prod", Name: "node1/gpu7"}, Kind: "gpu", Rank: -1, GPU: 7},
		},
		Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "running"}, {Metric: "avg_SPS"}}}},
	}
	for i := range b.Engines {
		b.Rows = append(b.Rows, store.Row{Engine: i, Time: time.Now().UnixNano(), Step: 10, Values: []float64{running, 25}})
	}
	if err := s.hub.Deliver(ctx, "node1", b); err != nil {
		t.Fatal(err)
	}
	r := wire.Report{Collector: "node1", Time: time.Now(), Targets: []wire.Target{{Name: "127.0.0.1:6070", Source: "profile", Kind: "deepinfer",
		Engines: []store.EngineKey{e}, Health: wire.Up, CanCapture: true, ProfileAddr: "127.0.0.1:6070"}}}
	if err := s.hub.Report(ctx, r); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) postForm(path string, form url.Values) (*http.Response, string) {
	s.t.Helper()
	return s.do(http.MethodPost, path, strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
}

func TestCaptureForm(t *testing.T) {
	s := capturable(t, 40)
	_, page := s.do(http.MethodGet, "/captures?deployment=prod&steps=30", nil, "Accept", "text/html")
	for _, want := range []string{
		"30 steps make about 147 MB",                      // 30 × 4.9 MB, of the one DeepInfer engine that can be captured
		"Recording takes about 1.20 s, at 40.0 ms a step", // 30 ÷ 25 a second
		"no collector reports a profile interface of it", "&lt;script&gt;",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the form lacks %q", want)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "gpu7") || strings.Contains(page, `id="idle"`) {
		t.Error("a name became markup, a card is offered as an engine, or a busy engine is called idle")
	}
	res, _ := s.postForm("/captures", url.Values{"deployment": {"prod"}, "engine": {"rank0"}, "steps": {"30"}, "note": {"before the change"}})
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/captures?deployment=prod&started=") {
		t.Fatalf("starting: %s to %q", res.Status, to)
	}
	list, err := s.st.ListCaptures(t.Context(), store.CaptureQuery{})
	if err != nil || len(list) != 1 || list[0].Steps != 30 || list[0].Engine.Name != "rank0" || list[0].Note != "before the change" {
		t.Fatalf("the record has %+v, %v", list, err)
	}
	_, page = s.do(http.MethodGet, to, nil, "Accept", "text/html")
	if !strings.Contains(page, "Queued. States follow below.") || !strings.Contains(page, "before the change") || !strings.Contains(page, "capture 1 is under way") {
		t.Error("the page does not show the capture that was begun")
	}
	res, _ = s.postForm("/captures/1/cancel", nil)
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("cancelling: %s", res.Status)
	}
	if c, err := s.st.Capture(t.Context(), 1); err != nil || c.State != store.Cancelled {
		t.Errorf("after cancelling: %s, %v", c.State, err)
	}
	// The form's part says that the engine is free again, without the rest of the page.
	_, part := s.do(http.MethodGet, "/captures?deployment=prod&part=form", nil, "Accept", "text/html")
	if strings.Contains(part, "is under way") || !strings.Contains(part, `value="rank0"`) || strings.Contains(part, "<main") || strings.Contains(part, `id="record"`) {
		t.Errorf("the form's part: %s", part)
	}
	if res, page := s.postForm("/captures/1/cancel", nil); res.StatusCode != http.StatusConflict || !strings.Contains(page, "cancelled already") {
		t.Errorf("cancelling twice: %s", res.Status)
	}
}

func TestCaptureFormSaysWhatIsWrong(t *testing.T) {
	s := capturable(t, 40)
	for _, c := range []struct {
		form   url.Values
		status int
		says   string
	}{
		{url.Values{"deployment": {"prod"}, "steps": {"20"}}, 400, "o engine is chosen"},
		{url.Values{"deployment": {"prod"}, "engine": {"rank0"}, "steps": {"many"}}, 400, "teps is “many”"},
		{url.Values{"deployment": {"prod"}, "engine": {"rank0"}, "steps": {"51"}}, 400, "ive 1 to 50"},
		{url.Values{"deployment": {"prod"}, "engine": {"rank0"}, "steps": {"20"}, "output_dir": {"../etc"}}, 400, "no clean absolute path"},
		{url.Values{"deployment": {pageHostile}, "engine": {"rank0"}, "steps": {"20"}}, 404, "&lt;script&gt;"},
	} {
		res, page := s.postForm("/captures", c.form)
		if res.StatusCode != c.status || !strings.Contains(page, c.says) || !strings.Contains(page, `id="record"`) || strings.Contains(page, "<script>alert") {
			t.Errorf("%v: %s; want %d and %q on the page", c.form, res.Status, c.status, c.says)
		}
	}
}

func TestIdleEnginesNeedInsisting(t *testing.T) {
	s := capturable(t, 0)
	form := url.Values{"deployment": {"prod"}, "engine": {"rank0"}, "steps": {"20"}}
	res, page := s.postForm("/captures", form)
	if res.StatusCode != http.StatusConflict || !strings.Contains(page, "No sequence is running on rank0") || !strings.Contains(page, `name="force"`) {
		t.Errorf("an idle engine: %s", res.Status)
	}
	form.Set("force", "1")
	if res, _ := s.postForm("/captures", form); res.StatusCode != http.StatusSeeOther {
		t.Errorf("all the same: %s", res.Status)
	}
}

func TestCapturesOfOneRequestStandTogether(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	one := func(id int64, group, engine string, state store.CaptureState) store.Capture {
		return store.Capture{ID: id, Group: group, Engine: store.EngineKey{Deployment: "prod", Name: engine}, State: state, Steps: 20,
			Times: map[store.CaptureState]time.Time{store.Queued: at, state: at.Add(2500 * time.Millisecond)}}
	}
	got := captureGroups([]store.Capture{one(4, "b", "rank1", store.Failed), one(3, "b", "rank0", store.Stored), one(2, "a", "rank0", store.Asked)}, i18n.English)
	if len(got) != 2 || got[0].ID != "b" || got[1].ID != "a" || !got[0].At.Equal(at) {
		t.Fatalf("groups: %+v", got)
	}
	if names := fmt.Sprint(got[0].Captures[0].Engine, got[0].Captures[1].Engine); names != "rank0rank1" && names != "rank0 rank1" {
		t.Errorf("engines of a group are not in order: %s", names)
	}
}

func TestCollectorPageShowsTroubleFirst(t *testing.T) {
	s := newSite(t, nil)
	ctx := t.Context()
	if _, page := s.do(http.MethodGet, "/collector", nil, "Accept", "text/html"); !strings.Contains(page, "No collector was heard") {
		t.Error("a server without collectors does not say how to get one")
	}
	if _, err := s.hub.Hello(ctx, wire.Hello{Collector: "c1", Host: "node1", Version: "1", Started: time.Now()}); err != nil {
		t.Fatal(err)
	}
	r := wire.Report{Collector: "c1", Time: time.Now(), Spooled: 3_000_000, Problems: []wire.Problem{{What: "the disk is slow", Hint: "look at it", Count: 2}}}
	for i := range 1000 {
		r.Targets = append(r.Targets, wire.Target{Name: fmt.Sprintf("/log/%04d", i), Source: "log", Health: wire.Up, Lines: 12_345})
	}
	r.Targets = append(r.Targets,
		wire.Target{Name: "/log/broken", Source: "log", Health: wire.Down, Problem: &wire.Problem{What: "permission denied " + pageHostile, Hint: "let it read"}},
		wire.Target{Name: "/log/odd", Source: "log", Health: "on fire"})
	if err := s.hub.Report(ctx, r); err != nil {
		t.Fatal(err)
	}
	_, page := s.do(http.MethodGet, "/collector", nil, "Accept", "text/html")
	for _, want := range []string{"1 collector reads 1002 targets; 1 down; 1 waiting; 1000 up; 3.00 MB wait", "702 more: search to see them", "the disk is slow", "let it read", "12,345"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if broken, first := strings.Index(page, "/log/broken"), strings.Index(page, "/log/0000"); broken < 0 || broken > first || strings.Contains(page, "<script>alert") {
		t.Error("what is down does not stand first, or a name became markup")
	}
	if _, page := s.do(http.MethodGet, "/collector?q=0999", nil, "Accept", "text/html"); !strings.Contains(page, "/log/0999") || strings.Contains(page, "/log/0001") {
		t.Error("searching a target")
	}
	if _, page := s.do(http.MethodGet, "/collector?only=trouble", nil, "Accept", "text/html"); !strings.Contains(page, "/log/broken") || strings.Contains(page, "/log/0001") {
		t.Error("only what is not well")
	}
}

func TestCompareTracesPage(t *testing.T) {
	s := newSite(t, nil)
	tr, _, err := s.st.KeepTrace(t.Context(), store.Meta{Name: "a.json", Label: pageHostile}, strings.NewReader(`{"traceEvents":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	gone := strings.Repeat("0", 64)
	res, page := s.do(http.MethodGet, "/compare/traces?a="+tr.ID+"&b="+gone, nil, "Accept", "text/html")
	if res.StatusCode != http.StatusOK || !strings.Contains(page, "Nothing is kept under 000000000000") || !strings.Contains(page, `value="`+tr.ID+`"`) {
		t.Errorf("%s: one side is missing, and the page should say so and show the other", res.Status)
	}
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, `href="/compare/traces?b=`+tr.ID) {
		t.Error("a label became markup, or the sides can't be swapped")
	}
	if err := s.st.DeleteTrace(t.Context(), tr.ID); err != nil {
		t.Fatal(err)
	}
	if _, page := s.do(http.MethodGet, "/compare/traces?a="+tr.ID, nil, "Accept", "text/html"); !strings.Contains(page, "Nothing is kept under "+tr.ID[:12]) {
		t.Error("a deleted trace is offered")
	}
}
