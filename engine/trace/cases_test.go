package trace

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// What the index of the collected cases says of each, times in ns. The offsets of
// warnings are those of the event (or comma) in the file.
var collected = []example{
	{"01-control-char-in-name.json", "repaired.at=107", `
		slices=2; repaired=1; skipped=0; interned lazy` + "\ufffdmod\ufffd" + `ule(0): g=yes; cat python_function=1/4000;
		gpu 0 kernels=1; gpu 0 sum=3000; span=5000; start=1700000000000010000; verdict=warn`},
	{"04-windows-backslashes-in-name.json", "repaired.at=107", `
		slices=2; repaired=1; skipped=0; interned D:\jobs\quant\eval.py(88): _step=yes; span=16000;
		start=1700000000000005000; verdict=warn`},
	// 31 … 33 busy; the device's reach begins with the copy at 30.
	{"05-bare-inf-and-nan.json", "nonfinite.at=107", `
		slices=2; repaired=0; skipped=0; nonfinite=2; cat gpu_memcpy=1/0; gpu 0 kernels=1; gpu 0 busy=2000; gpu 0 idle=1000;
		gpu 0 copy=0; gpu 0 streams=2; span=3000; verdict=warn`},
	{"07-log-lines-inside-header.json", "", `
		header_damaged=1; slices=1; skipped=0; events=1; gpu 0 kernels=1; gpu 0 sum=5000; start=1700000000000010000; verdict=warn`},
	{"08-trailing-comma.json", "", `slices=2; events=2; skipped=0; trailing_comma=1; span=5000; cut at=-; verdict=warn`},
	{"09-truncated-mid-event.json", "", `slices=2; cut at=401; events=3; skipped=1; span=5000; verdict=warn`},
	{"10-array-never-closed.json", "", `slices=2; cut at=-; events=2; skipped=0; trailing_comma=-; span=5000`},
	{"12-two-documents-back-to-back.json", "", `
		slices=1; second_document=1; span=2000; start=1700000000000001000; interned second_window=-; verdict=warn`},
	{"14-gzip-two-members.json.gz", "", `slices=1; gpu 0 kernels=1; packing=gzip; span=5000; cut at=-; gzip_junk=-`},
	{"16-empty-and-null-events.json", "", `slices=1; skipped=4; events=5; verdict=warn`},
	{"17-top-level-array-legacy-pids.json", "", `
		slices=2; gpus=1; gpu 0 kernels=1; gpu 0 sum=12500; cat =2/52750; linked=1; latency=1/0;
		latencies=20250/20250/20250/20250/20250; unresolved=0; start=-; span=40250`},
	{"18-base-time-after-events.json", "", `start=1712345678000250500; gpu 0 sum=1250`},
	{"19-absolute-microseconds-no-base.json", "", `start=1712345678000250000; gpu 0 sum=1000`},
	// The span leaves the category "Trace" out (the window 0–90 of the index includes it).
	{"20-string-pids-and-spans.json", "", `
		gpu 0 kernels=1; gpu 0 busy=20000; cat Trace=1/90000; slices=2; span=20000; start=1700000000000010000; ph i=2; skipped=0`},
	{"22-metadata-only.json", "", `slices=0; events=2; skipped=0; process 501=python|; span=-; start=-; gpus=0; verdict=unusable`},
	{"23-cpu-only-no-kernels.json", "", `slices=3; no_gpu=2; gpus=0; launches=2/0; verdict=unusable`},
	{"24-timestamps-as-strings.json", "", `
		gpu 0 kernels=2; gpu 0 sum=8240; gpu 0 busy=8240; gpu 0 idle=0; span=8240; start=1755000000123456380; skipped=0; untimed=-`},
	{"26-ids-above-2-53.json", "", `linked=2; latency=2/0; latencies=4000/4000/6000/6000/6000; unlinked=0; duplicate_launch=-`},
	{"28-negative-pid-and-tid.json", "", `
		slices=2; overhead=1/2000; cat overhead=1/2000; cat cpu_op=1/1000; span=4000; process -1=CUPTI overhead|; skipped=0`},
	{"29-pid-0-is-both-cpu-and-gpu.json", "", `gpu 0 busy=2000; gpu 0 kernels=1; cat cpu_op=1/4000; process 0=|GPU 0; span=4000`},
	{"31-negative-durations.json", "", `
		slices=3; clipped=2; gpu 0 kernels=2; gpu 0 sum=4000; cat Trace=1/0; start=1700000000000020000; span=14000; verdict=warn`},
	{"33-display-unit-ns.json", "", `gpu 0 sum=996; gpu 0 busy=996; gpu 0 idle=0; span=996; gpu 0 kernels=2`},
	{"34-overlap-on-one-stream.json", "", `gpu 0 kernels=3; gpu 0 sum=27000; gpu 0 busy=25000; gpu 0 idle=5000; gpu 0 streams=1; span=30000`},
	{"36-b-without-e-and-e-without-b.json", "", `
		events=5; slices=2; orphan_end=1; unfinished=1; span=30000; start=1700000000000012000; ph B=2; ph E=2; ph X=1; verdict=warn`},
	{"38-out-of-order.json", "", `gpu 0 sum=15000; gpu 0 busy=15000; gpu 0 idle=10000; linked=1; unlinked=2; latencies=8000/8000/8000/8000/8000`},
	{"40-flow-start-without-end.json", "", `linked=2; unlinked=0; unresolved=2; latencies=5000/5000/5000/5000/5000; verdict=warn`},
	{"41-two-flow-starts-one-id.json", "", `
		linked=1; latency=1/0; latencies=10000/10000/10000/10000/10000; duplicate_flow=1; unlinked launches=0; unresolved=0; verdict=warn`},
	{"43-one-graph-launch-many-kernels.json", "", `
		launches=2/1; graph=1/4/25000/30000; gpu 0 kernels=5; gpu 0 sum=30000; gpu 0 busy=25000; gpu 0 graph=4; gpu 0 streams=2;
		linked=5; latency=5/0; unlinked launches=0`},
	{"44-launches-with-no-kernel.json", "", `gpu 0 kernels=3; gpu 0 sum=6000; linked=1; unlinked=2; unlinked_kernels=2; unlinked launches=2; unlinked_launches=2`},
	// 100–110, 115–131, 128–134: busy 10 + 19.
	{"46-annotation-and-sync-rows.json", "", `
		gpu 0 busy=29000; gpu 0 sum=26000; gpu 0 copy=6000; gpu 0 kernels=2; gpu 0 streams=2; gpus=1; phases=0; steps=0;
		cat cuda_sync=1/60000; cat gpu_user_annotation=1/31002; span=60000`},
	{"48-xpu-and-mtia-categories.json", "", `
		gpu 0 kernels=1; linked=1; linked devices=1; counters=2; cat xpu_sync=1/1000; cat mtia_ccp_events=1/5000; ph C=1; slices=5; skipped=0`},
	{"50-collective-args-quoting.json", "", `
		collectives=3; collective allreduce=1/8000/8000 8 true; collective all_gather=1/6000/6000 8 false;
		collective reduce_scatter=1/7000/7000 - false; gpu 0 comm=21000; gpu 0 compute=0; gpu 0 exposed=21000`},
	{"52-steps-without-profilerstep.json", "", `
		steps=6; step0=mixed 4 515 0/40000; step1=decode 4 4 50000/20000; step2=mixed 5 9 80000/22000;
		step3=prefill 2 640 110000/30000; step4=decode 2 2 150000/12000; step5=decode 64 320 180000/9000;
		step0 name=execute_context_1(512)_generation_3(3); step5 name=deepinfer:launch_forward_N64_B320;
		phase step[DECODE bs=2] sample=1/3000/3000; phases=7; span=189000; start=1700000000000000000; no_steps=-`},
}

