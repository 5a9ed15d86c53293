package web

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

func TestSeriesJoinsEnginesByTheMetricsRule(t *testing.T) {
	s := newSite(t, nil)
	columns := []store.Column{{Metric: "completion_TPS"}, {Metric: "TTFT_max"}, {Metric: "avg_nextn_accept_rate"}, {Metric: "verified_tokens"}}
	s.seed([]store.EngineInfo{engine("d", "rank0", 0), engine("d", "rank1", 1)}, columns, []sample{
		{0, 30 * time.Minute, 1, 0, []float64{100, 40, 0.5, 300}},
		{1, 30 * time.Minute, 1, 0, []float64{200, 70, 0.9, 100}},
		{0, 29 * time.Minute, 2, 0, []float64{110, 50, 0.6, 100}},
		{1, 29 * time.Minute, 2, 0, []float64{210, 60, 0.8, 100}},
	})
	f := func(metric string, want ...float64) {
		t.Helper()
		a := s.series(seriesQuery{deployment: "d", metrics: []string{metric}, joined: true})
		if len(a.Lines) != 1 || a.Engines != 2 {
			t.Fatalf("%s: %d lines of %d engines", metric, len(a.Lines), a.Engines)
		}
		same(t, metric, a.Lines[0].Mean, want)
	}
	f("completion_TPS", 300, 320) // 100 + 200, 110 + 210
	f("TTFT_max", 70, 60)
	// Shares are shown in percent: (0.5 × 300 + 0.9 × 100) ÷ 400, (0.6 × 100 + 0.8 × 100) ÷ 200.
	f("avg_nextn_accept_rate", 60, 70)

	a := s.series(seriesQuery{deployment: "d", metrics: []string{"completion_TPS"}})
	if len(a.Lines) != 2 || a.Lines[0].Engine != "rank0" || a.Lines[1].Engine != "rank1" {
		t.Fatalf("each engine: %+v", a.Lines)
	}
	same(t, "rank1", a.Lines[1].Mean, []float64{200, 210})
	if !slices.Equal(a.Lines[1].Cells, []int{30, 31}) {
		t.Errorf("cells %v: 30 and 29 minutes before the end of an hour of 60 cells", a.Lines[1].Cells)
	}
}

func TestEnginesThatLogAtOtherMomentsAddUp(t *testing.T) {
	s := newSite(t, nil)
	var rows []sample
	for i := range 10 { // each logs every 2 minutes, in turn
		rows = append(rows, sample{0, time.Duration(40-2*i) * time.Minute, int64(i), 0, []float64{100}},
			sample{1, time.Duration(39-2*i) * time.Minute, int64(i), 0, []float64{200}})
	}
	s.seed([]store.EngineInfo{engine("d", "rank0", 0), engine("d", "rank1", 1)}, []store.Column{{Metric: "completion_TPS"}}, rows)
	a := s.series(seriesQuery{deployment: "d", metrics: []string{"completion_TPS"}, joined: true})
	got := a.Lines[0].Mean
	if got[0] != 100 {
		t.Errorf("before the second engine: %v, want 100", got[0])
	}
	for i, v := range got[1:19] {
		if v != 300 {
			t.Errorf("value %d is %v, want 100 + 200 although each cell has a sample of one engine only", i+1, v)
		}
	}
}

func TestSilencesBreakLines(t *testing.T) {
	s := newSite(t, nil)
	var rows []sample
	for i := range 40 {
		if i < 10 || i >= 25 { // 15 minutes without a line
			rows = append(rows, sample{0, time.Duration(50-i) * time.Minute, int64(i), 0, []float64{5}})
		}
	}
	s.seed([]store.EngineInfo{engine("d", "rank0", 0)}, []store.Column{{Metric: "running"}}, rows)
	for _, joined := range []bool{false, true} {
		a := s.series(seriesQuery{deployment: "d", metrics: []string{"running"}, joined: joined})
		breaks := 0
		for _, v := range a.Lines[0].Mean {
			if math.IsNaN(v) {
				breaks++
			}
		}
		if breaks != 1 {
			t.Errorf("joined %v: %d breaks in %v, want 1", joined, breaks, a.Lines[0].Mean)
		}
	}
}

