package compare

import (
	"math"
	"slices"
	"strings"
)

// cause is a metric that explains throughput.
type cause struct {
	key string
	// sign says how throughput goes with more of it: +1 up, −1 down, 0 either way.
	sign float64
	// factor: generated tokens per second are proportional to it, all else equal.
	factor bool
	kind   causeKind
}

type causeKind int

const (
	ofEngine causeKind = iota
	ofDemand           // the work that comes: a cause only where it differs and nothing has to wait for its turn
	ofMemory           // a share of memory that matters only when it is nearly used up
	ofQueue            // sequences that wait: a few always do
	ofBatch            // what engines have in hand: it follows from how fast they are where it doesn't explain that
)

// long is the length of a queue, as a share of the sequences that run, from which on it
// counts.
const long = 0.1

// full is the share of a cache from which on sequences have to wait for it.
const full = 0.9

// causes are in the order in which they are told: what is asked of the engines, what
// they lack, how well they use it, and what shows that.
var causes = []cause{
	{arrivalRate, 1, true, ofDemand},
	{"avg_output_length", 1, true, ofDemand},
	{"avg_input_length", -1, false, ofDemand},
	{"prefill_caching_rate", 1, false, ofDemand},
	{"KV_cache_usage", -1, false, ofMemory},
	{"KV_pool_usage", -1, false, ofMemory},
	{"state_cache_usage", -1, false, ofMemory},
	{"preempted", -1, false, ofEngine},
	{"retracted", -1, false, ofEngine},
	{"paused", -1, false, ofEngine},
	{acceptLen, 1, true, ofEngine},
	{"draft_overhead", -1, false, ofEngine},
	{"moe_lb", -1, false, ofEngine},
	{"eplb_balancedness", 1, false, ofEngine},
	{"graph_replay_share", 1, false, ofEngine},
	{"gpu_throttle", -1, false, ofEngine},
	{"gpu_sm_clock", 1, false, ofEngine},
	{"nccl_total", 0, false, ofEngine},
	{"running", 1, true, ofBatch},
	{"decode_share", 1, true, ofBatch},
	{"pending", -1, false, ofQueue},
	{"chunked", 0, false, ofEngine},
}

