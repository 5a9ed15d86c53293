package trace_test

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
	"github.com/stepscope/stepscope/engine/trace"
)

// generate makes a small capture: about 150 KB a step.
func generate(t testing.TB, o kineto.Options) ([]byte, kineto.Truth) {
	t.Helper()
	o.Layers, o.BytesPerStep = 3, 150_000
	if o.Steps == 0 {
		o.Steps = 12
	}
	var b bytes.Buffer
	truth, err := kineto.Generate(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), truth
}

var generated = []struct {
	about string
	opt   kineto.Options
}{
	{"default", kineto.Options{Seed: 1}},
	{"another seed", kineto.Options{Seed: 77}},
	{"zero-overhead scheduling", kineto.Options{Seed: 2, ZOS: true}},
	{"idle steps", kineto.Options{Seed: 3, IdleSteps: 5}},
	{"idle steps and zero-overhead scheduling", kineto.Options{Seed: 4, IdleSteps: 5, ZOS: true}},
	{"idle only", kineto.Options{Seed: 5, IdleSteps: 12}},
	{"prefill every other step", kineto.Options{Seed: 6, PrefillEvery: 2}},
	{"no graph hits", kineto.Options{Seed: 7, MissEvery: 1}},
	{"all graph hits", kineto.Options{Seed: 8, PrefillEvery: -1, MissEvery: -1}},
	{"one step", kineto.Options{Seed: 9, Steps: 1}},
	{"one step without its GPU work", kineto.Options{Seed: 10, Steps: 1, ZOS: true}},
	{"one rank alone", kineto.Options{Seed: 11, WorldSize: 1}},
	{"GPU 5 of rank 37", kineto.Options{Seed: 12, WorldSize: 64, Rank: 37, GPU: 5}},
	{"two drafts", kineto.Options{Seed: 13, NextN: 2}},
}

// Everything that the generator counted apart from the file is in the summary.
func TestGeneratedCaptures(t *testing.T) {
	for _, x := range generated {
		t.Run(x.about, func(t *testing.T) {
			data, want := generate(t, x.opt)
			p, err := trace.Read(bytes.NewReader(data), trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := truthOf(trace.Analyze(p, trace.AnalyzeOptions{NextN: int64(x.opt.NextN)}))
			for i := range reflect.TypeFor[kineto.Truth]().NumField() {
				name := reflect.TypeFor[kineto.Truth]().Field(i).Name
				g, w := reflect.ValueOf(got).Field(i).Interface(), reflect.ValueOf(want).Field(i).Interface()
				if !reflect.DeepEqual(g, w) {
					t.Errorf("%s: %s", name, firstDifference(g, w))
				}
			}
		})
	}
}

func firstDifference(got, want any) string {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	if g.Kind() == reflect.Slice {
		for i := range min(g.Len(), w.Len()) {
			if a, b := g.Index(i).Interface(), w.Index(i).Interface(); !reflect.DeepEqual(a, b) {
				return fmt.Sprintf("number %d:\n got %+v\nwant %+v", i, a, b)
			}
		}
	}
	return fmt.Sprintf("\n got %+v\nwant %+v", got, want)
}

// truthOf writes a summary as the generator's truth.
func truthOf(s *trace.Summary) kineto.Truth {
	t := kineto.Truth{
		Bytes: s.JSONBytes, Start: s.Start.V, Span: s.Span.V, Events: s.Health.Events, Slices: s.Health.Slices,
		Unresolved: s.Health.Unresolved, Categories: map[string]int64{}, StepCount: int64(len(s.Steps)),
		Phases: []kineto.PhaseTruth{}, Shapes: []kineto.ShapeTruth{}, Kernels: []kineto.KernelTruth{}, Devices: []kineto.DeviceTruth{},
		Graph: kineto.GraphTruth{Launches: s.Graph.Launches, Kernels: s.Graph.Kernels, Kernel: s.Graph.KernelTime},
	}
	for _, c := range s.Categories {
		t.Categories[c.Name] = c.Count
	}
	for _, p := range s.Phases {
		t.Phases = append(t.Phases, kineto.PhaseTruth{Name: p.Name, Count: p.Count, Total: p.Total, Self: p.Self, Max: p.Max})
	}
	slices.SortFunc(t.Phases, func(a, b kineto.PhaseTruth) int { return cmp.Compare(a.Name, b.Name) })
	for _, x := range s.Shapes {
		t.Shapes = append(t.Shapes, kineto.ShapeTruth{
			Name: x.Name, N: int(x.N.V), B: int(x.B.V), Count: x.Count, CPUTotal: x.CPUTotal, Kernels: x.Kernels, Replays: x.Replays, Misses: x.Misses,
		})
	}
	slices.SortFunc(t.Shapes, func(a, b kineto.ShapeTruth) int { return cmp.Compare(a.Name, b.Name) })
	for i, x := range s.Steps {
		st := kineto.StepTruth{
			Index: i, Name: x.Name, Kind: x.Kind, N: int(x.N.V), B: int(x.B.V), Start: x.Start, Dur: x.Dur, Graph: x.Graph, Kernels: x.Kernel,
		}
		if x.Kind == "idle" { // the truth has no name for a step without a forward
			st.Name = ""
		}
		if x.Graph == "" { // nothing was launched in the whole file
			st.Graph = "none"
		}
		t.Steps = append(t.Steps, st)
	}
	for _, d := range s.Devices {
		id := 0
		for _, c := range d.ID {
			id = id*10 + int(c-'0')
		}
		t.Devices = append(t.Devices, kineto.DeviceTruth{
			ID: id, Kernels: d.Kernels, Sum: d.Sum, Busy: d.Busy, Idle: d.Idle.V, Copy: d.Copy, Comm: d.Comm, Compute: d.Compute,
			ExposedComm: d.ExposedComm, Streams: len(d.Streams),
		})
	}
	for _, k := range s.Kernels {
		t.Kernels = append(t.Kernels, kineto.KernelTruth{Name: k.Name, Count: k.Count, Total: k.Total, Max: k.Max})
	}
	return t
}