func TestPromptAndDecodeAreNeverInOneLine(t *testing.T) {
	s := newSite(t, nil)
	var rows []sample
	for i := range 20 {
		flags, usage := store.DecodeStep, 0.25
		if i%2 == 0 {
			flags, usage = store.PromptStep, 0.75
		}
		rows = append(rows, sample{0, time.Duration(40-i) * time.Minute, int64(i), flags, []float64{usage, 9}})
	}
	s.seed([]store.EngineInfo{engine("d", "rank0", 0)}, []store.Column{{Metric: "batch_usage"}, {Metric: "running"}}, rows)
	for _, joined := range []bool{false, true} {
		a := s.series(seriesQuery{deployment: "d", metrics: []string{"batch_usage"}, joined: joined})
		if len(a.Lines) != 2 || a.Lines[0].Steps != "decode" || a.Lines[1].Steps != "prompt" {
			t.Fatalf("lines %+v, want one of decode and one of prompt steps", a.Lines)
		}
		for k, want := range []float64{25, 75} {
			for _, v := range a.Lines[k].Mean {
				if v != want {
					t.Errorf("%s steps: %v in the line, want only %v", a.Lines[k].Steps, v, want)
				}
			}
		}
	}
	// What describes windows is one line, whichever steps its rows were.
	if a := s.series(seriesQuery{deployment: "d", metrics: []string{"running"}, joined: true}); len(a.Lines) != 1 || a.Lines[0].Steps != "" {
		t.Errorf("running: %+v", a.Lines)
	}
	a := s.series(seriesQuery{deployment: "d", metrics: []string{"batch_usage"}, only: store.OnlyPrompt, joined: true})
	if len(a.Lines) != 1 || a.Lines[0].Steps != "prompt" {
		t.Errorf("only prompt steps: %+v", a.Lines)
	}
}

func TestSpikesSurviveAndPointsAreBounded(t *testing.T) {
	s := newSite(t, nil)
	var rows []sample
	for i := range 3600 { // a row a second
		v := 10.0
		if i == 1234 {
			v = 9000
		}
		rows = append(rows, sample{0, time.Hour - time.Duration(i)*time.Second, int64(i), 0, []float64{v}})
	}
	s.seed([]store.EngineInfo{engine("d", "rank0", 0)}, []store.Column{{Metric: "TTFT_max"}}, rows)
	a := s.series(seriesQuery{deployment: "d", metrics: []string{"TTFT_max"}, joined: true, points: 40})
	l := a.Lines[0]
	if len(l.Cells) > 40 || a.Samples != 3600 {
		t.Fatalf("%d points of %d samples, want at most 40 of 3600", len(l.Cells), a.Samples)
	}
	if got := slices.Max(l.High); got != 9000 {
		t.Errorf("the spike of 9000 is lost: the largest is %v", got)
	}
}

// A spike of one engine is seen in the sum over several, over a year as over an hour.
func TestASpikeInAYearIsSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a year")
	}
	s := newSite(t, nil)
	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	filling := sqlite.Filling{Deployment: "year", Engines: 2, Metrics: []string{"pending", "TTFT_max"}, Days: 365, Start: start, Every: 40 * time.Second}
	if err := s.st.(*sqlite.Store).Fill(t.Context(), filling); err != nil {
		t.Fatal(err)
	}
	at := start.AddDate(0, 5, 3).Add(1234 * time.Second)
	b := &store.Batch{Engines: []store.EngineInfo{engine("year", "rank1", 1)},
		Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "pending"}, {Metric: "TTFT_max"}}}},
		Rows:    []store.Row{{Time: at.UnixNano(), Step: 1, Values: []float64{1e6, 2e6}}}}
	if _, err := s.st.Deliver(t.Context(), "late", b); err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]float64{"pending": 1e6, "TTFT_max": 2e6} { // a sum, and a maximum
		for _, joined := range []bool{true, false} {
			q := seriesQuery{deployment: "year", metrics: []string{metric}, joined: joined, points: 300, from: start.UnixNano(), to: start.AddDate(1, 0, 0).UnixNano()}
			a := s.series(q)
			highest := math.Inf(-1)
			for _, l := range a.Lines {
				if len(l.Cells) > 300 {
					t.Errorf("%s: %d points", metric, len(l.Cells))
				}
				highest = max(highest, slices.Max(l.High))
			}
			if highest < 0.99*want || highest > 1.01*want {
				t.Errorf("%s, joined %v: the highest is %v, want the spike of %v", metric, joined, highest, want)
			}
		}
	}
}

func TestCountersShowTheirIncrease(t *testing.T) {
	s := newSite(t, nil)
	rows := []sample{
		{0, 10 * time.Minute, 1, 0, []float64{1000}},
		{0, 9 * time.Minute, 2, 0, []float64{1030}}, // 30 in a minute
		{0, 7 * time.Minute, 3, 0, []float64{1050}}, // 20 in two
		{0, 6 * time.Minute, 4, 0, []float64{12}},   // began anew: 12 since then
	}
	s.seed([]store.EngineInfo{engine("d", "rank0", 0)}, []store.Column{{Metric: "finished"}}, rows)
	a := s.series(seriesQuery{deployment: "d", metrics: []string{"finished"}, joined: true})
	same(t, "finished per minute", a.Lines[0].Mean, []float64{30, 10, 12})
}

