package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// maxFindings bounds the list of what explains a difference, for each column.
const maxFindings = 8

// where lists what goes with a difference of throughput, the largest first. Every item
// is evidenced by its own row. The estimates of its share take one change at a time, with
// all else as in column A; they don't add up to the whole.
func (b *builder) where() []Finding {
	var all []Finding
	for i := 1; i < len(b.views); i++ {
		found := slices.Concat(b.rates(i), b.positions(i), b.timers(i), b.others(i))
		slices.SortStableFunc(found, func(x, y Finding) int {
			return cmp.Compare(weightOf(y.Share), weightOf(x.Share))
		})
		all = append(all, found[:min(len(found), maxFindings)]...)
	}
	return all
}

// weightOf sorts findings without a share behind the others.
func weightOf(share float64) float64 {
	if math.IsNaN(share) {
		return -1
	}
	return math.Abs(share)
}

// evidenced returns a row whose difference in a column is, nil otherwise.
func (b *builder) evidenced(key, label string, column int) *Row {
	if r := b.find(key, label, BothKinds, ""); r != nil && r.Cells[column].Verdict.Evidenced() {
		return r
	}
	return nil
}

func (r *Row) finding(column int, share float64, text Words) Finding {
	c := &r.Cells[column]
	return Finding{Text: text, Column: column, Key: r.Metric.Key, Label: r.Label, Steps: r.Steps, Stat: r.Stat,
		Verdict: c.Verdict, Share: share, Qualifications: c.Qualifications}
}

// moved says how a row's level moved between the columns.
func (r *Row) moved(column int) (en, zh string) {
	a, c := &r.Cells[0], &r.Cells[column]
	s := Figure(a.Level, r.Unit) + " → " + Figure(c.Level, r.Unit)
	change := Change(c.Diff, r.Unit)
	return s + " (" + change + ")", s + "（" + change + "）"
}

// byItself words the estimate of a contribution.
func byItself(share float64) (en, zh string) {
	if math.IsNaN(share) {
		return "", ""
	}
	return "; by itself that would mean about " + percent(share) + " generated tokens per second",
		"；单独看约相当于生成吞吐 " + percent(share)
}

func named(r *Row, zh bool) string {
	n := r.Metric.Name.EN
	if zh {
		n = r.Metric.Name.ZH
	}
	if r.Label != "" {
		n += " " + r.Label
	}
	switch r.Steps {
	case PromptSteps:
		n += map[bool]string{false: " (prompt steps)", true: "（预填充步）"}[zh]
	case DecodeSteps:
		n += map[bool]string{false: " (decode steps)", true: "（解码步）"}[zh]
	}
	return n
}

// tell makes a finding of a row in the standard words.
func (r *Row) tell(column int, share float64) Finding {
	en, zh := r.moved(column)
	be, bz := byItself(share)
	letter := letters[column : column+1]
	return r.finding(column, share, Words{
		EN: fmt.Sprintf("%s: %s %s%s.", letter, named(r, false), en, be),
		ZH: fmt.Sprintf("%s：%s %s%s。", letter, named(r, true), zh, bz),
	})
}

// rates are the factors of generated tokens per second: steps per second, sequences in
// a step, and tokens per sequence and step. Each is worth its own ratio.
func (b *builder) rates(column int) []Finding {
	var out []Finding
	for _, key := range []string{"avg_SPS", "running", acceptLen} {
		r := b.evidenced(key, "", column)
		if r == nil {
			continue
		}
		share := math.NaN()
		if d := r.Cells[column].Diff; b.evidenced("completion_TPS", "", column) != nil {
			share = d.Rel
		}
		out = append(out, r.tell(column, share))
	}
	return out
}

