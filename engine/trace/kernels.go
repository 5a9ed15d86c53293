package trace

import (
	"cmp"
	"strings"
)

// sumKernels lists the kernels by name and what they say of graphs and collectives.
func (a *analysis) sumKernels() {
	graphCount := map[nameID]int64{}
	for i, g := range a.gpu {
		if g.kind == rowKernel && a.fromGraph(i) {
			graphCount[g.name]++
			a.s.Graph.Kernels++
			a.s.Graph.KernelTime = satAdd(a.s.Graph.KernelTime, g.dur)
		}
	}
	a.s.Graph.Launches = a.s.Links.GraphLaunches
	for _, k := range a.p.kernels.list {
		name := a.p.names.str(k.name)
		a.s.Graph.KernelTotal = satAdd(a.s.Graph.KernelTotal, k.total)
		a.s.Kernels = append(a.s.Kernels, Kernel{
			Name: name, Class: kernelClass(name), Count: k.count, Total: k.total, Mean: k.total / k.count, Max: k.max,
			Graph: max(graphCount[k.name], k.graph),
		})
	}
	sortBy(a.s.Kernels, func(x, y *Kernel) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name))
	})
	for _, c := range a.p.collectives {
		name := a.p.names.str(c.key.name)
		if name == "" {
			name = a.p.names.str(c.kernel)
		}
		x := Collective{Name: collectiveOf(name), Library: "nccl", Count: c.count, Total: c.total, Max: c.max, RanksPartial: c.key.partial}
		if c.key.custom {
			x.Library = "custom"
			if x.Name == name && c.key.name == 0 {
				x.Name = "unknown" // the name of a kernel is no operation
			}
		}
		if c.key.groupSize >= 0 {
			x.GroupSize = some(c.key.groupSize)
		}
		a.addCollective(x)
	}
	sortBy(a.s.Collectives, func(x, y *Collective) int {
		return cmp.Or(cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Library, y.Library),
			cmp.Compare(x.GroupSize.V, y.GroupSize.V))
	})
}

func (a *analysis) addCollective(x Collective) {
	for i := range a.s.Collectives {
		c := &a.s.Collectives[i]
		if c.Name == x.Name && c.Library == x.Library && c.GroupSize == x.GroupSize && c.RanksPartial == x.RanksPartial {
			c.Count += x.Count
			c.Total = satAdd(c.Total, x.Total)
			c.Max = max(c.Max, x.Max)
			return
		}
	}
	a.s.Collectives = append(a.s.Collectives, x)
}

