package sides

import (
	"context"
	"math"
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
	read := func(engines []int64, metrics []string, only store.Flags) ([]store.Points, error) {
		if len(engines) == 0 || len(metrics) == 0 {
			return nil, nil
		}
		return l.Points(ctx, store.PointsQuery{Points: points, Only: only, Selection: store.Selection{Engines: engines, Metrics: metrics, From: side.From, To: side.To}})
	}
	for _, part := range []struct {
		engines []int64
		metrics []string
	}{{ids, whole}, {foreign, single}} {
		all, err := read(part.engines, part.metrics, store.AllSteps)
		if err != nil {
			return err
		}
		for i := range all {
			addMeans(side, index, &all[i], nil, nil)
		}
	}
	var kinds [3][]store.Points
	for i, only := range []store.Flags{store.AllSteps, store.OnlyPrompt, store.OnlyDecode} {
		var err error
		if kinds[i], err = read(own, single, only); err != nil {
			return err
		}
	}
	prompt, decode := byColumn(kinds[1]), byColumn(kinds[2])
	for i := range kinds[0] {
		p := &kinds[0][i]
		key := column{p.Engine, p.Column}
		addMeans(side, index, p, prompt[key], decode[key])
	}
	return nil
}

// column is one series of the store.
type column struct {
	engine int64
	store.Column
}

func byColumn(list []store.Points) map[column][]store.Bucket {
	m := make(map[column][]store.Bucket, len(list))
	for _, p := range list {
		m[column{p.Engine, p.Column}] = p.Buckets
	}
	return m
}

// addMeans gives a series' engine its means: one of each stretch, or one of each kind of steps where the stretches of
// prompt and decode steps are given, too. Those have the rows of neither kind in them, both of them.
func addMeans(side *compare.Side, index map[int64]int, all *store.Points, prompt, decode []store.Bucket) {
	side.Coarse = max(side.Coarse, all.Width)
	last := keepsLast(all.Metric)
	s := compare.Series{Key: all.Metric, Label: all.Label}
	add := func(b store.Bucket, flags compare.Flags) {
		v := b.Sum / float64(b.N)
		if last {
			v = b.Last
		}
		if b.N == 0 || math.IsNaN(v) { // infinite sums have no difference
			return
		}
		s.Times = append(s.Times, min(b.From+all.Width, side.To)-1)
		s.Steps = append(s.Steps, b.LastStep)
		s.Flags = append(s.Flags, flags)
		s.Values = append(s.Values, v)
	}
	for _, b := range all.Buckets {
		p, d := of(&prompt, b.From), of(&decode, b.From)
		switch neither := p.N + d.N - b.N; {
		case p.N == 0 && d.N == 0:
			add(b, 0)
		case neither == 0:
			add(p, compare.PromptStep)
			add(d, compare.DecodeStep)
		default:
			both := store.Bucket{From: b.From, N: neither, Sum: p.Sum + d.Sum - b.Sum, LastStep: min(p.LastStep, d.LastStep)}
			p.N, p.Sum, d.N, d.Sum = b.N-d.N, b.Sum-d.Sum, b.N-p.N, b.Sum-p.Sum
			add(p, compare.PromptStep)
			add(d, compare.DecodeStep)
			add(both, 0)
		}
	}
	e := &side.Engines[index[all.Engine]]
	e.Series = append(e.Series, s)
}

// of takes the stretch that begins at from off the list; an empty one if it isn't the next.
func of(list *[]store.Bucket, from int64) (b store.Bucket) {
	if len(*list) > 0 && (*list)[0].From == from {
		b, *list = (*list)[0], (*list)[1:]
	}
	return b
}

// keepsLast says whether a metric's samples are states, of which the last counts.
func keepsLast(key string) bool {
	m, ok := ledger.Lookup(key)
	return !ok || m.Kind == ledger.Counter || m.Kind == ledger.Histogram || m.Section == ledger.NCCL
}
