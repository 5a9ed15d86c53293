package trace

// Options set what a Reader keeps. The zero value reads a whole file with the default caps
// and keeps no columns.
type Options struct {
	// Columns is how many slices that are not rows are kept (24 bytes each). Counts
	// cover the whole file in any case.
	Columns int
	// Rows is how many annotations, launches and pieces of GPU work are kept for the
	// analysis (40 bytes each); 0 stands for 8 Mi. Beyond it they are summed only, and
	// the result says so.
	Rows int
}

// Limits of one element. Text beyond them is stepped over and counted, never held.
const (
	maxElement = 8 << 20
	padding    = 32 // readable bytes behind the data, for word loads
	firstBuf   = 1 << 16
)

type state uint8

const (
	stateSeek    state = iota // a range reader looks for its first event
	stateStart                // before the root value
	stateHeader               // in the root object, between members
	stateArray                // in a list of events
	stateResync               // behind a damaged element: looking for the next event
	stateHunt                 // behind a damaged header: looking for the next known key
	stateSkip                 // inside an element longer than maxElement
	stateComment              // inside a comment between elements
	stateTail                 // behind the root value
	stateStopped              // at the end of the range
	stateFailed
)

// Reader reads one trace, or one byte range of it, from bytes pushed into it in chunks of
// any size. The result does not depend on the chunks. A Reader is not safe for concurrent
// use.
type Reader struct {
	sh  *Partial
	ev  event
	err error

	buf  []byte
	r, w int   // unread data is buf[r:w]
	base int64 // byte offset of buf[0]
	eof  bool
	need int // do not try again with fewer bytes than this

	state     state
	root      byte // '{' or '['
	afterElem bool // in stateArray: an element was read, a comma or the end is due
	sawComma  bool
	listSeen  bool  // events were read, or stood before this range
	comma     int64 // offset of the comma (or bracket) before the element that is due

	sig1, sig2 byte // while a boundary is searched: the last two bytes that are not blank
	lineStart  bool // and whether only blanks came since the last line break
	skip       skipper
	inBlock    bool  // in stateComment: the comment ends with */
	back       state // in stateSkip and stateComment: where to go on
	// noEnd is up to where no end of a comment stands, of those that end with the line and with */. It is not looked
	// for again there: a hostile file may open a comment behind each event, and 100 MB of that took minutes.
	noEnd [2]int64

	layouts     []*layout // the one that fitted last goes first
	learned     int
	learnedArgs int
	gpu         gpuArgs // of ev, where it says so

	columnCap int
	end       int64 // stop at the first event whose comma lies at or behind this offset
	start     int64 // where reading really began; -1 while seeking
	stop      int64
}

// NewReader returns a Reader for a whole file.
func NewReader(o Options) *Reader { return newReader(o, 0, NoEnd, 0) }

// NoEnd is the end of a range that goes to the end of the file.
const NoEnd = 1 << 62

// NewRangeReader returns a Reader for the events that begin in [start, end) of an
// uncompressed file, where a later range begins at end. With start 0 it begins with the
// file's first byte; else it takes the first thing that looks like the start of an event,
// and whoever joins the ranges checks that the range before it ended exactly there. root
// is the file's first byte that is not blank, '{' or '['.
func NewRangeReader(o Options, start, end int64, root byte) *Reader {
	return newReader(o, start, end, root)
}

func newReader(o Options, start, end int64, root byte) *Reader {
	if o.Rows <= 0 {
		o.Rows = defaultRowCap
	}
	r := &Reader{
		sh: newPartial(o.Rows), buf: make([]byte, firstBuf), base: start, state: stateStart,
		columnCap: o.Columns, end: end, start: start, stop: -1,
	}
	if start > 0 {
		r.state, r.root, r.start = stateSeek, root, -1
	}
	return r
}

// Space returns at least n bytes of the reader's own buffer for the caller to fill; Commit
// takes them. The slice is valid until the next call.
func (r *Reader) Space(n int) []byte {
	if len(r.buf)-r.w < n+padding {
		if r.r > 0 {
			copy(r.buf, r.buf[r.r:r.w])
			r.base += int64(r.r)
			r.w -= r.r
			r.r = 0
		}
		if len(r.buf)-r.w < n+padding {
			b := make([]byte, max(r.w+n+padding, min(2*len(r.buf), 4*maxElement)))
			copy(b, r.buf[:r.w])
			r.buf = b
		}
	}
	return r.buf[r.w : len(r.buf)-padding]
}

// Commit reads the first n bytes of the slice that Space returned. It reports whether the
// reader wants more: not when it has reached the end of its range or failed.
func (r *Reader) Commit(n int) bool {
	r.w += n
	clear(r.buf[r.w : r.w+padding])
	r.run()
	return !r.done()
}

// Write reads p. It never fails before the input ends: see Close.
func (r *Reader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !r.done() {
		k := copy(r.Space(min(len(p), 1<<20)), p)
		p = p[k:]
		r.Commit(k)
	}
	return n, nil
}

// Close tells the reader that the input has ended. The error says why the input is not a
// trace; a damaged or truncated trace is not an error.
func (r *Reader) Close() error {
	if !r.done() {
		r.eof, r.need = true, 0
		r.Space(0)
		clear(r.buf[r.w : r.w+padding])
		r.run()
	}
	return r.err
}

