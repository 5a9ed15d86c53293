package compare

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// TestLittle: lines 2 s apart. 10 in the system for 2 s while 4 leave: 20 ÷ 4 = 5 s each. Then
// 12 for 2 s with none and 6 for 2 s with 3: (24 + 12) ÷ 3 = 12 s. A counter that begins
// anew begins anew: 8 for 2 s with 2 of 2 that left since: 16 ÷ 2 = 8 s.
func TestLittle(t *testing.T) {
	at := []float64{2, 4, 6, 8, 10, 12}
	in, gone := series(inFlight, at, 9, 10, 12, 6, 7, 8), series("finished", at, 100, 104, 104, 107, 0, 2)
	for _, s := range []*Series{&in, &gone} {
		s.Flags = make([]Flags, len(at))
	}
	in.Flags[2] = Filling
	stay, left := little(&in, &gone)
	want := []struct {
		at, stay, left float64
		flags          Flags
	}{{2, 0, 0, 0}, {4, 5, 4, 0}, {8, 12, 3, Filling}, {10, 0, 0, 0}, {12, 8, 2, 0}}
	if len(stay.Values) != len(want) || len(left.Values) != len(want) {
		t.Fatalf("%v and %v, want %v", stay.Values, left.Values, want)
	}
	for i, w := range want {
		if stay.Times[i] != int64(w.at)*sec || stay.Values[i] != w.stay || left.Values[i] != w.left || stay.Flags[i] != w.flags {
			t.Errorf("line %d: at %d %v by %v, %v; want %v", i, stay.Times[i]/sec, stay.Values[i], left.Values[i], stay.Flags[i], w)
		}
	}
}

// TestOffered: 10 requests arrive with 100 tokens of which a half is cached and 30 to
// generate: 10 × (100 × ½ + 30) = 800. Then 5 while the engine has no lengths to tell: 5 × 80.
func TestOffered(t *testing.T) {
	f := offered()
	for i, x := range []struct{ arrived, in, out, hits, want float64 }{{50, 100, 30, 0.5, 0}, {60, 100, 30, 0.5, 800}, {65, 0, 0, 0, 1200}, {66, math.NaN(), 1, 0, 1280}} {
		if got := f([]float64{x.arrived, x.in, x.out, x.hits}); got != x.want {
			t.Errorf("line %d: %v, want %v", i, got, x.want)
		}
	}
}

// TestSlowerAtTheSameLoad: 4 engines that finish and abort as many, with 2.1 times as many in
// the system. Each line 5 s: 200 in it, 200 leave in 5 s: 200 ÷ 40 = 5 s; 2.1 times that is 10.5 s.
func TestSlowerAtTheSameLoad(t *testing.T) {
	rng := newRand(31)
	table := compared(t, Options{}, steady.side(rng), with(map[string]float64{"running": 2.1, "pending": 2.1}).side(rng))
	r := row(t, table, requestTime, "", "")
	if a, b := r.Cells[0].Level, r.Cells[1].Level; math.Abs(a-5) > 0.05 || math.Abs(b-10.5) > 0.1 || r.Cells[1].Verdict != Worse {
		t.Errorf("%v and %v s, %s; want 5 and 10.5, worse", a, b, r.Cells[1].Verdict)
	}
	first := table.Answer[0]
	for _, says := range []string{"B is slower at the same load: a request takes 2.1", "× as long in B (", "No evidence that generated tokens per second differ", "the load sets them"} {
		if first.Key != requestTime || first.Verdict != Worse || !strings.Contains(first.Text.EN, says) {
			t.Errorf("the first line is %q, want it to say %q", first.Text.EN, says)
		}
	}
	// The other way round it is a gain.
	table = compared(t, Options{}, steady.side(rng), with(map[string]float64{"running": 0.5, "pending": 0.5}).side(rng))
	if first := table.Answer[0]; first.Verdict != Better || !strings.Contains(first.Text.EN, "B is faster at the same load") {
		t.Errorf("half as many in the system: %s %q", first.Verdict, first.Text.EN)
	}
}

