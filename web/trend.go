package web

import (
	"context"
	"math"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// trendBook keeps the spark lines of the deployments, which change slowly and
// cost more than the newest values do.
type trendBook struct {
	at    time.Time
	cost  time.Duration
	lines map[string][]float64
	paces map[int64]time.Duration // of the engines, by ID: the same reading tells them
}

// update adds the trends to a snapshot, read anew where they are due.
func (t *trendBook) update(ctx context.Context, st store.Samples, s *snapshot) error {
	if age := s.at.Sub(t.at); t.lines == nil || age < 0 || age >= max(trendEvery, trendShare*t.cost) {
		began := time.Now()
		lines := map[string][]float64{}
		former := t.paces
		t.paces = map[int64]time.Duration{}
		for _, d := range s.deployments {
			for _, e := range d.engines {
				if p := former[e.ID]; p > 0 {
					t.paces[e.ID] = p // until there is a newer one: an engine that fell silent tells none
				}
			}
		}
		for _, d := range s.deployments {
			line, err := t.read(ctx, st, d, s.at)
			if err != nil {
				return err
			}
			lines[d.Name] = line
		}
		t.at, t.cost, t.lines = s.at, time.Since(began), lines
	}
	for _, d := range s.deployments {
		if _, ok := t.lines[d.Name]; !ok { // a new one need not wait for the next round
			line, err := t.read(ctx, st, d, s.at)
			if err != nil {
				return err
			}
			t.lines[d.Name] = line
		}
		d.trend = t.lines[d.Name]
	}
	return nil
}

// read is the trend metric of a deployment's engines together. It notes the
// engines' paces besides.
func (t *trendBook) read(ctx context.Context, st store.Samples, d *deploymentState, now time.Time) ([]float64, error) {
	m, _ := ledger.Lookup(trendMetric)
	to := now.UnixNano()
	from := to - int64(trendWithin)
	var ids []int64
	for _, e := range d.engines {
		if e.Last >= from {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	q := store.PointsQuery{Selection: store.Selection{Engines: ids, Metrics: []string{m.Key}, From: from, To: to}, Points: trendPoints}
	points, err := st.Points(ctx, q)
	if err != nil {
		return nil, err
	}
	g := timeGrid(q)
	rows := make([][]float64, len(points))
	for i := range points {
		rows[i] = g.held(g.lay(&points[i], m))
		if p := pace(&points[i]); p > 0 {
			t.paces[points[i].Engine] = p
		}
	}
	line := make([]float64, g.cells)
	column := make([]float64, len(rows))
	for i := range line {
		for j, r := range rows {
			column[j] = r[i]
		}
		line[i], _ = aggregate(m.Aggregate, column, nil)
	}
	// Until the last cell is full, a drop at its end would only be the time that has not passed.
	if n := len(line); n > 1 && math.IsNaN(line[n-1]) {
		line = line[:n-1]
	}
	return line, nil
}
