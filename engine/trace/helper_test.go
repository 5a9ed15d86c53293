package trace

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Tests compare a summary with a list of figures written as "key=value; key=value". The
// keys are those that figures makes. A key that a summary does not have reads "-".

// figures flattens a summary.
func figures(p *Partial, s *Summary) map[string]string {
	f := map[string]string{}
	n := func(key string, v int64) { f[key] = itoa(v) }
	opt := func(key string, v Opt) {
		if v.OK {
			f[key] = itoa(v.V)
		}
	}
	join := func(v ...int64) string {
		t := make([]string, len(v))
		for i := range v {
			t[i] = itoa(v[i])
		}
		return strings.Join(t, "/")
	}
	or := func(v Opt) string {
		if v.OK {
			return itoa(v.V)
		}
		return "-"
	}
	h := &s.Health
	f["verdict"], f["packing"] = h.Verdict, string(s.Compression)
	n("bytes", s.Bytes)
	n("json", s.JSONBytes)
	n("events", h.Events)
	n("slices", h.Slices)
	n("skipped", h.Skipped)
	n("repaired", h.Repaired)
	n("clipped", h.Clipped)
	n("unfinished", h.Unfinished)
	n("unresolved", h.Unresolved)
	opt("cut at", h.TruncatedAt)
	opt("start", s.Start)
	opt("span", s.Span)
	var codes []string
	for _, w := range h.Warnings {
		codes = append(codes, w.Code)
		n(w.Code, w.Count)
		opt(w.Code+".at", w.Offset)
	}
	slices.Sort(codes)
	f["warnings"] = strings.Join(codes, ",")
	for _, c := range s.Categories {
		f["cat "+c.Name] = join(c.Count, c.Total)
	}
	for _, d := range s.Devices {
		k := "gpu " + d.ID + " "
		n(k+"kernels", d.Kernels)
		n(k+"sum", d.Sum)
		n(k+"busy", d.Busy)
		opt(k+"idle", d.Idle)
		n(k+"copy", d.Copy)
		n(k+"comm", d.Comm)
		n(k+"custom", d.CustomComm)
		n(k+"compute", d.Compute)
		n(k+"exposed", d.ExposedComm)
		n(k+"graph", d.GraphKernel)
		n(k+"streams", int64(len(d.Streams)))
	}
	n("gpus", int64(len(s.Devices)))
	for _, x := range s.Phases {
		f["phase "+x.Name] = join(x.Count, x.Total, x.Self)
		f["stats "+x.Name] = join(x.Min, x.Mean, x.P50, x.P95, x.P99, x.Max)
		f["group "+x.Name] = x.PhaseGroup
		f["prefix "+x.Name] = x.Prefix
		f["share "+x.Name] = or(x.SharePPM)
		n("threads "+x.Name, int64(x.ThreadCount))
		f["hist "+x.Name] = strconv.Itoa(x.HistFirst) + ":" + join(x.Hist...)
	}
	n("phases", int64(len(s.Phases)))
	var tree []string
	for _, x := range s.Tree {
		tree = append(tree, strings.Repeat(">", x.Depth)+x.Name+" "+join(x.Count, x.Total, x.Self))
	}
	f["tree"] = strings.Join(tree, ", ")
	n("shapes", int64(len(s.Shapes)))
	for _, x := range s.Shapes {
		f["shape "+x.Name] = strings.TrimSpace(strings.Join([]string{x.Source, x.Kind, or(x.N), or(x.B), join(x.Count, x.CPUTotal, x.Kernels), x.Graph}, " "))
	}
	n("steps", int64(len(s.Steps)))
	for i, x := range s.Steps {
		k := "step" + strconv.Itoa(i)
		f[k] = strings.Join([]string{x.Kind, or(x.N), or(x.B), join(x.Start, x.Dur)}, " ")
		f[k+" name"], f[k+" names"], f[k+" graph"] = x.Name, strings.Join(x.Names, ", "), x.Graph
		n(k+" kernels", x.Kernel)
		if g := x.GPU; g != nil {
			f[k+" gpu"] = join(g.Compute, g.ExposedComm, g.Copy, g.Idle, g.Busy, g.Span)
		}
	}
	var order []string
	for _, k := range s.Kernels {
		order = append(order, k.Name)
		f["kernel "+k.Name] = join(k.Count, k.Total, k.Mean, k.Max)
	}
	f["kernels"] = strings.Join(order, ", ")
	l := &s.Links
	f["launches"] = join(l.Launches, l.GraphLaunches)
	n("linked", l.LinkedKernels)
	n("unlinked", l.UnlinkedKernels)
	n("unlinked launches", l.UnlinkedLaunches)
	n("linked devices", l.LinkedDevices)
	if t := l.Latency; t != nil {
		f["latency"] = join(t.Count, t.Negative)
		f["latencies"] = join(t.Min, t.P50, t.P95, t.P99, t.Max)
	}
	f["graph"] = join(s.Graph.Launches, s.Graph.Kernels, s.Graph.KernelTime, s.Graph.KernelTotal)
	for _, c := range s.Collectives {
		name := c.Name
		if c.Library != "nccl" {
			name = c.Library + " " + name
		}
		f["collective "+name] = join(c.Count, c.Total, c.Max) + " " + or(c.GroupSize) + " " + strconv.FormatBool(c.RanksPartial)
	}
	n("collectives", int64(len(s.Collectives)))
	f["overhead"] = join(s.Overhead.Count, s.Overhead.Total)
	n("counters", s.Counters)
	for _, x := range s.ByPhase {
		n("ph "+x.Ph, x.Count)
	}
	f["producer"] = s.Facts.Producer
	for _, x := range s.Facts.Processes {
		f["process "+x.PID] = x.Name + "|" + x.Labels
	}
	for _, name := range p.names.strs {
		f["interned "+name] = "yes"
	}
	return f
}

