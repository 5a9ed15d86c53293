package ledger

import "strings"

// unitNames are the units that are words, and so have another name in each language.
var unitNames = map[Unit]Words{
	StepsPerSecond:  {"steps/s", "步/s"},
	TokensPerSecond: {"tokens/s", "token/s"},
	Tokens:          {"tokens", "token"},
	TokensPerSeq:    {"tokens/sequence", "token/序列"},
	TokenPairs:      {"query·key tokens", "查询·键 token"},
	Sequences:       {"sequences", "序列"},
	Requests:        {"requests", "请求"},
	Preemptions:     {"preemptions", "次抢占"},
	Calls:           {"calls", "次调用"},
	Communicators:   {"communicators", "通信器"},
	Errors:          {"errors", "次错误"},
	Share:           {"%", "%"},
	Ratio:           {"ratio", "比值"},
	PerToken:        {"per verified token", "每验证 token"},
	Flag:            {"0 or 1", "0 或 1"},
	"steps":         {"steps", "步"}, // what some histograms count
	"engine":        {"engine", "引擎"},
}

// Words are how people are told a unit. Of one that is divided, such as requests/s, each
// part is; what has no name of its own stays as it is.
func (u Unit) Words() Words {
	if w, ok := unitNames[u]; ok {
		return w
	}
	base, by, divided := strings.Cut(string(u), "/")
	if !divided {
		return Words{string(u), string(u)}
	}
	x, y := Unit(base).Words(), Unit(by).Words()
	return Words{x.EN + "/" + y.EN, x.ZH + "/" + y.ZH}
}
