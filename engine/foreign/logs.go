package foreign

import (
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// LineState is what a log line was.
type LineState uint8

// The states. Other lines are not statistics; Damaged ones begin like some and could not
// be read.
const (
	OtherLine LineState = iota
	StatsLine
	DamagedLine
)

// LogReader reads the log lines of one file or stream of an engine. It keeps what a line
// needs of those before it, and is not safe for concurrent use.
type LogReader struct {
	kind    string
	several bool // more than one engine speaks in this log
	first   string

	prefills map[string]*prefillRing // SGLang: by engine
	last     map[string]iterated     // TensorRT-LLM: by rank
}

// NewLogReader begins a log of a kind.
func NewLogReader(kind string) *LogReader {
	return &LogReader{kind: kind, prefills: map[string]*prefillRing{}, last: map[string]iterated{}}
}

// logMarks are what the statistics lines of each kind contain.
var logMarks = map[string][]string{
	VLLM:        {"throughput: ", "SpecDecoding metrics: ", "MFU: ", "Iteration("},
	SGLang:      {"Prefill batch", "Decode batch"},
	TensorRTLLM: {"iter = "},
}

// Line reads one line. A TensorRT-LLM line tells of two iterations and so may give two
// readings; all others give one or none.
func (l *LogReader) Line(raw []byte) ([]Reading, []Event, LineState) {
	if len(raw) > maxLogBytes {
		raw = raw[:maxLogBytes]
	}
	mine := func(s string) bool {
		for _, m := range logMarks[l.kind] {
			if strings.Contains(s, m) {
				return true
			}
		}
		return false
	}
	if !mine(string(raw)) {
		return nil, nil, OtherLine
	}
	line, stamp := ledger.Plain(raw, mine)
	var readings []Reading
	var events []Event
	state := OtherLine
	switch l.kind {
	case VLLM:
		readings, state = l.vllm(line, stamp)
	case SGLang:
		readings, state = l.sglang(line, stamp)
	case TensorRTLLM:
		readings, events, state = l.trtllm(line, stamp)
	}
	return readings, events, state
}

// engine gives the name of the n-th engine of this log: as long as only one speaks, it is
// the log's own.
func (l *LogReader) engine(n string) string {
	n = strings.TrimLeft(n, "0")
	if n == "" {
		n = "0"
	}
	if len(n) > 6 {
		return ""
	}
	if l.first == "" {
		l.first = n
	}
	if l.first != n || n != "0" { // who is numbered above 0 is not alone
		l.several = true
	}
	if !l.several {
		return ""
	}
	return "engine" + n
}

// putter collects the values of a reading.
type putter struct{ values []ledger.Value }

func (p *putter) put(key string, v float64, ok bool) { p.label(key, "", v, ok) }

func (p *putter) label(key, label string, v float64, ok bool) {
	if ok {
		p.values = append(p.values, one(key, label, v, true)...)
	}
}

func logReading(engine string, stamp ledger.Stamp, values []ledger.Value) Reading {
	return Reading{Engine: engine, Section: ledger.LogLines, Stamp: stamp, Step: -1, Values: values}
}
