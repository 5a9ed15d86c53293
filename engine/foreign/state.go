package foreign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// State turns the scrapes of one address into readings. Counters need the scrape before:
// the first one gives no rates, nor does one after a restart. It is not safe for
// concurrent use.
type State struct {
	kind  string
	rules []rule
	known map[string]bool // names that a rule reads

	last    map[string]float64 // counters and parts of histograms of the last scrape by id
	at      time.Time          // of the last scrape; zero before the first
	whole   bool               // the last scrape was read completely
	several bool               // more than one engine was seen at this address
	resets  []bool             // of the last scrapes, newest last
}

// NewState begins a target of a kind.
func NewState(kind string) *State {
	rules := rulesOf(kind)
	return &State{kind: kind, rules: rules, known: needed(rules)}
}

// resetWindow is how many scrapes are looked back on to tell a restart from an address
// behind which several servers answer in turn.
const resetWindow = 10

// Scrape reads one answer of the metrics interface, taken at the time now. now should have
// a monotonic clock.
func (s *State) Scrape(now time.Time, body []byte) Result {
	text := ParseText(body)
	res := Result{Series: len(text.Series), Skipped: text.BadLines + text.Cut + text.Duplicates}
	found := Found(text.Series)
	if found[s.kind] == 0 {
		res.Problem = s.noSeries(body, &text, found)
		return res
	}
	if p := text.problem(); p != "" {
		res.Problem = &Problem{ledger.Words{EN: p, ZH: "指标文本部分不可读：" + p}, ledger.Words{
			EN: "compare the engine's version with the supported ones; everything else was read",
			ZH: "请核对引擎版本；其余内容均已读取"}}
	}

	seconds := 0.0
	if !s.at.IsZero() {
		seconds = now.Sub(s.at).Seconds()
	}
	cur := make(map[string]float64, len(text.Series))
	resets := s.wasReset(text.Series)
	reset := len(resets) > 0
	views := s.split(text.Series, cur, seconds, resets)
	s.noteReset(resets, views, &res)
	res.Info = info(s.kind, text.Series)

	missing := map[string]bool{}
	for _, v := range views {
		r, unknown, cut := v.read(s.rules, s.known)
		if len(r.Values) > 0 {
			res.Readings = append(res.Readings, r)
		}
		res.Unknown = append(res.Unknown, unknown...)
		res.Skipped += cut
		for key := range v.absent {
			if baseKey(key) == "" { // a histogram stands for its mean too
				missing[key] = true
			}
		}
	}
	slices.Sort(res.Unknown)
	res.Unknown = slices.Compact(res.Unknown)
	if !s.at.IsZero() && !reset { // otherwise rates are missing for another reason
		for key := range missing {
			res.Missing = append(res.Missing, Missing{key, AbsentReason(s.kind, key)})
		}
		slices.SortFunc(res.Missing, func(a, b Missing) int { return cmp.Compare(a.Key, b.Key) })
	}
	s.last, s.at, s.whole = cur, now, !text.Partial && text.Cut == 0 && text.BadLines == 0
	return res
}

// Incomplete says that the text of the last scrape was cut: a counter that was not in it is
// not new when the next one has it.
func (s *State) Incomplete() { s.whole = false }

// noteReset tells of a restart, or of an address that cannot be read as one server.
func (s *State) noteReset(resets map[string]string, views []*view, res *Result) {
	reset := len(resets) > 0
	s.resets = append(s.resets, reset)
	if len(s.resets) > resetWindow {
		s.resets = s.resets[1:]
	}
	if !reset {
		return
	}
	if why, all := resets[""]; all {
		res.Events = append(res.Events, Event{Kind: Reset, FromStep: -1, ToStep: -1, Count: 1, Detail: why})
	} else {
		for _, v := range views {
			if why, there := resets[v.label]; there {
				res.Events = append(res.Events, Event{Engine: v.engine, Kind: Reset, FromStep: -1, ToStep: -1, Count: 1, Detail: why})
			}
		}
	}
	n := 0
	for _, r := range s.resets {
		if r {
			n++
		}
	}
	if n >= 3 {
		res.Problem = &Problem{
			ledger.Words{
				EN: fmt.Sprintf("counters fell in %d of the last %d scrapes", n, len(s.resets)),
				ZH: fmt.Sprintf("最近 %[2]d 次抓取中有 %[1]d 次计数器下降", n, len(s.resets))},
			ledger.Words{
				EN: "either the server restarts over and over, or a load balancer answers from several servers in turn: scrape each server by its own address",
				ZH: "要么服务反复重启，要么该地址是轮流转发到多个服务的负载均衡器：请按各服务自身地址抓取"},
		}
	}
}

