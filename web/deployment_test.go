package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

func TestDeploymentAnswersFirst(t *testing.T) {
	s := newSite(t, nil)
	s.at(seedNow)
	var engines []store.EngineInfo
	var rows []sample
	for e := range 8 {
		engines = append(engines, engine("d", fmt.Sprintf("rank%d", e), e))
		v := 100.0
		if e == 5 {
			v = 50
		}
		rows = append(rows, sample{e, 10 * time.Second, 9, store.DecodeStep, []float64{v, 8, 1, 0.5, 0.4}})
	}
	s.seed(engines, []store.Column{{Metric: "completion_TPS"}, {Metric: "running"}, {Metric: "pending"}, {Metric: "KV_cache_usage"}, {Metric: "MFU"}}, rows)
	_, html := s.do("GET", "/deployments/d", nil)
	got := text(html)
	// 7 × 100 + 50; 8 × 8 run and 8 × 1 wait; rank5 at 50 ÷ 100 of the median.
	want := "8 of 8 engines report 750 generated tokens/s; 64 sequences run, 8 wait; KV cache 50.0 % full; MFU 40.0 % (est.); rank5 generates 50.0 % less than its peers."
	if !strings.Contains(got, want) {
		t.Errorf("no %q in %.600s", want, got)
	}
	for _, part := range []string{`id="m-completion_TPS"`, `data-query="metric=running"`, `id="g-throughput"`, "generated tokens of all entries but the first"} {
		if !strings.Contains(html, part) {
			t.Errorf("no %q on the page", part)
		}
	}
	if strings.Contains(html, `id="m-preempted"`) {
		t.Error("a chart of a metric that was never reported")
	}
	if !strings.Contains(got, "Preempted preempted – not in the log lines read so far") {
		t.Error("an absent metric is not told with its reason")
	}
	if res, _ := s.do("GET", "/deployments/nobody", nil, "Accept", "text/html"); res.StatusCode != 404 {
		t.Errorf("an unknown deployment: %d", res.StatusCode)
	}
	if res, _ := s.do("GET", "/deployments/d?from=x&to=y", nil); res.StatusCode != 400 {
		t.Errorf("a time that is none: %d", res.StatusCode)
	}
}

func TestDeploymentTellsWhatHappened(t *testing.T) {
	s := newSite(t, nil)
	s.at(seedNow)
	var rows []sample
	for i := range 120 { // 100 tokens/s until an hour ago, 90 since
		v := 100.0
		if i >= 60 {
			v = 90
		}
		for e := range 2 {
			rows = append(rows, sample{e, time.Duration(120-i)*time.Minute - time.Second, int64(i), 0, []float64{v}})
		}
	}
	ns := func(ago time.Duration) int64 { return seedNow.Add(-ago).UnixNano() }
	s.seed([]store.EngineInfo{engine("d", "rank0", 0), engine("d", "rank1", 1)}, []store.Column{{Metric: "completion_TPS"}}, rows,
		store.Event{Engine: 0, Kind: store.CaptureEvent, From: ns(20 * time.Minute), To: ns(19 * time.Minute), FromStep: -1, ToStep: -1, Detail: "20 steps"},
		store.Event{Engine: 1, Kind: store.CaptureEvent, From: ns(20*time.Minute) + 1e9, To: ns(19 * time.Minute), FromStep: -1, ToStep: -1, Detail: "20 steps"},
		store.Event{Engine: 1, Kind: store.Gap, From: ns(10 * time.Minute), To: ns(9 * time.Minute), FromStep: 1, ToStep: 300, Count: 3},
		store.Event{Engine: 1, Kind: store.Restart, From: ns(90 * time.Minute), To: ns(90 * time.Minute), FromStep: -1, ToStep: -1})
	_, html := s.do("GET", "/deployments/d?part=story&range=1h", nil)
	got := text(html)
	// Two engines of 90: 180 against 200 before.
	want := "generated tokens per second in this time: 180 tokens/s, 10.0 % down on the 1 h before; 1 × trace capture; 1 × lines lost."
	if !strings.Contains(got, want) {
		t.Errorf("no %q in %q", want, got)
	}
	_, html = s.do("GET", "/deployments/d?part=story&range=1h&lang=zh", nil)
	if zh := text(html); !strings.Contains(zh, "为 180 token/s，比之前 1 小时 低 10.0 %") {
		t.Errorf("in Chinese: %q", zh)
	}
	// Of the hour and a half before the last 90 minutes, only half an hour is known: no measure.
	_, html = s.do("GET", "/deployments/d?part=story&from=2026-03-01T10:30:00Z&to=2026-03-01T12:00:00Z", nil)
	if short := text(html); !strings.Contains(short, "in this time: 187 tokens/s; ") { // (30 × 200 + 60 × 180) ÷ 90
		t.Errorf("beside too short a time: %q", short)
	}
	// Of the 70 minutes before the last 70, 50 are.
	_, html = s.do("GET", "/deployments/d?part=story&from=2026-03-01T10:50:00Z&to=2026-03-01T12:00:00Z", nil)
	if short := text(html); !strings.Contains(short, "% down on the 49 min before") {
		t.Errorf("beside a shorter time: %q", short)
	}
	if !strings.Contains(got, "trace capture 2026-03-01 11:40:00 60.0 s rank0, rank1 20 steps") || !strings.Contains(got, "lines lost 2026-03-01 11:50:00 60.0 s rank1 3 lines") {
		t.Errorf("events: %q", got)
	}
	_, html = s.do("GET", "/deployments/d?part=story&from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z&lang=zh", nil)
	if got := text(html); !strings.Contains(got, "此时段没有样本；有样本的时间为 2026-03-01 10:00:01 至 2026-03-01 11:59:01 UTC") {
		t.Errorf("an empty time: %q", got)
	}
	_, body := s.do("GET", "/api/events?deployment=d&range=1h", nil)
	if !strings.Contains(body, `{"kind":"capture","from":1772365200000,"to":1772365260000,"engines":["rank0","rank1"],"count":2,"n":0,"detail":"20 steps"}`) {
		t.Errorf("the marks of charts: %s", body)
	}
}

