package trace

import (
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"
)

// AppendBinary appends the partial, without its columns, to b: the form in which a range's
// result travels from one worker's memory to another's. The layout is this build's own and
// is not kept anywhere.
func (p *Partial) AppendBinary(b []byte) []byte {
	e := &encoder{slices.Grow(b, p.rows.n*rowSize+p.names.bytes+16*len(p.names.strs)+32*p.flows.n+1<<12)}
	e.int(p.events, p.slices, p.columnsTotal, p.truncatedAt, p.jsonBytes, p.fileBytes, int64(p.rowCap))
	e.str(string(p.compression))
	for _, t := range p.tallies {
		e.int(t.count, t.first)
	}
	e.int(p.byPhase[:]...)
	x := p.ext
	e.int(x.timed, x.start, x.end, x.zeros, x.zeroEnd)
	e.len(len(p.names.strs))
	for i, s := range p.names.strs {
		e.str(s)
		e.int(int64(p.names.hashes[i]))
	}
	e.int(flag(p.names.capped), flag(p.tracks.capped), flag(p.lanes.capped), flag(p.flows.capped))
	e.len(len(p.cats.list))
	for _, c := range p.cats.list {
		e.int(int64(c.name), c.count, c.total)
	}
	e.len(len(p.tracks.list))
	for _, t := range p.tracks.list {
		e.int(t.pid.v, int64(t.pid.kind), t.tid.v, int64(t.tid.kind))
	}
	e.len(len(p.lanes.list))
	for _, l := range p.lanes.list {
		e.int(int64(l.rank), l.device, l.stream)
	}
	e.len(p.rows.n)
	for _, blk := range p.rows.blocks {
		e.b = append(e.b, rowBytes(blk)...)
	}
	e.tables(p)
	e.overflow(&p.over)
	e.header(&p.header)
	return e.b
}

func (e *encoder) tables(p *Partial) {
	e.len(p.flows.n)
	for _, s := range p.flows.slots {
		if s.states != 0 {
			e.int(int64(s.id), int64(s.cat), flag(s.text), int64(s.states))
		}
	}
	e.int(p.flows.dups)
	e.len(len(p.flows.extra))
	for k, n := range p.flows.extra {
		e.int(int64(k.id), int64(k.cat), flag(k.text), n)
	}
	for _, t := range [...]*aggTable{&p.annotations, &p.kernels} {
		e.len(len(t.list))
		for _, a := range t.list {
			e.int(int64(a.name), a.count, a.total, a.max, a.graph)
		}
	}
	e.len(len(p.counters))
	for k := range p.counters {
		e.int(int64(k[0]), int64(k[1]), int64(k[2]))
	}
	e.len(len(p.metas))
	for _, m := range p.metas {
		e.int(int64(m.kind), int64(m.track), int64(m.value))
	}
	e.len(len(p.collectives))
	for _, c := range p.collectives {
		e.int(int64(c.key.name), c.key.groupSize, flag(c.key.partial), flag(c.key.custom), int64(c.kernel), c.count, c.total, c.max)
	}
}

func (e *encoder) overflow(o *overflow) {
	e.int(o.rows)
	e.len(len(o.lanes))
	for i := range o.lanes {
		l := &o.lanes[i]
		e.int(l.kernels, l.other, l.sum)
		e.spans(&l.busy)
	}
	e.len(len(o.devices))
	for i := range o.devices {
		d := &o.devices[i]
		e.int(int64(d.key.rank), d.key.device)
		e.spans(&d.compute)
		e.spans(&d.comm)
		e.spans(&d.custom)
		e.spans(&d.copy)
	}
}

func (e *encoder) spans(u *spans) {
	u.pack()
	e.len(u.n)
	for c := u.cursor(); c.ok; c.step() {
		e.int(c.head.s, c.head.e)
	}
}

func (e *encoder) header(h *header) {
	e.int(h.base, flag(h.hasBase), h.eventLists, flag(h.array), h.rank, flag(h.hasRank), h.worldSize, flag(h.hasWorld))
	for _, t := range [...]headerText{h.backend, h.traceName, h.host} {
		e.str(t.text)
		e.int(flag(t.set))
	}
	e.int(flag(h.gpus != nil))
	e.len(len(h.gpus))
	for _, g := range h.gpus {
		e.str(g)
	}
	e.len(len(h.versions))
	for _, v := range h.versions {
		e.str(v.name)
		e.str(v.text)
	}
}

// errPartial says that bytes are not a partial of this build.
var errPartial = errors.New("not a partial result of this build")

