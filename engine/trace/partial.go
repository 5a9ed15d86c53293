package trace

import "slices"

// issue is one kind of oddity; the table issueCodes names them.
type issue uint8

const (
	issSkipped issue = iota
	issRepaired
	issClipped
	issUntimed
	issNonfinite
	issTrailingComma
	issMissingComma
	issExtraComma
	issComment
	issJunk
	issJunkAfterRoot
	issSecondDocument
	issHeaderDamaged
	issEventTooLong
	issHeaderTooLong
	issUTF16
	issGzipJunk
	issGzipTruncated
	issGzipCorrupt
	issGzipChecksum
	issCount
)

// tally counts an oddity and remembers where it was first met.
type tally struct {
	count int64
	first int64 // byte offset in the decompressed JSON
}

// nameAgg sums the slices of one name.
type nameAgg struct {
	name              nameID
	count, total, max int64
	graph             int64 // how many came out of a graph replay
}

// aggTable sums by name, in order of first appearance.
type aggTable struct {
	list []nameAgg
	of   []uint32 // by nameID: index + 1
}

func (t *aggTable) get(id nameID) *nameAgg {
	if int(id) < len(t.of) {
		if i := t.of[id]; i != 0 {
			return &t.list[i-1]
		}
	} else {
		t.of = append(t.of, make([]uint32, int(id)+256-len(t.of))...)
	}
	t.list = append(t.list, nameAgg{name: id})
	t.of[id] = uint32(len(t.list))
	return &t.list[len(t.list)-1]
}

func (a *nameAgg) add(dur int64, graph bool) {
	a.count++
	a.total = satAdd(a.total, dur)
	a.max = max(a.max, dur)
	if graph {
		a.graph++
	}
}

// meta is one metadata event that names a process or a thread.
type meta struct {
	kind  metaKind
	track uint32
	value nameID
}

type metaKind uint8

const (
	metaProcessName metaKind = iota + 1
	metaProcessLabels
	metaThreadName
)

// collective is the description that a communication kernel carries.
type collective struct {
	name      nameID // as in the file, second quotes taken off; empty: unknown
	groupSize int64  // -1: unknown
	partial   bool   // the list of ranks is cut
}

type collectiveAgg struct {
	key               collective
	kernel            nameID // the kernel's name, for those without a collective's
	count, total, max int64
}

// extent is the reach of the timed slices. Slices at ts 0 are kept apart: beside a real
// timeline they are untimed, and whether there is one is only known at the end.
type extent struct {
	timed      int64
	start, end int64
	zeros      int64
	zeroEnd    int64
}

func (x *extent) add(ts, dur int64) {
	end := satEnd(ts, dur)
	if ts == 0 {
		x.zeros++
		x.zeroEnd = max(x.zeroEnd, end)
		return
	}
	if x.timed == 0 {
		x.start, x.end = ts, end
	} else {
		x.start, x.end = min(x.start, ts), max(x.end, end)
	}
	x.timed++
}

func (x *extent) join(y extent) {
	if y.timed > 0 {
		if x.timed == 0 {
			x.start, x.end = y.start, y.end
		} else {
			x.start, x.end = min(x.start, y.start), max(x.end, y.end)
		}
	}
	x.timed += y.timed
	x.zeros += y.zeros
	x.zeroEnd = max(x.zeroEnd, y.zeroEnd)
}

func satEnd(ts, dur int64) int64 {
	if e := ts + dur; e >= ts {
		return e
	}
	return 1<<63 - 1
}

// Partial is what one reader found in its range of a file. It is opaque: [Merge] joins
// partials, [Analyze] reads them.
type Partial struct {
	names  *names
	cats   categories
	tracks tracks
	lanes  lanes

	rows rows
	over overflow // rows beyond the cap, summed
	cols columns

	events, slices int64
	columnsTotal   int64
	tallies        [issCount]tally
	byPhase        [128]int64
	ext            extent
	flows          flows
	annotations    aggTable
	kernels        aggTable
	counters       map[[3]uint64]struct{}
	metas          []meta
	collectives    []collectiveAgg
	header         header

	truncatedAt int64 // -1: whole
	jsonBytes   int64 // decompressed bytes read
	fileBytes   int64 // bytes as they came
	compression Compression
	rowCap      int
}

// Compression is how a file's bytes were packed.
type Compression string

// The compressions that the reader unpacks; zstd in native builds only.
const (
	Plain Compression = "none"
	Gzip  Compression = "gzip"
	Zstd  Compression = "zstd"
)

const (
	maxNames     = 1 << 20
	maxNameBytes = 128 << 20
	maxMetas     = 1 << 20
	maxCounters  = 1 << 18

	maxCollectives = 1 << 10

	defaultRowCap = 8 << 20 // 320 MB of rows
)

// DefaultColumns is how many slices a browser keeps in columns unless told otherwise: with
// the rows, all that fits in 1 GB.
const DefaultColumns = 24 << 20

func newPartial(rowCap int) *Partial {
	p := &Partial{
		names: newNames(maxNames, maxNameBytes), truncatedAt: -1, rowCap: rowCap, compression: Plain,
		counters: map[[3]uint64]struct{}{},
	}
	for _, c := range knownCategories { // a flood of others must not hide the GPU's work
		p.cats.add(p.names, p.names.intern([]byte(c)))
	}
	return p
}

func (p *Partial) note(i issue, off int64) {
	t := &p.tallies[i]
	if t.count == 0 || off < t.first {
		t.first = off
	}
	t.count++
}

