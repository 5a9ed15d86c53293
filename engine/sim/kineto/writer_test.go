package kineto

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestAppendMicros(t *testing.T) {
	tests := []struct {
		ns   int64
		want string
	}{
		{0, "0.000"},
		{1, "0.001"},
		{10, "0.010"},
		{999, "0.999"},
		{1000, "1.000"},
		{1001, "1.001"},
		{123456789, "123456.789"},
		{3676599907409475, "3676599907409.475"},
		{1743521598000000001, "1743521598000000.001"},
		{math.MaxInt64, "9223372036854775.807"},
		{-1, "-0.001"},
		{-1000, "-1.000"},
		{math.MinInt64, "-9223372036854775.808"},
	}
	for _, tt := range tests {
		if got := string(appendMicros(nil, tt.ns)); got != tt.want {
			t.Errorf("%d ns: %s, want %s", tt.ns, got, tt.want)
		}
	}
}

func TestAppendRatio(t *testing.T) {
	// The figures are those of a real trace of a GPU with 132 multiprocessors.
	tests := []struct {
		num, den int64
		want     string
	}{{3, 132, "0.022727"}, {12, 132, "0.090909"}, {24, 132, "0.181818"}, {408, 132, "3.090909"}, {132, 132, "1.000000"}, {0, 132, "0.000000"}}
	for _, tt := range tests {
		if got := string(appendRatio(nil, tt.num, tt.den)); got != tt.want {
			t.Errorf("%d ÷ %d: %s, want %s", tt.num, tt.den, got, tt.want)
		}
	}
}

