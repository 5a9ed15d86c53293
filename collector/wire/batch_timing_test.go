package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stepscope/stepscope/store"
)

// busy is what a collector of 64 engines delivers: rows of 40 columns, of which
// a third are whole numbers, a third short decimals as log lines have them, a sixth
// full fractions and a sixth absent.
func busy() *store.Batch {
	rnd := rand.New(rand.NewPCG(1, 1))
	b := &store.Batch{Seq: 1, Layouts: []store.Layout{{Section: "stats"}}}
	for i := range 40 {
		b.Layouts[0].Columns = append(b.Layouts[0].Columns, store.Column{Metric: fmt.Sprint("metric_", i)})
	}
	for i := range 64 {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: "prod", Name: fmt.Sprint("rank", i)}, Rank: i, GPU: i % 8})
	}
	for i := range 1024 {
		r := store.Row{Engine: i % 64, Time: 1_700_000_000_000_000_000 + int64(i)*1_000_000, Step: int64(100 * i), Values: make([]float64, 40)}
		for j := range r.Values {
			switch j % 6 {
			case 0, 1:
				r.Values[j] = float64(rnd.IntN(1000))
			case 2, 3:
				r.Values[j] = math.Round(rnd.Float64()*10_000) / 100
			case 4:
				r.Values[j] = rnd.Float64()
			case 5:
				r.Values[j] = math.NaN()
			}
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}

const busySamples = 1024 * 40

// BenchmarkBatch measures both directions beside a copy of the same floats, and
// the bytes of a sample with and without gzip.
func BenchmarkBatch(b *testing.B) {
	batch := busy()
	data, err := AppendBatch(nil, batch)
	if err != nil {
		b.Fatal(err)
	}
	var packed bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	zw.Write(data)
	zw.Close()
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			if data, err = AppendBatch(data[:0], batch); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/busySamples, "ns/sample")
		b.ReportMetric(float64(len(data))/busySamples, "B/sample")
		b.ReportMetric(float64(packed.Len())/busySamples, "gzipB/sample")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := DecodeBatch(data); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/busySamples, "ns/sample")
	})
	b.Run("copy", func(b *testing.B) {
		to := make([]float64, busySamples)
		for b.Loop() {
			n := 0
			for _, r := range batch.Rows {
				n += copy(to[n:], r.Values)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/busySamples, "ns/sample")
	})
}
