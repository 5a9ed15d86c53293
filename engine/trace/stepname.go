package trace

import "strings"

// stepName is what the name of an annotation says of an engine step.
type stepName struct {
	source   string // "deepinfer", "vllm", "sglang"; empty: not a step
	kind     string // "prefill", "decode", "mixed", "idle", "unknown"; DeepInfer's depends on nextn
	n, b     int64
	hasN     bool
	hasB     bool
	detailed bool // carries batch sizes of its own
}

// parseStepName reads the step names of the engines:
//
//	[deepinfer:]launch_forward_N{n}_B{b}
//	execute_context_{R}({T})_generation_{r}({t})                      vLLM
//	execute_{N}_context_{R}(sq{T}…)_generation_{r}(sq{t}…)            vLLM, detailed
//	execute_new_{n}_cached_{m}                                        vLLM, older
//	step[{MODE} bs={B}] or step[{MODE} bs={B} toks={T}]               SGLang
//
// Anything behind the closing bracket makes it another scope, not a step.
func parseStepName(s string) (x stepName) {
	t := cursor{strings.TrimPrefix(s, deepInferPrefix), true}
	switch {
	case t.lit("launch_forward_N"):
		n := t.num()
		t.want("_B")
		b := t.num()
		if t.done() {
			return stepName{source: "deepinfer", n: n, b: b, hasN: true, hasB: true, detailed: true}
		}
	case t.lit("execute_new_"):
		n := t.num()
		t.want("_cached_")
		m := t.num()
		if t.done() {
			return stepName{source: "vllm", kind: "unknown", n: n + m, hasN: true}
		}
	case t.lit("execute_context_"):
		return vllmStep(&t, false)
	case t.lit("execute_"):
		t.num()
		t.want("_context_")
		return vllmStep(&t, true)
	case t.lit("step["):
		return sglangStep(t.s)
	}
	return stepName{}
}

// vllmStep reads the rest of a vLLM name: R(T)_generation_r(t), where detailed parentheses
// begin with the tokens (sq{T}) and go on with sums for a roofline.
func vllmStep(t *cursor, detailed bool) stepName {
	group := func() (reqs, toks int64) {
		reqs = t.num()
		t.want("(")
		if detailed {
			t.want("sq")
		}
		toks = t.num()
		if i := strings.IndexByte(t.s, ')'); i >= 0 && t.ok {
			t.s = t.s[i+1:]
		} else {
			t.ok = false
		}
		return reqs, toks
	}
	cr, ct := group()
	t.want("_generation_")
	gr, gt := group()
	if !t.done() {
		return stepName{}
	}
	x := stepName{source: "vllm", n: cr + gr, b: ct + gt, hasN: true, hasB: true, detailed: true}
	switch {
	case cr > 0 && gr > 0:
		x.kind = "mixed"
	case cr > 0:
		x.kind = "prefill"
	case gr > 0:
		x.kind = "decode"
	default:
		x.kind = "idle"
	}
	return x
}

// sglangStep reads "MODE bs=B]" or "MODE bs=B toks=T]". In a plain decode every sequence
// has one token, so B is known there without toks.
func sglangStep(s string) stepName {
	i := strings.IndexByte(s, ' ')
	if i <= 0 {
		return stepName{}
	}
	mode := s[:i]
	t := cursor{s[i+1:], true}
	t.want("bs=")
	x := stepName{source: "sglang", n: t.num(), hasN: true, detailed: true}
	if t.ok && t.lit(" toks=") {
		x.b, x.hasB = t.num(), true
	}
	t.want("]")
	if !t.done() {
		return stepName{}
	}
	switch mode {
	case "EXTEND", "SPLIT_PREFILL", "DLLM_EXTEND", "PREBUILT":
		x.kind = "prefill"
	case "DECODE":
		x.kind = "decode"
		if !x.hasB {
			x.b, x.hasB = x.n, true
		}
	case "TARGET_VERIFY":
		x.kind = "decode"
	case "MIXED":
		x.kind = "mixed"
	case "IDLE":
		x.kind = "idle"
	default:
		x.kind = "unknown"
	}
	return x
}

// cursor reads a name from the left; ok turns false at the first mismatch.
type cursor struct {
	s  string
	ok bool
}

// lit takes the literal l if it stands next.
func (c *cursor) lit(l string) bool {
	if !strings.HasPrefix(c.s, l) {
		return false
	}
	c.s = c.s[len(l):]
	return true
}

func (c *cursor) want(l string) { c.ok = c.lit(l) && c.ok }

func (c *cursor) num() int64 {
	i := 0
	for i < len(c.s) && i < 18 && isDigit(c.s[i]) {
		i++
	}
	if i == 0 {
		c.ok = false
		return 0
	}
	v, _ := parseInt([]byte(c.s[:i]))
	c.s = c.s[i:]
	return v
}

func (c *cursor) done() bool { return c.ok && c.s == "" }
