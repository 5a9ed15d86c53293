package kineto

import (
	"math/rand/v2"
	"strconv"
)

const prefix = "deepinfer:"

// next plans one step; the plan is valid until the next one.
func (p *planner) next(k int, s Step) *plan {
	p.r = rand.New(rand.NewPCG(p.opt.Seed, 2+uint64(k)))
	p.plan = plan{
		step: s, index: k, forward: -1,
		spans: p.spans[:0], frames: p.frames[:0], holes: p.holes[:0], calls: p.calls[:0], acts: p.acts[:0],
	}
	if s.Pause > 0 {
		p.now += s.Pause
	} else if k > 0 {
		p.now += p.about(40_000)
	}
	p.start = p.now
	if k%16 == 9 {
		// CUPTI hands its full buffers over now and then.
		p.flush = stretch{p.now + 2_000, p.now + 2_000 + p.about(90_000)}
	}
	p.python(stepFrame, func() {
		if s.N == 0 {
			p.idle()
		} else {
			p.busy(s)
		}
	})
	p.end = p.now
	return &p.plan
}

// idle is a placeholder step: the scheduler finds nothing and the engine waits a little.
func (p *planner) idle() {
	p.schedule(8_000)
	p.finish(p.owed)
	p.owed = result{}
	p.work(30_000, idling)
	p.python("<built-in function sleep>", func() { p.now += p.about(2_000_000) })
}

func (p *planner) busy(s Step) {
	n := int64(s.N)
	p.schedule(250_000 + 9_000*min(n, 256))
	for range s.Requests {
		p.annotate(prefix+"add_request", func() { p.work(110_000, scheduling) })
	}
	p.annotate(prefix+"prepare_input", func() { p.prepare(s) })
	p.annotate(prefix+"broadcast_input_metadata", func() { p.work(420_000, preparing) })
	name := append([]byte(prefix+"launch_forward_N"), strconv.Itoa(s.N)...)
	name = append(name, "_B"...)
	name = strconv.AppendInt(name, int64(s.B), 10)
	p.forward = p.annotate(string(name), func() { p.launchForward(s) })
	var done result
	p.annotate(prefix+"launch_sample", func() { done = p.launchSample(s) })
	if p.opt.ZOS {
		// The CPU goes on to the next step and looks at these results there.
		done, p.owed = p.owed, done
	}
	p.finish(done)
	p.work(25_000, finishing)
}

func (p *planner) schedule(mean int64) {
	p.annotate(prefix+"schedule", func() {
		p.work(mean/4, scheduling)
		p.annotate(prefix+"schedule:cpp", func() { p.now += p.about(mean) })
		p.work(mean/8, scheduling)
		p.annotate(prefix+"schedule:clone", func() { p.work(mean/3, scheduling) })
		p.annotate(prefix+"schedule:post", func() { p.work(mean/4, scheduling) })
	})
}

// prepare builds the batch's tensors and copies them to the device.
func (p *planner) prepare(s Step) {
	bytes := [...]int64{8 * int64(s.B), 8 * int64(s.B), 4 * int64(s.N), 4 * int64(s.N) * 512}
	for _, n := range bytes {
		p.work(500_000, preparing)
		p.operate([]string{"aten::to", "aten::_to_copy", "aten::copy_"}, nil, func() {
			p.call(memcpyAsync, 6_000, func(c *call) {
				p.put(act{name: "Memcpy HtoD (Pinned -> Device)", bytes: n, dur: 900 + n/24}, c.start+p.about(5_000))
			})
		})
	}
	p.work(200_000, preparing)
	p.operate([]string{"aten::zero_"}, nil, func() {
		p.call(memsetAsync, 4_000, func(c *call) {
			p.put(act{name: "Memset (Device)", fill: true, bytes: 4 * int64(s.N), dur: p.about(900)}, c.start+p.about(4_000))
		})
	})
}

// launchSample launches the sampler and the copy of its tokens, and records the event that tells of their arrival.
func (p *planner) launchSample(s Step) (done result) {
	done.n = s.N
	for i := range sampling {
		k := &sampling[i]
		p.work(120_000, forwarding)
		p.launch(k, s, p.about(k.weight*200))
	}
	p.work(60_000, forwarding)
	p.operate([]string{"aten::to", "aten::_to_copy", "aten::copy_"}, nil, func() {
		p.call(memcpyAsync, 6_000, func(c *call) {
			n := 8 * int64(s.B)
			a := p.put(act{name: "Memcpy DtoH (Device -> Pinned)", bytes: n, dur: 1_200 + n/20}, c.start+p.about(5_000))
			done.ready = a.start + a.dur
		})
	})
	p.event++
	done.event = p.event
	done.recorded = p.call(eventRecord, 1_500, nil).correlation
	return done
}

// finish post-processes a sampled batch; without one nothing happens.
func (p *planner) finish(r result) {
	if r.n == 0 {
		return
	}
	n := int64(min(r.n, 256))
	p.annotate(prefix+"worker.post_process", func() {
		p.work(140_000, finishing)
		p.annotate(prefix+"worker.post_process.sync", func() { p.await(r, 9_000) })
		p.work(200_000+4_000*n, finishing)
	})
	p.annotate(prefix+"pre_sampler_sync", func() { p.await(r, 3_000) })
	p.annotate(prefix+"process_model_outputs", func() { p.work(300_000+15_000*n, finishing) })
	p.annotate(prefix+"build_request_outputs", func() { p.work(200_000+14_000*n, finishing) })
}

// await blocks until a batch has arrived, and a moment longer.
func (p *planner) await(r result, moment int64) {
	c := p.call(eventSync, moment, nil)
	c.recorded, c.event = r.recorded, r.event
	if wake := r.ready + p.about(moment); wake > c.start+c.dur {
		p.now += wake - (c.start + c.dur)
		c.dur = wake - c.start
	}
}
