package logs

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// bench feeds a Mapper and keeps what it gave.
type bench struct {
	t         *testing.T
	m         *Mapper
	positions map[string]string
	place     Place
	rows      []store.Row
	layouts   []store.Layout // of rows
	engines   []store.EngineInfo
	events    []store.Event
	of        []string // engines of events
}

func newBench(t *testing.T, id Identity) *bench {
	b := &bench{t: t, positions: map[string]string{}}
	if id.Deployment == "" {
		id.Deployment = "d"
	}
	b.place = Place{Path: "x.log", Ref: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), Arrival: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	b.m = NewMapper(id, time.UTC, func(name string) string { return b.positions[name] })
	return b
}

// restart forgets all but what was stored.
func (b *bench) restart() { b.m = NewMapper(b.m.id, b.m.zone, b.m.position) }

func (b *bench) take() {
	got := b.m.Take()
	if got == nil {
		return
	}
	if err := got.Check(); err != nil {
		b.t.Fatal(err)
	}
	for _, r := range got.Rows {
		b.rows = append(b.rows, r)
		b.layouts = append(b.layouts, got.Layouts[r.Layout])
		b.engines = append(b.engines, got.Engines[r.Engine])
	}
	for _, e := range got.Events {
		b.events = append(b.events, e)
		b.of = append(b.of, got.Engines[e.Engine].Name)
	}
	for _, p := range got.Positions {
		b.positions[p.Source] = p.Value
	}
}

func (b *bench) lines(list ...string) {
	for _, l := range list {
		b.m.Line([]byte(l), &b.place)
	}
	b.take()
}

// stats is a [stats] line of rank 0 at a time of 2026-11-29.
func stats(clock string, step int, more string) string {
	return fmt.Sprintf("2026-11-29 %s INFO RANK 0, GPU 3, step %d, [stats] (is_prompt False | running 4%s)", clock, step, more)
}

func cpu(clock string, step int) string {
	return fmt.Sprintf("2026-11-29 %s INFO RANK 0, GPU 3, step %d, [cpu] (schedule cur2.1ms/mean1.8ms/max9.4ms/100calls/18.3%%)", clock, step)
}

// want compares the events since the last want, in short: kind from→to ×count.
func (b *bench) want(list ...string) {
	b.t.Helper()
	var got []string
	for _, e := range b.events {
		got = append(got, fmt.Sprintf("%s %d→%d ×%d", e.Kind, e.FromStep, e.ToStep, e.Count))
	}
	if fmt.Sprint(got) != fmt.Sprint(list) {
		b.t.Errorf("events %q, want %q", got, list)
	}
	b.events = nil
}

func TestRows(t *testing.T) {
	b := newBench(t, Identity{Deployment: "d", Host: "h", HostInNames: true, Role: "mixed", Model: "m", Parallel: "tp8"})
	b.lines(
		stats("10:00:00,250", 100, " | TTFT (max 0.0 ms, mean 12.5 ms)"),
		"some other line",
		"2026-11-29 10:00:01,000 RANK 1, GPU 4, step 100, [stats] (is_prompt True | pending 2)",
		cpu("10:00:02,000", 100),
	)
	if len(b.rows) != 3 {
		t.Fatalf("%d rows", len(b.rows))
	}
	value := func(row int, key, label string) float64 {
		for i, c := range b.layouts[row].Columns {
			if c.Metric == key && c.Label == label {
				return b.rows[row].Values[i]
			}
		}
		t.Errorf("row %d has no %s %q", row, key, label)
		return -1
	}
	if v := value(0, "running", ""); v != 4 {
		t.Errorf("running %v", v)
	}
	if v := value(0, "TTFT_max", ""); !math.IsNaN(v) {
		t.Errorf("a maximum of no first tokens is %v", v)
	}
	if v := value(0, "TTFT_mean", ""); v != 12.5 {
		t.Errorf("TTFT_mean %v", v)
	}
	want := time.Date(2026, 11, 29, 10, 0, 0, 250e6, time.UTC).UnixNano()
	if r := b.rows[0]; r.Time != want || r.Step != 100 || r.Flags != store.DecodeStep {
		t.Errorf("row %+v", r)
	}
	if r := b.rows[1]; r.Flags != store.PromptStep || b.engines[1].Name != "h/rank1" {
		t.Errorf("row %+v of %+v", r, b.engines[1])
	}
	if r := b.rows[2]; r.Flags != 0 || b.layouts[2].Section != "cpu" {
		t.Errorf("row %+v in %s", r, b.layouts[2].Section)
	}
	info := store.EngineInfo{EngineKey: store.EngineKey{Deployment: "d", Name: "h/rank0"}, Kind: "deepinfer", Host: "h", Rank: 0, GPU: 3, Role: "mixed", Model: "m", Parallel: "tp8"}
	if b.engines[0] != info {
		t.Errorf("engine %+v", b.engines[0])
	}
	if c := b.m.Counts(); c.Lines != 3 || c.Foreign != 1 || c.Unreadable != 0 {
		t.Errorf("counts %+v", c)
	}
}

