package kineto

// Device is one entry of a header's deviceProperties.
type Device struct {
	Name        string
	TotalMemory int64 // bytes
	Major       int64 // compute capability
	Minor       int64
	SMs         int64 // multiprocessors; also the divisor of every kernel's "blocks per SM"
}

// Group is a process group: its name, description and the global ranks in it.
type Group struct {
	Name        string
	Description string
	Ranks       []int
}

// Header is what stands before a trace's events.
type Header struct {
	Devices     []Device // the index is the device's id
	Cupti       int64
	CudaRuntime int64 // as CUDA writes it, 12040 for 12.4
	CudaDriver  int64
	Rank        int // global rank of the process
	WorldSize   int
	Groups      []Group
	NCCL        string // version
	TraceID     string
}

// Footer is what stands after a trace's events.
type Footer struct {
	TraceName string // path the engine wrote the file to
	BaseTime  int64  // Unix time in nanoseconds of the trace clock's zero
}

// Header opens the document.
func (w *Writer) Header(h Header) {
	if w.open || w.closed {
		w.err = ErrOrder
		return
	}
	w.open = true
	b := append(w.buf, "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n"...)
	for i, d := range h.Devices {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		w.sms = max(d.SMs, 1)
		b = appendDevice(b, i, d)
	}
	b = append(b, "\n  ],\n  \"cupti_version\": "...)
	b = appendInt(b, h.Cupti)
	b = append(b, ",\n  \"cuda_runtime_version\": "...)
	b = appendInt(b, h.CudaRuntime)
	b = append(b, ",\n  \"cuda_driver_version\": "...)
	b = appendInt(b, h.CudaDriver)
	b = append(b, ",\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": "...)
	b = appendInt(b, int64(h.Rank))
	b = append(b, `, "world_size": `...)
	b = appendInt(b, int64(h.WorldSize))
	b = append(b, `, "pg_count": `...)
	b = appendInt(b, int64(len(h.Groups)))
	b = append(b, `, "pg_config": [`...)
	for i, g := range h.Groups {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, `{"pg_name": "`...)
		b = appendText(b, g.Name)
		b = append(b, `", "pg_desc": "`...)
		b = appendText(b, g.Description)
		b = append(b, `", "backend_config": "cuda:nccl", "pg_size": `...)
		b = appendInt(b, int64(len(g.Ranks)))
		b = append(b, `, "ranks": `...)
		b = appendRanks(b, g.Ranks, len(g.Ranks))
		b = append(b, '}')
	}
	b = append(b, `], "nccl_version": "`...)
	b = appendText(b, h.NCCL)
	b = append(b, "\"},\n  \"with_stack\": 1,\n  \"trace_id\": \""...)
	b = appendText(b, h.TraceID)
	w.buf = append(b, "\",\n  \"traceEvents\": ["...)
}

func appendDevice(b []byte, id int, d Device) []byte {
	b = append(b, "    {\n      \"id\": "...)
	b = appendInt(b, int64(id))
	b = append(b, `, "name": "`...)
	b = appendText(b, d.Name)
	b = append(b, `", "totalGlobalMem": `...)
	b = appendInt(b, d.TotalMemory)
	b = append(b, ",\n      \"computeMajor\": "...)
	b = appendInt(b, d.Major)
	b = append(b, `, "computeMinor": `...)
	b = appendInt(b, d.Minor)
	b = append(b, ",\n      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"...)
	b = append(b, "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n      \"sharedMemPerBlock\": 49152, \"numSms\": "...)
	b = appendInt(b, d.SMs)
	return append(b, "\n    , \"regsPerMultiprocessor\": 65536, \"sharedMemPerBlockOptin\": 232448, \"sharedMemPerMultiprocessor\": 233472\n    }"...)
}

// appendRanks writes a list of ranks; beyond limit PyTorch shortens it to its head and its last.
func appendRanks(b []byte, ranks []int, limit int) []byte {
	b = append(b, '[')
	for i, r := range ranks {
		if len(ranks) > limit && i >= limit-1 {
			b = append(b, ", ..., "...)
			b = appendInt(b, int64(ranks[len(ranks)-1]))
			break
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendInt(b, int64(r))
	}
	return append(b, ']')
}

// Footer ends the document.
func (w *Writer) Footer(f Footer) {
	if !w.open || w.closed {
		w.err = ErrOrder
		return
	}
	w.open, w.closed = false, true
	b := append(w.buf, "\n  ],\n  \"traceName\": \""...)
	b = appendText(b, f.TraceName)
	b = append(b, "\",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": "...)
	b = appendInt(b, f.BaseTime)
	w.buf = append(b, "\n}\n"...)
}
