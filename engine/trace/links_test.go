package trace

import "testing"

// gpu is a kernel on any device and stream.
func gpu(name, device, stream, ts, dur, corr string) string {
	return slice("kernel", name, device, stream, ts, dur, `"device": `+device+`, "stream": `+stream+`, "correlation": `+corr)
}

// node is a kernel of a graph replay.
func node(name, stream, ts, dur, corr string) string {
	return slice("kernel", name, "0", stream, ts, dur, `"device": 0, "stream": `+stream+`, "correlation": `+corr+`, "graph id": 3, "graph node id": 1`)
}

func copyOn(cat, stream, ts, dur, corr string) string {
	return slice(cat, "Memcpy", "0", stream, ts, dur, `"device": 0, "stream": `+stream+`, "correlation": `+corr+`, "bytes": 64`)
}

func nccl(name, ts, dur, args string) string {
	return slice("kernel", name, "0", "22", ts, dur, `"device": 0, "stream": 22`+args)
}

var links = table(
	example{"launch to kernel", document(launch("cudaLaunchKernel", "10", "2", "5"), kernel("k", "14", "3", "5")),
		"launches=1/0; linked=1; unlinked=0; latency=1/0; latencies=4000/4000/4000/4000/4000; unlinked launches=0; unresolved=0"},
	// The driver's call lies inside the runtime's: the outermost wins.
	example{"runtime call around a driver call", document(
		slice("cuda_driver", "cuLaunchKernel", "1", "1", "11", "1", `"correlation": 5`), launch("cudaLaunchKernel", "10", "4", "5"), kernel("k", "20", "3", "5")),
		"linked=1; latencies=10000/10000/10000/10000/10000; duplicate_launch=1; unlinked launches=0"},
	example{"kernel before its launch", document(launch("cudaLaunchKernel", "10", "2", "5"), kernel("k", "9.5", "3", "5"), launch("cudaLaunchKernel", "20", "1", "6"), kernel("j", "22", "1", "6")),
		"linked=2; latency=1/1; latencies=2000/2000/2000/2000/2000; clock_skew=1"},
	example{"kernel with no launch in the file", document(kernel("k", "14", "3", "5"), kernel("j", "18", "3", "6")), "linked=0; unlinked=2; unlinked_kernels=2; latency=-; verdict=warn"},
	example{"first launches without kernels", document(
		launch("cudaLaunchKernel", "1", "1", "1"), launch("hipLaunchKernel", "3", "1", "2"), launch("cudaLaunchKernelExC", "5", "1", "3"), kernel("k", "9", "2", "3")),
		"launches=3/0; unlinked launches=2; unlinked_launches=2; linked=1"},
	example{"launches but no GPU", document(launch("cudaLaunchKernel", "1", "1", "1"), launch("cudaGraphLaunch", "3", "1", "2")), "no_gpu=2; launches=2/1; verdict=unusable; gpus=0"},
	example{"no launches and no GPU", document(opA, annotation("n", "3", "1")), "no_gpu=-; gpus=0; verdict=warn; latency=-"},
	example{"calls that launch nothing", document(
		launch("cudaStreamSynchronize", "1", "1", "1"), launch("cudaEventRecord", "3", "1", "2"), launch("cudaMalloc", "5", "1", "3"), launch("cudaLaunchHostFunc", "7", "1", "4")),
		"launches=0/0; unlinked launches=0; no_gpu=-"},
	example{"copies are no kernels", document(launch("cudaMemcpyAsync", "1", "1", "1"), copyOn("gpu_memcpy", "7", "5", "4", "1"), launch("cudaMemsetAsync", "3", "1", "2"), copyOn("gpu_memset", "7", "9", "2", "2")),
		"gpu 0 kernels=0; gpu 0 copy=6000; gpu 0 busy=6000; gpu 0 sum=0; launches=0/0; linked=0; unlinked=0; kernels="},
	// Graph: 4 + 6 + 8 + 7 = 25 µs of 30; 20–40 and 55–60 busy.
	example{"graph replay", document(
		launch("cudaGraphLaunch", "10", "6", "900"), node("qkv", "7", "20", "4", "900"), node("attn", "7", "24", "6", "900"), node("side", "20", "25", "8", "900"), node("mlp", "7", "33", "7", "900"),
		launch("cudaLaunchKernel", "50", "2", "901"), kernel("sample", "55", "5", "901")),
		"launches=2/1; graph=1/4/25000/30000; gpu 0 busy=25000; gpu 0 sum=30000; gpu 0 graph=4; linked=5; latencies=5000/14000/23000/23000/23000"},
	example{"graph replay without graph ids", document(launch("hipGraphLaunch", "10", "6", "900"), kernel("a", "20", "4", "900"), kernel("b", "24", "6", "900")),
		"launches=1/1; graph=1/2/10000/10000; gpu 0 graph=2; linked=2"},
	// Programmatic dependent launch: 100–110 and 108–120 on one stream.
	example{"overlap on one stream", document(kernel("a", "100", "10", "1"), kernel("b", "108", "12", "2"), kernel("c", "125", "5", "3")), "gpu 0 sum=27000; gpu 0 busy=25000; gpu 0 idle=5000; gpu 0 streams=1"},
	example{"one inside the other", document(kernel("a", "100", "20", "1"), gpu("b", "0", "8", "105", "5", "2")), "gpu 0 sum=25000; gpu 0 busy=20000; gpu 0 idle=0; gpu 0 streams=2"},
	example{"touching", document(kernel("a", "10.004", "0.006", "1"), kernel("b", "10.010", "0.990", "2")), "gpu 0 sum=996; gpu 0 busy=996; gpu 0 idle=0; span=996"},
	example{"zero-length kernels", document(kernel("a", "10", "0", "1"), kernel("b", "20", "0", "2")), "gpu 0 kernels=2; gpu 0 busy=0; gpu 0 idle=10000; span=10000"},
	example{"devices in numeric order", document(gpu("a", "10", "7", "1", "2", "1"), gpu("b", "9", "7", "2", "3", "2")), "gpus=2; gpu 9 busy=3000; gpu 10 busy=2000; span=4000"},
	// Communication 10–20, compute 15–30 and 40–45: 5 µs of it are exposed.
	example{"exposed communication", document(nccl("ncclDevKernel_AllReduce_Sum", "10", "10", ""), kernel("gemm", "15", "15", "1"), kernel("gemm", "40", "5", "2")),
		"gpu 0 comm=10000; gpu 0 compute=20000; gpu 0 exposed=5000; gpu 0 busy=25000; gpu 0 sum=30000; gpu 0 idle=10000"},
	// NCCL 10–20, the engine's own all-reduce 18–26, compute 24–30: together 10–26 communicate, 24–26 hidden.
	// The fused kernel computes at 40–43, whatever the operation before it.
	example{"custom communication", document(launch("cudaLaunchKernel", "5", "1", "1"), launch("cudaLaunchKernel", "6", "1", "2"),
		nccl("ncclDevKernel_AllReduce_Sum", "10", "10", ""), kernel("void vllm::cross_device_reduce_1stage<4>(int)", "18", "8", "1"),
		kernel("gemm", "24", "6", "2"), kernel("triton_poi_fused_add_all_reduce_0", "40", "3", "3"), kernel("deep_ep::intranode::combine", "50", "2", "4"),
		kernel("nvshmem_barrier", "60", "1", "5")),
		`gpu 0 comm=10000; gpu 0 custom=11000; gpu 0 compute=9000; gpu 0 exposed=17000; gpu 0 busy=26000; gpu 0 idle=25000; collectives=4;
		collective allreduce=1/10000/10000 - false; collective custom allreduce=1/8000/8000 - false; collective custom combine=1/2000/2000 - false;
		collective custom unknown=1/1000/1000 - false`},
	example{"annotations and waits on the GPU's rows are no work", document(
		slice("gpu_user_annotation", "step", "0", "7", "99.999", "31.002", ""), kernel("gemm", "100", "10", "1"), kernel("attn", "115", "16", "2"),
		slice("cuda_sync", "Stream Sync", "0", "1000007", "90", "60", `"stream": 7`), slice("gpu_memcpy", "copy", "0", "9", "128", "6", `"stream": 9`)),
		"gpu 0 busy=29000; gpu 0 sum=26000; gpu 0 copy=6000; gpu 0 streams=2; phases=0; span=60000"},
	example{"accelerator without kernels", document(
		slice("mtia_runtime", "runFunction", "1", "1", "20", "3", `"correlation": 72`), slice("mtia_ccp_events", "hccl::all_gather", "4", "2", "26", "5", `"correlation": 72`)),
		"linked devices=1; gpus=0; slices=2; no_gpu=-; cat mtia_ccp_events=1/5000"},
	example{"unknown categories", document(slice("my_events", "x", "1", "1", "1", "2", ""), slice("", "y", "1", "1", "3", "2", ""), `{"ph": "X", "name": "z", "ts": 9, "dur": 1}`),
		"cat my_events=1/2000; cat =2/3000; slices=3; gpus=0"},
	example{"counters", document(opA, counter("hbm", "4", `"read": 310.5, "write": 12.25`), counter("hbm", "4", `"read": 1`), counter("hbm", "5", `"read": 1`), counter("queue", "4", `"n": 2`)),
		"counters=4; ph C=4; slices=1; events=5; skipped=0"},
	example{"instants, metadata and object events are no slices", document(opA, `{"ph": "i", "s": "g", "name": "x", "ts": 90}`, `{"ph": "N", "id": 1, "ts": 1, "name": "o"}`, `{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "py"}}`,
		`{"ph": "b", "cat": "async", "id": 1, "name": "x", "ts": 1}`, `{"ph": "e", "cat": "async", "id": 1, "name": "x", "ts": 500}`),
		"events=6; slices=1; skipped=0; span=2000; process 9=py|"},
	example{"overhead", document(slice("overhead", "Buffer Flush", "-1", "0", "3", "2", ""), slice("overhead", "Unrecognized", "-1", "0", "9", "0.5", "")), "overhead=2/2500; cat overhead=2/2500"},
)

