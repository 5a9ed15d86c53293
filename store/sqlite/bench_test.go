//go:build unix

package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func openBench(b *testing.B, name string) *Store {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), name), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// statsBatch is so many [stats] lines of 64 engines, a line every 10 s of each.
func statsBatch(b *testing.B, rows int) (batch *store.Batch, samples int) {
	sim, err := simulateOnce()
	if err != nil {
		b.Fatal(err)
	}
	batch = &store.Batch{Layouts: sim.layouts}
	for i := range 64 {
		batch.Engines = append(batch.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: "prod", Name: fmt.Sprint("rank", i)}, Rank: i, GPU: i})
	}
	for i := 0; len(batch.Rows) < rows; i++ {
		r := sim.rows[i%len(sim.rows)]
		if sim.layouts[r.Layout].Section != "stats" {
			continue
		}
		r.Engine = len(batch.Rows) % 64
		r.Time = t0 + int64(len(batch.Rows)/64)*10*int64(time.Second)
		batch.Rows = append(batch.Rows, r)
		samples += len(r.Values)
	}
	return batch, samples
}

// BenchmarkDeliver: samples per CPU-second in batches of 2,000 packed rows, and
// against the same rows one a transaction.
func BenchmarkDeliver(b *testing.B) {
	batch, samples := statsBatch(b, 2000)
	run := func(b *testing.B, s *Store, batch *store.Batch) time.Duration {
		start := cpu(b)
		for i := range batch.Rows {
			batch.Rows[i].Time += int64(time.Hour)
		}
		batch.Seq++
		if _, err := s.Deliver(b.Context(), "node", batch); err != nil {
			b.Fatal(err)
		}
		return cpu(b) - start
	}
	s := openBench(b, "batches.db")
	run(b, s, batch) // makes the engines
	var spent time.Duration
	for b.Loop() {
		spent += run(b, s, batch)
	}
	batches := float64(samples) * float64(b.N) / spent.Seconds()

	single := openBench(b, "single.db")
	one := *batch
	run(b, single, batch)
	var alone time.Duration
	for i := range 200 {
		one.Engines, one.Rows = batch.Engines[i%64:i%64+1], batch.Rows[i:i+1]
		row := one.Rows[0]
		row.Engine = 0
		one.Rows = []store.Row{row}
		one.Seq = uint64(i) + 1_000_000
		alone += run(b, single, &one)
	}
	rows := float64(200) * float64(samples) / 2000 / alone.Seconds()
	b.ReportMetric(batches/1e6, "Msamples/cpu-s")
	b.ReportMetric(batches/rows, "x-row-per-tx")
}

