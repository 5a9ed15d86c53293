package trace

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// maxTreeNodes caps the nesting that is shown; hostile files nest a new name each time.
const (
	maxTreeNodes = 20_000
	maxTreeDepth = 200
)

// gather collects the durations of one phase or tree node.
type gather struct {
	name      nameID
	durs      []int64
	total     int64
	self      int64
	threads   int
	lastTrack uint32
	children  map[nameID]int // tree: node by name
	order     []int
	depth     int
	track     uint32
}

func (g *gather) add(dur int64) {
	g.durs = append(g.durs, dur)
	g.total = satAdd(g.total, dur)
	g.self = satAdd(g.self, dur)
}

type openSlice struct {
	end        int64
	flat, node int
}

// sumPhases sums the CPU annotations by name and by their place in each thread's nesting.
// A slice's children are the annotations that begin inside it on the same thread; what
// they cover of it is not its own time.
func (a *analysis) sumPhases() {
	var flat, nodes []*gather
	byName := map[nameID]int{}
	var roots []int
	rootOf := map[nameID]int{}
	var stack []openSlice
	for i, x := range a.annotations {
		if i == 0 || a.annotations[i-1].track != x.track {
			stack, rootOf = stack[:0], map[nameID]int{}
		}
		end := satEnd(x.ts, x.dur)
		for len(stack) > 0 && stack[len(stack)-1].end <= x.ts {
			stack = stack[:len(stack)-1]
		}
		fi, ok := byName[x.name]
		if !ok {
			fi = len(flat)
			byName[x.name] = fi
			flat = append(flat, &gather{name: x.name})
		}
		f := flat[fi]
		if f.threads == 0 || f.lastTrack != x.track {
			f.threads, f.lastTrack = f.threads+1, x.track
		}
		f.add(x.dur)
		parent := -1
		if len(stack) > 0 {
			top := &stack[len(stack)-1]
			covered := min(end, top.end) - x.ts
			flat[top.flat].self -= covered
			if top.node >= 0 {
				nodes[top.node].self -= covered
			}
			parent = top.node
		}
		ni := -1
		switch {
		case parent >= 0:
			p := nodes[parent]
			if n, ok := p.children[x.name]; ok {
				ni = n
			} else if len(nodes) < maxTreeNodes {
				ni = len(nodes)
				if p.children == nil {
					p.children = map[nameID]int{}
				}
				p.children[x.name] = ni
				p.order = append(p.order, ni)
				nodes = append(nodes, &gather{name: x.name, depth: p.depth + 1, track: x.track})
			}
		case len(stack) == 0:
			if n, ok := rootOf[x.name]; ok {
				ni = n
			} else if len(nodes) < maxTreeNodes {
				ni = len(nodes)
				rootOf[x.name] = ni
				roots = append(roots, ni)
				nodes = append(nodes, &gather{name: x.name, track: x.track})
			}
		}
		if ni >= 0 {
			nodes[ni].add(x.dur)
		}
		stack = append(stack, openSlice{end, fi, ni})
	}
	if a.p.over.rows == 0 && len(flat) > maxPhaseList { // before each gets its percentiles: memory
		sortBy(flat, func(x, y **gather) int {
			return cmp.Or(cmp.Compare((*y).total, (*x).total), cmp.Compare(a.p.names.str((*x).name), a.p.names.str((*y).name)))
		})
		flat = cut(a, flat, maxPhaseList)
	}
	for _, f := range flat {
		a.s.Phases = append(a.s.Phases, Phase{a.stats(f), f.threads})
	}
	a.addSummed(byName)
	a.treeCapped = len(nodes) >= maxTreeNodes
	sortBy(a.s.Phases, func(x, y *Phase) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name))
	})
	a.s.Phases = cut(a, a.s.Phases, maxPhaseList)
	a.writeTree(nodes, roots)
}

// addSummed brings in the annotations beyond the row cap, which are only summed: count,
// total, mean and longest cover the whole file all the same.
func (a *analysis) addSummed(byName map[nameID]int) {
	if a.p.over.rows == 0 {
		return
	}
	for _, agg := range a.p.annotations.list {
		i, ok := byName[agg.name]
		if !ok {
			name := a.p.names.str(agg.name)
			i = len(a.s.Phases)
			s := Stats{Name: name}
			if a.p.names.flags[agg.name]&nfDeepInfer != 0 {
				s.Prefix = deepInferPrefix
			}
			s.PhaseGroup = phaseGroup(name[len(s.Prefix):])
			a.s.Phases = append(a.s.Phases, Phase{Stats: s})
		}
		if p := &a.s.Phases[i]; agg.count > p.Count {
			p.Count, p.Total, p.Max, p.Mean = agg.count, agg.total, agg.max, agg.total/agg.count
		}
	}
}