func TestGaps(t *testing.T) {
	b := newBench(t, Identity{})
	b.lines(stats("10:00:00", 500, ""), stats("10:00:10", 600, ""), stats("10:00:20", 700, ""))
	b.want() // the beginning is nobody's gap
	b.lines(stats("10:01:00", 1100, ""))
	b.want("gap 800→1000 ×3")
	b.restart() // gaps are found across restarts of the collector
	b.lines(stats("10:01:30", 1400, ""))
	b.want("gap 1200→1300 ×2")
	// Sections are counted apart.
	b.lines(cpu("10:01:30", 1400), stats("10:01:40", 1500, ""), stats("10:01:50", 1600, ""), cpu("10:01:50", 1600), cpu("10:02:00", 1700))
	b.want("gap 1500→1500 ×1")
}

// The first distance seen may itself hold a gap: it is told once a shorter one is seen.
func TestGapBeforeTheIntervalIsKnown(t *testing.T) {
	b := newBench(t, Identity{})
	b.lines(stats("10:00:00", 500, ""), stats("10:00:30", 800, ""))
	b.want()
	b.lines(stats("10:00:40", 900, ""))
	b.want("gap 600→700 ×2")
	b.lines(stats("10:00:50", 1000, ""), stats("10:01:00", 1100, ""))
	b.want()
}

func TestRestarts(t *testing.T) {
	b := newBench(t, Identity{})
	b.lines(stats("10:00:00", 0, ""), cpu("10:00:00", 0), stats("10:00:10", 100, ""), cpu("10:00:10", 100), stats("10:00:20", 200, ""), cpu("10:00:20", 200))
	b.want()
	b.lines(stats("10:05:00", 0, ""), cpu("10:05:00", 0))
	b.want("restart 200→0 ×0")
	b.lines(stats("10:05:20", 0, ""), cpu("10:05:20", 0), stats("10:05:30", 100, ""))
	b.want("restart 0→0 ×0") // again, before the first interval had passed
	b.lines(cpu("10:05:30", 100), stats("10:05:40", 200, ""), cpu("10:05:40", 200), stats("10:05:50", 300, ""), cpu("10:05:50", 300))
	b.want()
	// The line of step 0 was lost, and the [stats] line of step 100 too.
	b.lines(cpu("10:09:00", 100), stats("10:09:10", 200, ""), cpu("10:09:10", 200), stats("10:09:20", 300, ""), cpu("10:09:20", 300), stats("10:09:30", 400, ""))
	b.want("restart 300→100 ×0", "gap 0→0 ×1", "gap 0→100 ×2")
}

