package ledger

import "time"

// The timers that shares are computed from: the whole of a step, and the wall clock of
// prefill and of decode steps.
const (
	EngineStep        = "engine_step"
	EngineStepPrefill = "engine_step:prefill"
	EngineStepDecode  = "engine_step:decode"
)

// Timers collects the calls of named code sections over one log interval. The zero value
// is ready for use. Memory is bounded by the number of different names, which are the
// engine's own.
type Timers struct {
	index map[string]int
	all   []timer // in the order of first use
}

type timer struct {
	name             string
	cur, max, summed time.Duration
	calls            int64
}

// Add counts one call. Times of CUDA events are added when they are read, which can be
// some steps later; the newest one added is the current one.
func (t *Timers) Add(name string, d time.Duration) {
	i, ok := t.index[name]
	if !ok {
		if t.index == nil {
			t.index = make(map[string]int)
		}
		i = len(t.all)
		t.index[name] = i
		t.all = append(t.all, timer{name: name})
	}
	c := &t.all[i]
	c.cur, c.max = d, max(c.max, d)
	c.summed += d
	c.calls++
}

// total is the time of all calls of one timer in the interval.
func (t *Timers) total(name string) time.Duration {
	if i, ok := t.index[name]; ok {
		return t.all[i].summed
	}
	return 0
}

// values lists the timers that were called in the interval; base is the accumulated
// engine_step time, the denominator of every share.
func (t *Timers) values(s Section, base time.Duration) []Value {
	keys := timerKeys[s]
	var out []Value
	for i := range t.all {
		c := &t.all[i]
		if c.calls == 0 {
			continue
		}
		total := milliseconds(c.summed)
		for k, v := range [...]float64{milliseconds(c.cur), total / float64(c.calls),
			milliseconds(c.max), float64(c.calls), ratio(total, milliseconds(base))} {
			out = append(out, Value{Key: keys[k], Label: c.name, V: v})
		}
	}
	return out
}

// reset begins a new interval; the names stay, so that it costs no allocation.
func (t *Timers) reset() {
	for i := range t.all {
		t.all[i] = timer{name: t.all[i].name}
	}
}
