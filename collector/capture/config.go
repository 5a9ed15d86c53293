package capture

import (
	"context"
	"log/slog"
	"time"

	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// The kinds of engines that can be asked for traces.
const (
	DeepInfer   = "deepinfer"
	VLLM        = "vllm"
	SGLang      = "sglang"
	TensorRTLLM = "tensorrt-llm"
)

// Engine is how to get traces out of one engine. All of it is the configuration's word.
type Engine struct {
	Key  store.EngineKey
	Kind string
	// Addr is host:port of DeepInfer's profile interface, else host:port or the base URL of the API server.
	Addr      string
	GPU, Rank int // driver GPU's id and global rank, −1 unknown
	Part      int // data-parallel index of the engine within its API server, −1: the whole server
	Ranks     int // files that an API server's capture gives, 0 unknown
	// Also are engines that a capture of this one slows down too: the others of its API server.
	Also []store.EngineKey

	// OutputDir is the folder, as the engine's node names it, where traces go: for vLLM its torch_profiler_dir, for the
	// others what to ask for unless the capture says otherwise; "" is the engine's default.
	OutputDir string
	// Paths say where the collector sees the node's folders. None: on the same host OutputDir, or /tmp, is read as it is.
	Paths  Paths
	Remove bool // the source is removed once its trace is stored

	Zone   *time.Location // of the times in DeepInfer's file names; nil is the collector's own
	Token  string         // sent as bearer token to an API server
	Record time.Duration  // how long vLLM records; 0: the steps' number times a recent step's time
	// SendBody makes vLLM's start carry profile_prefix and max_iterations, which only newer servers understand.
	SendBody bool
}

// Link is what a Runner needs of a [wire.Link].
type Link interface {
	Update(ctx context.Context, collector string, u wire.CaptureUpdate) error
	PutTrace(ctx context.Context, f wire.TraceFile) (id string, err error)
}

// Config is what a Runner works with. Functions may be called from many goroutines; those without a word may be nil.
type Config struct {
	Collector string
	Link      Link
	// Engines finds an engine that can be captured; required.
	Engines func(store.EngineKey) (Engine, bool)
	// Sink takes the window of each recording as an event: the statistics of that engine are not to be trusted in it.
	Sink     source.Sink
	StepTime func(store.EngineKey) time.Duration // of a recent step, 0 unknown
	LastStep func(store.EngineKey) time.Time     // of the last known step, zero unknown

	TempDir string // for traces that are compressed on their way; "" is the system's
	Waits   Waits
	Log     *slog.Logger // nil: [slog.Default]
}

// Waits are the Runner's times. Zero values mean the defaults named in brackets.
type Waits struct {
	Pickup     time.Duration // DeepInfer's wait for a request to be taken [30 s]; busy engines are tried again for twice as long
	Completion time.Duration // DeepInfer's wait from there to the file [10 min]

	Record    time.Duration // how long vLLM records when nobody knows a step's time [5 s]
	MaxRecord time.Duration // … and at most [2 min]
	Call      time.Duration // for an API server to answer a start [1 min]
	Stop      time.Duration // for an API server to answer a stop [15 min]: vLLM flushes all ranks meanwhile

	Appear time.Duration // for a file to begin once the engine has recorded [2 min]
	Poll   time.Duration // between looks at a folder [1 s]
	Stable time.Duration // how long a complete file's size has not changed [3 s]
	Settle time.Duration // how long no further rank's file came [10 s]
	Stall  time.Duration // after which an incomplete file that doesn't grow is given up [2 min]

	Repeat   time.Duration // after which an unchanged state is told again, so that the server knows that somebody works on it [1 min]
	Retry    time.Duration // first pause before the server is tried again [1 s]; doubles
	MaxRetry time.Duration // … up to [30 s]
	Store    time.Duration // how long the server is tried before a found file is left where it lies [6 h]
}

func (w Waits) withDefaults() Waits {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&w.Pickup, profile.DefaultPickupWait},
		{&w.Completion, profile.DefaultCompletionWait},
		{&w.Record, 5 * time.Second},
		{&w.MaxRecord, 2 * time.Minute},
		{&w.Call, time.Minute},
		{&w.Stop, 15 * time.Minute},
		{&w.Appear, 2 * time.Minute},
		{&w.Poll, time.Second},
		{&w.Stable, 3 * time.Second},
		{&w.Settle, 10 * time.Second},
		{&w.Stall, 2 * time.Minute},
		{&w.Repeat, time.Minute},
		{&w.Retry, time.Second},
		{&w.MaxRetry, 30 * time.Second},
		{&w.Store, 6 * time.Hour},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return w
}
