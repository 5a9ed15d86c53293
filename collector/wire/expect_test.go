package wire

import (
	"testing"
	"time"
)

func TestExpect(t *testing.T) {
	for _, c := range []struct {
		kind  string
		steps int
		step  time.Duration
		want  Expectation
	}{
		{"deepinfer", 20, 400 * time.Millisecond, Expectation{98_000_000, 8 * time.Second}}, // 20 × 4.9 MB, 20 × 0.4 s
		{"deepinfer", 50, 0, Expectation{245_000_000, 0}},
		{"vllm", 20, 25 * time.Millisecond, Expectation{0, 500 * time.Millisecond}},
	} {
		if got := Expect(c.kind, c.steps, c.step); got != c.want {
			t.Errorf("Expect(%q, %d, %s) = %+v, want %+v", c.kind, c.steps, c.step, got, c.want)
		}
	}
}
