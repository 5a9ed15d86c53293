package compare

import (
	"math"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Keys of derived series. Engines don't count arriving requests themselves; what is in
// flight is no row, it only helps to judge the arrival rate.
const (
	arrivalRate = "arrival_rate"
	inFlight    = "in_flight"
	acceptLen   = "accept_len"

	verifiedLen  = "avg_verified_len"
	verifiedSeqs = "verified_sequences" // no row: it weighs means over sequences
)

var sumAll = ledger.Aggregation{Op: ledger.Sum}

// derivedMetrics are computed from several series of the same line.
var derivedMetrics = map[string]ledger.Metric{
	arrivalRate: {
		Key: arrivalRate, Section: ledger.Stats, Group: ledger.Load, Unit: ledger.Requests, Kind: ledger.Counter,
		Better: ledger.Neither, Steps: ledger.AnySteps, Aggregate: ledger.Aggregation{Op: ledger.Sum},
		Name:    Words{EN: "Arriving requests", ZH: "到达请求"},
		Formula: Words{EN: "increase of finished + aborted + running + pending between two lines", ZH: "两条日志之间 finished + aborted + running + pending 的增量"},
		Window:  Words{EN: "since the last log line", ZH: "自上一条日志以来"},
		Moves:   Words{EN: "the traffic; it is the load that all else depends on", ZH: "流量；其余一切都取决于这一负载"},
	},
	requestTime:   requestMetrics[requestTime],
	offeredTokens: requestMetrics[offeredTokens],
}

// derivedOrder lists them; derivedBefore says which row each stands before.
var (
	derivedOrder  = []string{arrivalRate, offeredTokens, requestTime}
	derivedBefore = map[string]string{arrivalRate: "running", offeredTokens: "running", requestTime: "TTFT_max"}
)

// derive adds the derived series to the engines that have their parts.
func (v *view) derive() {
	for i := range v.series {
		v.add(i, arrivalRate, sum, "finished", "aborted", "running", "pending")
		if s := v.series[i][seriesID{key: arrivalRate}]; s != nil {
			s.Flags = restarts(s, v.series[i][seriesID{key: "finished"}])
		}
		v.add(i, inFlight, sum, "running", "pending")
		v.deriveRequests(i)
		// Tokens per draft, as other engines give it: drafts accepted of those verified, and the target's own token.
		v.add(i, acceptLen, func(x []float64) float64 { return 1 + x[0]*x[1] }, "avg_nextn_accept_rate", verifiedLen)
		// Lines don't carry the sequences that drafts were verified of, but their number of drafts and its mean.
		v.add(i, verifiedSeqs, func(x []float64) float64 {
			if !(x[1] > 0) {
				return 0
			}
			return x[0] / x[1]
		}, "verified_tokens", verifiedLen)
	}
}

// restarts marks the samples of a derived count before which a counter began anew. The
// count itself may fall a little without that: its parts are not read at the same instant.
func restarts(s, counter *Series) []Flags {
	flags := append([]Flags(nil), s.Flags...)
	last, at := math.Inf(-1), 0
	for i, t := range s.Times {
		for ; at < len(counter.Times) && counter.Times[at] <= t; at++ {
			if counter.Values[at] < last {
				flags[i] |= ClockJump
			}
			last = counter.Values[at]
		}
	}
	return flags
}

func sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}

// add makes a series of an engine out of others, if it has them and not the series itself.
func (v *view) add(engine int, key string, of func([]float64) float64, parts ...string) {
	all := v.series[engine]
	if all[seriesID{key: key}] != nil {
		return
	}
	series := make([]*Series, len(parts))
	for i, p := range parts {
		if series[i] = all[seriesID{key: p}]; series[i] == nil {
			return
		}
	}
	all[seriesID{key: key}] = combine(key, series, of)
}

// combine computes a series where all parts have a sample of the same moment.
func combine(key string, parts []*Series, of func([]float64) float64) *Series {
	out := &Series{Key: key}
	at := make([]int, len(parts))
	values := make([]float64, len(parts))
	first := parts[0]
next:
	for i, t := range first.Times {
		values[0] = first.Values[i]
		for p := 1; p < len(parts); p++ {
			s := parts[p]
			for at[p] < len(s.Times) && s.Times[at[p]] < t {
				at[p]++
			}
			if at[p] == len(s.Times) || s.Times[at[p]] != t {
				continue next
			}
			values[p] = s.Values[at[p]]
		}
		total := of(values)
		if math.IsNaN(total) || math.IsInf(total, 0) {
			continue
		}
		var f Flags
		if i < len(first.Flags) {
			f = first.Flags[i]
		}
		out.Times = append(out.Times, t)
		out.Flags = append(out.Flags, f)
		out.Values = append(out.Values, total)
	}
	return out
}
