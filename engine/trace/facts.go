package trace

import (
	"slices"
	"strings"
)

// sumRest fills in what needs no joining.
func (a *analysis) sumRest() {
	for _, c := range a.p.cats.list {
		if c.class == clsOverhead {
			a.s.Overhead.Count += c.count
			a.s.Overhead.Total = satAdd(a.s.Overhead.Total, c.total)
		}
	}
	a.s.Counters = int64(len(a.p.counters))
	for ph, n := range a.p.byPhase {
		if n > 0 {
			a.s.ByPhase = append(a.s.ByPhase, PhaseCount{string(rune(ph)), n})
		}
	}
}

// maxProcesses caps the processes that are listed.
const maxProcesses = 256

// findFacts says where the file comes from: its header, its metadata events, its names.
func (a *analysis) findFacts() {
	h, f := &a.p.header, &a.s.Facts
	if h.hasRank {
		f.Rank = some(h.rank)
	}
	if h.hasWorld {
		f.WorldSize = some(h.worldSize)
	}
	f.Backend, f.TraceName, f.Host, f.Versions = h.backend.text, h.traceName.text, h.host.text, h.versions
	f.GPUCount = len(h.gpus)
	for _, g := range h.gpus {
		if !slices.Contains(f.GPUNames, g) {
			f.GPUNames = append(f.GPUNames, g)
		}
	}
	at := map[ident]int{}
	for _, m := range a.p.metas {
		pid := a.p.tracks.list[m.track].pid
		if m.kind == metaThreadName {
			continue
		}
		i, ok := at[pid]
		if !ok {
			if len(f.Processes) >= maxProcesses {
				continue
			}
			i = len(f.Processes)
			at[pid] = i
			f.Processes = append(f.Processes, Process{PID: a.identText(pid)})
		}
		if m.kind == metaProcessName {
			f.Processes[i].Name = a.p.names.str(m.value)
		} else {
			f.Processes[i].Labels = a.p.names.str(m.value)
		}
	}
	f.Threads = len(a.p.tracks.list)
	f.Producer = a.producer()
}

// producer tells the engine by the names it leaves: its annotations first, its source
// files in Python stacks second.
func (a *analysis) producer() string {
	var deep, vllm, sglang bool
	for _, x := range a.annotations {
		switch n := a.stepName(x.name); {
		case n.source == "deepinfer" || a.p.names.flags[x.name]&nfDeepInfer != 0:
			deep = true
		case n.source == "sglang":
			sglang = true
		case n.source == "vllm":
			vllm = true
		}
	}
	trt := false
	for _, v := range a.p.header.versions {
		vllm = vllm || v.name == "vllm"
		sglang = sglang || v.name == "sglang"
		trt = trt || v.name == "tensorrt_llm"
	}
	if !deep && !trt && (sglang || !vllm) { // SGLang and TensorRT-LLM name their steps alike
		for _, s := range a.p.names.strs {
			switch {
			case strings.Contains(s, "vllm/"):
				vllm = true
			case strings.Contains(s, "sglang/"):
				sglang = true
			case strings.Contains(s, "tensorrt_llm/"):
				trt = true
			}
		}
	}
	switch {
	case deep:
		return "deepinfer"
	case trt:
		return "tensorrt-llm"
	case sglang: // builds on vLLM's step names, so it goes first
		return "sglang"
	case vllm:
		return "vllm"
	case len(a.p.header.gpus) > 0 || a.p.header.hasBase:
		return "pytorch"
	}
	return "unknown"
}
