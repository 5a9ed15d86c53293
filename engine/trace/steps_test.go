package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// on is an annotation on a thread.
func on(tid, name, ts, dur string) string {
	return slice("user_annotation", name, "1", tid, ts, dur, "")
}

func deep(name, ts, dur string) string { return on("1", "deepinfer:"+name, ts, dur) }

var steps = table(
	// From one schedule to the next; the last ends with the last deepinfer: slice.
	example{"three steps", document(
		deep("schedule", "100", "10"), deep("launch_forward_N4_B24", "120", "30"), deep("worker.post_process", "160", "20"),
		deep("schedule", "200", "10"), deep("launch_forward_N1_B2048", "220", "40"),
		deep("schedule", "300", "10"), deep("launch_forward_N4_B25", "320", "30"), deep("build_request_outputs", "360", "15"), op("late", "390", "5")),
		`steps=3; step0=decode 4 24 0/100000; step1=prefill 1 2048 100000/100000; step2=prefill 4 25 200000/75000;
		step0 name=deepinfer:launch_forward_N4_B24; idle_steps=-; no_steps=-; producer=deepinfer; span=295000; shapes=3`},
	example{"idle steps", document(
		deep("schedule", "100", "10"), deep("schedule", "150", "10"), deep("launch_forward_N1_B6", "170", "5"), deep("schedule", "200", "5")),
		`steps=3; step0=idle - - 0/50000; step1=decode 1 6 50000/50000; step2=idle - - 100000/5000; idle_steps=2; verdict=warn`},
	example{"without schedule, by launches", document(
		deep("launch_forward_N2_B4", "100", "30"), deep("launch_sample", "140", "20"), deep("launch_forward_N2_B6", "200", "30"), deep("process_model_outputs", "240", "10")),
		`steps=2; step0=decode 2 4 0/100000; step1=decode 2 6 100000/50000`},
	example{"schedule inside schedule is no step", document(
		deep("schedule", "100", "20"), deep("schedule", "105", "5"), deep("schedule:cpp", "106", "2"), deep("launch_forward_N1_B1", "130", "10"), deep("schedule", "200", "10")),
		"steps=2; step0=decode 1 1 0/100000; step1=idle - - 100000/10000"},
	// Under zero-overhead scheduling a step's results are looked at in the next step.
	example{"post-processing in the next step", document(
		deep("schedule", "0", "10"), deep("launch_forward_N1_B1", "20", "30"),
		deep("schedule", "100", "10"), deep("launch_forward_N1_B2", "120", "30"), deep("worker.post_process", "160", "30"),
		deep("schedule", "200", "10"), deep("worker.post_process", "220", "30")),
		"steps=3; step0=decode 1 1 0/100000; step1=decode 1 2 100000/100000; step2=idle - - 200000/50000; span=250000"},
	// GPU work belongs to the step that launched it, whenever it ran: k1 runs in step 1.
	example{"work by its launch", document(
		deep("schedule", "0", "10"), deep("launch_forward_N1_B1", "20", "30"), launch("cudaLaunchKernel", "25", "2", "1"), kernel("k1", "130", "20", "1"),
		deep("schedule", "100", "10"), deep("launch_forward_N1_B1", "120", "30"), launch("cudaLaunchKernel", "125", "2", "2"), launch("cudaLaunchKernel", "128", "2", "3"),
		kernel("k2", "160", "5", "2"), kernel("k3", "170", "10", "3")),
		`steps=2; step0 kernels=1; step0 gpu=20000/0/0/0/20000/20000; step1 kernels=2; step1 gpu=15000/0/0/5000/15000/20000;
		step0 graph=miss; step1 graph=miss; shapes=1; shape deepinfer:launch_forward_N1_B1=deepinfer decode 1 1 2/60000/3 miss`},
	example{"several launches in one step", document(
		deep("schedule", "0", "10"), deep("launch_forward_N1_B500", "20", "10"), deep("launch_forward_N4_B24", "40", "10"), deep("schedule", "100", "10")),
		"steps=2; step0=mixed 5 524 0/100000; step0 names=deepinfer:launch_forward_N1_B500, deepinfer:launch_forward_N4_B24; shapes=2"},
	example{"graph hit, miss and neither", document(
		deep("schedule", "0", "5"), deep("launch_forward_N1_B1", "10", "20"), launch("cudaGraphLaunch", "12", "2", "1"), node("a", "7", "20", "3", "1"), node("b", "7", "24", "3", "1"),
		deep("schedule", "100", "5"), deep("launch_forward_N2_B2", "110", "20"), launch("cudaLaunchKernel", "112", "2", "2"), kernel("c", "120", "3", "2"),
		deep("schedule", "200", "5"), deep("launch_forward_N3_B3", "210", "20"), deep("schedule", "300", "5")),
		`step0 graph=replay; step1 graph=miss; step2 graph=none; step3 graph=none; shape deepinfer:launch_forward_N1_B1=deepinfer decode 1 1 1/20000/2 replay;
		shape deepinfer:launch_forward_N2_B2=deepinfer decode 2 2 1/20000/1 miss; shape deepinfer:launch_forward_N3_B3=deepinfer decode 3 3 1/20000/0 none`},
	example{"last step without its GPU work", document(
		deep("schedule", "0", "5"), deep("launch_forward_N1_B1", "10", "20"), launch("cudaLaunchKernel", "12", "2", "1"), kernel("k", "20", "3", "1"),
		deep("schedule", "100", "5"), deep("launch_forward_N1_B1", "110", "20"), launch("cudaLaunchKernel", "112", "2", "2")),
		"last_step_cut=1; steps=2; step1 kernels=0; step1 gpu=-; unlinked launches=1"},
	example{"forwards on another thread", document(
		deep("schedule", "0", "5"), on("2", "deepinfer:launch_forward_N1_B1", "10", "20"), deep("schedule", "100", "5"), on("2", "deepinfer:launch_forward_N2_B2", "110", "20"), deep("add_request", "150", "5")),
		"steps=2; step0=decode 1 1 0/100000; step1=decode 2 2 100000/55000"},
	// Every forward is counted once, however many threads of its process schedule.
	example{"one forward, two scheduling threads", document(
		on("1", "deepinfer:schedule", "0", "5"), on("1", "deepinfer:schedule", "100", "5"), on("2", "deepinfer:schedule", "1", "5"), on("2", "deepinfer:schedule", "101", "5"),
		on("3", "deepinfer:launch_forward_N1_B1", "10", "20")),
		"steps=4; phase deepinfer:launch_forward_N1_B1=1/20000/20000; shape deepinfer:launch_forward_N1_B1=deepinfer decode 1 1 1/20000/0"},
	// A launch on a thread without steps belongs to the step around it, also when a shorter one has begun and ended since.
	example{"launch on a third thread inside a long step", document(
		on("1", "step[DECODE bs=1]", "0", "100"), on("2", "step[DECODE bs=2]", "10", "5"), slice("cuda_runtime", "cudaLaunchKernel", "1", "3", "50", "1", `"correlation": 4`), kernel("k", "60", "5", "4")),
		"steps=2; step0 kernels=1; step1 kernels=0"},
	example{"the C++ operators of the engine are no phases", document(slice("cpu_op", "deepinfer::rms_norm", "1", "1", "1", "2", "")), "phases=0; steps=0"},
	example{"deepinfer slices of any category", document(slice("cpu_op", "deepinfer:schedule", "1", "1", "1", "2", "")), "phase deepinfer:schedule=1/2000/2000; steps=1"},
	example{"step names of other engines", document(
		on("1", "execute_context_1(512)_generation_3(3)", "0", "40"), on("1", "execute_context_0(0)_generation_4(4)", "50", "20"), on("1", "execute_9_context_1(sq5sk5sqsq25sqsk25)_generation_4(sq4sk88sqsq4sqsk88)", "80", "22"),
		on("1", "step[EXTEND bs=2 toks=640]", "110", "30"), on("1", "step[DECODE bs=2]", "150", "12"), on("1", "step[DECODE bs=2] sample", "163", "3"), on("1", "execute_new_3_cached_1", "170", "5"), on("1", "step[IDLE bs=0]", "180", "1")),
		`steps=7; step0=mixed 4 515 0/40000; step1=decode 4 4 50000/20000; step2=mixed 5 9 80000/22000; step3=prefill 2 640 110000/30000;
		step4=decode 2 2 150000/12000; step5=unknown 4 - 170000/5000; step6=idle 0 - 180000/1000; phases=8; phase step[DECODE bs=2] sample=1/3000/3000`},
	// Nested names are one step: bounds of the outer, kind and batch of the one that says most.
	example{"nested step names", document(on("1", "execute_new_3_cached_1", "10", "50"), on("1", "step[EXTEND bs=2 toks=640]", "20", "30"), on("1", "step[DECODE bs=4]", "70", "10")),
		"steps=2; step0=prefill 2 640 0/50000; step0 names=execute_new_3_cached_1, step[EXTEND bs=2 toks=640]; step0 name=step[EXTEND bs=2 toks=640]; step1=decode 4 4 60000/10000"},
	example{"profiler steps where nothing else is named", document(on("1", "ProfilerStep#7", "10", "50"), on("1", "ProfilerStep#8", "60", "40")),
		"steps=2; step0=unknown - - 0/50000; step1=unknown - - 50000/40000; no_steps=-"},
	example{"no step names", document(on("1", "forward", "10", "50"), opA), "steps=0; no_steps=1; verdict=warn; share forward=-"},
	example{"GPU mirrors are no steps", document(slice("gpu_user_annotation", "deepinfer:launch_forward_N1_B1", "0", "7", "1", "5", ""), opA), "steps=0; phases=0; shapes=0"},
)

