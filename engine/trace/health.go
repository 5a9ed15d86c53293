package trace

// warningText names the oddities that the reader counts.
var warningText = [issCount]struct{ code, message string }{
	issUntimed:        {"untimed", "events have no usable time (missing, not finite or out of range) and are left out"},
	issNonfinite:      {"nonfinite", "events have arguments that are not finite (inf, nan): those arguments are absent"},
	issTrailingComma:  {"trailing_comma", "a comma stands before the end of the event list"},
	issMissingComma:   {"missing_comma", "commas between events are missing"},
	issExtraComma:     {"extra_comma", "commas between events are doubled"},
	issComment:        {"comment", "comments stand in the file"},
	issJunk:           {"junk_between_events", "text between events was stepped over"},
	issListDamaged:    {"list_damaged", "the event list's brackets or key are damaged or missing: its events are read all the same"},
	issJunkBeforeRoot: {"junk_before_root", "text before the trace was ignored"},
	issJunkAfterRoot:  {"junk_after_root", "text behind the trace was ignored"},
	issSecondDocument: {"second_document", "a second JSON document follows; only the first is read. Split the file to read the other"},
	issHeaderDamaged:  {"header_damaged", "header entries are damaged and were skipped"},
	issEventTooLong:   {"event_too_long", "events longer than 8 MiB were given up"},
	issHeaderTooLong:  {"header_too_long", "header entries longer than 8 MiB were skipped"},
	issUTF16:          {"utf16", "the file is UTF-16; offsets count bytes of its UTF-8 form"},
	issGzipJunk:       {"gzip_junk", "bytes behind the compressed data were ignored"},
	issGzipTruncated:  {"gzip_truncated", "the compressed data is cut short; everything before the cut was read"},
	issGzipCorrupt:    {"gzip_corrupt", "the compressed data is corrupt; everything before that place was read"},
	issGzipChecksum:   {"gzip_checksum", "the gzip checksum does not match: some of the data may be wrong"},
}

func (a *analysis) warn(code string, count int64, off Opt, message string) {
	a.s.Health.Warnings = append(a.s.Health.Warnings, Warning{code, message, count, off})
}

// judge fills in the health and draws the verdict.
func (a *analysis) judge() {
	p, h := a.p, &a.s.Health
	h.Skipped, h.Repaired, h.Clipped = p.tallies[issSkipped].count, p.tallies[issRepaired].count, p.tallies[issClipped].count
	h.Unfinished = a.unfinished
	var dupFlows int64
	h.Unresolved, dupFlows = p.flows.unresolved()
	if t := p.tallies[issUnclosed]; t.count > 0 && !p.header.array {
		p.truncatedAt = max(p.truncatedAt, t.first)
	}
	if p.truncatedAt >= 0 {
		h.TruncatedAt = some(p.truncatedAt)
		a.warn("truncated", 1, h.TruncatedAt, "the file ends in the middle: the events up to there are read")
	}
	if !p.header.array && p.header.eventLists == 0 {
		a.warn("no_trace_events", 1, Opt{}, "the file has no traceEvents list: is it a trace? Expected JSON as a profiler writes it")
	}
	for i, w := range warningText {
		if t := p.tallies[i]; w.code != "" && t.count > 0 {
			a.warn(w.code, t.count, some(t.first), w.message)
		}
	}
	for _, x := range [...]struct {
		issue         issue
		code, message string
	}{
		{issSkipped, "skipped", "elements of the event list could not be read as events and were given up"},
		{issRepaired, "repaired", "events had text that JSON forbids (control bytes, bad UTF-8, bad escapes or quotes) and were repaired"},
		{issClipped, "clipped", "durations were negative or too long and were cut"},
	} {
		if t := p.tallies[x.issue]; t.count > 0 {
			a.warn(x.code, t.count, some(t.first), x.message)
		}
	}
	a.warnPairs(dupFlows)
	a.warnWork()
	a.warnCaps()
	switch noGPU := a.s.Links.Launches > 0 && len(a.gpu) == 0 && p.over.rows == 0; {
	case h.Slices == 0 || noGPU:
		h.Verdict = "unusable"
	case len(h.Warnings) > 0 || h.Unresolved > 0:
		h.Verdict = "warn"
	default:
		h.Verdict = "ok"
	}
}

func (a *analysis) warnPairs(dupFlows int64) {
	h := &a.s.Health
	if h.Unfinished > 0 {
		a.warn("unfinished", h.Unfinished, Opt{}, "slices begin (B) and never end (E): they are not counted as slices")
	}
	if a.orphanEnds > 0 {
		a.warn("orphan_end", a.orphanEnds, Opt{}, "slices end (E) that never began (B)")
	}
	if h.Unresolved > 0 {
		a.warn("unresolved", h.Unresolved, Opt{}, "halves of flow arrows have no partner")
	}
	if dupFlows > 0 {
		a.warn("duplicate_flow", dupFlows, Opt{}, "flow arrows start more than once: the outermost launch wins")
	}
	if a.dupLaunches > 0 {
		a.warn("duplicate_launch", a.dupLaunches, Opt{}, "launches share a correlation with another one: the outermost wins")
	}
}

