package foreign

import (
	"os"
	"testing"
	"time"
)

// BenchmarkScrape reads a vLLM server's text with all options on.
func BenchmarkScrape(b *testing.B) {
	body, err := os.ReadFile("testdata/vllm-2026-08.2.txt")
	if err != nil {
		b.Fatal(err)
	}
	s := NewState(VLLM)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	n := 0
	for i := 0; b.Loop(); i++ {
		n = s.Scrape(t0.Add(time.Duration(i)*time.Second), body).Series
	}
	b.ReportMetric(float64(n), "series/op")
}
