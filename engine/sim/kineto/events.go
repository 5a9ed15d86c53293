package kineto

import "strconv"

// Collective describes a communication call, as PyTorch attaches it to the call and to its kernel.
type Collective struct {
	Name  string // PyTorch's word: allreduce, _allgather_base, …
	DType string // BFloat16, Float, …
	In    int64  // elements sent
	Out   int64  // elements received
	Group *Group
}

// Kernel is what a kernel's arguments tell beside its span; the span's PID is the device, its TID the stream.
type Kernel struct {
	Correlation uint64 // of the launch; all kernels of one graph launch share it
	External    uint64 // external id of the operator that launched it, 0 when unknown
	Registers   int64  // per thread
	Shared      int64  // bytes of shared memory
	Grid, Block [3]int64
	Graph, Node uint64 // graph id and node id inside a replayed graph, 0 outside of one
	Collective  *Collective
}

const headX = "\n  {\n    \"ph\": \"X\", \"cat\": \""

// Op writes an operator (cpu_op). index is its place among the profiler's CPU events ("Ev Idx").
func (w *Writer) Op(s Span, external, index uint64) {
	w.slice("cpu_op", headX+`cpu_op", "name": "`, &s)
	w.recorded(external, index, nil, 0)
}

// Comm writes the record_param_comms operator (cpu_op) around a collective call; rank is the caller's rank in the group.
func (w *Writer) Comm(s Span, external, index uint64, c *Collective, rank int) {
	w.slice("cpu_op", headX+`cpu_op", "name": "`, &s)
	w.recorded(external, index, c, rank)
}

// Annotation writes a record_function range (user_annotation).
func (w *Writer) Annotation(s Span, external, index uint64) {
	w.slice("user_annotation", headX+`user_annotation", "name": "`, &s)
	w.recorded(external, index, nil, 0)
}

func (w *Writer) recorded(external, index uint64, c *Collective, rank int) {
	b := append(w.buf, ",\n    \"args\": {\n      \"External id\": "...)
	b = appendUint(b, external)
	b = append(b, `,"Record function id": 0`...)
	if c != nil {
		b = appendCollective(b, c)
		b = append(b, `, "Rank": `...)
		b = appendInt(b, int64(rank))
	}
	b = append(b, `, "Ev Idx": `...)
	b = appendUint(b, index)
	w.buf = append(b, endArgs...)
}

// Python writes a Python frame; parent 0 means none.
func (w *Writer) Python(s Span, parent, id, index uint64) {
	w.slice("python_function", headX+`python_function", "name": "`, &s)
	b := append(w.buf, ",\n    \"args\": {\n      \"Python parent id\": "...)
	if parent == 0 {
		b = append(b, "null"...)
	} else {
		b = appendUint(b, parent)
	}
	b = append(b, `, "Python id": `...)
	b = appendUint(b, id)
	b = append(b, `, "Ev Idx": `...)
	b = appendUint(b, index)
	w.buf = append(b, endArgs...)
}

// Runtime writes a CUDA runtime call; cbid is CUPTI's number of the function.
func (w *Writer) Runtime(s Span, cbid int64, correlation, external uint64) {
	w.slice("cuda_runtime", headX+`cuda_runtime", "name": "`, &s)
	w.call(cbid, correlation, external)
}

// Driver writes a CUDA driver call; cbid is CUPTI's number of the function.
func (w *Writer) Driver(s Span, cbid int64, correlation, external uint64) {
	w.slice("cuda_driver", headX+`cuda_driver", "name": "`, &s)
	w.call(cbid, correlation, external)
}

func (w *Writer) call(cbid int64, correlation, external uint64) {
	w.args(external)
	b := append(w.buf, `"cbid": `...)
	b = appendInt(b, cbid)
	b = append(b, `, "correlation": `...)
	b = appendUint(b, correlation)
	w.buf = append(b, endArgs...)
}

// Kernel writes a kernel.
func (w *Writer) Kernel(s Span, k *Kernel) {
	w.slice("kernel", headX+`kernel", "name": "`, &s)
	w.args(k.External)
	b := append(w.buf, `"queued": 0, "device": `...)
	b = appendInt(b, s.PID)
	b = append(b, `, "context": 1,      "stream": `...)
	b = appendInt(b, s.TID)
	b = append(b, `, "correlation": `...)
	b = appendUint(b, k.Correlation)
	b = append(b, `,      "registers per thread": `...)
	b = appendInt(b, k.Registers)
	b = append(b, `,      "shared memory": `...)
	b = appendInt(b, k.Shared)
	blocks := k.Grid[0] * k.Grid[1] * k.Grid[2]
	b = append(b, `,      "blocks per SM": `...)
	b = appendRatio(b, blocks, w.sms)
	b = append(b, `,      "warps per SM": `...)
	b = appendRatio(b, blocks*((k.Block[0]*k.Block[1]*k.Block[2]+31)/32), w.sms)
	b = append(b, `,      "grid": `...)
	b = appendDim(b, k.Grid)
	b = append(b, `,      "block": `...)
	b = appendDim(b, k.Block)
	b = append(b, `,      "est. achieved occupancy %": 0`...)
	if k.Graph != 0 {
		b = append(b, `, "graph id": `...)
		b = appendUint(b, k.Graph)
		b = append(b, `, "graph node id": `...)
		b = appendUint(b, k.Node)
	}
	if k.Collective != nil {
		b = appendCollective(b, k.Collective)
	}
	w.buf = append(b, endArgs...)
}

