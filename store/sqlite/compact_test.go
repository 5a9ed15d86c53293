package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// lines is a row every 10 s of each engine, from one time to another; the value
// is its number.
func lines(engines int, from, to int64) *store.Batch {
	b := &store.Batch{Layouts: []store.Layout{{Section: "stats"}}}
	for c := range 60 {
		b.Layouts[0].Columns = append(b.Layouts[0].Columns, store.Column{Metric: fmt.Sprint("m", c)})
	}
	for e := range engines {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: "prod", Name: fmt.Sprint("rank", e)}})
	}
	for at := from; at < to; at += 10 * int64(time.Second) {
		v := make([]float64, len(b.Layouts[0].Columns))
		for c := range v {
			v[c] = float64((at - t0) / int64(10*time.Second))
		}
		for e := range engines {
			b.Rows = append(b.Rows, store.Row{Engine: e, Time: at, Step: -1, Values: v})
		}
	}
	return b
}

// levels counts an engine's blocks by their level, those that are not wide apart,
// and its rows that lie as they came.
func levels(t *testing.T, s *Store, engine int64) (wide, summed map[int]int, rows int) {
	t.Helper()
	wide, summed = map[int]int{}, map[int]int{}
	found, err := s.w.Query(`SELECT folded, chunk = 0, count(*) FROM series_block WHERE engine = ? GROUP BY 1, 2`, engine)
	err = scanAll(found, err, func(scan scanner) error {
		var level, n int
		var isWide bool
		err := scan(&level, &isWide, &n)
		if isWide {
			wide[level] = n
		} else {
			summed[level] = n
		}
		return err
	})
	if err == nil {
		err = s.w.QueryRow(`SELECT count(*) FROM sample WHERE engine = ?`, engine).Scan(&rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wide, summed, rows
}

// Samples that are packed every few minutes are parts of an hour, hours, some hours
// and a day in turn, and few rows wait.
func TestForms(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	const tick = 2 * int64(time.Minute)
	f := func(now int64, wantWide, wantSummed map[int]int, wantRows int) {
		t.Helper()
		wide, summed, rows := levels(t, s, 1)
		if fmt.Sprint(wide, summed, rows) != fmt.Sprint(wantWide, wantSummed, wantRows) {
			t.Errorf("after %v: wide blocks %v, blocks with sums %v, %d rows; want %v, %v, %d", time.Duration(now-t0), wide, summed, rows, wantWide, wantSummed, wantRows)
		}
		if n := countSamples(t, s); n != 60*int((now-t0)/int64(10*time.Second)) {
			t.Errorf("after %v: %d samples", time.Duration(now-t0), n)
		}
	}
	for now := t0; now <= t0+26*hour; now += tick {
		if now > t0 {
			if _, err := s.Deliver(t.Context(), "node", lines(1, now-tick, now)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Maintain(t.Context(), time.Unix(0, now), store.Retention{}); err != nil {
			t.Fatal(err)
		}
		// Twelve rows come each time and the last six are too new. 42 are enough after 8 minutes,
		// then 36 every six: after 56 there are 9 parts of 330 rows in all.
		switch now - t0 {
		case 6 * int64(time.Minute):
			f(now, nil, nil, 36)
		case 8 * int64(time.Minute):
			f(now, map[int]int{levelPart: 1}, nil, 6)
		case 12 * int64(time.Minute):
			f(now, map[int]int{levelPart: 1}, nil, 30)
		case hour:
			f(now, map[int]int{levelPart: 9}, nil, 30)
		case hour + tick:
			f(now, map[int]int{levelHour: 1}, nil, 12)
		case 4*hour - tick:
			f(now, map[int]int{levelHour: 3, levelPart: 9}, nil, 18)
		case 4*hour + tick:
			f(now, map[int]int{levelHour: 1}, map[int]int{levelSome: 1}, 12)
		case 25*hour + tick:
			f(now, map[int]int{levelHour: 1}, map[int]int{levelDay: 1}, 12)
		}
	}
}

// An engine whose clock is eight hours behind takes the same forms at its own hours, so
// no hour of it is packed and folded anew for every few lines; when it ends, all is
// packed.
func TestClockBehind(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	const tick, late = 2 * int64(time.Minute), 8 * hour
	for now := t0; now <= t0+13*hour/2; now += tick {
		if _, err := s.Deliver(t.Context(), "node", lines(1, now, now+tick)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Maintain(t.Context(), time.Unix(0, now+late), store.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	// It has got to 06:30 of its own time. As for others, three hours that ended more than
	// an hour ago are folded, then there are three hours, and parts of the seventh.
	wide, summed, rows := levels(t, s, 1)
	if fmt.Sprint(wide, summed) != fmt.Sprint(map[int]int{levelPart: 5, levelHour: 3}, map[int]int{levelSome: 1}) || rows > 40 {
		t.Errorf("wide blocks %v, others %v, %d rows", wide, summed, rows)
	}
	before := countSamples(t, s)
	for range 2 { // it says no more
		if _, err := s.Maintain(t.Context(), time.Unix(0, t0+13*hour/2+late), store.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, rows := levels(t, s, 1); rows != 0 || countSamples(t, s) != before {
		t.Errorf("%d rows wait and %d samples are there; want none and %d", rows, countSamples(t, s), before)
	}
}

// Packing the rows of many engines, which lie mixed, writes each page once or twice,
// not once for every few engines: that took more than three times their room in the log.
func TestPackingWritesLittle(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	if _, err := s.Deliver(t.Context(), "node", lines(64, t0, t0+hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.foldLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := s.sampleBytes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.foldAt.Store(math.MaxInt64)
	if _, err := s.w.Exec(`PRAGMA wal_autocheckpoint = 0`); err != nil {
		t.Fatal(err)
	}
	var m store.Maintained
	if err := s.compact(t.Context(), t0+2*hour, &m); err != nil || m.Rows != 64*360 {
		t.Fatalf("%+v, %v", m, err)
	}
	if log := logSize(s.path); log > 5*rows/2 {
		t.Errorf("packing %d MB of rows wrote %d MB to the log", rows>>20, log>>20)
	}
}

// What retention removes makes the file shorter at once. What packing frees is filled
// again by what comes; the file doesn't grow for it.
func TestRetentionShrinksFile(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	deliver := func(from, to int64) {
		t.Helper()
		if _, err := s.Deliver(t.Context(), "node", lines(8, from, to)); err != nil {
			t.Fatal(err)
		}
	}
	maintain := func(now int64, r store.Retention) store.Maintained {
		t.Helper()
		m, err := s.Maintain(t.Context(), time.Unix(0, now), r)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	deliver(t0, t0+8*hour) // 8 × 8 × 360 rows of 60 values: 11 MB
	size := func() int64 {
		t.Helper()
		if err := s.foldLog(t.Context()); err != nil {
			t.Fatal(err)
		}
		return fileSize(t, s.path)
	}
	came := size()
	maintain(t0+9*hour, store.Retention{})
	deliver(t0+8*hour, t0+14*hour)
	if now := size(); now > came+came/10 { // 3 MB packed and 8 as they came
		t.Errorf("the file has %d bytes after packing and 6 hours more, %d before", now, came)
	}
	if m := maintain(t0+80*hour, store.Retention{Chunks: 10 * time.Hour}); m.DroppedChunks == 0 || m.FreedBytes == 0 {
		t.Errorf("dropped %+v", m)
	}
	if now := size(); now > came/8 {
		t.Errorf("the file has %d bytes when all is removed, %d before", now, came)
	}
}

// maintainVar makes the test binary a server that gets killed while it packs, folds
// and removes; it holds the database's path.
const maintainVar = "STEPSCOPE_TEST_MAINTAINER"

// TestMaintainer is no test: it delivers hours and maintains after each, for good.
func TestMaintainer(t *testing.T) {
	path := os.Getenv(maintainVar)
	if path == "" {
		t.Skip("runs as the child of TestMaintainKilled")
	}
	ctx := context.Background()
	s := openStore(t, path, store.Options{})
	for {
		_, seq, err := s.Positions(ctx, "node")
		if err != nil {
			t.Fatal(err)
		}
		at := t0 + int64(seq)*hour
		b := lines(4, at, at+hour)
		b.Seq = seq + 1
		if _, err := s.Deliver(ctx, "node", b); err != nil {
			t.Fatal(err)
		}
		fmt.Println("delivered", b.Seq)
		if _, err := s.Maintain(ctx, time.Unix(0, at+hour), store.Retention{Chunks: 30 * time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
}

// Killed at any moment of packing, folding and removing, the database is whole, and
// what is not too old is there once.
func TestMaintainKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	kills := 14
	if testing.Short() {
		kills = 4
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMaintainer$")
		cmd.Env = append(os.Environ(), maintainVar+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewScanner(out)
		for range 3 + r.IntN(4) {
			if !said.Scan() {
				t.Fatalf("the child ended early: %v", said.Err())
			}
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond) // somewhere in Maintain
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed

		s := openStore(t, path, store.Options{})
		var answer string
		if err := s.w.QueryRow(`PRAGMA integrity_check`).Scan(&answer); err != nil || answer != "ok" {
			t.Fatalf("after a kill: %q, %v", answer, err)
		}
		_, hours, err := s.Positions(t.Context(), "node")
		if err != nil {
			t.Fatal(err)
		}
		err = s.Read(t.Context(), store.Selection{Engines: engineIDsOf(t, s), Metrics: []string{"m7"}, To: store.MaxTime}, func(got *store.Series) error {
			last := float64(hours)*360 - 1
			first := last + 1 - float64(len(got.Values))
			// Kept are 30 hours before the last round but one, and up to a day of whole blocks before those.
			if len(got.Values) < min(int(hours), 30)*360 || len(got.Values) > 56*360 {
				t.Errorf("engine %d has %d values of %d hours", got.Engine, len(got.Values), hours)
			}
			for i, v := range got.Values {
				if v != first+float64(i) || got.Times[i] != t0+int64(v)*int64(10*time.Second) {
					t.Fatalf("engine %d: value %d of %d is %v at %d; all from %v to %v should be there", got.Engine, i, len(got.Values), v, got.Times[i], first, last)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}

func engineIDsOf(t *testing.T, s *Store) (ids []int64) {
	t.Helper()
	engines, err := s.Engines(t.Context(), "")
	if err != nil || len(engines) != 4 {
		t.Fatalf("%d engines, %v", len(engines), err)
	}
	for _, e := range engines {
		ids = append(ids, e.ID)
	}
	return ids
}
