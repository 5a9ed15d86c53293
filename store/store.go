package store

import (
	"context"
	"io"
	"time"
)

// Meta is what people say about a trace. All of it is untrusted text; Clean
// bounds it before it is stored.
type Meta struct {
	Name  string // file name, without folders
	Label string // the deployment it came from
	Note  string // free text, may have several lines
}

// Trace is one kept trace.
type Trace struct {
	ID          string // lower-case hex SHA-256 of the bytes, 64 characters
	Meta               // as first given, or as edited since
	Bytes       int64  // size as received
	ContentType string // "application/json", "application/gzip" or "application/zstd"
	Created     time.Time
	Deleted     time.Time // zero while the trace is live
}

// Live says whether the trace is there for readers, that is, not deleted.
func (t Trace) Live() bool { return t.Deleted.IsZero() }

// Patch changes those fields of a trace's Meta that are not nil.
type Patch struct {
	Name, Label, Note *string
}

// Query selects live traces, newest first.
type Query struct {
	// Text holds words; each must occur in name, label or note, whatever its
	// case. Empty finds all.
	Text string
	// Limit is the most traces of one page; 0 is DefaultPage, and MaxPage
	// bounds it.
	Limit int
	// After is Page.Next of the page before; empty for the first page.
	After string
}

// Bounds of Query.Limit, in traces.
const (
	DefaultPage = 50
	MaxPage     = 500
)

// Page is one page of a list.
type Page struct {
	Traces []Trace
	Next   string // Query.After of the page that follows; empty at the end
}

// Usage says how full the store is.
type Usage struct {
	Bytes  int64 // all stored bytes: live and deleted traces, unfinished uploads
	Quota  int64 // the most it may hold; 0 is no limit
	Traces int   // live traces
}

// Options are the limits of a store. Zero values mean what they say.
type Options struct {
	MaxTrace  int64         // most bytes of one trace; 0 is no limit
	Quota     int64         // most bytes of all traces and uploads; 0 is no limit
	Grace     time.Duration // how long a deleted trace can come back; 0 is DefaultGrace
	UploadTTL time.Duration // how long an upload nobody goes on with is kept; 0 is DefaultUploadTTL
}

// Defaults of Options and the number of uploads that may be unfinished at once.
const (
	DefaultGrace     = 24 * time.Hour
	DefaultUploadTTL = 24 * time.Hour
	MaxUploads       = 256
)

// WithDefaults fills in the durations left at zero.
func (o Options) WithDefaults() Options {
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.UploadTTL <= 0 {
		o.UploadTTL = DefaultUploadTTL
	}
	return o
}

// Blob is an open run of stored bytes. It is for one goroutine. If the bytes
// are removed while it is open, Read fails with ErrNotFound: it never returns
// bytes of something else, nor a short end.
type Blob interface {
	io.ReadSeekCloser
	Size() int64 // bytes
}

// Blobs keeps runs of bytes under their SHA-256.
type Blobs interface {
	// PutBlob stores r to its end and returns the id of the bytes. Bytes that
	// are there already are not stored again. A failing r is ErrInterrupted
	// and stores nothing.
	PutBlob(ctx context.Context, r io.Reader) (id string, err error)
	// OpenBlob opens the bytes for reading from any offset. Reads use ctx.
	OpenBlob(ctx context.Context, id string) (Blob, error)
	// RemoveBlob removes bytes that no trace refers to, else it is ErrInUse.
	RemoveBlob(ctx context.Context, id string) error
}

// Upload is a trace on its way in, in pieces that survive restarts.
type Upload struct {
	ID       string // random, 32 hex characters
	Meta            // what the trace will have
	Offset   int64  // bytes stored so far; the next piece starts here
	Length   int64  // bytes expected in all
	Expires  time.Time
	Trace    string // id of the trace once the last byte came, else empty
	Existing bool   // the finished trace had been kept before
}

// Uploads takes traces in pieces.
type Uploads interface {
	// CreateUpload announces length bytes. It fails at once with ErrTooLarge
	// or ErrQuota if they could never be stored.
	CreateUpload(ctx context.Context, m Meta, length int64) (Upload, error)
	// Upload tells how far an upload is. A finished one answers until it
	// expires, so that a client that lost the last reply learns the trace's id.
	Upload(ctx context.Context, id string) (Upload, error)
	// AppendUpload stores what r gives, from offset on. With the last byte
	// the upload becomes a trace in the same transaction. If r fails, what
	// came before is kept and the error is ErrInterrupted. Wrong offset:
	// ErrOffset. Another append at work: ErrBusy. More bytes than announced:
	// ErrTooLarge. No space on the disk: ErrDiskFull, and the upload is
	// dropped to give back what it took.
	AppendUpload(ctx context.Context, id string, offset int64, r io.Reader) (Upload, error)
	// DropUpload forgets an upload and its bytes; a finished upload's trace stays.
	DropUpload(ctx context.Context, id string) error
}

// Purged counts what Purge removed.
type Purged struct {
	Traces  int   // traces deleted longer ago than the grace period
	Uploads int   // expired uploads
	Bytes   int64 // stored bytes that went with them
}

// Traces is a place that keeps traces. All methods may be called at once from
// many goroutines; readers never wait for an upload.
type Traces interface {
	Blobs
	Uploads

	// KeepTrace stores r to its end as one trace. Bytes kept before are not
	// stored again: existing is true and the first Meta stays, unless that
	// trace had been deleted; then it comes back with the new Meta. A failing
	// r is ErrInterrupted and stores nothing.
	KeepTrace(ctx context.Context, m Meta, r io.Reader) (t Trace, existing bool, err error)
	// Trace returns a trace, deleted ones included until they are purged.
	Trace(ctx context.Context, id string) (Trace, error)
	// ListTraces returns one page of live traces.
	ListTraces(ctx context.Context, q Query) (Page, error)
	// UpdateTrace changes a live trace's Meta.
	UpdateTrace(ctx context.Context, id string, p Patch) (Trace, error)
	// DeleteTrace hides a trace; RestoreTrace brings it back until the grace
	// period has passed, or until a new file needs its room under the quota
	// or on the disk.
	// Both are content with a trace that is so already.
	DeleteTrace(ctx context.Context, id string) error
	RestoreTrace(ctx context.Context, id string) (Trace, error)
	// Usage tells how full the store is.
	Usage(ctx context.Context) (Usage, error)
	// Purge removes what has been deleted or stale for too long at the time
	// now and gives the space back. It is to be called now and then; other
	// calls go on meanwhile.
	Purge(ctx context.Context, now time.Time) (Purged, error)
	// Close ends the store; calls under way fail.
	Close() error
}