// warnWork tells what is missing of the GPU's work and of the steps.
func (a *analysis) warnWork() {
	lk := &a.s.Links
	if a.s.Health.Slices == 0 {
		return
	}
	switch {
	case lk.Launches > 0 && len(a.gpu) == 0 && a.p.over.rows == 0:
		a.warn("no_gpu", lk.Launches, Opt{}, "no GPU activity recorded ("+itoa(lk.Launches)+
			" launches): capture again with GPU (CUDA) activities on, and check that no other profiler holds the GPU")
	case lk.UnlinkedLaunches > 0:
		m := itoa(lk.UnlinkedLaunches) + " launches have no kernels"
		if n := a.firstUnlinked(); n == lk.UnlinkedLaunches {
			m = "first " + itoa(n) + " launches have no kernels: the GPU's records begin later than the CPU's"
		}
		a.warn("unlinked_launches", lk.UnlinkedLaunches, Opt{}, m)
	}
	if lk.UnlinkedKernels > 0 {
		a.warn("unlinked_kernels", lk.UnlinkedKernels, Opt{}, "kernels have no launch in the file: they belong to no step")
	}
	if lk.Latency != nil && lk.Latency.Negative > 0 {
		a.warn("clock_skew", lk.Latency.Negative, Opt{}, "kernels start before their launch: CPU and GPU clocks disagree")
	}
	if len(a.s.Steps) == 0 {
		a.warn("no_steps", 1, Opt{}, "no step names found: figures per step and per batch shape are missing")
		return
	}
	idle, lastBusy, withKernels := int64(0), -1, 0
	for i, s := range a.s.Steps {
		switch {
		case s.Kind == "idle":
			idle++
		default:
			lastBusy = i
		}
		if s.Kernel > 0 {
			withKernels++
		}
	}
	if idle > 0 {
		a.warn("idle_steps", idle, Opt{}, itoa(idle)+" of "+itoa(int64(len(a.s.Steps)))+" steps ran no batch: the engine had no load then")
	}
	if lastBusy >= 0 && withKernels > 0 && a.s.Steps[lastBusy].Kernel == 0 && a.s.Steps[lastBusy].Kind != "unknown" {
		a.warn("last_step_cut", 1, Opt{}, "the last step's GPU work is not in the file: the capture ended before it ran")
	}
}

// firstUnlinked counts the launches before the first one that has a kernel.
func (a *analysis) firstUnlinked() (n int64) {
	used := make([]bool, len(a.launches))
	for _, l := range a.launchOf {
		if l >= 0 {
			used[l] = true
		}
	}
	for i, l := range a.launches {
		switch f := a.p.names.flags[l.name]; {
		case l.kind == rowFlowStart || f&(nfLaunch|nfGraph) == 0:
		case used[i]:
			return n
		default:
			n++
		}
	}
	return n
}

func (a *analysis) warnCaps() {
	p := a.p
	if p.over.rows > 0 {
		a.warn("rows_capped", p.over.rows, Opt{}, "too many annotations, launches and kernels: the last "+itoa(p.over.rows)+
			" are counted, and where they are annotations or GPU work summed, but not in steps, shapes, links and percentiles")
	}
	if a.stepsLeft > 0 {
		a.warn("steps_capped", a.stepsLeft, Opt{}, "too many steps: the last "+itoa(a.stepsLeft)+" are not listed, nor in the batch shapes")
	}
	if p.names.capped {
		a.warn("names_capped", 1, Opt{}, "too many different names: the later ones are summed as "+otherName)
	}
	if a.treeCapped {
		a.warn("tree_capped", 1, Opt{}, "annotations nest too deep or in too many ways: the nested table leaves some out, the flat one has all")
	}
	if len(p.collectives) >= maxCollectives || len(p.header.gpus) >= maxGPUs || len(a.s.Facts.Processes) >= maxProcesses ||
		a.listsCut || p.tracks.capped || p.lanes.capped || len(p.cats.list) >= maxCategories || len(p.metas) >= maxMetas || len(p.counters) >= maxCounters {
		a.warn("tables_capped", 1, Opt{}, "too many different threads, streams, categories, counters, processes, devices, phases, batch shapes or collectives: the later ones are left out or share one entry")
	}
	if p.flows.capped {
		a.warn("flows_capped", 1, Opt{}, "too many flow arrows: the later ones are not paired")
	}
}