// wasReset says which engines began anew since the last scrape, by their label, and by what
// that was seen; "" is the whole server. One counter that fell is enough: the others may have
// passed their old values already.
func (s *State) wasReset(series []Series) (resets map[string]string) {
	if s.last == nil {
		return nil
	}
	note := func(x *Series, why string) {
		engine := ""
		if s.kind == VLLM { // whose engines are processes of their own
			engine = x.Label("engine")
		}
		if resets == nil {
			resets = map[string]string{}
		}
		if _, told := resets[engine]; !told && len(resets) <= maxEngines {
			resets[engine] = why
		}
	}
	for i := range series {
		x := &series[i]
		before, known := s.last[x.id()]
		if !known {
			continue
		}
		if x.Name == "process_start_time_seconds" || strings.HasSuffix(x.Name, "_created") {
			if math.Abs(x.Value-before) > 1 { // in seconds: multi-process servers may differ by less
				note(x, fmt.Sprintf("%s changed from %.0f to %.0f", x.Name, before, x.Value))
			}
			continue
		}
		// The sum of a histogram may fall where values may be negative.
		if _, kind := cutPrefix(x.Family); (kind == s.kind || kind == "" && s.bare(x.Family)) && counts(x) && !strings.HasSuffix(x.Name, "_sum") && x.Value < before {
			note(x, fmt.Sprintf("%s fell from %g to %g", x.Name, before, x.Value))
		}
	}
	return resets
}

// bare says whether a name without a prefix is this engine's.
func (s *State) bare(family string) bool {
	return s.kind == TensorRTLLM && slices.Contains(bareTRTLLM, strings.TrimSuffix(family, "_total"))
}

// counts says whether a series only grows.
func counts(x *Series) bool {
	switch x.Type {
	case CounterType, HistogramType:
		return true
	case SummaryType:
		return strings.HasSuffix(x.Name, "_sum") || strings.HasSuffix(x.Name, "_count")
	}
	return false
}

// split makes one view per engine behind the address. Series that belong to no single
// engine go to the first one.
func (s *State) split(series []Series, cur map[string]float64, seconds float64, resets map[string]string) []*view {
	_, all := resets[""]
	all = all || s.at.IsZero()
	byEngine := map[string]*view{}
	names := []string{}
	if s.kind == VLLM {
		for i := range series {
			if n := series[i].Label("engine"); n != "" && !slices.Contains(names, n) && len(names) < maxEngines {
				names = append(names, n)
			}
		}
		slices.SortFunc(names, byNumber)
	}
	s.several = s.several || len(names) > 1
	if len(names) == 0 {
		names = append(names, "")
	}
	var views []*view
	for _, n := range names {
		_, fresh := resets[n]
		v := &view{kind: s.kind, label: n, seconds: seconds, fresh: fresh || all, byName: map[string][]*entry{}}
		if s.several && n != "" {
			v.engine = "engine" + n
		}
		byEngine[n] = v
		views = append(views, v)
	}
	keep := rankFilter(s.kind, series)
	for i := range series {
		x := &series[i]
		v := views[0]
		if n := x.Label("engine"); s.kind == VLLM && n != "" {
			if v = byEngine[n]; v == nil {
				continue // beyond maxEngines
			}
		}
		id := x.id()
		e := &entry{series: x}
		// A counter that wasn't there in a complete scrape began at 0 since then.
		before, known := s.last[id]
		if before <= x.Value && (known || s.whole) {
			e.increase, e.increased = x.Value-before, true
		}
		if counts(x) || x.Name == "process_start_time_seconds" || strings.HasSuffix(x.Name, "_created") {
			cur[id] = x.Value
		}
		if keep(x) {
			v.add(e)
		}
	}
	return views
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// rankFilter leaves out what several ranks of one SGLang engine say alike: of each data
// parallel rank only the lowest pipeline, tensor and expert rank counts.
func rankFilter(kind string, series []Series) func(*Series) bool {
	if kind != SGLang {
		return func(*Series) bool { return true }
	}
	rank := func(x *Series) [3]string {
		return [3]string{x.Label("pp_rank"), x.Label("tp_rank"), x.Label("moe_ep_rank")}
	}
	compare := func(a, b [3]string) int {
		return cmp.Or(byNumber(a[0], b[0]), byNumber(a[1], b[1]), byNumber(a[2], b[2]))
	}
	lowest := map[[2]string][3]string{}
	group := func(x *Series) [2]string { return [2]string{x.Name, x.Label("dp_rank")} }
	for i := range series {
		x := &series[i]
		if best, ok := lowest[group(x)]; !ok || compare(rank(x), best) < 0 {
			lowest[group(x)] = rank(x)
		}
	}
	return func(x *Series) bool { return rank(x) == lowest[group(x)] }
}

// info reads what the series' labels say about the engine.
func info(kind string, series []Series) Info {
	var in Info
	for i := range series {
		x := &series[i]
		if m := x.Label("model_name"); in.Model == "" && m != "" && m != "undefined" {
			in.Model = m
		}
		if kind == SGLang && in.Role == "" {
			in.Role = map[string]string{"unified": "mixed", "prefill": "prompt", "decode": "decode"}[x.Label("engine_type")]
		}
	}
	return in
}