func TestFilling(t *testing.T) {
	b := newBench(t, Identity{})
	b.lines(stats("10:00:00", 0, ""), stats("10:00:10", 100, ""), stats("10:00:20", 200, ""), stats("10:05:00", 0, ""), stats("10:05:10", 100, ""), stats("10:05:20", 200, ""))
	var got []bool
	for _, r := range b.rows {
		got = append(got, r.Flags&store.Filling != 0)
	}
	if fmt.Sprint(got) != "[true true false true true false]" {
		t.Errorf("filling %v", got)
	}
	// The first [cuda] line comes with the second [stats] line, and its windows are as young.
	b = newBench(t, Identity{})
	cuda := func(clock string, step int) string { return strings.Replace(cpu(clock, step), "[cpu]", "[cuda]", 1) }
	b.lines(stats("10:00:00", 0, ""), stats("10:00:10", 100, ""), cuda("10:00:10", 100), stats("10:00:20", 200, ""), cuda("10:00:20", 200))
	got = nil
	for _, r := range b.rows {
		got = append(got, r.Flags&store.Filling != 0)
	}
	if fmt.Sprint(got) != "[true true true false false]" {
		t.Errorf("filling with [cuda] lines %v", got)
	}
}

func TestClockJumps(t *testing.T) {
	b := newBench(t, Identity{})
	// 100 steps at 10 per second take 10 s.
	b.lines(stats("10:00:00", 100, " | avg_SPS 10.0"), stats("10:00:10", 200, " | avg_SPS 10.0"), stats("10:00:20", 300, " | avg_SPS 10.0"))
	b.want()
	b.lines(stats("12:00:30", 400, " | avg_SPS 10.0"))
	if d := b.events[0].Detail; d != "2h0m0s" {
		t.Errorf("the clock jumped by %s", d)
	}
	if f := b.rows[3].Flags; f&store.ClockJump == 0 {
		t.Errorf("flags %b", f)
	}
	b.want("clock_jump -1→400 ×0")
	b.lines(stats("10:00:40", 500, " | avg_SPS 10.0"))
	if d := b.events[0].Detail; d != "-1h59m50s" { // as far as two lines tell, without what passed between them
		t.Errorf("the clock jumped by %s", d)
	}
	b.want("clock_jump -1→500 ×0")
	// The engine stood still for an hour: its own figure says so.
	b.lines(stats("11:00:50", 600, " | avg_SPS 0.028"))
	b.want("silence -1→600 ×0")
	// Lines out of order by less than a second are no jump.
	b.lines(cpu("11:00:49.500", 600))
	b.want()
}

func TestArrival(t *testing.T) {
	b := newBench(t, Identity{})
	b.lines("RANK 0, GPU 0, step 100, [stats] (running 1)", "RANK 0, GPU 0, step 200, [stats] (running 1)")
	for _, r := range b.rows {
		if r.Time != b.place.Arrival.UnixNano() || r.Flags != store.ArrivalTime {
			t.Errorf("row %+v", r)
		}
	}
	b.want()
}

func TestUnreadable(t *testing.T) {
	b := newBench(t, Identity{})
	b.place.Offset = 77
	b.lines("RANK x, GPU 0, step 1, [stats] (running 1)") // nobody's yet
	b.want()
	b.lines(stats("10:00:00", 100, " | pending x"), stats("10:00:10", 200, " | pending y"), "RANK 0, GPU 3, step 300, [stats] (running 5 | pen")
	if c := b.m.Counts(); c.Unreadable != 4 || c.Lines != 3 {
		t.Errorf("counts %+v", c)
	}
	if len(b.events) != 2 || b.events[0].Count != 2 || !strings.Contains(b.events[0].Detail, "x.log, byte 77") || !strings.HasPrefix(b.events[0].Detail, string(ledger.BadValue)) {
		t.Errorf("events %+v", b.events)
	}
}

