package foreign

import (
	"github.com/stepscope/stepscope/engine/ledger"
)

// wholeValues are what all iterations of a list say together: states from the last one,
// rates from sums. seconds is 0 where the list does not cover the interval.
func wholeValues(records []record, st *rankState, hadLast bool, seconds float64) []ledger.Value {
	var p putter
	last := &records[len(records)-1]
	p.put("running", last.Active.v, last.Active.ok)
	p.put("pending", last.Queued.v, last.Queued.ok)
	const gib = 1 << 30
	for label, n := range map[string]num{"gpu": last.GPUMem, "host": last.CPUMem, "pinned": last.PinnedMem} {
		v, ok := n.positive()
		p.label("engine_mem", label, v/gib, ok)
	}
	if kv := last.KV.v; kv != nil {
		blocks, ok := kv.Max.positive()
		p.put("KV_cache_usage", kv.Used.v/blocks, ok && kv.Used.ok)
		reused, missed := kv.Reused.v-st.kv.Reused.v, kv.Missed.v-st.kv.Missed.v
		p.put("prefix_hit_blocks", reused/(reused+missed),
			hadLast && kv.Reused.ok && kv.Missed.ok && st.kv.Reused.ok && st.kv.Missed.ok && reused >= 0 && missed >= 0 && reused+missed > 0)
	}
	if last.Inf.v != nil {
		p.put("paused", last.Inf.v.Paused.v, last.Inf.v.Paused.ok)
	}

	var tokens, completed, admission, draft, accepted, drafts, overhead float64
	var hasTokens, hasCompleted, hasAdmission bool
	overheads := 0
	for i := range records {
		r := &records[i]
		if in := r.Inf.v; in != nil && in.CtxTokens.ok {
			tokens, hasTokens = tokens+in.CtxTokens.v, true
		}
		if r.Completed.ok {
			completed, hasCompleted = completed+r.Completed.v, true
		}
		if r.Admission.ok && r.New.v > 0 {
			admission, hasAdmission = max(admission, r.Admission.v), true
		}
		if sp := r.Spec.v; sp != nil {
			draft += sp.Draft.v
			accepted += sp.Accepted.v
			drafts += sp.Requests.v
			if v, ok := sp.Overhead.positive(); ok {
				overhead += v
				overheads++
			}
		}
	}
	p.put("admission_ms", admission, hasAdmission)
	p.put("avg_nextn_accept_rate", accepted/draft, draft > 0)
	p.put("accept_len", 1+accepted/drafts, drafts > 0)
	p.put("draft_overhead", overhead/float64(overheads), overheads > 0)
	if seconds >= 0.001 {
		p.put("prompt_TPS", tokens/seconds, hasTokens)
		p.put("request_rate", completed/seconds, hasCompleted)
		p.put("drafted_TPS", draft/seconds, draft > 0)
		p.put("accepted_TPS", accepted/seconds, draft > 0)
	}
	sortValues(p.values)
	return p.values
}

// kindValues are the means over the iterations with prompt requests, or over those that
// generated only.
func kindValues(records []record, st *rankState, prompt bool) []ledger.Value {
	var step, host, device, forward, ctx, gen average
	worst := 0.0
	before := st.kind // its device time stands in the first record
	for i := range records {
		r := &records[i]
		if r.step() == before.step+1 && (prompt && before.prompt || !prompt && before.decode) {
			device.addPositive(r.PrevDevice)
		}
		isPrompt, isDecode := r.kind()
		before = iterated{r.step(), isPrompt, isDecode}
		if prompt && !isPrompt || !prompt && !isDecode {
			continue
		}
		step.addPositive(r.IterLatency)
		worst = max(worst, r.IterLatency.v)
		host.addPositive(r.HostTime)
		forward.addPositive(r.Forward)
		ctx.add(r.Inf.v.Context)
		gen.add(r.Inf.v.Gen)
	}
	var p putter
	for _, m := range []struct {
		key string
		avg *average
	}{{"ctx_requests", &ctx}, {"device_step_ms", &device}, {"gen_requests", &gen}, {"gpu_forward_ms", &forward}, {"host_step_ms", &host}, {"step_ms", &step}} {
		p.put(m.key, m.avg.sum/m.avg.n, m.avg.n > 0)
	}
	p.put("step_ms_max", worst, step.n > 0)
	return p.values
}

// average is a mean in the making.
type average struct{ sum, n float64 }

func (a *average) add(x num) {
	if x.ok {
		a.sum += x.v
		a.n++
	}
}

// addPositive leaves out 0, which stands for a time that was not measured.
func (a *average) addPositive(x num) {
	if v, ok := x.positive(); ok {
		a.sum += v
		a.n++
	}
}
