package ledger

// slot is a field of a line: its name, its shape, and the metrics in it. Writer and
// parser both follow it.
type slot struct {
	name  string
	shape shape
	parts []part
}

// shape says how the values of a field stand in the line.
type shape uint8

const (
	plain  shape = iota // name v
	beside              // name v[w]
	listed              // name [v, v, …], labelled "1", "2", …
	group               // name (member v, member v)
	paired              // name/name v/v: parts are fields of their own, written together
)

// part is one metric in a slot.
type part struct {
	member   string // name inside a group or pair
	key      string
	decimals int
	suffix   string // unit as written; "%" also multiplies by 100
}

// statsLayout is the [stats] line in the order it is written. Readers accept any order.
var statsLayout = []slot{
	one("is_prompt", boolean, ""),
	one("cur_SPS", 3, ""),
	one("avg_SPS", 3, ""),
	one("cur_TPS", 1, ""),
	one("prompt_TPS", 1, ""),
	one("completion_TPS", 1, ""),
	one("avg_nextn_accept_rate", 2, "%"),
	{"nextn_accept_rate", listed, []part{{"", "nextn_accept_rate", 2, "%"}}},
	one("verified_tokens", 0, ""),
	one("accepted_tokens", 0, ""),
	one("avg_verified_len", 2, ""),
	one("avg_confidence_error", 4, ""),
	one("moe_lb", 3, ""),
	one("running", 0, ""),
	one("pending", 0, ""),
	one("chunked", 0, ""),
	{"num_batched_tokens", beside, []part{{"", "num_batched_tokens", 0, ""}, {"", "batch_usage", 2, "%"}}},
	one("KV_cache_usage", 2, "%"),
	one("state_cache_usage", 2, "%"),
	{"prefill/decode", paired, []part{{"prefill", "prefill_share", 2, "%"}, {"decode", "decode_share", 2, "%"}}},
	{"prefill_caching_rate", group, []part{{"GPU", "prefill_caching_rate", 2, "%"}}},
	{"TTFT", group, []part{{"max", "TTFT_max", 1, " ms"}, {"mean", "TTFT_mean", 1, " ms"}}},
	{"avg_length", group, []part{{"input", "avg_input_length", 1, ""}, {"output", "avg_output_length", 1, ""}}},
	one("payload_len", 3, ""),
	one("finished", 0, ""),
	one("preempted", 0, ""),
	one("aborted", 0, ""),
	one("sum_seqlen_qxk", 0, ""),
	one("max_seqlen_k", 0, ""),
	one("min_seqlen_k", 0, ""),
	one("attn_TFLOPs", 1, ""),
	one("MFU", 3, ""),
}

// ncclLayout is the [nccl_memory] line; its fields are written name=value. The groups
// follow as groups=[name (size); …].
var ncclLayout = []slot{
	{"total", plain, []part{{"", "nccl_total", 3, " GiB"}}},
	{"communicator_count", plain, []part{{"", "nccl_communicators", 0, ""}}},
}

var ncclGroup = part{"groups", "nccl_group", 3, " GiB"}

// timerParts are the parts of a timer, name cur2.1ms/mean1.8ms/max9.4ms/100calls/18.3%.
// The member is the word before the number; calls and share have none.
var timerParts = [...]part{
	{"cur", "cur", 1, "ms"}, {"mean", "mean", 1, "ms"}, {"max", "max", 1, "ms"},
	{"", "calls", 0, "calls"}, {"", "share", 1, "%"},
}

// timerKeys are the metrics of timerParts in each section that has timers.
var timerKeys = map[Section][len(timerParts)]string{
	CPU:  {"cpu_cur", "cpu_mean", "cpu_max", "cpu_calls", "cpu_share"},
	CUDA: {"cuda_cur", "cuda_mean", "cuda_max", "cuda_calls", "cuda_share"},
}

// boolean in place of decimals: written True or False.
const boolean = -1

// one is a plain field that is named like its metric.
func one(key string, decimals int, suffix string) slot {
	return slot{key, plain, []part{{"", key, decimals, suffix}}}
}

// place is where the parser found a number: the field's name, and how it stood there.
type place struct {
	field  string
	shape  shape
	member string
}

// places maps each place in a section's layout to its metric.
var places = map[Section]map[place]string{
	Stats: placesOf(statsLayout),
	NCCL:  placesOf(ncclLayout),
}

func placesOf(layout []slot) map[place]string {
	m := make(map[place]string)
	for _, s := range layout {
		for i, p := range s.parts {
			switch {
			case s.shape == beside && i == 0:
				m[place{s.name, plain, ""}] = p.key
			case s.shape == paired:
				m[place{p.member, plain, ""}] = p.key
			default:
				m[place{s.name, s.shape, p.member}] = p.key
			}
			// A metric that got a field of its own is still that metric.
			if alone := (place{p.key, plain, ""}); s.shape != listed && m[alone] == "" {
				m[alone] = p.key
			}
		}
	}
	return m
}
