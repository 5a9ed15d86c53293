package ledger

import "time"

// MaxNextN is the largest number of draft positions a ledger keeps apart. Windows hold
// their payload in place, so the bound keeps an entry small and appending free of
// allocation.
const MaxNextN = 15

// Step is what the engine hands over after one step. The ledger copies what it keeps:
// slices may be reused by the caller.
type Step struct {
	Prompt           bool  // a prefill step; otherwise a decode step
	NumSeqs          int64 // sequences scheduled in this step
	NumBatchedTokens int64 // query tokens computed in this step, without those found in the cache

	SumSeqLenQxK int64 // Σ over sequences of query length × key length
	MaxSeqLenK   int64 // longest context of the batch, in tokens
	MinSeqLenK   int64 // shortest context of the batch, in tokens

	AttnTFLOPs  float64 // scheduler's estimate of the step's attention work, in TFLOP
	TotalTFLOPs float64 // scheduler's estimate of all of the step's work, in TFLOP

	FirstTokenLatencies []time.Duration // of requests whose first token came in this step
	NumCachedTokensGPU  int64           // prompt tokens found in the prefix cache in this step

	// NumGenerated and NumVerified count tokens per position: 0 is the target model's own
	// token, 1 … nextn are drafts. Shorter than 1+nextn means zeros; NumVerified may be nil.
	NumGenerated []int64
	NumVerified  []int64

	ConfidenceError float64 // summed error of the confidence head over the verified tokens

	HasMoE bool    // MoE describes this step; false for dense models
	MoE    MoELoad // tokens per card in the step's expert layers
}

// MoELoad is the load of the expert layers in one step, in tokens per card.
type MoELoad struct {
	Mean float64 // over all cards
	Max  float64 // of the busiest card
}

// State is what the engine knows besides its steps; it is read only when a line is due.
type State struct {
	Running int64 // sequences in the running queue
	Pending int64 // sequences in the waiting and prompted queues
	Chunked int64 // waiting sequences with chunks left to prefill

	Finished  int64 // requests since the start
	Preempted int64 // preemptions since the start
	Aborted   int64 // requests since the start

	// Blocks of the two caches. One block of each is reserved and never counts.
	KVBlocks, FreeKVBlocks       int64
	StateBlocks, FreeStateBlocks int64

	Lengths Lengths // of the requests that finished lately
}

// Lengths sums up finished requests. Which ones is the engine's choice: it keeps a
// window of its own for them.
type Lengths struct {
	Requests     int64
	InputTokens  int64
	OutputTokens int64
}

// Role is what an engine does in a deployment that splits prefill from decode.
type Role uint8

// The roles. Only Prompt changes the ledger: it logs five times as often.
const (
	Mixed Role = iota
	Prompt
	Decode
)

// Defaults of the engine's settings, in steps but for DefaultNextN (positions).
const (
	DefaultLoggingInterval = 100  // DEEPINFER_LOGGING_INTERVAL_STEP
	DefaultMoEInterval     = 128  // DEEPINFER_MOE_LB_STAT_INTERVAL
	DefaultNCCLInterval    = 1000 // DEEPINFER_NCCL_MEMORY_SAMPLE_INTERVAL_STEPS
	DefaultNextN           = 5    // DEEPINFER_USE_NEXTN_DECODE
)

// Config is the part of an engine's settings that the formulas use.
type Config struct {
	Rank, GPU int
	Role      Role

	LoggingInterval int // steps between two lines; ≤ 0 logs nothing and trims at the default age
	MoEInterval     int // age of the MoE window in steps; ≤ 0 is the default
	NextN           int // draft positions, 0 … MaxNextN

	// ZeroOverhead is zero-overhead scheduling: post-processing runs in the shadow of the
	// next step, so a step's duration is the distance of the last two step starts.
	ZeroOverhead bool

	MaxBatchedTokens int64   // token budget of a prompt step
	MaxSeqs          int64   // sequences of a decode step
	PeakTFLOPs       float64 // one card's dense BF16 peak, in TFLOP/s
	ContextParallel  int     // cards that share this engine's sequences
}
