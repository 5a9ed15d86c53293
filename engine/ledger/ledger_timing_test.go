package ledger

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

func busyStep() Step {
	return Step{NumSeqs: 128, NumBatchedTokens: 768, NumGenerated: []int64{128, 100, 80, 60, 40, 20}, NumVerified: []int64{128, 128, 128, 128, 128, 128},
		FirstTokenLatencies: []time.Duration{1e8, 2e8}, ConfidenceError: 3, TotalTFLOPs: 20, HasMoE: true, MoE: MoELoad{100, 120}}
}

// fullLedger has its windows filled and grown.
func fullLedger(t testing.TB) (*Ledger, int64) {
	t.Helper()
	cfg := config()
	cfg.NextN = 5
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	step := int64(0)
	for ; step < 1000; step++ {
		s := busyStep()
		s.Prompt = step%3 == 0
		if _, err := l.Append(at(float64(step)), step, at(float64(step)), &s); err != nil {
			t.Fatal(err)
		}
		l.CPU.Add("schedule", time.Millisecond)
	}
	return l, step
}

// In the steady state neither a step nor a timer allocates.
func TestAppendAllocatesNothing(t *testing.T) {
	l, step := fullLedger(t)
	s := busyStep()
	if n := testing.AllocsPerRun(5000, func() {
		s.Prompt = step%3 == 0
		if _, err := l.Append(at(float64(step)), step, at(float64(step)), &s); err != nil {
			t.Fatal(err)
		}
		l.CPU.Add("schedule", time.Millisecond)
		step++
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// Hostile lines cost memory in proportion to their length, whatever they hold.
func TestHostileLinesAreCheap(t *testing.T) {
	const head = "RANK 0, GPU 0, step 1, [stats] ("
	fill := func(s string) string { return strings.Repeat(s, MaxLineBytes/len(s)-10) }
	var distinct strings.Builder
	for i := range MaxValues - 1 {
		distinct.WriteString("a" + position(i) + " 1|")
	}
	for name, raw := range map[string]string{
		"bars":       head + fill("|"),
		"brackets":   head + fill("("),
		"commas":     head + "a [" + fill(",") + "])",
		"list":       head + "a [" + fill("1,") + "1])",
		"members":    head + "a (" + fill("b 1,") + ")",
		"slashes":    head + fill("a/") + " " + "1/1)",
		"values":     head + fill("a/b 1/2|"),
		"texts":      head + fill("a x|"),
		"duplicates": head + distinct.String() + strings.Repeat("a1 1|", 40000),
		"heads":      fill("RANK 0, GPU 0, step 0, [cpu] ("),
		"ranks":      fill("RANK 0 "),
		"timers":     "RANK 0, GPU 0, step 1, [cpu] (a " + fill("1ms/") + ")",
		"groups":     "RANK 0, GPU 0, step 1, [nccl_memory] (groups=[" + fill("a (1);") + "])",
		"json":       `{"a":` + fill(`{"RANK ":`),
		"strings":    fill(`{"a":"RANK \"`),
		"colours":    fill("\x1b[1m") + sampleCPU[:40],
		"dates":      fill("2026-08-20 12:34:56 ") + head,
		"pieces":     fill("running 1 | "),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := Parse(nil, []byte(raw))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8*MaxLineBytes {
			t.Errorf("%s: %d bytes allocated for %d", name, used, len(raw))
		}
		for _, r := range got {
			if n := len(r.Line.Values) + len(r.Line.Texts); n > MaxValues {
				t.Errorf("%s: kept %d", name, n)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l, step := fullLedger(b)
	s := busyStep()
	b.ReportAllocs()
	now := origin
	for b.Loop() {
		s.Prompt = step%3 == 0
		if _, err := l.Append(now, step, now, &s); err != nil {
			b.Fatal(err)
		}
		now = now.Add(time.Millisecond)
		step++
	}
}

func BenchmarkLog(b *testing.B) {
	l, _ := fullLedger(b)
	b.ReportAllocs()
	for b.Loop() {
		l.Log(at(2000), &State{KVBlocks: 1000})
	}
}

func BenchmarkParse(b *testing.B) {
	raw := []byte("2026-08-20 12:34:56,123 INFO " + sampleStats)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	var out []Result
	for b.Loop() {
		out = Parse(out[:0], raw)
	}
}

func BenchmarkWrite(b *testing.B) {
	r := Parse(nil, []byte(sampleStats))
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		out = AppendLine(out[:0], &r[0].Line)
	}
}
