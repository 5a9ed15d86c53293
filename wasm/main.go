// Command wasm is the trace reader for browsers: the glue between JavaScript and
// engine/trace, and nothing else. A worker fills the module's memory with a file's bytes
// and calls the exports below; results come back as JSON or as serialised partials in an
// out buffer. Exported functions cost a fraction of a microsecond a call, syscall/js
// functions a hundred times that, so there are none of the latter.
//
// Pointers are offsets into the module's memory and valid until the next call. Byte offsets
// in files are float64, because JavaScript's numbers are: exact to 2^53.
package main

import (
	"unsafe"

	"github.com/stepscope/stepscope/engine/trace"
)

// source is what feeds a reader: a whole file however it is packed, or a plain byte range.
type source interface {
	Space(n int) []byte
	Commit(n int) bool
	Close() error
}

var (
	src    source
	reader *trace.Reader
	fail   error
	closed bool

	out     []byte
	scratch []byte
	merged  *trace.Partial // what ss_merge joined so far, from range 0 on
	nextN   int64
)

func main() { select {} } // the exports live as long as main

func pointer(b []byte) int32 { return int32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func give(b []byte) int32 {
	out = b
	return int32(len(b))
}

// ssOpen begins a new read. See NewRangeReader for start, end and root; caps are numbers of
// rows, 0 for the default.
//
//go:wasmexport ss_open
func ssOpen(start, end float64, root int32, columnCap, rowCap float64, nextn int32) {
	o := trace.Options{Columns: int(columnCap), Rows: int(rowCap)}
	if o.Columns == 0 {
		o.Columns = trace.DefaultColumns
	}
	fail, closed, merged, nextN = nil, false, nil, int64(nextn)
	if start == 0 && end >= trace.NoEnd {
		p := trace.NewPush(o)
		src, reader = p, p.Reader
		return
	}
	reader = trace.NewRangeReader(o, int64(start), int64(min(end, trace.NoEnd)), byte(root))
	src = reader
}

// ssSpace returns where n bytes of the file may be written.
//
//go:wasmexport ss_space
func ssSpace(n int32) int32 { return pointer(src.Space(int(n))) }

const (
	wantsMore = 0
	isDone    = 1
	failed    = 2
)

// ssCommit reads the n bytes that were written: 0 wants more, 1 done, 2 failed.
//
//go:wasmexport ss_commit
func ssCommit(n int32) int32 {
	if src.Commit(int(n)) {
		return wantsMore
	}
	if reader.AtEvent() {
		return isDone
	}
	return ssEOF()
}

// ssEOF tells that the file has ended: 1 done, 2 failed.
//
//go:wasmexport ss_eof
func ssEOF() int32 {
	if !closed {
		fail, closed = src.Close(), true
	}
	if fail != nil {
		return failed
	}
	return isDone
}

//go:wasmexport ss_start
func ssStart() float64 { return float64(reader.Start()) }

//go:wasmexport ss_stop
func ssStop() float64 { return float64(reader.Stop()) }

//go:wasmexport ss_at_event
func ssAtEvent() int32 {
	if reader.AtEvent() {
		return 1
	}
	return 0
}

//go:wasmexport ss_extend
func ssExtend(end float64) { reader.Extend(int64(min(end, trace.NoEnd))) }

//go:wasmexport ss_consumed
func ssConsumed() float64 { return float64(reader.Consumed()) }

// ssPreview writes what was read so far, as JSON.
//
//go:wasmexport ss_preview
func ssPreview() int32 { return give(reader.Partial().AppendPreview(nil)) }

//go:wasmexport ss_out
func ssOut() int32 { return pointer(out) }

// ssPartial writes this range's result for another worker to merge.
//
//go:wasmexport ss_partial
func ssPartial() int32 { return give(reader.Partial().AppendBinary(nil)) }

//go:wasmexport ss_merge_space
func ssMergeSpace(n int32) int32 {
	scratch = make([]byte, n)
	return pointer(scratch)
}

// ssMerge joins the partial written at ss_merge_space, of the next range in file order, to
// this reader's own: 0 ok, 1 a table ran full and the file must be read by one reader, 2
// failed.
//
//go:wasmexport ss_merge
func ssMerge(n int32) int32 {
	q, err := trace.DecodePartial(scratch[:n])
	scratch = nil
	if err != nil {
		fail = err
		return failed
	}
	if merged == nil {
		merged = reader.Partial()
	}
	merged = trace.Merge(merged, q)
	if q.Capped() || merged.Capped() {
		return 1
	}
	return 0
}

// ssSummary writes the summary's JSON. The file's name stands at the place that the last
// ss_space returned, fileBytes is the file's size.
//
//go:wasmexport ss_summary
func ssSummary(nameLen int32, fileBytes float64) int32 {
	p := merged
	if p == nil {
		p = reader.Partial()
	}
	name := string(src.Space(int(nameLen))[:nameLen])
	p.SetFileBytes(int64(fileBytes))
	return give(trace.Analyze(p, trace.AnalyzeOptions{Name: name, NextN: nextN}).AppendJSON(nil))
}

// ssSlices writes the single slices behind a row of the summary, as JSON: the longest limit
// of those with the name that stands at the place that the last ss_space returned, of GPU
// work or of annotations.
//
//go:wasmexport ss_slices
func ssSlices(nameLen, gpu, limit int32) int32 {
	p := merged
	if p == nil {
		p = reader.Partial()
	}
	name := string(src.Space(int(nameLen))[:nameLen])
	return give(trace.AppendSlices(nil, p, trace.SliceQuery{Name: name, GPU: gpu != 0, Limit: int(limit)}))
}

// ssColumns writes how many slices this worker keeps in columns, as JSON.
//
//go:wasmexport ss_columns
func ssColumns() int32 { return give(reader.Partial().AppendColumns(nil)) }

// ssError writes the last failure as JSON: code, error, hint, near, offset.
//
//go:wasmexport ss_error
func ssError() int32 { return give(trace.AppendError(nil, fail)) }
