package compare

import "slices"

// perTokenKeys are the timers' means that can be given per generated token, with the
// calls that turn them into time.
var perTokenKeys = map[string]string{"cpu_mean": "cpu_calls", "cuda_mean": "cuda_calls"}

// perToken says whether a metric is divided by generated tokens when asked.
func perToken(key string) bool { return perTokenKeys[key] != "" }

// derivePerToken replaces the timers' time per call by time per generated token: mean ×
// calls ÷ (completion_TPS × time since the line before). Lines of one step belong
// together; the weight of a line is its tokens, put in place of the calls.
func (v *view) derivePerToken() {
	for i, all := range v.series {
		tps := all[seriesID{key: "completion_TPS"}]
		tokens := tokensByStep(tps)
		for id, s := range all {
			calls := all[seriesID{perTokenKeys[id.key], id.label}]
			if !perToken(id.key) {
				continue
			}
			out := &Series{Key: s.Key, Label: s.Label}
			weight := &Series{Key: perTokenKeys[id.key], Label: s.Label}
			for k, t := range s.Times {
				if k >= len(s.Steps) || calls == nil {
					break
				}
				c, found := slices.BinarySearch(calls.Times, t)
				n := tokens[s.Steps[k]]
				if !found || !(n > 0) {
					continue
				}
				out.Times, weight.Times = append(out.Times, t), append(weight.Times, t)
				out.Values = append(out.Values, s.Values[k]*calls.Values[c]/n)
				weight.Values = append(weight.Values, n)
				var f Flags
				if k < len(s.Flags) {
					f = s.Flags[k]
				}
				out.Flags, weight.Flags = append(out.Flags, f), append(weight.Flags, f)
			}
			v.series[i][id] = out
			v.series[i][seriesID{"tokens of " + id.key, id.label}] = weight
		}
	}
}

// tokensByStep is how many tokens an engine generated up to each of its lines, since
// the line before.
func tokensByStep(tps *Series) map[int64]float64 {
	m := make(map[int64]float64)
	if tps == nil {
		return m
	}
	for i := 1; i < len(tps.Times) && i < len(tps.Steps); i++ {
		m[tps.Steps[i]] = tps.Values[i] * float64(tps.Times[i]-tps.Times[i-1]) / 1e9
	}
	return m
}
