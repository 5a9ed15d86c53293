package store

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart. Backends wrap them with the place and the
// reason; test with errors.Is.
var (
	// ErrNotFound: no trace, upload or blob has this id (any more).
	ErrNotFound = errors.New("not found")
	// ErrNotTrace: the first bytes are neither JSON nor gzip nor zstd.
	ErrNotTrace = errors.New("not a trace")
	// ErrTooLarge: one file is over its limit; always inside a *LimitError.
	ErrTooLarge = errors.New("too large")
	// ErrQuota: all kept bytes together are over their limit; always inside a
	// *LimitError.
	ErrQuota = errors.New("storage quota exceeded")
	// ErrTooMany: too many uploads were begun and not finished.
	ErrTooMany = errors.New("too many unfinished uploads")
	// ErrOffset: an upload goes on at another byte than the caller thinks;
	// always inside an *OffsetError.
	ErrOffset = errors.New("wrong upload offset")
	// ErrInterrupted: the source of the bytes failed before its end. What came
	// of a resumable upload is kept.
	ErrInterrupted = errors.New("transfer interrupted")
	// ErrBusy: somebody else holds the upload or the database; try again.
	ErrBusy = errors.New("busy")
	// ErrInUse: the bytes belong to a trace and cannot be removed alone.
	ErrInUse = errors.New("in use by a trace")
	// ErrDiskFull: the disk (not the quota) has no space left; inside a
	// *SpaceError where the file system told how much there is.
	ErrDiskFull = errors.New("disk full")
	// ErrCorrupt: what is stored contradicts itself or is no database of ours.
	ErrCorrupt = errors.New("storage damaged")
	// ErrInvalid: an argument could never be right, such as a malformed cursor.
	ErrInvalid = errors.New("invalid argument")
)

// LimitError says which limit a file ran into. Err is ErrTooLarge or ErrQuota.
type LimitError struct {
	Err   error
	Limit int64 // the limit, bytes
	Used  int64 // bytes stored already (ErrQuota), or 0
	Size  int64 // bytes this file has or would have, as far as known
}

// Error names the limit and what stands against it, in bytes.
func (e *LimitError) Error() string {
	if errors.Is(e.Err, ErrQuota) {
		return fmt.Sprintf("%v: %d of %d bytes are in use and the file needs %d", e.Err, e.Used, e.Limit, e.Size)
	}
	return fmt.Sprintf("%v: the limit is %d bytes a file", e.Err, e.Limit)
}

// Unwrap gives the sentinel.
func (e *LimitError) Unwrap() error { return e.Err }

// SpaceError says what a disk has and what a file needs. It is an ErrDiskFull.
type SpaceError struct {
	Free int64 // bytes free on the disk
	Need int64 // bytes that must be free to go on, the store's own reserve among them
}

// Error names both, in bytes.
func (e *SpaceError) Error() string {
	return fmt.Sprintf("%v: %d bytes are free, %d must be", ErrDiskFull, e.Free, e.Need)
}

// Unwrap gives ErrDiskFull.
func (e *SpaceError) Unwrap() error { return ErrDiskFull }

// OffsetError says where an upload really stands. It is an ErrOffset.
type OffsetError struct {
	Have int64 // bytes stored: the offset at which the upload goes on
	Got  int64 // the offset the caller gave
}

// Error names both offsets, in bytes.
func (e *OffsetError) Error() string {
	return fmt.Sprintf("%v: got %d, the upload goes on at %d", ErrOffset, e.Got, e.Have)
}

// Unwrap gives ErrOffset.
func (e *OffsetError) Unwrap() error { return ErrOffset }
