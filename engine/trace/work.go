package trace

// work is the GPU work that one step or slice launched.
type work struct {
	kernels, graphKernels int64
	launches, graphs      int64
	graphTime, kernelTime int64
	spans                 [workClasses][]span
	first, last           int64
	any                   bool
}

// The classes of GPU work whose times are told apart.
const (
	workCompute = iota
	workComm
	workCopy
	workClasses
)

func (a *analysis) workClass(g *row) int {
	switch {
	case g.kind == rowMemcpy || g.kind == rowMemset:
		return workCopy
	case a.p.names.flags[g.name]&(nfComm|nfCustom) != 0:
		return workComm
	}
	return workCompute
}

func (w *work) add(a *analysis, g *row, l *row) {
	end := satEnd(g.ts, g.dur)
	if !w.any {
		w.first, w.last, w.any = g.ts, end, true
	} else {
		w.first, w.last = min(w.first, g.ts), max(w.last, end)
	}
	c := a.workClass(g)
	w.spans[c] = append(w.spans[c], span{g.ts, end})
	if g.kind == rowKernel {
		w.kernels++
		w.kernelTime = satAdd(w.kernelTime, g.dur)
		if g.flags&rowGraph != 0 || a.p.names.flags[l.name]&nfGraph != 0 {
			w.graphKernels++
		}
	}
}

// busy returns the time in which a computing kernel ran, a kernel of any kind, any work.
func (w *work) busy() (compute, kernels, all int64) {
	c, m, p := cursorOf(union(w.spans[workCompute])), cursorOf(union(w.spans[workComm])), cursorOf(union(w.spans[workCopy]))
	return covered(c), covered(c, m), covered(c, m, p)
}

// gpu parts the step's GPU span into computing, exposed communication, copies that hide
// behind neither, and idle.
func (w *work) gpu(origin int64) *StepGPU {
	if !w.any {
		return nil
	}
	compute, both, busy := w.busy()
	g := &StepGPU{
		Compute: compute, ExposedComm: both - compute, Copy: busy - both, Busy: busy, Span: w.last - w.first,
		First: w.first - origin, Last: w.last - origin,
	}
	g.Idle = g.Span - busy
	return g
}

// graphWord says whether the work came out of graph replays. Nine kernels in ten make a
// replay: a step launches a few of its own around the graph.
func (a *analysis) graphWord(w *work) string {
	switch {
	case len(a.launches) == 0 && len(a.gpu) == 0:
		return ""
	case w.kernels > 0 && w.graphKernels == 0:
		return "miss"
	case w.kernels > 0 && w.graphKernels*10 >= w.kernels*9:
		return "replay"
	case w.kernels > 0:
		return "partial"
	case w.graphs == 0 && w.launches == 0:
		return "none"
	case w.launches == 0:
		return "replay"
	case w.graphs == 0:
		return "miss"
	}
	return "partial"
}

// workOf sums per interval the GPU work that was launched in it.
func (a *analysis) workOf(list []interval) []work {
	w := make([]work, len(list))
	f := a.finder(list)
	at := make([]int32, len(a.launches))
	for i, l := range a.launches {
		at[i] = f.find(l.track, l.ts)
		if k := at[i]; k >= 0 {
			switch f := a.p.names.flags[l.name]; {
			case f&nfGraph != 0:
				w[k].graphs++
				w[k].graphTime = satAdd(w[k].graphTime, l.dur)
			case f&nfLaunch != 0:
				w[k].launches++
			}
		}
	}
	place := func(f func(k int32, g, l *row)) {
		for i, g := range a.gpu {
			if l := a.launchOf[i]; l >= 0 && a.timed(g) {
				if k := at[l]; k >= 0 {
					f(k, g, a.launches[l])
				}
			}
		}
	}
	// Counted first: lists that double would hold three times the spans.
	n, all := make([][workClasses]int, len(w)), 0
	place(func(k int32, g, _ *row) { n[k][a.workClass(g)]++; all++ })
	room := make([]span, all)
	for k := range w {
		for c := range w[k].spans {
			w[k].spans[c] = room[:0:n[k][c]]
			room = room[n[k][c]:]
		}
	}
	place(func(k int32, g, l *row) { w[k].add(a, g, l) })
	return w
}
