package trace

import (
	"cmp"
	"slices"
	"strings"
)

// stepRange is a step while it is put together.
type stepRange struct {
	track      uint32
	start, end int64
	names      []nameID // outermost first
	name       nameID   // the one that tells kind, N and B
	info       stepName
	cpu        int64
	launches   []*row // DeepInfer: its launch_forward slices
	deep       bool
}

// stepName parses a name once.
func (a *analysis) stepName(id nameID) stepName {
	if a.names == nil {
		a.names = map[nameID]stepName{}
	}
	x, ok := a.names[id]
	if !ok {
		x = parseStepName(a.p.names.str(id))
		a.names[id] = x
	}
	return x
}

// trackRuns calls f with the annotations of one thread after the other.
func (a *analysis) trackRuns(f func(track uint32, rows []*row)) {
	for i := 0; i < len(a.annotations); {
		j := i
		for j < len(a.annotations) && a.annotations[j].track == a.annotations[i].track {
			j++
		}
		f(a.annotations[i].track, a.annotations[i:j])
		i = j
	}
}

// findSteps finds the engine's steps. A DeepInfer step goes from the start of one
// top-level deepinfer:schedule to the start of the next on the same thread; without
// schedule, from one launch_forward to the next. vLLM and SGLang name each step with one
// slice. Only a file with none of these falls back to ProfilerStep.
func (a *analysis) findSteps() {
	var steps []stepRange
	launches := map[ident][]*row{} // launch_forward by process
	scheduled := map[ident]bool{}
	a.trackRuns(func(t uint32, rows []*row) {
		pid := a.p.tracks.list[t].pid
		for _, x := range rows {
			if a.stepName(x.name).source == "deepinfer" {
				launches[pid] = append(launches[pid], x)
			}
			if a.p.names.str(x.name) == "deepinfer:schedule" {
				scheduled[pid] = true
			}
		}
	})
	a.trackRuns(func(t uint32, rows []*row) {
		pid := a.p.tracks.list[t].pid
		steps = append(steps, a.deepSteps(t, rows, scheduled[pid], launches[pid])...)
		steps = append(steps, a.namedSteps(t, rows)...)
	})
	if len(steps) == 0 {
		a.trackRuns(func(t uint32, rows []*row) {
			for _, x := range rows {
				if strings.HasPrefix(a.p.names.str(x.name), "ProfilerStep#") {
					steps = append(steps, stepRange{track: t, start: x.ts, end: satEnd(x.ts, x.dur), name: x.name,
						names: []nameID{x.name}, cpu: x.dur, info: stepName{kind: "unknown"}})
				}
			}
		})
	}
	sortBy(steps, func(x, y *stepRange) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.track, y.track))
	})
	for _, x := range steps {
		a.stepTotal = satAdd(a.stepTotal, x.end-x.start)
	}
	work := a.stepWork(steps)
	graphs := a.sumShapes(steps)
	for i, x := range steps {
		s := Step{
			Name: a.p.names.str(x.name), Kind: x.info.kind, Start: x.start - a.origin, Dur: x.end - x.start, CPU: x.cpu,
		}
		for _, n := range x.names {
			s.Names = append(s.Names, a.p.names.str(n))
		}
		if x.info.hasN {
			s.N = some(x.info.n)
		}
		if x.info.hasB {
			s.B = some(x.info.b)
		}
		w := &work[i]
		s.Graph, s.Kernel, s.GPU = a.graphWord(w), w.kernels, w.gpu(a.origin)
		if n := len(x.launches); n > 0 { // what launch_sample adds around a forward is no miss
			s.Graph = common(graphs[:n])
			graphs = graphs[n:]
		}
		a.s.Steps = append(a.s.Steps, s)
	}
}

// common returns the word that all of words are, "partial" if they differ.
func common(words []string) string {
	for _, w := range words[1:] {
		if w != words[0] {
			return "partial"
		}
	}
	return words[0]
}