// DecodePartial reads what AppendBinary wrote. It fails on anything else.
func DecodePartial(b []byte) (p *Partial, err error) {
	d := &decoder{b: b}
	defer func() {
		if recover() != nil { // an index out of range: the bytes are not a partial
			p, err = nil, errPartial
		}
	}()
	p = newPartial(0)
	d.int(&p.events, &p.slices, &p.columnsTotal, &p.truncatedAt, &p.jsonBytes, &p.fileBytes)
	p.rowCap = int(d.i64())
	p.compression = Compression(d.str())
	for i := range p.tallies {
		d.int(&p.tallies[i].count, &p.tallies[i].first)
	}
	for i := range p.byPhase {
		p.byPhase[i] = d.i64()
	}
	x := &p.ext
	d.int(&x.timed, &x.start, &x.end, &x.zeros, &x.zeroEnd)
	for range d.len() {
		s := d.str()
		p.names.lookup(unsafe.Slice(unsafe.StringData(s), len(s)), uint32(d.i64()))
	}
	p.names.capped, p.tracks.capped, p.lanes.capped, p.flows.capped = d.flag(), d.flag(), d.flag(), d.flag()
	for range d.len() {
		c := &p.cats.list
		k := p.cats.index(p.names, nameID(d.i64()))
		d.int(&(*c)[k].count, &(*c)[k].total)
	}
	for range d.len() {
		pid := ident{d.i64(), identKind(d.i64())}
		p.tracks.index(p.names, pid, ident{d.i64(), identKind(d.i64())})
	}
	for range d.len() {
		p.lanes.index(lane{nameID(d.i64()), d.i64(), d.i64()})
	}
	d.rows(&p.rows)
	d.tables(p)
	d.overflow(&p.over)
	d.header(&p.header)
	if d.i != len(b) {
		return nil, errPartial
	}
	return p, nil
}

func (d *decoder) rows(r *rows) {
	for n := d.len(); n > 0; {
		blk := make([]row, min(n, rowBlock), rowBlock)
		d.i += copy(rowBytes(blk), d.b[d.i:d.i+len(blk)*rowSize])
		r.blocks = append(r.blocks, blk)
		r.n += len(blk)
		n -= len(blk)
	}
}

func (d *decoder) tables(p *Partial) {
	for range d.len() {
		k := flowKey{uint64(d.i64()) << 5, nameID(d.i64()), d.flag()}
		if states := uint64(d.i64()); states != 0 {
			if r := p.flows.run(k); r != nil {
				r.states = states
			}
		}
	}
	p.flows.dups = d.i64()
	for range d.len() {
		p.flows.more(flowKey{uint64(d.i64()), nameID(d.i64()), d.flag()}, d.i64())
	}
	for _, t := range [...]*aggTable{&p.annotations, &p.kernels} {
		for range d.len() {
			a := t.get(nameID(d.i64()))
			d.int(&a.count, &a.total, &a.max, &a.graph)
			if t == &p.kernels {
				p.names.markCustom(a.name)
			}
		}
	}
	for range d.len() {
		p.counters[[3]uint64{uint64(d.i64()), uint64(d.i64()), uint64(d.i64())}] = struct{}{}
	}
	for range d.len() {
		p.metas = append(p.metas, meta{metaKind(d.i64()), uint32(d.i64()), nameID(d.i64())})
	}
	for range d.len() {
		c := collective{nameID(d.i64()), d.i64(), d.flag(), d.flag()}
		p.collectives = append(p.collectives, collectiveAgg{c, nameID(d.i64()), d.i64(), d.i64(), d.i64()})
	}
}

func (d *decoder) overflow(o *overflow) {
	o.rows = d.i64()
	for range d.len() {
		o.lanes = append(o.lanes, laneSum{kernels: d.i64(), other: d.i64(), sum: d.i64(), busy: d.spans()})
	}
	for range d.len() {
		x := o.deviceByKey(deviceKey{nameID(d.i64()), d.i64()})
		x.compute, x.comm, x.custom, x.copy = d.spans(), d.spans(), d.spans(), d.spans()
	}
}

func (d *decoder) spans() (u spans) {
	for range d.len() {
		u.add(d.i64(), d.i64())
	}
	return u
}

func (d *decoder) header(h *header) {
	h.base, h.hasBase, h.eventLists, h.array = d.i64(), d.flag(), d.i64(), d.flag()
	h.rank, h.hasRank, h.worldSize, h.hasWorld = d.i64(), d.flag(), d.i64(), d.flag()
	for _, t := range [...]*headerText{&h.backend, &h.traceName, &h.host} {
		t.text, t.set = d.str(), d.flag()
	}
	if d.flag() {
		h.gpus = []string{}
	}
	for range d.len() {
		h.gpus = append(h.gpus, d.str())
	}
	for range d.len() {
		h.versions = append(h.versions, versionOf{d.str(), d.str()})
	}
}

// rowBytes views rows as bytes, in this machine's layout.
func rowBytes(b []row) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)*rowSize)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

type encoder struct{ b []byte }

func (e *encoder) int(v ...int64) {
	for _, x := range v {
		e.b = binary.LittleEndian.AppendUint64(e.b, uint64(x))
	}
}

func (e *encoder) len(n int) { e.int(int64(n)) }

func (e *encoder) str(s string) {
	e.len(len(s))
	e.b = append(e.b, s...)
}

type decoder struct {
	b []byte
	i int
}

func (d *decoder) i64() int64 {
	v := binary.LittleEndian.Uint64(d.b[d.i : d.i+8])
	d.i += 8
	return int64(v)
}

func (d *decoder) int(v ...*int64) {
	for _, x := range v {
		*x = d.i64()
	}
}

func (d *decoder) flag() bool { return d.i64() != 0 }

// len reads a length; every element takes at least a byte, so it is bounded by what is
// left.
func (d *decoder) len() int {
	n := d.i64()
	if n < 0 || n > int64(len(d.b)-d.i) {
		panic(errPartial)
	}
	return int(n)
}

func (d *decoder) str() string {
	n := d.len()
	s := string(d.b[d.i : d.i+n])
	d.i += n
	return s
}
