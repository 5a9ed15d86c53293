package kineto

import (
	"errors"
	"io"
)

// ErrOrder says that the parts of a document were written in an impossible order.
var ErrOrder = errors.New("kineto: Header comes first and once, then events, then Footer once")

// flushAt is the buffer's fill at which it goes to the underlying writer.
const flushAt = 256 << 10

// Span is a named stretch of time on one row: a process and a thread on the CPU's side, a device and a stream on the
// GPU's. Times are nanoseconds on the trace's own clock (see [Footer.BaseTime]).
type Span struct {
	Name       string
	PID, TID   int64
	Start, Dur int64
}

// Writer writes one trace in the layout of libkineto's ChromeTraceLogger: the same keys in the same order, the same
// blanks and line breaks, times in microseconds with three decimals. It streams: its memory does not grow with the trace.
//
// Call Header, then events in any order, then Footer, then Close. Errors of the underlying writer stick and come out of
// Close. A Writer is not safe for concurrent use.
type Writer struct {
	dst    io.Writer
	buf    []byte
	err    error
	done   int64 // bytes handed to dst
	events int64
	counts map[string]*int64 // slices by category
	last   string            // the category counted last and its counter: a run of one category costs no map access
	tally  *int64
	sms    int64
	open   bool
	closed bool
}

// NewWriter returns a Writer on dst. It buffers; dst needs no buffer of its own.
func NewWriter(dst io.Writer) *Writer {
	return &Writer{dst: dst, buf: make([]byte, 0, flushAt+(16<<10)), counts: make(map[string]*int64), sms: 1}
}

// Bytes is the length of what was written so far.
func (w *Writer) Bytes() int64 { return w.done + int64(len(w.buf)) }

// Events is the number of elements of traceEvents so far, whatever their kind.
func (w *Writer) Events() int64 { return w.events }

// Slices returns the number of complete slices (ph X) so far by category.
func (w *Writer) Slices() map[string]int64 {
	m := make(map[string]int64, len(w.counts))
	for cat, n := range w.counts {
		m[cat] = *n
	}
	return m
}

// Close hands the rest to the underlying writer, which it does not close, and returns the first error met.
func (w *Writer) Close() error {
	w.flush()
	if w.err == nil && !w.closed {
		w.err = ErrOrder
	}
	return w.err
}

func (w *Writer) flush() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.dst.Write(w.buf)
	}
	w.done += int64(len(w.buf))
	w.buf = w.buf[:0]
}

// begin opens an event with the text that all events of its kind share.
func (w *Writer) begin(head string) {
	if !w.open && w.err == nil {
		w.err = ErrOrder
	}
	if len(w.buf) >= flushAt {
		w.flush()
	}
	if w.events > 0 {
		w.buf = append(w.buf, ',')
	}
	w.events++
	w.buf = append(w.buf, head...)
}

func (w *Writer) count(cat string) {
	if cat != w.last {
		w.last = cat
		if w.tally = w.counts[cat]; w.tally == nil {
			w.tally = new(int64)
			w.counts[cat] = w.tally
		}
	}
	*w.tally++
}

// slice opens a complete slice up to and including its duration.
func (w *Writer) slice(cat, head string, s *Span) {
	w.count(cat)
	w.begin(head)
	b := appendText(w.buf, s.Name)
	b = append(b, `", "pid": `...)
	b = appendInt(b, s.PID)
	b = append(b, `, "tid": `...)
	b = appendInt(b, s.TID)
	b = append(b, ",\n    \"ts\": "...)
	b = appendMicros(b, s.Start)
	b = append(b, `, "dur": `...)
	w.buf = appendMicros(b, s.Dur)
}

// args opens a slice's arguments; a zero external id is left out, as Kineto does, its blanks are not.
func (w *Writer) args(external uint64) {
	b := append(w.buf, ",\n    \"args\": {\n      "...)
	if external != 0 {
		b = append(b, `"External id": `...)
		b = appendUint(b, external)
		b = append(b, ',')
	}
	w.buf = append(b, "      "...)
}

const (
	endArgs  = "\n    }\n  }"
	endEvent = "\n  }"
)
