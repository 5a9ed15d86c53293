package store

import (
	"context"
	"time"
)

// EngineKey names an engine: its deployment and its own name within it.
type EngineKey struct{ Deployment, Name string }

// EngineInfo is what a collector knows about an engine. Empty texts and −1 mean
// not known; what is known replaces what was stored before.
type EngineInfo struct {
	EngineKey
	Kind      string // "deepinfer", "vllm", "sglang", "tensorrt-llm", or "gpu" for a card without an engine
	Host      string
	Rank, GPU int    // global rank and driver GPU's id, −1 unknown
	Role      string // "mixed", "prompt", "decode"
	Model     string
	Parallel  string // as people write it: "tp8", "cp2 dp4"
	Version   string
}

// Engine is one stored engine. Its times are nanoseconds since 1970, 0 without samples.
type Engine struct {
	ID int64
	EngineInfo
	First, Last int64 // of its samples
}

// Deployment is a group of engines that are judged together.
type Deployment struct {
	Name       string
	Note       string
	Labels     map[string]string
	GPUs       int     // cards of the whole deployment, 0 unknown; needed for figures per GPU
	PeakTFLOPs float64 // one card's dense BF16 peak in TFLOP/s, 0 unknown; turns estimated TFLOP/s into MFU
	Created    time.Time
	Engines    int
}

// DeploymentPatch changes those fields of a deployment that are not nil.
type DeploymentPatch struct {
	Note       *string
	Labels     *map[string]string
	GPUs       *int
	PeakTFLOPs *float64
}

// Baseline is a named time range of a deployment to compare with.
type Baseline struct {
	ID         int64
	Deployment string
	Name       string
	Note       string
	From, To   int64 // ns since 1970, To exclusive
}

// Column names one series of an engine: a metric's key and what tells its
// series apart ("" where there is one): a draft position, a timer, a bucket's
// upper bound as "le=0.001", a card's UUID.
type Column struct{ Metric, Label string }

// Layout is the columns of a kind of row. Section is where the row came from:
// "stats", "cpu", "cuda", "nccl_memory", "metrics", "gpu", "iteration" ….
type Layout struct {
	Section string
	Columns []Column // distinct
}

// Flags say how a row may be used.
type Flags uint16

// The flags. A row of neither PromptStep nor DecodeStep describes both kinds.
const (
	PromptStep  Flags = 1 << iota // the step that logged was a prompt step
	DecodeStep                    // … a decode step
	ArrivalTime                   // the line had no time of its own: Time is when it arrived
	ClockJump                     // the engine's clock ran backwards or leapt before this row
	Filling                       // the engine's windows were not full yet (the first lines after a start)
	Perturbed                     // taken during a trace capture of this engine; set on reading, from the events
)

// Row is one log line or one scrape.
type Row struct {
	Engine int   // index into Batch.Engines
	Layout int   // index into Batch.Layouts
	Time   int64 // ns since 1970
	Step   int64 // the engine's step, −1 without
	Flags  Flags
	Values []float64 // by the layout's columns; NaN is absent
}

// EventKind is what an Event tells of.
type EventKind string

// The kinds of events.
const (
	Restart      EventKind = "restart"       // steps or counters began anew
	Gap          EventKind = "gap"           // lines lost: steps FromStep … ToStep are missing
	Silence      EventKind = "silence"       // nothing came for much longer than usual
	ClockJumped  EventKind = "clock_jump"    // Detail says by how much
	CaptureEvent EventKind = "capture"       // a trace was recorded: the ledger is perturbed
	Unreadable   EventKind = "unreadable"    // Count lines could not be read; Detail has the reason and where
	CounterReset EventKind = "counter_reset" // a counter fell: its server began anew
	Dropped      EventKind = "dropped"       // Count samples thinned out because the server was away too long
	Unavailable  EventKind = "unavailable"   // the engine says that it can't tell some figures; Detail is which and why
)

// Event is something that happened to an engine over a time.
type Event struct {
	Engine           int64 // in a Batch: index into Batch.Engines; read: the engine's id
	Kind             EventKind
	From, To         int64 // ns since 1970; To = From for a moment
	FromStep, ToStep int64 // −1 without
	Count            int64
	Detail           string // untrusted text
}

// Position is how far a source has been read. Value is the collector's own
// (for a file: device, inode, offset and a fingerprint); a Position with an empty
// Value is removed.
type Position struct{ Source, Value string }

// Batch is what a collector delivers in one transaction: all of it is stored, or nothing.
type Batch struct {
	Seq       uint64 // counts up by one per collector; 0: not numbered (not idempotent)
	Engines   []EngineInfo
	Layouts   []Layout
	Rows      []Row
	Events    []Event
	Positions []Position
}

