package trace

import (
	"strconv"
	"strings"
	"testing"
)

// repeat joins n events that get their number.
func repeat(n int, f func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = f(i)
	}
	return document(list...)
}

func num(i int) string { return strconv.Itoa(i) }

var wideBlank = strings.Repeat(" ", 5000)

// Inputs on which a result could come to depend on chunks, cuts, or what was read before.
var odd = table(
	example{"next event far behind a damaged one", document(opA, `{"ph": "X", "name: 1, !!}`, "{"+wideBlank+opB[1:], opC), "slices=3; events=4; skipped=1"},
	example{"end of the list far behind a damaged event", "{\"traceEvents\": [" + opA + `,{"ph": "X", "name: 1, !!}]` + wideBlank + `}`, "slices=1; events=2; skipped=1; cut at=-"},
	example{"header far behind a damaged event", "{\"traceEvents\": [" + opA + `,{"ph": "X", "name: 1, !!}]` + wideBlank + `,` + wideBlank + `"baseTimeNanoseconds"` + wideBlank + `: 1700000000000000000}`, "slices=1; events=2; start=1700000000000001000; cut at=-"},
	example{"comment in the junk behind the root", document(opA, opB, opC) + " x // c\n /* d */ y", clean + "junk_after_root=1; comment=-"},
	example{"comments, then junk behind the root", document(opA, opB, opC) + " // c\n x // d\n", clean + "junk_after_root=1; comment=1"},
	example{"header value emptied later", `{"traceName": "a", "deviceProperties": [{"name": "H200"}], "distributedInfo": {"backend": "nccl"}, "host_name": "h", "traceEvents": [` + opA + "," + opB + "," + opC +
		`], "traceName": "", "deviceProperties": [], "distributedInfo": {"backend": ""}, "host_name": ""}`, clean},
	example{"header value changed later", `{"traceName": "a", "cuda_runtime_version": 1, "traceEvents": [` + opA + "," + opB + "," + opC + `], "cuda_runtime_version": 2, "traceName": "b", "cupti_version": 3}`, clean},
	// Events that are all laid out alike are read by what was learned from the first.
	example{"nan under an unknown key, eight times", repeat(8, func(i int) string {
		return `{"ph": "X", "odd": nan, "name": "a", "pid": 1, "tid": 1, "ts": ` + num(i+1) + `, "dur": 1, "cat": "cpu_op"}`
	}), "slices=8; nonfinite=8; repaired=0; span=8000"},
	example{"control byte under an unknown key, eight times", repeat(8, func(i int) string {
		return "{\"ph\": \"X\", \"odd\": \"\x01\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": " + num(i+1) + `, "dur": 1, "cat": "cpu_op"}`
	}), "slices=8; repaired=8; nonfinite=-"},
	example{"control byte in an unknown key, eight times", repeat(8, func(i int) string {
		return "{\"ph\": \"X\", \"o\x01d\": 1, \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": " + num(i+1) + `, "dur": 1, "cat": "cpu_op"}`
	}), "slices=8; repaired=8"},
	example{"control byte in args, eight times", repeat(8, func(i int) string {
		return slice("kernel", "k", "0", "7", num(i+1), "1", "\"device\": 0, \"x\": \"\x01\"")
	}), "slices=8; repaired=8; gpu 0 sum=8000"},
	example{"trailing comma in each event", repeat(8, func(i int) string {
		return `{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": ` + num(i+1) + `, "dur": 1, }`
	}), "slices=8; skipped=0; span=8000"},
	example{"same layout, other kinds of values", document(
		op("a", "1", "1"), op("b", "2", "1"), op("c", `"3"`, "1"), op("d", "4", "null"), op("e", "5e0", "1"), op("f", "6.0001", "1.9999"), op("g", "-7", "1"), op("h", "12345678901234567", "1"),
		op("i", "8", "1"), `{"ph": "X", "cat": "cpu_op", "name": null, "pid": 1, "tid": 1, "ts": 9, "dur": 1, "args": {}}`, slice("cpu_op", "j", `"p"`, "-1", "10", "1", ""),
		slice("cpu_op", "k", "1.5", "99999999999999999999", "11", "1", ""), op("l", "12", "1")),
		"events=13; untimed=2; slices=11; skipped=0"}, // d has no duration, h lies beyond 64 bits
	example{"keys twice in each event", repeat(8, func(i int) string {
		return `{"ph": "B", "ph": "X", "name": "old", "name": "a", "ts": 999, "ts": ` + num(i+1) + `, "dur": 5, "dur": 1, "args": {"device": 9}, "args": {"device": 0}, "cat": "x", "cat": "kernel"}`
	}), "slices=8; span=8000; gpu 0 kernels=8; kernels=a; ph X=8; ph B=-"},
	example{"args missing in a learned layout", strings.Replace(repeat(8, func(i int) string {
		return slice("cuda_runtime", "cudaLaunchKernel", "1", "1", num(i+1), "1", `"correlation": `+num(i+1))
	}), `{"correlation": 5}`, "", 1), "events=8; slices=7; skipped=1"},
	example{"short ids, long ids", repeat(20, func(i int) string {
		id := strings.Repeat("9", i+1)
		return `{"ph": "s", "id": ` + id + `, "pid": ` + id + `, "tid": ` + id + `, "ts": ` + strings.Repeat("1", min(i+1, 15)) + `, "cat": "ac2g", "name": "ac2g"}`
	}), "events=20; ph s=20; skipped=0"},
	example{"numbers of every length", repeat(16, func(i int) string {
		return op("a", "1"+strings.Repeat("0", i)+"."+strings.Repeat("5", i%4+1), "0."+strings.Repeat("0", i%4)+"9")
	}), "events=16; slices=16; untimed=-; cat cpu_op=16/3996"}, // 4 × (900 + 90 + 9 + 0) ns
)

func TestOdd(t *testing.T) { run(t, odd) }
