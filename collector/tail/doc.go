// Package tail reads log files to the last complete line exactly once, through
// rotations, restarts and crashes.
//
// A file is told by what is in it: a fingerprint of its first bytes and of the
// bytes before the place up to which it has been read. Device and inode alone
// would not do, since copytruncate keeps the inode and file systems give the
// numbers of deleted files to new ones. The contents of a path between two
// rotations are called a generation here. A generation is followed to its end
// wherever rotation has put it, then come those that were never seen, from the
// oldest to the newest, then the path's present one:
//
//	x.log.2   x.log.1   x.log
//	└ read up to here at the last stop
//	   └──────┴─────────┴──── what Next gives, in this order
//
// Everything needed to go on is in a position: a short text that is stored in
// one transaction with what the lines before it said. The file system is polled;
// there is no other way that works on network mounts.
//
// What is lost: lines between a copy and its truncation, generations that were
// deleted or compressed by something other than gzip, zstd or bzip2 before they were read, and
// lines longer than the limit. The caller sees that by the lines' own numbering.
package tail
