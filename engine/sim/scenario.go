package sim

// A Scenario describes the deployments of a fleet. It is read from JSON; what a file leaves out has the value of
// [DefaultDeployment].
type Scenario struct {
	Name        string       `json:"name"`
	About       string       `json:"about"` // what happens, in a sentence
	Deployments []Deployment `json:"deployments"`
}

// Deployment is a number of equal engines.
type Deployment struct {
	Name    string `json:"name"`
	Engines int    `json:"engines"`
	Role    string `json:"role"`  // "mixed", "prompt" or "decode"
	ZOS     bool   `json:"zos"`   // zero-overhead scheduling
	Cards   int    `json:"cards"` // context_parallel_size: GPUs, and ranks, that share an engine's sequences

	Scheduler Limits   `json:"scheduler"`
	KV        Cache    `json:"kv"`
	Requests  Requests `json:"requests"`
	Draft     Draft    `json:"draft"`
	MoE       Experts  `json:"moe"`
	Graphs    []int    `json:"graphs"` // captured batch sizes in query tokens, ascending; []: eager only
	Cost      Cost     `json:"cost"`
	FLOPs     FLOPs    `json:"flops"`
	NCCL      NCCL     `json:"nccl"`
	Logging   Logging  `json:"logging"`
	Trace     Trace    `json:"trace"`
	Faults    []Fault  `json:"faults"`
}

// FLOPs is the scheduler's estimate of a step's work.
type FLOPs struct {
	PerToken float64 `json:"per_token"` // FLOP for each query token
	PerPair  float64 `json:"per_pair"`  // FLOP of attention for each pair of query and key
	Peak     float64 `json:"peak"`      // one card's dense BF16 peak, in TFLOP/s
}

// NCCL is the memory of an engine's communicators.
type NCCL struct {
	Groups      []Group `json:"groups"`
	Unavailable string  `json:"unavailable"` // the error that asking for it gives; empty: none
}

// Group is one communicator, there from a step on.
type Group struct {
	Name string  `json:"name"`
	MiB  float64 `json:"mib"`
	From int     `json:"from_step"`
}

// Logging is an engine's log settings.
type Logging struct {
	Interval     int    `json:"interval_steps"`
	MoEInterval  int    `json:"moe_interval_steps"`
	NCCLInterval int    `json:"nccl_interval_steps"`
	Prefix       string `json:"prefix"` // before each line: "time", "none", or "json" for lines wrapped in JSON
}

// Trace is how captures are written.
type Trace struct {
	Layers    int   `json:"layers"`
	StepBytes int64 `json:"step_bytes"` // mean size of a step with work
	Truth     bool  `json:"truth"`      // write what was put in beside each trace, with .truth added to its name
}

// The words that a scenario uses.
const (
	roleMixed  = "mixed"
	rolePrompt = "prompt"
	roleDecode = "decode"

	arrivalsPoisson = "poisson"
	arrivalsFixed   = "fixed"

	prefixTime = "time"
	prefixNone = "none"
	prefixJSON = "json"
)

// DefaultDeployment is a healthy engine at about two thirds of its capacity.
func DefaultDeployment() Deployment {
	return Deployment{
		Name: "engine", Engines: 1, Role: roleMixed, Cards: 1,
		Scheduler: Limits{MaxNumSeqs: 128, MaxNumBatchedTokens: 8192, NextN: 5},
		KV:        Cache{Blocks: 4608, BlockSize: 64, States: 161, Prefix: true},
		Requests: Requests{
			Rate: 10, Arrivals: arrivalsPoisson,
			Prompt:     Dist{Mean: 1800, Spread: 0.7, Min: 32, Max: 16384},
			Output:     Dist{Mean: 600, Spread: 0.6, Min: 8, Max: 4096},
			Prefix:     Prefix{Share: 0.6, Branches: []int{4, 16}, Tokens: []int{512, 512}},
			AbortShare: 0.004, PatienceMS: 4000,
		},
		Draft: Draft{Accept: []float64{0.86, 0.84, 0.82, 0.8, 0.78}, Threshold: 0.3, Spread: 0.05, Noise: 0.04},
		MoE:   Experts{Cards: 8, TopK: 8, Skew: 0.05, Noise: 0.02},
		Graphs: []int{8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512,
			544, 576, 608, 640, 672, 704, 736, 768},
		Cost: Cost{DecodeMS: 13, TokenUS: 21, PrefillMS: 9, PrefillTokenUS: 17.5, ContextTokenNS: 12, EagerMS: 10,
			Jitter: 0.02, ExpertShare: 0.4, HandOverTokenUS: 4},
		FLOPs:   FLOPs{PerToken: 42e9, PerPair: 1.3e6, Peak: 989},
		NCCL:    NCCL{Groups: []Group{{Name: "world", MiB: 512}, {Name: "dp", MiB: 319.5}, {Name: "cp", MiB: 419.8}}},
		Logging: Logging{Interval: 100, MoEInterval: 128, NCCLInterval: 1000, Prefix: prefixTime},
		Trace:   Trace{Layers: 40, StepBytes: 4_900_000},
	}
}
