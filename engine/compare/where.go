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

// maxPositions bounds those on single draft positions: the row of all stands beside them.
const maxPositions = 2

// maxAgainst bounds those that speak against the difference.
const maxAgainst = 3

// where lists what goes with a difference of throughput: causes in their order, then how
// they show in steps and timers, the largest first, then what speaks against it and is
// marked so. Every item is evidenced by its own row. The estimates of its share take one
// change at a time, with all else as in column A; they don't add up to the whole.
func (b *builder) where() []Finding {
	var all []Finding
	for i := 1; i < len(b.views); i++ {
		way := b.way(i)
		steps := slices.Concat(b.steps(i), b.timers(i))
		slices.SortStableFunc(steps, func(x, y item) int { return cmp.Compare(weightOf(y.share), weightOf(x.share)) })
		var with, against []Finding
		causes := b.because(i)
		late := slices.DeleteFunc(slices.Clone(causes), func(it item) bool { return !it.late })
		causes = slices.DeleteFunc(causes, func(it item) bool { return it.late })
		for _, it := range slices.Concat(causes, steps, late) {
			switch {
			case slices.ContainsFunc(it.row.Cells[i].Qualifications, func(q Reason) bool { return q.Code == OtherSize }):
				// A larger deployment has more of everything: that explains nothing.
			case it.toward*way >= 0:
				with = append(with, b.tellMore(it.row, i, it.share, it.more))
			case isStepTime(it.row.Metric.Key) && it.row.Metric.Key != "avg_SPS" && it.toward > 0 && b.smallerBatches(i):
				// Timers of smaller batches: the steps' own item says it.
			case len(against) < maxAgainst:
				against = append(against, b.against(it, i))
			}
		}
		with = with[:min(len(with), maxFindings)]
		all = append(all, with...)
		all = append(all, against[:min(len(against), max(1, maxFindings-len(with)))]...)
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
	s := func(lang string) string {
		return figureIn(a.Level, r.Unit, lang) + " → " + figureIn(c.Level, r.Unit, lang)
	}
	return s("en") + " (" + Change(c.Diff, r.Unit) + ")", s("zh") + "（" + ChangeIn(c.Diff, r.Unit, "zh") + "）"
}

// byItself words the estimate of a contribution. Where throughput does not differ it is
// bound by the load, and the change shows only when that grows.
func (b *builder) byItself(share float64, column int) (en, zh string) {
	if math.IsNaN(share) {
		return "", ""
	}
	if b.way(column) == 0 {
		return "; at full load that would mean about " + percent(share) + " generated tokens per second",
			"；满载时约相当于生成吞吐 " + percent(share)
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
func (b *builder) tell(r *Row, column int, share float64) Finding {
	return b.tellMore(r, column, share, Words{})
}

// tellMore adds more about the change.
func (b *builder) tellMore(r *Row, column int, share float64, more Words) Finding {
	en, zh := r.moved(column)
	be, bz := b.byItself(share, column)
	letter := letters[column : column+1]
	return r.finding(column, share, Words{
		EN: fmt.Sprintf("%s: %s %s%s%s.", letter, named(r, false), en, more.EN, be),
		ZH: fmt.Sprintf("%s：%s %s%s%s。", letter, named(r, true), zh, more.ZH, bz),
	})
}

// steps are the steps per second, of which generated tokens are a multiple.
func (b *builder) steps(column int) []item {
	r := b.evidenced("avg_SPS", "", column)
	if r == nil {
		return nil
	}
	return []item{{row: r, share: r.Cells[column].Diff.Rel, toward: sign(r.Cells[column].Diff.Value)}}
}

// positions takes the draft positions one by one. With acceptances a₁ … aₙ, each
// conditional on being verified, a sequence gets 1 + a₁ + a₁a₂ + … tokens a step.
func (b *builder) positions(column int) []item {
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
	var out []item
	for i, r := range rows {
		if !r.Cells[column].Verdict.Evidenced() {
			continue
		}
		changed := slices.Clone(base)
		changed[i] = r.Cells[column].Level
		share := tokens(changed)/tokens(base) - 1
		out = append(out, item{row: r, share: share, toward: sign(share)})
	}
	slices.SortStableFunc(out, func(x, y item) int { return cmp.Compare(weightOf(y.share), weightOf(x.share)) })
	return out[:min(len(out), maxPositions)]
}

// timers turns a timer's mean into time per step, and that into a share of the step.
// Parts of a section that explain most of its change stand for it.
func (b *builder) timers(column int) []item {
	var out []item
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
			out = append(out, b.timer(c.row, column, c.ms, step))
		}
	}
	return out
}

// timer words one timer's change. A longer step means fewer of them: the share is
// step ÷ (step + change) − 1.
func (b *builder) timer(r *Row, column int, ms float64, step *Row) item {
	share := math.NaN()
	if step != nil && step.Cells[0].OK && !math.IsNaN(ms) && step.Cells[0].Level+ms > 0 && r.Metric.Section == ledger.CPU {
		share = step.Cells[0].Level/(step.Cells[0].Level+ms) - 1
	}
	var more Words
	if !math.IsNaN(ms) {
		per := plus(ms) + Figure(ms, "ms")
		more = Words{EN: ", " + per + " a step", ZH: "，每步 " + per}
	}
	toward := -sign(ms)
	if math.IsNaN(ms) {
		toward = -sign(r.Cells[column].Diff.Value)
	}
	return item{row: r, share: share, more: more, toward: toward}
}
