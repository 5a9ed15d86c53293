package trace

import (
	"cmp"
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
	last       bool // of its thread
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
	var launches []*row // launch_forward slices
	scheduled := map[ident]bool{}
	a.trackRuns(func(t uint32, rows []*row) {
		for _, x := range rows {
			if a.stepName(x.name).source == "deepinfer" {
				launches = append(launches, x)
			}
			if a.p.names.str(x.name) == "deepinfer:schedule" {
				scheduled[a.p.tracks.list[t].pid] = true
			}
		}
	})
	a.trackRuns(func(t uint32, rows []*row) {
		steps = append(steps, a.deepSteps(t, rows, scheduled[a.p.tracks.list[t].pid])...)
	})
	a.assignForwards(steps, launches)
	a.trackRuns(func(t uint32, rows []*row) {
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
	if n := len(steps) - maxStepList; n > 0 {
		a.stepsLeft, steps = int64(n), steps[:maxStepList]
	}
	work := a.workOf(intervals(steps))
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
		s.Launch, s.GraphLaunch, s.GraphTime = w.launches, w.graphs, w.graphTime
		s.GraphKernel, s.KernelTime = w.graphKernels, w.kernelTime
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

// deepSteps finds the bounds of the DeepInfer steps of one thread.
func (a *analysis) deepSteps(t uint32, rows []*row, scheduled bool) []stepRange {
	var steps []stepRange
	var last, inSchedule int64
	for _, x := range rows {
		forward := a.stepName(x.name).source == "deepinfer"
		if forward || a.p.names.flags[x.name]&nfDeepInfer != 0 {
			last = max(last, satEnd(x.ts, x.dur))
		}
		begins := forward
		if scheduled {
			begins = a.p.names.str(x.name) == "deepinfer:schedule" && (len(steps) == 0 || x.ts >= inSchedule)
			if begins {
				inSchedule = satEnd(x.ts, x.dur)
			}
		}
		if !begins {
			continue
		}
		if k := len(steps); k > 0 {
			steps[k-1].end = x.ts
		}
		steps = append(steps, stepRange{track: t, start: x.ts, names: []nameID{x.name}, name: x.name, deep: true})
	}
	if k := len(steps) - 1; k >= 0 {
		steps[k].end = max(last, steps[k].start)
		steps[k].last = true
	}
	return steps
}

// assignForwards gives each launch_forward to the one step that holds its start, and each
// step its kind and batch.
func (a *analysis) assignForwards(steps []stepRange, launches []*row) {
	f := a.finder(intervals(steps))
	for _, l := range launches {
		if i := f.find(l.track, l.ts); i >= 0 {
			steps[i].launches = append(steps[i].launches, l)
		}
	}
	for i := range steps {
		sortBy(steps[i].launches, func(x, y **row) int { return cmp.Compare((*x).ts, (*y).ts) })
		a.nameDeepStep(&steps[i])
	}
}

// intervals are the steps' bounds. What begins at the very end of a thread's last step is
// that step's.
func intervals(steps []stepRange) []interval {
	list := make([]interval, len(steps))
	for i, s := range steps {
		list[i] = interval{s.start, s.end, s.track}
		if s.last && s.end < 1<<63-1 {
			list[i].end++
		}
	}
	return list
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
