package compare

import (
	"strings"
	"testing"
)

func TestCheckMetrics(t *testing.T) {
	if err := CheckMetrics([]string{"completion_TPS", arrivalRate, "TTFT"}); err != nil {
		t.Error(err)
	}
	f := func(key, near string) {
		t.Helper()
		if err := CheckMetrics([]string{"running", key}); err == nil || !strings.Contains(err.Error(), near) {
			t.Errorf("%s: %v, want %s", key, err, near)
		}
	}
	f("completion_TSP", "nearest are completion_TPS,")
	f("Pending", "nearest are pending,")
	f("kv_cache", "nearest are KV_cache_usage,")
	f(strings.Repeat("x", 1000), "nearest are")
	f("", "nearest are")
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "abc", 0}, {"ab", "b", 1}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d edits, want %d", c.a, c.b, got, c.want)
		}
	}
}