// writeTree lists the nodes in pre-order, threads by their annotated time.
func (a *analysis) writeTree(nodes []*gather, roots []int) {
	threadTotal := map[uint32]int64{}
	for _, r := range roots {
		threadTotal[nodes[r].track] = satAdd(threadTotal[nodes[r].track], nodes[r].total)
	}
	byTotal := func(x, y *int) int {
		return cmp.Or(cmp.Compare(nodes[*y].total, nodes[*x].total), cmp.Compare(a.p.names.str(nodes[*x].name), a.p.names.str(nodes[*y].name)))
	}
	sortBy(roots, func(x, y *int) int {
		tx, ty := nodes[*x].track, nodes[*y].track
		return cmp.Or(cmp.Compare(threadTotal[ty], threadTotal[tx]), cmp.Compare(tx, ty), byTotal(x, y))
	})
	threadAt := map[uint32]int{}
	var walk func(int)
	walk = func(i int) {
		n := nodes[i]
		t, ok := threadAt[n.track]
		if !ok {
			t = len(a.s.Threads)
			threadAt[n.track] = t
			a.s.Threads = append(a.s.Threads, a.thread(n.track))
		}
		a.s.Tree = append(a.s.Tree, TreeNode{a.stats(n), t, n.depth})
		sortBy(n.order, byTotal)
		for _, c := range n.order {
			if nodes[c].depth >= maxTreeDepth { // recursion stays shallow, whatever the file nests
				a.treeCapped = true
				continue
			}
			walk(c)
		}
	}
	for _, r := range roots {
		walk(r)
	}
}

// stats works out the figures of a set of durations.
func (a *analysis) stats(g *gather) Stats {
	slices.Sort(g.durs)
	n := len(g.durs)
	s := Stats{
		Count: int64(n), Total: g.total, Self: g.self, Min: g.durs[0], Mean: g.total / int64(n), Max: g.durs[n-1],
		Kept: true, P50: rank(g.durs, 50), P95: rank(g.durs, 95), P99: rank(g.durs, 99), Name: a.p.names.str(g.name),
	}
	if strings.HasPrefix(s.Name, deepInferPrefix) {
		s.Prefix = deepInferPrefix
	}
	s.PhaseGroup = phaseGroup(s.Name[len(s.Prefix):])
	if a.stepTotal > 0 {
		s.SharePPM = some(ppm(s.Total, a.stepTotal))
	}
	lo, hi := halfOctave(s.Min), halfOctave(s.Max)
	s.HistFirst, s.Hist = lo, make([]int64, hi-lo+1)
	for _, d := range g.durs {
		s.Hist[halfOctave(d)-lo]++
	}
	return s
}

// halfOctave is the histogram bucket of a duration: bucket 2k begins at 2^k ns, bucket
// 2k+1 at 1.5 × 2^k ns; 0 and 1 ns share bucket 0.
func halfOctave(d int64) int {
	if d < 2 {
		return 0
	}
	k := bits.Len64(uint64(d)) - 1
	return 2*k + int(d>>(k-1))&1
}

// ppm returns part ÷ whole × 10^6, rounded down, without overflow.
func ppm(part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(part), 1e6)
	if hi >= uint64(whole) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(min(q, 1<<63-1))
}

// phaseGroup sorts an annotation into the groups of the engine's contract.
func phaseGroup(name string) string {
	switch {
	case name == "schedule", strings.HasPrefix(name, "schedule:"), name == "add_request", name == "multi_modal_fetch",
		strings.HasPrefix(name, "scheduler."), name == "gpu_model_runner: preprocess":
		return "scheduling"
	case name == "prepare_input", name == "broadcast_input_metadata", name == "launch_sample",
		strings.HasPrefix(name, "launch_forward"), name == "gpu_model_runner: forward", name == "gpu_model_runner: sample":
		return "execution"
	case strings.HasPrefix(name, "worker.post_process"), name == "pre_sampler_sync", name == "process_model_outputs",
		name == "build_request_outputs", name == "gpu_model_runner: postprocess", name == "gpu_model_runner: bookkeep",
		strings.HasPrefix(name, "llm_engine step:"):
		return "post-processing"
	}
	if parseStepName(name).source != "" {
		return "execution"
	}
	return "other"
}

// thread describes a thread by the metadata events of its process and its own.
func (a *analysis) thread(t uint32) Thread {
	if a.processNames == nil {
		a.processNames, a.threadNames = map[ident]nameID{}, map[uint32]nameID{}
		for _, m := range a.p.metas { // the last of several wins
			switch m.kind {
			case metaProcessName:
				a.processNames[a.p.tracks.list[m.track].pid] = m.value
			case metaThreadName:
				a.threadNames[m.track] = m.value
			}
		}
	}
	x := a.p.tracks.list[t]
	return Thread{
		PID: a.identText(x.pid), TID: a.identText(x.tid),
		Process: a.p.names.str(a.processNames[x.pid]), Name: a.p.names.str(a.threadNames[t]),
	}
}

func (a *analysis) identText(x ident) string {
	switch x.kind {
	case identNumber:
		return itoa(x.v)
	case identString:
		return a.p.names.str(nameID(x.v))
	}
	return ""
}