func counter(name, pid, args string) string {
	return `{"ph": "C", "name": "` + name + `", "pid": ` + pid + `, "tid": 0, "ts": 27, "args": {` + args + `}}`
}

var flowsTable = table(
	example{"whole arrow", document(opA, flow("s", "7", "1"), flow("f", "7", "2")), "unresolved=0; ph s=1; ph f=1"},
	example{"arrow with steps", document(opA, flow("s", "7", "1"), flow("t", "7", "2"), flow("t", "7", "3"), flow("f", "7", "4")), "unresolved=0; ph t=2; duplicate_flow=-"},
	example{"start without end, end without start", document(opA, flow("s", "32", "1"), flow("f", "99", "2")), "unresolved=2; verdict=warn"},
	example{"two starts, one end", document(opA, flow("s", "5", "1"), flow("s", "5", "2"), flow("f", "5", "3")), "unresolved=0; duplicate_flow=1"},
	example{"end before start", document(opA, flow("f", "5", "3"), flow("s", "5", "1")), "unresolved=0"},
	example{"same id in other categories", document(opA, flow("s", "5", "1"), `{"ph": "f", "id": 5, "cat": "fwdbwd", "name": "x", "pid": 1, "tid": 1, "ts": 2}`), "unresolved=2"},
	example{"flow without id", document(opA, `{"ph": "s", "cat": "ac2g", "ts": 1}`), "unresolved=0; events=2"},
	example{"legacy flow links a kernel without correlation", `[{"name": "add", "ph": "X", "ts": 100.5, "dur": 40.25, "tid": 1, "pid": "CPU functions", "args": {}},
		{"name": "add", "ph": "s", "ts": 100.5, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda", "args": {}},
		{"name": "add", "ph": "f", "ts": 120.75, "tid": 0, "pid": "CUDA functions", "id": 0, "cat": "cpu_to_cuda", "args": {}},
		{"name": "add", "ph": "X", "ts": 120.75, "dur": 12.5, "tid": 0, "pid": "CUDA functions", "args": {}}]`,
		"gpu 0 kernels=1; linked=1; latencies=20250/20250/20250/20250/20250; unresolved=0; slices=2; span=40250"},
	example{"driver launch without arrow is linked by correlation", document(
		slice("cuda_driver", "cuLaunchKernelEx", "1", "1", "10", "2", `"correlation": 31`), kernel("gemm", "15", "3", "31")), "linked=1; latencies=5000/5000/5000/5000/5000"},
)

