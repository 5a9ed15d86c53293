package trace

import "cmp"

// SliceQuery asks for the single slices behind a row of the summary.
type SliceQuery struct {
	Name  string // as the file has it
	GPU   bool   // kernels and copies of that name; else annotations
	Limit int    // how many of the longest
}

// AppendSlices appends the slices as JSON to b: "name", "count" of those kept as rows,
// "longest" of them by falling duration, each with "start_ns" from the trace's start,
// "dur_ns" and its place: "pid" and "tid", or "device" and "stream".
//
// Beyond the cap of rows slices are only counted in the summary; count is then lower than
// the summary's.
func AppendSlices(b []byte, p *Partial, q SliceQuery) []byte {
	a := &analysis{p: p, s: &Summary{}}
	a.sortRows()
	a.matchBegins()
	a.placeTimeline()
	from := a.annotations
	if q.GPU {
		from = a.gpu
	}
	var found []*row
	for _, x := range from {
		if x.kind != rowDevice && a.timed(x) && p.names.str(x.name) == q.Name {
			found = append(found, x)
		}
	}
	sortBy(found, func(x, y **row) int {
		return cmp.Or(cmp.Compare((*y).dur, (*x).dur), cmp.Compare((*x).ts, (*y).ts))
	})
	w := &writer{b: b}
	w.open('{')
	w.str("name", q.Name)
	w.int("count", int64(len(found)))
	found = found[:max(0, min(q.Limit, len(found)))]
	list(w, "longest", found, func(at **row) {
		x := *at
		w.int("start_ns", x.ts-a.origin)
		w.int("dur_ns", x.dur)
		if q.GPU {
			l := p.lanes.list[x.lane]
			w.str("device", p.deviceID(deviceKey{l.rank, l.device}))
			w.int("stream", l.stream)
			return
		}
		t := p.tracks.list[x.track]
		w.str("pid", a.identText(t.pid))
		w.str("tid", a.identText(t.tid))
	})
	w.close('}')
	return w.b
}
