package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sameAsNative compares the page's n-th summary with what the command line prints of the same file, byte for byte.
func sameAsNative(t *testing.T, p *tab, n int, path string) summaryJSON {
	t.Helper()
	want, parsed := native(t, path)
	got := p.summary(n)
	if strings.TrimRight(want, "\n") != strings.TrimRight(got, "\n") {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		around := func(s string) string { return s[max(0, i-80):min(len(s), i+80)] }
		t.Errorf("the page's summary differs from the command line's at byte %d:\n page %s\n cli  %s", i, around(got), around(want))
	}
	return parsed
}

func TestRealTraces(t *testing.T) {
	for name, want := range ordered(realTruths(t)) {
		t.Run(name, func(t *testing.T) {
			path := corpus(t, "traces", name)
			p := open(t, shared, "/trace")
			p.drop(path)
			p.done()
			sum := sameAsNative(t, p, 0, path)

			slices := "slices"
			if want.Slices == 1 {
				slices = "slice"
			}
			if got, want := p.fact("Events"), fmt.Sprintf("%s, %s %s", grouped(want.Events), grouped(want.Slices), slices); got != want {
				t.Errorf("events: %q, want %q", got, want)
			}
			if got := p.fact("File"); got != filepath.Base(name) {
				t.Errorf("file: %q, want %q", got, name)
			}
			checkCategories(t, p, want)
			checkDevices(t, p, want)
			checkPhases(t, p, sum)
			checkKernels(t, p, sum)
		})
	}
}

func ordered[V any](m map[string]V) func(func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func checkCategories(t *testing.T, p *tab, want realTruth) {
	t.Helper()
	tb := p.table("categories")
	if len(tb.rows) != len(want.Categories) {
		t.Errorf("%d categories are listed, want %d", len(tb.rows), len(want.Categories))
	}
	for cat, n := range want.Categories {
		tb.wantInt(tb.one(cat), "count", n)
	}
}

func checkDevices(t *testing.T, p *tab, want realTruth) {
	t.Helper()
	if len(want.Devices) == 0 {
		if p.visible(`table[data-table="gpu"]`) || !p.visible(`#gpu [data-role=empty]`) {
			t.Error("a trace without GPU work must say so instead of showing a table")
		}
		return
	}
	tb := p.table("gpu")
	for _, d := range want.Devices {
		r := tb.one("GPU " + d.ID)
		tb.wantInt(r, "kernels", d.Kernels)
		tb.wantInt(r, "streams", d.Streams)
		tb.wantNs(r, "busy_ns", d.Busy)
		tb.wantNs(r, "sum_ns", d.Sum)
		tb.wantNs(r, "idle_ns", d.Idle)
		tb.wantNs(r, "copy_ns", d.Copy)
		tb.wantNs(r, "comm_ns", d.Comm)
		if busy := float64(d.Busy) / float64(d.Busy+d.Idle) * 100; d.Busy+d.Idle > 0 && !rounds(r.Cells["busy_ppm"].Text, busy) {
			t.Errorf("GPU %s is busy %q %%, want %.4f", d.ID, r.Cells["busy_ppm"].Text, busy)
		}
	}
}

// checkPhases reads the flat view: one row for each name.
func checkPhases(t *testing.T, p *tab, sum summaryJSON) {
	t.Helper()
	if len(sum.Phases) == 0 {
		if !p.visible("#phases [data-role=empty]") {
			t.Error("a trace without annotations must say so")
		}
		return
	}
	p.click(`[data-action=phases-view][data-view=flat]`)
	tb := p.table("phases")
	if len(tb.rows) != len(sum.Phases) {
		t.Errorf("%d phases are listed, want %d", len(tb.rows), len(sum.Phases))
	}
	for _, ph := range sum.Phases {
		r := tb.one(ph.Name)
		tb.wantInt(r, "count", ph.Count)
		for key, ns := range map[string]int64{
			"total_ns": ph.TotalNs, "self_ns": ph.SelfNs, "mean_ns": ph.MeanNs,
			"p50_ns": ph.P50Ns, "p95_ns": ph.P95Ns, "p99_ns": ph.P99Ns, "max_ns": ph.MaxNs,
		} {
			tb.wantNs(r, key, ns)
		}
	}
}

func checkKernels(t *testing.T, p *tab, sum summaryJSON) {
	t.Helper()
	if len(sum.Kernels) == 0 {
		if p.visible("#kernels") {
			t.Error("a block of kernels is shown for a trace without any")
		}
		return
	}
	tb := p.table("kernels")
	if len(tb.rows) != len(sum.Kernels) {
		t.Errorf("%d kernels are listed, want %d", len(tb.rows), len(sum.Kernels))
	}
	for _, k := range sum.Kernels {
		r := tb.one(k.Name)
		tb.wantInt(r, "count", k.Count)
		tb.wantNs(r, "total_ns", k.TotalNs)
		tb.wantNs(r, "max_ns", k.MaxNs)
	}
}

// TestSummaryExport downloads the whole summary from the page: the command line's bytes.
func TestSummaryExport(t *testing.T) {
	m := middleTrace(t)
	p := open(t, shared, "/trace", cores(2))
	p.choose(m.path)
	p.done()
	file, name := p.download(func() { p.click(`[data-export=summary]`) })
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := native(t, m.path); string(got) != want {
		t.Errorf("the exported summary has %d bytes and differs from the command line's %d", len(got), len(want))
	}
	if name != "middle-summary.json" {
		t.Errorf("it is called %q", name)
	}
}

// TestGenerated reads the 100 MB trace and checks every figure of the page against what the generator wrote, and that the
// result does not depend on how many workers read.
func TestGenerated(t *testing.T) {
	m := exampleTrace(t)
	truth := m.truth
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("workers=%d", n), func(t *testing.T) {
			p := open(t, shared, "/trace", cores(n))
			p.drop(m.path)
			p.done()
			sameAsNative(t, p, 0, m.path)
			if got, want := p.fact("Read in"), fmt.Sprintf(" %d worker", n); !strings.Contains(got, want) {
				t.Errorf("read by %q, want%s", got, want)
			}
			if n != 2 {
				return
			}
			if got, want := p.fact("Events"), fmt.Sprintf("%s, %s slices", grouped(truth.Events), grouped(truth.Slices)); got != want {
				t.Errorf("events: %q, want %q", got, want)
			}
			if got := p.fact("Engine"); got != "DeepInfer" {
				t.Errorf("engine: %q", got)
			}
			if got := p.text("#verdict"); !strings.HasPrefix(got, fmt.Sprintf("%d steps, ", truth.StepCount)) {
				t.Errorf("verdict: %q", got)
			}
			checkTruth(t, p, m)
		})
	}
}

