package ledger

import (
	"bytes"
	"fmt"
	"strings"
)

// Limits of the parser. Lines come from files that anybody may write to; each limit
// bounds what one line can cost.
const (
	// MaxLineBytes is the longest line that is read. A [cpu] line has some 60 bytes per timer.
	MaxLineBytes = 256 << 10
	// MaxValues is the most numbers and texts kept of one line.
	MaxValues = 2048
	// MaxNameBytes is the longest name of a field, timer or group.
	MaxNameBytes = 256
	// MaxTextBytes is the longest text of a field; the rest is cut off.
	MaxTextBytes = 4096
	// maxHeads is the most engine lines that one line of input is searched for.
	maxHeads = 16
	// maxFaults is how many fields of one line may be faulty; then the rest is not read.
	maxFaults = 64
	// maxWraps is how many layers of JSON are opened.
	maxWraps = 3
)

// Reason says why a line that looks like the engine's could not be read.
type Reason string

// The reasons. From BadValue on they concern a field: the line's other fields were read.
const (
	TooLong        Reason = "too_long"
	HeadDamaged    Reason = "head_damaged"
	HeadMissing    Reason = "head_missing"
	UnknownSection Reason = "unknown_section"
	Cut            Reason = "cut"
	BadValue       Reason = "bad_value"
	Duplicate      Reason = "duplicate"
	TooManyValues  Reason = "too_many_values"
	NameTooLong    Reason = "name_too_long"
)

var reasonWords = map[Reason]string{
	TooLong:        "the line is longer than the limit; log fewer timers",
	HeadDamaged:    "RANK, GPU, step and section could not be read; look whether several processes write to one file",
	HeadMissing:    "the line's beginning is missing; look for a length limit in the logger, or a rotated file",
	UnknownSection: "the section is not one of stats, cpu, cuda, nccl_memory; the engine may be newer than this program",
	Cut:            "the line ends in the middle; look for a length limit in the logger, or several processes writing to one file",
	BadValue:       "a field that should hold a number does not",
	Duplicate:      "a field stands there twice; the first was kept",
	TooManyValues:  "the line has more fields than the limit; the rest was left out",
	NameTooLong:    "a name is longer than the limit; its field was left out",
}

// ParseError is why a line that looks like the engine's could not be read in full.
type ParseError struct {
	Reason Reason
	Near   string // the beginning of the text at fault, or empty
}

func (e *ParseError) Error() string {
	if e.Near == "" {
		return "log line: " + reasonWords[e.Reason]
	}
	return fmt.Sprintf("log line at %q: %s", e.Near, reasonWords[e.Reason])
}

// fault makes an error, with at most some words of the text.
func fault(r Reason, near string) *ParseError { return &ParseError{r, cut(near, 48)} }

// Result is one engine line found by Parse.
type Result struct {
	Line Line
	// Err is nil when everything was read. Otherwise Line holds what was read before and
	// beside the fault: complete fields only, and nothing at all (Rank and GPU are −1)
	// where the head could not be read.
	Err *ParseError
}

// Parse appends what one line of a log says to dst: nothing when the line is not the
// engine's, one result when it is, several when lines of several writers were torn into
// one. Whatever stands before RANK is a prefix; its time goes to [Line.Stamp]. JSON
// around the line is opened and ANSI colours are removed. raw is not kept.
func Parse(dst []Result, raw []byte) []Result {
	long := len(raw) > MaxLineBytes
	if long {
		raw = raw[:MaxLineBytes]
	}
	if !bytes.Contains(raw, []byte("RANK ")) && !bytes.Contains(raw, []byte(" | ")) && !bytes.Contains(raw, []byte("] (")) {
		return dst
	}
	from := len(dst)
	dst = parseText(dst, string(raw), Stamp{}, 0)
	if long && len(dst) > from {
		dst = append(dst[:from], Result{Line{Rank: -1, GPU: -1, Stamp: dst[from].Line.Stamp}, fault(TooLong, "")})
	}
	return dst
}

// parseText reads a line from which depth layers of wrapping were taken; outer is the
// time found in those.
func parseText(dst []Result, s string, outer Stamp, depth int) []Result {
	s = plainText(stripANSI(s))
	if open := strings.IndexByte(s, '{'); open >= 0 && depth < maxWraps {
		if rank := strings.Index(s, "RANK "); rank < 0 || open < rank {
			if inner, stamp, ok := unwrap(s[open:], hasRank); ok {
				return parseText(dst, inner, better(better(outer, findStamp(s[:open])), stamp), depth+1)
			}
		}
	}
	heads := findHeads(s)
	if len(heads) == 0 {
		if why := stray(s); why != nil {
			dst = append(dst, Result{Line{Rank: -1, GPU: -1, Stamp: better(outer, findStamp(s))}, why})
		}
		return dst
	}
	for i, h := range heads {
		end, stamp := len(s), Stamp{}
		if i == 0 {
			stamp = findStamp(s[:h.at])
		} else { // its prefix is the end of the line that it was torn into
			stamp = scanStamps(s[max(heads[i-1].end, h.at-64):h.at], true)
		}
		if i+1 < len(heads) {
			end = heads[i+1].at
		}
		r := Result{Line: h.line, Err: h.err}
		r.Line.Stamp = better(outer, stamp)
		if r.Err == nil {
			b := body{line: &r.Line}
			b.parse(s[h.end:end])
			r.Err = b.err
		}
		dst = append(dst, r)
	}
	return dst
}

func hasRank(s string) bool { return strings.Contains(s, "RANK ") }

// stray tells a piece of an engine line without its head from a foreign line.
func stray(s string) *ParseError {
	for _, section := range [...]Section{Stats, CPU, CUDA, NCCL} {
		if i := strings.Index(s, "["+string(section)+"] ("); i >= 0 {
			return fault(HeadDamaged, s[:i])
		}
	}
	// Three fields of ours between bars are no accident.
	const enough, among = 3, 64
	line := Line{Section: Stats}
	b := body{line: &line}
	rest, more := s, true
	for i := 0; more && i < among; i++ {
		var field string
		field, rest, more = strings.Cut(rest, " | ")
		if strings.Contains(field, "ms/mean") && strings.Contains(field, "calls/") {
			b.known++
		} else if len(field) <= MaxNameBytes {
			b.field(field)
		}
		if b.known >= enough {
			return fault(HeadMissing, s)
		}
	}
	return nil
}
