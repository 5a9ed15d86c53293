package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// Damaged chunks are told as such; nothing panics, whatever the bytes.
func TestDamagedChunks(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	deliverDay(t, s, 1, 50, "stats")
	if _, err := s.Maintain(t.Context(), time.Unix(0, t0).Add(20*time.Hour), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if wide, summed, rows := levels(t, s, 1); len(wide) == 0 || len(summed) == 0 || rows == 0 {
		t.Fatalf("wide blocks %v, others %v, %d rows; some of each should be looked at", wide, summed, rows)
	}
	r := rand.New(rand.NewPCG(1, 2))
	sel := store.Selection{Engines: []int64{1}, To: store.MaxTime}
	found := 0
	rounds := 60
	if testing.Short() {
		rounds = 12
	}
	for round := range rounds {
		tx, err := s.w.Begin()
		if err != nil {
			t.Fatal(err)
		}
		table := []string{"series_block", "series_chunk", "series_sum"}[round%3]
		var size int
		if err := tx.QueryRow(`SELECT max(length(data)) FROM ` + table).Scan(&size); err != nil {
			t.Fatal(err)
		}
		noise := make([]byte, size)
		for i := range noise {
			if noise[i] = byte(r.Uint32()); round%2 == 0 {
				noise[i] &= 0x3f // small numbers look like lengths
			}
		}
		at := r.IntN(min(size, 20))
		if _, err := tx.Exec(fmt.Sprintf(`UPDATE %s SET data = CAST(substr(data, 1, ?) || substr(?, 1, max(length(data) - ?, 1)) AS BLOB)`, table), at, noise, at); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		_, err1 := s.Points(t.Context(), store.PointsQuery{Selection: sel})
		err2 := s.Read(t.Context(), sel, func(*store.Series) error { return nil })
		_, err3 := s.Latest(t.Context(), sel.Engines, nil, 0)
		_, err4 := s.Columns(t.Context(), sel)
		_, err5 := s.Maintain(t.Context(), time.Unix(0, t0).Add(40*time.Hour), store.Retention{})
		for _, err := range []error{err1, err2, err3, err4, err5} {
			if err == nil {
				continue
			}
			if found++; !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if round%3 == 2 { // anew
			s = openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
			deliverDay(t, s, 1, 200, "stats")
			if _, err := s.Maintain(t.Context(), time.Unix(0, t0).Add(20*time.Hour), store.Retention{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found < rounds {
		t.Errorf("only %d of %d looks at damaged data failed", found, 5*rounds)
	}
}

// A database of an older layout gets the newer tables, and what it has is kept.
func TestOlderLayouts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := openStore(t, path, store.Options{})
	p, err := provider(s.w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		`INSERT INTO deployment (id, name, created) VALUES (1, 'prod', 1)`,
		`INSERT INTO engine (id, deployment, name, kind, host, rank, gpu, role, model, parallel, version) VALUES (1, 1, 'rank0', '', '', 0, 0, '', '', '', '')`,
		`INSERT INTO series (id, metric, label) VALUES (1, 'sps', ''), (2, 'tps', '')`,
		`INSERT INTO layout (id, key, section, columns) VALUES (1, x'01', 'stats', '[1,2]')`,
		`INSERT INTO stream (engine, layout) VALUES (1, 1)`,
		`INSERT INTO sample (engine, layout, time, step, flags, vals) VALUES (1, 1, 5, 100, 2, x'000000000000F03F0000000000000040')`, // 1 and 2
		`INSERT INTO capture (grp, deployment, engine, collector, asker, steps, output_dir, state, times, warning, error, hint, path, bytes, trace)
			VALUES ('g', 'prod', 'rank0', '', 'cli', 20, '', 'queued', '{"queued":5}', '', '', '', '', 0, '')`,
	} {
		if _, err := s.w.Exec(row); err != nil {
			t.Fatal(row, err)
		}
	}
	s.Close()
	s = openStore(t, path, store.Options{})
	if n := countSamples(t, s); n != 2 {
		t.Errorf("%d samples are there, want 2", n)
	}
	if c, err := s.Capture(t.Context(), 1); err != nil || c.Group != "g" || c.More != nil || c.Note != "" {
		t.Errorf("the capture: %+v, %v", c, err)
	}
	p, err = provider(s.w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), 1); err != nil {
		t.Errorf("down to traces only: %v", err)
	}
	s.Close()
	openStore(t, path, store.Options{})
}

// A damaged block is told, keeps no other engine's rows from being folded, and the file from no bound.
func TestDamageKeepsNothingElse(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	if _, err := s.Deliver(t.Context(), "node", lines(2, t0, t0+3*hour)); err != nil {
		t.Fatal(err)
	}
	maintain := func(after int64, r store.Retention) error {
		_, err := s.Maintain(t.Context(), time.Unix(0, t0+after), r)
		return err
	}
	if err := maintain(3*hour, store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.Exec(`UPDATE series_block SET data = x'00' WHERE id = (SELECT min(id) FROM series_block WHERE engine = 1)`); err != nil {
		t.Fatal(err)
	}
	if err := maintain(5*hour, store.Retention{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("with a damaged block: %v", err)
	}
	if wide, summed, rows := levels(t, s, 2); fmt.Sprint(wide, summed, rows) != fmt.Sprint(map[int]int{}, map[int]int{levelSome: 1}, 0) {
		t.Errorf("the other engine: wide blocks %v, others %v, %d rows; want one of three hours", wide, summed, rows)
	}
	if err := maintain(5*hour, store.Retention{MaxBytes: 1}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("with a damaged block and a bound: %v", err)
	}
	if n := countSamples(t, s); n != 0 {
		t.Errorf("%d samples are left beyond the bound of one byte", n)
	}
	if err := maintain(5*hour, store.Retention{MaxBytes: 1}); err != nil {
		t.Errorf("when it is gone: %v", err)
	}
}

// Hours that an older program packed, with a chunk and a sum for each series, are read
// as they are and folded with what came since.
func TestHoursOfOlderPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := openStore(t, path, store.Options{})
	if _, err := s.Deliver(t.Context(), "node", lines(2, t0, t0+2*hour)); err != nil {
		t.Fatal(err)
	}
	want := pointsOf(t, s)
	var m store.Maintained
	if err := s.compact(t.Context(), t0+2*hour, &m); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []int64{1, 2} {
		for h := range int64(2) { // one with sums of each hour, of level 0 as they were
			if err := s.foldWindow(t.Context(), engine, t0+h*hour, hour, levelSome); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.w.Exec(`UPDATE series_block SET folded = 0`); err != nil {
		t.Fatal(err)
	}
	p, err := provider(s.w)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.DownTo(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	s.Close()

	s = openStore(t, path, store.Options{})
	check := func(when string, wantWide, wantSummed map[int]int) {
		t.Helper()
		if wide, summed, _ := levels(t, s, 1); fmt.Sprint(wide, summed) != fmt.Sprint(wantWide, wantSummed) {
			t.Errorf("%s: wide blocks %v, others %v; want %v and %v", when, wide, summed, wantWide, wantSummed)
		}
		if got := pointsOf(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other points than when they came", when)
		}
	}
	check("opened", nil, map[int]int{levelHour: 2})
	// A late row is a block of its own until its hour is folded with the other.
	late := lines(1, t0+30*60*int64(time.Second), t0+30*60*int64(time.Second)+1)
	late.Layouts[0].Columns = []store.Column{{Metric: "late"}, {Metric: "m0"}}
	late.Rows[0].Values = []float64{7, 5}
	if _, err := s.Deliver(t.Context(), "node", late); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after        int64
		wide, summed map[int]int
	}{
		{2*hour + hour/2, map[int]int{levelHour: 1}, map[int]int{levelHour: 2}},
		{4 * hour, nil, map[int]int{levelSome: 1}},
		{30 * hour, nil, map[int]int{levelDay: 1}},
	} {
		if _, err := s.Maintain(t.Context(), time.Unix(0, t0+step.after), store.Retention{}); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprint("maintained at ", time.Duration(step.after)), step.wide, step.summed)
	}
	if n := countSamples(t, s); n != 2*720*60+2 {
		t.Errorf("%d samples, want 2 × 720 × 60 and the two late ones", n)
	}
}

// pointsOf asks for two metrics by the minute.
func pointsOf(t *testing.T, s *Store) []store.Points {
	t.Helper()
	got, err := s.Points(t.Context(), store.PointsQuery{Selection: store.Selection{Engines: []int64{1, 2}, Metrics: []string{"m3", "m9"}, From: t0, To: t0 + 2*hour}, Points: 120})
	if err != nil || len(got) != 4 || len(got[3].Buckets) != 120 {
		t.Fatalf("%d series, %v", len(got), err)
	}
	return got
}
