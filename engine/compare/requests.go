package compare

import (
	"math"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Keys of what is computed about requests. Departures are no row: they weigh the time of
// a request.
const (
	requestTime   = "request_time"
	offeredTokens = "offered_tokens"
	departures    = "departures"
)

// requestMetrics are the rows about requests that no engine writes itself.
var requestMetrics = map[string]ledger.Metric{
	requestTime: {
		Key: requestTime, Section: ledger.Stats, Group: ledger.Latency, Unit: ledger.Seconds, Kind: ledger.Gauge,
		Better: ledger.Down, Steps: ledger.AnySteps, Aggregate: ledger.Aggregation{Op: ledger.WeightedMean, By: departures},
		Name: Words{EN: "Time of a request in the engine", ZH: "请求在引擎中的时间"},
		Formula: Words{EN: "mean of running + pending ÷ requests that finish or are aborted per second (Little's law: as many are in the system as come in the time that one stays)",
			ZH: "（running + pending）的均值 ÷ 每秒完成或中止的请求数（Little 定律：系统内的请求数等于一个请求停留期间到达的请求数）"},
		Window:      Words{EN: "the time between two lines in which a request left", ZH: "有请求离开的两条日志之间的时间"},
		Denominator: Words{EN: "requests that left: finished and aborted", ZH: "离开的请求：完成与中止"},
		Moves:       Words{EN: "queueing, prefill, time per token, answer length; holds where the number of requests in the system is steady", ZH: "排队、预填充、每 token 耗时、回答长度；在系统内请求数平稳时成立"},
	},
	offeredTokens: {
		Key: offeredTokens, Section: ledger.Stats, Group: ledger.Load, Unit: ledger.Tokens, Kind: ledger.Counter,
		Better: ledger.Neither, Steps: ledger.AnySteps, Aggregate: ledger.Aggregation{Op: ledger.Sum},
		Name: Words{EN: "Offered tokens", ZH: "到达的 token 工作量"},
		Formula: Words{EN: "arriving requests × (input length × (1 − prefix cache hits) + output length)",
			ZH: "到达请求 ×（输入长度 ×（1 − 前缀命中率）+ 输出长度）"},
		Window: Words{EN: "since the last log line; lengths and hits as the line has them", ZH: "自上一条日志以来；长度与命中率取该日志的值"},
		Moves:  Words{EN: "the traffic: the work that is asked for, whether or not it gets done", ZH: "流量：请求带来的工作量，无论是否完成"},
	},
}

// deriveRequests adds what can be said about an engine's requests.
func (v *view) deriveRequests(engine int) {
	all := v.series[engine]
	gone := all[seriesID{key: "finished"}]
	if aborted := all[seriesID{key: "aborted"}]; gone != nil && aborted != nil {
		gone = combine(departures, []*Series{gone, aborted}, sum)
	}
	if n := all[seriesID{key: inFlight}]; n != nil && gone != nil {
		x, w := little(n, gone)
		all[seriesID{key: requestTime}], all[seriesID{key: departures}] = x, w
	}
	parts := []string{arrivalRate, "avg_input_length", "avg_output_length", "prefill_caching_rate"}
	if all[seriesID{key: parts[3]}] == nil {
		parts = parts[:3]
	}
	v.add(engine, offeredTokens, offered(), parts...)
}

// little is how long requests stay, line by line, and the weight of each: how many left.
// Lines in which none did go into the next one in which one does. By the weights, the
// mean of these is the mean number in the system ÷ the departures per second, which is
// the time of a request (Little 1961), and its error is that of the ratio of the two.
func little(in, gone *Series) (stay, left *Series) {
	stay, left = &Series{Key: requestTime}, &Series{Key: departures}
	put := func(t int64, x, w float64, f Flags) {
		stay.Times, stay.Values, stay.Flags = append(stay.Times, t), append(stay.Values, x), append(stay.Flags, f)
		left.Times, left.Values, left.Flags = append(left.Times, t), append(left.Values, w), append(left.Flags, f)
	}
	var area, start, prev float64 // number × time, departures where it began, at the line before
	var since int64
	var merged Flags
	at, began := 0, false
	for i, t := range in.Times {
		for at < len(gone.Times) && gone.Times[at] < t {
			at++
		}
		if at == len(gone.Times) {
			break
		}
		n, d := in.Values[i], gone.Values[at]
		if gone.Times[at] != t || math.IsNaN(n+d) || math.IsInf(n+d, 0) {
			continue
		}
		var f Flags
		if i < len(in.Flags) {
			f = in.Flags[i]
		}
		if !began || d < prev || f&ClockJump != 0 { // a rate needs two lines of one life
			put(t, 0, 0, f)
			began, area, start, merged = true, 0, d, 0
		} else {
			area += n * float64(t-since) / 1e9
			merged |= f
			if d > start {
				put(t, area/(d-start), d-start, merged)
				area, start, merged = 0, d, 0
			}
		}
		prev, since = d, t
	}
	return stay, left
}

// offered makes the function that adds up the work of arriving requests. Where an engine
// has no lengths to tell, those that it told last hold.
func offered() func([]float64) float64 {
	total, last, work := 0.0, math.NaN(), 0.0
	return func(x []float64) float64 {
		hits := 0.0
		if len(x) > 3 {
			hits = math.Min(1, math.Max(0, x[3]))
		}
		if w := x[1]*(1-hits) + x[2]; w > 0 && !math.IsInf(w, 0) {
			work = w
		}
		if d := (x[0] - last) * work; !math.IsNaN(d) && !math.IsInf(d, 0) {
			total += d
		}
		last = x[0]
		return total
	}
}
