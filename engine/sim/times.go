package sim

import "time"

// times is how long the parts of one step take, in nanoseconds.
type times struct {
	schedule, add, prepare, broadcast, launch, sample int64
	sync, post, outputs, build                        int64
	forward, total                                    int64
}

// CPU time of the phases of a step, in nanoseconds: what the engine's thread needs beside the GPU while it is profiled. The
// traces of the simulated engine are laid out with about the same times.
const (
	cpuIdle        = 18_000
	idleWait       = 2_000_000
	cpuSchedule    = 500_000 // and for each sequence
	cpuScheduleSeq = 18_000
	cpuAdd         = 110_000 // for each request
	cpuPrepare     = 2_300_000
	cpuBroadcast   = 432_000
	cpuReplay      = 1_040_000
	cpuEager       = 10_100_000
	cpuSample      = 1_100_000
	gpuSample      = 200_000
	cpuPost        = 350_000
	cpuPostSeq     = 4_000
	cpuOutputs     = 300_000
	cpuOutputsSeq  = 15_000
	cpuBuild       = 200_000
	cpuBuildSeq    = 14_000
	manySeqs       = 256     // from here the work per sequence is done in bulk
	stepPause      = 40_000  // between two steps
	launchLead     = 500_000 // of the launch that the GPU's work does not overlap
	wakeUp         = 10_000  // from the sampling event to the CPU's going on
)

// unprofiled is the share of the CPU's time that is left when no profiler looks on.
const unprofiled = 0.75

// times lays a step out: the CPU prepares and launches, the GPU runs, the CPU waits for the sampled tokens and processes
// them. Under zero-overhead scheduling the tokens waited for are those of the step before, so CPU and GPU overlap, and the
// slower one sets the pace.
func (e *Engine) times(b *batch, imbalance float64) times {
	scale := e.price.about(1)
	if !e.recorder.on {
		scale *= unprofiled
	}
	cpu := func(ns int64) int64 { return int64(float64(ns) * scale) }
	t := times{add: cpu(cpuAdd) * int64(b.joined)}
	if len(b.seqs) == 0 {
		t.schedule = cpu(cpuIdle)
		t.total = t.schedule + t.add + idleWait
		return t
	}
	n := int64(min(len(b.seqs), manySeqs))
	t.forward = e.price.forward(b, imbalance)
	t.schedule = cpu(cpuSchedule + n*cpuScheduleSeq)
	t.prepare, t.broadcast, t.sample = cpu(cpuPrepare), cpu(cpuBroadcast), cpu(cpuSample)
	t.launch = cpu(cpuEager)
	if b.replay {
		t.launch = cpu(cpuReplay)
	}
	t.post, t.outputs, t.build = cpu(cpuPost+n*cpuPostSeq), cpu(cpuOutputs+n*cpuOutputsSeq), cpu(cpuBuild+n*cpuBuildSeq)

	before := t.schedule + t.add + t.prepare + t.broadcast
	after := t.post + t.outputs + t.build
	if e.cfg.Deployment.ZOS {
		busy := before + t.launch + t.sample + after
		t.sync = max(t.forward+gpuSample-busy, 0) + wakeUp
		t.total = busy + t.sync
		return t
	}
	launched := before + t.launch + t.sample
	sampled := max(before+launchLead+t.forward, before+t.launch) + gpuSample
	t.sync = max(sampled-launched, 0) + wakeUp
	t.total = launched + t.sync + after
	return t
}

// time books a step's parts on the ledger's timers. CUDA events are read when they are known to be over: the times of a
// step's GPU work appear some steps later.
func (e *Engine) time(b *batch, t *times) {
	cpu := &e.ledger.CPU
	cpu.Add("engine_step", time.Duration(t.total))
	cpu.Add("schedule", time.Duration(t.schedule))
	cpu.Add("schedule:cpp", time.Duration(t.schedule*51/100))
	cpu.Add("schedule:clone", time.Duration(t.schedule*17/100))
	cpu.Add("schedule:post", time.Duration(t.schedule*12/100))
	for range b.joined {
		cpu.Add("add_request", time.Duration(t.add/int64(b.joined)))
	}
	if len(b.seqs) > 0 {
		if b.prompt {
			cpu.Add("engine_step:prefill", time.Duration(t.total))
		} else {
			cpu.Add("engine_step:decode", time.Duration(t.total))
		}
		cpu.Add("prepare_input", time.Duration(t.prepare))
		cpu.Add("broadcast_input_metadata", time.Duration(t.broadcast))
		cpu.Add("launch_forward", time.Duration(t.launch))
		cpu.Add("launch_sample", time.Duration(t.sample))
		cpu.Add("worker.post_process", time.Duration(t.sync+t.post))
		cpu.Add("worker.post_process.sync", time.Duration(t.sync))
		cpu.Add("process_model_outputs", time.Duration(t.outputs))
		cpu.Add("build_request_outputs", time.Duration(t.build))
	}
	i := e.step % int64(len(e.unread))
	if forward := e.unread[i]; forward > 0 {
		e.ledger.CUDA.Add("forward", time.Duration(forward))
		e.ledger.CUDA.Add("sample", gpuSample)
	}
	e.unread[i] = t.forward
}