// TestLoadIsWork: 18 % fewer requests that are 40 % longer are more work: 4 engines × 40 arrivals a
// second × (100 × ½ + 100) = 24,000 tokens/s against 0.82 × 1.4 = 1.148 of that.
func TestLoadIsWork(t *testing.T) {
	rng := newRand(32)
	f := map[string]float64{"completion_TPS": 0.8, "finished": 0.82, "aborted": 0.82, "running": 0.5, "pending": 3,
		"avg_input_length": 1.4, "avg_output_length": 1.4}
	table := compared(t, Options{}, steady.side(rng), with(f).side(rng))
	r := row(t, table, offeredTokens, "", "")
	if a, c := r.Cells[0].Level, r.Cells[1]; math.Abs(a-24000) > 300 || math.Abs(c.Diff.Rel-0.148) > 0.02 {
		t.Errorf("offered: %v and %+.3f, want 24000 and +0.148", a, c.Diff.Rel)
	}
	if w := table.Fairness.load(1); w == nil || w.Short.EN != "under heavier load" {
		t.Errorf("fewer but longer requests: %+v", w)
	}
	// As long as before they are less, so the load is lighter: 0.82.
	f["avg_input_length"], f["avg_output_length"] = 1, 1
	a, b := steady.side(rng), with(f).side(rng)
	if w := compared(t, Options{}, a, b).Fairness.load(1); w == nil || w.Short.EN != "under lighter load" {
		t.Errorf("fewer requests: %+v", w)
	}
	// But not where the queue grows without end: from 0 to 80 times 100 in each engine.
	for e := range b.Engines {
		for k := range b.Engines[e].Series {
			c := &b.Engines[e].Series[k]
			for i := range c.Values {
				if c.Key == "pending" {
					c.Values[i] = 100 * float64(i)
				}
			}
		}
	}
	table = compared(t, Options{}, a, b)
	if w := table.Fairness.load(1); w == nil || w.Short.EN == "under lighter load" {
		t.Errorf("a queue that grows: %+v", w)
	}
	told := false
	for _, f := range table.Answer {
		told = told || f.Key == "pending" && strings.Contains(f.Text.EN, "B's queue grows without end: pending ")
	}
	if !told || !strings.Contains(table.Fairness.Text.EN, "queue grows") {
		t.Errorf("nothing of the queue in %v, %s", table.Answer, table.Fairness.Text.EN)
	}
}

// latency is a side whose one engine writes a time to first token in each line.
func latency(every time.Duration, ms ...float64) Side {
	s := Series{Key: "TTFT_mean"}
	for i, v := range ms {
		s.Times, s.Values = append(s.Times, int64(i+1)*int64(every)), append(s.Values, v)
	}
	return Side{From: 1, To: int64(len(ms)+2) * int64(every), Engines: []Engine{{Kind: "deepinfer", Series: []Series{s}}}}
}

