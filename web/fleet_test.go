package web

import (
	"bufio"
	"fmt"
	stdhtml "html"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// fleetColumns are what seeded fleets report.
var fleetColumns = []store.Column{{Metric: "completion_TPS"}, {Metric: "running"}, {Metric: "pending"}, {Metric: "KV_cache_usage"}, {Metric: "TTFT_max"}}

// seedFleet has a deployment that is well, one with a silent engine, one that ended and one that waits on a full cache.
func seedFleet(s *site) {
	s.at(seedNow)
	engines := []store.EngineInfo{engine("fine", "rank0", 0), engine("silent", "rank0", 0), engine("silent", "rank1", 1), engine("old", "rank0", 0), engine("full", "rank0", 0)}
	s.seed(engines, fleetColumns, []sample{
		{0, 10 * time.Second, 5, 0, []float64{1000, 8, 0, 0.5, 120}},
		{1, 10 * time.Second, 5, 0, []float64{500, 4, 1, 0.5, math.NaN()}},
		{2, 5 * time.Minute, 5, 0, []float64{700, 4, 1, 0.5, 90}},
		{3, 3 * time.Hour, 5, 0, []float64{1, 1, 1, 0.1, 1}},
		{4, 10 * time.Second, 5, 0, []float64{10, 4, 3, 0.99, 4000}},
	}, store.Event{Engine: 0, Kind: store.Restart, From: seedNow.Add(-2 * time.Hour).UnixNano(), To: seedNow.Add(-2 * time.Hour).UnixNano(), FromStep: -1, ToStep: -1})
}

// text is a page without its tags, blanks folded.
func text(html string) string {
	return stdhtml.UnescapeString(strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(html, " ")), " "))
}

// row is the part of a page that has a deployment's rows.
func row(t *testing.T, html, name string) string {
	t.Helper()
	from := strings.Index(html, `<tbody data-id="`+name+`"`)
	if from < 0 {
		t.Fatalf("no deployment %s in %s", name, text(html))
	}
	to := strings.Index(html[from:], "</tbody>")
	return html[from : from+to]
}

