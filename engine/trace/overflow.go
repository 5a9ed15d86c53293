package trace

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
	at      map[deviceKey]int
}

type laneSum struct {
	kernels, other, sum int64
	busy                spans
}

type deviceSpans struct {
	key                         deviceKey
	compute, comm, custom, copy spans
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
	switch f := p.names.flags[x.name]; {
	case f&nfComm != 0:
		place(&d.comm)
	case f&nfCustom != 0:
		place(&d.custom)
	default:
		place(&d.compute)
	}
}

func (o *overflow) device(p *Partial, laneIdx uint32) *deviceSpans {
	l := p.lanes.list[laneIdx]
	return o.deviceByKey(deviceKey{l.rank, l.device})
}

func (o *overflow) deviceByKey(key deviceKey) *deviceSpans {
	i, ok := o.at[key]
	if !ok {
		if o.at == nil {
			o.at = map[deviceKey]int{}
		}
		i = len(o.devices)
		o.at[key] = i
		o.devices = append(o.devices, deviceSpans{key: key})
	}
	return &o.devices[i]
}
