// Package logs turns an engine's log into rows and events: it follows the files
// of a target (package tail), reads their lines (engine/ledger), and notices by
// the steps' numbers and times what is missing, began anew or cannot be.
//
//	files ─ tail ─▶ lines ─ ledger.Parse ─▶ Mapper ─▶ rows, events ─▶ Sink
//	                                          └ per engine: last steps, times
//
// What a Mapper knows of an engine goes into the same transaction as the rows,
// so gaps are found across restarts of the collector as well.
package logs
