package web

import (
	"testing"
	"time"

	"github.com/stepscope/stepscope/views"
)

func TestChangesWorthTelling(t *testing.T) {
	now := map[string]float64{"completion_TPS": 1000, "KV_cache_usage": 0.4, "pending": 0.6, "avg_nextn_accept_rate": 0.005}
	before := map[string]float64{"completion_TPS": 1000, "KV_cache_usage": 0.5, "pending": 1.4, "avg_nextn_accept_rate": 0.01}
	var keys []string
	var said []views.Reason
	for _, r := range changes(now, before, time.Hour) {
		keys, said = append(keys, r.Key), append(said, r)
	}
	// Pending fell by less than one sequence, acceptance by less than a point.
	if len(keys) != 2 || keys[0] != "story.same" || keys[1] != "story.also_down_points" {
		t.Fatalf("told: %v", keys)
	}
	if a := said[1].Args; a[0] != "40.0 %" || a[1] != "10.0" { // 50 % − 40 %
		t.Errorf("KV cache: %v", a)
	}
}
