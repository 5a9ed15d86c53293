package trace

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
	issListDamaged
	issJunkBeforeRoot
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
	issUnclosed // the list of events does not end: a cut, unless the file is a bare list
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
	custom    bool   // not NCCL's
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
