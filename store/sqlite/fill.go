package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/chunk"
)

// Filling says what made-up statistics to write.
type Filling struct {
	Deployment string
	Engines    int           // named rank0, rank1, …
	Metrics    []string      // each one series
	Days       int           // whole days, from the one that begins at Start on
	Start      time.Time     // the beginning of a day in UTC
	Every      time.Duration // between two lines of an engine
}

// fillPatterns is how many different days of values each metric has.
const fillPatterns = 7

// Fill writes statistics as they rest after Maintain, a year in a minute: for
// measuring how pages and queries do with much history. The values are random
// walks of one decimal; every day of an engine repeats one of a few patterns.
func (s *Store) Fill(ctx context.Context, f Filling) error {
	start := f.Start.UnixNano()
	if start < 0 || start%day != 0 || f.Every <= 0 || day%int64(f.Every) != 0 {
		return fmt.Errorf("fill: %w: days begin at midnight and hold whole numbers of lines", store.ErrInvalid)
	}
	// A first row of each engine makes it, its layout and its series.
	b := &store.Batch{Layouts: []store.Layout{{Section: "stats"}}}
	row := store.Row{Time: start, Flags: store.DecodeStep}
	for _, m := range f.Metrics {
		b.Layouts[0].Columns = append(b.Layouts[0].Columns, store.Column{Metric: m})
		row.Values = append(row.Values, 0)
	}
	for i := range f.Engines {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: f.Deployment, Name: fmt.Sprint("rank", i)}, Rank: i, GPU: i})
		row.Engine = i
		b.Rows = append(b.Rows, row)
	}
	if _, err := s.Deliver(ctx, "fill", b); err != nil {
		return err
	}
	engines, err := s.Engines(ctx, f.Deployment)
	if err != nil {
		return err
	}
	p := newPatterns(&f)
	err = s.read(ctx, func(tx *sql.Tx) error {
		for i, m := range f.Metrics {
			if err := tx.QueryRow(`SELECT id FROM series WHERE metric = ? AND label = ''`, m).Scan(&p.metrics[i].id); err != nil {
				return err
			}
		}
		return nil
	})
	for d := range int64(f.Days) {
		if err != nil {
			break
		}
		err = s.write(ctx, func(tx *sql.Tx) error {
			var e chunk.Encoder
			for i, engine := range engines {
				b := p.block(engine.ID, start+d*day, d, (int(d)+i)%fillPatterns)
				if err := insertBlock(tx, &e, &b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return s.failure("fill", err)
	}
	return nil
}

// patterns are days of values, packed once.
type patterns struct {
	every   int64
	rows    int // of an hour
	metrics []struct {
		id   int64
		days [fillPatterns]packedSeries // their sums are of the first day
	}
}

func newPatterns(f *Filling) *patterns {
	p := &patterns{every: int64(f.Every), rows: int(hour / int64(f.Every))}
	p.metrics = make([]struct {
		id   int64
		days [fillPatterns]packedSeries
	}, len(f.Metrics))
	r := rand.New(rand.NewPCG(1, 2))
	var e chunk.Encoder
	for m := range p.metrics {
		for k := range fillPatterns {
			v := make([]float64, p.rows)
			at := 100 * float64(m+1)
			for h := range 24 {
				for i := range v {
					at = max(at+math.Round(r.NormFloat64()*2)/10, 0)
					v[i] = math.Round(at*10) / 10
				}
				rows := p.hour(0, h)
				c := &p.metrics[m].days[k]
				c.pieces = append(c.pieces, e.AppendValues(nil, v))
				c.sums = chunk.Aggregates(c.sums, h, &rows, v)
			}
		}
	}
	return p
}

// hour is the rows of an hour of a day that begins at start.
func (p *patterns) hour(start int64, h int) (r chunk.Rows) {
	for i := range p.rows {
		n := int64(h*p.rows + i)
		r.Times = append(r.Times, start+n*p.every)
		r.Steps = append(r.Steps, n*100)
		r.Flags = append(r.Flags, store.DecodeStep)
	}
	return r
}

func (p *patterns) block(engine, start, number int64, pattern int) block {
	b := block{engine: engine, first: start, last: start + day - p.every, level: levelDay}
	steps := number * 24 * int64(p.rows) * 100
	for h := range 24 {
		rows := p.hour(start, h)
		for i := range rows.Steps {
			rows.Steps[i] += steps
		}
		b.pieces = append(b.pieces, chunk.AppendRows(nil, &rows))
	}
	for m := range p.metrics {
		of := &p.metrics[m].days[pattern]
		c := packedSeries{id: p.metrics[m].id, pieces: of.pieces}
		for _, a := range of.sums {
			a.First, a.Last, a.FirstStep, a.LastStep = a.First+start, a.Last+start, a.FirstStep+steps, a.LastStep+steps
			c.sums = append(c.sums, a)
		}
		b.series = append(b.series, c)
	}
	return b
}