func TestManyEnginesAreABandWithOutliers(t *testing.T) {
	s := newSite(t, nil)
	var engines []store.EngineInfo
	var rows []sample
	for e := range 21 {
		engines = append(engines, engine("d", "rank"+string(rune('a'+e)), e))
		for i := range 3 {
			v := 100 + float64(e) // 100 … 120
			if e == 4 {
				v = 60
			}
			rows = append(rows, sample{e, time.Duration(20-i) * time.Minute, int64(i), 0, []float64{v}})
		}
	}
	s.seed(engines, []store.Column{{Metric: "completion_TPS"}}, rows)
	a := s.series(seriesQuery{deployment: "d", metrics: []string{"completion_TPS"}})
	if len(a.Bands) != 1 || len(a.Lines) != 1 || a.Lines[0].Engine != "ranke" || !a.Lines[0].Outlier {
		t.Fatalf("%d bands, lines %+v: want a band and the outlier", len(a.Bands), a.Lines)
	}
	b := a.Bands[0]
	// In order: 60, 100 … 103, 105 … 120. Of 21 values p10 is the third, the median the eleventh, p90 the nineteenth.
	same(t, "min, p10, p50, p90, max", []float64{b.Min[0], b.P10[0], b.P50[0], b.P90[0], b.Max[0]}, []float64{60, 101, 110, 118, 120})
	if len(a.Outliers) != 1 || a.Outliers[0].Engine != "ranke" || math.Abs(a.Outliers[0].Off-(60.0/110-1)) > 1e-9 {
		t.Errorf("outliers %+v, want ranke at 60 ÷ 110 − 1", a.Outliers)
	}
}

func TestOutliers(t *testing.T) {
	f := func(means []float64, want ...int) {
		t.Helper()
		var list []laidEngine
		for _, m := range means {
			list = append(list, laidEngine{mean: m})
		}
		var got []int
		for _, o := range findOutliers(list) {
			got = append(got, o.at)
		}
		if !slices.Equal(got, want) {
			t.Errorf("outliers of %v: %v, want %v", means, got, want)
		}
	}
	f([]float64{100, 50, 100})                                   // who of three is the odd one?
	f([]float64{100, 100, 100, 100, 100, 100, 100, 94}, 7)       // 6 % off, the others agree
	f([]float64{100, 100, 100, 100, 100, 100, 100, 96})          // within 5 %
	f([]float64{100, 100, 100, 94})                              // few engines: 10 % at least
	f([]float64{80, 90, 100, 110, 120, 130, 70, 60})             // wide, but nobody alone
	f([]float64{100, 101, 99, 100, 102, 98, 100, 50, 200}, 8, 7) // the farthest first
	f([]float64{0, 0, 0, 0, 0, 0, 0, 0})                         // no spread, no median
}

func TestSeriesOverSteps(t *testing.T) {
	s := newSite(t, nil)
	s.seed([]store.EngineInfo{engine("d", "rank0", 0), engine("d", "rank1", 1)}, []store.Column{{Metric: "completion_TPS"}}, []sample{
		{0, 30 * time.Minute, 100, 0, []float64{10}}, {1, 20 * time.Minute, 100, 0, []float64{1}},
		{0, 29 * time.Minute, 200, 0, []float64{20}}, {1, 19 * time.Minute, 200, 0, []float64{2}},
		{0, 28 * time.Minute, -1, 0, []float64{30}}, // without a step it has no place
	})
	a := s.series(seriesQuery{deployment: "d", metrics: []string{"completion_TPS"}, steps: true, joined: true, points: 20})
	// Steps 100 … 200 in 20 cells: 6 steps a cell, 17 cells.
	if a.X0 != 100 || a.DX != 6 || a.Cells != 17 {
		t.Errorf("x from %v by %v, %d cells", a.X0, a.DX, a.Cells)
	}
	same(t, "sum at the same step", a.Lines[0].Mean, []float64{11, 22})
	if a.Times[0][0] == 0 || a.Times[1][1] != 0 || a.Times[16][1] <= a.Times[16][0] {
		t.Errorf("times of the cells: %v", a.Times)
	}
}

