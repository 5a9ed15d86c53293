package foreign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// prefillRing is the last prefill batches of an engine, as many as DeepInfer's own hit rate
// looks back on.
type prefillRing struct {
	batches []([2]float64) // computed and cached tokens
}

const prefillBatches = 50

func (r *prefillRing) add(computed, cached float64) (rate float64, ok bool) {
	r.batches = append(r.batches, [2]float64{computed, cached})
	if len(r.batches) > prefillBatches {
		r.batches = r.batches[1:]
	}
	var sum [2]float64
	for _, b := range r.batches {
		sum[0] += b[0]
		sum[1] += b[1]
	}
	return sum[1] / (sum[0] + sum[1]), sum[0]+sum[1] > 0
}

// sglang reads "Prefill batch" and "Decode batch" lines: a full stop or a comma behind the
// words, then pairs, of which each version has others.
func (l *LogReader) sglang(line string, stamp ledger.Stamp) ([]Reading, LineState) {
	at, decode := strings.Index(line, "Prefill batch"), false
	if i := strings.Index(line, "Decode batch"); i >= 0 && (at < 0 || i < at) {
		at, decode = i, true
	}
	if at < 0 {
		return nil, OtherLine
	}
	head, body := line[:at], line[at:]
	start := strings.IndexByte(body, '#')
	if start < 0 {
		return nil, OtherLine // words in another message
	}
	f := fieldsOf(body[start:], ": ")
	rank, told := dpRank(head)
	l.several = l.several || told // a rank is written only where there are more
	r := logReading(l.engine(rank), ledger.FindStamp(head, stamp), nil)
	r.Decode, r.Prompt = decode, !decode

	var p putter
	for key, name := range map[string]string{"running": "#running-req", "pending": "#queue-req"} {
		v, ok := f.number(name)
		p.put(key, v, ok)
	}
	sglangCaches(&p, f)
	for label, name := range map[string]string{
		"prefill_bootstrap": "#bootstrap-req", "prefill_inflight": "#inflight-req",
		"decode_prealloc": "#prealloc-req", "decode_transfer": "#transfer-req",
	} {
		v, ok := f.number(name)
		p.label("pending_by", label, v, ok)
	}
	for name, pair := range f {
		if strings.HasSuffix(name, " graph") { // cuda, cpu, npu, musa
			yes := pair.texts[0] == "True"
			p.put("cuda_graph", map[bool]float64{true: 1}[yes], yes || pair.texts[0] == "False")
		}
	}
	occupancy, ok := f.share("fwd occupancy")
	p.put("fwd_occupancy", occupancy, ok)
	if decode {
		for key, name := range map[string]string{
			"accept_len": "accept len", "spec_accept_rate": "accept rate", "gen_throughput": "gen throughput (token/s)",
			"retracted": "#retracted-req", "est_TFLOPs_per_GPU": "est. decode TFLOPS/s (per GPU)",
			"est_read_GBps_per_GPU": "est. read BW (GB/s per GPU)", "est_write_GBps_per_GPU": "est. write BW (GB/s per GPU)",
		} {
			v, ok := f.number(name)
			p.put(key, v, ok)
		}
	} else {
		for key, name := range map[string]string{
			"new_requests": "#new-seq", "num_batched_tokens": "#new-token", "input_throughput": "input throughput (token/s)",
			"est_TFLOPs_per_GPU": "est. prefill TFLOPS/s (per GPU)",
		} {
			v, ok := f.number(name)
			p.put(key, v, ok)
		}
		computed, ok := f.number("#new-token")
		cached, ok2 := f.number("#cached-token")
		if ok && ok2 && computed >= 0 && cached >= 0 {
			rate, ok := l.ring(rank).add(computed, cached)
			p.put("prefill_caching_rate", rate, ok)
		}
	}
	r.Values = p.values
	return done(r)
}

// sglangCaches reads the one usage of all pools or those of each; the whole is the fullest
// pool, as the engine's own gauge has it.
func sglangCaches(p *putter, f fields) {
	usage, ok := f.number("token usage")
	for label, name := range map[string]string{"full": "full token usage", "swa": "swa token usage", "mamba": "mamba usage"} {
		v, has := f.number(name)
		p.label("KV_pool_usage", label, v, has)
		if has {
			usage, ok = max(usage, v), true
		}
	}
	p.put("KV_cache_usage", usage, ok)
}

func (l *LogReader) ring(rank string) *prefillRing {
	r := l.prefills[rank]
	if r == nil {
		if len(l.prefills) >= maxEngines {
			return &prefillRing{}
		}
		r = &prefillRing{}
		l.prefills[rank] = r
	}
	return r
}

// dpRank is the data parallel rank in a line's head such as "[… DP1 TP0] ", "0" without; told says whether it is there.
func dpRank(head string) (rank string, told bool) {
	if i := strings.LastIndex(head, " DP"); i >= 0 {
		digits := head[i+3:]
		n := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
		if n > 0 && n < 7 {
			return digits[:n], true
		}
	}
	return "0", false
}

func sortValues(values []ledger.Value) {
	slices.SortFunc(values, func(a, b ledger.Value) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Label, b.Label))
	})
}
