package compare

import (
	"fmt"
	"slices"
	"testing"
)

// TestWhatMustNotBeCompared walks the list of what looks alike and is not: refused, or
// compared under a condition that the cell names.
func TestWhatMustNotBeCompared(t *testing.T) {
	one := func(kind string, all ...Series) Side {
		return Side{From: 1, To: 1000e9, Engines: []Engine{{Name: kind, Kind: kind, Series: all}}}
	}
	of := func(s Series, f Flags) Series {
		for range s.Times {
			s.Flags = append(s.Flags, f)
		}
		return s
	}
	peak := func(s Side) Side { s.PeakTFLOPs = 1000; return s }
	for _, c := range []struct {
		what    string
		a, b    Side
		key     string
		steps   StepKind
		refused Code // or
		under   Code // a condition
	}{
		{"prompt against decode batch usage", one("deepinfer", of(flat("batch_usage", "", 0.5, 40), PromptStep)), one("deepinfer", of(flat("batch_usage", "", 0.5, 40), DecodeStep)),
			"batch_usage", PromptSteps, OtherSteps, ""},
		{"… and the other way round", one("deepinfer", of(flat("batch_usage", "", 0.5, 40), PromptStep)), one("deepinfer", of(flat("batch_usage", "", 0.5, 40), DecodeStep)),
			"batch_usage", DecodeSteps, OtherSteps, ""},
		{"a single step against a window", one("deepinfer", of(flat("cur_TPS", "", 900, 40), DecodeStep)), one("vllm", flat("completion_TPS", "", 900, 40)),
			"completion_TPS", BothKinds, OtherMeaning, ""},
		{"acceptance conditional and not", one("deepinfer", flat("nextn_accept_rate", "2", 0.6, 40)), one("vllm", flat("accept_rate_uncond", "2", 0.6, 40)),
			"nextn_accept_rate", BothKinds, OtherMeaning, ""},
		{"MFU against TFLOP/s without a peak", one("deepinfer", flat("MFU", "", 0.2, 40)), one("vllm", flat("est_TFLOPs_per_GPU", "", 400, 40)),
			"MFU", BothKinds, PeakUnknown, ""},
		{"… with a peak: 400 ÷ (2 × 1000) = 0.2", one("deepinfer", flat("MFU", "", 0.2, 40)), peak(one("vllm", flat("est_TFLOPs_per_GPU", "", 400, 40))),
			"MFU", BothKinds, "", Converted},
		{"a mean per request against every gap", one("vllm", flat("TPOT_avg", "", 0.02, 40)), one("sglang", flat("ITL_avg", "", 0.02, 40)),
			"TPOT_avg", BothKinds, OtherMeaning, ""},
		{"TTFT from other points", one("deepinfer", flat("TTFT_mean", "", 200, 40)), one("vllm", flat("TTFT_avg", "", 200, 40)),
			"TTFT_mean", BothKinds, "", SimilarMetric},
		{"a maximum of first-token times against a mean", one("deepinfer", flat("TTFT_max", "", 200, 40)), one("vllm", flat("TTFT_avg", "", 200, 40)),
			"TTFT_max", BothKinds, OtherMeaning, ""},
		{"computed against all prompt tokens", one("vllm", flat("prompt_TPS", "", 900, 40)), one("tensorrt-llm", flat("prompt_done_TPS", "", 900, 40)),
			"prompt_TPS", BothKinds, OtherMeaning, ""},
		{"tokens when made against tokens of ended requests", one("deepinfer", flat("completion_TPS", "", 900, 40)), one("tensorrt-llm", flat("completion_done_TPS", "", 900, 40)),
			"completion_TPS", BothKinds, "", SimilarMetric},
	} {
		table := compared(t, Options{}, c.a, c.b)
		var found *Row
		for gi := range table.Groups {
			for ri := range table.Groups[gi].Rows {
				if r := &table.Groups[gi].Rows[ri]; r.Metric.Key == c.key && r.Steps == c.steps {
					found = r
				}
			}
		}
		if found == nil {
			t.Errorf("%s: no row %s %s", c.what, c.key, c.steps)
			continue
		}
		cell := found.Cells[1]
		switch {
		case c.refused != "" && (cell.Verdict != Refused || cell.Reason == nil || cell.Reason.Code != c.refused || cell.Diff != nil):
			t.Errorf("%s: %s %+v %v, want refused: %s", c.what, cell.Verdict, cell.Reason, cell.Diff, c.refused)
		case c.under != "" && (cell.Diff == nil || !slices.Contains(codes(cell.Qualifications), c.under)):
			t.Errorf("%s: %v under %v, want a difference under %s", c.what, cell.Diff, codes(cell.Qualifications), c.under)
		}
	}
}

// TestEveryEngineBesideEveryOther: four kinds of engines in one table, each of them first:
// throughput is compared, what one of them lacks is said, and equal loads bring no
// verdict on it.
func TestEveryEngineBesideEveryOther(t *testing.T) {
	own := noise{engines: 2, lines: 80, cv: 0.03, rho: 0.5, every: 10e9, factor: map[string]float64{"completion_TPS": 20}} // 2 × 20 × 100 = 4000 tokens/s
	all := []Side{own.side(newRand(31)), scraped("vllm", load, 2, 80), scraped("sglang", load, 2, 80), scraped("tensorrt-llm", load, 2, 80)}
	for first := range all {
		sides := append(slices.Clone(all[first:]), all[:first]...)
		table := compared(t, Options{}, sides...)
		for _, g := range table.Groups {
			for _, r := range g.Rows {
				for i, c := range r.Cells {
					name := fmt.Sprintf("%s first, %s %s %s in %s", sides[0].Name, r.Metric.Key, r.Label, r.Stat, sides[i].Name)
					if c.OK == (c.Absent != nil) {
						t.Errorf("%s: a level and why there is none: %v %+v", name, c.Level, c.Absent)
					}
					if i > 0 && c.Verdict == Refused && (c.Reason == nil || c.Reason.Short.EN == "" || c.Reason.Short.ZH == "") {
						t.Errorf("%s is refused without a word", name)
					}
					if i > 0 && c.Diff != nil && (!c.OK || !r.Cells[0].OK) {
						t.Errorf("%s: a difference from nothing", name)
					}
				}
			}
		}
		compared := 0
		for _, key := range throughputKeys {
			for _, g := range table.Groups {
				for _, r := range g.Rows {
					for _, c := range r.Cells[1:] {
						if r.Metric.Key != key || c.Diff == nil {
							continue
						}
						if compared++; c.Verdict.Evidenced() {
							t.Errorf("%s first: %s of equal loads is %s by %.1f %%", sides[0].Name, key, c.Verdict, 100*c.Diff.Rel)
						}
					}
				}
			}
		}
		if compared < 3 {
			t.Errorf("%s first: %d of 3 others could be compared in generated tokens", sides[0].Name, compared)
		}
	}
}
