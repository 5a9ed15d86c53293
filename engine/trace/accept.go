package trace

// accept takes the event in r.ev, whose args lie in b, into the partial. off is the
// event's byte offset.
func (r *Reader) accept(b []byte, off int64) {
	p, ev := r.sh, &r.ev
	p.events++
	if ev.fl&flagRepaired != 0 {
		p.note(issRepaired, off)
	}
	if ev.fl&flagNonfinite != 0 {
		p.note(issNonfinite, off)
	}
	if ev.ph != 0 && ev.ph < 128 {
		p.byPhase[ev.ph]++
	}
	switch ev.ph {
	case 'X':
		if !ev.hasTS {
			p.note(issSkipped, off)
			return
		}
		r.acceptSlice(b, off)
	case 'B', 'E':
		if ev.tsKind != numOK {
			p.note(issUntimed, off)
			return
		}
		x := row{ts: ev.ts, name: ev.name, kind: rowBegin, track: p.tracks.index(p.names, ev.pid, ev.tid)}
		if ev.ph == 'E' {
			x.kind = rowEnd
		} else {
			x.lane = uint32(p.cats.index(p.names, ev.cat))
		}
		p.addRow(x)
	case 's', 'f':
		r.acceptFlow()
	case 'M':
		r.acceptMeta(b)
	case 'C':
		r.acceptCounter(b)
	case 0:
		p.note(issSkipped, off) // not an event
	}
}

// acceptSlice takes an X event.
func (r *Reader) acceptSlice(b []byte, off int64) {
	p, ev := r.sh, &r.ev
	if ev.tsKind != numOK || !ev.hasDur {
		p.note(issUntimed, off)
		return
	}
	ts, dur := ev.ts, ev.dur
	switch {
	case ev.durKind == numAbsent || ev.durKind == numAbove:
		p.note(issUntimed, off)
		return
	case ev.durKind == numWrapped || dur < 0: // also an unsigned number that was negative
		dur = 0
		p.note(issClipped, off)
	case ts+dur < ts:
		dur = 1<<63 - 1 - ts
		p.note(issClipped, off)
	}
	p.slices++
	ci := p.cats.index(p.names, ev.cat)
	cat := &p.cats.list[ci]
	cat.count++
	cat.total = satAdd(cat.total, dur)
	cls := cat.class
	tr := p.tracks.recent
	if !p.tracks.isRecent(ev) {
		tr = p.tracks.index(p.names, ev.pid, ev.tid)
	}
	nf := p.names.flags[ev.name]
	if cls == clsOther {
		switch {
		case nf&nfDeepInfer != 0:
			cls = clsAnnotation
		case ev.cat == 0 && p.tracks.list[tr].gpu:
			cls = clsKernel
		}
	}
	if cls != clsTrace && cls != clsGPUAnnotation {
		p.ext.add(ts, dur)
	}
	switch cls {
	case clsAnnotation:
		p.annotations.get(ev.name).add(dur, false)
		p.addRow(row{ts: ts, dur: dur, name: ev.name, track: tr, lane: uint32(ci), kind: rowAnnotation})
	case clsRuntime:
		if nf&nfNoLaunch == 0 {
			if a := r.gpuArgs(b); a.corr != 0 || nf&(nfLaunch|nfGraph) != 0 {
				p.addRow(row{ts: ts, dur: dur, corr: a.corr, name: ev.name, track: tr, lane: uint32(ci), kind: rowLaunch})
				return
			}
		}
		r.addColumn(ts, dur, tr)
	case clsKernel, clsMemcpy, clsMemset, clsDevice:
		r.acceptGPU(b, cls, ts, dur, tr)
	default:
		r.addColumn(ts, dur, tr)
	}
}

func (r *Reader) addColumn(ts, dur int64, tr uint32) {
	r.sh.columnsTotal++
	if r.sh.cols.n < r.columnCap {
		r.sh.cols.add(ts, dur, r.ev.name, tr)
	}
}

