package web

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func TestPaceOfLines(t *testing.T) {
	const width = time.Minute
	f := func(want time.Duration, counts ...int64) { // lines in each minute, −1 for a minute without a bucket
		t.Helper()
		p := store.Points{Width: int64(width)}
		for i, n := range counts {
			if n >= 0 {
				p.Buckets = append(p.Buckets, store.Bucket{From: int64(i) * int64(width), N: n})
			}
		}
		if got := pace(&p); got != want {
			t.Errorf("%v lines a minute: %v, want %v", counts, got, want)
		}
	}
	f(0)
	f(0, 20, 3)                           // both ends are cut off
	f(2500*time.Millisecond, 1, 24, 1)    // 60 s ÷ 24
	f(10*time.Second, 1, 24, 6, 1)        // the longest counts: 60 s ÷ 6
	f(2*time.Minute, 9, 20, -1, -1, 9, 9) // two minutes without a line are usual
}

func TestSilenceIsMeasuredByThePace(t *testing.T) {
	engineOf := func(pace, ago time.Duration) *engineState {
		last := seedNow.Add(-ago).UnixNano()
		e := &engineState{Engine: store.Engine{Last: last}, latest: map[store.Column]store.Latest{{Metric: "running"}: {Time: last}}}
		e.hear(seedNow, pace)
		return e
	}
	for _, c := range []struct {
		pace, ago time.Duration
		silent    bool
	}{
		{2500 * time.Millisecond, 44 * time.Second, false}, // 5 × 2.5 s is less than the least
		{2500 * time.Millisecond, 45 * time.Second, true},
		{20 * time.Second, 99 * time.Second, false}, // 5 × 20 s
		{20 * time.Second, 100 * time.Second, true},
		{time.Minute, 179 * time.Second, false}, // 5 min, but 3 min are always silence
		{time.Minute, 180 * time.Second, true},
		{0, 179 * time.Second, false}, // unknown
		{0, 180 * time.Second, true},
	} {
		if got := engineOf(c.pace, c.ago).silent > 0; got != c.silent {
			t.Errorf("a line every %v, %v ago: silent %v", c.pace, c.ago, got)
		}
	}
}

// deadFleet has an engine that gave a line every 5 s until a minute ago, whose card is still read, and one that goes on
// but had its last request 4 minutes ago.
func deadFleet(s *site) {
	s.at(seedNow)
	engines := []store.EngineInfo{engine("dead", "rank0", 0), engine("idle", "rank0", 0)}
	var rows []sample
	for ago := 10 * time.Minute; ago >= 5*time.Second; ago -= 5 * time.Second {
		ttft := math.NaN() // no request began
		if ago == 4*time.Minute {
			ttft = 321
		}
		if ago >= time.Minute {
			rows = append(rows, sample{0, ago, 5, 0, []float64{800, 4, 0, 0.5, 100}})
		}
		rows = append(rows, sample{1, ago, 5, 0, []float64{0, 0, 0, 0.25, ttft}})
	}
	s.seed(engines, fleetColumns, rows)
	cards := &store.Batch{Seq: 2, Engines: engines[:1], Layouts: []store.Layout{{Section: "gpu", Columns: []store.Column{{Metric: "gpu_power"}}}},
		Rows: []store.Row{{Time: seedNow.Add(-time.Second).UnixNano(), Step: -1, Values: []float64{300}}}}
	if _, err := s.st.Deliver(s.t.Context(), "cards", cards); err != nil {
		s.t.Fatal(err)
	}
}

func TestWhatIsOldIsNotOfNow(t *testing.T) {
	s := newSite(t, nil)
	deadFleet(s)
	_, html := s.do("GET", "/fleet", nil)
	dead := row(t, html, "dead")
	if got := text(dead); !strings.Contains(got, "trouble silent for 1 min, since 11:59:00 UTC") || strings.Contains(got, "800") {
		t.Errorf("an engine that died a minute ago: %s", got)
	}
	if !strings.Contains(dead, "the engine is silent for 1 min; the last value was 800") {
		t.Errorf("the last value is not told: %s", dead)
	}
	idle := row(t, html, "idle")
	if got := text(idle); !strings.Contains(got, "25.0") || strings.Contains(got, "321") || strings.Contains(got, "trouble") {
		t.Errorf("an idle engine: %s", got)
	}
	// 4 min before now, the newest line 5 s before it.
	if !strings.Contains(idle, "the newest lines have no value; the last one was 321, 3 min before them") {
		t.Errorf("a value 4 minutes old: %s", idle)
	}
	if got := text(html); !strings.Contains(got, "2 engines: 1 reports; 1 in trouble.") {
		t.Errorf("verdict: %.200s", got)
	}
	_, page := s.do("GET", "/deployments/dead", nil)
	if got := text(page); !strings.Contains(got, "11:59:00") || strings.Contains(got, "1 of 1 engines") {
		t.Errorf("the dead deployment's page: %.400s", got)
	}
}
