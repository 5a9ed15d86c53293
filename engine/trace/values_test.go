package trace

import "testing"

const max63 = "9223372036854775807"

// Times: exact decimals of microseconds to integer nanoseconds, rounded down.
var times = table(
	example{"three decimals of epoch µs", document(op("a", "1712345678901234.567", "0.001")), "start=1712345678901234567; span=1; cat cpu_op=1/1"},
	example{"more than three decimals round down", document(op("a", "1712345678901234.5679999", "1.9999")), "start=1712345678901234567; span=1999"},
	example{"two decimals", document(op("a", "1712345678901234.56", "1.5")), "start=1712345678901234560; span=1500"},
	example{"exponents", document(op("a", "1.5e3", "25E-1"), op("b", "1.6e+3", "1e0")), "slices=2; cat cpu_op=2/3500; span=101000"},
	example{"tiny exponent", document(op("a", "5", "1e-9"), op("b", "6", "1e-99999")), "slices=2; cat cpu_op=2/0; untimed=-"},
	example{"exponent of zero", document(op("a", "5", "0e99999")), "slices=1; cat cpu_op=1/0; untimed=-"},
	// −2.0005 µs rounds down to −2001 ns; the reach goes to 3 µs.
	example{"negative ts", document(op("a", "-2.0005", "1"), op("b", "2", "1")), "slices=2; span=5001; start=-"},
	example{"leading zeros and plus", document(op("a", "007.5", "+2"), op("b", "+8", "00.25")), "slices=2; cat cpu_op=2/2250; span=2000"},
	example{"fraction without an integer", document(op("a", ".5", "1."), op("b", "2", ".25")), "slices=2; cat cpu_op=2/1250; span=1750"},
	example{"ts and dur in quotes", document(op("a", `"1.5"`, `" 2 "`)), "slices=1; span=2000; repaired=0"},
	example{"unsigned duration that was negative", document(op("a", "1", "18446744073709551.612"), op("b", "2", "3")), "slices=2; clipped=1; cat cpu_op=2/3000; span=4000"},
	example{"duration beyond 64 bits", document(op("a", "1", "1e20"), op("b", "2", "3")), "slices=1; untimed=1; clipped=0"},
	example{"end beyond 64 bits", document(op("a", "9223372036854775", "10"), op("b", "9223372036854770", "1")), "slices=2; clipped=1; span=5807"},
	example{"ts of −1e20", document(op("a", "-1e20", "1"), op("b", "2", "3")), "slices=1; untimed=1"},
	example{"negative duration", document(op("a", "1", "-0.001"), op("b", "2", "3")), "slices=2; clipped=1; cat cpu_op=2/3000"},
	example{"duration missing", document(`{"ph": "X", "name": "a", "ts": 1}`, op("b", "2", "3")), "events=2; slices=1; untimed=1"},
	example{"ts missing", document(`{"ph": "X", "name": "a", "dur": 1}`, op("b", "2", "3")), "events=2; slices=1; skipped=1"},
	example{"zero-length slices", document(op("a", "1", "0"), op("b", "1", "0")), "slices=2; span=0; cat cpu_op=2/0"},
	// Beside a real timeline a slice at 0 is untimed: it counts, and does not stretch the span.
	example{"ts 0 beside epoch times", document(op("a", "0", "5"), op("b", "1712345678901234", "1")), "slices=2; span=1000; start=1712345678901234000; cat cpu_op=2/6000"},
	example{"ts 0 of a real timeline", document(op("a", "0", "5"), op("b", "7", "1")), "slices=2; span=8000"},
	example{"only ts 0", document(op("a", "0", "5")), "slices=1; span=5000"},
	example{"million digits", document(op("a", "1."+digits(1_000_000), "1"), op("b", "2", digits(1_000_000))), "slices=1; untimed=1; span=1000"},
)

func digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '3'
	}
	return string(b)
}

var bases = table(
	example{"base", `{"baseTimeNanoseconds": 1700000000000000000, ` + document(op("a", "1.5", "1"))[1:], "start=1700000000000001500"},
	example{"base behind", document(op("a", "1.5", "1"))[:len(document(op("a", "1.5", "1")))-1] + `, "baseTimeNanoseconds": 1700000000000000000}`, "start=1700000000000001500"},
	example{"base in quotes", `{"baseTimeNanoseconds": "1700000000000000001", ` + document(op("a", "1", "1"))[1:], "start=1700000000000001001"},
	example{"base null", `{"baseTimeNanoseconds": null, ` + document(op("a", "1", "1"))[1:], "start=-; span=1000"},
	example{"base zero", `{"baseTimeNanoseconds": 0, ` + document(op("a", "1", "1"))[1:], "start=1000"},
	example{"base twice, the last wins", `{"baseTimeNanoseconds": 5, "baseTimeNanoseconds": 7, ` + document(op("a", "1", "1"))[1:], "start=1007"},
	example{"base before and behind, the last wins", `{"baseTimeNanoseconds": 5, ` + document(op("a", "1", "1"))[1:len(document(op("a", "1", "1")))-1] + `, "baseTimeNanoseconds": 7}`, "start=1007"},
	example{"no base, small ts", document(op("a", "99999999999999.999", "1")), "start=-"},
	example{"no base, 10^14 µs", document(op("a", "100000000000000", "1")), "start=100000000000000000"},
	example{"start beyond 64 bits", `{"baseTimeNanoseconds": ` + max63 + `, ` + document(op("a", "1", "1"))[1:], "start=-"},
	example{"display unit does not matter", `{"displayTimeUnit": "ns", ` + document(op("a", "1", "1"))[1:], "span=1000"},
)

