package trace

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

func TestFacts(t *testing.T) {
	head := `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}, {"id": 1, "name": "NVIDIA H200"}, {"id": 2, "name": "NVIDIA \"x\""}],
		"cupti_version": 26, "cuda_runtime_version": 12080, "cuda_driver_version": "12.8", "distributedInfo": {"backend": "nccl", "rank": 37, "world_size": 64, "pg_count": 1, "nccl_version": "2.26.2"},
		"host_name": "node-1", "traceName": "/tmp/p.json", `
	p := read(t, []byte(head+document(opA, kernel("k", "2", "1", "1"),
		`{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python3"}}`, `{"ph": "M", "name": "process_labels", "pid": 1, "tid": 0, "args": {"labels": "CPU"}}`,
		`{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "thread 1 (main)"}}`, annotation("n", "1", "1"))[1:]))
	s := Analyze(p, AnalyzeOptions{})
	f := s.Facts
	versions := map[string]string{}
	for _, v := range f.Versions {
		versions[v.name] = v.text
	}
	want := map[string]string{"schema": "1", "cupti": "26", "cuda_runtime": "12080", "cuda_driver": "12.8", "nccl": "2.26.2"}
	if !reflect.DeepEqual(versions, want) {
		t.Errorf("versions %v, want %v", versions, want)
	}
	if f.Rank != some(37) || f.WorldSize != some(64) || f.Backend != "nccl" || f.Host != "node-1" || f.TraceName != "/tmp/p.json" || f.GPUCount != 3 ||
		!reflect.DeepEqual(f.GPUNames, []string{"NVIDIA H200", `NVIDIA "x"`}) || f.Producer != "pytorch" {
		t.Errorf("facts %+v", f)
	}
	if len(f.Processes) != 1 || f.Processes[0] != (Process{"1", "python3", "CPU"}) {
		t.Errorf("processes %+v", f.Processes)
	}
	if len(s.Threads) != 1 || s.Threads[0] != (Thread{"1", "1", "python3", "thread 1 (main)"}) {
		t.Errorf("threads %+v", s.Threads)
	}
}

func TestProducers(t *testing.T) {
	for want, doc := range map[string]string{
		"deepinfer":    document(deep("prepare_input", "1", "1")),
		"vllm":         document(on("1", "execute_context_0(0)_generation_4(4)", "1", "1")),
		"sglang":       document(on("1", "step[DECODE bs=2]", "1", "1")),
		"tensorrt-llm": document(slice("python_function", "tensorrt_llm/executor.py(9): step", "1", "1", "1", "1", "")),
		"pytorch":      `{"baseTimeNanoseconds": 5, ` + document(opA)[1:],
		"unknown":      document(opA),
	} {
		if got := Analyze(read(t, []byte(doc)), AnalyzeOptions{}).Facts.Producer; got != want {
			t.Errorf("%s: producer %s", want, got)
		}
	}
	// SGLang names steps as vLLM does, too.
	both := document(on("1", "execute_32_context_0(sq0)_generation_32(sq32)", "1", "9"), on("1", "step[DECODE bs=32]", "2", "5"))
	if got := Analyze(read(t, []byte(both)), AnalyzeOptions{}).Facts.Producer; got != "sglang" {
		t.Errorf("both kinds of step names: producer %s, want sglang", got)
	}
}

