package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

var steady = noise{engines: 4, lines: 80, cv: 0.02, rho: 0.3, every: 5 * time.Second}

func compared(t *testing.T, opt Options, sides ...Side) *Table {
	t.Helper()
	table, err := Compare(sides, opt)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// with changes levels of the steady deployment.
func with(factors map[string]float64) noise {
	n := steady
	n.factor = factors
	return n
}

// requests gives a side counters that make an arrival rate: total × factor requests per
// second and engine.
func TestFairness(t *testing.T) {
	f := func(factors map[string]float64, want FairnessLevel, line string, word string) *Table {
		t.Helper()
		rng := newRand(11)
		table := compared(t, Options{}, steady.side(rng), with(factors).side(rng))
		if table.Fairness.Level != want {
			t.Errorf("%v: %v (%s), want %v", factors, table.Fairness.Level, table.Fairness.Text.EN, want)
		}
		for _, l := range table.Fairness.Lines {
			if l.Key == line && l.Cells[1].Level != want {
				t.Errorf("%v: %s is %v, want %v", factors, line, l.Cells[1].Level, want)
			}
		}
		tps := row(t, table, "completion_TPS", "", "").Cells[1]
		said := ""
		for _, q := range tps.Qualifications {
			if q.Code == OtherLoad {
				said = q.Short.EN
			}
		}
		if said != word {
			t.Errorf("%v: throughput is said to be %q, want %q", factors, said, word)
		}
		return table
	}
	gain := 1.2 // completion_TPS
	f(map[string]float64{"completion_TPS": gain}, Fair, "avg_input_length", "")
	// Prompts shorter by 10 %: evident, and above 2 %.
	f(map[string]float64{"completion_TPS": gain, "avg_input_length": 0.9}, Qualified, "avg_input_length", "under lighter load")
	// Longer by a half: above 20 %.
	f(map[string]float64{"completion_TPS": gain, "avg_output_length": 1.5}, Unfair, "avg_output_length", "under heavier load")
	f(map[string]float64{"completion_TPS": gain, "avg_output_length": 1.1, "avg_input_length": 0.9}, Qualified, "avg_output_length", "under other load")
	// Shared prefixes: hits go from 50 to 60 %, 10 points, or to 75 %, 25 points; the limits are 2 and 15.
	f(map[string]float64{"completion_TPS": gain, "prefill_caching_rate": 1.2}, Qualified, "prefill_caching_rate", "under lighter load")
	f(map[string]float64{"completion_TPS": gain, "prefill_caching_rate": 1.5}, Unfair, "prefill_caching_rate", "under lighter load")
	// Half of the arrivals, finished and aborted counters rise half as fast, with fewer in the system.
	f(map[string]float64{"completion_TPS": 0.6, "finished": 0.5, "aborted": 0.5, "running": 0.5, "pending": 0.5}, Unfair, arrivalRate, "under lighter load")
	// The same with as many in the system: clients that wait for answers, so no objection.
	f(map[string]float64{"completion_TPS": 0.6, "finished": 0.6, "aborted": 0.6}, Uncertain, arrivalRate, "")
}

// TestRolesAndSizes: other roles, other sizes, and what is divided by them.
func TestRolesAndSizes(t *testing.T) {
	rng := newRand(3)
	a, b := steady.side(rng), steady.side(rng)
	for i := range a.Engines {
		a.Engines[i].Role, b.Engines[i].Role = "prompt", "decode"
	}
	table := compared(t, Options{}, a, b)
	for _, g := range table.Groups {
		for _, r := range g.Rows {
			if r.Cells[1].Verdict != Refused || r.Cells[1].Diff != nil {
				t.Fatalf("%s of prompt against decode engines: %v", r.Metric.Key, r.Cells[1].Verdict)
			}
		}
	}
	if table.Fairness.Level != Unfair {
		t.Errorf("prompt against decode engines are %v", table.Fairness.Level)
	}
	large := steady
	large.engines = 8
	a, b = steady.side(rng), large.side(rng)
	// Twice the engines make twice the sum: 4 × 100 and 8 × 100.
	c := row(t, compared(t, Options{}, a, b), "completion_TPS", "", "").Cells[1]
	if c.Verdict != Better || math.Abs(c.Diff.Rel-1) > 0.02 || !slices.Contains(codes(c.Qualifications), OtherSize) {
		t.Errorf("twice the engines: %v by %v with %v", c.Verdict, c.Diff.Rel, codes(c.Qualifications))
	}
	for _, per := range []Per{PerGPU, PerEngine} {
		r := row(t, compared(t, Options{Per: per}, a, b), "completion_TPS", "", "")
		if c := r.Cells[1]; c.Verdict != NoEvidence || math.Abs(r.Cells[0].Level-100) > 3 || r.Unit != "tokens/s/"+map[Per]string{PerGPU: "GPU", PerEngine: "engine"}[per] {
			t.Errorf("per %s: %v of %v %s", per, c.Verdict, r.Cells[0].Level, r.Unit)
		}
	}
	b.GPUs = 0
	if c := row(t, compared(t, Options{Per: PerGPU}, a, b), "completion_TPS", "", "").Cells[1]; c.OK || c.Absent.Code != SizeUnknown {
		t.Errorf("per GPU without a number: %+v", c)
	}
}

// TestPerToken: 3 calls of 2 ms in 10 s, in which 500 tokens/s × 10 s come, are
// 6 ms ÷ 5000 tokens = 0.0012 ms each.
func TestPerToken(t *testing.T) {
	at := []float64{10, 20, 30}
	stats, mean, calls := series("completion_TPS", at, 500, 500, 500), series("cpu_mean", at, 2, 2, 2), series("cpu_calls", at, 3, 3, 3)
	mean.Label, calls.Label = "schedule", "schedule"
	for _, s := range []*Series{&stats, &mean, &calls} {
		s.Steps = []int64{100, 200, 300}
	}
	side := Side{From: 1, To: 2, Engines: []Engine{{Kind: "deepinfer", Series: []Series{stats, mean, calls}}}}
	r := row(t, compared(t, Options{Per: PerToken}, side, side), "cpu_mean", "schedule", "")
	if got := r.Cells[0].Level; math.Abs(got-0.0012) > 1e-15 || r.Unit != "ms/token" {
		t.Errorf("%v %s, want 0.0012 ms/token", got, r.Unit)
	}
}

// TestNeedsData: few lines give no verdict, however different they look.
func TestNeedsData(t *testing.T) {
	rng := newRand(5)
	few := with(map[string]float64{"completion_TPS": 0.5})
	few.lines = 12
	c := row(t, compared(t, Options{}, steady.side(rng), few.side(rng)), "completion_TPS", "", "").Cells[1]
	// 12 lines make at most 12 buckets; at least 8 more of 4 engines each are needed.
	if c.Verdict != NeedsData || !strings.Contains(c.Reason.Short.EN, "more lines") || !math.IsInf(c.Diff.High, 1) {
		t.Errorf("12 lines: %v %+v %+v", c.Verdict, c.Reason, c.Diff)
	}
	empty := Side{From: 1, To: 2, Name: "empty"}
	table := compared(t, Options{}, steady.side(rng), empty)
	c = row(t, table, "completion_TPS", "", "").Cells[1]
	if c.OK || c.Absent.Code != NoLines || c.Verdict != None {
		t.Errorf("no engines: %+v", c)
	}
	if len(table.Answer) == 0 {
		t.Error("a table with an empty column says nothing")
	}
}

// TestEqualConstants: what never moves has no noise to test against.
func TestEqualConstants(t *testing.T) {
	side := func(v float64) Side {
		s := flat("preempted", "", 0, 40)
		k := flat("KV_cache_usage", "", 1, 40)
		for i := range k.Values {
			s.Values[i], k.Values[i] = 7, v
		}
		return Side{From: 1, To: 2, Engines: []Engine{{Kind: "deepinfer", Series: []Series{s, k}}}}
	}
	table := compared(t, Options{}, side(0.5), side(0.25))
	if c := row(t, table, "preempted", "", "").Cells[1]; c.Verdict != NoEvidence || c.Reason.Code != Equal || c.Level != 0 {
		t.Errorf("no preemptions on both sides: %v %+v", c.Verdict, c.Reason)
	}
	if c := row(t, table, "KV_cache_usage", "", "").Cells[1]; c.Verdict != Changed || c.Diff.Value != -0.25 {
		t.Errorf("constants that differ: %v %+v", c.Verdict, c.Diff)
	}
}

// TestStates: NCCL memory is logged on change and compared as it is.
func TestStates(t *testing.T) {
	side := func(values ...float64) Side {
		s := Series{Key: "nccl_total"}
		for i, v := range values {
			s.Times, s.Values = append(s.Times, int64(i+1)*sec), append(s.Values, v)
		}
		return Side{From: 1, To: 2, Engines: []Engine{{Name: "a", Kind: "deepinfer", Series: []Series{s}}, {Name: "b", Kind: "deepinfer", Series: []Series{s}}}}
	}
	f := func(a, b Side, want Verdict, level float64) {
		t.Helper()
		r := row(t, compared(t, Options{}, a, b), "nccl_total", "", "")
		if c := r.Cells[1]; c.Verdict != want || c.Level != level || c.Reason.Code != State {
			t.Errorf("%v %v %+v, want %v %v", c.Verdict, c.Level, c.Reason, want, level)
		}
	}
	f(side(1.5), side(2), Worse, 4)              // 2 engines × 2 GiB against 2 × 1.5
	f(side(1.5), side(1.501), NoEvidence, 3.002) // less than 1 %
	f(side(1, 2), side(2.2), NoEvidence, 4.4)    // A itself moved by 2 × 1 GiB
}

// TestDrift: a column that changes within its time is judged by its steady half, or by
// how far it is from all that the steady column does.
func TestDrift(t *testing.T) {
	rng := newRand(9)
	ramp := func(x func(i int) float64) Side {
		s := steady.side(rng)
		for e := range s.Engines {
			for k := range s.Engines[e].Series {
				c := &s.Engines[e].Series[k]
				for i := range c.Values {
					if c.Key == "completion_TPS" {
						c.Values[i] *= x(i)
					}
				}
			}
		}
		return s
	}
	// Falls to a half within the first 20 of 80 lines, then stays: 4 engines × 100 × 0.5.
	c := row(t, compared(t, Options{}, steady.side(rng), ramp(func(i int) float64 { return max(0.5, 1-0.025*float64(i)) })), "completion_TPS", "", "").Cells[1]
	if c.Verdict != Worse || math.Abs(c.Level-200) > 4 || !slices.Contains(codes(c.Qualifications), Drift) {
		t.Errorf("a fall that settles: %v at %v with %v", c.Verdict, c.Level, codes(c.Qualifications))
	}
	// Falls all the time, from 0.9 to 0.11: the quarters' means are those of 0 … 19, 20 … 39 and so on, of 400: 322, 242,
	// 162 and 82.
	c = row(t, compared(t, Options{}, steady.side(rng), ramp(func(i int) float64 { return 0.9 - 0.01*float64(i) })), "completion_TPS", "", "").Cells[1]
	said := ""
	for _, q := range c.Qualifications {
		if q.Code == Drift {
			said = q.Long.EN
		}
	}
	if c.Verdict != Worse || !strings.Contains(said, "quarters: 32") || !strings.Contains(said, "→ 24") || !strings.Contains(said, "→ 16") || !strings.Contains(said, "→ 8") {
		t.Errorf("a fall without end: %v with %q", c.Verdict, said)
	}
}

// TestDrifting: a series that only moves slowly is seldom said to drift: in one direction, that is, and by more than
// what is seen within quarters.
func TestDrifting(t *testing.T) {
	rng := newRand(21)
	const n = 400
	ones := slices.Repeat([]float64{1}, 80)
	for _, rho := range []float64{0, 0.5, 0.9} {
		found := 0
		for range n {
			x, z := make([]float64, 80), rng.NormFloat64()
			for i := range x {
				z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				x[i] = 71 + z
			}
			q := byQuarters(x, ones)
			if drifting(x) && (q[1]-q[0])*(q[2]-q[1]) > 0 && (q[2]-q[1])*(q[3]-q[2]) > 0 {
				found++
			}
			for i := range x { // by two standard deviations in a quarter
				x[i] += 0.1 * float64(i)
			}
			if rho == 0 && !drifting(x) {
				t.Errorf("a rise from 71 to 79 with noise of 1 is none")
			}
		}
		t.Logf("autocorrelation %g: %d of %d steady series are said to drift", rho, found, n)
		if float64(found) > 0.05*n { // at 0.9 a quarter is worth 20 × 0.1 ÷ 1.9 = 1 independent point
			t.Errorf("autocorrelation %g: %d of %d steady series are said to drift, more than 5 %%", rho, found, n)
		}
	}
	if drifting([]float64{1, 2, 3}) || drifting(make([]float64, 80)) {
		t.Error("three points, or a constant, drift")
	}
}

// TestOutliers names the engine that is not like the others.
func TestOutliers(t *testing.T) {
	e := []EngineLevel{{Level: 100}, {Level: 101}, {Level: 99}, {Level: 80}}
	markOutliers(e)
	for i, want := range []bool{false, false, false, true} {
		if e[i].Outlier != want {
			t.Errorf("engine %d at %v: outlier %v", i, e[i].Level, e[i].Outlier)
		}
	}
}

func TestExports(t *testing.T) {
	rng := newRand(2)
	a, b := steady.side(rng), with(map[string]float64{"completion_TPS": 0.9}).side(rng)
	a.Name, b.Name = "=cmd|' /C calc'!A0", "b | <script>"
	table := compared(t, Options{}, a, b)
	var out bytes.Buffer
	if err := table.Write(&out, "csv", "en"); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := records[1]; len(got) != len(csvHead) || got[1] != "completion_TPS" || got[8] != "'"+a.Name {
		t.Errorf("first record %q", got)
	}
	if got := records[2]; got[25] != "worse" || got[7] != "B" {
		t.Errorf("second record %q", got)
	}
	out.Reset()
	if err := table.Write(&out, "md", "zh"); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "<script>") || !strings.Contains(s, "更差") || !strings.Contains(s, `\|`) {
		t.Errorf("Markdown:\n%.600s", s)
	}
	out.Reset()
	if err := table.Write(&out, "json", ""); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	again, err := ReadJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := again.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	if out.String() != text {
		t.Error("JSON read and written again differs")
	}
	if !json.Valid([]byte(text)) {
		t.Error("no valid JSON")
	}
	for _, bad := range []string{"", "{}", `{"columns":[{},{}]}`, `{"columns":[{"from":"2026-03-01T10:00:00Z","to":"2026-03-01T10:00:00Z"},{"from":"2026-03-01T10:00:00Z","to":"2026-03-01T10:00:00Z"}],"groups":[{"rows":[{"metric":"x","cells":[]}]}]}`} {
		if _, err := ReadJSON(strings.NewReader(bad)); err == nil {
			t.Errorf("ReadJSON took %.40q", bad)
		}
	}
}

