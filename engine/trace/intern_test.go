package trace

import (
	"fmt"
	"strings"
	"testing"
)

func TestNamesAreInternedOnce(t *testing.T) {
	n := newNames(1<<16, 1<<24)
	ids := map[string]nameID{}
	for round := range 3 {
		for i := range 5000 {
			s := strings.Repeat("x", i%70) + fmt.Sprint(i)
			b, w := padded(s, byte(round)) // what stands behind a name must not matter
			id := n.raw(b[:w], 0)
			if old, ok := ids[s]; ok && old != id {
				t.Fatalf("%q has the ids %d and %d", s, old, id)
			}
			ids[s] = id
			if n.str(id) != s || n.intern([]byte(s)) != id {
				t.Fatalf("%q reads %q", s, n.str(id))
			}
		}
	}
	if len(n.strs) != 5001 { // and the empty one
		t.Errorf("%d names, want 5001", len(n.strs))
	}
	if n.str(0) != "" || n.intern(nil) != 0 {
		t.Error("name 0 is not the empty one")
	}
}

func TestEscapedNameIsTheSameName(t *testing.T) {
	n := newNames(100, 1<<20)
	plain, w := padded("café/a", 0)
	id := n.raw(plain[:w], flagDirty)
	for _, raw := range []string{`caf\u00e9/a`, `caf\u00E9\/a`, `\u0063afé\/\u0061`} {
		b, w := padded(raw, 0)
		if got := n.raw(b[:w], flagDirty); got != id {
			t.Errorf("%s has another id than café/a", raw)
		}
	}
}

func TestNamesBeyondTheCap(t *testing.T) {
	n := newNames(4, 1<<20)
	for i := range 10 {
		n.intern([]byte(fmt.Sprint("n", i)))
	}
	if !n.capped || n.str(n.intern([]byte("n0"))) != "n0" || n.str(n.intern([]byte("n9"))) != otherName {
		t.Errorf("capped %v, names %q", n.capped, n.strs)
	}
	n = newNames(100, 10)
	n.intern([]byte("12345678"))
	if id := n.intern([]byte("12345")); n.str(id) != otherName || !n.capped {
		t.Errorf("beyond 10 bytes: %q", n.strs)
	}
}

func TestFlagsOfNames(t *testing.T) {
	for name, want := range map[string]nameFlags{
		"ncclDevKernel_AllReduce": nfComm, "void NCCLthing": nfComm, "gemm": 0, "deepinfer:schedule": nfDeepInfer, "deepinfer::rms_norm": 0, "xdeepinfer:": 0,
		"cudaLaunchKernel": nfLaunch, "hipLaunchKernel": nfLaunch, "cuLaunchKernelEx": nfLaunch, "hipExtModuleLaunchKernel": nfLaunch, "cudaGraphLaunch": nfGraph, "hipGraphLaunch": nfGraph,
		"urEnqueueKernelLaunchWithArgsExp": nfLaunch, "zeCommandListAppendLaunchKernel": nfLaunch, "cudaLaunchHostFunc": nfNoLaunch, "cudaStreamSynchronize": nfNoLaunch, "cudaEventQuery": nfNoLaunch,
	} {
		if got := flagsOf(name); got != want {
			t.Errorf("%s has flags %b, want %b", name, got, want)
		}
	}
}

