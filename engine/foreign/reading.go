package foreign

import (
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Reading is what one scrape, one drained list or one log line said about one engine.
type Reading struct {
	// Engine tells the engines behind one address apart: "engine0", "engine1" …; empty
	// where there is one.
	Engine  string
	Section ledger.Section
	Time    time.Time // zero: the time of arrival
	Stamp   ledger.Stamp
	Step    int64 // the engine's iteration, −1 without
	// Prompt and Decode say of which kind of step the reading tells; both false: of both.
	Prompt, Decode bool
	Values         []ledger.Value // distinct by key and label; absent values are left out
}

// Value returns the number under a key and label.
func (r *Reading) Value(key, label string) (float64, bool) {
	for _, v := range r.Values {
		if v.Key == key && v.Label == label {
			return v.V, true
		}
	}
	return 0, false
}

// EventKind is what happened to an engine's figures between two readings.
type EventKind uint8

// The kinds. Reset: counters fell or the server's start time changed, so the interval has
// no rates. Lost: iterations that were not in any drained list.
const (
	Reset EventKind = iota
	Lost
)

// Event is something that happened between two readings.
type Event struct {
	Engine           string
	Kind             EventKind
	FromStep, ToStep int64 // of Lost: the first and last iteration missing; else −1
	Count            int64 // of Lost: how many
	Detail           string
}

// Missing is a metric that an engine of this kind may have and that was not there.
type Missing struct {
	Key    string
	Reason ledger.Words
}

// Result is what one scrape or drained list gave.
type Result struct {
	Readings []Reading
	Events   []Event
	Missing  []Missing
	Unknown  []string // names of series without a definition, sorted
	Info     Info
	// Series counts what was read; Skipped what could not be read or was beyond a limit.
	Series, Skipped int
	// Problem is what is wrong with the answer, nil when nothing is.
	Problem *Problem
}

// Info is what an engine says about itself. Texts are untrusted; empty is not known.
type Info struct {
	Model string
	Role  string // "mixed", "prompt" or "decode"
}

// Problem is an error for a person: what happened and what to do next.
type Problem struct{ What, Next ledger.Words }
