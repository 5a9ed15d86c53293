package sides_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sides"
	"github.com/stepscope/stepscope/store/sqlite"
)

var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// filled is a store with two deployments of two engines: a line every 10 s for an hour,
// with 100 tokens/s an engine of "fast" and 80 of "slow". Engine e of fast was captured
// from minute 10 to 11, restarted at minute 30 and lost lines at minute 40.
func filled(t *testing.T) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "x.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	b := store.Batch{Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{
		{Metric: "completion_TPS"}, {Metric: "nextn_accept_rate", Label: "1"}, {Metric: "vllm:private"}}}}}
	for i, d := range []string{"fast", "slow"} {
		for e, name := range []string{"rank0", "rank1"} {
			engine := len(b.Engines)
			b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: d, Name: name}, Kind: "deepinfer", Role: "mixed", Rank: e, GPU: e, Model: "m"})
			for k := range 360 {
				var f store.Flags = store.DecodeStep
				if k == 0 {
					f |= store.Filling
				}
				b.Rows = append(b.Rows, store.Row{Engine: engine, Time: start.Add(time.Duration(k) * 10 * time.Second).UnixNano(), Step: int64(k) * 100, Flags: f,
					Values: []float64{100 - 20*float64(i) + float64((k*k+e)%7), 0.5, 1}})
			}
		}
	}
	at := func(minute int) int64 { return start.Add(time.Duration(minute) * time.Minute).UnixNano() }
	b.Events = []store.Event{
		{Engine: 0, Kind: store.CaptureEvent, From: at(10), To: at(11), FromStep: -1, ToStep: -1},
		{Engine: 0, Kind: store.Restart, From: at(30), To: at(30), FromStep: -1, ToStep: -1},
		{Engine: 0, Kind: store.Gap, From: at(40), To: at(41), FromStep: -1, ToStep: -1},
	}
	if _, err := st.Deliver(context.Background(), "test", &b); err != nil {
		t.Fatal(err)
	}
	if _, err := st.PutBaseline(context.Background(), store.Baseline{Deployment: "fast", Name: "first half", From: at(0), To: at(30)}); err != nil {
		t.Fatal(err)
	}
	return st
}

func load(t *testing.T, st *sqlite.Store, opt sides.Options, columns ...string) ([]compare.Side, error) {
	t.Helper()
	specs, err := compare.ParseColumns(columns)
	if err != nil {
		t.Fatal(err)
	}
	if opt.Now.IsZero() {
		opt.Now = start.Add(time.Hour)
	}
	return sides.Load(context.Background(), st, specs, opt)
}

