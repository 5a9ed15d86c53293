// Package source is what a collector's manager and the readers of engines and
// cards know of each other: a Source runs on its own and hands batches to a
// Sink. Readers live in packages of their own (collector/logs, collector/scrape,
// collector/gpu) and import nothing of the manager.
package source

import (
	"context"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// Source reads one target.
type Source interface {
	// Run reads until ctx ends, and then returns nil. A target that cannot be reached is not an error: Run goes on trying
	// and says so in Targets. Any other end, with or without an error, makes the manager start Run again after a pause,
	// unless it wraps Ended.
	Run(ctx context.Context, sink Sink) error
	// Targets is the state of what is read, one entry for each file, address or device that a person would look for. It
	// may be called at any time, also before and after Run.
	Targets() []wire.Target
}

// Sink takes what sources read.
type Sink interface {
	// Put adds a batch (its Seq is ignored) to the next transaction, the whole of it to the same one: rows with the
	// positions that say that they have been read. It blocks while the server does not keep up, and fails only when ctx
	// ends; then nothing of b was taken. After nil the batch and its slices belong to the sink, but for Layout.Columns:
	// those are never changed by anybody, and rows of one layout should share one slice, which makes merging cheap.
	Put(ctx context.Context, b *store.Batch) error
	// Position returns the last value put, now or before the collector's start, under a name; empty if none.
	Position(name string) string
}

// Ended is the error of a source that has come to its natural end, such as the end of standard input.
var Ended = ended{}

type ended struct{}

func (ended) Error() string { return "the source has ended" }
