package sim

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// logQueue is what the log threads of a fleet have still to write, in the order of the time at which they will.
type logQueue struct{ entries []logEntry }

type logEntry struct {
	due int64 // ns since the fleet's start
	do  func() error
}

// add queues something; of equal times the first added is the first done.
func (q *logQueue) add(due int64, do func() error) {
	i := len(q.entries)
	for i > 0 && q.entries[i-1].due > due {
		i--
	}
	q.entries = slices.Insert(q.entries, i, logEntry{due, do})
}

// drain does what is due by now.
func (q *logQueue) drain(now int64) error {
	n := 0
	for n < len(q.entries) && q.entries[n].due <= now {
		if err := q.entries[n].do(); err != nil {
			return err
		}
		n++
	}
	q.entries = slices.Delete(q.entries, 0, n)
	return nil
}

// appendLogLine appends a ledger line as a logging handler writes it.
func appendLogLine(dst []byte, prefix string, at time.Time, line *ledger.Line) ([]byte, error) {
	switch prefix {
	case prefixTime:
		dst = at.AppendFormat(dst, "2006-01-02 15:04:05,000 ")
		dst = append(dst, "INFO stats_logger: "...)
	case prefixJSON:
		text, err := json.Marshal(struct {
			Time    string `json:"time"`
			Level   string `json:"level"`
			Message string `json:"message"`
		}{at.Format("2006-01-02T15:04:05.000Z07:00"), "INFO", string(ledger.AppendLine(nil, line))})
		if err != nil {
			return dst, err
		}
		return append(append(dst, text...), '\n'), nil
	}
	return append(ledger.AppendLine(dst, line), '\n'), nil
}