func TestCountersOverSteps(t *testing.T) {
	s := newSite(t, nil)
	// Steps 50 … 3000 in 60 cells: 50 steps a cell, so that 1500 and 1520 share one.
	s.seed([]store.EngineInfo{engine("d", "rank0", 0), engine("d", "rank1", 1)}, []store.Column{{Metric: "finished"}}, []sample{
		{0, 30 * time.Minute, 1000, 0, []float64{100}}, {1, 30 * time.Minute, 1000, 0, []float64{0}},
		{0, 29 * time.Minute, 1500, 0, []float64{110}}, {1, 29 * time.Minute, 1500, 0, []float64{1}}, // 10 and 1 in 500 steps: 20 and 2 in 1,000
		{0, 28 * time.Minute, 1520, 0, []float64{112}},                                               // in the same cell: 12 in 520 steps
		{0, 27 * time.Minute, 3000, 0, []float64{260}}, {1, 27 * time.Minute, 3000, 0, []float64{7}}, // 148 in 1,480 steps; 6 in 1,500
		{0, 26 * time.Minute, 50, 0, []float64{4}}, // a restart: steps began anew, what they took before is unknown
	})
	q := seriesQuery{deployment: "d", metrics: []string{"finished"}, steps: true, points: 60}
	q.from, q.to = seedNow.Add(-time.Hour).UnixNano(), seedNow.UnixNano()
	f := func(joined bool, want ...[]float64) {
		t.Helper()
		q.joined = joined
		a := s.series(q)
		if len(a.Lines) != len(want) {
			t.Fatalf("joined %v: %d lines, want %d", joined, len(a.Lines), len(want))
		}
		for i := range want {
			same(t, "finished per 1,000 steps", a.Lines[i].Mean, want[i])
		}
	}
	f(false, []float64{12 / 0.52, 148 / 1.48}, []float64{1 / 0.5, 6 / 1.5})
	f(true, []float64{12/0.52 + 2, 100 + 4})
}

func TestCardsAreTold(t *testing.T) {
	m, _ := ledger.Lookup("gpu_throttle")
	column, card := splitCard(m, store.Column{Metric: m.Key, Label: "GPU-1a sw_power_cap"})
	if column.Label != "sw_power_cap" || card != "GPU-1a" {
		t.Errorf("%+v %q", column, card)
	}
	m, _ = ledger.Lookup("cpu_mean")
	if column, card := splitCard(m, store.Column{Metric: m.Key, Label: "a b"}); column.Label != "a b" || card != "" {
		t.Errorf("a timer's name was cut: %+v %q", column, card)
	}
}

func TestSeriesAPI(t *testing.T) {
	s := newSite(t, nil)
	s.at(seedNow)
	s.seed([]store.EngineInfo{engine("d/<b>", "rank0", 0)}, []store.Column{{Metric: "cpu_mean", Label: "x"}, {Metric: "cpu_mean", Label: "y"}, {Metric: "vllm:own_series"}},
		[]sample{{0, time.Minute, 1, 0, []float64{1.5, math.NaN(), 7}}})
	f := func(query string, status int, parts ...string) {
		t.Helper()
		res, body := s.do("GET", "/api/series?"+query, nil)
		if res.StatusCode != status {
			t.Fatalf("%s: %d %s", query, res.StatusCode, body)
		}
		for _, p := range parts {
			if !strings.Contains(body, p) {
				t.Errorf("%s: no %s in %s", query, p, body)
			}
		}
	}
	f("deployment=d/%3Cb%3E&metric=cpu_mean&range=15m&points=300", 200, `"cells":300`, `"label":"x"`, `"v":[1.5]`, `"samples":1`)
	f("deployment=d/%3Cb%3E&metric=cpu_mean&label=y&range=15m", 200, `"lines":[]`, `"samples":0`)
	f("deployment=d/%3Cb%3E&metric=cpu_mean&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z", 200, `"lines":[]`)
	f("deployment=d/%3Cb%3E&metric=vllm:own_series&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z", 200, `"lines":[]`) // it has samples at another time
	f("deployment=d/%3Cb%3E&metric=cpu_maen", 404, "no metric “cpu_maen”", "cpu_mean", `"code":"metric_unknown"`, "没有指标")
	f("deployment=d/%3Cb%3E&metric=cpu_mean&points=9999999", 200, `"cells":2000`)
	f("deployment=nobody&metric=cpu_mean", 404, "no such deployment")
	f("deployment=d&metric=m&range=2h", 400, "no range “2h”", "live, 15m, 1h")
	f("deployment=d&metric=m&from=2026-03-01T00:00:00Z", 400, "only one end")
	f("metric=cpu_mean", 400, "deployment or metric")
	f("deployment=d&metric="+strings.Repeat("a", 600), 400, "1 to 8 keys")
	f("deployment=d&metric=m&points=-4", 400, "points")
	f("deployment=d&metric=m&only=both", 400, "only=prompt")
	f("deployment=d&metric=m&x=y", 400, "x=time")
	f("deployment=d&metric=m&from=tomorrow&to=1", 400, "no time")
	f("deployment=d&metric=m&from=2000&to=1000", 400, "ends before it begins")
}
