package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/foreign/fixture"
	"github.com/stepscope/stepscope/engine/ledger"
)

// scraped makes a side of engines of another kind.
func scraped(kind string, load fixture.Load, engines, n int) Side {
	s := Side{Name: kind, Deployment: kind, From: 1, To: 1 << 62, GPUs: engines}
	for i := range engines {
		load.Seed += uint64(i + 1)
		e := Engine{Name: fmt.Sprint(kind, i), Kind: kind, Role: "mixed"}
		index := map[seriesID]int{}
		for k, r := range fixture.Readings(kind, load, time.Date(2026, 3, 1, 10, 0, i, 0, time.UTC), 10*time.Second, n) {
			var f Flags
			if k == 0 {
				f = Filling
			}
			for _, v := range r.Values {
				id := seriesID{v.Key, v.Label}
				c, ok := index[id]
				if !ok {
					c = len(e.Series)
					index[id] = c
					e.Series = append(e.Series, Series{Key: v.Key, Label: v.Label})
				}
				x := &e.Series[c]
				x.Times, x.Steps = append(x.Times, r.Time.UnixNano()), append(x.Steps, r.Step)
				x.Flags, x.Values = append(x.Flags, f), append(x.Values, v.V)
			}
		}
		s.Engines = append(s.Engines, e)
	}
	return s
}

func row(t *testing.T, table *Table, key, label, stat string) *Row {
	t.Helper()
	for gi := range table.Groups {
		for ri := range table.Groups[gi].Rows {
			if r := &table.Groups[gi].Rows[ri]; r.Metric.Key == key && r.Label == label && r.Stat == stat {
				return r
			}
		}
	}
	t.Fatalf("the table has no row %s %s %s", key, label, stat)
	return nil
}

func codes(all []Reason) (out []Code) {
	for _, r := range all {
		out = append(out, r.Code)
	}
	return out
}

var load = fixture.Load{CompletionTPS: 2000, PromptTPS: 6000, CachedTPS: 2000, RequestRate: 5, Running: 40, Pending: 2, KVUsage: 0.6,
	DraftRate: 800, AcceptAt: []float64{0.8, 0.5}, TTFT: 0.3, Gap: 0.02, E2E: 8, Queue: 0.05, TFLOPs: 400, Noise: 0.03, Seed: 1}