func TestSteps(t *testing.T) { run(t, steps) }

var phases = table(
	// outer 0–100 ⊃ a 10–30 ⊃ b 15–20, a 40–90; on thread 2 a 0–7. Steps take 100 µs.
	example{"self time and nesting", document(
		on("1", "deepinfer:schedule", "0", "100"), on("1", "deepinfer:schedule:cpp", "10", "20"), on("1", "inner", "15", "5"), on("1", "deepinfer:schedule:cpp", "40", "50"), on("2", "deepinfer:schedule:cpp", "3", "7")),
		`phase deepinfer:schedule=1/100000/30000; phase deepinfer:schedule:cpp=3/77000/72000; phase inner=1/5000/5000; threads deepinfer:schedule:cpp=2; threads inner=1;
		share deepinfer:schedule=1000000; share deepinfer:schedule:cpp=770000; share inner=50000; prefix inner=; prefix deepinfer:schedule=deepinfer:;
		tree=deepinfer:schedule 1/100000/30000, >deepinfer:schedule:cpp 2/70000/65000, >>inner 1/5000/5000, deepinfer:schedule:cpp 1/7000/7000;
		stats deepinfer:schedule:cpp=7000/25666/20000/50000/50000/50000`},
	example{"partial overlap", document(on("1", "a", "0", "10"), on("1", "b", "6", "10")), "phase a=1/10000/6000; phase b=1/10000/10000"},
	example{"same bounds nest in the order of the file", document(on("1", "a", "0", "10"), on("1", "b", "0", "10")), "phase a=1/10000/0; phase b=1/10000/10000; tree=a 1/10000/0, >b 1/10000/10000"},
	example{"touching are siblings", document(on("1", "a", "0", "10"), on("1", "b", "10", "10")), "phase a=1/10000/10000; phase b=1/10000/10000; tree=a 1/10000/10000, b 1/10000/10000"},
	example{"recursion", document(on("1", "f", "0", "10"), on("1", "f", "2", "6"), on("1", "f", "3", "1")), "phase f=3/17000/10000; tree=f 1/10000/4000, >f 1/6000/5000, >>f 1/1000/1000"},
	example{"other annotations under the same roof", document(on("1", "gpu_model_runner: forward", "0", "10"), on("1", "gpu_model_runner: bookkeep", "20", "4"), on("1", "scheduler.run_batch", "30", "1"), on("1", "anything", "40", "1")),
		"group gpu_model_runner: forward=execution; group gpu_model_runner: bookkeep=post-processing; group scheduler.run_batch=scheduling; group anything=other; phases=4"},
	example{"groups of the contract", document(deep("schedule", "0", "1"), deep("schedule:clone", "1", "1"), deep("add_request", "2", "1"), deep("multi_modal_fetch", "3", "1"),
		deep("prepare_input", "4", "1"), deep("broadcast_input_metadata", "5", "1"), deep("launch_forward_N1_B1", "6", "1"), deep("launch_sample", "7", "1"),
		deep("worker.post_process", "8", "1"), deep("worker.post_process.sync", "9", "1"), deep("pre_sampler_sync", "10", "1"), deep("process_model_outputs", "11", "1"), deep("build_request_outputs", "12", "1"), deep("new_thing", "13", "1")),
		`group deepinfer:schedule=scheduling; group deepinfer:schedule:clone=scheduling; group deepinfer:add_request=scheduling; group deepinfer:multi_modal_fetch=scheduling;
		group deepinfer:prepare_input=execution; group deepinfer:broadcast_input_metadata=execution; group deepinfer:launch_forward_N1_B1=execution; group deepinfer:launch_sample=execution;
		group deepinfer:worker.post_process=post-processing; group deepinfer:worker.post_process.sync=post-processing; group deepinfer:pre_sampler_sync=post-processing;
		group deepinfer:process_model_outputs=post-processing; group deepinfer:build_request_outputs=post-processing; group deepinfer:new_thing=other`},
	// Nearest rank of 1 … 100 ns: p50 = 50, p95 = 95, p99 = 99; mean ⌊5050/100⌋.
	example{"percentiles of 100", document(ladder("p", 100)...), "stats p=1/50/50/95/99/100; phase p=100/5050/5050"},
	// Of 3: ranks ⌈1.5⌉ = 2, ⌈2.85⌉ = 3, ⌈2.97⌉ = 3.
	example{"percentiles of 3", document(ladder("p", 3)...), "stats p=1/2/2/3/3/3"},
	// Of 20: ranks 10, 19, 20. Of 21: ranks ⌈10.5⌉ = 11, ⌈19.95⌉ = 20, 21.
	example{"percentiles of 20", document(ladder("p", 20)...), "stats p=1/10/10/19/20/20"},
	example{"percentiles of 21", document(ladder("p", 21)...), "stats p=1/11/11/20/21/21"},
	// Buckets begin at 2^k and 1.5 × 2^k: 0 and 1 in bucket 0; 2 in 2; 3 in 3; 4, 5 in 4; 6, 7 in 5; 8 … 11 in 6; 12 … 15 in 7.
	example{"histogram", document(append(ladder("p", 16), on("1", "p", "900", "0"))...), "hist p=0:2/0/1/1/2/2/4/4/1"},
	example{"histogram of one", document(on("1", "p", "1", "1")), "hist p=19:1"}, // 768 = 1.5 × 2^9 ≤ 1000 < 1024
	// Means are floors, ties go by name.
	example{"kernels", document(gpu("b", "0", "7", "1", "0.002", "1"), gpu("a", "0", "7", "2", "0.001", "2"), gpu("a", "0", "8", "3", "0.001", "3"), gpu("c", "1", "7", "4", "0.005", "4"), gpu("c", "1", "7", "5", "0.002", "5")),
		"kernels=c, a, b; kernel c=2/7/3/5; kernel a=2/2/1/1; kernel b=1/2/2/2"},
	example{"untimed annotations are left out of steps", document(deep("schedule", "0", "5"), deep("schedule", "1712345678901234", "5"), deep("launch_forward_N1_B1", "1712345678901240", "2")),
		"steps=1; step0=decode 1 1 0/8000; span=8000"},
)