func (r *Reader) done() bool { return r.state == stateStopped || r.state == stateFailed }

// Partial returns what was read so far. The reader and the partial share memory.
func (r *Reader) Partial() *Partial {
	r.sh.jsonBytes = r.base + int64(r.r)
	if r.eof {
		r.sh.jsonBytes = r.base + int64(r.w)
	}
	return r.sh
}

// Start returns the byte offset where a range reader began, -1 if it found no event.
func (r *Reader) Start() int64 { return r.start }

// Stop returns the byte offset where the reader reached the end of its range, -1 if it did
// not.
func (r *Reader) Stop() int64 { return r.stop }

// AtEvent reports whether the reader stopped in front of an event, so that a range which
// began exactly there can be joined.
func (r *Reader) AtEvent() bool { return r.state == stateStopped && r.stop >= 0 }

// Consumed returns the byte offset of the next byte that the reader wants.
func (r *Reader) Consumed() int64 { return r.base + int64(r.w) }

// Extend lets a reader that stopped go on to a new end: the range behind it turned out to
// begin elsewhere.
func (r *Reader) Extend(end int64) {
	r.end = end
	if r.state == stateStopped && r.stop >= 0 {
		r.state, r.stop = stateArray, -1
		r.run()
	}
}

// run reads as far as the buffered bytes go.
func (r *Reader) run() {
	for !r.done() {
		if !r.eof && r.w-r.r < r.need {
			return
		}
		st := stOK
		switch r.state {
		case stateSeek:
			st = r.seek()
		case stateStart:
			st = r.startRoot()
		case stateHeader:
			st = r.readHeader()
		case stateArray:
			st = r.readArray()
		case stateResync:
			st = r.resync()
		case stateHunt:
			st = r.hunt()
		case stateSkip:
			st = r.skipLong()
		case stateComment:
			st = r.skipComment()
		case stateTail:
			st = r.readTail()
		}
		if st != stMore {
			r.need = 0
			continue
		}
		if r.eof {
			if r.closesUnread() {
				continue
			}
			r.finish()
			return
		}
		// The element goes on in the next chunk. Wait for half as much again before trying
		// again, or a long element fed in small chunks would cost its length squared.
		held := r.w - r.r
		if held > maxElement && (r.state == stateArray || r.state == stateHeader) {
			r.enterSkip()
			continue
		}
		if r.need = 0; held > 1<<12 {
			r.need = min(held+held/2, maxElement+1)
		}
		return
	}
}

// closesUnread handles a file that ends in a string that was never closed, but with the
// brackets that close the list and the root: the event is damaged, not cut. It reports whether
// reading can go on at the list's end.
func (r *Reader) closesUnread() bool {
	if r.state != stateArray || !r.midElement() {
		return false
	}
	open := openString(r.buf[r.r:r.w])
	if open < 0 { // a clean beginning of an event: cut
		return false
	}
	r.lost(0)
	at, st := r.boundary(r.buf, r.r+open, r.w)
	if st != stOK || r.buf[at] != ']' || r.sig1 != '}' {
		return false
	}
	r.sh.events++
	r.sh.note(issSkipped, r.base+int64(r.r))
	r.r, r.afterElem = at, true
	return true
}

// openString returns where the string begins that is open at the end of b, -1 for none.
func openString(b []byte) int {
	open, escaped := -1, false
	for i, c := range b {
		switch {
		case escaped:
			escaped = false
		case open >= 0 && c == '\\':
			escaped = true
		case c == '"' && open >= 0:
			open = -1
		case c == '"':
			open = i
		}
	}
	return open
}

// finish handles the end of the input in the state the reader is in.
func (r *Reader) finish() {
	p := r.sh
	end := r.base + int64(r.w)
	cut := false
	switch r.state {
	case stateSeek: // no event in this range: an empty one
		r.state = stateStopped
		return
	case stateStart:
		r.fail(&Error{
			Code: "empty", What: "the file is empty", Offset: end,
			Hint: "Nothing was written to it: was the profiler stopped before it could export?",
		})
		return
	case stateHeader, stateHunt, stateSkip:
		if cut = r.state == stateSkip || r.state == stateHunt && r.back != stateTail || r.midElement(); !cut && r.state == stateHeader {
			p.note(issUnclosed, end)
		}
	case stateResync, stateArray:
		if cut = r.midElement(); cut && r.state == stateArray { // the cut element was begun: it counts, and is given up
			p.events++
			p.note(issSkipped, r.base+int64(r.r))
		} else if !cut && r.root == '{' {
			p.note(issUnclosed, end)
		}
	}
	if cut {
		p.truncatedAt = end
	}
	r.r = r.w
	r.state = stateStopped
	r.stop = -1
}

// midElement reports whether unread bytes of an element are left.
func (r *Reader) midElement() bool { return r.r < r.w && r.state != stateTail }

func (r *Reader) fail(err *Error) {
	r.err = err
	r.state = stateFailed
}

// Error says why an input is not a trace, where, and what to do about it.
type Error struct {
	Code   string // names the reason, for texts in other languages: "empty", "not_trace" …
	What   string
	Hint   string
	Near   string // what stands there, where that says something; untrusted
	Offset int64  // in the decompressed bytes
}

func (e *Error) Error() string {
	return e.What + " (at byte " + itoa(e.Offset) + "). " + e.Hint
}