// Selection chooses samples: engines × metrics (all their labels) in a time
// range. Empty Metrics are all.
type Selection struct {
	Engines  []int64
	Metrics  []string
	From, To int64 // ns since 1970, To exclusive
}

// Series is one column of one engine over a time, by rising time (equal times by
// arrival). Slices have the same length; absent values are left out.
type Series struct {
	Engine int64
	Column
	Times  []int64
	Steps  []int64 // −1 without
	Flags  []Flags
	Values []float64
}

// Which rows a PointsQuery takes.
const (
	AllSteps   Flags = 0
	OnlyPrompt       = PromptStep
	OnlyDecode       = DecodeStep
)

// Bounds of PointsQuery.Points.
const (
	DefaultPoints = 500
	MaxPoints     = 4000
)

// PointsQuery asks for at most Points buckets of equal length for each engine and label; Grid says where they lie.
type PointsQuery struct {
	Selection
	Points int   // 0 is DefaultPoints
	Only   Flags // AllSteps, OnlyPrompt or OnlyDecode (rows of neither kind are in all three)
}

// Bucket is the values of one stretch of time. Empty stretches have no Bucket, so gaps stay gaps.
type Bucket struct {
	From                int64 // ns since 1970; the stretch is Points.Width long
	N                   int64
	Min, Max, Sum, Last float64
	FirstStep, LastStep int64 // of the first and the last sample; −1 without
}

// Points is one column of one engine, downsampled so that extremes survive.
type Points struct {
	Engine int64
	Column
	Width   int64 // ns of a bucket
	Buckets []Bucket
}

// Latest is the newest value of a column.
type Latest struct {
	Engine int64
	Column
	Time, Step int64
	Flags      Flags
	Value      float64
}

// SeriesInfo says that a column has samples in a range and when it was first and last fed there.
type SeriesInfo struct {
	Engine int64
	Column
	First, Last int64
}

// Retention bounds what is kept. Zero values keep all.
type Retention struct {
	Raw      time.Duration // rows lie as they came at least for so long, then they are packed; 0 is as soon as it pays
	Chunks   time.Duration // samples and events older than this go, samples up to a day later
	Traces   time.Duration // traces older than this are deleted
	MaxBytes int64         // of samples; the oldest hours go first
}

// Maintained counts what one round of Maintain did.
type Maintained struct {
	Rows, Chunks  int64 // rows compacted into so many chunks
	DroppedChunks int64
	DroppedTraces int64
	FreedBytes    int64
}

// Samples keeps the statistics of engines. All methods may be called at once from many goroutines.
type Samples interface {
	// Deliver stores a batch in one transaction. A batch whose Seq is not above the collector's last one is
	// acknowledged and not stored again: applied is false. Engines and deployments are made when they are new.
	Deliver(ctx context.Context, collector string, b *Batch) (applied bool, err error)
	// Positions returns where a collector's sources stand and the Seq of its last batch, both from the same moment.
	Positions(ctx context.Context, collector string) ([]Position, uint64, error)

	Deployments(ctx context.Context) ([]Deployment, error) // by name
	UpdateDeployment(ctx context.Context, name string, p DeploymentPatch) (Deployment, error)
	// CreateDeployment makes one without engines; ErrInvalid when the name is empty or too long, or taken.
	CreateDeployment(ctx context.Context, d Deployment) error
	// DeleteDeployment hides a deployment with all its engines and samples until it is restored or purged; new samples
	// for it bring it back.
	DeleteDeployment(ctx context.Context, name string) error
	RestoreDeployment(ctx context.Context, name string) error
	Engines(ctx context.Context, deployment string) ([]Engine, error) // "" is all; by deployment and name

	Baselines(ctx context.Context, deployment string) ([]Baseline, error) // "" is all
	PutBaseline(ctx context.Context, b Baseline) (Baseline, error)        // ID 0 makes a new one
	DeleteBaseline(ctx context.Context, id int64) error

	// Columns lists the series that have samples in the selection's range.
	Columns(ctx context.Context, s Selection) ([]SeriesInfo, error)
	// Read gives each series of the selection once, ordered by engine and column. The Series is yield's only during the call.
	Read(ctx context.Context, s Selection, yield func(*Series) error) error
	// Points gives downsampled series.
	Points(ctx context.Context, q PointsQuery) ([]Points, error)
	// Latest gives the newest value of each column at or after since (ns).
	Latest(ctx context.Context, engines []int64, metrics []string, since int64) ([]Latest, error)
	// Events lists what overlaps [from, to), by start.
	Events(ctx context.Context, engines []int64, from, to int64) ([]Event, error)

	// Maintain compacts, applies the retention and gives space back, in steps that never hold the writer for long.
	// It is to be called every few minutes: what is compact is read faster.
	Maintain(ctx context.Context, now time.Time, r Retention) (Maintained, error)
}
