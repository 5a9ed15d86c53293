package trace

import (
	"bytes"
	"strings"
	"testing"
)

// Rows beyond the cap: counts, sums and unions still cover the whole file, and it says so.
func TestRowsCapped(t *testing.T) {
	data := []byte(document(
		annotation("a", "0", "10"), annotation("b", "20", "10"), annotation("c", "40", "10"), annotation("a", "60", "30"),
		kernel("k", "5", "10", "1"), kernel("k", "12", "8", "2"), kernel("j", "40", "5", "3"), nccl("ncclDevKernel_AllReduce", "43", "10", ""),
		copyOn("gpu_memcpy", "9", "50", "6", "4"), gpu("far", "3", "7", "70", "1", "5"), gpu("vllm::cross_device_reduce_2stage", "3", "7", "72", "2", "6")))
	// Busy: 5–20, 40–56. Compute 5–20, 40–45; communication 43–53, of it 45–53 exposed. GPU 3: 70–71, and 72–74 without NCCL.
	const want = `slices=11; gpu 0 kernels=4; gpu 0 sum=33000; gpu 0 busy=31000; gpu 0 idle=20000; gpu 0 copy=6000; gpu 0 comm=10000; gpu 0 compute=20000;
		gpu 0 exposed=8000; gpu 0 streams=3; gpu 3 busy=3000; gpu 3 comm=0; gpu 3 custom=2000; gpu 3 exposed=2000; gpus=2;
		kernel k=2/18000/9000/10000; kernel j=1/5000/5000/5000; kernels=k, ncclDevKernel_AllReduce, j, vllm::cross_device_reduce_2stage, far;
		span=90000; collective allreduce=1/10000/10000 - false; collective custom allreduce=1/2000/2000 - false`
	check(t, read(t, data), want+"; rows_capped=-; phase a=2/40000/40000; phases=3")
	for rows := 1; rows < 11; rows++ {
		p, err := Read(bytes.NewReader(data), Options{Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		check(t, p, want+"; rows_capped="+itoa(int64(11-rows))+"; verdict=warn; phases=3")
		f := figures(p, Analyze(p, AnalyzeOptions{}))
		for name, sum := range map[string]string{"a": "2/40000/", "b": "1/10000/", "c": "1/10000/"} {
			if !strings.HasPrefix(f["phase "+name], sum) {
				t.Errorf("%d rows: phase %s is %q, want count and total %s", rows, name, f["phase "+name], sum)
			}
		}
		if t.Failed() {
			t.Fatalf("with %d rows", rows)
		}
	}
}

// Columns beyond the cap are not kept; all else is the same.
func TestColumnsCapped(t *testing.T) {
	data := []byte(document(opA, opB, opC, kernel("k", "1", "1", "1")))
	want := wholeOf(data, Options{})
	for n, kept := range map[int]string{0: "0", 1: "1", 2: "2", 3: "3", 100: "3"} {
		p, err := Read(bytes.NewReader(data), Options{Columns: n})
		if err != nil {
			t.Fatal(err)
		}
		if got := asJSON(p, len(data)); got != want {
			t.Errorf("%d columns: another summary", n)
		}
		capped := "true"
		if kept == "3" {
			capped = "false"
		}
		if got := string(p.AppendColumns(nil)); got != `{"kept":`+kept+`,"total":3,"capped":`+capped+`}` {
			t.Errorf("%d columns: %s", n, got)
		}
	}
}

// Tables that run full in the sum of the ranges, though in none of them alone: several
// readers still give what one gives.
func TestTablesFullOnlyTogether(t *testing.T) {
	category := func(i int) string { return slice("c"+num(i), "x", "1", "1", "1", "1", "") }
	group := func(i int) string {
		return nccl("ncclDevKernel_AllReduce", num(i+1), "1", `, "Collective name": "allreduce", "Group size": `+num(i))
	}
	many := func(from, to int, f func(int) string) (list []string) {
		for i := from; i < to; i++ {
			list = append(list, f(i))
		}
		return list
	}
	for name, events := range map[string][]string{
		"categories": append(many(0, 4500, category), kernel("k", "9", "3", "1"), deep("schedule", "20", "2")),
		"kernel as the first category beyond the cap": append(append(many(0, 4096, category), kernel("k", "9", "3", "1")), annotation("n", "20", "2")),
		"collectives": append(many(0, 1500, group), many(0, 1500, group)...),
	} {
		data := []byte(document(events...))
		want := wholeOf(data, Options{})
		for _, cut := range []int{len(data) / 2, len(data) / 3, len(data) * 9 / 10} {
			if !sameSplit(t, splitOf, data, []int64{int64(cut)}, Options{}, want) {
				t.Logf("table: %s", name)
			}
		}
	}
}

// The same for names: a million fit.
func TestNamesFullOnlyTogether(t *testing.T) {
	notShort(t)
	var b bytes.Buffer
	b.WriteString(opening)
	for i := range 1_060_000 {
		b.WriteString(`{"ph":"X","ts":1,"dur":2,"name":"`)
		if i >= 1_050_000 {
			b.WriteString(deepInferPrefix)
		}
		b.WriteString(num(i))
		b.WriteString(`"},`)
	}
	b.WriteString(sound + "]}")
	data := b.Bytes()
	sameSplit(t, splitOf, data, []int64{int64(len(data) / 2)}, Options{}, wholeOf(data, Options{}))
}