var pairs = table(
	example{"B and E", document(begin("B", "a", "1", "10"), begin("E", "", "1", "15")), "slices=1; span=5000; unfinished=0; cat =1/5000; orphan_end=-"},
	example{"nested", document(begin("B", "a", "1", "10"), begin("B", "b", "1", "12"), begin("E", "", "1", "15"), begin("E", "", "1", "20")), "slices=2; span=10000; cat =2/13000"},
	example{"E before any B", document(begin("E", "", "1", "5"), begin("B", "a", "1", "10"), begin("E", "", "1", "15")), "slices=1; orphan_end=1; span=5000"},
	example{"B never ends", document(begin("B", "a", "1", "10"), begin("B", "b", "1", "12"), begin("E", "", "1", "15")), "slices=1; unfinished=1; span=3000; verdict=warn"},
	example{"threads interleaved", document(begin("B", "a", "1", "10"), begin("B", "b", "2", "11"), begin("E", "", "1", "12"), begin("E", "", "2", "20")), "slices=2; cat =2/11000; span=10000"},
	example{"out of order", document(begin("E", "", "1", "15"), begin("E", "", "1", "20"), begin("B", "b", "1", "12"), begin("B", "a", "1", "10")), "slices=2; cat =2/13000; orphan_end=-; unfinished=0"},
	example{"zero-length pair", document(begin("B", "a", "1", "10"), begin("E", "", "1", "10")), "slices=1; span=0; cat =1/0"},
	example{"pair without a time", document(begin("B", "a", "1", "NaN"), begin("E", "", "1", "15")), "slices=0; untimed=1; orphan_end=1; events=2; skipped=0"},
	example{"pair of an annotation", document(`{"ph": "B", "cat": "user_annotation", "name": "deepinfer:schedule", "pid": 1, "tid": 1, "ts": 1}`, `{"ph": "E", "pid": 1, "tid": 1, "ts": 4}`), "phase deepinfer:schedule=1/3000/3000; slices=1; steps=1"},
)

