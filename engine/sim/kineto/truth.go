package kineto

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Truth is what a capture has in it, counted while it was made and not read back from the file, so that readers can be
// tested against it. Times are integer nanoseconds. Keys are those of the summary where the meaning is the same.
type Truth struct {
	Bytes      int64            `json:"bytes"`
	Start      int64            `json:"start_ns"` // Unix time of the first slice
	Span       int64            `json:"span_ns"`  // from there to the last end, the profiler's own slice and GPU images of ranges left out
	Events     int64            `json:"events"`
	Slices     int64            `json:"slices"`
	Unresolved int64            `json:"unresolved"` // flow starts without end: launches whose GPU work is missing
	Categories map[string]int64 `json:"categories"`
	Phases     []PhaseTruth     `json:"phases"` // by name
	Shapes     []ShapeTruth     `json:"shapes"` // by name
	// Steps are the first 100,000 steps; StepCount counts all.
	Steps     []StepTruth   `json:"steps"`
	StepCount int64         `json:"step_count"`
	Devices   []DeviceTruth `json:"devices"`
	Kernels   []KernelTruth `json:"kernels"` // by total time, descending, then by name
	Graph     GraphTruth    `json:"graph"`
}

// PhaseTruth is one CPU annotation by its full name; Self is Total less the annotations directly inside.
type PhaseTruth struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Total int64  `json:"total_ns"`
	Self  int64  `json:"self_ns"`
	Max   int64  `json:"max_ns"`
}

// ShapeTruth is one forward shape. Kernels counts those launched inside its forwards, over all of them.
type ShapeTruth struct {
	Name     string `json:"name"`
	N        int    `json:"n"`
	B        int    `json:"b"`
	Count    int64  `json:"count"`
	CPUTotal int64  `json:"cpu_total_ns"`
	Kernels  int64  `json:"kernels"`
	Replays  int64  `json:"replays"`
	Misses   int64  `json:"misses"`
}

// StepTruth is one engine step, from the start of its schedule range to that of the next; Start counts from the trace's
// start. Name is that of the forward, empty for an idle step. Kernels are those launched in the step and in the file.
type StepTruth struct {
	Index   int    `json:"index"`
	Name    string `json:"name"`
	Kind    string `json:"kind"` // decode, prefill or idle
	N       int    `json:"n"`
	B       int    `json:"b"`
	Start   int64  `json:"start_ns"`
	Dur     int64  `json:"dur_ns"`
	Graph   string `json:"graph"` // replay, miss, or none for an idle step
	Kernels int64  `json:"kernels"`
}

// DeviceTruth is the work of one GPU. Busy is the union of kernels, copies and fills, Idle what is left between the first
// start and the last end, Copy the union of copies and fills, Comm that of communication kernels, Compute that of the other
// kernels, and ExposedComm the part of Comm beside no compute kernel.
type DeviceTruth struct {
	ID          int   `json:"id"`
	Kernels     int64 `json:"kernels"`
	Sum         int64 `json:"sum_ns"`
	Busy        int64 `json:"busy_ns"`
	Idle        int64 `json:"idle_ns"`
	Copy        int64 `json:"copy_ns"`
	Comm        int64 `json:"comm_ns"`
	Compute     int64 `json:"compute_ns"`
	ExposedComm int64 `json:"exposed_comm_ns"`
	Streams     int   `json:"streams"`
}

// KernelTruth is all kernels of one name.
type KernelTruth struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Total int64  `json:"total_ns"`
	Max   int64  `json:"max_ns"`
}

// GraphTruth is what graph launches ran: Kernels of them with Kernel time.
type GraphTruth struct {
	Launches int64 `json:"launches"`
	Kernels  int64 `json:"kernels"`
	Kernel   int64 `json:"kernel_ns"`
}

const maxTruthSteps = 100_000

// counter gathers a Truth from plans.
type counter struct {
	t       Truth
	origin  int64 // trace clock at the trace's start
	nextN   int
	phases  map[string]*PhaseTruth
	shapes  map[string]*ShapeTruth
	kernels map[string]*KernelTruth
	pending *StepTruth // the step before; it ends where the next begins
	lastEnd int64      // end of the last engine range
	gpuEnd  int64
	gpuFrom int64
	used    [len(streams)]bool

	busy, copies, comm, compute, allKernels union
}

func newCounter(origin int64, nextN int) *counter {
	return &counter{origin: origin, nextN: nextN, gpuFrom: -1,
		phases: map[string]*PhaseTruth{}, shapes: map[string]*ShapeTruth{}, kernels: map[string]*KernelTruth{}}
}