func TestDeploymentNamesThatPathsCannotHold(t *testing.T) {
	s := newSite(t, nil)
	s.at(seedNow)
	for _, name := range []string{"a/b", "..", ".", "50%", "名字", "a?b#c", "x;y"} {
		s.seed([]store.EngineInfo{engine(name, "rank0", 0)}, []store.Column{{Metric: "running"}}, []sample{{0, time.Second, 1, 0, []float64{1}}})
		s.board.edited()
		res, html := s.do("GET", views.DeploymentPath(name), nil)
		if res.StatusCode != 200 || !strings.Contains(text(html), "Deployment "+name) {
			t.Errorf("%q at %s: %d", name, views.DeploymentPath(name), res.StatusCode)
		}
		if u, err := url.Parse(views.DeploymentPath(name)); err != nil || strings.Contains(u.EscapedPath(), "..") {
			t.Errorf("%q: address %s, %v", name, views.DeploymentPath(name), err)
		}
	}
}

func TestPlotsFollowTheTable(t *testing.T) {
	columns := catalogue{"completion_TPS": {""}, "cpu_cur": {"a", "b"}, "cpu_mean": {"a", "b"}, "cpu_max": {"a", "b"}, "is_prompt": {""},
		"TTFT_bucket": {"le=0.1"}, "TTFT_avg": {""}, "my_series": {"k=v"}, "my_hist_bucket": {"le=1"}, "my_hist_sum": {""}, "my_hist_count": {""}}
	groups := plotGroups(columns, []string{"deepinfer", "vllm"})
	var got []string
	for _, g := range groups {
		for _, p := range g.Plots {
			got = append(got, strings.TrimSpace(string(g.Group)+" "+p.Metrics[0].Key+" "+p.Label))
		}
	}
	want := "throughput completion_TPS,latency TTFT,latency TTFT_avg,timers cpu_cur a,timers cpu_cur b,my_hist_count,my_series"
	if strings.Join(got, ",") != want {
		t.Errorf("plots %s, want %s", strings.Join(got, ","), want)
	}
	many := catalogue{"cpu_mean": nil}
	for i := range 100 {
		many["cpu_mean"] = append(many["cpu_mean"], fmt.Sprint(i))
	}
	for _, g := range plotGroups(many, []string{"deepinfer"}) {
		if g.Group == ledger.TimersGroup && (len(g.Plots) != maxTimerPlots || g.More != 100-maxTimerPlots) {
			t.Errorf("100 timers: %d charts and %d more", len(g.Plots), g.More)
		}
	}
	// Without a list of columns: what such engines usually have.
	if groups := plotGroups(nil, []string{"gpu"}); len(groups) != 1 || groups[0].Group != ledger.Cards || len(groups[0].Absent) != 0 {
		t.Errorf("cards before their columns are known: %+v", groups)
	}
}

func TestDeploymentsShowATimeThatHasSomething(t *testing.T) {
	f := func(first, last time.Duration, key string, length time.Duration) {
		t.Helper()
		e := &engineState{}
		e.First, e.Last = seedNow.Add(-first).UnixNano(), seedNow.Add(-last).UnixNano()
		r := usefulRange(&deploymentState{engines: []*engineState{e, {}}}, seedNow)
		if r.Key != key || r.To.Sub(r.From) != length || e.Last < r.From.UnixNano() || e.Last >= r.To.UnixNano() {
			t.Errorf("samples from %v to %v ago: %s, %v to %v", first, last, r.Key, r.From, r.To)
		}
	}
	f(2*time.Minute, time.Second, "live", 5*time.Minute)
	f(12*time.Minute, time.Second, "15m", 15*time.Minute)
	f(6*time.Minute, time.Second, "live", 5*time.Minute)  // of 15 min 9 would be empty
	f(16*time.Minute, time.Second, "15m", 15*time.Minute) // of an hour 44 min would be empty
	f(31*time.Minute, time.Second, "1h", time.Hour)       // 29 min are less than half
	f(20*time.Minute, 12*time.Minute, "1h", time.Hour)    // the last 15 min hold 3 of its 8
	f(400*time.Hour, 50*time.Minute, "1h", time.Hour)
	f(400*time.Hour, 30*time.Hour, "own", time.Hour)
}

// An engine that counts tokens when requests end generates, too: the verdict says how that is counted.
func TestVerdictNamesWhatStandsIn(t *testing.T) {
	s := newSite(t, nil)
	s.at(seedNow)
	s.seed([]store.EngineInfo{engine("trt", "server", 0)}, []store.Column{{Metric: "completion_done_TPS"}}, []sample{{0, time.Second, -1, 0, []float64{40}}})
	_, html := s.do("GET", "/deployments/trt", nil)
	if got := text(html); !strings.Contains(got, "1 of 1 engine reports 40.0 generated tokens/s, counted when a request ends") {
		t.Errorf("verdict: %.300s", got)
	}
	if !strings.Contains(html, `<a href="#m-completion_done_TPS">1 of 1 engine reports`) {
		t.Error("the figure does not lead to its definition")
	}
}
