package scrape

import (
	"math"
	"time"

	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// maxColumns is the most columns of one kind of row of one engine. New series come and go;
// without a bound a server with ever new labels would make ever wider rows.
const maxColumns = 4000

// columns are the columns of one kind of row of one engine. They only grow, so that a
// value that is absent once does not make another layout.
type columns struct {
	list  []store.Column
	index map[store.Column]int
}

// fill puts values into a row; cut counts those without a place.
func (c *columns) fill(values []ledger.Value) (row []float64, cut int64) {
	grown := false
	for _, v := range values {
		col := store.Column{Metric: v.Key, Label: v.Label}
		if _, there := c.index[col]; there {
			continue
		}
		if len(c.list) >= maxColumns {
			cut++
			continue
		}
		if !grown { // the list handed out before is never changed
			c.list, grown = append([]store.Column(nil), c.list...), true
		}
		if c.index == nil {
			c.index = map[store.Column]int{}
		}
		c.index[col] = len(c.list)
		c.list = append(c.list, col)
	}
	row = make([]float64, len(c.list))
	for i := range row {
		row[i] = math.NaN()
	}
	for _, v := range values {
		if i, ok := c.index[store.Column{Metric: v.Key, Label: v.Label}]; ok {
			row[i] = v.V
		}
	}
	return row, cut
}

// kindOfRow tells layouts of one engine apart.
type kindOfRow struct {
	engine         string
	section        ledger.Section
	prompt, decode bool
}

// batch makes one transaction of a result taken at the time at; the interval began at
// since, which is zero for the first one.
func (e *endpoint) batch(res *foreign.Result, at, since time.Time) (*store.Batch, int64) {
	b := &store.Batch{}
	index := map[string]int{}
	engine := func(name string) int {
		if i, ok := index[name]; ok {
			return i
		}
		i := len(b.Engines)
		index[name] = i
		b.Engines = append(b.Engines, e.info(name, res.Info))
		return i
	}
	samples := int64(0)
	for _, r := range res.Readings {
		k := kindOfRow{r.Engine, r.Section, r.Prompt, r.Decode}
		c := e.columns[k]
		if c == nil {
			c = &columns{}
			e.columns[k] = c
		}
		values, cut := c.fill(r.Values)
		e.cut += cut
		samples += int64(len(r.Values)) - cut
		flags := store.Flags(0)
		if r.Prompt {
			flags |= store.PromptStep
		}
		if r.Decode {
			flags |= store.DecodeStep
		}
		b.Rows = append(b.Rows, store.Row{Engine: engine(r.Engine), Layout: len(b.Layouts), Time: at.UnixNano(), Step: r.Step, Flags: flags, Values: values})
		b.Layouts = append(b.Layouts, store.Layout{Section: string(r.Section), Columns: c.list})
	}
	from := at.UnixNano()
	if !since.IsZero() {
		from = min(from, since.UnixNano())
	}
	for _, x := range res.Events {
		names := []string{x.Engine}
		if x.Engine == "" && len(index) > 0 {
			names = names[:0] // the server's, so each engine's behind it
			for name := range index {
				names = append(names, name)
			}
		}
		for _, name := range names {
			b.Events = append(b.Events, store.Event{
				Engine: int64(engine(name)), Kind: eventKind(x.Kind, e.isList), From: from, To: at.UnixNano(),
				FromStep: x.FromStep, ToStep: x.ToStep, Count: x.Count, Detail: x.Detail,
			})
		}
	}
	return b, samples
}

func eventKind(k foreign.EventKind, list bool) store.EventKind {
	switch {
	case k == foreign.Lost:
		return store.Gap
	case list:
		return store.Restart
	}
	return store.CounterReset
}

// info is what is known of one engine behind the address.
func (e *endpoint) info(name string, in foreign.Info) store.EngineInfo {
	kind, version := e.known()
	full := e.engineName()
	if name != "" {
		full += "/" + name
	}
	o := &e.opt
	info := store.EngineInfo{
		EngineKey: store.EngineKey{Deployment: o.Deployment, Name: full}, Kind: kind, Host: hostOf(e.base, o.Host),
		Rank: -1, GPU: -1, Role: o.Role, Model: o.Model, Parallel: o.Parallel, Version: version,
	}
	if info.Role == "" {
		info.Role = in.Role
	}
	if info.Model == "" {
		info.Model = in.Model
	}
	return info
}
