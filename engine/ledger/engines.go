package ledger

// Engines is a set of engine kinds.
type Engines uint8

// The kinds that fill the table. OfGPU are readings of a card, whatever runs on it.
const (
	OfDeepInfer Engines = 1 << iota
	OfVLLM
	OfSGLang
	OfTensorRTLLM
	OfGPU
)

// kindNames are the names of the kinds, in the order of the bits.
var kindNames = [...]string{"deepinfer", "vllm", "sglang", "tensorrt-llm", "gpu"}

// Has says whether the kind of this name is in the set.
func (e Engines) Has(kind string) bool {
	for i, name := range kindNames {
		if name == kind {
			return e&(1<<i) != 0
		}
	}
	return false
}

// Kinds lists the names of the kinds in the set.
func (e Engines) Kinds() []string {
	var names []string
	for i, name := range kindNames {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// alsoIn are the metrics of the engine's own log lines that other engines have under the
// same definition, so that the same key may be compared.
var alsoIn = map[string]Engines{
	"completion_TPS":        OfVLLM | OfSGLang,
	"prompt_TPS":            OfVLLM | OfSGLang | OfTensorRTLLM,
	"avg_nextn_accept_rate": OfVLLM | OfTensorRTLLM,
	"nextn_accept_rate":     OfVLLM | OfTensorRTLLM,
	"running":               OfVLLM | OfSGLang | OfTensorRTLLM,
	"pending":               OfVLLM | OfSGLang | OfTensorRTLLM,
	"num_batched_tokens":    OfVLLM | OfSGLang | OfTensorRTLLM,
	"finished":              OfVLLM | OfSGLang | OfTensorRTLLM,
	"preempted":             OfVLLM,
	"aborted":               OfVLLM | OfSGLang | OfTensorRTLLM,
	"avg_input_length":      OfVLLM | OfSGLang | OfTensorRTLLM,
	"avg_output_length":     OfVLLM | OfSGLang | OfTensorRTLLM,
	"payload_len":           OfVLLM | OfSGLang | OfTensorRTLLM,
	"KV_cache_usage":        OfVLLM | OfSGLang | OfTensorRTLLM,
	"prefill_caching_rate":  OfVLLM | OfSGLang | OfTensorRTLLM,
}
