// Package sides reads the columns of a comparison from a store: it finds the
// deployments and baselines that are asked for, and gives their engines' series as
// engine/compare takes them.
package sides

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/store"
)

// MaxValues bounds the samples of one comparison: about 8 bytes each stay in memory
// while it is computed. Columns with more are read as means, see Side.Coarse.
const MaxValues = 20_000_000

// DefaultSince is the range of a column that names none.
const DefaultSince = time.Hour

// Options say how columns without a range are read, and which metrics.
type Options struct {
	Now     time.Time     // the end of ranges that end now; zero: the time of the call
	Since   time.Duration // the range of columns that name none; 0: DefaultSince
	Metrics []string      // keys; empty: all that have a definition
	// MaxValues is how many samples are read one by one; 0: MaxValues.
	MaxValues int
}

// Load reads a side for each column. Errors that wrap store.ErrNotFound name a
// deployment or baseline that isn't there. If the columns have too many samples to read,
// all are read as means.
func Load(ctx context.Context, s store.Samples, columns []compare.ColumnSpec, opt Options) ([]compare.Side, error) {
	if opt.Now.IsZero() {
		opt.Now = time.Now()
	}
	if opt.Since <= 0 {
		opt.Since = DefaultSince
	}
	deployments, err := s.Deployments(ctx)
	if err != nil {
		return nil, err
	}
	if opt.MaxValues <= 0 {
		opt.MaxValues = MaxValues
	}
	l := loader{Samples: s, deployments: deployments, opt: opt, keys: compare.Keys(opt.Metrics)}
	sides, err := l.sides(ctx, columns)
	if errors.Is(err, errTooMany) {
		l.means = true
		sides, err = l.sides(ctx, columns)
	}
	return sides, err
}

func (l *loader) sides(ctx context.Context, columns []compare.ColumnSpec) ([]compare.Side, error) {
	sides := make([]compare.Side, 0, len(columns))
	for _, c := range columns {
		side, err := l.side(ctx, c)
		if err != nil {
			return nil, err
		}
		if len(sides) == 0 && c.Baseline != "" { // what comes after it is compared with it, not with a part of itself
			l.kept = side
		}
		sides = append(sides, side)
	}
	return sides, nil
}

type loader struct {
	store.Samples
	deployments []store.Deployment
	opt         Options
	keys        []string
	values      int          // read so far
	means       bool         // instead of samples
	kept        compare.Side // the first column if it is a baseline
}

// side reads one column.
func (l *loader) side(ctx context.Context, c compare.ColumnSpec) (compare.Side, error) {
	i := slices.IndexFunc(l.deployments, func(d store.Deployment) bool { return d.Name == c.Deployment })
	if i < 0 {
		return compare.Side{}, l.unknown(c.Deployment)
	}
	d := l.deployments[i]
	side := compare.Side{Name: c.Deployment, Spec: c.String(), Deployment: c.Deployment, Baseline: c.Baseline, GPUs: d.GPUs, PeakTFLOPs: d.PeakTFLOPs}
	var err error
	if side.From, side.To, err = l.span(ctx, c); err != nil {
		return compare.Side{}, err
	}
	if c.Baseline != "" {
		side.Name += ", " + c.Baseline
	}
	engines, err := l.Engines(ctx, c.Deployment)
	if err != nil {
		return compare.Side{}, err
	}
	index := make(map[int64]int, len(engines)) // by the engine's id
	var ids []int64
	for _, e := range engines {
		if e.First >= side.To || e.Last < side.From {
			continue
		}
		index[e.ID] = len(ids)
		ids = append(ids, e.ID)
		side.Engines = append(side.Engines, compare.Engine{Name: e.Name, Kind: e.Kind, Role: e.Role, Model: e.Model, Parallel: e.Parallel, Version: e.Version})
	}
	if len(ids) == 0 {
		return side, nil // the table says that nothing is there
	}
	if l.means {
		err = l.coarse(ctx, &side, ids, index)
	} else {
		err = l.series(ctx, &side, ids, index)
	}
	if err != nil {
		return compare.Side{}, err
	}
	return side, l.events(ctx, &side, ids, index)
}

// notThere says that something is not found, in both languages.
func notThere(en, zh string) error {
	return &compare.Said{Words: compare.Words{EN: en, ZH: zh}, Err: store.ErrNotFound}
}