func TestGates(t *testing.T) {
	rng := newRand(2)
	table := compared(t, Options{}, steady.side(rng), with(map[string]float64{"completion_TPS": 0.9, "cpu_mean": 1.5}).side(rng))
	f := func(text string, want Outcome) {
		t.Helper()
		g, err := ParseGate(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Worst(table.Check([]Gate{g})); got != want {
			t.Errorf("%s: %v, want %v: %+v", text, got, want, table.Check([]Gate{g}))
		}
	}
	f("completion_TPS<-3%", Crossed) // it fell by 10 %
	f("completion_TPS<-20%", Kept)
	f("completion_TPS<-30", Crossed) // by 40 tokens/s
	f("completion_TPS>+1%", Kept)
	f("prompt_TPS<-3%", Kept)         // unchanged, known to well below 3 %
	f("prompt_TPS<-0.01%", Undecided) // but not to that
	f("cpu_mean:schedule>10%", Crossed)
	f("cpu_mean:nothing>10%", Undecided)
	f("TTFT.p95>10%", Undecided) // no histogram here
	f("KV_cache_usage>500pp", Kept)
	for _, bad := range []string{"", "completion_TPS", "nonsense<-3%", "completion_TPS<", "completion_TPS<x%", "TTFT>1", "TTFT.p42>1", "completion_TPS.p50<1", "completion_TPS<NaN"} {
		if _, err := ParseGate(bad); err == nil || !strings.Contains(err.Error(), GateForms) {
			t.Errorf("ParseGate(%q): %v", bad, err)
		}
	}
}

// TestCompareRefuses what makes no table.
func TestCompareRefuses(t *testing.T) {
	s := Side{From: 1, To: 2}
	for _, f := range []func() (*Table, error){
		func() (*Table, error) { return Compare([]Side{s}, Options{}) },
		func() (*Table, error) { return Compare(make([]Side, 7), Options{}) },
		func() (*Table, error) { return Compare([]Side{s, s}, Options{FamilyLevel: 2}) },
		func() (*Table, error) { return Compare([]Side{s, s}, Options{Per: "moon"}) },
	} {
		if _, err := f(); err == nil {
			t.Error("an impossible comparison was made")
		}
	}
	if table := compared(t, Options{}, s, s); len(table.Groups) != 0 || len(table.Answer) != 1 {
		t.Errorf("two empty sides: %+v", table)
	}
}

// TestDeterministic: the same samples give the same table.
func TestDeterministic(t *testing.T) {
	text := func() string {
		rng := newRand(4)
		var out bytes.Buffer
		if err := compared(t, Options{}, steady.side(rng), steady.side(rng), steady.side(rng)).WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if text() != text() {
		t.Error("the same samples gave two tables")
	}
}

// TestGroupsAreNamed in both languages.
func TestGroupsAreNamed(t *testing.T) {
	for _, g := range ledger.Groups() {
		if w := groupNames[g]; w.EN == "" || w.ZH == "" {
			t.Errorf("group %s has no name", g)
		}
	}
}