// deepSteps finds the DeepInfer steps of one thread.
func (a *analysis) deepSteps(t uint32, rows []*row, scheduled bool, launches []*row) []stepRange {
	var steps []stepRange
	var last, inSchedule int64
	own := false
	for _, x := range rows {
		if a.p.names.flags[x.name]&nfDeepInfer != 0 || a.stepName(x.name).source == "deepinfer" {
			last = max(last, satEnd(x.ts, x.dur))
		}
		begins := false
		if scheduled {
			begins = a.p.names.str(x.name) == "deepinfer:schedule" && (len(steps) == 0 || x.ts >= inSchedule)
			if begins {
				inSchedule = satEnd(x.ts, x.dur)
			}
		} else {
			begins = a.stepName(x.name).source == "deepinfer"
		}
		own = own || a.stepName(x.name).source == "deepinfer"
		if !begins {
			continue
		}
		if k := len(steps); k > 0 {
			steps[k-1].end = x.ts
		}
		steps = append(steps, stepRange{track: t, start: x.ts, names: []nameID{x.name}, name: x.name, deep: true})
	}
	if len(steps) == 0 {
		return nil
	}
	steps[len(steps)-1].end = max(last, steps[len(steps)-1].start)
	i := 0
	for _, l := range launches { // in order of time within a thread
		if own && l.track != t {
			continue
		}
		if i > 0 && l.ts < steps[i].start {
			i = 0 // the next thread's launches begin again
		}
		for i < len(steps)-1 && l.ts >= steps[i].end {
			i++
		}
		if l.ts >= steps[i].start && (l.ts < steps[i].end || i == len(steps)-1 && l.ts == steps[i].end) {
			steps[i].launches = append(steps[i].launches, l)
		}
	}
	for i := range steps {
		a.nameDeepStep(&steps[i])
	}
	return steps
}

// nameDeepStep gives a DeepInfer step the kind and batch of its launch_forward.
func (a *analysis) nameDeepStep(s *stepRange) {
	if len(s.launches) == 0 {
		s.info = stepName{source: "deepinfer", kind: "idle"}
		return
	}
	s.info = stepName{source: "deepinfer", hasN: true, hasB: true}
	s.name, s.names = s.launches[0].name, s.names[:0]
	for _, l := range s.launches {
		x := a.stepName(l.name)
		kind := a.deepKind(x)
		if s.info.kind != "" && s.info.kind != kind {
			kind = "mixed"
		}
		s.info.kind = kind
		s.info.n += x.n
		s.info.b += x.b
		s.cpu = satAdd(s.cpu, l.dur)
		s.names = append(s.names, l.name)
	}
}

// deepKind tells a DeepInfer batch: in a decode step each sequence verifies at most its
// draft tokens and one more.
func (a *analysis) deepKind(x stepName) string {
	if x.b <= x.n*(1+a.nextN) {
		return "decode"
	}
	return "prefill"
}

// namedSteps finds the steps that vLLM and SGLang name with a slice. Nested names are one
// step: the outermost gives the bounds, the one that says most gives kind, N and B.
func (a *analysis) namedSteps(t uint32, rows []*row) []stepRange {
	var steps []stepRange
	for _, x := range rows {
		info := a.stepName(x.name)
		if info.source == "" || info.source == "deepinfer" {
			continue
		}
		if k := len(steps) - 1; k >= 0 && x.ts < steps[k].end {
			s := &steps[k]
			s.names = append(s.names, x.name)
			if says(info) > says(s.info) {
				s.info, s.name = info, x.name
			}
			continue
		}
		steps = append(steps, stepRange{
			track: t, start: x.ts, end: satEnd(x.ts, x.dur), name: x.name, names: []nameID{x.name}, info: info, cpu: x.dur,
		})
	}
	return steps
}

