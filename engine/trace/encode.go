package trace

// AppendJSON appends the summary's JSON to b and returns the extended slice.
// docs/trace-summary.md describes the keys.
func (s *Summary) AppendJSON(b []byte) []byte {
	w := &writer{b: b}
	w.open('{')
	w.str("schema", Schema)
	w.object("file", func() {
		w.str("name", s.Name)
		w.int("bytes", s.Bytes)
		w.int("json_bytes", s.JSONBytes)
		w.str("compression", string(s.Compression))
	})
	w.object("health", func() { s.Health.write(w) })
	w.opt("start_ns", s.Start)
	w.opt("span_ns", s.Span)
	w.object("categories", func() {
		for _, c := range s.Categories {
			w.int(c.Name, c.Count)
		}
	})
	w.object("category_ns", func() {
		for _, c := range s.Categories {
			w.int(c.Name, c.Total)
		}
	})
	list(w, "devices", s.Devices, func(d *Device) { d.write(w) })
	list(w, "phases", s.Phases, func(p *Phase) {
		p.write(w)
		w.int("threads", int64(p.ThreadCount))
	})
	list(w, "tree", s.Tree, func(t *TreeNode) {
		w.int("thread", int64(t.Thread))
		w.int("depth", int64(t.Depth))
		t.write(w)
	})
	i := int64(-1)
	list(w, "threads", s.Threads, func(t *Thread) {
		i++
		w.int("id", i)
		w.str("pid", t.PID)
		w.str("tid", t.TID)
		w.str("process", t.Process)
		w.str("name", t.Name)
	})
	list(w, "shapes", s.Shapes, func(x *Shape) { x.write(w) })
	i = -1
	list(w, "steps", s.Steps, func(x *Step) {
		i++
		w.int("index", i)
		x.write(w)
	})
	list(w, "kernels", s.Kernels, func(k *Kernel) {
		w.str("name", k.Name)
		w.int("count", k.Count)
		w.int("total_ns", k.Total)
		w.int("max_ns", k.Max)
		w.int("mean_ns", k.Mean)
		w.str("class", k.Class)
		w.int("graph_count", k.Graph)
	})
	s.writeRest(w)
	w.close('}')
	return w.b
}

func (s *Summary) writeRest(w *writer) {
	w.object("links", func() {
		l := &s.Links
		w.int("launches", l.Launches)
		w.int("graph_launches", l.GraphLaunches)
		w.int("linked_kernels", l.LinkedKernels)
		w.int("linked_device_events", l.LinkedDevices)
		w.int("unlinked_kernels", l.UnlinkedKernels)
		w.int("unlinked_launches", l.UnlinkedLaunches)
		if l.Latency == nil {
			w.null("latency")
			return
		}
		w.object("latency", func() {
			t := l.Latency
			w.int("count", t.Count)
			w.int("negative", t.Negative)
			v := Opt{OK: t.Count > 0}
			for _, f := range [...]struct {
				k string
				v int64
			}{{"min_ns", t.Min}, {"p50_ns", t.P50}, {"p95_ns", t.P95}, {"p99_ns", t.P99}, {"max_ns", t.Max}} {
				v.V = f.v
				w.opt(f.k, v)
			}
		})
	})
	w.object("graph", func() {
		w.int("launches", s.Graph.Launches)
		w.int("kernels", s.Graph.Kernels)
		w.int("kernel_ns", s.Graph.KernelTime)
		w.int("kernel_total_ns", s.Graph.KernelTotal)
	})
	list(w, "collectives", s.Collectives, func(c *Collective) {
		w.str("name", c.Name)
		w.str("library", c.Library)
		w.int("count", c.Count)
		w.int("total_ns", c.Total)
		w.int("max_ns", c.Max)
		w.opt("group_size", c.GroupSize)
		w.bool("ranks_partial", c.RanksPartial)
	})
	w.object("overhead", func() {
		w.int("count", s.Overhead.Count)
		w.int("total_ns", s.Overhead.Total)
	})
	w.int("counters", s.Counters)
	w.object("events_by_phase", func() {
		for _, p := range s.ByPhase {
			w.int(p.Ph, p.Count)
		}
	})
	w.object("facts", func() { s.Facts.write(w) })
}

func (h *Health) write(w *writer) {
	w.str("verdict", h.Verdict)
	w.bool("truncated", h.TruncatedAt.OK)
	w.opt("truncated_at", h.TruncatedAt)
	w.int("events", h.Events)
	w.int("slices", h.Slices)
	w.int("skipped", h.Skipped)
	w.int("repaired", h.Repaired)
	w.int("clipped", h.Clipped)
	w.int("unfinished", h.Unfinished)
	w.int("unresolved", h.Unresolved)
	list(w, "warnings", h.Warnings, func(x *Warning) {
		w.str("code", x.Code)
		w.str("message", x.Message)
		w.int("count", x.Count)
		w.opt("offset", x.Offset)
	})
}

