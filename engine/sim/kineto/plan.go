package kineto

import "math/rand/v2"

// Rows on the device.
const (
	streamCompute = 7  // also copies, in order with the kernels
	streamComm    = 31 // NCCL's own
)

var streams = [...]int64{streamCompute, streamComm}

const (
	rowCompute = iota
	rowComm
)

// stretch is a time from the first start to the last end; empty when end is 0.
type stretch struct{ start, end int64 }

type spanKind uint8

const (
	isAnnotation spanKind = iota
	isOp
	isComm
)

// span is an annotation or an operator on the engine's thread.
type span struct {
	name       string
	kind       spanKind
	parent     int32 // the annotation around it, -1 for none
	start, end int64
	inner      int64 // annotations: time of those directly inside
	external   uint64
	comm       *Collective
	gpu        [len(streams)]stretch // annotations: the work launched inside
}

// frame is a Python frame around other events; those that only fill time are made when written.
type frame struct {
	name       string
	start, end int64
}

// hole is a time without any other event, for Python frames to fill.
type hole struct {
	start, end int64
	trees      forest
}

// call is a CUDA call on the engine's thread with the work that it put on the GPU.
type call struct {
	fn          *function
	start, dur  int64
	correlation uint64
	external    uint64
	first, n    int
	recorded    uint64 // a synchronisation: the correlation of the event's record, and the event
	event       uint64
}

// act is a kernel, a copy or a fill on the GPU.
type act struct {
	kind       *kernelKind // nil for copies and fills
	name       string
	start, dur int64
	row        int
	bytes      int64 // copies and fills
	fill       bool
	grid       int64
	node       uint64
	comm       *Collective
}

// plan is everything that happens in one step. The writer makes the same plan once for each section of the file.
type plan struct {
	step       Step
	index      int
	start, end int64 // on the engine's thread, the pause after it not included
	graph      uint64
	forward    int32 // index of the forward's annotation, -1 without
	spans      []span
	frames     []frame
	holes      []hole
	calls      []call
	acts       []act
	flush      stretch // the profiler's own time, if any
}

// planner turns steps into plans, one after another, on one clock for the CPU and one for each row of the device.
type planner struct {
	plan
	opt    Options
	r      *rand.Rand
	now    int64
	gpu    [len(streams)]int64 // when each row is free
	record uint64              // external ids given out so far
	corr   uint64              // correlations
	event  uint64              // CUDA events
	open   []int32             // annotations around the present moment
	op     uint64              // external id of the innermost operator
	owed   result              // ZOS: what the next step post-processes
	group  *Group
	colls  map[collKey]*Collective
}

type collKey struct {
	kind *commKind
	b    int
}

// result is a sampled batch on its way to the CPU.
type result struct {
	ready    int64
	recorded uint64
	event    uint64
	n        int
}

func newPlanner(opt Options) *planner {
	_, start := opt.clock()
	p := &planner{opt: opt, now: start, colls: make(map[collKey]*Collective)}
	p.now += 62_000 // the profiler starts a moment before the step
	p.corr = 20 + opt.Seed%1000
	p.group = &Group{Name: "3", Description: "cp", Ranks: make([]int, opt.WorldSize)}
	for i := range p.group.Ranks {
		p.group.Ranks[i] = i
	}
	return p
}

// about draws a time around mean.
func (p *planner) about(mean int64) int64 { return mean*7/8 + p.r.Int64N(mean/4+1) }

// work passes time that Python frames fill.
func (p *planner) work(mean int64, trees forest) {
	d := p.about(mean)
	p.holes = append(p.holes, hole{p.now, p.now + d, trees})
	p.now += d
}

// annotate runs body inside a record_function range.
func (p *planner) annotate(name string, body func()) int32 {
	parent := int32(-1)
	if len(p.open) > 0 {
		parent = p.open[len(p.open)-1]
	}
	i := int32(len(p.spans))
	p.spans = append(p.spans, span{name: name, parent: parent, start: p.now, external: p.nextRecord()})
	p.open = append(p.open, i)
	p.now += 300
	body()
	p.now += 300
	p.open = p.open[:len(p.open)-1]
	p.spans[i].end = p.now
	if parent >= 0 {
		p.spans[parent].inner += p.now - p.spans[i].start
	}
	p.now += 100
	return i
}

// operate runs body inside a chain of operators, outermost first.
func (p *planner) operate(names []string, comm *Collective, body func()) {
	if len(names) == 0 {
		body()
		return
	}
	outer, kind := p.op, isOp
	if comm != nil && len(names) == 1 {
		kind = isComm
	}
	i := len(p.spans)
	p.spans = append(p.spans, span{name: names[0], kind: kind, parent: -1, start: p.now, external: p.nextRecord(), comm: comm})
	p.op = p.spans[i].external
	p.now += p.about(1500)
	p.operate(names[1:], comm, body)
	p.now += p.about(500)
	p.spans[i].end = p.now
	p.op = outer
	p.now += 100
}

// python runs body inside a Python frame.
func (p *planner) python(name string, body func()) {
	i := len(p.frames)
	p.frames = append(p.frames, frame{name: name, start: p.now})
	p.now += 100
	body()
	p.now += 100
	p.frames[i].end = p.now
	p.now += 100
}

func (p *planner) nextRecord() uint64 {
	p.record++
	return p.record
}

// call makes a CUDA call; put is what it puts on the GPU.
func (p *planner) call(fn *function, mean int64, put func(c *call)) *call {
	p.corr += 1 + p.r.Uint64N(5) // other calls, not traced, take numbers too
	i := len(p.calls)
	p.calls = append(p.calls, call{fn: fn, start: p.now, dur: p.about(mean), correlation: p.corr, external: p.op, first: len(p.acts)})
	c := &p.calls[i]
	if put != nil {
		put(c)
		c.n = len(p.acts) - c.first
	}
	p.now += c.dur + 200
	return c
}

// put places one activity on a row of the device, not before the given time, and in every open annotation's image.
func (p *planner) put(a act, notBefore int64) *act {
	a.start = max(p.gpu[a.row], notBefore)
	p.gpu[a.row] = a.start + a.dur
	for _, i := range p.open {
		g := &p.spans[i].gpu[a.row]
		if g.end == 0 {
			g.start = a.start
		}
		g.end = max(g.end, a.start+a.dur)
	}
	p.acts = append(p.acts, a)
	return &p.acts[len(p.acts)-1]
}

// collective returns the description of a collective over b tokens; the same for the same, since a trace has many.
func (p *planner) collective(k *commKind, b int) *Collective {
	key := collKey{k, b}
	c := p.colls[key]
	if c == nil {
		const hidden = 7168
		in := int64(b) * hidden
		c = &Collective{Name: k.name, DType: "BFloat16", In: in, Out: in, Group: p.group}
		switch k.out {
		case outTimesWorld:
			c.In /= int64(p.opt.WorldSize)
		case outOverWorld:
			c.Out /= int64(p.opt.WorldSize)
		}
		p.colls[key] = c
	}
	return c
}
