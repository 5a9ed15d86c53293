package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func TestFill(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	f := Filling{Deployment: "prod", Engines: 2, Metrics: []string{"sps", "tps", "mfu"}, Days: 3, Start: time.Unix(0, t0), Every: 40 * time.Second}
	if err := s.Fill(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	// 2 engines × 3 metrics × (3 days of 2,160 lines and the first row).
	if n, want := countSamples(t, s), 2*3*(3*2160+1); n != want {
		t.Errorf("%d samples, want %d", n, want)
	}
	if err := s.check(t.Context()); err != nil {
		t.Error(err)
	}
	// What a query sums up from sums is what is in the values.
	ids := []int64{1, 2}
	points, err := s.Points(t.Context(), store.PointsQuery{Selection: store.Selection{Engines: ids, Metrics: []string{"tps"}, From: t0, To: t0 + 3*day}, Points: 3})
	if err != nil || len(points) != 2 || points[0].Width != day {
		t.Fatalf("%+v, %v", points, err)
	}
	err = s.Read(t.Context(), store.Selection{Engines: ids[:1], Metrics: []string{"tps"}, From: t0 + day, To: t0 + 2*day}, func(r *store.Series) error {
		want := store.Bucket{From: t0 + day, N: 2160, Min: r.Values[0], Max: r.Values[0], Last: r.Values[2159], FirstStep: r.Steps[0], LastStep: r.Steps[2159]}
		for _, v := range r.Values {
			want.Min, want.Max, want.Sum = min(want.Min, v), max(want.Max, v), want.Sum+v
		}
		got := points[0].Buckets[1]
		if d := got.Sum - want.Sum; d > 1e-6 || d < -1e-6 {
			t.Errorf("sum %v, want %v", got.Sum, want.Sum)
		}
		if got.Sum = want.Sum; got != want {
			t.Errorf("bucket %+v, want %+v", got, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