// engineIDs are the ids of all engines.
func engineIDs(b *testing.B, s *Store) (ids []int64) {
	engines, err := s.Engines(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range engines {
		ids = append(ids, e.ID)
	}
	return ids
}

// pointsCPU runs a query and returns the processor time of it.
func pointsCPU(b *testing.B, s *Store, q store.PointsQuery, want int64) time.Duration {
	start := cpu(b)
	got, err := s.Points(b.Context(), q)
	spent := cpu(b) - start
	var n int64
	for _, p := range got {
		for _, bucket := range p.Buckets {
			n += bucket.N
		}
	}
	if err != nil || n != want {
		b.Fatalf("%d samples in %d series, %v; want %d samples", n, len(got), err, want)
	}
	return spent
}

// tidyEvery is how often the server calls Maintain.
const tidyEvery = 2 * time.Minute

// BenchmarkPointsDay: one metric of 64 engines over 24 h, a line every 10 s, as
// 500 points: CPU time in the forms that the samples have as time goes by, and
// against the same from raw rows.
//
// The day ends at 19:00 and is kept up as the server does. That is the worst hour:
// what came since 15:00 is not folded yet. "newest" is the moment before Maintain
// would pack again, "hour-raw" the same if it was not called for an hour.
func BenchmarkPointsDay(b *testing.B) {
	s := openBench(b, "day.db")
	batch, _ := statsBatch(b, 24*360*64)
	end := t0 + 19*hour
	for i := range batch.Rows {
		batch.Rows[i].Time += end - day - t0
	}
	rows, total, samples := batch.Rows, int64(len(batch.Rows)), len(batch.Rows[0].Values)
	deliver := func(before int64) {
		n := 0
		for n < len(rows) && rows[n].Time < before {
			n++
		}
		for part := range slices.Chunk(rows[:n], 2000) {
			one := *batch
			one.Rows = part
			if _, err := s.Deliver(b.Context(), "node", &one); err != nil {
				b.Fatal(err)
			}
		}
		rows = rows[n:]
	}
	var packed int64
	var packing time.Duration
	maintain := func(now int64) {
		start := cpu(b)
		m, err := s.Maintain(b.Context(), time.Unix(0, now), store.Retention{})
		if err != nil {
			b.Fatal(err)
		}
		packed, packing = packed+m.Rows, packing+cpu(b)-start
	}
	var raw time.Duration
	query := func(name string) {
		q := store.PointsQuery{Selection: store.Selection{Engines: engineIDs(b, s), Metrics: []string{"cur_SPS"}, From: end - day, To: end}, Points: 500}
		if raw == 0 {
			raw = pointsCPU(b, s, q, total)
			return
		}
		b.Run(name, func(b *testing.B) {
			var spent time.Duration
			for b.Loop() {
				spent += pointsCPU(b, s, q, total)
			}
			each := spent / time.Duration(b.N)
			b.ReportMetric(each.Seconds()*1e3, "cpu-ms")
			b.ReportMetric(raw.Seconds()/each.Seconds(), "x-raw-rows")
			b.ReportMetric(float64(samples)*float64(packed)/packing.Seconds()/1e6, "Msamples-packed/cpu-s")
		})
	}
	keepUp := func(from, to int64) {
		for now := from + int64(tidyEvery); now < to; now += int64(tidyEvery) {
			deliver(now)
			maintain(now)
		}
		deliver(to)
	}
	deliver(end)
	query("raw")
	if _, err := s.w.Exec(`DELETE FROM sample`); err != nil {
		b.Fatal(err)
	}
	rows = batch.Rows
	deliver(end - 8*hour)
	maintain(end - 8*hour)
	keepUp(end-8*hour, end-hour)
	deliver(end)
	query("hour-raw")
	if _, err := s.w.Exec(`DELETE FROM sample WHERE time >= ?`, end-hour); err != nil {
		b.Fatal(err)
	}
	rows = batch.Rows[len(batch.Rows)*23/24:]
	keepUp(end-hour, end)
	batch.Rows, rows = nil, nil // else the collector of garbage looks at half a million rows for each query
	query("newest")
	for range 2 { // the first still takes the clocks for slow, as lines came since the last
		maintain(end + 8*hour)
	}
	var open int
	if err := s.r.QueryRow(`SELECT count(*) FROM series_block WHERE chunk = 0`).Scan(&open); err != nil || open > 0 {
		b.Fatalf("%d blocks are not folded, %v", open, err)
	}
	query("folded")
}

// BenchmarkBytes: bytes of the file a sample takes in each form that it rests in, over a
// day of an engine, and against the same as it came.
func BenchmarkBytes(b *testing.B) {
	for _, c := range realistic {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				s := openBench(b, "bytes.db")
				empty, err := s.sampleBytes(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				samples := deliverDay(b, s, 1, c.thin, c.sections...)
				came := 0.0
				restingForms(b, s, samples, empty, func(form string, bytes float64) {
					form = strings.ReplaceAll(form, " ", "-")
					b.ReportMetric(bytes, "B/sample-"+form)
					if came == 0 {
						came = bytes
					} else {
						b.ReportMetric(came/bytes, "x-as-they-came-"+form)
					}
				})
			}
		})
	}
}

