package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// testConcurrent delivers, packs and reads at once: a reader sees whole batches,
// each sample once, whatever is being packed or folded.
func testConcurrent(t *testing.T, open Open) {
	const batches, rows = 60, 40
	st := fresh(t, open, store.Options{})
	columns := []store.Column{{Metric: "sps"}, {Metric: "tps"}}
	batch := func(n int) *store.Batch {
		var list []store.Row
		for i := range int64(rows) { // 20 minutes, and all over the day before
			at := t0 + 48*hour + int64(n)*1200*second + i*30*second
			if i%10 == 9 {
				at -= i * hour / 2
			}
			list = append(list, store.Row{Time: at, Step: i, Flags: store.Flags(i % 3), Values: []float64{1, 2}})
		}
		return one(uint64(n)+1, columns, list...)
	}
	deliver(t, st, "node", batch(0))
	id := engineIDs(t, st, "prod")["rank0"]
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	loop := func(f func() error) {
		work.Go(func() {
			for ctx.Err() == nil {
				if err := f(); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all := store.Selection{Engines: []int64{id}, From: t0, To: t0 + 200*hour}
	loop(func() error {
		_, err := st.Maintain(ctx, time.Unix(0, t0+200*hour), store.Retention{})
		return err
	})
	loop(func() error {
		return st.Read(ctx, all, func(s *store.Series) error {
			if len(s.Values)%rows != 0 {
				t.Errorf("%v has %d samples, not whole batches of %d", s.Column, len(s.Values), rows)
			}
			return nil
		})
	})
	loop(func() error {
		points, err := st.Points(ctx, store.PointsQuery{Selection: all, Points: 77})
		for _, p := range points {
			var n int64
			var sum float64
			for _, b := range p.Buckets {
				n, sum = n+b.N, sum+b.Sum
			}
			if n%rows != 0 || p.Metric == "tps" && sum != float64(2*n) {
				t.Errorf("%v has %d samples in its points with the sum %v", p.Column, n, sum)
			}
		}
		return err
	})
	loop(func() error {
		latest, err := st.Latest(ctx, []int64{id}, nil, 0)
		if err == nil && len(latest) != 2 {
			t.Errorf("latest %+v", latest)
		}
		return err
	})
	for n := 1; n < batches; n++ {
		deliver(t, st, "node", batch(n))
	}
	stop()
	work.Wait()
	maintain(t, st, t0+200*hour, store.Retention{})
	for _, s := range readAll(t, st, all) {
		if len(s.Values) != batches*rows {
			t.Errorf("%v has %d samples, want %d", s.Column, len(s.Values), batches*rows)
		}
	}
}