func TestLoad(t *testing.T) {
	st := filled(t)
	gpus := 4
	if _, err := st.UpdateDeployment(context.Background(), "fast", store.DeploymentPatch{GPUs: &gpus}); err != nil {
		t.Fatal(err)
	}
	all, err := load(t, st, sides.Options{}, "fast", "slow@-20m", "fast@baseline:first half", "slow@2026-03-01T10:10Z..2026-03-01T10:20Z")
	if err != nil {
		t.Fatal(err)
	}
	// Lines are 10 s apart, the end is exclusive: 360, 120, 180 and 60 of each of 2 engines.
	for i, want := range []int{360, 120, 180, 60} {
		for _, e := range all[i].Engines {
			for _, s := range e.Series {
				if s.Key == "completion_TPS" && len(s.Values) != want {
					t.Errorf("column %d: %s has %d lines, want %d", i, e.Name, len(s.Values), want)
				}
				if s.Key == "vllm:private" {
					t.Errorf("column %d has a series without a definition", i)
				}
			}
		}
	}
	a := all[0]
	if a.GPUs != 4 || len(a.Engines) != 2 || a.Engines[0].Model != "m" || a.Engines[0].Restarts != 1 || a.Engines[0].Gaps != 1 || a.Traces != 1 {
		t.Errorf("column 0: %d GPUs, engines %+v, %d captures", a.GPUs, a.Engines[0].Name, a.Traces)
	}
	minute := func(n int) int64 { return start.Add(time.Duration(n) * time.Minute).UnixNano() }
	if want := []compare.Span{{From: minute(30), To: minute(30)}, {From: minute(40), To: minute(41)}}; !slices.Equal(a.Engines[0].Breaks, want) {
		t.Errorf("times that lines don't tell of: %v, want %v", a.Engines[0].Breaks, want)
	}
	if all[2].Baseline != "first half" || all[2].Name != "fast, first half" {
		t.Errorf("column 2 is called %q", all[2].Name)
	}
	table, err := compare.Compare(all, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := table.Groups[0].Rows[0]
	// Per engine 100 and 80, plus the mean of (k²+e) mod 7 over k: 0 1 4 2 2 4 1 → 14 ÷ 7 = 2, and 1 2 5 3 3 5 2 → 3:
	// 2 × 100 + 5 and 2 × 80 + 5.
	if got := r.Cells[0].Level; math.Abs(got-205) > 0.5 {
		t.Errorf("fast: %v tokens/s, want 205", got)
	}
	if c := r.Cells[1]; c.Verdict != compare.Worse || math.Abs(c.Level-165) > 0.5 {
		t.Errorf("slow: %v tokens/s, %v; want 165, worse", c.Level, c.Verdict)
	}
	// 6 lines of the captured engine lie in its minute, one more at its end; and one still filled.
	if l := r.Cells[0].Left; l.Perturbed < 6 || l.Perturbed > 7 || l.Filling != 2 {
		t.Errorf("left out: %+v, want 6 or 7 perturbed and 2 filling", l)
	}
}

// TestLoadAfterABaseline: a column without a time of its own begins where the baseline that
// it is held against ends, since it would be compared with its own lines else.
func TestLoadAfterABaseline(t *testing.T) {
	st := filled(t)
	all, err := load(t, st, sides.Options{}, "fast@baseline:first half", "fast", "slow", "fast@-50m")
	if err != nil {
		t.Fatal(err)
	}
	// The baseline is minutes 0 to 30 of the hour; other deployments and times that were asked for stay.
	for i, want := range []int64{0, 30, 0, 10} {
		if got := (all[i].From - start.UnixNano()) / int64(time.Minute); got != want {
			t.Errorf("column %d begins at minute %d, want %d", i, got, want)
		}
	}
	table, err := compare.Compare(all[:2], compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if table.Fairness.Level == compare.Unfair {
		t.Errorf("the baseline and what came after: %s", table.Fairness.Text.EN)
	}
	// At its end nothing has come yet: that is said, and not called wrong times.
	if all, err = load(t, st, sides.Options{Now: start.Add(30 * time.Minute)}, "fast@baseline:first half", "fast"); err != nil {
		t.Fatal(err)
	}
	if table, err = compare.Compare(all, compare.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := table.Answer[0].Text.EN; !strings.Contains(got, "baseline ends at 10:30:00 UTC, and nothing has come since") {
		t.Errorf("just kept: %q", got)
	}
}

func TestLoadOnlySome(t *testing.T) {
	all, err := load(t, filled(t), sides.Options{Metrics: []string{"nextn_accept_rate"}}, "fast", "slow")
	if err != nil {
		t.Fatal(err)
	}
	table, err := compare.Compare(all, compare.Options{Metrics: []string{"nextn_accept_rate"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Groups) != 1 || len(table.Groups[0].Rows) != 1 || table.Groups[0].Rows[0].Label != "1" {
		t.Errorf("groups %+v", table.Groups)
	}
}

func TestLoadRefuses(t *testing.T) {
	st := filled(t)
	f := func(want string, columns ...string) {
		t.Helper()
		_, err := load(t, st, sides.Options{}, columns...)
		if !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want not found with %q", columns, err, want)
		}
	}
	f(`there are "fast", "slow"`, "fast", "fsat")
	f(`it has "first half"`, "fast@baseline:second half", "slow")
	f("it has none", "fast", "slow@baseline:x")
	// A time without samples is no error: the table says so.
	all, err := load(t, st, sides.Options{}, "fast", "slow@2020-03-01T10:10Z..2020-03-01T10:20Z")
	if err != nil || len(all[1].Engines) != 0 {
		t.Errorf("an empty time: %v, %d engines", err, len(all[1].Engines))
	}
}

// TestLoadReadsMeansWhereSamplesAreTooMany: 4 engines × 360 lines × 2 known series are
// 2,880 values, of which 1,000 may be read.
func TestLoadReadsMeansWhereSamplesAreTooMany(t *testing.T) {
	st := filled(t)
	one, err := load(t, st, sides.Options{}, "fast", "slow")
	if err != nil {
		t.Fatal(err)
	}
	all, err := load(t, st, sides.Options{MaxValues: 1000}, "fast", "slow")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		if s.Coarse <= 0 || s.Coarse > int64(10*time.Second) || one[i].Coarse != 0 {
			t.Errorf("column %d: means of %v, want of an hour ÷ 720 = 5 s, or none", i, time.Duration(s.Coarse))
		}
		if len(s.Engines) != 2 || len(s.Engines[0].Series) != 2 {
			t.Fatalf("column %d: %d engines, %d series", i, len(s.Engines), len(s.Engines[0].Series))
		}
	}
	// In such short stretches means are the lines themselves: levels and verdict stay.
	levels := func(list []compare.Side) (out []float64, v compare.Verdict) {
		table, err := compare.Compare(list, compare.Options{Metrics: []string{"completion_TPS"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range table.Groups[0].Rows[0].Cells {
			out = append(out, c.Level)
			v = c.Verdict
		}
		return out, v
	}
	x, vx := levels(one)
	y, vy := levels(all)
	for i := range x {
		if math.Abs(x[i]-y[i]) > 0.01*x[i] || vx != vy || vx != compare.Worse {
			t.Errorf("column %d: %g and as means %g, %s and %s", i, x[i], y[i], vx, vy)
		}
	}
}

// Every second line tells no kind of step. In a stretch of 3 lines each of prompt (10, 20, 30), decode (1, 2, 3) and
// neither (100, 200, 300), the means are 20, 2 and 200: each once.
func TestMeansOfKinds(t *testing.T) {
	const lines = 7200 // 2 hours of seconds; 720 stretches of 10 s
	st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "x.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b := store.Batch{Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "cur_TPS"}, {Metric: "completion_TPS"}}}},
		Engines: []store.EngineInfo{{EngineKey: store.EngineKey{Deployment: "d", Name: "rank0"}, Kind: "deepinfer", Role: "mixed", Model: "m"}}}
	kinds := [3]store.Flags{store.PromptStep, store.DecodeStep, 0}
	scale := [3]float64{10, 1, 100}
	for k := range lines {
		if k%10 == 9 {
			continue // three of each
		}
		i := k % 10
		b.Rows = append(b.Rows, store.Row{Time: start.Add(time.Duration(k) * time.Second).UnixNano(), Step: int64(k), Flags: kinds[i%3],
			Values: []float64{scale[i%3] * float64(1+i/3), 5}})
	}
	if _, err := st.Deliver(context.Background(), "test", &b); err != nil {
		t.Fatal(err)
	}
	all, err := load(t, st, sides.Options{MaxValues: 100, Now: start.Add(lines * time.Second)}, "d@2026-03-01T10:00Z..2026-03-01T12:00Z", "d")
	if err != nil {
		t.Fatal(err)
	}
	want := map[compare.Flags]float64{compare.PromptStep: 20, compare.DecodeStep: 2, 0: 200}
	for _, s := range all[0].Engines[0].Series {
		counts := map[compare.Flags]int{}
		for i, f := range s.Flags {
			counts[f]++
			if v := s.Values[i]; s.Key == "cur_TPS" && math.Abs(v-want[f]) > 1e-9 || s.Key == "completion_TPS" && v != 5 {
				t.Fatalf("%s at %d, flags %d: %g", s.Key, i, f, v)
			}
		}
		perKind := map[string]int{"cur_TPS": 720}[s.Key]
		if counts[compare.PromptStep] != perKind || counts[compare.DecodeStep] != perKind || counts[0] != 720 {
			t.Errorf("%s: %v", s.Key, counts)
		}
		if !slices.IsSorted(s.Times) {
			t.Errorf("%s: not in order of time", s.Key)
		}
	}
	if n := len(all[0].Engines[0].Series); n != 2 || all[0].Coarse != int64(10*time.Second) {
		t.Errorf("%d series, means of %v", n, time.Duration(all[0].Coarse))
	}
}
