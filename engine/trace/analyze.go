package trace

import (
	"cmp"
	"slices"
)

// AnalyzeOptions are what the file does not say.
type AnalyzeOptions struct {
	Name string // the file's name, as shown
	// NextN is how many draft tokens a decode step may verify per sequence: a DeepInfer
	// batch of B tokens for N sequences is a decode step if B ≤ N × (1 + NextN). 0 stands
	// for 5.
	NextN int64
}

// defaultNextN is DeepInfer's usual number of draft tokens.
const defaultNextN = 5

// analysis holds the joined rows while the summary is made.
type analysis struct {
	p     *Partial
	s     *Summary
	nextN int64

	origin      int64 // start of the timeline, ns as in the file
	end         int64
	hasOrigin   bool
	zerosCount  bool // slices at ts 0 are part of the timeline
	annotations []*row
	launches    []*row
	gpu         []*row // kernels, copies, device events
	matched     []row  // slices made of B and E
	launchOf    []int32
	unfinished  int64
	orphanEnds  int64
	flowEnds    map[[2]uint64]uint64 // (track, ts) → flow id, of old autograd exports
	flowStarts  []*row

	dupLaunches int64
	treeCapped  bool
	listsCut    bool
	stepsLeft   int64 // steps beyond those listed
	stepTotal   int64
	names       map[nameID]stepName

	processNames map[ident]nameID
	threadNames  map[uint32]nameID
}

// Analyze makes the summary of a file that was read whole.
func Analyze(p *Partial, o AnalyzeOptions) *Summary {
	if o.NextN <= 0 {
		o.NextN = defaultNextN
	}
	a := &analysis{p: p, nextN: o.NextN, s: &Summary{
		Name: o.Name, Bytes: p.fileBytes, JSONBytes: p.jsonBytes, Compression: p.compression,
	}}
	a.s.Health = Health{Events: p.events, Slices: p.slices}
	a.sortRows()
	a.matchBegins()
	a.placeTimeline()
	a.sortAnnotations()
	a.link()
	a.findSteps()
	a.sumPhases()
	a.sumDevices()
	a.sumKernels()
	a.sumRest()
	a.findFacts()
	a.judge()
	return a.s
}

// sortRows parts the rows by kind.
func (a *analysis) sortRows() {
	var n [rowFlowEnd + 1]int // lists of the right size: doubling would hold twice the rows
	for i := range a.p.rows.n {
		n[a.p.rows.at(i).kind]++
	}
	a.annotations = make([]*row, 0, n[rowAnnotation])
	a.launches = make([]*row, 0, n[rowLaunch]+n[rowFlowStart])
	a.gpu = make([]*row, 0, n[rowKernel]+n[rowMemcpy]+n[rowMemset]+n[rowDevice])
	for i := range a.p.rows.n {
		x := a.p.rows.at(i)
		switch x.kind {
		case rowAnnotation:
			a.annotations = append(a.annotations, x)
		case rowLaunch:
			a.launches = append(a.launches, x)
		case rowKernel, rowMemcpy, rowMemset, rowDevice:
			a.gpu = append(a.gpu, x)
		case rowFlowStart:
			a.flowStarts = append(a.flowStarts, x)
		case rowFlowEnd:
			if a.flowEnds == nil {
				a.flowEnds = map[[2]uint64]uint64{}
			}
			a.flowEnds[[2]uint64{uint64(x.track), uint64(x.ts)}] = x.corr
		}
	}
}

// matchBegins pairs B and E per thread, in the order of their times, into slices. A B
// without E is unfinished and an E without B an orphan; neither is a slice.
func (a *analysis) matchBegins() {
	var be []*row
	for i := range a.p.rows.n {
		if x := a.p.rows.at(i); x.kind == rowBegin || x.kind == rowEnd {
			be = append(be, x)
		}
	}
	sortBy(be, func(x, y **row) int {
		return cmp.Or(cmp.Compare((*x).track, (*y).track), cmp.Compare((*x).ts, (*y).ts))
	})
	var stack []*row
	cats := append([]category(nil), a.p.cats.list...)
	for i, x := range be {
		if i > 0 && be[i-1].track != x.track {
			a.unfinished += int64(len(stack))
			stack = stack[:0]
		}
		if x.kind == rowBegin {
			stack = append(stack, x)
			continue
		}
		if len(stack) == 0 {
			a.orphanEnds++
			continue
		}
		b := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		m := row{ts: b.ts, dur: x.ts - b.ts, name: b.name, track: b.track, lane: b.lane, kind: rowAnnotation}
		cats[b.lane].count++
		cats[b.lane].total = satAdd(cats[b.lane].total, m.dur)
		a.s.Health.Slices++
		a.matched = append(a.matched, m)
	}
	a.unfinished += int64(len(stack))
	for _, c := range cats {
		if c.count > 0 {
			a.s.Categories = append(a.s.Categories, CategorySum{a.p.names.str(c.name), c.count, c.total})
		}
	}
	sortBy(a.s.Categories, func(x, y *CategorySum) int { return cmp.Compare(x.Name, y.Name) })
	for i := range a.matched {
		m := &a.matched[i]
		if a.p.cats.list[m.lane].class == clsAnnotation || a.p.names.flags[m.name]&nfDeepInfer != 0 {
			a.annotations = append(a.annotations, m)
		}
	}
}

// untimedGap is how far from ts 0 the rest of a timeline must lie for slices at ts 0 to
// count as untimed.
const untimedGap = int64(3600) * 1e9

