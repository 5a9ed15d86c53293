// Package rows makes batches of what engine/foreign reads, be it from a metrics interface or
// from log lines.
package rows

import (
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// MaxColumns is the most columns of one kind of row of one engine. New series come and go;
// without a bound a server with ever new labels would make ever wider rows.
const MaxColumns = 4000

// maxKinds bounds the engines × kinds of rows that are remembered.
const maxKinds = 4096

// Builder collects rows and events. The columns of each kind of row of each engine are
// kept from one batch to the next and only grow, so that a value that is absent once does
// not make another layout. It is for one goroutine.
type Builder struct {
	columns map[kind]*columns
	batch   store.Batch
	engines map[store.EngineKey]int
	layouts map[*columns]int
	dropped int64
}

// kind tells layouts apart. Rows of prompt and of decode steps have other columns.
type kind struct {
	engine         store.EngineKey
	section        ledger.Section
	prompt, decode bool
}

// NewBuilder returns an empty one.
func NewBuilder() *Builder {
	return &Builder{columns: map[kind]*columns{}, engines: map[store.EngineKey]int{}, layouts: map[*columns]int{}}
}

// Add puts a reading into the batch, as told at the time t, and returns how many values it
// has; flags are added to those of the reading.
func (b *Builder) Add(r *foreign.Reading, engine store.EngineInfo, t time.Time, flags store.Flags) int64 {
	k := kind{engine.EngineKey, r.Section, r.Prompt, r.Decode}
	c := b.columns[k]
	if c == nil {
		c = &columns{}
		if len(b.columns) < maxKinds {
			b.columns[k] = c
		}
	}
	values, cut := c.fill(r.Values)
	b.dropped += cut
	if r.Prompt {
		flags |= store.PromptStep
	}
	if r.Decode {
		flags |= store.DecodeStep
	}
	l, there := b.layouts[c]
	if !there || len(b.batch.Layouts[l].Columns) != len(c.list) {
		l = len(b.batch.Layouts)
		b.layouts[c] = l
		b.batch.Layouts = append(b.batch.Layouts, store.Layout{Section: string(r.Section), Columns: c.list})
	}
	b.batch.Rows = append(b.batch.Rows, store.Row{Engine: b.engine(engine), Layout: l, Time: t.UnixNano(), Step: r.Step, Flags: flags, Values: values})
	return int64(len(r.Values)) - cut
}

// Event puts an event into the batch; its Engine is set here.
func (b *Builder) Event(e store.Event, engine store.EngineInfo) {
	e.Engine = int64(b.engine(engine))
	b.batch.Events = append(b.batch.Events, e)
}

func (b *Builder) engine(info store.EngineInfo) int {
	i, there := b.engines[info.EngineKey]
	if !there {
		i = len(b.batch.Engines)
		b.engines[info.EngineKey] = i
		b.batch.Engines = append(b.batch.Engines, info)
	}
	b.batch.Engines[i] = info
	return i
}

// Rows is how many rows the batch has.
func (b *Builder) Rows() int { return len(b.batch.Rows) }

// Dropped is how many values had no place, since the beginning.
func (b *Builder) Dropped() int64 { return b.dropped }

// Take returns the batch and begins another one; nil when it is empty.
func (b *Builder) Take() *store.Batch {
	if len(b.batch.Rows)+len(b.batch.Events) == 0 {
		return nil
	}
	out := b.batch
	b.batch = store.Batch{}
	clear(b.engines)
	clear(b.layouts)
	return &out
}

// columns are those of one kind of row.
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
		if len(c.list) >= MaxColumns {
			cut++
			continue
		}
		if !grown { // the list handed out before is never changed
			c.list, grown = slices.Clone(c.list), true
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
