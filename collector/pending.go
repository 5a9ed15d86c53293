package collector

import "github.com/stepscope/stepscope/store"

// pending is a batch in the making.
type pending struct {
	batch     store.Batch
	values    int
	engines   map[store.EngineKey]int
	layouts   map[columns]int
	positions map[string]int
}

// columns tells layouts apart by where their columns are: equal ones that are not the same stay two layouts, which costs a
// few bytes.
type columns struct {
	section string
	first   *store.Column
	n       int
}

func (p *pending) reset() {
	*p = pending{engines: map[store.EngineKey]int{}, layouts: map[columns]int{}, positions: map[string]int{}}
}

func (p *pending) empty() bool {
	return len(p.batch.Rows)+len(p.batch.Events)+len(p.batch.Positions)+len(p.batch.Engines) == 0
}

// size is how many full batches it makes.
func (p *pending) size() float64 {
	return max(float64(len(p.batch.Rows)+len(p.batch.Events))/batchRows, float64(p.values)/batchValues)
}

// take returns all of it.
func (p *pending) take() *store.Batch {
	b := p.batch
	p.reset()
	return &b
}

// add merges a batch; its rows become p's own.
func (p *pending) add(b *store.Batch) {
	engine := make([]int, len(b.Engines))
	for i, info := range b.Engines {
		at, ok := p.engines[info.EngineKey]
		if !ok {
			at = len(p.batch.Engines)
			p.engines[info.EngineKey] = at
			p.batch.Engines = append(p.batch.Engines, info)
		}
		p.batch.Engines[at] = info
		engine[i] = at
	}
	layout := make([]int, len(b.Layouts))
	for i, l := range b.Layouts {
		key := columns{section: l.Section, n: len(l.Columns)}
		if key.n > 0 {
			key.first = &l.Columns[0]
		}
		at, ok := p.layouts[key]
		if !ok {
			at = len(p.batch.Layouts)
			p.layouts[key] = at
			p.batch.Layouts = append(p.batch.Layouts, l)
		}
		layout[i] = at
	}
	for _, r := range b.Rows {
		r.Engine, r.Layout = engine[r.Engine], layout[r.Layout]
		p.values += len(r.Values)
		p.batch.Rows = append(p.batch.Rows, r)
	}
	for _, e := range b.Events {
		e.Engine = int64(engine[e.Engine])
		p.batch.Events = append(p.batch.Events, e)
	}
	for _, pos := range b.Positions {
		at, ok := p.positions[pos.Source]
		if !ok {
			at = len(p.batch.Positions)
			p.positions[pos.Source] = at
			p.batch.Positions = append(p.batch.Positions, pos)
		}
		p.batch.Positions[at] = pos
	}
}
