package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/sim/kineto"
	"github.com/stepscope/stepscope/engine/trace"
)

// What is in a capture is what happened in the engine: each step's shape, its graph, its idleness; and a reader finds
// everything that was put in.
func TestCaptureOfSteps(t *testing.T) {
	idle := DefaultDeployment()
	idle.Name, idle.Requests.Rate = "unloaded", 0
	overlap := DefaultDeployment()
	overlap.Name, overlap.ZOS = "zero-overhead scheduling", true
	kinds := map[string]int{}
	for _, d := range append(builtin(t), idle, overlap) {
		d.Trace = Trace{Layers: 2, StepBytes: 60_000}
		t.Run(d.Name, func(t *testing.T) {
			_, e := runLines(t, d, 3, 2100)
			var file bytes.Buffer
			var truth kineto.Truth
			p := e.Profiler(func(c *Capture, w io.Writer) (err error) {
				if c.FirstStep != 2100 {
					t.Errorf("the capture begins with step %d, want 2100", c.FirstStep)
				}
				truth, err = c.Write(w)
				return err
			})
			const steps = 15
			if err := p.Start(steps); err != nil {
				t.Fatal(err)
			}
			start := e.Wall()
			var want []string
			for range steps {
				if err := e.Step(); err != nil {
					t.Fatal(err)
				}
				kind, graph, r := "decode", "miss", &e.record
				switch {
				case r.NumSeqs == 0:
					kind, graph = "idle", "none"
				case e.batch.replay:
					graph = "replay"
				}
				if r.Prompt {
					kind = "prefill"
				}
				kinds[kind+" "+graph]++
				want = append(want, fmt.Sprintf("%s %d %d %s", kind, r.NumSeqs, r.NumBatchedTokens, graph))
			}
			before := e.Now()
			export, err := p.Stop()
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Step(); err != nil {
				t.Fatal(err)
			}
			if pause := e.Now().Sub(before); pause < steps*stopTime || pause > steps*stopTime+time.Second {
				t.Errorf("the step after it took %s, want %s and the step", pause, steps*stopTime)
			}
			if err := export(&file); err != nil {
				t.Fatal(err)
			}
			sameAsTruth(t, file.Bytes(), truth, d.Scheduler.NextN)
			var got []string
			for _, s := range truth.Steps {
				got = append(got, fmt.Sprintf("%s %d %d %s", s.Kind, s.N, s.B, s.Graph))
			}
			if !slices.Equal(got, want) {
				t.Errorf("steps of the trace\n%q\nof the engine\n%q", got, want)
			}
			if late := truth.Start - start.UnixNano(); late < 0 || late > 1e6 {
				t.Errorf("the trace begins %d ns after the profiler", late)
			}
			last := truth.Steps[steps-1]
			if cut := last.N > 0 && last.Kernels == 0; cut != (d.ZOS && last.N > 0) {
				t.Errorf("the last step has %d kernels", last.Kernels)
			}
		})
	}
	for _, kind := range []string{"decode replay", "decode miss", "prefill miss", "idle none"} {
		if kinds[kind] == 0 {
			t.Errorf("no step was %s: %v", kind, kinds)
		}
	}
}

// A step of the trace takes about as long as the ledger says.
func TestTraceTimes(t *testing.T) {
	for _, zos := range []bool{false, true} {
		d := DefaultDeployment()
		d.ZOS = zos
		d.Trace.StepBytes = 1 // no Python frames: times are the same
		_, e := runLines(t, d, 1, 500)
		p := e.Profiler(nil)
		if err := p.Start(40); err != nil {
			t.Fatal(err)
		}
		began := e.Now()
		for range 40 {
			if err := e.Step(); err != nil {
				t.Fatal(err)
			}
		}
		took := e.Now().Sub(began)
		c := e.capture(&e.recorder)
		truth, err := c.Write(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if ratio := float64(truth.Span) / float64(took); ratio < 0.93 || ratio > 1.07 {
			t.Errorf("ZOS %v: 40 steps took %s, their trace %d ns", zos, took, truth.Span)
		}
	}
}

func read(t testing.TB, data []byte, nextN int) *trace.Summary {
	t.Helper()
	p, err := trace.Read(bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trace.Analyze(p, trace.AnalyzeOptions{NextN: int64(nextN)})
}

// sameAsTruth reads a trace and compares what is found with what was put in.
func sameAsTruth(t testing.TB, data []byte, truth kineto.Truth, nextN int) {
	t.Helper()
	s := read(t, data, nextN)
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n read %+v\ntruth %+v", what, got, want)
		}
	}
	same("bytes, events, slices", []int64{s.JSONBytes, s.Health.Events, s.Health.Slices}, []int64{truth.Bytes, truth.Events, truth.Slices})
	same("start, span", []int64{s.Start.V, s.Span.V}, []int64{truth.Start, truth.Span})
	same("unresolved", s.Health.Unresolved, truth.Unresolved)
	same("repairs", []int64{s.Health.Skipped, s.Health.Repaired, s.Health.Clipped, s.Health.Unfinished}, make([]int64, 4))
	categories := map[string]int64{}
	for _, c := range s.Categories {
		categories[c.Name] = c.Count
	}
	same("categories", categories, truth.Categories)
	phases := []kineto.PhaseTruth{}
	for _, p := range s.Phases {
		phases = append(phases, kineto.PhaseTruth{Name: p.Name, Count: p.Count, Total: p.Total, Self: p.Self, Max: p.Max})
	}
	slices.SortFunc(phases, func(a, b kineto.PhaseTruth) int { return cmp.Compare(a.Name, b.Name) })
	same("phases", phases, truth.Phases)
	var steps []kineto.StepTruth
	for i, x := range s.Steps {
		st := kineto.StepTruth{Index: i, Name: x.Name, Kind: x.Kind, N: int(x.N.V), B: int(x.B.V), Start: x.Start, Dur: x.Dur, Graph: x.Graph, Kernels: x.Kernel}
		if x.Kind == "idle" {
			st.Name, st.Graph = "", cmp.Or(x.Graph, "none") // nothing launched in the whole file leaves it open
		}
		steps = append(steps, st)
	}
	same("steps", steps, truth.Steps)
	devices := []kineto.DeviceTruth{}
	for _, d := range s.Devices {
		id, err := strconv.Atoi(d.ID)
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, kineto.DeviceTruth{ID: id, Kernels: d.Kernels, Sum: d.Sum, Busy: d.Busy, Idle: d.Idle.V, Copy: d.Copy,
			Comm: d.Comm, Compute: d.Compute, ExposedComm: d.ExposedComm, Streams: len(d.Streams)})
	}
	same("devices", devices, truth.Devices)
	same("graphs", kineto.GraphTruth{Launches: s.Graph.Launches, Kernels: s.Graph.Kernels, Kernel: s.Graph.KernelTime}, truth.Graph)
}
