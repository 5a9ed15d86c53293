package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// inputs returns the benchmarks' files: the generated 100 MB trace, and a real one where
// STEPSCOPE_CORPUS names the folder that holds it.
func inputs(b *testing.B) map[string][]byte {
	var buf bytes.Buffer
	if _, err := kineto.Generate(&buf, kineto.Options{Steps: 20, Seed: 1}); err != nil {
		b.Fatal(err)
	}
	m := map[string][]byte{"generated-100MB": buf.Bytes()}
	dir := os.Getenv("STEPSCOPE_CORPUS")
	if dir == "" {
		b.Log("STEPSCOPE_CORPUS is not set: the real trace is left out")
		return m
	}
	f, err := os.Open(filepath.Join(dir, "traces", "vllm-h100-4rank-rank0.json.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var real bytes.Buffer
	z, err := unpackLayers(NewReader(Options{}), f)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(&real, z); err != nil {
		b.Fatal(err)
	}
	m["vllm-h100"] = real.Bytes()
	return m
}

// BenchmarkRead measures reading and analysing on one core beside encoding/json.Valid over
// the same bytes in the same run: compare the MB/s of the two.
func BenchmarkRead(b *testing.B) {
	for name, data := range inputs(b) {
		b.Run(name+"/json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if !json.Valid(data) {
					b.Fatal("not valid")
				}
			}
		})
		b.Run(name+"/stepscope", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				r := NewReader(Options{})
				for rest := data; len(rest) > 0; {
					n := copy(r.Space(1 << 18)[:1<<18], rest)
					rest = rest[n:]
					r.Commit(n)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
				if s := Analyze(r.Partial(), AnalyzeOptions{}); s.Health.Slices == 0 {
					b.Fatal("no slices")
				}
			}
		})
	}
}