func TestCollectedCases(t *testing.T) {
	for _, x := range collected {
		t.Run(x.name, func(t *testing.T) {
			data, err := os.ReadFile(corpus(t, "cases", x.name))
			if err != nil {
				t.Fatal(err)
			}
			check(t, read(t, data), x.in+"; "+x.want)
		})
	}
}

// Every case of the folder is in the table.
func TestCollectedCasesAreAll(t *testing.T) {
	files, err := os.ReadDir(corpus(t, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"INDEX.md": true}
	for _, x := range collected {
		known[x.name] = true
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("%s has no line in the table", f.Name())
		}
	}
}

// Messages that the index asks for by their words.
func TestCollectedMessages(t *testing.T) {
	for file, want := range map[string]string{
		"23-cpu-only-no-kernels.json":        "no GPU activity recorded (2 launches)",
		"44-launches-with-no-kernel.json":    "first 2 launches have no kernels",
		"12-two-documents-back-to-back.json": "only the first is read",
	} {
		data, err := os.ReadFile(corpus(t, "cases", file))
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, w := range Analyze(read(t, data), AnalyzeOptions{}).Health.Warnings {
			all = append(all, w.Message)
		}
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("%s: no warning says %q: %q", file, want, all)
		}
	}
}

// The two absolute times of cases 18 and 19 are 500 ns apart, so the files align.
func TestCollectedTimesAlign(t *testing.T) {
	var at [2]int64
	for i, file := range []string{"18-base-time-after-events.json", "19-absolute-microseconds-no-base.json"} {
		data, err := os.ReadFile(corpus(t, "cases", file))
		if err != nil {
			t.Fatal(err)
		}
		at[i] = Analyze(read(t, data), AnalyzeOptions{}).Start.V
	}
	if d := at[0] - at[1]; d != 500 {
		t.Errorf("case 18 starts %d ns after case 19, want 500", d)
	}
}

// An event order does not matter: case 38 sorted gives the same figures.
func TestOrderOfEventsDoesNotMatter(t *testing.T) {
	events := []string{
		launch("cudaLaunchKernel", "2", "1", "1"), kernel("first", "10", "5", "1"), kernel("second", "20", "5", "2"),
		kernel("third", "30", "5", "3"), annotation("outer", "1", "9"), annotation("inner", "2", "3"),
	}
	want := asJSON(read(t, []byte(document(events...))), 0)
	for shift := range len(events) {
		turned := append(append([]string{}, events[shift:]...), events[:shift]...)
		got := asJSON(read(t, []byte(document(turned...))), 0)
		if got != want {
			t.Errorf("turned by %d:\n got %s\nwant %s", shift, got, want)
		}
	}
	if !bytes.Contains([]byte(want), []byte(`"p50_ns":8000`)) {
		t.Errorf("no latency of 8000 in %s", want)
	}
}
