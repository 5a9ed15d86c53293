package trace

import "unsafe"

// Merge joins the partials of consecutive ranges of one file, in file order, into the
// first and returns it. The result is the one that a single reader would have produced.
// The columns of the others are not moved: they stay where they are. Merge panics if parts
// is empty.
func Merge(parts ...*Partial) *Partial {
	p := parts[0]
	for _, q := range parts[1:] {
		p.join(q)
	}
	return p
}

// remap translates the ids of one partial into another's.
type remap struct {
	names  []nameID
	cats   []uint16
	tracks []uint32
	lanes  []uint32
}

func (m *remap) ident(x ident) ident {
	if x.kind == identString {
		x.v = int64(m.names[x.v])
	}
	return x
}

func (p *Partial) join(q *Partial) {
	m := p.remap(q)
	for i := range q.tallies {
		if t := q.tallies[i]; t.count > 0 {
			if p.tallies[i].count == 0 || t.first < p.tallies[i].first {
				p.tallies[i].first = t.first
			}
			p.tallies[i].count += t.count
		}
	}
	for i, n := range q.byPhase {
		p.byPhase[i] += n
	}
	p.events += q.events
	p.slices += q.slices
	p.columnsTotal += q.columnsTotal
	p.ext.join(q.ext)
	p.joinTables(q, m)
	p.joinRows(q, m)
	p.header.join(q.header)
	if q.truncatedAt >= 0 {
		p.truncatedAt = q.truncatedAt
	}
	p.jsonBytes = max(p.jsonBytes, q.jsonBytes)
	p.fileBytes += q.fileBytes
	if q.compression != Plain {
		p.compression = q.compression
	}
}

func (p *Partial) remap(q *Partial) *remap {
	m := &remap{names: make([]nameID, len(q.names.strs))}
	for i, s := range q.names.strs {
		id := p.names.lookup(unsafe.Slice(unsafe.StringData(s), len(s)), q.names.hashes[i])
		if m.names[i] = id; p.names.flags[id]&nfOther == 0 {
			p.names.flags[id] |= q.names.flags[i] & nfCustom
		}
	}
	p.names.capped = p.names.capped || q.names.capped
	m.cats = make([]uint16, len(q.cats.list))
	for i, c := range q.cats.list {
		k := p.cats.index(p.names, m.names[c.name])
		x := &p.cats.list[k]
		x.count += c.count
		x.total = satAdd(x.total, c.total)
		m.cats[i] = k
	}
	m.tracks = make([]uint32, len(q.tracks.list))
	for i, t := range q.tracks.list {
		m.tracks[i] = p.tracks.index(p.names, m.ident(t.pid), m.ident(t.tid))
	}
	p.tracks.capped = p.tracks.capped || q.tracks.capped
	m.lanes = make([]uint32, len(q.lanes.list))
	for i, l := range q.lanes.list {
		l.rank = m.names[l.rank]
		m.lanes[i] = p.lanes.index(l)
	}
	p.lanes.capped = p.lanes.capped || q.lanes.capped
	return m
}

func (p *Partial) joinTables(q *Partial, m *remap) {
	for k, n := range q.flows.all() {
		k.cat = m.names[k.cat]
		if k.text {
			k.id = uint64(m.names[k.id])
		}
		p.flows.add(k, n[0], n[1])
	}
	p.flows.dups += q.flows.dups
	p.flows.capped = p.flows.capped || q.flows.capped
	joinAgg(&p.annotations, &q.annotations, m)
	joinAgg(&p.kernels, &q.kernels, m)
	for k := range q.counters {
		p.counters[[3]uint64{uint64(m.tracks[k[0]]), uint64(m.names[k[1]]), uint64(m.names[k[2]])}] = struct{}{}
	}
	for _, x := range q.metas {
		if len(p.metas) < maxMetas {
			p.metas = append(p.metas, meta{x.kind, m.tracks[x.track], m.names[x.value]})
		}
	}
	for _, c := range q.collectives {
		k := collective{m.names[c.key.name], c.key.groupSize, c.key.partial, c.key.custom}
		p.addCollective(k, m.names[c.kernel], c.count, c.total, c.max)
	}
}

func joinAgg(p, q *aggTable, m *remap) {
	for _, a := range q.list {
		x := p.get(m.names[a.name])
		x.count += a.count
		x.total = satAdd(x.total, a.total)
		x.max = max(x.max, a.max)
		x.graph += a.graph
	}
}

func (p *Partial) joinRows(q *Partial, m *remap) {
	for i := range q.rows.n {
		x := *q.rows.at(i)
		x.name, x.track = m.names[x.name], m.tracks[x.track]
		switch x.kind {
		case rowKernel, rowMemcpy, rowMemset, rowDevice:
			x.lane = m.lanes[x.lane]
		case rowAnnotation, rowLaunch, rowBegin:
			x.lane = uint32(m.cats[x.lane])
		}
		p.addRow(x)
	}
	p.over.rows += q.over.rows
	for i, s := range q.over.lanes {
		if s.kernels+s.other == 0 {
			continue
		}
		k := m.lanes[i]
		for int(k) >= len(p.over.lanes) {
			p.over.lanes = append(p.over.lanes, laneSum{})
		}
		l := &p.over.lanes[k]
		l.kernels += s.kernels
		l.other += s.other
		l.sum = satAdd(l.sum, s.sum)
		joinSpans(&l.busy, &s.busy)
	}
	for i := range q.over.devices {
		d := &q.over.devices[i]
		to := p.over.deviceByKey(deviceKey{m.names[d.key.rank], d.key.device})
		joinSpans(&to.compute, &d.compute)
		joinSpans(&to.comm, &d.comm)
		joinSpans(&to.custom, &d.custom)
		joinSpans(&to.copy, &d.copy)
	}
}

func joinSpans(p, q *spans) {
	q.pack()
	for c := q.cursor(); c.ok; c.step() {
		x := c.head
		p.add(x.s, x.e)
	}
}
