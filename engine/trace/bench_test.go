package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

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
// the same bytes, in turns, so that both meet the same machine. The bar is the ratio,
// 1.6; the rates are for information.
func BenchmarkRead(b *testing.B) {
	for name, data := range inputs(b) {
		b.Run(name, func(b *testing.B) {
			var valid, ours time.Duration
			n := 0
			for b.Loop() {
				t0 := time.Now()
				if !json.Valid(data) {
					b.Fatal("not valid")
				}
				t1 := time.Now()
				readAndAnalyze(b, data)
				valid, ours, n = valid+t1.Sub(t0), ours+time.Since(t1), n+1
			}
			rate := func(d time.Duration) float64 { return float64(n) * float64(len(data)) / 1e6 / d.Seconds() }
			b.ReportMetric(valid.Seconds()/ours.Seconds(), "×json.Valid")
			b.ReportMetric(rate(ours), "MB/s")
			b.ReportMetric(rate(valid), "MB/s-json.Valid")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func readAndAnalyze(b *testing.B, data []byte) {
	const chunk = 1 << 18
	r := NewReader(Options{})
	for len(data) > 0 {
		n := copy(r.Space(chunk)[:chunk], data)
		data = data[n:]
		r.Commit(n)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	if s := Analyze(r.Partial(), AnalyzeOptions{}); s.Health.Slices == 0 {
		b.Fatal("no slices")
	}
}

// BenchmarkStream reads input that is generated as it is read and kept nowhere: memory must
// not grow with the file where columns are not kept.
func BenchmarkStream(b *testing.B) {
	for _, steps := range []int{40, 400} { // 0.2 and 2 GB
		b.Run(strconv.Itoa(steps)+"steps", func(b *testing.B) {
			for b.Loop() {
				pr, pw := io.Pipe()
				go func() {
					_, err := kineto.Generate(pw, kineto.Options{Steps: steps, Seed: 1})
					pw.CloseWithError(err)
				}()
				p, err := Read(pr, Options{Rows: 1 << 16})
				if err != nil {
					b.Fatal(err)
				}
				Analyze(p, AnalyzeOptions{})
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-heap")
				b.ReportMetric(float64(p.jsonBytes)/1e6, "MB-read")
				runtime.KeepAlive(p)
			}
		})
	}
}
