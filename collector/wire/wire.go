// Package wire is what a collector and its server say to each other. A Link is
// the server as a collector sees it: in one process it is the server's hub
// itself, else an HTTP client with the same methods. Collectors open every
// connection, so they may stand behind a firewall; commands come back through
// a long poll.
package wire

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/stepscope/stepscope/store"
)

// ErrTaken: another running collector has this name, or a later start on the
// same host took it over. Nothing of the call was done. Trying again helps once
// the other is silent; batches must be kept meanwhile.
var ErrTaken = errors.New("the collector's name is taken")

// Link is a collector's way to its server. Errors that wrap store.ErrInvalid will
// not go away by trying again; all others may.
type Link interface {
	// Hello says who is there and learns where its sources stand at the server.
	Hello(ctx context.Context, h Hello) (Welcome, error)
	// Deliver stores a batch. After nil it is durable at the server, and a repeated Seq changes nothing.
	Deliver(ctx context.Context, collector string, b *store.Batch) error
	// Report replaces the state of all targets of the collector.
	Report(ctx context.Context, r Report) error
	// Poll waits up to about half a minute for commands. It gives each command at least once until it is answered by a
	// CaptureUpdate: the collector must know a capture's id that it works on already. After a Hello it also gives the
	// captures that were under way: the collector looks for what became of them.
	Poll(ctx context.Context, collector string) ([]Command, error)
	// RequestCaptures asks for captures as a person would, for a schedule: the server makes them after the same checks,
	// and their commands come through Poll. ErrInvalid: refused, the text says why (no load, cool-down, quota).
	RequestCaptures(ctx context.Context, collector string, q CaptureRequest) ([]store.Capture, error)
	// Update tells how a capture goes.
	Update(ctx context.Context, collector string, u CaptureUpdate) error
	// PutTrace stores a trace file. sha256 is lower-case hex of the size bytes of r; the server checks it. A broken
	// transfer is resumed by a second call with the same sha256: open is called with the offset to go on from.
	PutTrace(ctx context.Context, f TraceFile) (id string, err error)
}

// Hello opens a collector's session.
type Hello struct {
	Collector string // name, unique at the server: host name unless configured
	Version   string
	Host      string
	Started   time.Time
}

// Welcome is the server's answer.
type Welcome struct {
	Positions []store.Position
	Seq       uint64 // of the last batch stored
}

// Report is the state of a collector's targets at a time.
type Report struct {
	Collector string
	Time      time.Time
	Targets   []Target
	Spooled   int64 // bytes waiting for the server
	Problems  []Problem
	// Deployments are what the collector's configuration says about deployments as a whole.
	Deployments []DeploymentFacts `json:",omitempty"`
}

// DeploymentFacts is what a configuration says about a deployment as a whole. What a person has said on the server counts
// more: it is taken over only where nobody else has said anything since.
type DeploymentFacts struct {
	Name       string
	GPUs       int     // cards of the whole deployment, 0 not told
	PeakTFLOPs float64 // one card's dense BF16 peak in TFLOP/s, 0 not told
}

// Health is a target's state in a word.
type Health string

// The states of a target.
const (
	Up      Health = "up"      // gave something within the expected time
	Quiet   Health = "quiet"   // reachable, but nothing new for much longer than usual
	Down    Health = "down"    // cannot be read
	Waiting Health = "waiting" // not tried yet, or the file does not exist yet
)

// Target is one source of statistics.
type Target struct {
	Name        string // as configured: a path, an address, "gpu"
	Source      string // "log", "metrics", "iterations", "gpu", "profile"
	Kind        string // engine kind, or "gpu"
	Engines     []store.EngineKey
	Health      Health
	Last        time.Time     // last line or scrape that gave something
	Lag         time.Duration // how far reading is behind: age of the oldest unread line as far as known
	Lines       int64         // lines or scrapes read
	Samples     int64         // values
	Unreadable  int64         // lines that look like the engine's and could not be read
	Problem     *Problem      // why it is not Up, or what else is wrong
	Notes       []Problem     `json:",omitempty"` // what the engine itself cannot tell, and the like: the target is well all the same
	Missing     []string      // metric keys that this source does not expose, each with its reason after ": "
	Unknown     []string      // names of series that have no definition here
	CanCapture  bool          // traces can be captured through this target
	ProfileAddr string        // host:port of the engine's profile interface, "" unknown
	OutputDir   string        // folder on the engine's node where traces go, "" the engine's default
}

// Problem is an error for a person. Its texts are untrusted, as names and errors of other machines are in them.
type Problem struct {
	Time  time.Time
	What  string // what happened, with the place, in English
	Hint  string // what to do, in English
	Count int64  // how often in a row
	// Code names the kind of problem and stays the same over versions; Args fill the {0}, {1} … of its texts, so that a
	// page can tell it in another language. A code that a page does not know is told by What and Hint.
	Code string   `json:",omitempty"`
	Args []string `json:",omitempty"`
	// WhatZH and HintZH are Chinese texts of problems without a code of their own.
	WhatZH, HintZH string `json:",omitempty"`
}

// Command is something the server wants done.
type Command struct {
	Capture *store.Capture // start this capture
	Cancel  int64          // id of a capture to cancel, 0 none
}

// CaptureRequest asks for traces of a deployment's engines; also the body of POST /api/captures.
type CaptureRequest struct {
	Deployment string   `json:"deployment"`
	Engines    []string `json:"engines"` // names; none: all that can be captured
	Steps      int      `json:"steps"`   // 0: 20; at most 50
	OutputDir  string   `json:"output_dir"`
	Note       string   `json:"note"`
	Force      bool     `json:"force"` // although the engines are idle
	By         string   `json:"-"`     // who asks; the server's own word for it
}

// CaptureUpdate is the new state of a capture.
type CaptureUpdate struct{ Capture store.Capture }

// TraceFile is a trace to store.
type TraceFile struct {
	Capture int64 // 0: not of a capture
	Meta    store.Meta
	Size    int64
	SHA256  string
	Open    func(offset int64) (io.ReadCloser, error)
}