// check compares a summary with figures.
func check(t *testing.T, p *Partial, want string) {
	t.Helper()
	f := figures(p, Analyze(p, AnalyzeOptions{Name: "x"}))
	for _, kv := range strings.Split(want, ";") {
		kv = strings.Trim(kv, "\n\t ")
		if kv == "" {
			continue
		}
		i := strings.LastIndexByte(kv, '=')
		if strings.HasPrefix(kv, "step") { // names of steps have such signs too
			i = strings.IndexByte(kv, '=')
		}
		key, val := kv[:i], kv[i+1:]
		got, ok := f[key]
		if !ok {
			got = "-"
		}
		if got != val {
			t.Errorf("%s = %q, want %q", key, got, val)
		}
	}
	if t.Failed() {
		t.Logf("warnings: %s", f["warnings"])
	}
}

// read reads a whole file however it is packed.
func read(t testing.TB, data []byte) *Partial {
	t.Helper()
	p, err := Read(bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatalf("not read: %v", err)
	}
	return p
}

// asJSON is the summary of a partial as text, with the size set to that of the file.
func asJSON(p *Partial, size int) string {
	p.SetFileBytes(int64(size))
	return string(Analyze(p, AnalyzeOptions{Name: "x"}).AppendJSON(nil))
}

// corpus returns a path below the folder of real traces and collected cases.
func corpus(t testing.TB, path ...string) string {
	t.Helper()
	dir := os.Getenv("STEPSCOPE_CORPUS")
	if dir == "" {
		t.Skip("needs the optional folder of traces and cases: set STEPSCOPE_CORPUS to the folder that holds cases/ and traces/ (CONTRIBUTING.md says where it comes from)")
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// Short forms of events as Kineto writes them. Times are text: what stands in the file.

func slice(cat, name, pid, tid, ts, dur, args string) string {
	return `{"ph": "X", "cat": "` + cat + `", "name": "` + name + `", "pid": ` + pid + `, "tid": ` + tid +
		`, "ts": ` + ts + `, "dur": ` + dur + `, "args": {` + args + `}}`
}

func op(name, ts, dur string) string { return slice("cpu_op", name, "1", "1", ts, dur, "") }

func annotation(name, ts, dur string) string {
	return slice("user_annotation", name, "1", "1", ts, dur, "")
}

func launch(name, ts, dur, corr string) string {
	return slice("cuda_runtime", name, "1", "1", ts, dur, `"correlation": `+corr)
}

func kernel(name, ts, dur, corr string) string {
	return slice("kernel", name, "0", "7", ts, dur, `"device": 0, "stream": 7, "correlation": `+corr)
}

func document(events ...string) string {
	return "{\"traceEvents\": [\n" + strings.Join(events, ",\n") + "\n]}"
}

// example is one input with what must be read from it.
type example struct{ name, in, want string }

// examples are all inputs of the tables in this package's tests; the properties of
// splitting and chunking are tested with each of them.
var examples []example

// table registers examples.
func table(list ...example) []example {
	examples = append(examples, list...)
	return list
}

func run(t *testing.T, list []example) {
	t.Helper()
	for _, x := range list {
		t.Run(x.name, func(t *testing.T) { check(t, read(t, []byte(x.in)), x.want) })
	}
}
