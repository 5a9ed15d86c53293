package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// iterated is what is kept of a rank's last iteration.
type iterated struct {
	step           int64
	prompt, decode bool
}

// trtllm reads "iter = N, …, states = {…}". The device time in it belongs to the iteration
// before, and becomes a reading of that one.
func (l *LogReader) trtllm(line string, stamp ledger.Stamp) ([]Reading, []Event, LineState) {
	at := strings.Index(line, "iter = ")
	if at < 0 {
		return nil, nil, OtherLine
	}
	head, body := line[:at], line[at:]
	body, states, _ := strings.Cut(body, "states = {")
	f := fieldsOf(body, " = ")
	for key, p := range fieldsOf(body, ": ") { // older versions mix both
		if _, there := f[key]; !there {
			f[key] = p
		}
	}
	in := fieldsOf(strings.NewReplacer("'", "", "\"", "", "}", "").Replace(states), ": ")
	iter, ok := f.number("iter")
	scheduled, okScheduled := f.number("num_scheduled_requests")
	if !ok || iter < 0 || iter != float64(int64(iter)) || states == "" && !okScheduled {
		return nil, nil, OtherLine
	}
	rank := "0"
	if v, ok := f.number("rank"); ok && v >= 0 && v < 1e6 {
		rank = strconv.Itoa(int(v))
	}
	engine := l.engine(rank)
	stamp = ledger.FindStamp(head, stamp)
	if s, ok := usStamp(head); ok && !stamp.YearKnown {
		stamp = s
	}

	var p putter
	usage, ok := f.share("kv_cache_util")
	p.put("KV_cache_usage", usage, ok)
	host, ok := f.number("host_step_time")
	p.put("host_step_ms", host, ok)
	elapsed, ok := f.number("elapsed_time") // in seconds
	p.put("step_ms", elapsed*1000, ok)
	ctx, okCtx := in.number("num_ctx_requests")
	p.put("ctx_requests", ctx, okCtx)
	p.put("gen_requests", scheduled-ctx, okScheduled && okCtx && scheduled >= ctx)
	prompt, ok1 := in.number("num_ctx_tokens")
	output, ok2 := in.number("num_generation_tokens")
	p.put("num_batched_tokens", prompt+output, ok1 && ok2)

	r := logReading(engine, stamp, p.values)
	r.Step = int64(iter)
	r.Prompt, r.Decode = okCtx && ctx > 0, okCtx && ctx == 0 && ok2 && output > 0
	readings, state := done(r)
	if state != StatsLine {
		return nil, nil, state
	}

	var events []Event
	before, known := l.last[rank]
	if known && r.Step < before.step {
		events = append(events, Event{Engine: engine, Kind: Reset, FromStep: -1, ToStep: -1, Count: 1,
			Detail: fmt.Sprintf("iteration %d came after %d", r.Step, before.step)})
	}
	if device, ok := f.number("prev_device_step_time"); ok && known && before.step == r.Step-1 {
		late := logReading(engine, stamp, one("device_step_ms", "", device, true))
		late.Step, late.Prompt, late.Decode = before.step, before.prompt, before.decode
		readings = append([]Reading{late}, readings...)
	}
	if known || len(l.last) < maxEngines {
		l.last[rank] = iterated{r.Step, r.Prompt, r.Decode}
	}
	return readings, events, StatsLine
}

// usStamp reads a time with the month first, as TensorRT-LLM's logger writes it:
// [11/29/2026-12:00:05], and its records: 11-29-2026 12:00:05.123456.
func usStamp(s string) (ledger.Stamp, bool) {
	for _, layout := range []string{"01/02/2006-15:04:05", "01-02-2006 15:04:05"} {
		for i := 0; i+len(layout) <= len(s) && i < maxNameBytes; i++ {
			if t, err := time.Parse(layout, s[i:i+len(layout)]); err == nil {
				return ledger.Stamp{Time: t, YearKnown: true}, true
			}
		}
	}
	return ledger.Stamp{}, false
}
