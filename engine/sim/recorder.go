package sim

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// recorder is the engine's profiler: while it is on it keeps what each step did, which is enough to write the trace later.
type recorder struct {
	on    bool
	start time.Time
	steps []kineto.Step
	stall time.Duration // that the engine still has to stand still
}

// stopTime is how long the engine stands still for each recorded step when the profiler stops.
const stopTime = 20 * time.Millisecond

// Profiler is what a [profile.Manager] for this engine is made with. export writes a capture to its file; it is called
// aside from the engine's thread and may be nil for [Capture.Write].
func (e *Engine) Profiler(export func(c *Capture, w io.Writer) error) profile.Profiler {
	if export == nil {
		export = func(c *Capture, w io.Writer) error {
			_, err := c.Write(w)
			return err
		}
	}
	return &profiler{e, export}
}

type profiler struct {
	engine *Engine
	export func(c *Capture, w io.Writer) error
}

// Start begins to record.
func (p *profiler) Start(steps int) error {
	r := &p.engine.recorder
	r.on, r.start, r.steps = true, p.engine.Wall(), make([]kineto.Step, 0, steps)
	return nil
}

// Stop ends the recording. Its pause comes after the file has its name, which says when the profiler was stopped.
func (p *profiler) Stop() (profile.Export, error) {
	r := &p.engine.recorder
	if len(r.steps) == 0 {
		return nil, errors.New("no step was recorded")
	}
	c := p.engine.capture(r)
	r.on, r.steps, r.stall = false, nil, stopTime*time.Duration(len(c.Steps))
	return func(w io.Writer) error { return p.export(c, w) }, nil
}

// note keeps a step.
func (r *recorder) note(b *batch, t *times) {
	if r.on {
		r.steps = append(r.steps, kineto.Step{N: len(b.seqs), B: b.tokens, Replay: b.replay, Requests: b.joined, Forward: t.forward})
	}
}

// Capture is a finished recording.
type Capture struct {
	FirstStep int64 // engine's number of the first step
	Steps     []kineto.Step
	Options   kineto.Options
}

func (e *Engine) capture(r *recorder) *Capture {
	d := &e.cfg.Deployment
	first := e.step - int64(len(r.steps))
	return &Capture{FirstStep: first, Steps: r.steps, Options: kineto.Options{
		Seed: mix(e.cfg.Seed, uint64(first)), NextN: d.Scheduler.NextN, ZOS: d.ZOS, Layers: d.Trace.Layers,
		Rank: e.cfg.Rank, WorldSize: e.cfg.World, GPU: e.cfg.GPU, BytesPerStep: d.Trace.StepBytes, Start: r.start,
	}}
}

// Write writes the capture as a trace and returns what is in it.
func (c *Capture) Write(w io.Writer) (kineto.Truth, error) {
	return kineto.Write(w, c.Options, slices.Values(c.Steps))
}