// acceptGPU takes a slice of GPU work.
func (r *Reader) acceptGPU(b []byte, cls class, ts, dur int64, tr uint32) {
	p, ev := r.sh, &r.ev
	a := r.gpuArgs(b)
	x := row{ts: ts, dur: dur, corr: a.corr, name: ev.name, track: tr}
	if a.graph {
		x.flags = rowGraph
	}
	l := lane{rank: p.tracks.list[tr].rank, device: a.device, stream: a.stream}
	if !a.hasDevice {
		switch ev.pid.kind {
		case identNumber:
			l.device = ev.pid.v
		case identString:
			l.device, _ = trailingInt(p.names.str(nameID(ev.pid.v)))
		}
	}
	if !a.hasStream && ev.tid.kind == identNumber {
		l.stream = ev.tid.v
	}
	x.lane = p.lanes.index(l)
	switch cls {
	case clsKernel:
		x.kind = rowKernel
		k := p.kernels.get(ev.name)
		if k.count == 0 {
			p.names.markCustom(ev.name)
		}
		k.add(dur, a.graph)
		if f := p.names.flags[ev.name]; f&(nfComm|nfCustom) != 0 {
			c := r.readCollective(b)
			c.custom = f&nfComm == 0
			p.addCollective(c, ev.name, 1, dur, dur)
		}
	case clsMemcpy:
		x.kind = rowMemcpy
	case clsMemset:
		x.kind = rowMemset
	default:
		x.kind = rowDevice
	}
	p.addRow(x)
}

// readCollective reads what a communication kernel's args say of the operation.
func (r *Reader) readCollective(b []byte) collective {
	c := collective{groupSize: -1}
	eachArg(b, r.ev.args, r.ev.argsEnd, func(key []byte, v, end int) {
		switch string(key) {
		case "Collective name":
			c.name = r.sh.names.intern(argText(b, v, end))
		case "Group size":
			if n, k := parseInt(argText(b, v, end)); k == numOK {
				c.groupSize = n
			}
		case "Process Group Ranks":
			t := argText(b, v, end)
			for i := 0; i+3 <= len(t); i++ {
				if string(t[i:i+3]) == "..." {
					c.partial = true
				}
			}
		}
	})
	return c
}

// acceptFlow takes one half of an arrow.
func (r *Reader) acceptFlow() {
	p, ev := r.sh, &r.ev
	if !ev.hasID {
		return
	}
	key := flowKey{ev.id, ev.cat, ev.idText}
	kind := rowFlowStart
	if ev.ph == 's' {
		p.flows.add(key, 1, 0)
	} else {
		p.flows.add(key, 0, 1)
		kind = rowFlowEnd
	}
	// Old autograd exports have no correlations: there the arrow is the only link.
	if ev.tsKind == numOK && !ev.idText && p.names.str(ev.cat) == "cpu_to_cuda" {
		p.addRow(row{ts: ev.ts, corr: ev.id, name: ev.name, kind: kind, track: p.tracks.index(p.names, ev.pid, ev.tid)})
	}
}

// acceptMeta takes a metadata event: the names of processes and threads.
func (r *Reader) acceptMeta(b []byte) {
	p, ev := r.sh, &r.ev
	var kind metaKind
	want := "name"
	switch p.names.str(ev.name) {
	case "process_name":
		kind = metaProcessName
	case "process_labels":
		kind, want = metaProcessLabels, "labels"
	case "thread_name":
		kind = metaThreadName
	default:
		return
	}
	eachArg(b, ev.args, ev.argsEnd, func(key []byte, v, end int) {
		if string(key) == want && len(p.metas) < maxMetas {
			p.metas = append(p.metas, meta{kind, p.tracks.index(p.names, ev.pid, ev.tid), p.names.intern(argText(b, v, end))})
		}
	})
}

// acceptCounter takes a C event: each of its args is one series.
func (r *Reader) acceptCounter(b []byte) {
	p, ev := r.sh, &r.ev
	t := uint64(p.tracks.index(p.names, ev.pid, ev.tid))
	eachArg(b, ev.args, ev.argsEnd, func(key []byte, _, _ int) {
		if len(p.counters) < maxCounters {
			p.counters[[3]uint64{t, uint64(ev.name), uint64(p.names.intern(key))}] = struct{}{}
		}
	})
}