// The preview of a whole file has the sums of its summary.
func TestPreview(t *testing.T) {
	data, truth := generateSmall(t, kineto.Options{Seed: 41, Steps: 4})
	p := read(t, data)
	var got struct {
		JSONBytes int64 `json:"json_bytes"`
		Events    int64
		Slices    int64
		Phases    []struct {
			Name  string
			Count int64
			Total int64 `json:"total_ns"`
			Max   int64 `json:"max_ns"`
		}
		Shapes []struct {
			Name  string
			N, B  int
			Count int64
			CPU   int64 `json:"cpu_total_ns"`
		}
	}
	if err := json.Unmarshal(p.AppendPreview(nil), &got); err != nil {
		t.Fatal(err)
	}
	if got.JSONBytes != truth.Bytes || got.Events != truth.Events || got.Slices != truth.Slices || len(got.Phases) != len(truth.Phases) || len(got.Shapes) != len(truth.Shapes) {
		t.Errorf("preview %+v, want the counts of %+v", got, truth)
	}
	phases := map[string]kineto.PhaseTruth{}
	for _, x := range truth.Phases {
		phases[x.Name] = x
	}
	for _, x := range got.Phases {
		if w := phases[x.Name]; w.Count != x.Count || w.Total != x.Total || w.Max != x.Max {
			t.Errorf("phase %+v, want %+v", x, w)
		}
	}
	shapes := map[string]kineto.ShapeTruth{}
	for _, x := range truth.Shapes {
		shapes[x.Name] = x
	}
	for _, x := range got.Shapes {
		if w := shapes[x.Name]; w.N != x.N || w.B != x.B || w.Count != x.Count || w.CPUTotal != x.CPU {
			t.Errorf("shape %+v, want %+v", x, w)
		}
	}
	// While reading goes on it is valid, and grows.
	r, last := NewReader(Options{}), int64(-1)
	for rest := data; len(rest) > 0; rest = rest[min(len(rest), 20_000):] {
		r.Write(rest[:min(len(rest), 20_000)])
		var m map[string]any
		if err := json.Unmarshal(r.Partial().AppendPreview(nil), &m); err != nil {
			t.Fatal(err)
		}
		n := int64(m["events"].(float64))
		if n < last {
			t.Errorf("events went from %d to %d", last, n)
		}
		last = n
	}
}

// A preview is made many times: names without end must not make it grow.
func TestPreviewOfManyNames(t *testing.T) {
	p := read(t, []byte(repeat(maxPreview+500, func(i int) string { return annotation("step[DECODE bs="+num(i)+"]", num(i+1), "1") })))
	var got struct{ Phases, Shapes []struct{ Name string } }
	if err := json.Unmarshal(p.AppendPreview(nil), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Phases) != maxPreview || len(got.Shapes) != maxPreview {
		t.Errorf("%d phases and %d shapes, want %d of each", len(got.Phases), len(got.Shapes), maxPreview)
	}
}

func TestErrorsAsJSON(t *testing.T) {
	for want, err := range map[string]error{
		`{"code":"zip","error":"what \"x\"","hint":"do this","near":"<b>","offset":7}`: &Error{Code: "zip", What: `what "x"`, Hint: "do this", Near: "<b>", Offset: 7},
		`{"code":"","error":"disk on fire","hint":"","near":"","offset":null}`:         errors.New("disk on fire"),
		`{"code":"","error":"","hint":"","near":"","offset":null}`:                     nil,
	} {
		if got := string(AppendError(nil, err)); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestSplittable(t *testing.T) {
	for in, want := range map[string]string{
		"{}": "{", "[": "[", " \r\n\t{": "{", "\ufeff[": "[", "": "", "  ": "", "x": "", "\x1f\x8b\x08": "", "\x28\xb5\x2f\xfd": "", "\xff\xfe{\x00": "", "{\x00": "", "\x00{": "", "// c": "", "\"": "",
	} {
		got := ""
		if root, ok := Splittable([]byte(in)); ok {
			got = string(root)
		}
		if got != want {
			t.Errorf("Splittable(%q) = %q, want %q", in, got, want)
		}
	}
}

// Names come from the file: whatever they hold, the JSON stays JSON and has no raw control
// characters.
func TestNamesAreQuoted(t *testing.T) {
	name := "</script><img src=x onerror=alert(1)>\u2028\u2029\x7f\\\"'`${x}\u202e"
	raw, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	doc := document(slice("user_annotation", string(raw[1:len(raw)-1]), "1", "1", "1", "2", ""))
	out := asJSON(read(t, []byte(doc)), len(doc))
	var m struct{ Phases []struct{ Name string } }
	if err := json.Unmarshal([]byte(out), &m); err != nil || len(m.Phases) != 1 || m.Phases[0].Name != name {
		t.Errorf("the name came back as %+v (%v)", m, err)
	}
	if strings.ContainsAny(out, "\u2028\u2029\x7f\x00\n") {
		t.Errorf("raw control characters in %q", out)
	}
}
