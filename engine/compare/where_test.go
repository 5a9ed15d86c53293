package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/ledger"
)

// scale multiplies one series of all engines of a side.
func scaled(s Side, key, label string, factor float64) Side {
	for e := range s.Engines {
		for k := range s.Engines[e].Series {
			if c := &s.Engines[e].Series[k]; c.Key == key && (label == "*" || c.Label == label) {
				for i := range c.Values {
					c.Values[i] *= factor
				}
			}
		}
	}
	return s
}

// TestWhere: what explains a difference comes from evidenced rows only, causes first.
func TestWhere(t *testing.T) {
	rng := newRand(21)
	// A timer engine_step of 100 ms, called once a step.
	side := func() Side {
		s := steady.side(rng)
		for e := range s.Engines {
			for _, c := range s.Engines[e].Series {
				if c.Label == "schedule" && (c.Key == "cpu_mean" || c.Key == "cpu_calls") {
					c.Label = "engine_step"
					c.Values = append([]float64(nil), c.Values...)
					s.Engines[e].Series = append(s.Engines[e].Series, c)
				}
			}
		}
		return s
	}
	a := side()
	// Acceptance ½, ½, ½ gives 1 + ½ + ¼ + ⅛ = 1.875 tokens; with ¼ at position 2 it is 1 + ½ + ⅛ + 1/16 = 1.6875: −10 %.
	b := scaled(side(), "nextn_accept_rate", "2", 0.5)
	// schedule takes 105 ms instead of 100, as often as the step of 100 ms: 100 ÷ 105 − 1 = −4.8 %.
	b = scaled(b, "cpu_mean", "schedule", 1.05)
	b = scaled(b, "completion_TPS", "", 0.86)
	b = scaled(b, "pending", "", 3)
	table := compared(t, Options{}, a, b)
	var got []string
	for _, f := range table.Where {
		got = append(got, strings.TrimSpace(f.Key+" "+f.Label))
	}
	if want := "nextn_accept_rate 2, pending, cpu_mean schedule"; strings.Join(got, ", ") != want {
		t.Fatalf("where: %v, want %s", got, want)
	}
	for i, want := range map[int]float64{0: -0.1, 2: -0.048} {
		if f := table.Where[i]; math.Abs(f.Share-want) > 0.005 || !strings.Contains(f.Text.EN, "by itself") || f.Column != 1 {
			t.Errorf("%s: a share of %.3f, want %.3f: %s", f.Key, f.Share, want, f.Text.EN)
		}
	}
	if f := table.Where[2]; !strings.Contains(f.Text.EN, "ms a step") || !strings.Contains(f.Text.ZH, "每步") {
		t.Errorf("a timer's text: %s", f.Text.EN)
	}
	if f := table.Where[1]; !math.IsNaN(f.Share) {
		t.Errorf("pending has a share of %v", f.Share)
	}
	first := table.Answer[0]
	if first.Verdict != Worse || !strings.Contains(first.Text.EN, "fewer tokens per second than A") {
		t.Errorf("answer: %v %s", first.Verdict, first.Text.EN)
	}
	// The same deployment has nothing to explain.
	if table := compared(t, Options{}, side(), side()); len(table.Where) != 0 || !strings.Contains(table.Answer[0].Text.EN, "no evidence") {
		t.Errorf("equal columns: %v, %s", table.Where, table.Answer[0].Text.EN)
	}
}

func TestFigures(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(Figure(1.84444, "ms"), "1.84 ms")
	f(Figure(27491.6, "tokens/s"), "27492 tokens/s")
	f(Figure(0.5225, "share"), "52.2 %")
	f(Figure(-0.00012345, "ms"), "−0.000123 ms")
	f(Figure(1.087, "ratio"), "1.09")
	f(Figure(0, "requests/s"), "0 requests/s")
	f(Figure(math.NaN(), "ms"), "–")
	f(Figure(math.Inf(-1), "ms"), "−∞ ms")
	f(Change(&Difference{Value: -0.081, Rel: -0.1}, "share"), "−8.10 pp")
	f(Change(&Difference{Value: 3, Rel: 0.034}, "ms"), "+3.4 %")
	f(Change(&Difference{Value: 3, Rel: math.NaN()}, "requests/s"), "+3.00 requests/s")
	f(span(&Difference{Low: -3, High: 5}, 100, "ms"), "−3.00 … +5.00 %")
}

// TestWhereLeavesSizeOut: half as many engines have half of every sum; that is no cause.
func TestWhereLeavesSizeOut(t *testing.T) {
	rng := newRand(22)
	a, b := steady.side(rng), steady.side(rng)
	b.Engines, b.GPUs = b.Engines[:2], 2
	table := compared(t, Options{}, a, b)
	if c := row(t, table, "pending", "", "").Cells[1]; !c.Verdict.Evidenced() || !slices.Contains(codes(c.Qualifications), OtherSize) {
		t.Fatalf("half of the pending sequences: %s %v", c.Verdict, codes(c.Qualifications))
	}
	for _, f := range table.Where {
		if r := row(t, table, f.Key, f.Label, ""); r.Metric.Aggregate.Op == ledger.Sum {
			t.Errorf("a sum of half as many engines explains: %s", f.Text.EN)
		}
	}
}
