package compare

import "github.com/stepscope/stepscope/engine/ledger"

// Words is a text in the languages of the pages.
type Words = ledger.Words

// Table is a finished comparison. Column 0 is the baseline, called A.
type Table struct {
	Columns  []Column
	Answer   []Finding // the verdict in one to three sentences
	Fairness Fairness
	Where    []Finding // what explains the answer: causes, then steps and timers, then what speaks against it; only evidenced differences
	Groups   []Group
	LeftRows int // rows beyond the bound on labels of one metric
	Method   Method
}

// Column is the head of a column.
type Column struct {
	Letter                     string // "A" … "F"
	Name, Spec                 string
	Deployment, Baseline       string
	From, To                   int64 // ns since 1970
	Engines                    int
	Kinds, Roles               []string // distinct, sorted
	Models, Versions, Parallel []string
	GPUs                       int
	PeakTFLOPs                 float64
	Lines                      int   // samples of the engine with the most, summed over engines
	Interval                   int64 // ns, median distance of an engine's lines
	Coarse                     int64 // ns, of the means that were read instead of samples; 0: samples were
	Left                       Left
	Restarts, Gaps, Traces     int
}

// Left counts the samples that were left out.
type Left struct {
	Perturbed int // taken during a trace capture
	Filling   int // windows not full yet
	NotFinite int // NaN or infinite
	Resets    int // increases of a counter across a restart or a leap of the clock
	Alone     int // buckets of which nothing is known of an engine, so that a sum would be too low
}

// Group is a block of rows.
type Group struct {
	Key  ledger.Group
	Name Words
	Rows []Row
}

// StepKind tells the rows of a metric apart that describes single steps.
type StepKind string

// The kinds of steps.
const (
	BothKinds   StepKind = ""
	PromptSteps StepKind = "prompt"
	DecodeSteps StepKind = "decode"
)

// Row is one metric (and label, and kind of step) over all columns.
type Row struct {
	Metric ledger.Metric // the definition; for a key without one, only Key and Name are set
	Label  string        // untrusted
	Steps  StepKind
	// Stat is "" for the level of a metric, and "mean", "p50", "p95" or "p99" for histograms.
	Stat string
	// Unit of Level, Spread and Difference.Value; it differs from Metric.Unit for counters (per second) and
	// normalised sums.
	Unit string
	// Headline rows answer the question "which is better"; half of the table's level is theirs.
	Headline bool
	Cells    []Cell // one for each column
	// Notes hold for the whole row.
	Notes []Reason

	sources []string // by column, the key of the metric that stands there
}

// Cell is a metric of one column.
type Cell struct {
	OK     bool    // there is a level
	Level  float64 // mean over time of the aggregated series, weighted by the metric's rule
	Low    float64 // of Level: for a quantile of a histogram its bucket's bounds, else equal to Level
	High   float64
	Spread float64 // standard deviation of the aggregated series
	Lines  int     // samples used, all engines
	Points int     // buckets of time in which the engines were aggregated
	Effect float64 // Points ÷ inflation by autocorrelation: the number of independent points they are worth
	// Engines are the levels by engine.
	Engines []EngineLevel
	// Trail is the aggregated series, for a small multiple.
	Trail []Point
	Left  Left
	// Why there is no level, when OK is false.
	Absent *Reason

	// The rest compares with column 0; Diff is nil there and where nothing was computed.
	Diff    *Difference
	Verdict Verdict
	// Reason says why the verdict is Refused, NeedsData or NoEvidence.
	Reason *Reason
	// Qualifications are the conditions under which the verdict holds.
	Qualifications []Reason

	path  [4]float64 // means of the quarters of the time
	rises bool       // … evidently upwards, to the end

	drift  []Reason // become qualifications with the verdict
	choose []Choice // times to choose for a verdict
}

// EngineLevel is one engine's share of a cell.
type EngineLevel struct {
	Name  string // untrusted
	Level float64
	Lines int
	// Outlier: beyond the others by more than three times their usual distance, and by more than 2 %.
	Outlier bool
}

// Point is a moment of an aggregated series.
type Point struct {
	Time  int64 // ns since 1970, start of the bucket
	Value float64
}

// Difference is that of a column from column 0.
type Difference struct {
	Value float64 // in Row.Unit
	Rel   float64 // Value ÷ |level of A|; NaN where that is 0
	// Low and High are the interval that holds for all rows of the table at once: the verdict is about it.
	Low, High float64
	// Low95 and High95 are this row's own 95 % interval.
	Low95, High95 float64
	SE            float64 // standard error of Value
	DF            float64 // degrees of freedom
	P             float64 // two-sided, of this row alone
	Adjusted      float64 // P after correction for all tests of the table
	// EnginesVary: engines of a side differ by more than their own noise explains, so engines were counted, not lines.
	EnginesVary bool

	// interval is the interval that misses with chance p where it is not that of Student's distribution.
	interval func(p float64) (low, high float64)
}

// Verdict is what a difference says.
type Verdict string

// The verdicts.
const (
	None       Verdict = ""            // column 0, or nothing to say
	Better     Verdict = "better"      // evidence, in the metric's good direction
	Worse      Verdict = "worse"       // evidence, in its bad direction
	Changed    Verdict = "changed"     // evidence, of a metric that has no good direction
	NoEvidence Verdict = "no_evidence" // the data are compatible with no difference
	NeedsData  Verdict = "needs_data"  // too few samples; Reason says how many more
	Refused    Verdict = "refused"     // must not be compared; Reason says why
)

// Evidenced says whether the verdict claims a difference.
func (v Verdict) Evidenced() bool { return v == Better || v == Worse || v == Changed }

// Method says how the table's numbers were made.
type Method struct {
	Level  float64 // of all tests of the table together
	Tests  int
	Blocks Words // how intervals were made
	Family Words // how many tests share the level
}

// Finding is a sentence with what it rests on.
type Finding struct {
	Text Words
	// Column is the index that is compared with column 0.
	Column int
	// Key, Label, Steps and Stat name the row.
	Key, Label string
	Steps      StepKind
	Stat       string
	Verdict    Verdict
	// Share is by how much generated tokens per second would differ from A's if only this did, as a fraction; NaN where
	// that can't be said.
	Share float64
	// Against: it moves throughput the other way than it evidently differs; the text says so.
	Against        bool
	Qualifications []Reason
	// Choose are columns with other times, with which there would be a verdict.
	Choose []Choice
}

// Choice is a column with another time.
type Choice struct {
	Column int
	Spec   string // as ParseColumn reads it; untrusted
}
