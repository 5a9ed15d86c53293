package kineto

// Between two kernels of a graph, and between a launch and its kernel on an idle device, in nanoseconds.
const (
	graphGap   = 700
	launchTime = 5_000
)

// hidden is the share of a collective, in percent, that runs beside the next kernel.
const hidden = 45

// launchForward puts the model on the device: in one call when a graph is replayed, else kernel by kernel.
func (p *planner) launchForward(s Step) {
	total := s.Forward
	if total == 0 {
		total = p.cost(s)
	}
	kernels := int64(p.opt.Layers*len(layer) + len(logits))
	unit := max(total-kernels*graphGap, 0) * 1024 / p.weight() // a weight's time, × 1024
	if !s.Replay {
		p.work(120_000, forwarding)
		p.eachKernel(func(k *kernelKind) {
			p.work(4_000, forwarding)
			p.launch(k, s, p.about(k.weight*unit>>10))
		})
		p.join()
		return
	}
	p.work(550_000, forwarding)
	p.call(driverVersion, 300, nil)
	p.graph = 64 + uint64(s.B)
	node := p.graph << 32 // CUPTI's node ids carry their graph's id in the upper half
	p.call(graphLaunch, 40_000+kernels*150, func(c *call) {
		at := c.start + p.about(c.dur*3/4)
		p.eachKernel(func(k *kernelKind) {
			node++
			p.place(k, s, p.about(k.weight*unit>>10), at, node)
			at = 0
		})
		p.join()
	})
	p.work(350_000, forwarding)
}

// cost is a rough model of a forward's GPU time: weights read once, then tokens.
func (p *planner) cost(s Step) int64 {
	ns := int64(13_000_000) + 21_000*int64(s.B)
	if !s.decode(p.opt.NextN) {
		ns = 9_000_000 + 17_500*int64(s.B)
	}
	return p.about(ns * int64(p.opt.Layers) / defaultLayers)
}

// weight is that of all kernels of a forward, as far as they hold the next one up.
func (p *planner) weight() int64 {
	var sum int64
	p.eachKernel(func(k *kernelKind) {
		if k.comm != nil {
			sum += k.weight * (100 - hidden) / 100
		} else {
			sum += k.weight
		}
	})
	return sum
}

func (p *planner) eachKernel(f func(*kernelKind)) {
	run := func(kinds []kernelKind) {
		for i := range kinds {
			if kinds[i].comm == nil || p.opt.WorldSize > 1 {
				f(&kinds[i])
			}
		}
	}
	for range p.opt.Layers {
		run(layer)
	}
	run(logits)
}

// launch launches one kernel by itself, inside its operators.
func (p *planner) launch(k *kernelKind, s Step, dur int64) {
	p.python("torch/_ops.py(1158): __call__", func() {
		if k.comm == nil {
			p.operate(k.ops, nil, func() { p.launchCall(k, s, dur) })
			return
		}
		p.operate(k.ops, p.collective(k.comm, s.B), func() {
			p.annotate(k.comm.annotation, func() {
				p.call(isCapturing, 300, nil)
				p.call(streamWait, 700, nil)
				p.launchCall(k, s, dur)
			})
		})
	})
}

func (p *planner) launchCall(k *kernelKind, s Step, dur int64) {
	if k.shared > 48<<10 {
		p.call(setAttribute, 400, nil)
	}
	p.call(k.fn, 4_500, func(c *call) { p.place(k, s, dur, c.start+p.about(launchTime), 0) })
}

// place puts a kernel on its row. A collective waits for the kernel before it and holds up the one after it for a part of
// its time only: what comes next needs its first tiles, not all.
func (p *planner) place(k *kernelKind, s Step, dur, notBefore int64, node uint64) {
	a := act{kind: k, name: k.name, dur: max(dur, 1_000), grid: (int64(s.B) + k.rows - 1) / k.rows, node: node}
	notBefore = max(notBefore, p.gpu[rowCompute]+graphGap)
	if k.comm != nil {
		a.row, a.comm = rowComm, p.collective(k.comm, s.B)
	}
	placed := p.put(a, notBefore)
	if k.comm != nil {
		p.gpu[rowCompute] = placed.start + placed.dur*(100-hidden)/100
	}
}

// join lets the compute stream wait for the communication still under way.
func (p *planner) join() { p.gpu[rowCompute] = max(p.gpu[rowCompute], p.gpu[rowComm]) }