// placeTimeline finds the reach of the timed slices.
func (a *analysis) placeTimeline() {
	x := a.p.ext
	for _, m := range a.matched {
		if c := a.p.cats.list[m.lane].class; c != clsTrace && c != clsGPUAnnotation {
			x.add(m.ts, m.dur)
		}
	}
	a.zerosCount = x.zeros > 0 && (x.timed == 0 || x.start <= untimedGap)
	if a.zerosCount {
		if x.timed == 0 {
			x.start, x.end = 0, x.zeroEnd
		} else {
			x.start, x.end = min(x.start, 0), max(x.end, x.zeroEnd)
		}
	} else if x.timed == 0 {
		return
	}
	a.origin, a.end, a.hasOrigin = x.start, x.end, true
	a.s.Span = some(spanOf(x.start, x.end))
	const epoch = int64(1e14) * 1000 // a ts of 10^14 µs or more is epoch time
	switch h := a.p.header; {
	case a.origin >= epoch:
		a.s.Start = some(a.origin)
	case h.hasBase && (a.origin < 0 || h.base+a.origin >= h.base):
		a.s.Start = some(h.base + a.origin)
	}
}

func spanOf(s, e int64) int64 {
	if d := e - s; d >= 0 {
		return d
	}
	return 1<<63 - 1
}

// timed reports whether a row lies on the timeline.
func (a *analysis) timed(x *row) bool { return x.ts != 0 || a.zerosCount }

// sortAnnotations orders them per thread, outermost first.
func (a *analysis) sortAnnotations() {
	a.annotations = slices.DeleteFunc(a.annotations, func(x *row) bool { return !a.timed(x) })
	sortBy(a.annotations, func(x, y **row) int {
		return cmp.Or(cmp.Compare((*x).track, (*y).track), cmp.Compare((*x).ts, (*y).ts), cmp.Compare((*y).dur, (*x).dur))
	})
}

// link joins GPU work with the launch that caused it, by correlation; in files without
// correlations by flow. Of several launches with one correlation the outermost wins.
func (a *analysis) link() {
	sortBy(a.launches, func(x, y **row) int {
		return cmp.Or(cmp.Compare((*x).ts, (*y).ts), cmp.Compare((*y).dur, (*x).dur))
	})
	at := make(map[corrKey]int32, len(a.launches))
	for i, l := range a.launches {
		if l.corr == 0 {
			continue
		}
		k := a.corrKey(l)
		if _, ok := at[k]; ok {
			a.dupLaunches++
			continue
		}
		at[k] = int32(i)
	}
	flowAt := map[uint64]int32{}
	for _, f := range a.flowStarts { // a flow's start stands for the launch
		if _, ok := flowAt[f.corr]; !ok {
			flowAt[f.corr] = int32(len(a.launches))
			a.launches = append(a.launches, f)
		}
	}
	used := make([]bool, len(a.launches))
	a.launchOf = make([]int32, len(a.gpu))
	lat := make([]int64, 0, len(a.gpu))
	lk := &a.s.Links
	negative := int64(0)
	for i, g := range a.gpu {
		l := int32(-1)
		if g.corr != 0 {
			if k, ok := at[a.corrKey(g)]; ok {
				l = k
			}
		} else if id, ok := a.flowEnds[[2]uint64{uint64(g.track), uint64(g.ts)}]; ok {
			if k, ok := flowAt[id]; ok {
				l = k
			}
		}
		a.launchOf[i] = l
		if l >= 0 {
			used[l] = true
		}
		switch {
		case g.kind == rowDevice && l >= 0:
			lk.LinkedDevices++
		case g.kind != rowKernel:
		case l < 0:
			lk.UnlinkedKernels++
		default:
			lk.LinkedKernels++
			if d := g.ts - a.launches[l].ts; d < 0 {
				negative++
			} else {
				lat = append(lat, d)
			}
		}
	}
	seen := map[corrKey]bool{}
	for i, l := range a.launches {
		switch f := a.p.names.flags[l.name]; {
		case l.kind == rowFlowStart:
		case f&nfGraph != 0:
			lk.GraphLaunches++
			lk.Launches++
		case f&nfLaunch != 0:
			lk.Launches++
		default:
			continue
		}
		if used[i] || l.kind == rowFlowStart {
			continue
		}
		if l.corr != 0 {
			k := a.corrKey(l)
			if j, ok := at[k]; ok && used[j] || seen[k] {
				continue // the inner one of two launches of the same work
			}
			seen[k] = true
		}
		lk.UnlinkedLaunches++
	}
	if n := len(lat); n > 0 || negative > 0 {
		slices.Sort(lat)
		lk.Latency = &Latency{Count: int64(n), Negative: negative}
		if n > 0 {
			lk.Latency.Min, lk.Latency.Max = lat[0], lat[n-1]
			lk.Latency.P50, lk.Latency.P95, lk.Latency.P99 = rank(lat, 50), rank(lat, 95), rank(lat, 99)
		}
	}
}

// corrKey is a correlation; merged files repeat them per rank.
type corrKey struct {
	corr uint64
	rank nameID
}

func (a *analysis) corrKey(x *row) corrKey {
	return corrKey{x.corr, a.p.tracks.list[x.track].rank}
}

// rank returns the nearest-rank percentile q of sorted, which must not be empty: the
// smallest value with at least q % of the values at or below it.
func rank(sorted []int64, q int) int64 {
	return sorted[(q*len(sorted)+99)/100-1]
}