// TestFarApart: times to first token that go from milliseconds to minutes are told, though a
// handful of lines has no interval of the mean; closer ones, or fewer, are not.
func TestFarApart(t *testing.T) {
	short := latency(5*time.Second, 60, 75, 90, 70, 80, 65, 120, 70, 85, 60, 75, 95, 70, 80)
	long := func(factor float64, n int) Side {
		var ms []float64
		for i := range n {
			ms = append(ms, factor*float64(10+i))
		}
		return latency(5*time.Second, ms...)
	}
	c := row(t, compared(t, Options{}, short, long(2000, 14)), "TTFT_mean", "", "").Cells[1]
	// From 20 s to 46 s against 60 to 120 ms: the nearest are 20,000 − 120 apart, the farthest 46,000 − 60.
	if c.Verdict != Worse || len(c.Qualifications) == 0 || c.Qualifications[0].Code != Apart || c.Diff.Low != 19880 || c.Diff.High != 45940 {
		t.Errorf("%s %v %+v", c.Verdict, codes(c.Qualifications), c.Diff)
	}
	// 10 × 100 ms is 8 times 120 ms, and 11 lines are too few.
	for _, b := range []Side{long(100, 14), long(2000, 11)} {
		if c := row(t, compared(t, Options{}, short, b), "TTFT_mean", "", "").Cells[1]; c.Verdict != NeedsData {
			t.Errorf("%s of %v", c.Verdict, b.Engines[0].Series[0].Values)
		}
	}
	var out bytes.Buffer
	table := compared(t, Options{}, short, long(2000, 14))
	if err := table.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	back, err := ReadJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	if d := row(t, back, "TTFT_mean", "", "").Cells[1].Diff; d.Low != 19880 || !math.IsNaN(d.P) {
		t.Errorf("read back: %+v", d)
	}
}

// TestMethodOfMeans: where means were read, the method doesn't say that lines speak for their time.
func TestMethodOfMeans(t *testing.T) {
	rng := newRand(33)
	a, b := steady.side(rng), steady.side(rng)
	if m := compared(t, Options{}, a, b).Method.Blocks; !strings.HasPrefix(m.EN, "A line speaks for the time since") {
		t.Errorf("lines: %s", m.EN)
	}
	b.Coarse = int64(time.Hour)
	if m := compared(t, Options{}, a, b).Method.Blocks; strings.Contains(m.EN, "speaks for the time since") || !strings.Contains(m.EN, "each 1 h were read") || strings.Contains(m.ZH, "代表自该引擎") {
		t.Errorf("means: %s %s", m.EN, m.ZH)
	}
}

// TestChineseUnits: units are words too.
func TestChineseUnits(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{figureIn(1.2, string(ledger.TokensPerSeq), "zh"), "1.20 token/序列"},
		{figureIn(3, "requests/s", "zh"), "3.00 请求/s"},
		{figureIn(3, "requests/s/engine", "zh"), "3.00 请求/s/引擎"},
		{ChangeIn(&Difference{Value: 3, Rel: math.NaN()}, "preemptions/s", "zh"), "+3.00 次抢占/s"},
		{Figure(73280, "ms"), "73.3 s"},
		{percent(999), "× 1000"},
	} {
		if x.got != x.want {
			t.Errorf("%q, want %q", x.got, x.want)
		}
	}
}

// TestFarApartIsNoChance: two stretches of one process are hardly ever called far apart, even
// where values are lognormal with a variation of 150 % and neighbours resemble each other so
// much (0.97) that a stretch is one excursion. At most 2 in 1,000 may be.
func TestFarApartIsNoChance(t *testing.T) {
	for _, rho := range []float64{0.5, 0.8, 0.9, 0.97} {
		rng := newRand(uint64(1000 * rho))
		sigma := math.Sqrt(math.Log(1 + 1.5*1.5))
		stretch := func(n int) measured {
			z := rng.NormFloat64()
			j := joined{}
			for i := range n {
				z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				j.t, j.x = append(j.t, int64(i)), append(j.x, 100*math.Exp(sigma*z))
			}
			return measured{cell: Cell{Trail: trail(j, 1)}, est: estimate{n: n}}
		}
		r := &Row{Headline: true, Metric: ledger.Metric{Group: ledger.Latency}}
		const pairs = 5000
		far := 0
		for range pairs {
			a, b := stretch(minApart), stretch(minApart)
			if _, is := separated(r, &a, &b, &Difference{}); is {
				far++
			}
		}
		t.Logf("autocorrelation %v: %d of %d pairs", rho, far, pairs)
		if far > pairs*2/1000 {
			t.Errorf("autocorrelation %v: %d of %d pairs of one process are called far apart", rho, far, pairs)
		}
	}
}
