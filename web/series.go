package web

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// maxLines is how many lines a chart can show apart. Of more engines it shows
// a band and the outliers, of more columns the largest.
const maxLines = 12

// seriesQuery is what a chart wants to know.
type seriesQuery struct {
	deployment string
	metrics    []string
	label      string // one label only, if hasLabel
	hasLabel   bool
	from, to   int64 // ns, to exclusive
	points     int
	only       store.Flags
	joined     bool // one line for all engines, by the metric's rule
	steps      bool // over the engines' steps instead of time
}

// seriesAnswer is the data of a chart. Its x axis has cells of equal width; lines
// name the cells they have values in, so gaps cost nothing.
type seriesAnswer struct {
	X0    float64 // ms since 1970, or a step
	DX    float64 // ms, or steps
	Cells int
	Lines []seriesLine
	Bands []*seriesBand // one for each kind of steps, instead of one line for each of many engines
	// Engines is how many engines have samples here, Cards how many cards that readings of cards
	// are of, More how many columns were left out.
	Engines, Cards, More int
	Samples              int64
	Outliers             []outlier
	Times                [][2]int64 // over steps: when each cell was, ns; {0, 0} where nothing is
}

// seriesLine is one line. Values are as shown: shares in percent, quantiles of
// times in ms. A quantile's Low and High are the bounds of its bucket: −Inf where
// only "at most Mean" is known of it, +Inf where only "more than Mean" is.
type seriesLine struct {
	Metric, Label, Engine string
	Steps                 string // "prompt", "decode" or "": which steps
	Cells                 []int
	Mean, Low, High       []float64 // Low and High are empty where they would equal Mean
	Counts                []int64   // of a quantile: the values it is of
	Samples               int64
	Outlier               bool
}

// seriesBand is the spread of many engines: percentiles over the engines in each cell.
type seriesBand struct {
	Cells                   []int
	Min, P10, P50, P90, Max []float64
	Steps, Label            string
}

// outlier is an engine that is far from the others.
type outlier struct {
	Engine string
	Off    float64 // its mean over the range ÷ the engines' median − 1; NaN where that is 0
}

// stepKind names the rows a Points query took.
func stepKind(only store.Flags) string {
	switch only {
	case store.OnlyPrompt:
		return "prompt"
	case store.OnlyDecode:
		return "decode"
	}
	return ""
}

// buildSeries reads and downsamples what a chart shows.
func buildSeries(ctx context.Context, st store.Samples, q seriesQuery) (*seriesAnswer, error) {
	engines, err := st.Engines(ctx, q.deployment)
	if err != nil {
		return nil, err
	}
	b := seriesBuilder{q: q, names: map[int64]string{}}
	var ids []int64
	for _, e := range engines {
		if e.Last >= q.from && e.First < q.to {
			ids = append(ids, e.ID)
			b.names[e.ID] = e.Name
		}
	}
	b.grid = timeGrid(store.PointsQuery{Points: q.points, Selection: store.Selection{From: q.from, To: q.to}})
	answer := &seriesAnswer{X0: float64(b.grid.from) / 1e6, DX: float64(b.grid.width) / 1e6, Cells: b.grid.cells}
	if len(ids) == 0 {
		return answer, nil
	}
	for _, only := range b.kinds() {
		pq := store.PointsQuery{Points: b.asked(), Only: only,
			Selection: store.Selection{Engines: ids, Metrics: b.wanted(), From: q.from, To: q.to}}
		points, err := st.Points(ctx, pq)
		if err != nil {
			return nil, err
		}
		b.reads = append(b.reads, seriesRead{only, points})
	}
	b.build(answer)
	return answer, nil
}

// stepDetail is how many times finer the store is asked over steps: a bucket of
// time goes whole into the cell of its last step.
const stepDetail = 4

func (b *seriesBuilder) asked() int {
	if b.q.steps {
		return min(b.q.points*stepDetail, store.MaxPoints)
	}
	return b.q.points
}

type seriesRead struct {
	only   store.Flags
	points []store.Points
}

type seriesBuilder struct {
	q     seriesQuery
	names map[int64]string
	reads []seriesRead
	grid  grid
}

// definition is a metric's entry in the table, or one that claims nothing.
func definition(key string) ledger.Metric {
	if m, ok := ledger.Lookup(key); ok {
		return m
	}
	return ledger.Metric{Key: key, Name: ledger.Words{EN: key, ZH: key}, Kind: ledger.Gauge, Steps: ledger.AnySteps, Better: ledger.Neither,
		Aggregate: ledger.Aggregation{Op: ledger.Apart}}
}

// kinds are the steps to read: a metric that describes the logging step alone
// never has prompt and decode steps in one line.
func (b *seriesBuilder) kinds() []store.Flags {
	if b.q.only != store.AllSteps {
		return []store.Flags{b.q.only}
	}
	for _, key := range b.q.metrics {
		if definition(key).Steps == ledger.SameKind {
			return []store.Flags{store.OnlyDecode, store.OnlyPrompt}
		}
	}
	return []store.Flags{store.AllSteps}
}

