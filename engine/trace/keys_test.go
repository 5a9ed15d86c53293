package trace

import (
	"strings"
	"testing"
)

// swapped is a document of three events, the middle one with old replaced.
func swapped(middle, old, new string) string {
	if strings.Count(middle, old) != 1 {
		panic(old + " does not stand once in " + middle)
	}
	return document(opA, strings.Replace(middle, old, new, 1), opC)
}

// launched is a launch and its kernel, with more arguments before the kernel's correlation.
func launched(args string) string {
	return document(launch("cudaLaunchKernel", "1", "1", "9"), slice("kernel", "k", "0", "7", "5", "2", `"device": 0, "stream": 7, `+args))
}

const linked1 = "slices=2; skipped=0; linked=1; unlinked=0; "

// Keys and values that are spelled with escapes are the same keys and values.
var escapedKeys = table(
	example{"ph with an escape", swapped(opB, `"ph"`, `"\u0070h"`), clean},
	example{"value of ph with an escape", swapped(opB, `"X"`, `"\u0058"`), clean},
	example{"ts with an escape", swapped(opB, `"ts"`, `"t\u0073"`), clean},
	example{"ts with an escape, eight times", repeat(8, func(i int) string {
		return strings.Replace(op("a", num(i+1), "1"), `"ts"`, `"\u0074s"`, 1)
	}), "slices=8; span=8000; repaired=0"},
	example{"all keys with escapes", swapped(kernel("k", "4", "2", "5"), `"name"`, `"n\u0061me"`), clean + "kernels=k"},
	example{"args with an escape", swapped(kernel("k", "4", "2", "5"), `"args"`, `"\u0061rgs"`), clean + "gpu 0 kernels=1"},
	example{"an escaped key that is another", swapped(opB, `"args": {}`, `"ts\u0000": 900, "\u0074sx": 900, "t\u0020s": 900`), clean},
	example{"traceEvents with an escape", strings.Replace(document(opA, opB, opC), "traceEvents", `trace\u0045vents`, 1), clean + "list_damaged=-; no_trace_events=-"},
	example{"base with an escape", `{"base\u0054imeNanoseconds": 1700000000000000000, ` + document(opA, opB, opC)[1:], clean + "start=1700000000000001000"},
	example{"correlation with an escape", launched(`"\u0063orrelation": 9`), linked1 + "repaired=0"},
	example{"ph twice, the last is none", swapped(opB, `"args": {}`, `"ph": 5`), "slices=2; events=3; skipped=1"},
)

// What cannot be read in args costs itself, not what stands behind it.
var brokenArgs = table(
	example{"text without quotes before the correlation", launched(`"note": gemm, "correlation": 9`), linked1 + "repaired=1"},
	example{"key without quotes before the correlation", launched(`note: 1, "correlation": 9`), linked1 + "repaired=1"},
	example{"single quotes before the correlation", launched(`"grid": '[1, 2]', "correlation": 9`), linked1 + "repaired=1"},
	example{"tuple before the correlation", launched(`"grid": (1, 2), "correlation": 9`), linked1},
	example{"hexadecimal before the correlation", launched(`"mask": 0x1f, "correlation": 9`), linked1},
	example{"no value before the correlation", launched(`"grid": , "correlation": 9`), linked1},
	example{"numbers of other languages before the correlation", launched(`"a": +5, "b": 007, "c": .5, "d": 5., "e": 1e400, "f": undefined, "correlation": 9`), linked1 + "repaired=0"},
	example{"collective behind a value that cannot be read", document(nccl("ncclDevKernel_AllReduce", "1", "2", `, "x": 'a', "Collective name": "allreduce", "Group size": 8`)), "collective allreduce=1/2000/2000 8 false"},
)

// Text around the trace, as of a program whose output holds both.
var surrounded = table(
	example{"log line before the trace", "INFO 12:00:01 saving {\"step\": 3} [x]\n" + document(opA, opB, opC), clean + "junk_before_root=1; junk_before_root.at=0"},
	example{"log line before a bare list", "# dumped [now]\n[" + opA + ",\n" + opB + "," + opC + "]", clean + "junk_before_root=1"},
	example{"call around the trace", "load(" + document(opA, opB, opC) + ");", clean + "junk_before_root=1; junk_after_root=1"},
	example{"record separator before the trace", "\x1e" + document(opA, opB, opC), clean + "junk_before_root=1"},
	example{"lost block before the trace", strings.Repeat("\x00", 4096) + document(opA, opB, opC), clean + "junk_before_root=1"},
)

func TestEscapedKeys(t *testing.T) { run(t, escapedKeys) }

func TestBrokenArgs(t *testing.T) { run(t, brokenArgs) }

func TestSurrounded(t *testing.T) { run(t, surrounded) }
