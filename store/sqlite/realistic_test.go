package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
)

// simulated is what engines of a simulated deployment log, as rows by time, made once.
type simulated struct {
	layouts []store.Layout
	rows    []store.Row // Engine is the rank
	engines int
	samples int // values that are not absent
}

var simulateOnce = sync.OnceValues(func() (*simulated, error) { return simulate(1, time.Duration(simulatedFor())) })

// simulate runs engines for a while of their clocks, as fast as it goes.
func simulate(engines int, d time.Duration) (*simulated, error) {
	s, err := sim.Builtin("healthy")
	if err != nil {
		return nil, err
	}
	s.Deployments[0].Engines = engines
	out := &simulated{engines: engines}
	p := &rowParser{out: out, layouts: map[string]int{}, end: t0 + int64(d)}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	f, err := sim.NewFleet(s, sim.Options{Seed: 1, Start: time.Unix(0, t0).UTC(), LogStream: p, Errors: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Run(ctx); err != nil && ctx.Err() == nil {
		return nil, err
	}
	return out, p.err
}

// t0 is a whole day: 2026-03-01 00:00 UTC.
const t0 = int64(1_772_323_200_000_000_000)

// simulatedFor is how much of their time the engines are run, over and over again.
func simulatedFor() int64 {
	if testing.Short() {
		return hour / 4
	}
	return 2 * hour
}

// rowParser turns the lines that a fleet writes into rows.
type rowParser struct {
	out     *simulated
	layouts map[string]int
	left    []byte
	results []ledger.Result
	end     int64
	stop    func()
	err     error
}

func (p *rowParser) Write(b []byte) (int, error) {
	p.left = append(p.left, b...)
	for {
		i := bytes.IndexByte(p.left, '\n')
		if i < 0 {
			return len(b), nil
		}
		p.results = ledger.Parse(p.results[:0], p.left[:i])
		for k := range p.results {
			p.row(&p.results[k])
		}
		p.left = p.left[i+1:]
	}
}

func (p *rowParser) row(r *ledger.Result) {
	l := &r.Line
	if r.Err != nil || l.Stamp.Time.IsZero() {
		p.err = fmt.Errorf("unreadable line or one without a time: %v", r.Err)
		p.stop()
		return
	}
	at := l.Stamp.Time.UnixNano()
	if at >= p.end {
		p.stop()
		return
	}
	layout := store.Layout{Section: string(l.Section)}
	row := store.Row{Engine: l.Rank, Time: at, Step: l.Step}
	key := layout.Section
	for _, v := range l.Values {
		if m, ok := ledger.Lookup(v.Key); ok && m.ZeroIsAbsent && v.V == 0 {
			v.V = math.NaN()
		}
		if v.Key == "is_prompt" {
			row.Flags = store.DecodeStep
			if v.V != 0 {
				row.Flags = store.PromptStep
			}
		}
		layout.Columns = append(layout.Columns, store.Column{Metric: v.Key, Label: v.Label})
		row.Values = append(row.Values, v.V)
		key += "\n" + v.Key + "\n" + v.Label
		if v.V == v.V {
			p.out.samples++
		}
	}
	i, ok := p.layouts[key]
	if !ok {
		i = len(p.out.layouts)
		p.layouts[key], p.out.layouts = i, append(p.out.layouts, layout)
	}
	row.Layout = i
	p.out.rows = append(p.out.rows, row)
}

// deliverDay delivers what an engine logs on a day, of the given sections: the
// simulated hours again and again, of all lines one in thin. It returns the number of samples.
func deliverDay(t testing.TB, st store.Samples, engines, thin int, sections ...string) (samples int) {
	sim, err := simulateOnce()
	if err != nil {
		t.Fatal(err)
	}
	b := &store.Batch{Layouts: sim.layouts}
	for i := range engines {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: "prod", Name: fmt.Sprint("rank", i)}, Rank: i, GPU: i})
	}
	flush := func() {
		if _, err := st.Deliver(context.Background(), "node", b); err != nil {
			t.Fatal(err)
		}
		b.Rows = b.Rows[:0]
	}
	for part := range day / simulatedFor() {
		for i, r := range sim.rows {
			if i/3%thin != 0 || !slices.Contains(sections, sim.layouts[r.Layout].Section) {
				continue
			}
			r.Time += part * simulatedFor()
			r.Step += part * 100_000
			for _, v := range r.Values {
				if v == v {
					samples += engines
				}
			}
			for i := range engines {
				r.Engine = i
				b.Rows = append(b.Rows, r)
			}
			if len(b.Rows) >= 2000 {
				flush()
			}
		}
	}
	flush()
	return samples
}

// restingForms brings a day of samples that came as they are from form to form and
// tells the bytes of the file that a sample takes in each, all tables and indexes
// counted. In the first the last rows that are too few for a part count as well.
func restingForms(t testing.TB, s *Store, samples int, empty int64, tell func(form string, bytes float64)) {
	size := func(form string) {
		n, err := s.sampleBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tell(form, float64(n-empty)/float64(samples))
	}
	var m store.Maintained
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	size("as they came")
	for at := t0; at <= t0+day; at += 2 * int64(time.Minute) {
		if at%hour != 0 || at == t0+day { // an hour that is over is packed as a whole
			must(s.compact(t.Context(), at, &m))
		}
	}
	size("parts")
	must(s.fold(t.Context(), t0+day, 0))
	size("hours")
	for at := t0; at < t0+day; at += 3 * hour {
		for e := range engineCount(t, s) {
			must(s.foldWindow(t.Context(), int64(e)+1, at, 3*hour, levelSome))
		}
	}
	size("three hours")
	must(s.fold(t.Context(), t0+day, t0+day))
	size("a day")
}

func engineCount(t testing.TB, s *Store) int {
	engines, err := s.Engines(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return len(engines)
}

// realistic are lines of engines: a [stats] line every 3.5 s and with all others, and
// a line every 40 s.
var realistic = []struct {
	name     string
	sections []string
	thin     int
}{
	{"stats", []string{"stats"}, 1},
	{"all", []string{"stats", "cpu", "cuda", "nccl_memory"}, 1},
	{"stats-40s", []string{"stats"}, 11},
	{"all-40s", []string{"stats", "cpu", "cuda", "nccl_memory"}, 11},
}

// TestRealistic: packed in any form, what engines log takes at most 2.5 bytes a sample
// of the file.
func TestRealistic(t *testing.T) {
	for _, c := range realistic {
		s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
		empty, err := s.sampleBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		samples := deliverDay(t, s, 1, c.thin, c.sections...)
		restingForms(t, s, samples, empty, func(form string, bytes float64) {
			t.Logf("%s, %s: %.2f bytes a sample", c.name, form, bytes)
			if most := 2.5; bytes > most && form != "as they came" {
				t.Errorf("%s, %s: %.2f bytes a sample, want at most %.1f", c.name, form, bytes, most)
			}
		})
	}
}
