// Package config is a collector's configuration: which engines there are and
// where to read them. It is read from YAML, checked as a whole with the line of
// every fault, or made of command line flags.
package config

import (
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/tail"
)

// Config is all that a collector is told.
type Config struct {
	Name        string // the collector's at the server; empty: the host's name
	Deployments []Deployment
}

// Deployment is a group of engines that are judged together, and where their data is found.
type Deployment struct {
	Name        string
	Model       string
	Parallel    string  // as people write it: "tp8", "cp2 dp4"
	Role        string  // "mixed", "prompt", "decode" or empty
	Host        string  // the engines' host, where a target does not say its own; empty: not told
	HostInNames bool    // engines are called host/rankN, where ranks alone are not unique
	GPUs        int     // cards of the whole deployment, on all hosts, 0 not told
	PeakTFLOPs  float64 // one card's dense BF16 peak in TFLOP/s, 0 not told

	Logs     []Log
	Metrics  []Metrics
	GPU      *GPU
	Profile  []Profile
	Schedule []capture.Schedule
}

// Log is a log target.
type Log struct {
	Kind   string   // of the engines; empty: "deepinfer"
	Engine string   // name of the engine, for kinds whose lines don't tell it
	Paths  []string // globs, or "-" alone for standard input
	Zone   string   // IANA name, "UTC" or "Local": where clocks stand whose zone lines don't tell
	Start  tail.Start
	Host   string
}

// Metrics is engines that are asked for their metrics.
type Metrics struct {
	Kind      string        // "vllm", "sglang" or "tensorrt-llm"; empty: found out
	Addresses []string      // host:port or http(s)://host:port, ranges opened
	Path      string        // of the metrics; empty: the kind's own
	Every     time.Duration // between two scrapes; 0: as suits the kind
	Token     string        // sent as bearer token
	Logs      []string      // globs of the engines' own logs
	Traces    *Traces       // how to capture; nil: not at all
}

// Traces say where an engine's traces are found.
type Traces struct {
	OutputDir string // as the engine's node names it; empty: the engine's default
	Paths     capture.Paths
	Remove    bool // the source is removed once its trace is stored
	Ranks     int  // files that a capture gives, 0 unknown
}

// GPU is the cards of the collector's own host.
type GPU struct {
	Every   time.Duration
	Library string // NVIDIA's management library; empty: the usual one
}

// Profile is DeepInfer engines' profile interfaces.
type Profile struct {
	Addresses []string // host:port, ranges opened
	PortBase  int      // port of the engine on GPU 0; where nobody says it DefaultPortBase, or the lowest of quite other ports
	Host      string   // host of the engines behind these addresses, where several hosts have the same GPUs
	Zone      string   // of the times in trace files' names
	Traces
}

// Bounds of what a configuration says about a deployment's cards.
const (
	MaxGPUs = 1_000_000
	MaxPeak = 100_000 // TFLOP/s of one card
)

// The defaults of a configuration.
const (
	DefaultGPUEvery = 5 * time.Second
	DefaultPortBase = 6070
)