func TestWhen(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Skip("no zone files:", err)
	}
	parse := func(s string) time.Time {
		t.Helper()
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	f := func(prefix string, zone *time.Location, ref, want string) {
		t.Helper()
		r := ledger.Parse(nil, []byte(prefix+" RANK 0, GPU 0, step 1, [stats] (running 1)"))
		got, ok := when(r[0].Line.Stamp, zone, parse(ref))
		if !ok || !got.Equal(parse(want)) {
			t.Errorf("%s: %v, %v; want %s", prefix, got.UTC(), ok, want)
		}
	}
	const ref = "2026-11-29T12:00:00Z"
	f("2026-11-29 10:00:00,5", time.UTC, ref, "2026-11-29T10:00:00.5Z")
	f("2026-11-29 18:00:00", shanghai, ref, "2026-11-29T10:00:00Z")
	f("2026-11-29T18:00:00+08:00", time.UTC, ref, "2026-11-29T10:00:00Z")
	f("INFO 11-29 10:00:00", time.UTC, ref, "2026-11-29T10:00:00Z")
	// At the turn of the year the date decides.
	f("INFO 12-31 23:59:59", time.UTC, "2027-01-01T00:00:05Z", "2026-12-31T23:59:59Z")
	f("INFO 01-01 00:00:01", time.UTC, "2027-01-01T00:00:05Z", "2027-01-01T00:00:01Z")
	f("INFO 01-01 00:00:01", time.UTC, "2026-12-31T23:59:58Z", "2027-01-01T00:00:01Z") // our clock is behind
	f("INFO 01-01 07:59:59", shanghai, "2027-01-01T00:00:05Z", "2026-12-31T23:59:59Z")
	f("INFO 12-31 23:00:00", shanghai, "2026-12-31T15:00:05Z", "2026-12-31T15:00:00Z")
	f("Jan  1 00:00:01 +0800", time.UTC, "2027-01-01T00:00:05Z", "2026-12-31T16:00:01Z")
	f("INFO 02-29 10:00:00", time.UTC, "2026-03-01T00:00:00Z", "2024-02-29T10:00:00Z")
	if _, ok := when(ledger.Stamp{}, time.UTC, time.Now()); ok {
		t.Error("a time out of nothing")
	}
}

// Whatever stands in a log, what the Mapper makes of it can be stored.
func FuzzMapper(f *testing.F) {
	f.Add([]byte(stats("10:00:00", 0, "") + "\n" + cpu("10:00:00", 0) + "\n" + stats("09:00:00", 300, "")))
	f.Add([]byte("RANK 4294967296, GPU 0, step 1, [stats] (running 1)\nRANK 0, GPU 0, step 9223372036854775807, [stats] (a\u202e 1)\nRANK 0, GPU 0, step 0, [stats] (b 1)"))
	f.Add([]byte("2199-12-31T23:59:59-14:00 RANK 0, GPU 0, step 1, [stats] (running 1)\n1970-01-01T00:00:00+14:00 RANK 0, GPU 0, step 2, [stats] (avg_SPS 1e-300)"))
	f.Add([]byte("RANK 0, GPU 0, step 1, [nccl_memory] (total=1.5 GiB | groups=[" + strings.Repeat("x", 300) + " (1 GiB)])"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBench(t, Identity{Deployment: "d", Host: "h", HostInNames: len(data)%2 == 0, Role: "prompt"})
		for line := range strings.Lines(string(data)) {
			b.m.Line([]byte(line), &b.place)
			b.place.Live = !b.place.Live
			b.place.Arrival = b.place.Arrival.Add(time.Second)
		}
		b.take()
		b.restart()
		for line := range strings.Lines(string(data)) {
			b.m.Line([]byte(line), &b.place)
		}
		b.take()
	})
}

func TestTooManyEngines(t *testing.T) {
	b := newBench(t, Identity{})
	for rank := range maxEngines + 10 {
		b.m.Line(fmt.Appendf(nil, "RANK %d, GPU 0, step 1, [stats] (running 1)", rank), &b.place)
	}
	b.take()
	if c := b.m.Counts(); len(b.rows) != maxEngines || c.Unreadable != 10 {
		t.Errorf("%d rows, counts %+v", len(b.rows), c)
	}
}

