package ledger

import "time"

// Section is the kind of a log line, as it stands between the brackets.
type Section string

// The sections of the engine's log.
const (
	Stats Section = "stats"
	CPU   Section = "cpu"
	CUDA  Section = "cuda"
	NCCL  Section = "nccl_memory"
)

// Unavailable is the key of the text that an [nccl_memory] line has instead of figures
// when NCCL could not be asked.
const Unavailable = "stats_unavailable"

// Line is one log line of the engine: what it said about one step.
type Line struct {
	Rank, GPU int
	Step      int64
	Section   Section
	Values    []Value // numbers, distinct by key and label
	Texts     []Text  // fields that are not numbers, distinct by key

	// Stamp is the time found in front of the line; the writer does not write it.
	Stamp Stamp
}

// Value is one number of a line. Times are in ms, memory in GiB, shares between 0 and 1;
// counts are exact up to 2⁵³.
type Value struct {
	Key   string  // a key of the metric table, or the name of a field that the table doesn't know
	Label string  // tells series of one metric apart: draft position "1", timer, NCCL group; else empty
	V     float64 // may be NaN or infinite where the line says so
	Unit  string  // as written, only for keys that the table doesn't know
}

// Text is a field whose value is not a number.
type Text struct{ Key, V string }

// Stamp is a time from a line's prefix and what is known about it. The zero Stamp, whose
// Time is zero, means that there was none: then the time of arrival is the time.
type Stamp struct {
	Time      time.Time // in UTC, as if the prefix were UTC where the zone is unknown; year 0 where that is
	ZoneKnown bool
	YearKnown bool
}

// Value returns the number under a key and label.
func (l *Line) Value(key, label string) (v float64, ok bool) {
	for i := range l.Values {
		if l.Values[i].Key == key && l.Values[i].Label == label {
			return l.Values[i].V, true
		}
	}
	return 0, false
}

// Text returns the text under a key.
func (l *Line) Text(key string) (v string, ok bool) {
	for _, t := range l.Texts {
		if t.Key == key {
			return t.V, true
		}
	}
	return "", false
}
