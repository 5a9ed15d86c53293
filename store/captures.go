package store

import (
	"context"
	"time"
)

// CaptureState is how far a capture is.
type CaptureState string

// The states, in the order in which a capture passes them; it ends in one of the last three.
const (
	Queued    CaptureState = "queued"    // at the server, or waiting for another capture of the engine
	Asked     CaptureState = "asked"     // the engine has the request
	PickedUp  CaptureState = "picked_up" // known to record (where the engine tells)
	Captured  CaptureState = "captured"  // the engine says the file is there
	Found     CaptureState = "found"     // the file is complete and readable
	Stored    CaptureState = "stored"
	Failed    CaptureState = "failed"
	Cancelled CaptureState = "cancelled"
)

// Done says whether nothing more will happen.
func (s CaptureState) Done() bool { return s == Stored || s == Failed || s == Cancelled }

// Capture is one request for a trace of one engine, and its audit row.
type Capture struct {
	ID        int64
	Group     string // the same for all ranks of one capture
	Engine    EngineKey
	Collector string // who carries it out
	By        string // who asked: "page 127.0.0.1", "cli", "api 10.0.0.3", "schedule"
	Steps     int
	OutputDir string // on the engine's node; "" the engine's default
	State     CaptureState
	Times     map[CaptureState]time.Time
	Warning   string // such as an idle engine
	Error     string // why it failed, with the place
	Hint      string // what to do
	Path      string // of the file on the engine's node; untrusted
	Bytes     int64  // of the file
	TraceID   string // of the stored trace
	// More are the traces of the engine's other ranks: an API server's capture gives a file for each of them.
	More []string
	Note string // what the person who asked wrote; goes into the traces' notes
	// Told is what Warning, Error and Hint say, for other languages than English.
	Told Told `json:",omitzero"`
}

// CaptureQuery selects captures, newest first.
type CaptureQuery struct {
	Deployment string // "" all
	Group      string // "" all
	Active     bool   // only those not done
	Limit      int    // 0 is DefaultPage
	Before     int64  // ID to go on below; 0 from the newest
}

// Captures keeps the record of captures: rows are never removed by hand, they are the audit.
type Captures interface {
	CreateCapture(ctx context.Context, c Capture) (Capture, error) // gives the ID
	// UpdateCapture replaces a capture that isn't done yet; times once set stay. ErrInvalid when it is done.
	UpdateCapture(ctx context.Context, c Capture) error
	Capture(ctx context.Context, id int64) (Capture, error)
	ListCaptures(ctx context.Context, q CaptureQuery) ([]Capture, error)
}

// Summaries keeps the computed summary of a trace, as the JSON of engine/trace.
type Summaries interface {
	PutSummary(ctx context.Context, trace string, summary []byte) error
	// Summary is ErrNotFound as long as none was computed.
	Summary(ctx context.Context, trace string) ([]byte, error)
	// Unsummarised lists live traces without a summary, oldest first.
	Unsummarised(ctx context.Context, limit int) ([]string, error)
}

// Store is everything a backend keeps.
type Store interface {
	Traces
	Samples
	Captures
	Summaries
	// Backup writes a consistent copy to a new file while all goes on.
	Backup(ctx context.Context, path string) error
}
