package trace

// rowKind says what a row is.
type rowKind uint8

const (
	rowAnnotation rowKind = iota + 1
	rowLaunch
	rowKernel
	rowMemcpy
	rowMemset
	rowDevice
	rowBegin
	rowEnd
	rowFlowStart // legacy autograd traces link by flow alone
	rowFlowEnd
)

const rowGraph = 1 // row.flags: the work has a graph id

// row is one event that the analysis joins with others. Rows are few (a tenth of the
// events of a real trace), so they are records, not columns.
type row struct {
	ts, dur int64  // ns
	corr    uint64 // correlation of launches and GPU work, id of flows; 0: none
	name    nameID
	track   uint32
	lane    uint32 // GPU work: index of its lane; else: index of its category
	kind    rowKind
	flags   uint8
	_       uint16
}

// rowSize is the size of a row in bytes.
const rowSize = 40

const rowBlock = 1 << 12

// rows is a list of rows in blocks of equal size: appending never moves or doubles what
// is there.
type rows struct {
	blocks [][]row
	n      int
}

func (r *rows) add(x row) {
	if k := r.n & (rowBlock - 1); k == 0 {
		if r.n>>12 == len(r.blocks) {
			r.blocks = append(r.blocks, make([]row, 0, rowBlock))
		}
	}
	b := &r.blocks[r.n>>12]
	*b = append(*b, x)
	r.n++
}

func (r *rows) at(i int) *row { return &r.blocks[i>>12][i&(rowBlock-1)] }

const colBlock = 1 << 14

// columns holds the slices that are not rows, one array per field in blocks of equal
// size, 24 bytes a slice.
type columns struct {
	blocks []*columnBlock
	n      int
}

type columnBlock struct {
	ts, dur [colBlock]int64 // ns
	name    [colBlock]nameID
	track   [colBlock]uint32
}

func (c *columns) add(ts, dur int64, name nameID, track uint32) {
	k := c.n & (colBlock - 1)
	if k == 0 {
		c.blocks = append(c.blocks, new(columnBlock))
	}
	b := c.blocks[len(c.blocks)-1]
	b.ts[k], b.dur[k], b.name[k], b.track[k] = ts, dur, name, track
	c.n++
}

// track is one (pid, tid) pair.
type track struct {
	pid, tid ident
	rank     nameID // "[TP00-DP01]" of a merged file's pid, else empty
	gpu      bool   // the pid is named like "CUDA functions": GPU work without a category
}

// lane is one stream of one device.
type lane struct {
	rank           nameID
	device, stream int64
}

// maxTracks caps tracks and lanes; the rest share one.
const maxTracks = 1 << 20

// tracks is the table of the (pid, tid) pairs met.
type tracks struct {
	list   []track
	at     map[[2]ident]uint32
	last   [64]trackHit
	capped bool

	recent           uint32 // the last one asked for: threads' events stand together
	lastPID, lastTID ident
}

type trackHit struct {
	pid, tid ident
	idx      uint32
	ok       bool
}

// isRecent reports whether an event is of the track that was asked for last.
func (t *tracks) isRecent(ev *event) bool {
	return ev.tid.v == t.lastTID.v && ev.pid.v == t.lastPID.v && ev.tid.kind == t.lastTID.kind && ev.pid.kind == t.lastPID.kind && len(t.list) > 0
}

func (t *tracks) index(n *names, pid, tid ident) uint32 {
	t.lastPID, t.lastTID = pid, tid
	h := &t.last[(uint64(pid.v)*31+uint64(tid.v)^uint64(tid.v)>>7)&63]
	// Field by field: comparing the structs is a call.
	if h.ok && h.tid.v == tid.v && h.pid.v == pid.v && h.tid.kind == tid.kind && h.pid.kind == pid.kind {
		t.recent = h.idx
		return h.idx
	}
	t.recent = t.find(n, [2]ident{pid, tid})
	*h = trackHit{pid, tid, t.recent, true}
	return t.recent
}

func (t *tracks) find(n *names, key [2]ident) uint32 {
	if i, ok := t.at[key]; ok {
		return i
	}
	if len(t.list) >= maxTracks {
		t.capped = true
		return maxTracks - 1
	}
	if t.at == nil {
		t.at = map[[2]ident]uint32{}
	}
	x := track{pid: key[0], tid: key[1]}
	if x.pid.kind == identString {
		s := n.str(nameID(x.pid.v))
		x.gpu = containsFold(s, "cuda functions") || containsFold(s, "gpu functions")
		x.rank = n.intern([]byte(rankLabel(s)))
	}
	i := uint32(len(t.list))
	t.list = append(t.list, x)
	t.at[key] = i
	return i
}

// rankLabel returns the "[TP00-DP01]" that a merged file puts before each pid.
func rankLabel(pid string) string {
	if len(pid) == 0 || pid[0] != '[' {
		return ""
	}
	for i := range len(pid) {
		if pid[i] == ']' {
			return pid[:i+1]
		}
	}
	return ""
}

// trailingInt returns the integer that a pid such as "[TP00] 3" ends with.
func trailingInt(s string) (int64, bool) {
	i := len(s)
	for i > 0 && isDigit(s[i-1]) {
		i--
	}
	if i == len(s) || i > 0 && s[i-1] != ' ' {
		return 0, false
	}
	v, k := parseInt([]byte(s[i:]))
	return v, k == numOK
}

// lanes is the table of the streams met.
type lanes struct {
	list   []lane
	at     map[lane]uint32
	last   lane
	lastAt uint32
	capped bool
}

func (l *lanes) index(x lane) uint32 {
	if len(l.list) > 0 && l.last == x {
		return l.lastAt
	}
	i, ok := l.at[x]
	if !ok {
		if len(l.list) >= maxTracks {
			l.capped = true
			return maxTracks - 1
		}
		if l.at == nil {
			l.at = map[lane]uint32{}
		}
		i = uint32(len(l.list))
		l.list = append(l.list, x)
		l.at[x] = i
	}
	l.last, l.lastAt = x, i
	return i
}