// TestOtherEngines compares recorded kinds of metrics of different engines.
func TestOtherEngines(t *testing.T) {
	slower := load
	slower.CompletionTPS *= 0.9 // 2 engines: 4000 and 3600 tokens/s
	slower.Seed = 99
	table, err := Compare([]Side{scraped("vllm", load, 2, 80), scraped("sglang", slower, 2, 80)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tps := row(t, table, "completion_TPS", "", "")
	if c := tps.Cells[1]; c.Verdict != Worse || math.Abs(c.Diff.Rel+0.1) > 0.02 || math.Abs(tps.Cells[0].Level-4000) > 80 {
		t.Errorf("generated tokens per second: %v %v of %v, want worse by 10 %% of 4000", c.Verdict, c.Diff, tps.Cells[0].Level)
	}
	// Acceptance: vLLM by drafts, SGLang by a fixed draft length: told, not compared.
	if c := row(t, table, "avg_nextn_accept_rate", "", "").Cells[1]; c.Verdict != Refused || c.Reason.Code != OtherMeaning || c.Diff != nil {
		t.Errorf("acceptance against a fixed draft length: %v %+v", c.Verdict, c.Reason)
	}
	// SGLang shows nothing by position.
	if c := row(t, table, "nextn_accept_rate", "1", "").Cells[1]; c.OK || c.Absent == nil || c.Absent.Code != NotExposed {
		t.Errorf("acceptance by position at SGLang: %+v", c)
	}
	// The bounds of the time to first token differ: 0.15 to 0.45 s, median 0.3, lie in (0.25, 0.5] and (0.2, 0.4].
	p50 := row(t, table, "TTFT", "", "p50")
	if a, b := p50.Cells[0], p50.Cells[1]; a.Low != 0.25 || a.High != 0.5 || b.Low != 0.2 || b.High != 0.4 {
		t.Errorf("median TTFT: (%g, %g] and (%g, %g], want (0.25, 0.5] and (0.2, 0.4]", a.Low, a.High, b.Low, b.High)
	}
	if c := p50.Cells[1]; c.Verdict != NoEvidence || !slices.Contains(codes(c.Qualifications), OtherBounds) {
		t.Errorf("median TTFT: %v with %v, want no evidence under other bounds", c.Verdict, codes(c.Qualifications))
	}
	// TPOT is vLLM's, ITL both have.
	if c := row(t, table, "ITL_avg", "", "").Cells[1]; c.Diff == nil {
		t.Errorf("both have ITL: %v %+v", c.Verdict, c.Reason)
	}
	if c := row(t, table, "TPOT_avg", "", "").Cells[1]; c.Verdict != Refused || c.Reason.Code != OtherMeaning {
		t.Errorf("TPOT against ITL: %v %+v", c.Verdict, c.Reason)
	}
}

// TestDeepInferBesideOthers compares a simulated engine with scraped ones.
func TestDeepInferBesideOthers(t *testing.T) {
	own := noise{engines: 2, lines: 80, cv: 0.03, rho: 0.5, every: 10 * time.Second}
	a := own.side(newRand(5))
	b := scraped("vllm", load, 2, 80)
	table, err := Compare([]Side{a, b}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := func(key, label string, verdict Verdict, code Code) {
		t.Helper()
		c := row(t, table, key, label, "").Cells[1]
		if c.Verdict != verdict || c.Reason == nil || c.Reason.Code != code {
			t.Errorf("%s: %v %+v, want %v %v", key, c.Verdict, c.Reason, verdict, code)
		}
	}
	f("MFU", "", Refused, PeakUnknown)
	f("TTFT_max", "", Refused, OtherMeaning)
	if c := row(t, table, "TTFT_mean", "", "").Cells[1]; !slices.Contains(codes(c.Qualifications), SimilarMetric) {
		t.Errorf("TTFT with other starting points: %v %v, want it qualified", c.Verdict, codes(c.Qualifications))
	}
	if c := row(t, table, "cur_TPS", "", "").Cells[1]; c.Diff != nil {
		t.Error("cur_TPS was compared with another engine's window")
	}
	// With the peak known, 400 TFLOP/s of 2 × 1000 are 20 %.
	b.PeakTFLOPs = 1000
	if table, err = Compare([]Side{a, b}, Options{}); err != nil {
		t.Fatal(err)
	}
	c := row(t, table, "MFU", "", "").Cells[1]
	if math.Abs(c.Level-0.2) > 0.01 || !slices.Contains(codes(c.Qualifications), Converted) {
		t.Errorf("MFU from TFLOP/s: %v with %v, want 0.2 and the conversion said", c.Level, codes(c.Qualifications))
	}
}

// TestOneRowForOneDifference: metrics that stand in for each other make one row.
func TestOneRowForOneDifference(t *testing.T) {
	a := Side{To: 2, PeakTFLOPs: 1000, Engines: []Engine{{Name: "x", Kind: "deepinfer", Series: []Series{flat("TTFT_mean", "", 200, 40), flat("MFU", "", 0.2, 40)}}}}
	b := Side{To: 2, PeakTFLOPs: 1000, Engines: []Engine{{Name: "y", Kind: "vllm", Series: []Series{flat("TTFT_avg", "", 200, 40), flat("est_TFLOPs_per_GPU", "", 400, 40)}}}}
	f := func(a, b Side, want ...string) {
		t.Helper()
		var got []string
		for _, g := range compared(t, Options{}, a, b).Groups {
			for _, r := range g.Rows {
				got = append(got, r.Metric.Key)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	}
	f(a, b, "TTFT_mean", "MFU")
	f(b, a, "TTFT_avg", "est_TFLOPs_per_GPU")
	a.Engines[0].Series = append(a.Engines[0].Series, flat("TTFT_avg", "", 180, 40)) // now they are two
	f(a, b, "TTFT_mean", "TTFT_avg", "MFU")
}

// TestAcceptanceHasTwoMeanings: an unconditional rate never stands beside a conditional one.
func TestAcceptanceHasTwoMeanings(t *testing.T) {
	a := Side{From: 1, To: 2, Engines: []Engine{{Name: "x", Kind: "deepinfer", Series: []Series{flat("nextn_accept_rate", "2", 0.6, 40)}}}}
	b := Side{From: 1, To: 2, Engines: []Engine{{Name: "y", Kind: "vllm", Series: []Series{flat("accept_rate_uncond", "2", 0.4, 40)}}}}
	table, err := Compare([]Side{a, b}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := row(t, table, "nextn_accept_rate", "2", "").Cells[1]
	if c.Verdict != Refused || c.Diff != nil || !strings.Contains(c.Reason.Short.EN, "of all drafts” instead: one divides by") || !strings.Contains(c.Reason.Long.EN, "accept_rate_uncond") {
		t.Errorf("conditional against unconditional: %v %+v", c.Verdict, c.Reason)
	}
}

// TestEveryRelationIsKept: whatever the metric table says of two metrics that look alike,
// a comparison never sets one against the other without saying so.
func TestEveryRelationIsKept(t *testing.T) {
	for _, r := range ledger.Relations() {
		x, okX := definition(r.A)
		y, okY := definition(r.B)
		if !okX || !okY || x.Kind != y.Kind || x.Kind == ledger.Histogram {
			continue
		}
		a := Side{From: 1, To: 2, Engines: []Engine{{Name: "x", Kind: "deepinfer", Series: []Series{flat(r.A, "", 2, 40)}}}}
		b := Side{From: 1, To: 2, Engines: []Engine{{Name: "y", Kind: "vllm", Series: []Series{flat(r.B, "", 4, 40)}}}}
		table, err := Compare([]Side{a, b}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := row(t, table, r.A, "", "").Cells[1]
		switch {
		case r.Verdict == ledger.Refused && (c.Verdict != Refused || c.Diff != nil):
			t.Errorf("%s against %s: %v, want it refused", r.A, r.B, c.Verdict)
		case r.Verdict == ledger.Qualified && c.Diff != nil && !slices.Contains(codes(c.Qualifications), SimilarMetric):
			t.Errorf("%s against %s: compared without the condition", r.A, r.B)
		}
	}
}

// flat is a series with tiny even ripples, every 10 s.
func flat(key, label string, v float64, n int) Series {
	s := Series{Key: key, Label: label}
	for i := range n {
		s.Times = append(s.Times, int64(i+1)*10e9)
		s.Values = append(s.Values, v*(1+1e-3*float64(i%2)))
	}
	return s
}
