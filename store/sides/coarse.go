package sides

import (
	"context"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// How long times are read as means, when their samples are too many to be read one by one.
// The store has sums of whole hours; a year of days is 365 of them.
const (
	coarsePoints = 720 // up to …
	coarseLong   = 60 * 24 * time.Hour
	longPoints   = 365
)

// Bounds of the look at how many samples a column has, before they are read.
const (
	shortRange  = 2 * 24 * time.Hour // shorter ones are simply read
	usualSeries = 50                 // of an engine
)

// sampled are metrics that nearly every engine writes into each of its lines.
var sampled = []string{"completion_TPS", "running", "completion_tokens"}

// tooMany estimates, from one engine's lines, whether a column has far more samples than
// can be read. Reading tells the same, later.
func (l *loader) tooMany(ctx context.Context, side *compare.Side, ids []int64) (bool, error) {
	if side.To-side.From < int64(shortRange) {
		return false, nil
	}
	series, err := l.Points(ctx, store.PointsQuery{Points: 1, Selection: store.Selection{Engines: ids[:1], Metrics: sampled, From: side.From, To: side.To}})
	if err != nil {
		return false, err
	}
	var lines int64
	for _, s := range series {
		var n int64
		for _, b := range s.Buckets {
			n += b.N
		}
		lines = max(lines, n)
	}
	perEngine := usualSeries
	if len(l.opt.Metrics) > 0 {
		perEngine = min(usualSeries, len(l.keys))
	}
	return lines*int64(len(ids))*int64(perEngine) > 2*int64(l.opt.MaxValues), nil
}

// coarse reads the engines' series as means of stretches of equal length: sums that the
// store has, instead of single samples. It leaves out metrics in which 0 stands for
// nothing: their means are not in the sums. Samples during captures and of windows that
// were filling are in them. Counters and states are read as their last values.
func (l *loader) coarse(ctx context.Context, side *compare.Side, ids []int64, index map[int64]int) error {
	points := coarsePoints
	if side.To-side.From > int64(coarseLong) {
		points = longPoints
	}
	var whole, single []string
	for _, key := range l.keys {
		switch m, _ := ledger.Lookup(key); {
		case m.ZeroIsAbsent:
		case m.Steps == ledger.SameKind:
			single = append(single, key)
		default:
			whole = append(whole, key)
		}
	}
	var own, foreign []int64 // engines whose lines tell kinds of steps apart, and others
	for _, id := range ids {
		if side.Engines[index[id]].Kind == "deepinfer" {
			own = append(own, id)
		} else {
			foreign = append(foreign, id)
		}
	}
	for _, part := range []struct {
		engines []int64
		metrics []string
		only    store.Flags
		flags   compare.Flags
	}{
		{ids, whole, store.AllSteps, 0}, {foreign, single, store.AllSteps, 0},
		{own, single, store.OnlyPrompt, compare.PromptStep}, {own, single, store.OnlyDecode, compare.DecodeStep},
	} {
		if len(part.engines) == 0 || len(part.metrics) == 0 {
			continue
		}
		q := store.PointsQuery{Points: points, Only: part.only, Selection: store.Selection{Engines: part.engines, Metrics: part.metrics, From: side.From, To: side.To}}
		all, err := l.Points(ctx, q)
		if err != nil {
			return err
		}
		for i := range all {
			side.Coarse = max(side.Coarse, all[i].Width)
			addCoarse(&side.Engines[index[all[i].Engine]], &all[i], side.To, part.flags)
		}
	}
	return nil
}

// addCoarse gives an engine a series of means; one that it has already, of the other kind
// of steps, gets them in between.
func addCoarse(e *compare.Engine, p *store.Points, to int64, flags compare.Flags) {
	last := keepsLast(p.Metric)
	s := compare.Series{Key: p.Metric, Label: p.Label}
	for _, b := range p.Buckets {
		v := b.Sum / float64(b.N)
		if last {
			v = b.Last
		}
		s.Times = append(s.Times, min(b.From+p.Width, to)-1)
		s.Steps = append(s.Steps, b.LastStep)
		s.Flags = append(s.Flags, flags)
		s.Values = append(s.Values, v)
	}
	for k := range e.Series {
		if had := &e.Series[k]; had.Key == s.Key && had.Label == s.Label {
			*had = merged(had, &s)
			return
		}
	}
	e.Series = append(e.Series, s)
}

// keepsLast says whether a metric's samples are states, of which the last counts.
func keepsLast(key string) bool {
	m, ok := ledger.Lookup(key)
	return !ok || m.Kind == ledger.Counter || m.Kind == ledger.Histogram || m.Section == ledger.NCCL
}

// merged is two series by rising time.
func merged(a, b *compare.Series) compare.Series {
	out := compare.Series{Key: a.Key, Label: a.Label}
	i, j := 0, 0
	for i < len(a.Times) || j < len(b.Times) {
		from, k := a, i
		if i == len(a.Times) || j < len(b.Times) && b.Times[j] < a.Times[i] {
			from, k = b, j
			j++
		} else {
			i++
		}
		out.Times, out.Steps = append(out.Times, from.Times[k]), append(out.Steps, from.Steps[k])
		out.Flags, out.Values = append(out.Flags, from.Flags[k]), append(out.Values, from.Values[k])
	}
	return out
}