// unknown says that there is no such deployment, and lists some to choose from.
func (l *loader) unknown(name string) error {
	const most = 8
	var names []string
	for _, d := range l.deployments {
		if len(names) == most {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%q", d.Name))
	}
	en, zh := fmt.Sprintf("there is no deployment %q; ", name), fmt.Sprintf("没有部署 %q；", name)
	if len(names) == 0 {
		return notThere(en+"there is none yet: collect from engines first", zh+"目前还没有任何部署：请先采集引擎数据")
	}
	return notThere(en+"there are "+strings.Join(names, ", "), zh+"现有 "+strings.Join(names, "、"))
}

// span is a column's range of time.
func (l *loader) span(ctx context.Context, c compare.ColumnSpec) (from, to int64, err error) {
	switch {
	case c.Baseline != "":
		all, err := l.Baselines(ctx, c.Deployment)
		if err != nil {
			return 0, 0, err
		}
		var names []string
		for _, b := range all {
			if b.Name == c.Baseline {
				return b.From, b.To, nil
			}
			names = append(names, fmt.Sprintf("%q", b.Name))
		}
		en, zh := fmt.Sprintf("deployment %q has no baseline %q; ", c.Deployment, c.Baseline), fmt.Sprintf("部署 %q 没有基线 %q；", c.Deployment, c.Baseline)
		if len(names) == 0 {
			return 0, 0, notThere(en+"it has none: keep a range as a baseline on its page first", zh+"它还没有任何基线：请先在其页面上保存一个时段")
		}
		return 0, 0, notThere(en+"it has "+strings.Join(names, ", "), zh+"现有 "+strings.Join(names, "、"))
	case !c.From.IsZero():
		return c.From.UnixNano(), c.To.UnixNano(), nil
	}
	since := c.Since
	if since == 0 {
		since = l.opt.Since
	}
	from, to = l.opt.Now.Add(-since).UnixNano(), l.opt.Now.UnixNano()
	if c.Since == 0 && c.Deployment == l.kept.Deployment {
		from = max(from, min(l.kept.To, to))
	}
	return from, to, nil
}

var errTooMany = errors.New("too many samples")

// series reads the engines' series. Those of one engine often have the same times; they
// share them, which leaves 8 bytes for a value.
func (l *loader) series(ctx context.Context, side *compare.Side, ids []int64, index map[int64]int) error {
	if many, err := l.tooMany(ctx, side, ids); err != nil {
		return err
	} else if many {
		return errTooMany
	}
	sel := store.Selection{Engines: ids, Metrics: l.keys, From: side.From, To: side.To}
	return l.Read(ctx, sel, func(s *store.Series) error {
		if l.values += len(s.Values); l.values > l.opt.MaxValues {
			return errTooMany
		}
		e := &side.Engines[index[s.Engine]]
		out := compare.Series{Key: s.Metric, Label: s.Label, Values: slices.Clone(s.Values)}
		flags := make([]compare.Flags, len(s.Flags))
		for i, f := range s.Flags {
			flags[i] = convert(f)
		}
		for k := len(e.Series) - 1; k >= 0 && k >= len(e.Series)-4; k-- {
			if p := &e.Series[k]; slices.Equal(p.Times, s.Times) && slices.Equal(p.Steps, s.Steps) && slices.Equal(p.Flags, flags) {
				out.Times, out.Steps, out.Flags = p.Times, p.Steps, p.Flags
				break
			}
		}
		if out.Times == nil {
			out.Times, out.Steps, out.Flags = slices.Clone(s.Times), slices.Clone(s.Steps), flags
		}
		e.Series = append(e.Series, out)
		return nil
	})
}

// convert gives a row's flags as the comparison has them.
func convert(f store.Flags) compare.Flags {
	var out compare.Flags
	for _, p := range [...]struct {
		in  store.Flags
		out compare.Flags
	}{
		{store.PromptStep, compare.PromptStep}, {store.DecodeStep, compare.DecodeStep}, {store.Filling, compare.Filling},
		{store.Perturbed, compare.Perturbed}, {store.ClockJump, compare.ClockJump},
	} {
		if f&p.in != 0 {
			out |= p.out
		}
	}
	return out
}

// events counts what happened to the engines.
func (l *loader) events(ctx context.Context, side *compare.Side, ids []int64, index map[int64]int) error {
	all, err := l.Events(ctx, ids, side.From, side.To)
	if err != nil {
		return err
	}
	for _, e := range all {
		i, ok := index[e.Engine]
		if !ok {
			continue
		}
		switch e.Kind {
		case store.Restart, store.Gap, store.Dropped, store.Silence, store.CounterReset:
			side.Engines[i].Breaks = append(side.Engines[i].Breaks, compare.Span{From: e.From, To: e.To})
		}
		switch e.Kind {
		case store.Restart:
			side.Engines[i].Restarts++
		case store.Gap, store.Dropped:
			side.Engines[i].Gaps++
		case store.CaptureEvent:
			if side.Traces++; l.means { // they are in the means
				continue
			}
			side.Engines[i].Captured = append(side.Engines[i].Captured, compare.Span{From: e.From, To: e.To})
		}
	}
	for i := range side.Engines {
		for _, spans := range [][]compare.Span{side.Engines[i].Breaks, side.Engines[i].Captured} {
			slices.SortFunc(spans, func(a, b compare.Span) int { return cmp.Compare(a.To, b.To) })
		}
	}
	return nil
}
