package foreign

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Iterations turns the list of iterations that TensorRT-LLM hands out, and forgets, at each
// call into readings. It is not safe for concurrent use.
type Iterations struct {
	ranks   map[string]*rankState
	several bool
	at      time.Time // of the last call
	ever    bool      // a record was seen
	empty   int       // empty lists in a row
}

// rankState is what is kept of one rank from one list to the next.
type rankState struct {
	last    int64 // iteration
	known   bool
	stride  int64            // between two records, 0 unknown: iter_perf_stats_interval
	seen    map[int64]uint64 // records of late, by iteration
	order   []int64          // of seen, oldest first
	kind    iterated         // of the last iteration, for its device time
	kv      kvStats          // of the last iteration
	dropped float64          // the engine's own count of lost records
}

// remembered is how many records are kept to tell one read twice.
const remembered = 4096

// NewIterations begins a target.
func NewIterations() *Iterations { return &Iterations{ranks: map[string]*rankState{}} }

// Drain reads one answer, taken at the time now.
func (s *Iterations) Drain(now time.Time, body []byte) Result {
	body = bytes.TrimSpace(body)
	if p := notRecords(body); p != nil {
		return Result{Problem: p}
	}
	records, bad, err := parseRecords(body)
	res := Result{Series: len(records), Skipped: bad}
	if err != nil {
		res.Skipped++
		res.Problem = problem(fmt.Sprintf("the list could not be read to its end: %v", err), fmt.Sprintf("列表未能读完：%v", err), ledger.Words{
			EN: "what came before was read; look for a proxy that cuts answers, or compare the engine's version",
			ZH: "其前内容已读取；请检查是否有代理截断应答，或核对引擎版本"})
	}
	seconds := 0.0
	if !s.at.IsZero() {
		seconds = now.Sub(s.at).Seconds()
	}
	s.at = now
	if len(records) == 0 {
		s.empty++
		if !s.ever && res.Problem == nil {
			res.Problem = emptyList()
		}
		return res
	}
	s.ever, s.empty = true, 0

	byRank := map[string][]record{}
	for _, r := range records {
		byRank[r.rank()] = append(byRank[r.rank()], r)
	}
	names := make([]string, 0, len(byRank))
	for name := range byRank {
		names = append(names, name)
		if s.ranks[name] == nil {
			s.ranks[name] = &rankState{seen: map[int64]uint64{}}
		}
	}
	slices.SortFunc(names, byNumber)
	s.several = s.several || len(s.ranks) > 1
	hadBefore := len(s.ranks) > 0 && seconds > 0
	for _, name := range names {
		engine := ""
		if s.several {
			engine = "engine" + name
		}
		s.rank(&res, s.ranks[name], engine, byRank[name], seconds)
	}
	if hadBefore {
		res.Missing = notTold(res.Readings)
	}
	return res
}

// listKeys are what a list tells when the engine's version and setting have it, with the
// reason why it may be missing.
var listKeys = []struct {
	key string
	why ledger.Words
}{
	{"KV_cache_usage", inNewer}, {"accept_len", onlySpeculative}, {"avg_nextn_accept_rate", onlySpeculative},
	{"ctx_requests", inNewer}, {"device_step_ms", inNewer}, {"draft_overhead", onlySpeculative}, {"gen_requests", inNewer},
	{"gpu_forward_ms", inNewer}, {"host_step_ms", inNewer}, {"paused", inNewer}, {"pending", inNewer}, {"running", inNewer}, {"step_ms", inNewer},
}

var (
	inNewer = ledger.Words{
		EN: "not in this version's records; newer ones have it",
		ZH: "此版本的记录中没有；较新版本提供"}
	onlySpeculative = ledger.Words{
		EN: "only with speculative decoding",
		ZH: "仅在投机解码时提供"}
)

// notTold lists the keys that stand in no reading.
func notTold(readings []Reading) []Missing {
	if len(readings) == 0 {
		return nil
	}
	told := map[string]bool{}
	for i := range readings {
		for _, v := range readings[i].Values {
			told[v.Key] = true
		}
	}
	var out []Missing
	for _, k := range listKeys {
		if !told[k.key] {
			out = append(out, Missing{k.key, k.why})
		}
	}
	return out
}

// notRecords explains an answer that is no list of records.
func notRecords(body []byte) *Problem {
	switch {
	case len(body) == 0:
		return problem("the answer is empty", "应答为空", enable(TensorRTLLM))
	case body[0] == '[' || body[0] == '{':
		return nil
	case body[0] == '<':
		return problem("the answer is an HTML page", "应答是 HTML 页面", ledger.Words{
			EN: "correct the port and path: this is a web server or a proxy's error page",
			ZH: "请更正端口与路径：这是网页服务或代理的错误页"})
	}
	return problem("the answer is no JSON list", "应答不是 JSON 列表", ledger.Words{
		EN: "this may be Prometheus text: read it as source \"metrics\"",
		ZH: "这可能是 Prometheus 文本：请以 “metrics” 来源读取"})
}

func emptyList() *Problem {
	return problem("the list of iterations is empty", "迭代列表为空", ledger.Words{
		EN: "either the engine was started without enable_iter_perf_stats: true, or it has had no request yet, or another reader (a dashboard, a second collector) takes the records first",
		ZH: "要么引擎启动时未设 enable_iter_perf_stats: true，要么尚无请求，要么另有读取者（看板或其他采集器）先取走了记录"})
}

