package foreign

import (
	"slices"
	"strings"
)

// The kinds of engines, as they are stored with each engine.
const (
	DeepInfer   = "deepinfer"
	VLLM        = "vllm"
	SGLang      = "sglang"
	TensorRTLLM = "tensorrt-llm"
)

// Kinds are those that this package reads.
func Kinds() []string { return []string{VLLM, SGLang, TensorRTLLM} }

// Name is a kind as people write it.
func Name(kind string) string {
	switch kind {
	case DeepInfer:
		return "DeepInfer"
	case VLLM:
		return "vLLM"
	case SGLang:
		return "SGLang"
	case TensorRTLLM:
		return "TensorRT-LLM"
	}
	return kind
}

// prefixes stand before an engine's own series. SGLang's dashboards and some re-exporters
// write an underscore where the engines write a colon.
var prefixes = []struct{ prefix, kind string }{
	{"vllm:", VLLM}, {"vllm_", VLLM},
	{"sglang:", SGLang}, {"sglang_", SGLang},
	{"trtllm:", TensorRTLLM}, {"trtllm_", TensorRTLLM},
}

// cutPrefix splits a series' name into the engine's own part and the kind that its prefix
// tells; kind is empty without a known prefix.
func cutPrefix(name string) (rest, kind string) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p.prefix); ok {
			return rest, p.kind
		}
	}
	return name, ""
}

// Found counts the series of each kind in a text, by their prefixes. TensorRT-LLM 1.x
// writes none: its names count only where no prefix was seen at all.
func Found(series []Series) map[string]int {
	found, bare := map[string]int{}, 0
	for i := range series {
		rest, kind := cutPrefix(series[i].Family)
		if kind != "" {
			found[kind]++
		} else if slices.Contains(bareTRTLLM, strings.TrimSuffix(rest, "_total")) {
			bare++
		}
	}
	if len(found) == 0 && bare > 0 {
		found[TensorRTLLM] = bare
	}
	return found
}

// bareTRTLLM are names that TensorRT-LLM 1.x writes without a prefix and that are telling
// enough to be no other program's.
var bareTRTLLM = []string{
	"e2e_request_latency_seconds", "time_to_first_token_seconds", "time_per_output_token_seconds",
	"request_queue_time_seconds", "request_success",
}
