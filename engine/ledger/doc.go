// Package ledger is the engine's account of its own steps: what StatsLogger keeps,
// computes and prints.
//
//	Step → Ledger (six windows) → Line (values) → AppendLine → text → Parse → Line
//
// A [Ledger] takes one [Step] per engine step and says when a log line is due. Windows
// are trimmed by step age, never by time, so that a pause empties nothing: throughput
// figures divide by the time up to now and fall during a pause, MFU divides by the time
// between its samples and does not.
//
// A [Line] is a list of values by metric key. The same layout (see layout.go) drives the
// writer and the parser, so neither knows a field that the other does not. What a key
// means, and how it may be compared and summed up, is said once in [Metrics]; whatever
// shows a metric reads that table.
//
// Time is always passed in. The package does no I/O and imports the standard library
// only. Where the formulas' source leaves a division by zero open, the figure is 0.
package ledger