// SetFileBytes tells how many bytes the file has as it came, for the summary.
func (p *Partial) SetFileBytes(n int64) { p.fileBytes = n }

// Capped reports whether a table that must hold everything ran full. The result of several
// readers is then not that of one, and the file has to be read again by one.
func (p *Partial) Capped() bool {
	return p.names.capped || p.tracks.capped || p.lanes.capped || p.flows.capped ||
		len(p.collectives) >= maxCollectives || len(p.cats.list) >= maxCategories || len(p.metas) >= maxMetas || len(p.counters) >= maxCounters
}

func (p *Partial) addRow(x row) {
	if p.rows.n < p.rowCap {
		p.rows.add(x)
		return
	}
	p.over.add(p, &x)
}

func (p *Partial) addCollective(c collective, kernel nameID, count, total, longest int64) {
	for i := range p.collectives {
		a := &p.collectives[i]
		if a.key == c && (a.kernel == kernel || c.name != 0) {
			a.count += count
			a.total = satAdd(a.total, total)
			a.max = max(a.max, longest)
			return
		}
	}
	if other := p.names.intern([]byte(otherCollectives)); len(p.collectives) >= maxCollectives && c.name != other {
		p.addCollective(collective{name: other, groupSize: -1}, 0, count, total, longest)
		return
	}
	p.collectives = append(p.collectives, collectiveAgg{c, kernel, count, total, longest})
}

// otherCollectives stands for those beyond the cap.
const otherCollectives = "(other collectives)"

// span is a time interval in ns, end exclusive.
type span struct{ s, e int64 }

// spans collects intervals whose union is asked for; it is compacted as it grows, so it
// holds no more than about twice the disjoint ones.
type spans struct {
	list []span
	next int // compact at this length
}

func (u *spans) add(s, e int64) {
	if e <= s {
		return
	}
	if k := len(u.list); k > 0 && u.list[k-1].s <= s && s <= u.list[k-1].e {
		u.list[k-1].e = max(u.list[k-1].e, e)
		return
	}
	if len(u.list) >= max(u.next, 1<<12) {
		u.compact()
		u.next = 2 * len(u.list)
	}
	u.list = append(u.list, span{s, e})
}

// compact sorts the intervals and joins those that touch.
func (u *spans) compact() { u.list = union(u.list) }

// union sorts list and joins the intervals that touch or overlap, in place.
func union(list []span) []span {
	if !slices.IsSortedFunc(list, bySpanStart) {
		slices.SortFunc(list, bySpanStart)
	}
	out := list[:0]
	for _, x := range list {
		if k := len(out); k > 0 && x.s <= out[k-1].e {
			out[k-1].e = max(out[k-1].e, x.e)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// merge joins two unions into one in a single pass.
func merge(x, y []span) []span {
	out := make([]span, 0, len(x)+len(y))
	for len(x) > 0 || len(y) > 0 {
		var next span
		if len(y) == 0 || len(x) > 0 && x[0].s <= y[0].s {
			next, x = x[0], x[1:]
		} else {
			next, y = y[0], y[1:]
		}
		if k := len(out); k > 0 && next.s <= out[k-1].e {
			out[k-1].e = max(out[k-1].e, next.e)
		} else {
			out = append(out, next)
		}
	}
	return out
}

func bySpanStart(a, b span) int {
	switch {
	case a.s < b.s:
		return -1
	case a.s > b.s:
		return 1
	}
	return 0
}

func total(list []span) (t int64) {
	for _, x := range list {
		t = satAdd(t, x.e-x.s)
	}
	return t
}

// deviceKey names one GPU: its id, and the rank's label in a merged file.
type deviceKey struct {
	rank   nameID
	device int64
}

// overflow sums the rows beyond the cap: counts and unions stay exact for the whole file,
// only what joins single rows (links, steps, percentiles) is limited to those kept.
type overflow struct {
	rows    int64
	lanes   []laneSum // by lane index
	devices []deviceSpans
}

type laneSum struct {
	kernels, other, sum int64
	busy                spans
}

type deviceSpans struct {
	key                 deviceKey
	compute, comm, copy spans
}

func (o *overflow) add(p *Partial, x *row) {
	o.rows++
	switch x.kind {
	case rowKernel, rowMemcpy, rowMemset:
	default:
		return
	}
	for int(x.lane) >= len(o.lanes) {
		o.lanes = append(o.lanes, laneSum{})
	}
	l := &o.lanes[x.lane]
	d := o.device(p, x.lane)
	place := func(u *spans) {
		if x.ts != 0 { // whether ts 0 is a time is not known yet; such rows are only counted
			u.add(x.ts, satEnd(x.ts, x.dur))
		}
	}
	place(&l.busy)
	if x.kind != rowKernel {
		l.other++
		place(&d.copy)
		return
	}
	l.kernels++
	l.sum = satAdd(l.sum, x.dur)
	if p.names.flags[x.name]&nfComm != 0 {
		place(&d.comm)
	} else {
		place(&d.compute)
	}
}

func (o *overflow) device(p *Partial, laneIdx uint32) *deviceSpans {
	l := p.lanes.list[laneIdx]
	return o.deviceByKey(deviceKey{l.rank, l.device})
}

func (o *overflow) deviceByKey(key deviceKey) *deviceSpans {
	for i := range o.devices {
		if o.devices[i].key == key {
			return &o.devices[i]
		}
	}
	o.devices = append(o.devices, deviceSpans{key: key})
	return &o.devices[len(o.devices)-1]
}