// rank reads the records of one rank.
func (s *Iterations) rank(res *Result, st *rankState, engine string, records []record, seconds float64) {
	hadLast := st.known
	fresh, restarted := st.fresh(records)
	if restarted {
		hadLast = false
		res.Events = append(res.Events, Event{Engine: engine, Kind: Reset, FromStep: -1, ToStep: -1, Count: 1,
			Detail: fmt.Sprintf("iterations began anew at %d after %d", fresh[0].step(), st.last)})
		*st = rankState{seen: st.seen, order: st.order, stride: st.stride}
	}
	res.Skipped += len(records) - len(fresh)
	if len(fresh) == 0 {
		return
	}
	complete := st.gaps(res, engine, fresh, hadLast)
	if !complete || !hadLast {
		seconds = 0 // sums over the list are not sums over the interval
	}
	whole := Reading{Engine: engine, Section: ledger.Iterations, Step: fresh[len(fresh)-1].step(), Stamp: recordStamp(&fresh[len(fresh)-1])}
	whole.Values = wholeValues(fresh, st, hadLast, seconds)
	res.Readings = append(res.Readings, whole)
	for _, prompt := range []bool{true, false} {
		if values := kindValues(fresh, st, prompt); len(values) > 0 {
			r := whole
			r.Prompt, r.Decode, r.Values = prompt, !prompt, values
			res.Readings = append(res.Readings, r)
		}
	}
	last := &fresh[len(fresh)-1]
	st.last, st.known = last.step(), true
	prompt, decode := last.kind()
	st.kind = iterated{last.step(), prompt, decode}
	if last.KV.v != nil {
		st.kv = *last.KV.v
	}
}

func recordStamp(r *record) ledger.Stamp {
	if s, ok := usStamp(string(r.Timestamp)); ok {
		return s
	}
	return ledger.FindStamp(string(r.Timestamp), ledger.Stamp{})
}

// fresh leaves out what was read before, and orders the rest. A number that was seen with
// another content, or that is smaller than all seen of late, means that the engine began
// anew; then only what came from there on counts.
func (st *rankState) fresh(records []record) (out []record, restarted bool) {
	for _, r := range records {
		print, step := r.print(), r.step()
		before, there := st.seen[step]
		switch {
		case there && before == print:
			continue
		case st.known && !restarted && (there || step < st.last && (len(st.order) == 0 || step < slices.Min(st.order))):
			restarted = true
			out = nil
			clear(st.seen)
			st.order = st.order[:0]
		}
		st.remember(step, print)
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b record) int { return cmp.Compare(a.step(), b.step()) })
	return slices.CompactFunc(out, func(a, b record) bool { return a.step() == b.step() }), restarted
}

func (st *rankState) remember(step int64, print uint64) {
	if _, there := st.seen[step]; !there {
		st.order = append(st.order, step)
		if len(st.order) > remembered {
			delete(st.seen, st.order[0])
			st.order = st.order[1:]
		}
	}
	st.seen[step] = print
}

// gaps finds iterations that are in no list and tells of them; false: the list is not all
// that was computed, because records are lost or are thinned out by the engine.
func (st *rankState) gaps(res *Result, engine string, fresh []record, hadLast bool) bool {
	complete := true
	steps := make([]int64, 0, len(fresh)+1)
	if hadLast && fresh[0].step() > st.last {
		steps = append(steps, st.last)
	}
	for i := range fresh {
		steps = append(steps, fresh[i].step())
	}
	if smallest := smallestStride(steps); smallest > 0 && (st.stride == 0 || smallest < st.stride) {
		st.stride = smallest
	}
	if st.stride > 1 {
		complete = false
		if res.Problem == nil {
			res.Problem = problem(
				fmt.Sprintf("only every %dth iteration is in the list: rates are left out", st.stride),
				fmt.Sprintf("列表中仅有每 %d 次迭代中的一次：不计算速率", st.stride),
				ledger.Words{EN: "set iter_perf_stats_interval: 1 for rates", ZH: "若需速率，请设 iter_perf_stats_interval: 1"})
		}
	}
	for i := 1; i < len(steps) && st.stride > 0; i++ {
		if missing := (steps[i]-steps[i-1])/st.stride - 1; missing > 0 {
			complete = false
			res.Events = append(res.Events, Event{Engine: engine, Kind: Lost, FromStep: steps[i-1] + 1, ToStep: steps[i] - 1, Count: missing,
				Detail: "iterations that were in no list: another reader took them, or the engine's queue overran"})
		}
	}
	if d := fresh[len(fresh)-1].Dropped; d.ok {
		if d.v >= st.dropped+1 && hadLast {
			complete = false
			res.Events = append(res.Events, Event{Engine: engine, Kind: Lost, FromStep: -1, ToStep: -1, Count: int64(min(d.v-st.dropped, 1<<53)),
				Detail: "statsDroppedFrames rose: the engine's queue overran"})
		}
		st.dropped = d.v
	}
	return complete
}

// smallestStride is the smallest distance of two neighbours; a single pair may be a gap and
// says nothing.
func smallestStride(steps []int64) int64 {
	smallest := int64(0)
	for i := 1; i < len(steps); i++ {
		if d := steps[i] - steps[i-1]; d > 0 && (smallest == 0 || d < smallest) {
			smallest = d
		}
	}
	if len(steps) == 2 && smallest > 1 {
		return 0
	}
	return smallest
}
