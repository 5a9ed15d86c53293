package kineto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// event is one element of traceEvents as encoding/json reads it; times stay text.
type event struct {
	Ph   string         `json:"ph"`
	Cat  string         `json:"cat"`
	Name string         `json:"name"`
	PID  any            `json:"pid"`
	TID  any            `json:"tid"`
	ID   json.Number    `json:"id"`
	Ts   json.Number    `json:"ts"`
	Dur  json.Number    `json:"dur"`
	Args map[string]any `json:"args"`

	start, end int64
}

type document struct {
	Events []event     `json:"traceEvents"`
	Base   json.Number `json:"baseTimeNanoseconds"`
}

// nanos reads a decimal number of microseconds with three decimals.
func nanos(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, frac, ok := strings.Cut(n.String(), ".")
	if !ok || len(frac) != 3 {
		t.Fatalf("time %q has not three decimals", n)
	}
	v, err := strconv.ParseInt(whole+frac, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func parse(t *testing.T, b []byte) document {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var doc document
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for i := range doc.Events {
		if e := &doc.Events[i]; e.Ph == "X" {
			e.start = nanos(t, e.Ts)
			e.end = e.start + nanos(t, e.Dur)
		}
	}
	return doc
}

// covered measures a union by sweeping over all ends, unlike the generator, which merges intervals.
func covered(events []*event) (sum int64) {
	type edge struct {
		at   int64
		step int
	}
	var edges []edge
	for _, e := range events {
		edges = append(edges, edge{e.start, 1}, edge{e.end, -1})
	}
	sort.Slice(edges, func(i, j int) bool { return edges[i].at < edges[j].at })
	depth := 0
	for i, e := range edges {
		if depth > 0 {
			sum += e.at - edges[i-1].at
		}
		depth += e.step
	}
	return sum
}

// recount counts a Truth anew from the file.
func recount(t *testing.T, b []byte) Truth {
	doc := parse(t, b)
	base, err := doc.Base.Int64()
	if err != nil {
		t.Fatal(err)
	}
	got := Truth{Bytes: int64(len(b)), Events: int64(len(doc.Events)), Categories: map[string]int64{}, Devices: []DeviceTruth{}}
	var ranges, gpu, kernels, comm, compute, copies []*event
	launches, graphs := map[string]*event{}, map[string]bool{}
	starts, ends := map[string]int{}, map[string]int{}
	first, last := int64(1)<<62, int64(0)
	for i := range doc.Events {
		e := &doc.Events[i]
		switch e.Ph {
		case "s":
			starts[e.ID.String()]++
		case "f":
			ends[e.ID.String()]++
		}
		if e.Ph != "X" {
			continue
		}
		got.Slices++
		got.Categories[e.Cat]++
		if e.Cat != "Trace" && e.Cat != "gpu_user_annotation" {
			first, last = min(first, e.start), max(last, e.end)
		}
		correlation := fmt.Sprint(e.Args["correlation"])
		switch e.Cat {
		case "user_annotation":
			ranges = append(ranges, e)
		case "cuda_runtime", "cuda_driver":
			if launches[correlation] != nil {
				t.Errorf("correlation %s names two calls", correlation)
			}
			launches[correlation] = e
			if e.Name == "cudaGraphLaunch" {
				graphs[correlation] = true
				got.Graph.Launches++
			}
		case "kernel":
			gpu, kernels = append(gpu, e), append(kernels, e)
			if strings.HasPrefix(e.Name, "nccl") {
				comm = append(comm, e)
			} else {
				compute = append(compute, e)
			}
		case "gpu_memcpy", "gpu_memset":
			gpu, copies = append(gpu, e), append(copies, e)
		}
	}
	got.Start, got.Span = base+first, last-first
	for id, n := range starts {
		if n != 1 {
			t.Errorf("flow %s starts %d times", id, n)
		}
		if ends[id] == 0 {
			got.Unresolved++
		}
	}
	for id := range ends {
		if starts[id] == 0 {
			t.Errorf("flow %s ends without start", id)
		}
	}
	for _, e := range gpu {
		id := fmt.Sprint(e.Args["correlation"])
		l := launches[id]
		if l == nil || e.start < l.start {
			t.Fatalf("%s at %d was not launched before: %v", e.Name, e.start, l)
		}
		if ends[id] == 0 {
			t.Errorf("%s has no arrow", e.Name)
		}
		ends[id]--
		if graphs[id] {
			if e.Args["graph id"] == nil {
				t.Errorf("%s of a graph has no graph id", e.Name)
			}
			got.Graph.Kernels++
			got.Graph.Kernel += e.end - e.start
		}
	}
	recountRanges(&got, ranges, kernels, launches, graphs, first)

	names := map[string]*KernelTruth{}
	for _, e := range kernels {
		k := entry(names, e.Name)
		k.Name = e.Name
		k.Count++
		k.Total += e.end - e.start
		k.Max = max(k.Max, e.end-e.start)
	}
	for _, k := range names {
		got.Kernels = append(got.Kernels, *k)
	}
	sort.Slice(got.Kernels, func(i, j int) bool {
		a, b := got.Kernels[i], got.Kernels[j]
		return a.Total > b.Total || a.Total == b.Total && a.Name < b.Name
	})
	if len(gpu) > 0 {
		d := DeviceTruth{Kernels: int64(len(kernels)), Busy: covered(gpu), Copy: covered(copies), Comm: covered(comm), Compute: covered(compute)}
		rows := map[string]bool{}
		from, to := gpu[0].start, gpu[0].end
		for _, e := range gpu {
			from, to = min(from, e.start), max(to, e.end)
			rows[fmt.Sprint(e.TID)] = true
			d.ID, _ = strconv.Atoi(fmt.Sprint(e.PID))
		}
		for _, k := range got.Kernels {
			d.Sum += k.Total
		}
		d.Idle, d.Streams, d.ExposedComm = to-from-d.Busy, len(rows), covered(kernels)-d.Compute
		got.Devices = append(got.Devices, d)
	}
	return got
}

// recountRanges counts phases, shapes and steps.
func recountRanges(got *Truth, ranges, kernels []*event, launches map[string]*event, graphs map[string]bool, first int64) {
	phases, shapes := map[string]*PhaseTruth{}, map[string]*ShapeTruth{}
	in := func(a, b *event) bool { return a != b && a.start >= b.start && a.end <= b.end }
	launched := func(from, to int64) (n int64) {
		for _, k := range kernels {
			if at := launches[fmt.Sprint(k.Args["correlation"])].start; at >= from && at < to {
				n++
			}
		}
		return n
	}
	var schedules []*event
	var end int64
	for _, r := range ranges {
		p := entry(phases, r.Name)
		d := r.end - r.start
		p.Name = r.Name
		p.Count++
		p.Total += d
		p.Self += d
		p.Max = max(p.Max, d)
		for _, inner := range ranges {
			// A range is directly inside when no other one lies between.
			if in(inner, r) && !slices.ContainsFunc(ranges, func(m *event) bool { return in(inner, m) && in(m, r) }) {
				p.Self -= inner.end - inner.start
			}
		}
		if strings.HasPrefix(r.Name, "deepinfer:") {
			end = max(end, r.end)
		}
		if r.Name == "deepinfer:schedule" {
			schedules = append(schedules, r)
		}
	}
	for i, s := range schedules {
		to := end
		if i+1 < len(schedules) {
			to = schedules[i+1].start
		}
		step := StepTruth{Index: i, Kind: "idle", Start: s.start - first, Dur: to - s.start, Graph: "none", Kernels: launched(s.start, to)}
		for _, r := range ranges {
			if r.start < s.start || r.start >= to {
				continue
			}
			if _, err := fmt.Sscanf(r.Name, "deepinfer:launch_forward_N%d_B%d", &step.N, &step.B); err != nil {
				continue
			}
			step.Name, step.Kind, step.Graph = r.Name, "prefill", "miss"
			if step.B <= 6*step.N {
				step.Kind = "decode"
			}
			sh := entry(shapes, r.Name)
			sh.Name, sh.N, sh.B = r.Name, step.N, step.B
			sh.Count++
			sh.CPUTotal += r.end - r.start
			sh.Kernels += launched(r.start, r.end)
			for id := range graphs {
				if at := launches[id].start; at >= r.start && at < r.end {
					step.Graph = "replay"
				}
			}
			if step.Graph == "replay" {
				sh.Replays++
			} else {
				sh.Misses++
			}
		}
		got.Steps = append(got.Steps, step)
		got.StepCount++
	}
	for _, p := range phases {
		got.Phases = append(got.Phases, *p)
	}
	sort.Slice(got.Phases, func(i, j int) bool { return got.Phases[i].Name < got.Phases[j].Name })
	got.Shapes = []ShapeTruth{}
	for _, s := range shapes {
		got.Shapes = append(got.Shapes, *s)
	}
	sort.Slice(got.Shapes, func(i, j int) bool { return got.Shapes[i].Name < got.Shapes[j].Name })
	if got.Kernels == nil {
		got.Kernels = []KernelTruth{}
	}
}