func appendDim(b []byte, d [3]int64) []byte {
	b = append(b, '[')
	b = appendInt(b, d[0])
	b = append(b, ", "...)
	b = appendInt(b, d[1])
	b = append(b, ", "...)
	b = appendInt(b, d[2])
	return append(b, ']')
}

// rankLimit is the length from which PyTorch shortens "Process Group Ranks".
const rankLimit = 30

func appendCollective(b []byte, c *Collective) []byte {
	b = append(b, `, "Collective name": "`...)
	b = appendText(b, c.Name)
	b = append(b, `", "In msg nelems": `...)
	b = appendInt(b, c.In)
	b = append(b, `, "Out msg nelems": `...)
	b = appendInt(b, c.Out)
	b = append(b, `, "Group size": `...)
	b = appendInt(b, int64(len(c.Group.Ranks)))
	b = append(b, `, "dtype": "`...)
	b = appendText(b, c.DType)
	b = append(b, `", "In split size": "[]", "Out split size": "[]", "Process Group Name": "`...)
	b = appendText(b, c.Group.Name)
	b = append(b, `", "Process Group Description": "`...)
	b = appendText(b, c.Group.Description)
	b = append(b, `", "Process Group Ranks": "`...)
	b = appendRanks(b, c.Group.Ranks, rankLimit)
	return append(b, '"')
}

// Memcpy writes a copy by the GPU.
func (w *Writer) Memcpy(s Span, bytes int64, correlation, external uint64) {
	w.slice("gpu_memcpy", headX+`gpu_memcpy", "name": "`, &s)
	w.moved(&s, bytes, correlation, external)
}

// Memset writes a fill by the GPU.
func (w *Writer) Memset(s Span, bytes int64, correlation, external uint64) {
	w.slice("gpu_memset", headX+`gpu_memset", "name": "`, &s)
	w.moved(&s, bytes, correlation, external)
}

func (w *Writer) moved(s *Span, bytes int64, correlation, external uint64) {
	w.args(external)
	b := append(w.buf, `"device": `...)
	b = appendInt(b, s.PID)
	b = append(b, `, "context": 1,      "stream": `...)
	b = appendInt(b, s.TID)
	b = append(b, `, "correlation": `...)
	b = appendUint(b, correlation)
	b = append(b, `,      "bytes": `...)
	b = appendInt(b, bytes)
	b = append(b, `, "memory bandwidth (GB/s)": `...)
	b = strconv.AppendFloat(b, float64(bytes)/float64(max(s.Dur, 1)), 'f', -1, 64)
	w.buf = append(b, endArgs...)
}

// Sync writes the GPU's side of a synchronisation (cuda_sync): kind is Kineto's word ("Event Sync"), recorded the
// correlation of the call that recorded the event waited for, event its id.
func (w *Writer) Sync(s Span, correlation, recorded, event uint64) {
	w.slice("cuda_sync", headX+`cuda_sync", "name": "`, &s)
	w.args(0)
	b := append(w.buf, `"cuda_sync_kind": "`...)
	b = appendText(b, s.Name)
	b = append(b, `",      "wait_on_stream": `...)
	b = appendInt(b, s.TID)
	b = append(b, `,      "wait_on_cuda_event_record_corr_id": `...)
	b = appendUint(b, recorded)
	b = append(b, `,      "wait_on_cuda_event_id": `...)
	b = appendUint(b, event)
	b = append(b, `,      "stream": `...)
	b = appendInt(b, s.TID)
	b = append(b, `, "correlation": `...)
	b = appendUint(b, correlation)
	b = append(b, `,      "device": `...)
	b = appendInt(b, s.PID)
	w.buf = append(append(b, `, "context": 1`...), endArgs...)
}

// Mirror writes a range's image on the GPU (gpu_user_annotation): from the first to the last work launched inside it.
func (w *Writer) Mirror(s Span, external uint64) {
	w.slice("gpu_user_annotation", headX+`gpu_user_annotation", "name": "`, &s)
	b := append(w.buf, ",\n    \"args\": {\n      \"External id\": "...)
	w.buf = append(appendUint(b, external), endArgs...)
}

// Overhead writes a stretch that the profiler itself took; Kineto puts it on process -1.
func (w *Writer) Overhead(name string, start, dur int64) {
	w.slice("overhead", headX+`overhead", "name": "`, &Span{name, -1, 0, start, dur})
	w.buf = append(w.buf, endEvent...)
}

// FlowStart writes the launch's end of an arrow to the GPU; id is the correlation, the place that of the call.
func (w *Writer) FlowStart(id uint64, pid, tid, ts int64) {
	w.flow("\n  {\n    \"ph\": \"s\", \"id\": ", id, pid, tid, ts, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }")
}

// FlowEnd writes the GPU's end of an arrow; the place is that of the kernel or copy.
func (w *Writer) FlowEnd(id uint64, pid, tid, ts int64) {
	w.flow("\n  {\n    \"ph\": \"f\", \"id\": ", id, pid, tid, ts, ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }")
}

func (w *Writer) flow(head string, id uint64, pid, tid, ts int64, tail string) {
	w.begin(head)
	b := appendUint(w.buf, id)
	b = append(b, `, "pid": `...)
	b = appendInt(b, pid)
	b = append(b, `, "tid": `...)
	b = appendInt(b, tid)
	b = append(b, `, "ts": `...)
	b = appendMicros(b, ts)
	w.buf = append(b, tail...)
}