func TestFleetListsTheWorstFirst(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	res, html := s.do("GET", "/fleet", nil)
	if res.StatusCode != 200 {
		t.Fatal(res.StatusCode, html)
	}
	var order []string
	for _, m := range regexp.MustCompile(`<tbody data-id="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		order = append(order, m[1])
	}
	if got := strings.Join(order, " "); got != "silent full old fine" {
		t.Errorf("order %q, want the silent one first and the one without trouble last", got)
	}
	f := func(name string, parts ...string) {
		t.Helper()
		got := text(row(t, html, name))
		for _, p := range parts {
			if !strings.Contains(got, p) {
				t.Errorf("%s: no %q in %q", name, p, got)
			}
		}
	}
	f("fine", "fine", "1 engine", "DeepInfer · tp2 · model-x", "1,000", "8", "0", "50.0", "120", "10 s")
	// 500 of the engine that reports; what the other said 5 minutes ago is not of now.
	f("silent", "trouble", "1 of 2 engines: silent for 5 min, since 11:55:00 UTC", "2 engines", "500")
	if got := row(t, html, "silent"); !strings.Contains(got, "the engine is silent for 5 min; the last value was 700") || strings.Contains(text(got), "1,200") {
		t.Errorf("silent: %s", got)
	}
	f("old", "ended", "last sample 3 h ago", "–")
	f("full", "check", "KV cache 99.0 % full while 3 sequences wait")
	if got := text(html); !strings.Contains(got, "4 deployments, 5 engines: 3 report; 1 in trouble, 1 to check, 1 ended.") {
		t.Errorf("verdict: %.200s", got)
	}
	if !strings.Contains(html, `id="def-completion_TPS"`) || !strings.Contains(html, "generated tokens of all entries but the first") {
		t.Error("the figures' definitions are not on the page")
	}
	if _, zh := s.do("GET", "/fleet?lang=zh", nil); !strings.Contains(text(zh), "4 个部署，5 个引擎：3 个在上报；1 个有故障") {
		t.Errorf("zh: %.300s", text(zh))
	}
}

func TestFleetFiltersAndFolds(t *testing.T) {
	s := newSite(t, nil)
	s.at(seedNow)
	var engines []store.EngineInfo
	var rows []sample
	for i := range 30 {
		engines = append(engines, engine("big", fmt.Sprintf("rank%d", i), i))
		rows = append(rows, sample{i, time.Second, 1, 0, []float64{1, 1, 0, 0.1, 1}})
	}
	engines = append(engines, engine("small", "rank0", 0))
	rows = append(rows, sample{30, time.Second, 1, 0, []float64{1, 1, 0, 0.1, 1}})
	s.seed(engines, fleetColumns, rows)
	f := func(query string, deployments, engineRows int) {
		t.Helper()
		_, html := s.do("GET", "/fleet?"+query, nil)
		if d, e := strings.Count(html, "<tbody data-id="), strings.Count(html, `<tr class="engine"`); d != deployments || e != engineRows {
			t.Errorf("%q: %d deployments and %d engines shown, want %d and %d", query, d, e, deployments, engineRows)
		}
	}
	f("", 2, 1) // 30 engines are folded, one is not
	f("open=big", 2, 31)
	f("open=big&closed=small", 2, 30)
	f("q=small", 1, 1)
	f("q=rank29", 1, 1) // the one engine that matches, in its deployment
	f("q=RANK2+big", 1, 11)
	f("q=nobody", 0, 0)
	f("q=model-x", 2, 1)
}

func TestHostileNamesOnThePagesOfStatistics(t *testing.T) {
	s := newSite(t, nil)
	s.at(seedNow)
	hostile := `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
	s.seed([]store.EngineInfo{engine(hostile, hostile, 0)}, []store.Column{{Metric: "completion_TPS"}, {Metric: "cpu_mean", Label: hostile}, {Metric: hostile, Label: hostile}},
		[]sample{{0, time.Second, 1, 0, []float64{1, 2, 3}}},
		store.Event{Engine: 0, Kind: store.Gap, From: seedNow.Add(-time.Minute).UnixNano(), To: seedNow.UnixNano(), FromStep: -1, ToStep: -1, Detail: hostile, Count: 2})
	note, labels := hostile+"\u202e", map[string]string{hostile: hostile}
	if _, err := s.st.UpdateDeployment(t.Context(), hostile, store.DeploymentPatch{Note: &note, Labels: &labels}); err != nil {
		t.Fatal(err)
	}
	page := "/deployments/" + url.PathEscape(hostile)
	for _, target := range []string{"/fleet", "/fleet?q=" + url.QueryEscape("<script>"), "/fleet?deleted=" + url.QueryEscape(hostile), page, page + "?part=story", page + "?part=now",
		page + "?gone=" + url.QueryEscape(hostile) + "&gone_from=1000&gone_to=2000"} {
		res, html := s.do("GET", target, nil)
		if res.StatusCode != 200 {
			t.Fatalf("%s: %d %.300s", target, res.StatusCode, html)
		}
		if strings.Contains(html, "<script>") || strings.Contains(html, "<img") {
			t.Errorf("%s: a name became markup", target)
		}
		if strings.Contains(html, "\u202e") {
			t.Errorf("%s: a mark that turns text round went through", target)
		}
		if !strings.Contains(html, "&lt;script&gt;alert(1)") {
			t.Errorf("%s: the name is not shown as text", target)
		}
	}
	res, body := s.do("GET", "/api/series?deployment="+url.QueryEscape(hostile)+"&metric="+url.QueryEscape(hostile), nil)
	if res.StatusCode != 200 || strings.Contains(body, "<script>") {
		t.Errorf("series: %d %s", res.StatusCode, body)
	}
}

// A mean whose weights nobody reports is told to be missing for that reason; one value alone is its own mean.
func TestMeansWithoutWeights(t *testing.T) {
	m, _ := ledger.Lookup("avg_nextn_accept_rate")
	with := func(values ...float64) *deploymentState {
		d := &deploymentState{}
		for _, v := range values {
			d.engines = append(d.engines, &engineState{latest: map[store.Column]store.Latest{{Metric: m.Key}: {Column: store.Column{Metric: m.Key}, Value: v}}})
		}
		return d
	}
	if f := joinedFigure(with(0.6), m); f.Value != 0.6 || f.N != 1 {
		t.Errorf("one: %+v", f)
	}
	if f := joinedFigure(with(0.6, 0.7), m); !math.IsNaN(f.Value) || f.Why.Key != "figure.weightless" {
		t.Errorf("two: %+v", f)
	}
}

func TestDeploymentsAreEditedWithoutScript(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	res, body := s.form("/deployments/edit", url.Values{"name": {"fine"}, "back": {"/fleet"}, "gpus": {"8"}, "peak": {"989"}, "labels": {"build=12, team = search"}, "note": {"first\nsecond"}})
	if res.StatusCode != 303 || res.Header.Get("Location") != "/fleet?done=saved" {
		t.Fatalf("edit: %d %v %s", res.StatusCode, res.Header, body)
	}
	_, html := s.do("GET", "/fleet?done=saved", nil)
	for _, want := range []string{"Saved.", "8 GPUs", "build=12", "team=search", "first\nsecond", `value="989"`} {
		if !strings.Contains(html, want) {
			t.Errorf("after the edit: no %q on the page", want)
		}
	}
	bad := func(target string, form url.Values, status int, want string) {
		t.Helper()
		if res, body := s.form(target, form); res.StatusCode != status || !strings.Contains(text(body), want) {
			t.Errorf("%s %v: %d, no %q in %.300s", target, form, res.StatusCode, want, text(body))
		}
	}
	bad("/deployments/edit", url.Values{"name": {"fine"}, "labels": {"novalue"}}, 400, "is no key=value")
	bad("/deployments/edit", url.Values{"name": {"fine"}, "labels": {"a=1,a=2"}}, 400, "stands there twice")
	bad("/deployments/edit", url.Values{"name": {"fine"}, "gpus": {"1.5"}}, 400, "number of GPUs can't be used")
	bad("/deployments/edit", url.Values{"name": {"fine"}, "peak": {"NaN"}}, 400, "peak of a card can't be used")
	bad("/deployments/edit", url.Values{"name": {"nobody"}}, 404, "no such deployment")
	if res, _ := s.form("/deployments/edit", url.Values{"name": {"fine"}, "back": {"//evil.example/"}}); res.Header.Get("Location") != "/deployments/fine?done=saved" {
		t.Errorf("a form led to %q", res.Header.Get("Location"))
	}

	res, _ = s.form("/deployments/delete", url.Values{"name": {"fine"}})
	if res.StatusCode != 303 || res.Header.Get("Location") != "/fleet?deleted=fine" {
		t.Fatalf("delete: %d %v", res.StatusCode, res.Header)
	}
	_, html = s.do("GET", "/fleet?deleted=fine", nil)
	if strings.Contains(html, `<tbody data-id="fine"`) || !strings.Contains(text(html), "Deleted “fine” with its engines.") || !strings.Contains(html, "Undo") {
		t.Errorf("after deleting: %.300s", text(html))
	}
	bad("/deployments/restore", url.Values{"name": {"nobody"}}, 404, "no such deployment")
	if res, _ := s.form("/deployments/restore", url.Values{"name": {"fine"}}); res.Header.Get("Location") != "/fleet?done=restored" {
		t.Fatalf("undo: %d %v", res.StatusCode, res.Header)
	}
	_, html = s.do("GET", "/fleet?done=restored", nil)
	if got := text(row(t, html, "fine")); !strings.Contains(got, "1,000") {
		t.Errorf("after undoing: %q", got)
	}
}

func TestBaselinesComeAndGoAndComeBack(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	form := url.Values{"name": {"fine"}, "label": {"before"}, "note": {"build 11"}, "from": {"2026-03-01T10:00:00Z"}, "to": {"1772362800000"}} // to: 11:00
	res, body := s.form("/baselines/put", form)
	if res.StatusCode != 303 || res.Header.Get("Location") != "/deployments/fine?done=baseline" {
		t.Fatalf("put: %d %v %s", res.StatusCode, res.Header, body)
	}
	_, html := s.do("GET", "/deployments/fine", nil)
	if got := text(html); !strings.Contains(got, "Baselines: 1 before 2026-03-01 10:00:00 – 2026-03-01 11:00:00 UTC build 11 compare with now") {
		t.Errorf("the page with a baseline: %.900s", got)
	}
	if !strings.Contains(html, "from=2026-03-01T10%3A00%3A00Z&amp;to=2026-03-01T11%3A00%3A00Z") || !strings.Contains(html, "c=fine%40baseline%3Abefore&amp;c=fine") {
		t.Error("the baseline's links lack its time or its comparison")
	}
	id := regexp.MustCompile(`name="id" value="(\d+)"`).FindStringSubmatch(html)[1]
	res, _ = s.form("/baselines/delete", url.Values{"name": {"fine"}, "id": {id}})
	gone := res.Header.Get("Location")
	_, html = s.do("GET", gone, nil)
	if got := text(html); res.StatusCode != 303 || !strings.Contains(got, "Deleted the baseline “before”.") || !strings.Contains(got, "Baselines: 0") {
		t.Fatalf("after deleting, at %s: %.600s", gone, got)
	}
	undo := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(html[strings.Index(html, "banner"):strings.Index(html, "Undo")], -1) {
		undo.Set(m[1], m[2])
	}
	if res, body := s.form("/baselines/put", undo); res.StatusCode != 303 {
		t.Fatalf("undo %v: %d %s", undo, res.StatusCode, body)
	}
	all, err := s.st.Baselines(t.Context(), "fine")
	if err != nil || len(all) != 1 || all[0].Name != "before" || all[0].Note != "build 11" || time.Duration(all[0].To-all[0].From) != time.Hour {
		t.Errorf("after undoing: %+v, %v", all, err)
	}
	for _, c := range [...]struct{ field, value, says string }{
		{"from", "yesterday", "start is no time: “yesterday”"}, {"to", "2026-03-01T09:00:00Z", "ends before it begins"},
		{"label", " ", "has no name"}, {"label", "before", "has a baseline “before” already"},
	} {
		broken := url.Values{}
		for k, v := range form {
			broken[k] = v
		}
		broken.Set(c.field, c.value)
		if res, body := s.form("/baselines/put", broken); res.StatusCode != 400 || !strings.Contains(text(body), c.says) {
			t.Errorf("%s %q: %d %.400s", c.field, c.value, res.StatusCode, text(body))
		}
	}
}

func TestHomeLeadsToWhatThereIs(t *testing.T) {
	s := newSite(t, nil)
	if res, _ := s.do("GET", "/", nil); res.Header.Get("Location") != "/trace" {
		t.Errorf("without engines: %q", res.Header.Get("Location"))
	}
	if _, html := s.do("GET", "/fleet", nil); !strings.Contains(html, "stepscope serve --demo") {
		t.Error("the empty fleet does not say how to begin")
	}
	seedFleet(s)
	if res, _ := s.do("GET", "/", nil); res.Header.Get("Location") != "/fleet" {
		t.Errorf("with engines: %q", res.Header.Get("Location"))
	}
}

func TestLiveTellsWhatCame(t *testing.T) {
	s := newSite(t, nil)
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	res, err := http.Get(srv.URL + "/api/live")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" || res.Header.Get("Content-Encoding") != "" {
		t.Fatalf("headers %v", res.Header)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Scan() // the pause for browsers: the stream stands, and so does its subscription soon after
	for {
		s.hub.mu.Lock()
		n := len(s.hub.subs)
		s.hub.mu.Unlock()
		if n > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	b := &store.Batch{Engines: []store.EngineInfo{engine("d", "rank0", 0)}, Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "running"}}}},
		Rows: []store.Row{{Time: seedNow.UnixNano(), Step: 1, Values: []float64{3}}}}
	if err := s.hub.Deliver(t.Context(), "c", b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") || strings.HasPrefix(lines.Text(), "event:") {
			got = append(got, lines.Text())
		}
		if len(got) == 2 {
			break
		}
	}
	if want := `event: samples|data: {"deployments":["d"]}`; strings.Join(got, "|") != want {
		t.Errorf("the stream said %q, want %q", strings.Join(got, "|"), want)
	}
	// A server that stops ends its streams, or it could not stop.
	s.hub.Stop()
	for lines.Scan() {
	}
}

