package trace

// Schema names the version of the summary's JSON.
const Schema = "stepscope.trace/1"

// Summary is what one trace file says. All times are nanoseconds; starts of steps and
// devices are offsets from the first timed slice. docs/trace-summary.md describes every
// key of its JSON.
type Summary struct {
	Name        string
	Bytes       int64 // of the file as it came
	JSONBytes   int64 // decompressed
	Compression Compression

	Health Health
	// Start is the absolute wall time of the first slice, ns since the epoch.
	Start Opt
	// Span is last end − first start over the timed slices.
	Span Opt

	Categories  []CategorySum
	Devices     []Device
	Phases      []Phase
	Tree        []TreeNode
	Threads     []Thread
	Shapes      []Shape
	Steps       []Step
	Kernels     []Kernel
	Links       Links
	Graph       Graph
	Collectives []Collective
	Overhead    Sum
	Counters    int64 // counter series
	ByPhase     []PhaseCount
	Facts       Facts
}

// Opt is an integer that may not exist: it is then null in JSON, never 0.
type Opt struct {
	V  int64
	OK bool
}

func some(v int64) Opt { return Opt{v, true} }

// Health says how well the file could be read; docs/trace-summary.md has the counting
// rules.
type Health struct {
	Verdict     string // "ok", "warn" or "unusable"
	TruncatedAt Opt    // byte offset in the decompressed JSON
	Events      int64
	Slices      int64
	Skipped     int64
	Repaired    int64
	Clipped     int64
	Unfinished  int64
	Unresolved  int64
	Warnings    []Warning
}

// Warning is one kind of thing that a reader of the numbers should know.
type Warning struct {
	Code    string
	Message string
	Count   int64
	Offset  Opt // byte offset of the first
}

// CategorySum counts the slices of one category; Total is their summed duration.
type CategorySum struct {
	Name         string
	Count, Total int64
}

// Device is one GPU.
type Device struct {
	ID          string
	Kernels     int64
	GraphKernel int64 // kernels out of graph replays
	Sum         int64 // of kernel durations
	Busy        int64 // union of kernels, copies and memsets
	Idle        Opt   // first start … last end, less Busy; none without timed work
	Copy        int64 // union of copies and memsets
	Comm        int64 // union of NCCL's (and RCCL's) kernels
	CustomComm  int64 // union of communication kernels of other libraries
	Compute     int64 // union of the kernels that are no communication
	ExposedComm int64 // communication of either sort while none of those ran
	First, Last Opt   // offsets from the start of the trace
	Streams     []Stream
}

// Stream is one stream of a Device.
type Stream struct {
	ID           int64
	Kernels      int64
	Sum, Busy    int64
	CopiesOrSets int64
}

// Stats are the figures of a set of durations; percentiles are nearest rank, the mean is
// rounded down.
type Stats struct {
	Count, Total, Self       int64
	Min, Mean                int64
	P50, P95, P99, Max       int64
	HistFirst                int
	Hist                     []int64
	SharePPM                 Opt  // of the time of all steps, × 10^6
	Kept                     bool // rows were kept: own time, shortest and percentiles are known
	Name, Prefix, PhaseGroup string
}

// Phase is one CPU annotation by its full name.
type Phase struct {
	Stats
	ThreadCount int
}

// TreeNode is one annotation at one place of one thread's nesting, in pre-order.
type TreeNode struct {
	Stats
	Thread, Depth int
}

// Thread is one thread that has annotations.
type Thread struct {
	PID, TID      string
	Process, Name string
}

// Shape is one batch shape: the steps that ran with the same name.
type Shape struct {
	Name, Source, Kind        string
	N, B                      Opt
	Count                     int64
	CPUTotal, CPUMean, CPUMax int64
	Kernels                   int64  // launched by all of its steps
	Graph                     string // "replay", "miss", "partial", "none", or empty: not known
	Replays, Misses, Partials int64
	GPUSpanMean, GPUBusyMean  Opt
	Spans                     []int64 // GPU span of up to 512 steps, in order
}

// Step is one engine step.
type Step struct {
	Name   string
	Names  []string // outermost first
	Kind   string   // "prefill", "decode", "mixed", "idle" or "unknown"
	N, B   Opt
	Start  int64
	Dur    int64
	CPU    int64 // of the launching annotation
	Graph  string
	Kernel int64
	// Launch counts launches other than those of graphs; GraphLaunch those of graphs, which
	// took GraphTime of the CPU and gave GraphKernel of the kernels.
	Launch, GraphLaunch, GraphTime, GraphKernel int64
	KernelTime                                  int64 // summed durations of the kernels
	GPU                                         *StepGPU
}

// StepGPU is the GPU work that a step launched, whenever it ran.
type StepGPU struct {
	Compute, ExposedComm, Copy, Idle int64
	Busy, Span                       int64
	First, Last                      int64 // offsets from the start of the trace
}

// Kernel sums the kernels of one name.
type Kernel struct {
	Name, Class                    string
	Count, Total, Mean, Max, Graph int64
}

// Links says how GPU work and launches found each other.
type Links struct {
	Launches, GraphLaunches        int64
	LinkedKernels, UnlinkedKernels int64
	LinkedDevices                  int64 // device events of accelerators without kernels
	UnlinkedLaunches               int64
	Latency                        *Latency // launch start → kernel start
}

// Latency are the figures of the non-negative launch latencies; Negative counts the
// others, which show a clock skew.
type Latency struct{ Count, Negative, Min, P50, P95, P99, Max int64 }

// Graph is the share of graph replays.
type Graph struct{ Launches, Kernels, KernelTime, KernelTotal int64 }

// Collective sums the communication kernels of one operation and group size.
type Collective struct {
	Name              string
	Library           string // "nccl", or "custom" for all others
	Count, Total, Max int64
	GroupSize         Opt
	RanksPartial      bool
}

// Sum is a count and a summed duration.
type Sum struct{ Count, Total int64 }

// PhaseCount counts the events of one ph.
type PhaseCount struct {
	Ph    string
	Count int64
}

// Facts say where the file comes from.
type Facts struct {
	Producer        string
	Rank, WorldSize Opt
	Backend         string
	GPUNames        []string // distinct
	GPUCount        int
	Versions        []versionOf
	TraceName, Host string
	Processes       []Process
	Threads         int
}

// Process is one process that the file names.
type Process struct{ PID, Name, Labels string }