// wanted are the metrics to read: those shown and the weights of their means.
func (b *seriesBuilder) wanted() []string {
	keys := slices.Clone(b.q.metrics)
	for _, key := range b.q.metrics {
		m := definition(key)
		if m.Aggregate.By != "" {
			keys = append(keys, m.Aggregate.By)
		}
		if m.Kind == ledger.Histogram {
			keys = append(keys, key+ledger.BucketSuffix)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// build makes the lines of what was read.
func (b *seriesBuilder) build(answer *seriesAnswer) {
	if b.q.steps {
		b.grid = b.stepGrid()
		answer.X0, answer.DX, answer.Cells = float64(b.grid.from), float64(b.grid.width), b.grid.cells
		answer.Times = b.stepTimes()
	}
	seen := map[int64]bool{}
	for _, r := range b.dedupe() {
		for _, m := range b.histograms() {
			b.addQuantiles(answer, m, r, seen)
		}
		columns := b.columns(r.points, seen)
		keep, more := largest(columns)
		answer.More += more
		for _, c := range keep {
			for _, l := range c.laid {
				answer.Samples += l.samples
			}
			if c.metric.Group == ledger.Cards {
				answer.Cards = max(answer.Cards, len(c.laid))
			}
			b.addColumn(answer, c, r, len(keep) == 1)
		}
	}
	answer.Engines = len(seen)
}

// dedupe leaves out the second read where rows of neither kind made it a copy of the first.
func (b *seriesBuilder) dedupe() []seriesRead {
	if len(b.reads) == 2 && slices.EqualFunc(b.reads[0].points, b.reads[1].points, func(x, y store.Points) bool {
		return x.Engine == y.Engine && x.Column == y.Column && slices.Equal(x.Buckets, y.Buckets)
	}) {
		return []seriesRead{{store.AllSteps, b.reads[0].points}}
	}
	return b.reads
}

// stepGrid covers the steps that were read.
func (b *seriesBuilder) stepGrid() grid {
	first, last := int64(math.MaxInt64), int64(-1)
	for _, r := range b.reads {
		for _, p := range r.points {
			for _, k := range p.Buckets {
				if k.LastStep >= 0 {
					first, last = min(first, k.LastStep), max(last, k.LastStep)
				}
			}
		}
	}
	if last < 0 {
		return grid{}
	}
	n := int64(b.q.points)
	width := (last-first)/n + 1
	return grid{from: first, width: width, cells: int((last-first)/width) + 1}
}

// stepTimes says when the steps of each cell were, so that a stretch of steps can be asked for by its time.
func (b *seriesBuilder) stepTimes() [][2]int64 {
	times := make([][2]int64, b.grid.cells)
	for _, r := range b.reads {
		for _, p := range r.points {
			for _, k := range p.Buckets {
				if i := b.grid.at(k.LastStep); i >= 0 {
					t := &times[i]
					if t[1] == 0 {
						*t = [2]int64{k.From, k.From + p.Width}
					}
					t[0], t[1] = min(t[0], k.From), max(t[1], k.From+p.Width)
				}
			}
		}
	}
	return times
}

// column is one metric and label over its engines.
type seriesColumn struct {
	store.Column
	metric ledger.Metric
	laid   []laidEngine
	size   float64 // mean of the engines' means, for choosing among many
}

// laidEngine is one engine's samples in the grid, or one card's of an engine that has several.
type laidEngine struct {
	id      int64
	card    string // the card's UUID in readings of cards
	cells   []cell
	samples int64
	mean    float64 // over all samples
}

func (b *seriesBuilder) columns(points []store.Points, seen map[int64]bool) []*seriesColumn {
	byColumn := map[store.Column]*seriesColumn{}
	var order []*seriesColumn
	for i := range points {
		p := &points[i]
		if !slices.Contains(b.q.metrics, p.Metric) {
			continue
		}
		m := definition(p.Metric)
		column, card := splitCard(m, p.Column)
		if b.q.hasLabel && column.Label != b.q.label {
			continue
		}
		c := byColumn[column]
		if c == nil {
			c = &seriesColumn{Column: column, metric: m}
			byColumn[column] = c
			order = append(order, c)
		}
		l := laidEngine{id: p.Engine, card: card, cells: b.lay(p, c.metric), mean: math.NaN()}
		sum := 0.0
		for _, k := range l.cells {
			if k.n > 0 {
				l.samples, sum = l.samples+k.n, sum+k.mean*float64(k.n)
			}
		}
		if l.samples == 0 {
			continue
		}
		l.mean = sum / float64(l.samples)
		c.laid = append(c.laid, l)
		seen[p.Engine] = true
	}
	order = slices.DeleteFunc(order, func(c *seriesColumn) bool { return len(c.laid) == 0 })
	for _, c := range order {
		for _, l := range c.laid {
			c.size += l.mean / float64(len(c.laid))
		}
	}
	slices.SortStableFunc(order, func(x, y *seriesColumn) int {
		return cmp.Or(cmp.Compare(slices.Index(b.q.metrics, x.Metric), slices.Index(b.q.metrics, y.Metric)), compareLabels(x.Label, y.Label))
	})
	return order
}

// splitCard takes a card's UUID out of a reading's label, so that cards are joined and told apart as engines are.
func splitCard(m ledger.Metric, c store.Column) (store.Column, string) {
	if m.Group != ledger.Cards {
		return c, ""
	}
	card, rest, _ := strings.Cut(c.Label, " ")
	return store.Column{Metric: c.Metric, Label: rest}, card
}

// name is what a line of its own is called.
func (b *seriesBuilder) name(c *seriesColumn, l laidEngine) string {
	several := 0
	for _, other := range c.laid {
		if other.id == l.id {
			several++
		}
	}
	if several > 1 && l.card != "" {
		return b.names[l.id] + " " + l.card
	}
	return b.names[l.id]
}

func (b *seriesBuilder) lay(p *store.Points, m ledger.Metric) []cell {
	if b.q.steps {
		return b.grid.laySteps(p, m)
	}
	return b.grid.lay(p, m)
}

// compareLabels orders numbers by their size and texts by their letters.
func compareLabels(a, b string) int {
	return cmp.Or(cmp.Compare(len(digitsOnly(a)), len(digitsOnly(b))), cmp.Compare(a, b))
}

func digitsOnly(s string) string {
	for _, r := range s {
		if r < '0' || r > '9' {
			return ""
		}
	}
	return s
}