// positions takes the draft positions one by one. With acceptances a₁ … aₙ, each
// conditional on being verified, a sequence gets 1 + a₁ + a₁a₂ + … tokens a step.
func (b *builder) positions(column int) []Finding {
	const key = "nextn_accept_rate"
	var base []float64
	var rows []*Row
	for i := 1; ; i++ {
		r := b.find(key, fmt.Sprint(i), BothKinds, "")
		if r == nil || !r.Cells[0].OK || !r.Cells[column].OK {
			break
		}
		base = append(base, r.Cells[0].Level)
		rows = append(rows, r)
	}
	tokens := func(rates []float64) float64 {
		total, all := 1.0, 1.0
		for _, a := range rates {
			all *= a
			total += all
		}
		return total
	}
	var out []Finding
	for i, r := range rows {
		if !r.Cells[column].Verdict.Evidenced() {
			continue
		}
		changed := slices.Clone(base)
		changed[i] = r.Cells[column].Level
		share := math.NaN()
		if b.evidenced("completion_TPS", "", column) != nil {
			share = tokens(changed)/tokens(base) - 1
		}
		out = append(out, r.tell(column, share))
	}
	return out
}

// timers turns a timer's mean into time per step, and that into a share of the step.
// Parts of a section that explain most of its change stand for it.
func (b *builder) timers(column int) []Finding {
	var out []Finding
	for _, s := range []struct{ mean, calls string }{{"cpu_mean", "cpu_calls"}, {"cuda_mean", "cuda_calls"}} {
		if b.opt.Per == PerToken {
			break
		}
		step := b.find(s.mean, ledger.EngineStep, BothKinds, "")
		steps := b.find(s.calls, ledger.EngineStep, BothKinds, "")
		type change struct {
			row *Row
			ms  float64 // per step
		}
		var all []change
		for gi := range b.table.Groups {
			for ri := range b.table.Groups[gi].Rows {
				r := &b.table.Groups[gi].Rows[ri]
				if r.Metric.Key != s.mean || !r.Cells[column].Verdict.Evidenced() || strings.HasPrefix(r.Label, ledger.EngineStep) {
					continue
				}
				ms := math.NaN()
				if calls := b.find(s.calls, r.Label, BothKinds, ""); calls != nil && steps != nil {
					perStep := func(i int) float64 { return r.Cells[i].Level * calls.Cells[i].Level / steps.Cells[i].Level }
					ms = perStep(column) - perStep(0)
				}
				all = append(all, change{r, ms})
			}
		}
		for _, c := range all {
			inside := 0.0
			for _, d := range all {
				if strings.HasPrefix(d.row.Label, c.row.Label+":") || strings.HasPrefix(d.row.Label, c.row.Label+".") {
					inside += d.ms
				}
			}
			if inside/c.ms > 0.7 {
				continue // its parts are in the list
			}
			out = append(out, c.row.timer(column, c.ms, step, b.evidenced("completion_TPS", "", column) != nil))
		}
	}
	return out
}

// timer words one timer's change. A longer step means fewer of them: the share is
// step ÷ (step + change) − 1.
func (r *Row) timer(column int, ms float64, step *Row, throughput bool) Finding {
	share := math.NaN()
	if step != nil && step.Cells[0].OK && !math.IsNaN(ms) && step.Cells[0].Level+ms > 0 && throughput && r.Metric.Section == ledger.CPU {
		share = step.Cells[0].Level/(step.Cells[0].Level+ms) - 1
	}
	f := r.tell(column, share)
	if !math.IsNaN(ms) {
		per := plus(ms) + Figure(ms, "ms")
		f.Text.EN = strings.TrimSuffix(f.Text.EN, ".") + ", " + per + " a step."
		f.Text.ZH = strings.TrimSuffix(f.Text.ZH, "。") + "，每步 " + per + "。"
	}
	return f
}

// others are evidenced changes that explain throughput without a number for how much.
func (b *builder) others(column int) []Finding {
	var out []Finding
	for gi := range b.table.Groups {
		for ri := range b.table.Groups[gi].Rows {
			r := &b.table.Groups[gi].Rows[ri]
			if !r.Cells[column].Verdict.Evidenced() || r.Cells[column].Diff == nil {
				continue
			}
			if slices.Contains([]string{"preempted", "pending", "chunked", "prefill_share", "graph_replay_share", "moe_lb",
				"eplb_balancedness", "gpu_sm_clock", "gpu_throttle", "retracted", "paused", "nccl_total", "draft_overhead"}, r.Metric.Key) {
				out = append(out, r.tell(column, math.NaN()))
			}
		}
	}
	return out
}