func TestStepNames(t *testing.T) {
	num := func(v int64, ok bool) string {
		if ok {
			return itoa(v)
		}
		return "-"
	}
	for name, want := range map[string]string{
		"deepinfer:launch_forward_N64_B320": "deepinfer  64 320", "launch_forward_N0_B0": "deepinfer  0 0", "deepinfer:launch_forward_N64_B320x": "   ", "deepinfer:launch_forward_N_B3": "   ",
		"deepinfer:launch_forward_N-1_B3": "   ", "deepinfer:launch_forward_N1_B": "   ", "deepinfer:launch_forward": "   ", "deepinfer:launch_forward_N1_B2 copy": "   ",
		"execute_context_1(512)_generation_3(3)": "vllm mixed 4 515", "execute_context_1(512)_generation_0(0)": "vllm prefill 1 512", "execute_context_0(0)_generation_4(4)": "vllm decode 4 4",
		"execute_context_0(0)_generation_0(0)": "vllm idle 0 0", "execute_context_1(888_788544)_generation_0(0)": "vllm prefill 1 888",
		"execute_9_context_1(sq5sk5sqsq25sqsk25)_generation_4(sq4sk88sqsq4sqsk88)": "vllm mixed 5 9", "execute_context_1(512)_generation_3(3) sample": "   ", "execute_context_1(512": "   ",
		"execute_context_x": "   ", "execute_new_3_cached_1": "vllm unknown 4 -", "execute_new_3_cached_": "   ", "execute_model": "   ",
		"step[EXTEND bs=2 toks=640]": "sglang prefill 2 640", "step[DECODE bs=2]": "sglang decode 2 2", "step[DECODE bs=2 toks=8]": "sglang decode 2 8", "step[MIXED bs=3 toks=70]": "sglang mixed 3 70",
		"step[IDLE bs=0]": "sglang idle 0 -", "step[TARGET_VERIFY bs=4]": "sglang decode 4 -", "step[PREBUILT bs=4]": "sglang prefill 4 -", "step[SPLIT_PREFILL bs=1 toks=9]": "sglang prefill 1 9", "step[DLLM_EXTEND bs=1]": "sglang prefill 1 -",
		"step[DRAFT_EXTEND_V2 bs=1]": "sglang unknown 1 -", "step[DECODE bs=2] sample": "   ", "step[DECODE]": "   ", "step[]": "   ", "step[DECODE bs=]": "   ", "step[DECODE bs=2": "   ", "step": "   ", "": "   ",
		"step[ bs=2]": "   ", "step[DECODE  bs=2]": "   ",
		"ProfilerStep#5": "   ",
	} {
		x := parseStepName(name)
		got := strings.Join([]string{x.source, x.kind, num(x.n, x.hasN), num(x.b, x.hasB)}, " ")
		if want == "   " {
			want = "  - -"
		}
		if got != want {
			t.Errorf("%s reads %q, want %q", name, got, want)
		}
	}
}

func FuzzStepName(f *testing.F) {
	for _, s := range []string{"deepinfer:launch_forward_N64_B320", "execute_context_1(512)_generation_3(3)", "execute_9_context_1(sq5sk5)_generation_4(sq4)", "execute_new_3_cached_1",
		"step[EXTEND bs=2 toks=640]", "step[DECODE bs=2]", "step[", "execute_", "launch_forward_N999999999999999999_B999999999999999999", "step[DECODE bs=99999999999999999999]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x := parseStepName(s)
		switch {
		case x.source == "" && x != (stepName{}):
			t.Errorf("%q is no step but says %+v", s, x)
		case x.source == "":
		case x.n < 0 || x.b < 0:
			t.Errorf("%q has the batch N %d, B %d", s, x.n, x.b)
		case x.source != "deepinfer" && x.kind == "":
			t.Errorf("%q has no kind", s)
		}
		// A name with text behind it is another scope, unless that text only makes its last number longer.
		if x.source != "" && parseStepName(s+" sample").source != "" {
			t.Errorf("%q with text behind is a step", s)
		}
		phaseGroup(s)
	})
}

func TestRankLabels(t *testing.T) {
	for pid, want := range map[string]string{"[TP00-DP01] 0": "[TP00-DP01]", "[TP00]": "[TP00]", "TP00 0": "", "": "", "[": "", "[x": ""} {
		if got := rankLabel(pid); got != want {
			t.Errorf("rankLabel(%q) = %q, want %q", pid, got, want)
		}
	}
	for text, want := range map[string]string{"[TP00] 3": "3", "3": "3", "gpu3": "", "": "", "[TP00] ": "", "a 99999999999999999999": ""} {
		v, ok := trailingInt(text)
		got := ""
		if ok {
			got = itoa(v)
		}
		if got != want {
			t.Errorf("trailingInt(%q) = %q, want %q", text, got, want)
		}
	}
}
