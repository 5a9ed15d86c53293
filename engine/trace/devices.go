package trace

import (
	"cmp"
	"slices"
)

type deviceWork struct {
	key         deviceKey
	d           Device
	rowsOnIt    bool
	compute     []span
	comm        []span
	custom      []span // communication by other libraries
	copies      []span
	more        *deviceSpans // of the rows beyond the cap
	first, last int64
	streams     map[int64]*streamWork
}

type streamWork struct {
	s    Stream
	busy []span
	more []*spans // of the rows beyond the cap
}

// sumDevices sums the GPU work per device and stream. Busy is the union of kernels, copies
// and memsets; annotations and synchronisations on the GPU's rows are not work.
func (a *analysis) sumDevices() {
	var devs []*deviceWork
	at := map[deviceKey]*deviceWork{}
	get := func(k deviceKey) *deviceWork {
		d := at[k]
		if d == nil {
			d = &deviceWork{key: k, streams: map[int64]*streamWork{}}
			at[k] = d
			devs = append(devs, d)
		}
		return d
	}
	byLane := make([]*streamWork, len(a.p.lanes.list))
	devOfLane := make([]*deviceWork, len(a.p.lanes.list))
	lane := func(i uint32) (*deviceWork, *streamWork) {
		if byLane[i] == nil {
			l := a.p.lanes.list[i]
			d := get(deviceKey{l.rank, l.device})
			st := d.streams[l.stream]
			if st == nil {
				st = &streamWork{s: Stream{ID: l.stream}}
				d.streams[l.stream] = st
			}
			byLane[i], devOfLane[i] = st, d
		}
		return devOfLane[i], byLane[i]
	}
	onLane := make([]int, len(byLane))
	for _, g := range a.gpu {
		onLane[g.lane]++
	}
	for i, g := range a.gpu {
		if g.kind == rowDevice {
			continue
		}
		d, st := lane(g.lane)
		if n := onLane[g.lane]; n > 0 { // room for all at once: doubling would hold them twice
			st.busy = slices.Grow(st.busy, n)
			d.compute = slices.Grow(d.compute, n)
			onLane[g.lane] = 0
		}
		sp := span{g.ts, satEnd(g.ts, g.dur)}
		if a.timed(g) {
			d.reach(sp)
			st.busy = append(st.busy, sp)
		}
		if g.kind != rowKernel {
			st.s.CopiesOrSets++
			if a.timed(g) {
				d.copies = append(d.copies, sp)
			}
			continue
		}
		st.s.Kernels++
		st.s.Sum = satAdd(st.s.Sum, g.dur)
		if a.fromGraph(i) {
			d.d.GraphKernel++
		}
		switch {
		case !a.timed(g):
		case a.p.names.flags[g.name]&nfComm != 0:
			d.comm = append(d.comm, sp)
		case a.p.names.flags[g.name]&nfCustom != 0:
			d.custom = append(d.custom, sp)
		default:
			d.compute = append(d.compute, sp)
		}
	}
	for i := range a.p.over.lanes {
		s := &a.p.over.lanes[i]
		if s.kernels+s.other == 0 {
			continue
		}
		d, st := lane(uint32(i))
		if s.busy.pack(); s.busy.n > 0 {
			d.reach(span{s.busy.first, s.busy.last})
			st.more = append(st.more, &s.busy)
		}
		st.s.Kernels += s.kernels
		st.s.CopiesOrSets += s.other
		st.s.Sum = satAdd(st.s.Sum, s.sum)
	}
	for i := range a.p.over.devices {
		o := &a.p.over.devices[i]
		o.compute.pack()
		o.comm.pack()
		o.custom.pack()
		o.copy.pack()
		get(o.key).more = o
	}
	sortBy(devs, func(x, y **deviceWork) int {
		return cmp.Or(cmp.Compare(a.p.names.str((*x).key.rank), a.p.names.str((*y).key.rank)), cmp.Compare((*x).key.device, (*y).key.device))
	})
	for _, d := range cut(a, devs, maxDeviceList) {
		a.s.Devices = append(a.s.Devices, d.finish(a))
	}
}

// fromGraph reports whether GPU work i came out of a graph replay.
func (a *analysis) fromGraph(i int) bool {
	if a.gpu[i].flags&rowGraph != 0 {
		return true
	}
	l := a.launchOf[i]
	return l >= 0 && a.p.names.flags[a.launches[l].name]&nfGraph != 0
}

func (d *deviceWork) reach(sp span) {
	if !d.rowsOnIt {
		d.first, d.last, d.rowsOnIt = sp.s, sp.e, true
		return
	}
	d.first, d.last = min(d.first, sp.s), max(d.last, sp.e)
}

func (d *deviceWork) finish(a *analysis) Device {
	x := d.d
	x.ID = a.p.deviceID(d.key)
	var more deviceSpans
	if d.more != nil {
		more = *d.more
	}
	compute := []spanCursor{cursorOf(union(d.compute)), more.compute.cursor()}
	comm := []spanCursor{cursorOf(union(d.comm)), more.comm.cursor()}
	custom := []spanCursor{cursorOf(union(d.custom)), more.custom.cursor()}
	copies := []spanCursor{cursorOf(union(d.copies)), more.copy.cursor()}
	of := func(lists ...[]spanCursor) int64 { return covered(slices.Concat(lists...)...) }
	x.Compute, x.Comm, x.CustomComm, x.Copy = of(compute), of(comm), of(custom), of(copies)
	x.Busy, x.ExposedComm = of(compute, comm, custom, copies), of(compute, comm, custom)-x.Compute
	if d.rowsOnIt {
		x.First, x.Last = some(d.first-a.origin), some(d.last-a.origin)
		x.Idle = some(spanOf(d.first, d.last) - x.Busy)
	}
	for _, st := range d.streams {
		busy := []spanCursor{cursorOf(union(st.busy))}
		for _, u := range st.more {
			busy = append(busy, u.cursor())
		}
		st.s.Busy = covered(busy...)
		x.Kernels += st.s.Kernels
		x.Sum = satAdd(x.Sum, st.s.Sum)
		x.Streams = append(x.Streams, st.s)
	}
	sortBy(x.Streams, func(s, t *Stream) int { return cmp.Compare(s.ID, t.ID) })
	return x
}

// deviceID is a device's number, with the rank before it where pids carry one.
func (p *Partial) deviceID(k deviceKey) string {
	if r := p.names.str(k.rank); r != "" {
		return r + " " + itoa(k.device)
	}
	return itoa(k.device)
}
