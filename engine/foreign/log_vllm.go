package foreign

import (
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// vllm reads the three kinds of statistics lines; all are lists of pairs behind an
// optional "Engine 000: " or "2 Engines Aggregated: ".
func (l *LogReader) vllm(line string, stamp ledger.Stamp) ([]Reading, LineState) {
	if at := strings.Index(line, "SpecDecoding metrics: "); at >= 0 {
		f := fieldsOf(line[at+len("SpecDecoding metrics: "):], ": ")
		var p putter
		spec(&p, f)
		return done(logReading("", ledger.FindStamp(line[:at], stamp), p.values))
	}
	at, engine := strings.Index(line, "Engine "), ""
	body := line
	if at >= 0 {
		number, rest, ok := strings.Cut(line[at+len("Engine "):], ": ")
		if ok && isNumber(number) {
			engine, body = l.engine(number), rest
		} else {
			at = -1
		}
	}
	if at < 0 {
		i := strings.Index(line, "Engines Aggregated: ")
		j := strings.Index(line, "Avg prompt throughput: ")
		switch {
		case i >= 0:
			at, body = i, line[i+len("Engines Aggregated: "):]
		case j >= 0: // before engines had numbers
			at, body = j, line[j:]
		default:
			return nil, OtherLine
		}
	}
	stamp = ledger.FindStamp(line[:at], stamp)

	var p putter
	switch {
	case strings.HasPrefix(body, "Iteration("):
		_, rest, ok := strings.Cut(body, "): ")
		if !ok || strings.Contains(body, "(dummy)") {
			return nil, OtherLine
		}
		return vllmIteration(engine, stamp, body, fieldsOf(rest, ": "))
	case strings.HasPrefix(body, "MFU: "):
		// Its GB/s is of reads and writes together, which is neither of the table's two.
		v, unit, ok := cutNumber(body[len("MFU: "):])
		p.put("est_TFLOPs_per_GPU", v, ok && strings.HasPrefix(unit, "TF/s/GPU"))
	case strings.HasPrefix(body, "Avg prompt throughput: "):
		f := fieldsOf(body, ": ")
		for key, name := range map[string]string{
			"prompt_TPS": "Avg prompt throughput", "completion_TPS": "Avg generation throughput",
			"running": "Running", "pending": "Waiting",
		} {
			v, ok := f.number(name)
			p.put(key, v, ok)
		}
		deferred, ok := f.number("Deferred")
		p.label("pending_by", "deferred", deferred, ok)
		for key, names := range map[string][]string{
			"KV_cache_usage": {"GPU KV cache usage"}, "prefill_caching_rate": {"Prefix cache hit rate", "GPU prefix cache hit rate"},
			"prefix_hit_external": {"External prefix cache hit rate"}, "mm_cache_hits": {"MM cache hit rate"},
		} {
			v, ok := f.share(names...)
			p.put(key, v, ok)
		}
	default:
		return nil, OtherLine
	}
	return done(logReading(engine, stamp, p.values))
}

// spec reads what speculation says. The line's own rates are over the interval between two
// lines, as those of the counters are over that between two scrapes.
func spec(p *putter, f fields) {
	length, ok := f.number("Mean acceptance length")
	p.put("accept_len", length, ok)
	for key, name := range map[string]string{"accepted_TPS": "Accepted throughput", "drafted_TPS": "Drafted throughput"} {
		v, ok := f.number(name)
		p.put(key, v, ok)
	}
	rate, ok := f.share("Avg Draft acceptance rate", "Draft acceptance rate")
	p.put("avg_nextn_accept_rate", rate, ok)
	for i, text := range f["Per-position acceptance rate"].texts {
		v, _, ok := cutNumber(text)
		if i < ledger.MaxNextN {
			p.label("accept_rate_uncond", strconv.Itoa(i+1), v, ok)
		}
	}
}

func vllmIteration(engine string, stamp ledger.Stamp, body string, f fields) ([]Reading, LineState) {
	var p putter
	ms, ok := f.number("iteration elapsed time")
	p.put("step_ms", ms, ok)
	ctx, okCtx := f.number("context requests")
	gen, okGen := f.number("generation requests")
	p.put("ctx_requests", ctx, okCtx)
	p.put("gen_requests", gen, okGen)
	prompt, ok1 := f.number("context tokens")
	output, ok2 := f.number("generation tokens")
	p.put("num_batched_tokens", prompt+output, ok1 && ok2)
	usage, ok := f.share("GPU KV cache usage")
	p.put("KV_cache_usage", usage, ok)
	r := logReading(engine, stamp, p.values)
	r.Prompt, r.Decode = okCtx && ctx > 0, okCtx && ctx == 0 && gen > 0
	if step, err := strconv.ParseInt(body[len("Iteration("):strings.IndexByte(body, ')')], 10, 64); err == nil && step >= 0 {
		r.Step = step
	}
	return done(r)
}

func done(r Reading) ([]Reading, LineState) {
	if len(r.Values) == 0 {
		return nil, DamagedLine
	}
	sortValues(r.Values)
	return []Reading{r}, StatsLine
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