// The hour that is repeated when summer time ends is told apart by the lines before. Berlin's clocks go from 3:00 CEST back
// to 2:00 CET at 1:00 UTC of 25 October 2026.
func TestRepeatedHour(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, zone := range []*time.Location{berlin, time.UTC} {
		b := newBench(t, Identity{})
		b.m.zone = zone
		begin := time.Date(2026, 10, 24, 23, 40, 0, 0, time.UTC) // 1:40 CEST
		for i := range 300 {                                     // 2.5 hours, a line each half minute
			at := begin.Add(time.Duration(i) * 30 * time.Second)
			b.lines(fmt.Sprintf("%s INFO RANK 0, GPU 0, step %d, [stats] (avg_SPS 10.0 | running 1)", at.In(zone).Format("2006-01-02 15:04:05"), 300*(i+1)))
			if got := time.Unix(0, b.rows[i].Time); !got.Equal(at) {
				t.Fatalf("%v, line %d: %v, want %v", zone, i, got.UTC(), at)
			}
			if i == 120 {
				b.restart()
			}
		}
		b.want()
	}
}

// A prompt engine logs every fifth of its window; nobody need say that it is one. The window of the experts' load has 128 steps.
func TestFillingOfLongerWindows(t *testing.T) {
	f := func(want string, every int, body string) {
		t.Helper()
		b := newBench(t, Identity{})
		got := ""
		for i := range 8 {
			b.lines(fmt.Sprintf("2026-11-29 10:00:%02d INFO RANK 0, GPU 3, step %d, [stats] (%s)", 2*i, every*i, body))
			if b.rows[i].Flags&store.Filling != 0 {
				got += fmt.Sprint(every*i, " ")
			}
		}
		if got != want {
			t.Errorf("%s: filling at %s, want %s", body, got, want)
		}
	}
	f("0 20 40 60 80 100 ", 20, "is_prompt True | running 1")
	f("0 20 ", 20, "is_prompt False | running 1")
	f("0 37 74 111 ", 37, "is_prompt False | running 1 | moe_lb 1.1")
	f("0 100 ", 100, "is_prompt False | running 1 | moe_lb 1.1")
}

// A clock that runs back is told once, not for each section.
func TestClockRunsBackOnce(t *testing.T) {
	b := newBench(t, Identity{})
	cuda := func(clock string, step int) string { return strings.Replace(cpu(clock, step), "[cpu]", "[cuda]", 1) }
	for i, clock := range []string{"10:00:00", "10:00:10", "09:00:20", "09:00:30"} {
		b.lines(stats(clock, 100*(i+1), ""), cpu(clock, 100*(i+1)), cuda(clock, 100*(i+1)))
	}
	b.want("clock_jump -1→300 ×0")
	n := 0
	for _, r := range b.rows {
		if r.Flags&store.ClockJump != 0 {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d rows are marked, want the 3 of step 300", n)
	}
}

// A backlog that is read live, line by line nearer to now, is no jump of the clock; lines from the future are one.
func TestBacklogIsNoJump(t *testing.T) {
	b := newBench(t, Identity{})
	at := b.place.Arrival
	b.place.Live = true
	line := func(step int, behind time.Duration) {
		b.lines(fmt.Sprintf("%s INFO RANK 0, GPU 0, step %d, [cpu] (schedule cur2.1ms/mean1.8ms/max9.4ms/100calls/18.3%%)", at.Add(-behind).Format("2006-01-02 15:04:05"), step))
	}
	for i, behind := range []time.Duration{300, 200, 100, 0} { // s: it catches up
		line(100*(i+1), behind*time.Second)
	}
	b.want()
	line(500, -30*time.Second) // clocks differ a little
	b.want()
	line(600, -200*time.Second) // 200 s ahead of now, 170 s further than ever
	if d := b.events[0].Detail; d != "2m50s" {
		t.Errorf("the clock jumped by %s", d)
	}
	b.want("clock_jump -1→600 ×0")
}
