package ledger

import (
	"errors"
	"testing"
	"time"
)

func TestNCCLMemory(t *testing.T) {
	n := NewNCCLMemory(3, 1, 1000)
	groups := []NCCLGroup{{"dp", 1 << 29}, {"cp", 1 << 30}}
	var sampled []int64
	for step := range int64(2100) {
		if n.Due(step) {
			sampled = append(sampled, step)
			n.Sample(step, groups, nil)
		}
	}
	if len(sampled) != 3 || sampled[0] != 10 || sampled[1] != 1010 || sampled[2] != 2010 {
		t.Errorf("sampled at %v", sampled)
	}
	if NewNCCLMemory(0, 0, 0).Due(5000) {
		t.Error("interval 0 samples")
	}

	n = NewNCCLMemory(3, 1, 1000)
	line, ok := n.Sample(37, groups, nil)
	if !ok || line.Rank != 3 || line.GPU != 1 || line.Step != 37 || line.Section != NCCL {
		t.Errorf("first sample: %+v, %v", line, ok)
	}
	sameValues(t, line.Values, []Value{v("nccl_total", 1.5), v("nccl_communicators", 2), lv("nccl_group", "dp", 0.5), lv("nccl_group", "cp", 1)})
	sample := func(groups []NCCLGroup, err error, want bool) {
		t.Helper()
		if _, ok := n.Sample(38, groups, err); ok != want {
			t.Errorf("logged is %v, want %v", ok, want)
		}
	}
	lost, other := errors.New("lost"), errors.New("other")
	sample(groups, nil, false)
	groups[0].Bytes++ // the caller's slice is not ours
	sample(groups, nil, true)
	sample(groups[:1], nil, true)
	sample(nil, lost, true)
	sample(nil, lost, false)
	sample(groups[:1], nil, false) // the figures are those logged last
	sample(nil, lost, false)       // and so is the text
	sample(nil, other, true)
	sample(nil, nil, true) // no groups is a change
	line, _ = n.Sample(39, nil, lost)
	if text, _ := line.Text(Unavailable); text != "lost" || len(line.Values) != 0 {
		t.Errorf("%+v", line)
	}
}

func TestTimers(t *testing.T) {
	l := newLedger(t, config())
	add(t, l, 0, 0, Step{})
	ms := func(x float64) time.Duration { return time.Duration(x * 1e6) }
	l.CPU.Add("schedule", ms(2))
	l.CPU.Add("schedule", ms(9))
	l.CPU.Add("schedule", ms(1))
	l.CPU.Add(EngineStep, ms(40))
	l.CPU.Add(EngineStep, ms(60))
	l.CPU.Add(EngineStepPrefill, ms(25))
	l.CPU.Add(EngineStepDecode, ms(70))
	l.CUDA.Add("forward", ms(50))
	lines := l.Log(at(0), &State{})
	if len(lines) != 3 || lines[1].Section != CPU || lines[2].Section != CUDA || lines[2].Step != 0 {
		t.Fatalf("%+v", lines)
	}
	// schedule: last call 1 ms, (2 + 9 + 1) ÷ 3 = 4 ms, worst 9 ms, 12 ÷ (40 + 60) = 12 %.
	sameValues(t, lines[1].Values[:5], []Value{lv("cpu_cur", "schedule", 1), lv("cpu_mean", "schedule", 4),
		lv("cpu_max", "schedule", 9), lv("cpu_calls", "schedule", 3), lv("cpu_share", "schedule", 0.12)})
	// CUDA timers have the same base: 50 ÷ 100.
	sameValues(t, lines[2].Values, []Value{lv("cuda_cur", "forward", 50), lv("cuda_mean", "forward", 50),
		lv("cuda_max", "forward", 50), lv("cuda_calls", "forward", 1), lv("cuda_share", "forward", 0.5)})
	prefill, _ := lines[0].Value("prefill_share", "")
	decode, _ := lines[0].Value("decode_share", "")
	near(t, "prefill_share: 25 ÷ 100", prefill, 0.25)
	near(t, "decode_share: 70 ÷ 100", decode, 0.7)

	// A new interval begins empty; a timer that was not called is not printed.
	l.CPU.Add("schedule", ms(3))
	add(t, l, 1, 1, Step{})
	lines = l.Log(at(1), &State{})
	if len(lines) != 2 {
		t.Fatalf("%+v", lines)
	}
	// Without engine_step there is nothing to be a share of.
	sameValues(t, lines[1].Values, []Value{lv("cpu_cur", "schedule", 3), lv("cpu_mean", "schedule", 3),
		lv("cpu_max", "schedule", 3), lv("cpu_calls", "schedule", 1), lv("cpu_share", "schedule", 0)})
	prefill, _ = lines[0].Value("prefill_share", "")
	near(t, "prefill_share of an idle interval", prefill, 0)
}
