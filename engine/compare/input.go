package compare

// Flags say how a sample may be used.
type Flags uint16

// The flags. A sample of neither kind of step describes both kinds.
const (
	PromptStep Flags = 1 << iota // the step that logged was a prompt step
	DecodeStep                   // … a decode step
	Filling                      // the engine's windows were not full yet: left out
	Perturbed                    // a trace was being recorded: left out
	ClockJump                    // the clock leapt before this sample: no rate is computed over it
)

// Side is one column of a comparison: a deployment over a time.
type Side struct {
	Name       string // as shown; untrusted
	Spec       string // the column as it stands in an address, see ParseColumn
	Deployment string // untrusted
	Baseline   string // the baseline's label if the column is one
	From, To   int64  // ns since 1970, To exclusive
	GPUs       int    // cards of the deployment, 0 unknown
	PeakTFLOPs float64
	Engines    []Engine
	// Coarse: samples were too many to read, and series are means of stretches of so many ns.
	Coarse int64
	// Traces is how many captures overlap the time.
	Traces int
}

// Engine is one engine of a side. Texts are untrusted; empty means not known.
type Engine struct {
	Name     string
	Kind     string // "deepinfer", "vllm", "sglang", "tensorrt-llm", "gpu"
	Role     string // "mixed", "prompt", "decode"
	Model    string
	Parallel string
	Version  string
	Series   []Series
	Restarts int // in the time of the side
	Gaps     int // stretches in which lines were lost
	// Breaks are stretches of which lines don't tell, such as restarts and lost lines, by rising To.
	Breaks []Span
	// Captured are the times in which traces were recorded: lines that speak for a part of one are perturbed. By rising To.
	Captured []Span
}

// Span is a stretch of time, ns since 1970.
type Span struct{ From, To int64 }

// Series is one metric of one engine, by rising time. All slices have the same
// length; Steps and Flags may be nil.
type Series struct {
	Key, Label string
	Times      []int64 // ns since 1970
	Steps      []int64 // the engine's step, −1 without
	Flags      []Flags
	Values     []float64 // NaN and infinite values are left out and counted
}

// Per says by what sums over engines are divided.
type Per string

// The normalisations.
const (
	PerDeployment Per = ""       // as it is
	PerGPU        Per = "gpu"    // sums ÷ Side.GPUs
	PerEngine     Per = "engine" // sums ÷ engines
	PerToken      Per = "token"  // times per step ÷ tokens generated in the same time
)

// Options choose what a table shows.
type Options struct {
	Per Per
	// Metrics are the keys to compare; empty: all that any side has.
	Metrics []string
	// FamilyLevel is the chance, at most, that a table of equal columns has any verdict; 0 is DefaultFamilyLevel.
	FamilyLevel float64
}

// DefaultFamilyLevel is the nominal level of all tests of a table together.
const DefaultFamilyLevel = 0.02