// Ids: 64 bits, as numbers and as text.
var ids = table(
	example{"correlations beyond 2^53", document(
		launch("cudaLaunchKernel", "1", "1", "9007199254740993"), launch("cudaLaunchKernel", "3", "1", "9007199254740992"),
		kernel("odd", "10", "1", "9007199254740993"), kernel("even", "20", "1", "9007199254740992")),
		"linked=2; latencies=9000/9000/17000/17000/17000; duplicate_launch=-"},
	example{"correlations beyond 2^63", document(
		launch("cudaLaunchKernel", "1", "1", "18446744073709551615"), launch("cudaLaunchKernel", "3", "1", "18446744073709551614"),
		kernel("odd", "10", "1", "18446744073709551615"), kernel("even", "20", "1", "18446744073709551614")),
		"linked=2; latencies=9000/9000/17000/17000/17000; duplicate_launch=-"},
	example{"correlations beyond 2^63 with an exponent or a fraction", document(
		launch("cudaLaunchKernel", "1", "1", "1e19"), launch("cudaLaunchKernel", "3", "1", "10000000000000000001.0"),
		kernel("a", "10", "1", "10000000000000000000"), kernel("b", "20", "1", "10000000000000000001")),
		"linked=2; latencies=9000/9000/17000/17000/17000"},
	example{"correlations in quotes", document(launch("cudaLaunchKernel", "1", "1", `"9007199254740993"`), kernel("k", "10", "1", "9007199254740993")), "linked=1; unlinked=0"},
	example{"correlation 0 and none", document(launch("cudaLaunchKernel", "1", "1", "0"), kernel("k", "10", "1", "0"), slice("kernel", "j", "0", "7", "20", "1", "")),
		"linked=0; unlinked=2; unlinked launches=1"},
	example{"flow ids beyond 2^53", document(opA, flow("s", "9007199254740993", "1"), flow("f", "9007199254740992", "2")), "unresolved=2"},
	example{"flow ids beyond 2^63", document(opA, flow("s", "18446744073709551615", "1"), flow("f", "18446744073709551615", "2"), flow("f", "18446744073709551614", "2")), "unresolved=1"},
	example{"flow ids as text", document(opA, flow("s", `"0x1f"`, "1"), flow("f", `"0x1f"`, "2"), flow("s", `"0x20"`, "1")), "unresolved=1"},
	example{"flow ids as decimal text", document(opA, flow("s", `"31"`, "1"), flow("f", "31", "2")), "unresolved=0"},
	example{"device and stream in quotes", document(slice("kernel", "k", "0", "9", "1", "2", `"device": "3", "stream": "20"`)), "gpu 3 kernels=1; gpus=1"},
	example{"device from a numeric pid", document(slice("kernel", "k", "5", "9", "1", "2", "")), "gpu 5 kernels=1; gpus=1"},
	example{"device from no pid", document(`{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2}`), "gpu 0 kernels=1; gpus=1"},
	example{"pids named by functions", document(
		slice("", "mm", `"CPU functions"`, "1", "1", "9", ""), slice("", "mm", `"CUDA functions"`, "0", "3", "4", "")),
		"gpu 0 kernels=1; gpu 0 sum=4000; gpus=1; slices=2"},
	example{"negative pid and tid", document(slice("overhead", "flush", "-1", "0", "3", "2", ""), slice("cpu_op", "a", "501", "-1213661440", "6", "1", "")),
		"slices=2; overhead=1/2000; skipped=0; cat cpu_op=1/1000"},
	// The ranks of a merged file number their correlations anew: they must not meet.
	example{"merged ranks with the same correlations", document(
		slice("cuda_runtime", "cudaLaunchKernel", `"[TP00-DP00] 501"`, "1", "1", "1", `"correlation": 7`),
		slice("cuda_runtime", "cudaLaunchKernel", `"[TP00-DP01] 502"`, "1", "2", "1", `"correlation": 7`),
		slice("kernel", "k", `"[TP00-DP00] 0"`, "7", "11", "5", `"device": 0, "stream": 7, "correlation": 7`),
		slice("kernel", "k", `"[TP00-DP01] 0"`, "7", "32", "5", `"device": 0, "stream": 7, "correlation": 7`)),
		"linked=2; latencies=10000/10000/30000/30000/30000; duplicate_launch=-; gpus=2; gpu [TP00-DP00] 0 busy=5000; gpu [TP00-DP01] 0 busy=5000"},
	example{"merged ranks, device from the pid", document(slice("kernel", "k", `"[TP01] 3"`, "7", "1", "2", "")), "gpu [TP01] 3 kernels=1"},
	example{"categories of old files", document(
		slice("Kernel", "k", "0", "7", "1", "4", `"device": 0, "stream": 7`), slice("Memcpy", "m", "0", "7", "4", "3", `"device": 0, "stream": 7`),
		slice("Memset", "z", "0", "8", "9", "1", `"device": 0, "stream": 8`)),
		"gpu 0 kernels=1; gpu 0 busy=7000; gpu 0 copy=4000; gpu 0 idle=2000; gpu 0 streams=2"},
)

func flow(ph, id, ts string) string {
	return `{"ph": "` + ph + `", "id": ` + id + `, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": ` + ts + `}`
}

func TestTimes(t *testing.T) { run(t, times) }

func TestBases(t *testing.T) { run(t, bases) }

func TestIDs(t *testing.T) { run(t, ids) }