// BenchmarkPointsYear: a year of 64 engines, a line every 40 s: one metric of all
// engines over ever longer ranges that end with it. There are ten metrics: with
// 40 the queries take the same, since a series' sums lie together.
func BenchmarkPointsYear(b *testing.B) {
	s := openBench(b, "year.db")
	var metrics []string
	for i := range 10 {
		metrics = append(metrics, fmt.Sprint("metric", i))
	}
	days := 365
	if testing.Short() {
		days = 40
	}
	start := cpu(b)
	if err := s.Fill(b.Context(), Filling{Deployment: "prod", Engines: 64, Metrics: metrics, Days: days, Start: time.Unix(0, t0), Every: 40 * time.Second}); err != nil {
		b.Fatal(err)
	}
	if err := s.foldLog(b.Context()); err != nil {
		b.Fatal(err)
	}
	size, err := s.sampleBytes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d days: %d MB, made in %v of CPU", days, size>>20, cpu(b)-start)
	ids := engineIDs(b, s)
	for _, span := range []int{1, 7, 30, 90, 180, 270, 365} {
		if span > days {
			continue
		}
		b.Run(fmt.Sprint(span, "d"), func(b *testing.B) {
			q := store.PointsQuery{Selection: store.Selection{Engines: ids, Metrics: metrics[7:8], From: t0 + int64(days-span)*day + 1, To: t0 + int64(days)*day}, Points: 500}
			want := int64(64 * (span*2160 - 1))
			var spent time.Duration
			for b.Loop() {
				spent += pointsCPU(b, s, q, want)
			}
			b.ReportMetric(spent.Seconds()*1e3/float64(b.N), "cpu-ms")
		})
	}
}

// BenchmarkThousand: 1,000 engines with a [stats], a [cpu] and a [cuda] line each
// per 10 s, delivered every second: the share of one core that storing takes,
// and that packing takes. Then the newest values of all of them.
func BenchmarkThousand(b *testing.B) {
	sim, err := simulateOnce()
	if err != nil {
		b.Fatal(err)
	}
	kinds := map[string][]store.Row{}
	for _, r := range sim.rows {
		section := sim.layouts[r.Layout].Section
		kinds[section] = append(kinds[section], r)
	}
	s := openBench(b, "thousand.db")
	batch := &store.Batch{Layouts: sim.layouts}
	round := func(n int64) { // 10 s
		for part := range 10 {
			batch.Engines, batch.Rows = batch.Engines[:0], batch.Rows[:0]
			for i := range 100 {
				engine := part*100 + i
				batch.Engines = append(batch.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: fmt.Sprint("prod", engine/50), Name: fmt.Sprint("rank", engine%50)}, Rank: engine % 50, GPU: engine % 8})
				for _, section := range []string{"stats", "cpu", "cuda"} {
					r := kinds[section][(int(n)*7+engine)%len(kinds[section])]
					r.Engine, r.Time, r.Step = i, t0+n*10*int64(time.Second)+int64(engine)*int64(time.Millisecond), n*100
					batch.Rows = append(batch.Rows, r)
				}
			}
			batch.Seq++
			if _, err := s.Deliver(b.Context(), "node", batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	const rounds = 90 // a quarter of an hour
	start := cpu(b)
	for n := range int64(rounds) {
		round(n)
	}
	delivering := cpu(b) - start
	ids := engineIDs(b, s)
	now := t0 + rounds*10*int64(time.Second)
	var spent time.Duration
	for b.Loop() {
		start := cpu(b)
		got, err := s.Latest(b.Context(), ids, []string{"cur_SPS", "avg_SPS", "pending", "running", "cur_TPS"}, now-300*int64(time.Second))
		if err != nil || len(got) < 3000 {
			b.Fatalf("%d values, %v", len(got), err)
		}
		spent += cpu(b) - start
	}
	// Packed as pieces of a quarter of an hour: whole hours cost less a row.
	start = cpu(b)
	if m, err := s.Maintain(b.Context(), time.Unix(0, t0).Add(3*time.Hour), store.Retention{}); err != nil || m.Rows != rounds*3000 {
		b.Fatalf("%+v, %v", m, err)
	}
	packing := cpu(b) - start
	b.ReportMetric(100*delivering.Seconds()/(rounds*10), "%core-deliver")
	b.ReportMetric(100*packing.Seconds()/(rounds*10), "%core-pack")
	b.ReportMetric(spent.Seconds()*1e3/float64(b.N), "cpu-ms-latest")
}