func TestLiveJoinsEvents(t *testing.T) {
	b := newLiveBatch()
	for _, e := range []Event{{Kind: SamplesCame, Deployments: []string{"b"}}, {Kind: SamplesCame, Deployments: []string{"a", "b"}},
		{Kind: CaptureChanged, Capture: 7, State: store.Asked}, {Kind: CaptureChanged, Capture: 7, State: store.Found}, {Kind: CollectorChanged, Collector: "x\ny"}} {
		b.add(e)
	}
	want := "event: samples\ndata: {\"deployments\":[\"a\",\"b\"]}\n\n" +
		"event: capture\ndata: {\"id\":7,\"state\":\"found\"}\n\n" +
		"event: collector\ndata: {\"name\":\"x\\ny\"}\n\n"
	if got := b.text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b = newLiveBatch()
	b.add(Event{Kind: SamplesCame})
	if got := b.text(); got != "event: samples\ndata: {\"deployments\":null}\n\n" {
		t.Errorf("too many to name: %q", got)
	}
}

func TestEnginesThatCannotBeReadAreInTrouble(t *testing.T) {
	s := newSite(t, nil)
	seedFleet(s)
	ctx := t.Context()
	started := seedNow
	if _, err := s.hub.Hello(ctx, wire.Hello{Collector: "c", Host: "h", Started: started}); err != nil {
		t.Fatal(err)
	}
	err := s.hub.Report(ctx, wire.Report{Collector: "c", Time: seedNow, Targets: []wire.Target{
		{Name: "a.log", Source: "log", Health: wire.Down, Engines: []store.EngineKey{{Deployment: "fine", Name: "rank0"}}, Problem: &wire.Problem{What: "a.log: permission denied"}},
		{Name: "b.log", Source: "log", Health: wire.Up, Engines: []store.EngineKey{{Deployment: "full", Name: "rank0"}}, Problem: &wire.Problem{What: "3 lines unreadable"}},
		{Name: "<b>10.0.0.9:8000", Source: "metrics", Health: wire.Down},
		{Name: "10.0.0.9:6070", Source: "profile", Health: wire.Down, Engines: []store.EngineKey{{Deployment: "full", Name: "rank0"}}, Problem: &wire.Problem{What: "refused"}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, html := s.do("GET", "/fleet", nil)
	if !strings.Contains(html, "1 source has given no engine’s statistics yet: &lt;b&gt;10.0.0.9:8000.") {
		t.Errorf("a server that never answered is not told: %.500s", text(html))
	}
	if got := text(row(t, html, "fine")); !strings.Contains(got, "trouble can't be read: a.log: permission denied") {
		t.Errorf("an engine whose log can't be read: %q", got)
	}
	if got := text(row(t, html, "full")); strings.Contains(got, "can't be read") {
		t.Errorf("an engine that can be read: %q", got)
	}
}
