// Package spool keeps a collector's batches on disk until its server has them.
// Deliver returns as soon as a batch is safe here; a loop forwards in order and
// removes what the server acknowledged. So a server may be away for hours while
// logs rotate and scrapes go on.
//
// A spool is a folder of segments, numbered files of records that are written
// once and never changed in place:
//
//	record  magic "SSq1" · kind u8 · level u8 · seq u64 · length u32 · CRC-32C u32 · payload
//
// Integers are little endian; the CRC covers everything else of the record. The
// payload is an S2-packed batch by wire.AppendBatch. Every segment begins with a
// snapshot record: the newest position of every source when it was begun, so
// that a collector goes on reading at the right place even if the server is away
// when it starts and older segments are gone. A segment is made under another
// name, synced and renamed, so it has its snapshot or doesn't exist; records are
// synced before they count. What a crash tore is at a segment's end and was never
// acknowledged.
//
// When the spool is full, the oldest rows are thinned: of each engine and kind
// of row every second goes, and an event says how many samples that were.
// Events and positions always stay. Only when nothing can be thinned any more,
// Append fails, and the collector waits with reading: what is in log files is
// safe there.
package spool