func begin(ph, name, tid, ts string) string {
	return `{"ph": "` + ph + `", "name": "` + name + `", "pid": 9, "tid": ` + tid + `, "ts": ` + ts + `}`
}

var collectives = table(
	example{"quoted, doubly quoted, missing", document(
		nccl("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "10", "8", `, "Collective name": "allreduce", "Group size": 8, "Process Group Ranks": "[0, 1, 2, 3, ...]"`),
		nccl("ncclDevKernel_AllGather_RING_LL", "20", "6", `, "Collective name": "\"all_gather\"", "Group size": "8"`),
		nccl("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "30", "7", "")),
		"collectives=3; collective allreduce=1/8000/8000 8 true; collective all_gather=1/6000/6000 8 false; collective reduce_scatter=1/7000/7000 - false; gpu 0 comm=21000"},
	example{"summed by name and group", document(
		nccl("ncclDevKernel_AllReduce_A", "10", "8", `, "Collective name": "allreduce", "Group size": 8`), nccl("ncclDevKernel_AllReduce_B", "20", "2", `, "Collective name": "allreduce", "Group size": 8`)),
		"collectives=1; collective allreduce=2/10000/8000 8 false"},
	example{"names from kernels", document(nccl("ncclKernel_SendRecv_x", "1", "1", ""), nccl("ncclKernel_Broadcast_x", "2", "1", ""), nccl("ncclKernel_AllToAll", "3", "1", ""), nccl("ncclKernel_Reduce_x", "4", "1", ""), nccl("NCCL_odd", "5", "1", "")),
		"collectives=5; collective send_recv=1/1000/1000 - false; collective broadcast=1/1000/1000 - false; collective all_to_all=1/1000/1000 - false; collective reduce=1/1000/1000 - false; collective unknown=1/1000/1000 - false"},
)

func TestLinks(t *testing.T) { run(t, links) }

func TestFlows(t *testing.T) { run(t, flowsTable) }

func TestPairs(t *testing.T) { run(t, pairs) }

func TestCollectives(t *testing.T) { run(t, collectives) }