// collectiveOf gives the operation of a communication kernel one spelling, whether it is
// named by the process group ("_allgather_base", "all_gather") or only by the kernel itself
// ("ncclDevKernel_AllGather_RING_LL").
func collectiveOf(name string) string {
	l := strings.ReplaceAll(lowered(name), "_", "")
	for _, m := range [...][2]string{
		{"allreduce", "allreduce"}, {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"},
		{"broadcast", "broadcast"}, {"alltoall", "all_to_all"}, {"all2all", "all_to_all"}, {"sendrecv", "send_recv"},
		{"crossdevicereduce", "allreduce"}, {"dispatch", "dispatch"}, {"combine", "combine"}, {"reduce", "reduce"},
	} {
		if strings.Contains(l, m[0]) {
			return m[1]
		}
	}
	if strings.Contains(l, "nccl") {
		return "unknown"
	}
	return name // an operation that is not in the list keeps its name
}

// kernelClasses sorts kernels by what they do: the first class one of whose words stands
// in the name, in lower case, wins. The words come from the names that PyTorch, vLLM,
// SGLang, TensorRT-LLM, FlashInfer, cuBLAS, CUTLASS and AITER give their kernels.
var kernelClasses = [...]struct {
	class string
	words []string
}{
	{"copy", []string{"memcpy", "memset", "copybuffer", "direct_copy", "copy_kernel", "catarray", "fillfunctor", "copy_device",
		"nchwtonhwc", "nhwctonchw", "batched_transpose"}},
	{"attention", []string{"flash", "fmha", "attention", "attn", "mla_", "paged_", "prefillwithkv", "decodewithkv", "xqa", "unified_attention",
		"reshape_and_cache", "concat_and_cache", "kv_cache", "kvcache", "rotary", "rope"}},
	{"moe", []string{"moe", "expert", "topkgating", "topk_gating", "grouped_gemm", "group_gemm"}},
	{"sampling", []string{"sampl", "softmax", "argmax", "topk", "top_k", "top_p", "topp", "multinomial", "radixsort", "radix_sort", "sort", "penalt"}},
	{"norm", []string{"norm", "bn_fw", "bn_bw", "gammabeta"}},
	{"gemm", []string{"gemm", "matmul", "cutlass", "cublas", "nvjet", "_mm_", "wgmma", "cijk_", "xmma", "gemv", "splitk", "marlin", "machete",
		"sm80_", "sm90_", "sm100_", "ampere_", "volta_", "hopper_", "turing_", "conv2d", "convolve", "winograd", "implicit_convolve",
		"dgrad", "wgrad", "bmm_"}},
	{"reduce", []string{"reduce", "scan", "cumsum"}},
	{"elementwise", []string{"elementwise", "silu", "gelu", "activation", "act_and_mul", "quant", "triton_poi", "vectorized", "add_kernel",
		"mul_kernel", "index", "embedding", "gather", "scatter", "where", "multi_tensor_apply", "triton_"}},
}

// commWords stand in the names of communication kernels: NCCL's and RCCL's, MSCCL's and MSCCL++'s, NVSHMEM's and
// rocSHMEM's; the all-reduces that vLLM (cross_device_reduce_1stage, quickreduce), SGLang, TensorRT-LLM, FlashInfer and
// AITER write themselves; and what moves tokens to their experts (DeepEP, pplx, MORI, TensorRT-LLM's all-to-all).
var commWords = [...]string{"nccl", "rccl", "msccl", "allreduce", "all_reduce", "cross_device_reduce", "quickreduce", "quick_reduce",
	"allgather", "all_gather", "reduce_scatter", "reducescatter", "nvshmem", "rocshmem", "deep_ep", "pplx", "epdispatch", "epcombine",
	"alltoall", "all_to_all", "all2all", "moe_a2a", "moea2a", "userbuffers"}

// communicates reports whether a kernel's name, in lower case, is that of a communication kernel. Inductor names the
// kernels that it generates after the operations it fused, so "triton_poi_fused_add_all_reduce_…" has only the
// arithmetic beside an all-reduce; the all-reduce itself is a kernel of its own.
func communicates(l string) bool {
	if inductor(l) {
		return strings.Contains(l, "nccl") // comm_ns counts by this word whatever is around it
	}
	for _, w := range commWords {
		if strings.Contains(l, w) {
			return true
		}
	}
	return false
}

func inductor(l string) bool {
	return strings.HasPrefix(l, "triton_") && strings.Contains(l, "_fused_")
}

// collectiveOps are the collectives' names within names of fused kernels. A strings.Replacer for them would make the
// browser's module larger by 17 KB.
var collectiveOps = [...]string{"all_reduce", "reduce_scatter", "all_gather", "all_to_all"}

// markCustom notes of a kernel's name whether the kernel communicates without NCCL. Only names of kernels are asked:
// a file may have a million others.
func (n *names) markCustom(id nameID) {
	if n.flags[id]&(nfComm|nfOther) == 0 && communicates(lowered(n.str(id))) {
		n.flags[id] |= nfCustom
	}
}

func kernelClass(name string) string {
	l := lowered(name)
	if communicates(l) {
		return "communication"
	}
	if inductor(l) { // fused around a collective: what else it did gives the class
		for _, op := range collectiveOps {
			l = strings.ReplaceAll(l, op, "")
		}
	}
	for _, c := range kernelClasses {
		for _, w := range c.words {
			if strings.Contains(l, w) {
				return c.class
			}
		}
	}
	return "other"
}