func says(x stepName) (k int) {
	if x.hasN {
		k++
	}
	if x.hasB {
		k++
	}
	if x.kind != "unknown" {
		k++
	}
	return k
}

// work is the GPU work that one step or slice launched.
type work struct {
	kernels, graphKernels int64
	launches, graphs      int64
	compute, comm, copies []span
	first, last           int64
	any                   bool
}

func (w *work) add(a *analysis, g *row, l *row) {
	end := satEnd(g.ts, g.dur)
	if !w.any {
		w.first, w.last, w.any = g.ts, end, true
	} else {
		w.first, w.last = min(w.first, g.ts), max(w.last, end)
	}
	sp := span{g.ts, end}
	switch {
	case g.kind == rowMemcpy || g.kind == rowMemset:
		w.copies = append(w.copies, sp)
		return
	case a.p.names.flags[g.name]&nfComm != 0:
		w.comm = append(w.comm, sp)
	default:
		w.compute = append(w.compute, sp)
	}
	if g.kind == rowKernel {
		w.kernels++
		if g.flags&rowGraph != 0 || a.p.names.flags[l.name]&nfGraph != 0 {
			w.graphKernels++
		}
	}
}

// busy returns the time in which a computing kernel ran, a kernel of any kind, any work.
func (w *work) busy() (compute, kernels, all int64) {
	c := union(w.compute)
	k := merge(c, union(w.comm))
	return total(c), total(k), total(merge(k, union(w.copies)))
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

// interval is a slice in which launches are looked for.
type interval struct {
	start, end int64
	track      uint32
}

// locate returns for every launch the interval that holds its start, -1 for none: on the
// launch's own thread if there is one, else in its process.
func (a *analysis) locate(list []interval) []int32 {
	type key struct {
		id    ident
		track uint32
	}
	by := map[key][]int32{}
	for i, x := range list {
		pid := a.p.tracks.list[x.track].pid
		by[key{ident{}, x.track + 1}] = append(by[key{ident{}, x.track + 1}], int32(i))
		by[key{pid, 0}] = append(by[key{pid, 0}], int32(i))
	}
	for _, l := range by {
		slices.SortStableFunc(l, func(x, y int32) int { return cmp.Compare(list[x].start, list[y].start) })
	}
	find := func(l []int32, ts int64) int32 {
		k, _ := slices.BinarySearchFunc(l, ts, func(i int32, ts int64) int {
			if list[i].start <= ts {
				return -1
			}
			return 1
		})
		if k > 0 && ts < list[l[k-1]].end {
			return l[k-1]
		}
		return -1
	}
	out := make([]int32, len(a.launches))
	for i, x := range a.launches {
		if out[i] = find(by[key{ident{}, x.track + 1}], x.ts); out[i] < 0 {
			out[i] = find(by[key{a.p.tracks.list[x.track].pid, 0}], x.ts)
		}
	}
	return out
}

// workOf sums per interval the GPU work that was launched in it.
func (a *analysis) workOf(list []interval) []work {
	w := make([]work, len(list))
	at := a.locate(list)
	for i, l := range a.launches {
		if k := at[i]; k >= 0 {
			switch f := a.p.names.flags[l.name]; {
			case f&nfGraph != 0:
				w[k].graphs++
			case f&nfLaunch != 0:
				w[k].launches++
			}
		}
	}
	for i, g := range a.gpu {
		if l := a.launchOf[i]; l >= 0 && a.timed(g) {
			if k := at[l]; k >= 0 {
				w[k].add(a, g, a.launches[l])
			}
		}
	}
	return w
}

func (a *analysis) stepWork(steps []stepRange) []work {
	list := make([]interval, len(steps))
	for i, s := range steps {
		list[i] = interval{s.start, s.end, s.track}
	}
	if k := len(list) - 1; k >= 0 && list[k].end < 1<<63-1 {
		list[k].end++ // a launch at the very end of the last step is its own
	}
	return a.workOf(list)
}