// checkTruth compares every figure that the generator counted with the page's.
func checkTruth(t *testing.T, p *tab, m made) {
	t.Helper()
	p.click(`[data-action=phases-view][data-view=flat]`)
	phases := p.table("phases")
	if len(phases.rows) != len(m.truth.Phases) {
		t.Errorf("%d phases, want %d", len(phases.rows), len(m.truth.Phases))
	}
	for _, ph := range m.truth.Phases {
		r := phases.one(ph.Name)
		phases.wantInt(r, "count", ph.Count)
		phases.wantNs(r, "total_ns", ph.Total)
		phases.wantNs(r, "self_ns", ph.Self)
		phases.wantNs(r, "max_ns", ph.Max)
	}
	shapes := p.table("shapes")
	if len(shapes.rows) != len(m.truth.Shapes) {
		t.Errorf("%d shapes, want %d", len(shapes.rows), len(m.truth.Shapes))
	}
	for _, s := range m.truth.Shapes {
		r := shapes.one(s.Name)
		shapes.wantInt(r, "n", int64(s.N))
		shapes.wantInt(r, "b", int64(s.B))
		shapes.wantInt(r, "count", s.Count)
		shapes.wantInt(r, "replays", s.Replays)
		shapes.wantInt(r, "misses", s.Misses)
		shapes.wantNs(r, "cpu_total_ns", s.CPUTotal)
		word := "replay"
		if s.Misses > 0 {
			word = "miss"
			if s.Replays > 0 {
				word = "partial"
			}
		}
		shapes.wantText(r, "graph", word)
		if mean := float64(s.Kernels) / float64(s.Count); !rounds(r.Cells["kernels_mean"].Text, mean) {
			t.Errorf("%s launches %q kernels, want %.2f", s.Name, r.Cells["kernels_mean"].Text, mean)
		}
	}
	steps := p.table("steps")
	if len(steps.rows) != len(m.truth.Steps) {
		t.Errorf("%d steps, want %d", len(steps.rows), len(m.truth.Steps))
	}
	for i, s := range m.truth.Steps {
		r := steps.rows[i]
		steps.wantInt(r, "index", int64(s.Index))
		steps.wantText(r, "kind", s.Kind)
		steps.wantNs(r, "start_ns", s.Start)
		steps.wantNs(r, "dur_ns", s.Dur)
		if s.Kind == "idle" {
			if !strings.Contains(r.Class, "idle") {
				t.Errorf("idle step %d is not set back", s.Index)
			}
			continue
		}
		steps.wantText(r, "name", s.Name)
		steps.wantText(r, "graph", s.Graph)
		steps.wantInt(r, "kernels", s.Kernels)
	}
	gpu := p.table("gpu")
	for _, d := range m.truth.Devices {
		r := gpu.one(fmt.Sprintf("GPU %d", d.ID))
		gpu.wantInt(r, "kernels", d.Kernels)
		gpu.wantInt(r, "streams", int64(d.Streams))
		for key, ns := range map[string]int64{
			"sum_ns": d.Sum, "busy_ns": d.Busy, "idle_ns": d.Idle, "copy_ns": d.Copy,
			"comm_ns": d.Comm, "compute_ns": d.Compute, "exposed_comm_ns": d.ExposedComm,
		} {
			gpu.wantNs(r, key, ns)
		}
	}
	kernels := p.table("kernels")
	if len(kernels.rows) != len(m.truth.Kernels) {
		t.Errorf("%d kernels, want %d", len(kernels.rows), len(m.truth.Kernels))
	}
	for _, k := range m.truth.Kernels {
		r := kernels.one(k.Name)
		kernels.wantInt(r, "count", k.Count)
		kernels.wantNs(r, "total_ns", k.Total)
		kernels.wantNs(r, "max_ns", k.Max)
	}
}

// TestSplitting reads traces with idle steps, odd worker counts, packed and not: always the command line's bytes.
func TestSplitting(t *testing.T) {
	m := middleTrace(t)
	p := open(t, shared, "/trace", cores(3))
	p.choose(m.path)
	p.done()
	sameAsNative(t, p, 0, m.path)
	checkTruth(t, p, m)

	packed := gzipped(t, m.path)
	p = open(t, shared, "/trace", cores(3))
	p.choose(packed)
	p.done()
	sameAsNative(t, p, 0, packed)
	checkTruth(t, p, m)
	if got := p.fact("Size"); !strings.HasSuffix(got, "MB unpacked") {
		t.Errorf("the size of a packed file is shown as %q", got)
	}
	if got := p.fact("Read in"); !strings.Contains(got, " 1 worker,") {
		t.Errorf("a packed file cannot be split, but was read as %q", got)
	}
}
