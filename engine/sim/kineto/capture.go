// Package kineto writes traces in the layout of PyTorch's profiler (libkineto).
//
// It has two layers. [Writer] writes single events, byte for byte as Kineto lays them out. On top of it [Write] turns
// descriptions of engine steps into what a profiler would have recorded of a DeepInfer engine: its deepinfer: ranges,
// operators and Python frames, CUDA calls, kernels, copies and collectives, arrows from launches to kernels. [Generate]
// does so for a seeded mix of steps. Both also return a [Truth], counted apart from the file.
package kineto

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strconv"
)

// firstPID is the process of rank 0.
const firstPID = 8113

// capture is one file being written.
type capture struct {
	w     *Writer
	opt   Options
	steps iter.Seq[Step]
	count int // steps, known after the first section
	start int64
	end   int64
	pid   int64
	py    pythonWriter
	truth *counter
}

// Write writes the capture of an engine that took the given steps and returns what it put in. It goes through steps
// several times, once for each section of the file, so the sequence must repeat itself; it is never held as a whole.
func Write(dst io.Writer, opt Options, steps iter.Seq[Step]) (Truth, error) {
	opt, err := opt.normal()
	if err != nil {
		return Truth{}, err
	}
	base, start := opt.clock()
	c := &capture{w: NewWriter(dst), opt: opt, steps: steps, count: -1, start: start, end: start,
		pid: firstPID + int64(opt.Rank), truth: newCounter(start, opt.NextN)}
	c.w.Header(c.header())
	if err := c.events(); err != nil {
		return Truth{}, err
	}
	c.metadata()
	c.w.Window(c.start, c.end)
	c.w.Footer(Footer{TraceName: "/tmp/" + opt.FileName(), BaseTime: base})
	if err := c.w.Close(); err != nil {
		return Truth{}, fmt.Errorf("write trace: %w", err)
	}
	t := c.truth.finish(opt.GPU, c.end)
	t.Start = base + start
	t.Bytes, t.Events, t.Categories = c.w.Bytes(), c.w.Events(), c.w.Slices()
	for _, n := range t.Categories {
		t.Slices += n
	}
	return t, nil
}

// events writes the sections in Kineto's order: CPU events, Python frames, CUDA calls with the GPU's work, GPU images of
// ranges. Each section makes every step's plan anew: planning costs about a thirtieth of writing, and so the file has
// Kineto's order at any number of steps without any step being kept.
func (c *capture) events() error {
	c.py = pythonWriter{w: c.w, pid: c.pid}
	if err := c.section(c.ranges); err != nil {
		return err
	}
	c.py.index = c.py.firstIndex
	c.py.roots(c.start, c.end)
	for _, write := range []func(*plan){c.python, c.device, c.images} {
		if err := c.section(write); err != nil {
			return err
		}
	}
	return nil
}

func (c *capture) section(write func(*plan)) error {
	p := newPlanner(c.opt)
	k := 0
	for s := range c.steps {
		if err := s.check(k); err != nil {
			return err
		}
		write(p.next(k, s))
		k++
		if c.w.err != nil {
			return fmt.Errorf("write trace: %w", c.w.err)
		}
	}
	switch {
	case c.count < 0 && k == 0:
		return errors.New("steps: none given; a capture has at least one")
	case c.count < 0:
		c.count = k
		c.end = p.now + 40_000
	case c.count != k:
		return fmt.Errorf("steps: %d at first, %d when gone through again; the sequence must repeat itself", c.count, k)
	}
	return nil
}

// cut says that a step's GPU work is missing: the profiler stopped before it was done.
func (c *capture) cut(p *plan) bool { return c.opt.ZOS && p.index == c.count-1 }

func (c *capture) on(name string, start, end int64) Span {
	return Span{Name: name, PID: c.pid, TID: c.pid, Start: start, Dur: end - start}
}

// ranges writes a step's annotations and operators.
func (c *capture) ranges(p *plan) {
	for i := range p.spans {
		s := &p.spans[i]
		at, index := c.on(s.name, s.start, s.end), s.external-1
		switch s.kind {
		case isAnnotation:
			c.w.Annotation(at, s.external, index)
		case isOp:
			c.w.Op(at, s.external, index)
		case isComm:
			c.w.Comm(at, s.external, index, s.comm, c.opt.Rank)
		}
		c.py.firstIndex = s.external
	}
}

// python writes a step's Python frames, as many as bring the step to its size.
func (c *capture) python(p *plan) {
	var budget int64 = idleFrames
	if p.step.N > 0 {
		budget = c.opt.BytesPerStep - p.size()
	}
	c.py.step(p, budget)
}

// idleFrames is the size of an idle step's Python frames.
const idleFrames = 16_000

// size estimates what a step takes beside its Python frames.
func (p *plan) size() int64 {
	var n int
	for i := range p.spans {
		s := &p.spans[i]
		n += len(s.name) + 192
		switch {
		case s.comm != nil:
			n += 320
		case s.kind == isAnnotation && s.gpu[rowCompute].end != 0:
			n += len(s.name) + 160
		}
	}
	n += 310 * len(p.calls)
	for i := range p.acts {
		a := &p.acts[i]
		n += len(a.name) + 590
		switch {
		case a.node != 0:
			n += 30
		case a.comm != nil:
			n += 290
		}
	}
	return int64(n)
}