func TestAppendText(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"void gemm<64u, (Type)2>(float*)", "void gemm<64u, (Type)2>(float*)"},
		{`say "hi" \ there`, `say \"hi\" \\ there`},
		{"a\nb\tc\x00d\x1fe\x7f", `a\nb\tc\u0000d\u001fe` + "\x7f"},
		{"<script>alert('x')</script>", "<script>alert('x')</script>"},
		{"语言 é 🚀", "语言 é 🚀"},
		{"bad \xff\xc3( \xed\xa0\x80 end\xe2\x82", "bad \uFFFD\uFFFD( \uFFFD\uFFFD\uFFFD end\uFFFD\uFFFD"},
		{"a real \uFFFD stays", "a real \uFFFD stays"},
	}
	for _, tt := range tests {
		if got := string(appendText(nil, tt.in)); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", `"`, "\\", "\x00", "\xff", "<script>", "é\xc3", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := append(appendText([]byte{'"'}, s), '"')
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil {
			t.Fatalf("%q became %s: %v", s, quoted, err)
		}
		// A conversion to runes makes one U+FFFD of each bad byte.
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q became %q, want %q", s, got, want)
		}
	})
}

// layout is one event of each kind as libkineto writes it.
const layout = `
{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "GPU", "totalGlobalMem": 1024,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }
  ],
  "cupti_version": 22,
  "cuda_runtime_version": 12040,
  "cuda_driver_version": 12090,
  "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_count": 1, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}], "nccl_version": "2.21.5"},
  "with_stack": 1,
  "trace_id": "AB",
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
      "External id": 1,"Record function id": 0, "Ev Idx": 0
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 7, "tid": 8,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
      "External id": 2,"Record function id": 0, "Collective name": "allreduce", "In msg nelems": 5, "Out msg nelems": 6, "Group size": 2, "dtype": "Float", "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Rank": 1, "Ev Idx": 1
    }
  },
  {
    "ph": "X", "cat": "user_annotation", "name": "a \"b\"", "pid": 7, "tid": 8,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
      "External id": 3,"Record function id": 0, "Ev Idx": 2
    }
  },
  {
    "ph": "X", "cat": "python_function", "name": "x.py(1): f", "pid": 7, "tid": 8,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
      "Python parent id": null, "Python id": 1, "Ev Idx": 3
    }
  },
  {
    "ph": "X", "cat": "python_function", "name": "x.py(2): g", "pid": 7, "tid": 8,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
      "Python parent id": 1, "Python id": 2, "Ev Idx": 4
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 31,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
      "External id": 2,      "queued": 0, "device": 0, "context": 1,      "stream": 31, "correlation": 16,      "registers per thread": 32,      "shared memory": 64,      "blocks per SM": 0.022727,      "warps per SM": 0.090909,      "grid": [3, 1, 1],      "block": [128, 1, 1],      "est. achieved occupancy %": 0, "graph id": 9, "graph node id": 10
    }
  },
  {
    "ph": "f", "id": 16, "pid": 0, "tid": 31, "ts": 3676599926233.705,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 7, "tid": 8,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
            "cbid": 311, "correlation": 16
    }
  },
  {
    "ph": "s", "id": 16, "pid": 7, "tid": 8, "ts": 3676599926233.705,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 7, "tid": 8,
    "ts": 3676599926233.705, "dur": 30.211,
    "args": {
      "External id": 1,      "cbid": 307, "correlation": 17
    }
  },
  {
    "ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7,
    "ts": 3676599926395.648, "dur": 3.040,
    "args": {
      "External id": 11,      "device": 0, "context": 1,      "stream": 7, "correlation": 18,      "bytes": 32768, "memory bandwidth (GB/s)": 10.778947368421052
    }
  },
  {
    "ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7,
    "ts": 3676599926395.648, "dur": 0.800,
    "args": {
      "External id": 11,      "device": 0, "context": 1,      "stream": 7, "correlation": 19,      "bytes": 4, "memory bandwidth (GB/s)": 0.005
    }
  },
  {
    "ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": 7,
    "ts": 3676599926395.648, "dur": 0.800,
    "args": {
            "cuda_sync_kind": "Event Sync",      "wait_on_stream": 7,      "wait_on_cuda_event_record_corr_id": 19,      "wait_on_cuda_event_id": 4,      "stream": 7, "correlation": 20,      "device": 0, "context": 1
    }
  },
  {
    "ph": "X", "cat": "gpu_user_annotation", "name": "a", "pid": 0, "tid": 7,
    "ts": 3676599926395.648, "dur": 0.800,
    "args": {
      "External id": 3
    }
  },
  {
    "ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0,
    "ts": 3676600087730.997, "dur": 142.382
  },
  {
    "name": "process_name", "ph": "M", "ts": 3676599907663.058, "pid": 7, "tid": 0,
    "args": {
      "name": "python3"
    }
  },
  {
    "name": "process_labels", "ph": "M", "ts": 3676599907663.058, "pid": 7, "tid": 0,
    "args": {
      "labels": "CPU"
    }
  },
  {
    "name": "process_sort_index", "ph": "M", "ts": 3676599907663.058, "pid": 7, "tid": 0,
    "args": {
      "sort_index": 7
    }
  },
  {
    "name": "thread_name", "ph": "M", "ts": 3676599907663.058, "pid": 0, "tid": 7,
    "args": {
      "name": "stream 7 "
    }
  },
  {
    "name": "thread_sort_index", "ph": "M", "ts": 3676599907663.058, "pid": 0, "tid": 7,
    "args": {
      "sort_index": 7
    }
  },
  {
    "ph": "X", "cat": "Trace", "ts": 3676599907409.475, "dur": 287924.004,
    "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)",
    "args": {
      "Op count": 0
    }
  },
  {
    "name": "process_sort_index", "ph": "M", "ts": 3676599907409.475,
    "pid": "Spans", "tid": 0,
    "args": {
      "sort_index": 536870912
    }
  },
  {
    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",
    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 3676599907409.475
  },
  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": 3676600195333.479
  }
  ],
  "traceName": "/tmp/a.json",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1743521598000000000
}
`

func TestLayout(t *testing.T) {
	var b strings.Builder
	w := NewWriter(&b)
	group := Group{"0", "default_pg", []int{0, 1}}
	w.Header(Header{Devices: []Device{{"GPU", 1024, 9, 0, 132}}, Cupti: 22, CudaRuntime: 12040, CudaDriver: 12090,
		Rank: 1, WorldSize: 2, Groups: []Group{group}, NCCL: "2.21.5", TraceID: "AB"})
	at := func(name string) Span { return Span{name, 7, 8, 3676599926233705, 30211} }
	w.Op(at("aten::mm"), 1, 0)
	w.Comm(at("record_param_comms"), 2, 1, &Collective{"allreduce", "Float", 5, 6, &group}, 1)
	w.Annotation(at(`a "b"`), 3, 2)
	w.Python(at("x.py(1): f"), 0, 1, 3)
	w.Python(at("x.py(2): g"), 1, 2, 4)
	w.Kernel(Span{"k", 0, 31, 3676599926233705, 30211}, &Kernel{Correlation: 16, External: 2, Registers: 32, Shared: 64,
		Grid: [3]int64{3, 1, 1}, Block: [3]int64{128, 1, 1}, Graph: 9, Node: 10})
	w.FlowEnd(16, 0, 31, 3676599926233705)
	w.Runtime(at("cudaGraphLaunch"), 311, 16, 0)
	w.FlowStart(16, 7, 8, 3676599926233705)
	w.Driver(at("cuLaunchKernel"), 307, 17, 1)
	w.Memcpy(Span{"Memcpy HtoD (Pinned -> Device)", 0, 7, 3676599926395648, 3040}, 32768, 18, 11)
	w.Memset(Span{"Memset (Device)", 0, 7, 3676599926395648, 800}, 4, 19, 11)
	w.Sync(Span{"Event Sync", 0, 7, 3676599926395648, 800}, 20, 19, 4)
	w.Mirror(Span{"a", 0, 7, 3676599926395648, 800}, 3)
	w.Overhead("Buffer Flush", 3676600087730997, 142382)
	const ts = 3676599907663058
	w.ProcessName(7, ts, "python3")
	w.ProcessLabels(7, ts, "CPU")
	w.ProcessSortIndex(7, ts, 7)
	w.ThreadName(0, 7, ts, "stream 7 ")
	w.ThreadSortIndex(0, 7, ts, 7)
	w.Window(3676599907409475, 3676599907409475+287924004)
	w.Footer(Footer{"/tmp/a.json", 1743521598000000000})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(b.String(), "\n"), strings.Split(layout, "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d differs:\n got %q\nwant %q", i+1, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
		}
	}
	if w.Bytes() != int64(len(layout)) || w.Events() != 24 {
		t.Errorf("%d bytes, %d events; want %d and 24", w.Bytes(), w.Events(), len(layout))
	}
}

func TestRanks(t *testing.T) {
	ranks := make([]int, 32)
	for i := range ranks {
		ranks[i] = 2 * i
	}
	tests := []struct {
		n    int
		want string
	}{
		{0, "[]"}, {1, "[0]"}, {3, "[0, 2, 4]"},
		{31, "[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, ..., 60]"},
	}
	for _, tt := range tests {
		if got := string(appendRanks(nil, ranks[:tt.n], rankLimit)); got != tt.want {
			t.Errorf("%d ranks: %s, want %s", tt.n, got, tt.want)
		}
	}
}

// broken fails from its second write on.
type broken struct{ writes int }

var errDisk = errors.New("disk full")

func (b *broken) Write(p []byte) (int, error) {
	if b.writes++; b.writes > 1 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestWriterErrors(t *testing.T) {
	tests := []struct {
		about string
		write func(w *Writer)
		want  error
	}{
		{"nothing", func(w *Writer) {}, ErrOrder},
		{"no header", func(w *Writer) { w.Overhead("a", 0, 1); w.Footer(Footer{}) }, ErrOrder},
		{"two headers", func(w *Writer) { w.Header(Header{}); w.Header(Header{}); w.Footer(Footer{}) }, ErrOrder},
		{"no footer", func(w *Writer) { w.Header(Header{}) }, ErrOrder},
		{"event after footer", func(w *Writer) { w.Header(Header{}); w.Footer(Footer{}); w.Overhead("a", 0, 1) }, ErrOrder},
		{"good", func(w *Writer) { w.Header(Header{}); w.Footer(Footer{}) }, nil},
		{"full disk", func(w *Writer) {
			w.Header(Header{})
			for range 20_000 {
				w.Overhead("a name of some length", 0, 1)
			}
			w.Footer(Footer{})
		}, errDisk},
	}
	for _, tt := range tests {
		w := NewWriter(&broken{})
		tt.write(w)
		if err := w.Close(); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.about, err, tt.want)
		}
	}
}
