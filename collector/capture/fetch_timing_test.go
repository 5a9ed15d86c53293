package capture

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// BenchmarkFetch is what a collector computes for a file of 20 steps, beside its engine: one look whether it is complete,
// one compression.
func BenchmarkFetch(b *testing.B) {
	name := filepath.Join(b.TempDir(), "t.json")
	out, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	truth, err := kineto.Generate(out, kineto.Options{Steps: 20, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	s := &session{r: &Runner{cfg: Config{TempDir: b.TempDir()}}, ctx: b.Context()}
	b.SetBytes(truth.Bytes)
	var packed int64
	var looks time.Duration
	for b.Loop() {
		start := time.Now()
		res, err := inspect(f, stat.Size())
		if err != nil || res.ending != whole {
			b.Fatalf("%+v, %v", res, err)
		}
		looks += time.Since(start)
		p, err := s.pack(&file{name: "t.json", f: f, stat: stat, inspected: res})
		if err != nil {
			b.Fatal(err)
		}
		packed = p.size
		p.close()
	}
	b.ReportMetric(float64(looks.Milliseconds())/float64(b.N), "ms-to-inspect")
	b.ReportMetric(float64(packed)/1e6, "MB-packed")
}