// device writes a step's CUDA calls, each after the GPU's work that it launched, and counts the step.
func (c *capture) device(p *plan) {
	if p.flush.end != 0 {
		c.w.Overhead("Buffer Flush", p.flush.start, p.flush.end-p.flush.start)
	}
	cut := c.cut(p)
	for i := range p.calls {
		cl := &p.calls[i]
		if !cut {
			for j := cl.first; j < cl.first+cl.n; j++ {
				c.act(p, cl, &p.acts[j])
			}
		}
		at := c.on(cl.fn.name, cl.start, cl.start+cl.dur)
		if cl.fn.driver {
			c.w.Driver(at, cl.fn.cbid, cl.correlation, cl.external)
		} else {
			c.w.Runtime(at, cl.fn.cbid, cl.correlation, cl.external)
		}
		switch {
		case cl.n > 0:
			// Kineto also starts or ends flows at calls that launch nothing; those have no partner and are left out.
			c.w.FlowStart(cl.correlation, c.pid, c.pid, cl.start)
		case cl.recorded != 0:
			c.w.Sync(Span{"Event Sync", int64(c.opt.GPU), streamCompute, cl.start, cl.dur}, cl.correlation, cl.recorded, cl.event)
		}
	}
	c.truth.add(p, cut)
}

func (c *capture) act(p *plan, cl *call, a *act) {
	at := Span{a.name, int64(c.opt.GPU), streams[a.row], a.start, a.dur}
	switch {
	case a.kind != nil:
		k := Kernel{Correlation: cl.correlation, External: cl.external, Registers: a.kind.regs, Shared: a.kind.shared,
			Grid: [3]int64{a.grid, a.kind.y, 1}, Block: [3]int64{a.kind.block, 1, 1}}
		if a.comm != nil {
			k.Grid = [3]int64{a.kind.y, 1, 1} // NCCL's blocks are its channels
		}
		if a.node != 0 {
			k.Graph, k.Node = p.graph, a.node
		} else {
			k.Collective = a.comm // known from the call around the launch, which a replay has not
		}
		c.w.Kernel(at, &k)
	case a.fill:
		c.w.Memset(at, a.bytes, cl.correlation, cl.external)
	default:
		c.w.Memcpy(at, a.bytes, cl.correlation, cl.external)
	}
	c.w.FlowEnd(cl.correlation, at.PID, at.TID, at.Start)
}

// images writes the GPU images of a step's ranges, one on each stream that they put work on.
func (c *capture) images(p *plan) {
	if c.cut(p) {
		return
	}
	for i := range p.spans {
		s := &p.spans[i]
		for row, g := range s.gpu {
			if g.end != 0 {
				c.w.Mirror(Span{s.name, int64(c.opt.GPU), streams[row], g.start, g.end - g.start}, s.external)
			}
		}
	}
}

// gpuProcesses is how many GPUs Kineto names in every file, whatever the machine has.
const gpuProcesses = 16

func (c *capture) metadata() {
	w, ts := c.w, c.start+200_000
	process := func(pid int64, labels string, sort int64) {
		w.ProcessName(pid, ts, "python3")
		w.ProcessLabels(pid, ts, labels)
		w.ProcessSortIndex(pid, ts, sort)
	}
	thread := func(pid, tid int64, name string) {
		w.ThreadName(pid, tid, ts, name)
		w.ThreadSortIndex(pid, tid, ts, tid)
	}
	process(c.pid, "CPU", c.pid)
	for g := range int64(gpuProcesses) {
		process(g, "GPU "+strconv.FormatInt(g, 10), 5_000_000+g)
	}
	for _, s := range streams {
		thread(int64(c.opt.GPU), s, "stream "+strconv.FormatInt(s, 10)+" ")
	}
	for _, tid := range []int64{c.pid, c.pid + loggerThread} {
		thread(c.pid, tid, "thread "+strconv.FormatInt(tid, 10)+" (python3)")
	}
}

func (c *capture) header() Header {
	h := Header{Cupti: 26, CudaRuntime: 12080, CudaDriver: 12080, Rank: c.opt.Rank, WorldSize: c.opt.WorldSize, NCCL: "2.26.2"}
	for range 8 {
		h.Devices = append(h.Devices, Device{Name: "NVIDIA H200", TotalMemory: 150_110_011_392, Major: 9, SMs: 132})
	}
	ranks := make([]int, c.opt.WorldSize)
	for i := range ranks {
		ranks[i] = i
	}
	h.Groups = []Group{{"0", "default_pg", ranks}, {"3", "cp", ranks}}
	r := rand.New(rand.NewPCG(c.opt.Seed, 1<<32))
	id := fmt.Sprintf("%016X%016X", r.Uint64(), r.Uint64())
	h.TraceID = id
	return h
}