// add counts a step; cut says that its GPU work is not in the file.
func (c *counter) add(p *plan, cut bool) {
	for i := range p.spans {
		if s := &p.spans[i]; s.kind == isAnnotation {
			t := entry(c.phases, s.name)
			d := s.end - s.start
			t.Name = s.name
			t.Count++
			t.Total += d
			t.Self += d - s.inner
			t.Max = max(t.Max, d)
		}
	}
	kernels := c.device(p, cut)
	c.step(p, kernels)
	if p.forward < 0 {
		return
	}
	f := &p.spans[p.forward]
	s := entry(c.shapes, f.name)
	s.Name, s.N, s.B = f.name, p.step.N, p.step.B
	s.Count++
	s.CPUTotal += f.end - f.start
	if p.step.Replay {
		s.Replays++
	} else {
		s.Misses++
	}
	for i := range p.calls {
		if cl := &p.calls[i]; !cut && cl.start >= f.start && cl.start < f.end {
			s.Kernels += int64(cl.n) // nothing but kernels is launched in a forward
		}
	}
}

// device counts a step's GPU work and returns its kernels.
func (c *counter) device(p *plan, cut bool) (kernels int64) {
	for i := range p.calls {
		cl := &p.calls[i]
		if cl.fn == graphLaunch {
			c.t.Graph.Launches++
		}
		if cut {
			if cl.n > 0 {
				c.t.Unresolved++
			}
			continue
		}
		for j := cl.first; j < cl.first+cl.n; j++ {
			a := &p.acts[j]
			c.act(a)
			if a.kind == nil {
				continue
			}
			kernels++
			if cl.fn == graphLaunch {
				c.t.Graph.Kernels++
				c.t.Graph.Kernel += a.dur
			}
		}
	}
	for _, u := range [...]*union{&c.busy, &c.copies, &c.comm, &c.compute, &c.allKernels} {
		u.settle(p.start)
	}
	return kernels
}

func (c *counter) act(a *act) {
	end := a.start + a.dur
	if c.gpuFrom < 0 || a.start < c.gpuFrom {
		c.gpuFrom = a.start
	}
	c.gpuEnd = max(c.gpuEnd, end)
	c.used[a.row] = true
	c.busy.add(a.start, end)
	if a.kind == nil {
		c.copies.add(a.start, end)
		return
	}
	k := entry(c.kernels, a.name)
	k.Name = a.name
	k.Count++
	k.Total += a.dur
	k.Max = max(k.Max, a.dur)
	c.allKernels.add(a.start, end)
	if a.comm != nil {
		c.comm.add(a.start, end)
	} else {
		c.compute.add(a.start, end)
	}
}

// step closes the step before and opens this one.
func (c *counter) step(p *plan, kernels int64) {
	start := p.spans[0].start // every step begins with its schedule range
	c.closeStep(start)
	for i := range p.spans {
		if s := &p.spans[i]; s.kind == isAnnotation && s.parent < 0 && strings.HasPrefix(s.name, prefix) {
			c.lastEnd = s.end
		}
	}
	s := &StepTruth{Index: p.index, Kind: "idle", N: p.step.N, B: p.step.B, Start: start - c.origin, Graph: "none", Kernels: kernels}
	if p.forward >= 0 {
		s.Name, s.Kind, s.Graph = p.spans[p.forward].name, "prefill", "miss"
		if p.step.decode(c.nextN) {
			s.Kind = "decode"
		}
		if p.step.Replay {
			s.Graph = "replay"
		}
	}
	c.pending = s
	c.t.StepCount++
}

func (c *counter) closeStep(end int64) {
	if c.pending == nil {
		return
	}
	c.pending.Dur = end - c.origin - c.pending.Start
	if len(c.t.Steps) < maxTruthSteps {
		c.t.Steps = append(c.t.Steps, *c.pending)
	}
	c.pending = nil
}

// finish returns the truth of a capture on one device whose CPU events end at the given time.
func (c *counter) finish(gpu int, cpuEnd int64) Truth {
	c.closeStep(c.lastEnd)
	t := c.t
	t.Span = max(cpuEnd, c.gpuEnd) - c.origin
	t.Phases = sorted(c.phases, func(a, b *PhaseTruth) int { return cmp.Compare(a.Name, b.Name) })
	t.Shapes = sorted(c.shapes, func(a, b *ShapeTruth) int { return cmp.Compare(a.Name, b.Name) })
	t.Kernels = sorted(c.kernels, func(a, b *KernelTruth) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	t.Devices = []DeviceTruth{}
	if c.gpuFrom < 0 {
		return t
	}
	d := DeviceTruth{ID: gpu, Busy: c.busy.total(), Copy: c.copies.total(), Comm: c.comm.total(), Compute: c.compute.total()}
	for _, k := range t.Kernels {
		d.Kernels += k.Count
		d.Sum += k.Total
	}
	d.Idle = c.gpuEnd - c.gpuFrom - d.Busy
	d.ExposedComm = c.allKernels.total() - d.Compute
	for _, u := range c.used {
		if u {
			d.Streams++
		}
	}
	t.Devices = append(t.Devices, d)
	return t
}

func entry[T any](m map[string]*T, name string) *T {
	v := m[name]
	if v == nil {
		v = new(T)
		m[name] = v
	}
	return v
}

func sorted[T any](m map[string]*T, by func(a, b *T) int) []T {
	list := make([]T, 0, len(m))
	for _, v := range slices.SortedFunc(maps.Values(m), by) {
		list = append(list, *v)
	}
	return list
}