func (d *Device) write(w *writer) {
	w.str("id", d.ID)
	w.int("kernels", d.Kernels)
	w.int("sum_ns", d.Sum)
	w.int("busy_ns", d.Busy)
	w.opt("idle_ns", d.Idle)
	w.int("copy_ns", d.Copy)
	w.int("comm_ns", d.Comm)
	w.int("streams", int64(len(d.Streams)))
	w.int("compute_ns", d.Compute)
	w.int("custom_comm_ns", d.CustomComm)
	w.int("exposed_comm_ns", d.ExposedComm)
	w.opt("first_ns", d.First)
	w.opt("last_ns", d.Last)
	w.int("graph_kernels", d.GraphKernel)
	list(w, "stream_list", d.Streams, func(s *Stream) {
		w.int("stream", s.ID)
		w.int("kernels", s.Kernels)
		w.int("copies", s.CopiesOrSets)
		w.int("sum_ns", s.Sum)
		w.int("busy_ns", s.Busy)
	})
}

func (s *Stats) write(w *writer) {
	w.str("name", s.Name)
	w.str("prefix", s.Prefix)
	w.str("group", s.PhaseGroup)
	w.int("count", s.Count)
	w.int("total_ns", s.Total)
	w.opt("self_ns", Opt{s.Self, s.Kept})
	w.int("mean_ns", s.Mean)
	w.opt("min_ns", Opt{s.Min, s.Kept})
	w.opt("p50_ns", Opt{s.P50, s.Kept})
	w.opt("p95_ns", Opt{s.P95, s.Kept})
	w.opt("p99_ns", Opt{s.P99, s.Kept})
	w.int("max_ns", s.Max)
	w.opt("share_ppm", s.SharePPM)
	w.object("hist", func() {
		w.int("first", int64(s.HistFirst))
		w.ints("counts", s.Hist)
	})
}

func (x *Shape) write(w *writer) {
	w.str("name", x.Name)
	w.opt("n", x.N)
	w.opt("b", x.B)
	w.int("count", x.Count)
	w.int("cpu_total_ns", x.CPUTotal)
	w.int("kernels", x.Kernels)
	w.orNull("graph", x.Graph)
	w.str("source", x.Source)
	w.str("kind", x.Kind)
	w.int("cpu_mean_ns", x.CPUMean)
	w.int("cpu_max_ns", x.CPUMax)
	w.int("kernels_mean_milli", x.Kernels*1000/x.Count)
	w.opt("gpu_span_mean_ns", x.GPUSpanMean)
	w.opt("gpu_busy_mean_ns", x.GPUBusyMean)
	w.int("replays", x.Replays)
	w.int("misses", x.Misses)
	w.int("partials", x.Partials)
	w.ints("gpu_spans_ns", x.Spans)
}

func (x *Step) write(w *writer) {
	w.str("name", x.Name)
	w.strs("names", x.Names)
	w.str("kind", x.Kind)
	w.opt("n", x.N)
	w.opt("b", x.B)
	w.int("start_ns", x.Start)
	w.int("dur_ns", x.Dur)
	w.int("cpu_ns", x.CPU)
	w.orNull("graph", x.Graph)
	w.int("kernels", x.Kernel)
	w.int("kernel_ns", x.KernelTime)
	w.int("graph_kernels", x.GraphKernel)
	w.int("launches", x.Launch)
	w.int("graph_launches", x.GraphLaunch)
	w.int("graph_launch_ns", x.GraphTime)
	if x.GPU == nil {
		w.null("gpu")
		return
	}
	w.object("gpu", func() {
		g := x.GPU
		w.int("compute_ns", g.Compute)
		w.int("exposed_comm_ns", g.ExposedComm)
		w.int("copy_ns", g.Copy)
		w.int("idle_ns", g.Idle)
		w.int("busy_ns", g.Busy)
		w.int("span_ns", g.Span)
		w.int("first_ns", g.First)
		w.int("last_ns", g.Last)
	})
}

func (f *Facts) write(w *writer) {
	w.str("producer", f.Producer)
	w.opt("rank", f.Rank)
	w.opt("world_size", f.WorldSize)
	w.orNull("backend", f.Backend)
	w.strs("gpu_names", f.GPUNames)
	w.int("gpu_count", int64(f.GPUCount))
	w.object("versions", func() {
		for _, v := range f.Versions {
			w.str(v.name, v.text)
		}
	})
	w.orNull("trace_name", f.TraceName)
	w.orNull("host", f.Host)
	list(w, "processes", f.Processes, func(p *Process) {
		w.str("pid", p.PID)
		w.str("name", p.Name)
		w.str("labels", p.Labels)
	})
	w.int("threads", int64(f.Threads))
}
