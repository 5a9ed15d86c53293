package web

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// How much memory may grow over a bench: the heap in MB between its first and last third.
const flatWithin = 8

// footprint is the memory of this process, the bench's browsers with it, right after a collection.
type footprint struct {
	heap, resident float64 // MB; resident is NaN where the system doesn't tell it
	goroutines     int
}

func measureFootprint() footprint {
	debug.FreeOSMemory() // collects, and gives back what is free: else resident memory tells of the past
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{float64(m.HeapAlloc) / 1e6, residentMB(), runtime.NumGoroutine()}
}

// residentMB is VmRSS, of Linux.
func residentMB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return math.NaN()
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return math.NaN()
	}
	return kib * 1024 / 1e6
}

// reportFootprints tells what was measured, one line each, and fails when what
// is held at rest, the least of the last third, is above that of the first.
func reportFootprints(b *testing.B, all []footprint) {
	b.Helper()
	for i, f := range all {
		b.Logf("%4d s: heap %.1f MB, resident %.1f MB, %d goroutines", 10*(i+1), f.heap, f.resident, f.goroutines)
	}
	third := (len(all) + 2) / 3
	least := func(part []footprint, of func(footprint) float64) float64 {
		v := math.Inf(1)
		for _, f := range part {
			v = math.Min(v, of(f))
		}
		return v
	}
	heap := func(f footprint) float64 { return f.heap }
	resident := func(f footprint) float64 { return f.resident }
	first, last := all[:third], all[len(all)-third:]
	early, late := least(first, heap), least(last, heap)
	b.ReportMetric(early, "MB-heap/early")
	b.ReportMetric(late, "MB-heap/late")
	b.ReportMetric(least(first, resident), "MB-rss/early")
	b.ReportMetric(least(last, resident), "MB-rss/late")
	if late > early+flatWithin {
		b.Errorf("the heap grew from %.1f to %.1f MB", early, late)
	}
}
