// Package trace reads profiler traces in the Chrome trace-event JSON layout that
// Kineto (the PyTorch profiler) writes, and tells what they say about an inference
// engine: phases, batch shapes, steps, GPU work.
//
// The way of the data:
//
//	bytes → Reader → Partial → Merge → Analyze → Summary → JSON
//
// A [Reader] takes bytes in chunks of any size and makes one pass over them. It keeps
// three things: counts that always cover the whole file, rows (annotations, launches,
// GPU work: what the analysis joins) and columns (every other slice). What it leaves
// behind is a [Partial], and a file may be read by several readers on several byte
// ranges: [Merge] of their partials, in file order, equals the partial of one reader.
// [Analyze] turns a partial into a [Summary], whose JSON has the same bytes whether it
// was made natively or in a browser.
//
// Broken input is normal input. One bad event never costs the file: the reader repairs
// what it can, gives up what it cannot, goes on at the next event, and counts both with
// the first byte offset of each kind (see [Health]).
//
// The package is also compiled to WASM, so it imports little: parts of the standard library
// without fmt and encoding/json, which would double the module, its own [gunzip], and in
// native builds klauspost/compress for zstd.
package trace
