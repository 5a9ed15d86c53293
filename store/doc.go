// Package store says what Stepscope keeps and what a place to keep it must be
// able to do. It knows no database: each backend is a folder of its own
// (store/sqlite), and store/storetest holds the conformance suite that every
// backend passes.
//
// A kept trace is its bytes exactly as they came, plus a name, a deployment
// label and a note. Its identity is the SHA-256 of those bytes, so keeping the
// same file twice keeps one copy. Bytes are streamed in both directions: a
// backend holds a few MB per transfer in memory, whatever the trace's size.
//
// Statistics are rows of numbers, one a log line or scrape, that collectors
// deliver in numbered batches together with how far they have read: all of a
// batch is stored, once, or nothing. They are read as series of an engine, whole
// or as buckets that keep the extremes. Package store/chunk is the form in which
// older ones rest.
package store
