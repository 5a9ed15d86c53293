package ledger

// Words is a text in the languages that the pages speak.
type Words struct{ EN, ZH string }

// Group is the block of a page in which a metric stands.
type Group string

// The groups, in reading order.
const (
	Throughput  Group = "throughput"
	Speculation Group = "speculation"
	Load        Group = "load"
	Caches      Group = "caches"
	Latency     Group = "latency"
	Compute     Group = "compute"
	MoE         Group = "moe"
	TimersGroup Group = "timers"
	Network     Group = "nccl"
	Cards       Group = "gpu"
)

// Unit is what a metric's values are counted in.
type Unit string

// The units. A Share lies between 0 and 1 and is shown as a percentage; a Ratio may be
// larger than 1.
const (
	StepsPerSecond  Unit = "steps/s"
	TokensPerSecond Unit = "tokens/s"
	Tokens          Unit = "tokens"
	TokensPerSeq    Unit = "tokens/sequence"
	TokenPairs      Unit = "query·key tokens"
	Sequences       Unit = "sequences"
	Requests        Unit = "requests"
	Preemptions     Unit = "preemptions"
	Calls           Unit = "calls"
	Communicators   Unit = "communicators"
	Milliseconds    Unit = "ms"
	GiB             Unit = "GiB"
	TFLOPs          Unit = "TFLOP"
	Share           Unit = "share"
	Ratio           Unit = "ratio"
	PerToken        Unit = "per verified token"
	Flag            Unit = "flag"

	Seconds            Unit = "s"
	RequestsPerSecond  Unit = "requests/s"
	TFLOPsPerSecond    Unit = "TFLOP/s"
	GigabytesPerSecond Unit = "GB/s"
	Watts              Unit = "W"
	Megahertz          Unit = "MHz"
	Celsius            Unit = "°C"
	Errors             Unit = "errors"
)

// Kind says how a metric's values follow each other.
type Kind string

// The kinds. A Counter only grows while its engine lives: show its increase. A Histogram
// has no series of its own key: its parts are <key>_bucket, <key>_sum and <key>_count,
// each the increase since the reading before.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
)

// Direction is which way a metric is better.
type Direction string

// The directions. Neither: a change needs an explanation, not a verdict.
const (
	Up      Direction = "up"
	Down    Direction = "down"
	Neither Direction = "neither"
)

// Steps says between which lines a metric may be compared.
type Steps string

// The comparisons. SameKind: only prompt steps with prompt steps and decode steps with
// decode steps, because the value describes the logging step alone.
const (
	AnySteps Steps = "any"
	SameKind Steps = "same_kind"
)

// Op is how the values of several engines at one time become one.
type Op string

// The operations. There is no mean of percentiles: a maximum stays a maximum. Apart
// means that no single number is right.
const (
	Sum          Op = "sum"
	WeightedMean Op = "weighted_mean"
	Max          Op = "max"
	Min          Op = "min"
	Apart        Op = "apart"
)

// Aggregation is a metric's rule for several engines.
type Aggregation struct {
	Op Op
	// By is the metric whose values are the weights of a WeightedMean; empty: every
	// engine counts once, because the line does not carry the right weight.
	By string
}

// Metric is the one definition of a metric. Everything that shows a metric reads it.
type Metric struct {
	Key         string
	Section     Section
	Group       Group
	Name        Words
	Unit        Unit
	Kind        Kind
	Formula     Words // in words, with the window's and the denominator's role
	Window      Words // which samples go in
	Denominator Words // what it is divided by; empty where it is a count or a size
	Moves       Words // what changes it
	Better      Direction
	Steps       Steps
	Estimate    bool // computed from a model of the work, not measured
	// ZeroIsAbsent: the engine writes 0 where it has nothing to say.
	ZeroIsAbsent bool
	// Label says what tells series of this metric apart; empty: there is only one.
	Label     Words
	Aggregate Aggregation
	// Engines are the kinds that have this metric in at least one version or setting.
	Engines Engines
	// Counted is what a Histogram counts; empty for all other kinds.
	Counted Unit
}

// metrics is the table of the engine's own log lines in reading order; byKey finds its entries.
var (
	metrics = concat(throughputMetrics, speculationMetrics, loadMetrics, cacheMetrics, latencyMetrics,
		computeMetrics, timerMetrics(CPU), timerMetrics(CUDA), ncclMetrics)
	byKey = index(metrics)
)

// Metrics returns the part of the table that the engine's own log lines fill, in reading
// order: by group, then by importance. All returns the whole table.
func Metrics() []Metric { return append([]Metric(nil), metrics...) }

// own finds a metric of the engine's own log lines. The parser asks only for those:
// another engine's name in a line of ours is a field that the line's layout doesn't know.
func own(key string) (Metric, bool) {
	i, ok := byKey[key]
	if !ok {
		return Metric{}, false
	}
	return metrics[i], true
}

func concat(tables ...[]Metric) []Metric {
	var all []Metric
	for _, t := range tables {
		all = append(all, t...)
	}
	for i := range all {
		m := &all[i]
		if m.Section == "" {
			m.Section = Stats
		}
		if m.Kind == "" {
			m.Kind = Gauge
		}
		if m.Steps == "" {
			m.Steps = AnySteps
		}
		if m.Engines == 0 {
			m.Engines = OfDeepInfer | alsoIn[m.Key]
		}
	}
	return all
}

func index(all []Metric) map[string]int {
	m := make(map[string]int, len(all))
	for i := range all {
		m[all[i].Key] = i
	}
	return m
}

// Windows and denominators that several metrics share.
var (
	thisStep = Words{"the step that logs", "打印日志的这一步"}
	thisTime = Words{"the moment of logging", "打印日志的时刻"}
	ageSteps = Words{"steps no older than the logging interval (100), trimmed by step age, never by time", "步龄不超过日志间隔（默认 100）的步；按步龄修剪，从不按时间"}
	decodes  = Words{"decode steps no older than the logging interval (100), by step age", "步龄不超过日志间隔（默认 100）的解码步"}
	prompts  = Words{"prompt steps no older than the logging interval (100), by step age", "步龄不超过日志间隔（默认 100）的预填充步"}
	sinceLog = Words{"since the last log line", "自上一条日志以来"}
	forever  = Words{"since the engine started", "自引擎启动以来"}

	toNow = Words{"now − time of the window's first entry; grows while nothing is added, so the value falls in a pause",
		"当前时刻 − 窗口首条时间；没有新样本时仍在增长，因此停顿时数值下降"}
	stepTime = Words{"duration of the step: now − its start; under zero-overhead scheduling the distance of the last two step starts",
		"本步耗时：当前时刻 − 步开始时刻；零开销调度下为最近两次步开始的间隔"}
	engineTime = Words{"accumulated time of engine_step in the same interval", "同一间隔内 engine_step 的累计时间"}
)