// way is the direction in which generated tokens per second evidently differ: +1, −1,
// or 0 when they don't.
func (b *builder) way(column int) float64 {
	for _, key := range throughputKeys {
		if r := b.find(key, "", BothKinds, ""); r != nil && r.Cells[column].Diff != nil {
			if !r.Cells[column].Verdict.Evidenced() {
				return 0
			}
			return sign(r.Cells[column].Diff.Value)
		}
	}
	return 0
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// queues says whether a column has a long queue.
func (b *builder) queues(pending *Row, column int) bool {
	running := b.find("running", "", BothKinds, "")
	return running == nil || !running.Cells[column].OK || pending.Cells[column].Level > long*running.Cells[column].Level
}

// waits says whether the column with fewer tokens per second has a queue evidently longer
// than the other's: then it is not for want of work.
func (b *builder) waits(column int) bool {
	r := b.evidenced("pending", "", column)
	if r == nil || sign(r.Cells[column].Diff.Value)*b.way(column) >= 0 {
		return false
	}
	slower := column
	if b.way(column) > 0 {
		slower = 0
	}
	return b.queues(r, slower)
}

// smaller is the ratio of sequences at once from which on down batches are called smaller.
const smaller = 0.9

// smallerBatches says whether a column has fewer sequences at once: evidently, or by so
// much that shorter steps should not be taken for a gain before that is known.
func (b *builder) smallerBatches(column int) bool {
	r := b.find("running", "", BothKinds, "")
	if r == nil || !r.Cells[0].OK || !r.Cells[column].OK {
		return false
	}
	c := &r.Cells[column]
	return c.Level < smaller*r.Cells[0].Level || c.Verdict.Evidenced() && c.Diff.Value < 0
}

// work are metrics of how much engines compute; more of it is a gain only if tokens come
// of it.
var work = []string{"MFU", "est_TFLOPs_per_GPU", "fwd_occupancy", "accepted_tokens"}

// consequences takes back what only looks like a gain: steps that are faster since fewer
// sequences share them, and more work with no more tokens, such as drafts that are
// verified in vain.
func (b *builder) consequences(column int) {
	way := b.way(column)
	shrunk := way < 0 && b.smallerBatches(column)
	prompts := b.find("prompt_TPS", "", BothKinds, "")
	vain := way <= 0 && (prompts == nil || prompts.Cells[column].Verdict != Better)
	for gi := range b.table.Groups {
		for ri := range b.table.Groups[gi].Rows {
			r := &b.table.Groups[gi].Rows[ri]
			c := &r.Cells[column]
			if c.Verdict != Better {
				continue
			}
			switch {
			case shrunk && isStepTime(r.Metric.Key):
				c.Verdict = Changed
				c.Qualifications = append(c.Qualifications, *why(Follows, "smaller batches: steps are faster", "批更小，步因此更快",
					"Fewer sequences share a step and fewer tokens come of it: that its parts take less time is a consequence, no gain.",
					"每步的序列更少，产出的 token 也更少：各部分耗时变短是结果，不是提升。"))
			case vain && slices.Contains(work, r.Metric.Key):
				c.Verdict = Changed
				c.Qualifications = append(c.Qualifications, *why(Follows, "more work, no more tokens", "计算更多，token 并未更多",
					"More is computed, and there is no evidence of more tokens per second: the batch is larger, or drafts are verified in vain. That is no gain.",
					"计算量增加，但没有证据表明每秒 token 更多：批更大，或草稿验证后被拒绝。这不是提升。"))
			}
		}
	}
}

// item is a finding before it has its place.
type item struct {
	row   *Row
	share float64
	more  Words
	// toward is the direction in which it moves throughput by itself, 0 unknown.
	toward float64
	// late items come behind steps and timers.
	late bool
}

// noticeable is the relative change from which on something counts as a cause.
const noticeable = 0.01

// because lists the evidenced causes of a column in their order.
func (b *builder) because(column int) []item {
	var out []item
	for _, c := range causes {
		n := 0
		for gi := range b.table.Groups {
			for ri := range b.table.Groups[gi].Rows {
				r := &b.table.Groups[gi].Rows[ri]
				if r.Metric.Key != c.key || r.Stat != "" || n == maxPositions || !r.Cells[column].Verdict.Evidenced() || r.Cells[column].Diff == nil || !b.tells(c, r, column) {
					continue
				}
				n++
				it := item{row: r, share: math.NaN(), toward: c.sign * sign(r.Cells[column].Diff.Value),
					late: c.kind == ofBatch && b.way(column) == 0}
				if c.factor && (c.kind != ofBatch || b.way(column) != 0) {
					it.share = r.Cells[column].Diff.Rel
				}
				out = append(out, it)
			}
		}
		if c.key == acceptLen {
			out = append(out, b.positions(column)...)
		}
	}
	return out
}

// tells says whether an evidenced row is a cause here, and no consequence.
func (b *builder) tells(c cause, r *Row, column int) bool {
	way := b.way(column)
	if math.Abs(r.Cells[column].Diff.Rel) < noticeable {
		return false
	}
	switch c.kind {
	case ofDemand:
		if way == 0 || b.waits(column) {
			return false
		}
		return slices.ContainsFunc(b.table.Fairness.Lines, func(l FairnessLine) bool {
			level := l.Cells[column].Level
			return l.Key == c.key && (level == Qualified || level == Unfair)
		})
	case ofMemory:
		return math.Max(r.Cells[0].Level, r.Cells[column].Level) >= full
	case ofQueue:
		return b.queues(r, 0) || b.queues(r, column)
	case ofBatch:
		return way == 0 || sign(r.Cells[column].Diff.Value) == way
	}
	return true
}

// against words an item that does not explain the difference. Fewer sequences at once make
// steps short: then that is a consequence.
func (b *builder) against(it item, column int) Finding {
	en, zh := "against the fall", "与下降方向相反"
	if b.way(column) > 0 {
		en, zh = "against the rise", "与上升方向相反"
	}
	if it.row.Metric.Key == "avg_SPS" && it.toward > 0 && b.smallerBatches(column) {
		it.more.EN += "; smaller batches: steps are faster, a consequence that goes " + en
		it.more.ZH += "；批更小，步因此更快：这是结果，" + zh
	} else {
		it.more.EN += "; this goes " + en
		it.more.ZH += "；" + zh
	}
	f := b.tellMore(it.row, column, it.share, it.more)
	f.Against = true
	return f
}

// isStepTime says whether a row is how long steps or their parts take.
func isStepTime(key string) bool {
	return key == "avg_SPS" || key == "cur_SPS" || strings.HasPrefix(key, "cpu_") || strings.HasPrefix(key, "cuda_")
}
