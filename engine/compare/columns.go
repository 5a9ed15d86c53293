package compare

import (
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
)

const letters = "ABCDEF"

// head describes a column.
func (v *view) head(i int) Column {
	c := Column{Letter: letters[i : i+1], Name: v.Name, Spec: v.Spec, Deployment: v.Deployment, Baseline: v.Baseline,
		From: v.From, To: v.To, Engines: v.size(), GPUs: v.GPUs, PeakTFLOPs: v.PeakTFLOPs, Traces: v.Traces, Coarse: v.Coarse,
		Kinds: v.kinds(), Roles: v.roles(),
		Models:   v.distinct(func(e *Engine) string { return e.Model }),
		Versions: v.distinct(func(e *Engine) string { return e.Version }),
		Parallel: v.distinct(func(e *Engine) string { return e.Parallel })}
	var gaps []int64
	for j := range v.Engines {
		e := &v.Engines[j]
		c.Restarts += e.Restarts
		c.Gaps += e.Gaps
		var longest *Series
		for k := range e.Series {
			if s := &e.Series[k]; longest == nil || len(s.Values) > len(longest.Values) {
				longest = s
			}
		}
		if longest == nil {
			continue
		}
		m := marks(source{Series: longest, usual: usualDistance(longest.Times), from: v.From, captured: e.Captured}, BothKinds, rule{}, &c.Left)
		c.Lines += len(m)
		if d := usualDistance(longest.Times); d > 0 {
			gaps = append(gaps, d)
		}
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		c.Interval = gaps[len(gaps)/2]
	}
	return c
}

// silent says whether there are no samples at all.
func (v *view) silent() bool {
	for i := range v.Engines {
		for k := range v.Engines[i].Series {
			if len(v.Engines[i].Series[k].Values) > 0 {
				return false
			}
		}
	}
	return true
}

// distinct lists what engines say of themselves, sorted, without those that say nothing.
func (v *view) distinct(of func(*Engine) string) []string {
	var all []string
	for i := range v.Engines {
		if s := of(&v.Engines[i]); s != "" {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// size is the number of engines; cards that are read without an engine don't count.
func (v *view) size() int {
	n := 0
	for i := range v.Engines {
		if v.Engines[i].Kind != cardKind {
			n++
		}
	}
	return n
}

// cardKind is the kind of the readings of a card.
const cardKind = "gpu"

func (v *view) kinds() []string { return v.distinct(func(e *Engine) string { return e.Kind }) }

// roles leaves cards without an engine out: they have none.
func (v *view) roles() []string {
	return v.distinct(func(e *Engine) string {
		if e.Kind == cardKind {
			return ""
		}
		return e.Role
	})
}

// sized says whether a metric grows with the size of a deployment.
func sized(m ledger.Metric) bool { return m.Aggregate.Op == ledger.Sum && m.Kind != ledger.Histogram }

// unitOf is the unit of a row's figures.
func unitOf(m ledger.Metric, per Per) string {
	u := string(m.Unit)
	if m.Kind == ledger.Counter {
		u += "/s"
	}
	if sized(m) {
		switch per {
		case PerGPU:
			u += "/GPU"
		case PerEngine:
			u += "/engine"
		}
	}
	if per == PerToken && perToken(m.Key) {
		u += "/token"
	}
	return u
}
