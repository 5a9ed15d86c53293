package trace

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// truth is what another program counted in a real trace.
type truth struct {
	Events     int64            `json:"json_events"`
	Slices     int64            `json:"complete_slices"`
	Categories map[string]int64 `json:"categories"`
	Span       int64            `json:"first_to_last_ns"`
	Devices    []truthDevice    `json:"devices"`
}

type truthDevice struct {
	ID      string `json:"id"`
	Kernels int64  `json:"kernels"`
	Sum     int64  `json:"sum_ns"`
	Busy    int64  `json:"busy_ns"`
	Idle    int64  `json:"idle_ns"`
	Copy    int64  `json:"copy_ns"`
	Comm    int64  `json:"comm_ns"`
	Streams int    `json:"streams"`
}

// Every figure of the oracle, for every real trace.
func TestRealTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 250 MB of JSON")
	}
	dir := corpus(t, "traces")
	text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]truth
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("the oracle has %d files, want at least 20", len(all))
	}
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			s := summaryOf(t, filepath.Join(dir, name))
			got := truth{Events: s.Health.Events, Slices: s.Health.Slices, Span: s.Span.V, Categories: map[string]int64{}, Devices: []truthDevice{}}
			for _, c := range s.Categories {
				got.Categories[c.Name] = c.Count
			}
			for _, d := range s.Devices {
				got.Devices = append(got.Devices, truthDevice{d.ID, d.Kernels, d.Sum, d.Busy, d.Idle.V, d.Copy, d.Comm, len(d.Streams)})
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %+v\nwant %+v", got, want)
			}
			h := s.Health
			if h.Skipped+h.Repaired+h.Clipped != 0 || h.TruncatedAt.OK {
				t.Errorf("a whole file, but skipped %d, repaired %d, clipped %d, truncated %v", h.Skipped, h.Repaired, h.Clipped, h.TruncatedAt)
			}
		})
	}
}

func summaryOf(t testing.TB, path string) *Summary {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := Read(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Analyze(p, AnalyzeOptions{Name: filepath.Base(path)})
}

// What the manifest, and Holistic Trace Analysis in its nanosecond mode, say of single
// files beyond the oracle.
func TestRealTracesDetails(t *testing.T) {
	dir := corpus(t, "traces")
	for _, x := range []struct{ file, want string }{
		// 28,486,671 ns idle is HTA's figure too; the file has no step names.
		{"vllm-h100-4rank-rank0.json.gz", "json=47947181; gpu 0 idle=28486671; gpu 0 kernels=13508; steps=0; no_steps=1; packing=gzip"},
		// The outer name gives the bounds; both say the batch.
		{"sglang-mi300x-prefilldecode.json.gz", `json=15250193; producer=sglang; steps=1; step0=prefill 15 15360 0/522741423;
			phase step[EXTEND bs=15 toks=15360]=1/28915862/28915862`},
		{"sglang-mi300x-decode.json.gz", "json=594892; producer=sglang; steps=1; step0=decode 32 32 0/465716634"},
		// 9 requests with 8155 tokens and 37 with one each.
		{"vllm-mi300x-piecewise.json.gz", "json=4524969; producer=vllm; steps=1; step0=mixed 46 8192 0/26353441"},
		{"eager-b200.json.gz", "json=14243142; producer=vllm; steps=1; step0=prefill 1 888 0/87412863; phase nccl:_all_gather_base=1/156039/156039"},
		{"cpu-only-rank34.json.gz", "json=25192; gpus=0; events=30"},
		{"inference-mtia.json.gz", "json=4839239; gpus=0; cat mtia_ccp_events=1313/812125170"},
	} {
		t.Run(x.file, func(t *testing.T) {
			if testing.Short() && strings.HasPrefix(x.file, "vllm-h100") {
				t.Skip("reads 48 MB")
			}
			data, err := os.ReadFile(filepath.Join(dir, x.file))
			if err != nil {
				t.Fatal(err)
			}
			check(t, read(t, data), x.want)
		})
	}
}

// Holistic Trace Analysis in its nanosecond mode: µs as floats, good to 0.2 µs. Idle time
// and the union of computation kernels are defined as ours; in files with profiler steps
// it leaves work out (see the manifest), so those are not compared. To it communication is
// NCCL's only: vLLM's all-reduce, which runs beside no other kernel there, is computation.
func TestHolisticTraceAnalysisAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 55 MB of JSON")
	}
	dir := corpus(t, "traces")
	compared := 0
	for _, x := range []struct {
		name string
		file func(rank string) string
	}{
		{"vllm-h100-4rank-rank0", func(string) string { return "vllm-h100-4rank-rank0.json.gz" }},
		{"dlrm-8rank", func(rank string) string { return "dlrm-8rank/rank" + rank + ".json.gz" }},
	} {
		text, err := os.ReadFile(filepath.Join(dir, "oracle-hta", x.name, "temporal_breakdown.csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		col := map[string]int{}
		for i, name := range rows[0] {
			col[name] = i
		}
		for _, row := range rows[1:] {
			d := summaryOf(t, filepath.Join(dir, x.file(row[col["rank"]]))).Devices[0]
			for _, f := range []struct {
				name string
				ns   int64
			}{{"idle_time(us)", d.Idle.V}, {"compute_time(us)", d.Compute + d.CustomComm}, {"kernel_time(us)", d.Last.V - d.First.V}} {
				us, err := strconv.ParseFloat(row[col[f.name]], 64)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(us*1000-float64(f.ns)) > 200 {
					t.Errorf("%s rank %s: %s is %d ns, HTA says %.3f µs", x.name, row[col["rank"]], f.name, f.ns, us)
				}
				compared++
			}
		}
	}
	if compared != 27 { // 9 ranks, 3 figures
		t.Errorf("%d figures compared, want 27", compared)
	}
}