// ladder is n annotations of 1 … n ns, apart from each other.
func ladder(name string, n int) (list []string) {
	for i := 1; i <= n; i++ {
		k := (i*37)%n + 1 // any order; n is not a multiple of 37
		list = append(list, on("1", name, itoa(int64(k)), "0."+strings.Repeat("0", 3-len(itoa(int64(k))))+itoa(int64(k))))
	}
	return list
}

func TestPhases(t *testing.T) { run(t, phases) }

// The batch of a DeepInfer step is a decode step if B ≤ N × (1 + nextn).
func TestKindDependsOnNextN(t *testing.T) {
	data := []byte(document(deep("schedule", "0", "5"), deep("launch_forward_N4_B12", "10", "2"), deep("schedule", "20", "5"), deep("launch_forward_N4_B13", "30", "2")))
	for _, x := range []struct {
		nextn int64
		want  string
	}{{0, "decode decode"}, {5, "decode decode"}, {2, "decode prefill"}, {1, "prefill prefill"}} {
		s := Analyze(read(t, data), AnalyzeOptions{NextN: x.nextn})
		if got := s.Steps[0].Kind + " " + s.Steps[1].Kind; got != x.want {
			t.Errorf("nextn %d: %s, want %s", x.nextn, got, x.want)
		}
	}
}

