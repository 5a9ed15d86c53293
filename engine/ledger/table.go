package ledger

import "strings"

// Sections of what doesn't come from the engine's own log lines.
const (
	Scraped    Section = "metrics"   // Prometheus text
	Iterations Section = "iteration" // TensorRT-LLM's drained list
	LogLines   Section = "log"       // log lines of other engines
	GPUReading Section = "gpu"
)

// all is the whole table; allByKey finds its entries.
var (
	all = arrange(metrics, concat(foreignThroughput, foreignSpeculation, foreignLoad, foreignCaches,
		latencyHistograms, stepTimes, foreignCompute, cardMetrics))
	allByKey = index(all)
)

// groups is the reading order of the groups.
var groups = []Group{Throughput, Speculation, Load, Caches, Latency, Compute, MoE, TimersGroup, Network, Cards}

// Groups returns the groups in reading order.
func Groups() []Group { return append([]Group(nil), groups...) }

// All returns the whole table, other engines' metrics and GPU readings with it, in
// reading order.
func All() []Metric { return append([]Metric(nil), all...) }

// Lookup finds a metric by its key, and the parts of a histogram by theirs: for TTFT also
// TTFT_bucket, TTFT_sum and TTFT_count.
func Lookup(key string) (Metric, bool) {
	if i, ok := allByKey[key]; ok {
		return all[i], true
	}
	for _, p := range histogramParts {
		base, cut := strings.CutSuffix(key, p.suffix)
		if i, ok := allByKey[base]; cut && ok && all[i].Kind == Histogram {
			return p.of(all[i]), true
		}
	}
	return Metric{}, false
}

// arrange puts the tables into one, group after group.
func arrange(tables ...[]Metric) []Metric {
	var out []Metric
	for _, g := range groups {
		for _, t := range tables {
			for _, m := range t {
				if m.Group == g {
					out = append(out, m)
				}
			}
		}
	}
	return out
}

// The suffixes of a histogram's parts.
const (
	BucketSuffix = "_bucket"
	SumSuffix    = "_sum"
	CountSuffix  = "_count"
)

// histogramPart describes one part of every histogram.
type histogramPart struct {
	suffix        string
	name, formula Words
	label         Words
	sum           bool // in the histogram's unit, not in events
}

var histogramParts = []histogramPart{
	{suffix: BucketSuffix, name: Words{", by bound", "（按上界）"},
		formula: Words{"values at most as large as the bound, cumulative over the bounds; increase since the reading before", "不大于该上界的取值个数（按上界累积）；自上次读取以来的增量"},
		label:   Words{"upper bound as the engine writes it, in its own unit", "引擎所写的上界，单位同引擎"}},
	{suffix: SumSuffix, name: Words{", sum", "（总和）"}, sum: true,
		formula: Words{"sum of the values; increase since the reading before", "取值之和；自上次读取以来的增量"}},
	{suffix: CountSuffix, name: Words{", count", "（次数）"},
		formula: Words{"number of values; increase since the reading before", "取值个数；自上次读取以来的增量"}},
}

// of is the part of one histogram. Increases are gauges: each reading stands for its own
// interval, and intervals and engines add up.
func (p histogramPart) of(h Metric) Metric {
	m := h
	m.Key, m.Kind, m.Better, m.Label = h.Key+p.suffix, Gauge, Neither, p.label
	m.Name = Words{h.Name.EN + p.name.EN, h.Name.ZH + p.name.ZH}
	m.Formula, m.Denominator = p.formula, Words{}
	m.Aggregate = Aggregation{Op: Sum}
	if !p.sum {
		m.Unit = h.Counted
	}
	return m
}