// The JSON is valid, says the same twice, and has the fixed keys; figures that do not
// exist are null.
func TestSummaryJSON(t *testing.T) {
	fixed := map[string]string{
		"":       "schema file health start_ns span_ns categories devices phases shapes steps kernels",
		"file":   "name bytes json_bytes compression",
		"health": "verdict truncated truncated_at events slices skipped repaired clipped unfinished unresolved warnings",
	}
	for _, x := range examples {
		p := read(t, []byte(x.in))
		first := Analyze(p, AnalyzeOptions{Name: x.name}).AppendJSON(nil)
		if again := Analyze(p, AnalyzeOptions{Name: x.name}).AppendJSON([]byte("x")); !bytes.Equal(again[1:], first) {
			t.Fatalf("%s: analysed twice:\n%s\n%s", x.name, first, again)
		}
		var m map[string]any
		if err := json.Unmarshal(first, &m); err != nil {
			t.Fatalf("%s: %v in %s", x.name, err, first)
		}
		for at, keys := range fixed {
			obj := m
			if at != "" {
				obj = m[at].(map[string]any)
			}
			for _, k := range strings.Fields(keys) {
				if _, ok := obj[k]; !ok {
					t.Errorf("%s: no key %s in %q", x.name, k, at)
				}
			}
		}
		if m["schema"] != "stepscope.trace/1" {
			t.Errorf("schema %v", m["schema"])
		}
	}
	var empty map[string]any
	if err := json.Unmarshal([]byte(asJSON(read(t, []byte("{}")), 2)), &empty); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"start_ns", "span_ns"} {
		if v, ok := empty[k]; !ok || v != nil {
			t.Errorf("%s of an empty trace is %v, want null", k, v)
		}
	}
}
