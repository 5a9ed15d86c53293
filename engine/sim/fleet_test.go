package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
)

// fleetOf runs a scenario as fast as possible and returns its log.
func runFleet(t testing.TB, s *Scenario, opt Options) string {
	t.Helper()
	var log bytes.Buffer
	if opt.Log == "" {
		opt.LogStream = &log
	}
	f, err := NewFleet(s, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return log.String()
}

func scenarioOf(d ...Deployment) *Scenario { return &Scenario{Name: "test", Deployments: d} }

func several(n int) Deployment {
	d := DefaultDeployment()
	d.Engines = n
	return d
}

// A fleet's log is the same for the same seed, and every line reads back as the engine said it.
func TestFleetLog(t *testing.T) {
	s := scenarioOf(several(3))
	log := runFleet(t, s, Options{Seed: 1, Steps: 500})
	if log != runFleet(t, s, Options{Seed: 1, Steps: 500}) {
		t.Error("two runs with one seed differ")
	}
	if log == runFleet(t, s, Options{Seed: 2, Steps: 500}) {
		t.Error("two seeds give the same log")
	}
	count := map[string]int{}
	last := time.Time{}
	for line := range strings.Lines(log) {
		results := ledger.Parse(nil, []byte(strings.TrimSuffix(line, "\n")))
		if len(results) != 1 || results[0].Err != nil {
			t.Fatalf("%s reads as %+v", line, results)
		}
		l := &results[0].Line
		count[fmt.Sprintf("%d/%d %s", l.Rank, l.GPU, l.Section)]++
		at := l.Stamp.Time
		if at.Before(last) {
			t.Fatalf("%s: comes after %s", line, last)
		}
		last = at
		// The text without its prefix is what the line's values give.
		if got := string(ledger.AppendLine(nil, l)); !strings.HasSuffix(strings.TrimSuffix(line, "\n"), got) {
			t.Fatalf("read back and written again:\n%s\n%s", line, got)
		}
	}
	for rank := range 3 {
		for section, want := range map[string]int{"stats": 5, "cpu": 5, "cuda": 4, "nccl_memory": 1} { // no GPU work at step 0
			if got := count[fmt.Sprintf("%d/%d %s", rank, rank, section)]; got != want {
				t.Errorf("rank %d has %d %s lines, want %d", rank, got, section, want)
			}
		}
	}
}

func TestLogPrefixes(t *testing.T) {
	start := time.Date(2026, time.May, 4, 3, 2, 1, 0, time.FixedZone("", 2*3600))
	d := several(1)
	for prefix, want := range map[string]string{
		prefixNone: "RANK 0, GPU 0, step 0, [stats] (is_prompt False | ",
		prefixTime: "2026-05-04 03:02:01,002 INFO stats_logger: RANK 0, GPU 0, step 0, [stats] (",
		prefixJSON: `{"time":"2026-05-04T03:02:01.002+02:00","level":"INFO","message":"RANK 0, GPU 0, step 0, [stats] (`,
	} {
		d.Logging.Prefix = prefix
		log := runFleet(t, scenarioOf(d), Options{Seed: 1, Steps: 1, Start: start})
		if !strings.HasPrefix(log, want) {
			t.Errorf("%s: %.120s, want %s…", prefix, log, want)
		}
		if r := ledger.Parse(nil, []byte(strings.SplitAfter(log, "\n")[0])); len(r) != 1 || r[0].Err != nil || r[0].Line.Step != 0 {
			t.Errorf("%s: the first line reads as %+v", prefix, r)
		}
	}
}

// The ranks of one host write at moments of their own.
func TestStagger(t *testing.T) {
	d := several(10)
	d.Requests.Rate = 0 // all engines step alike
	log := runFleet(t, scenarioOf(d), Options{Seed: 1, Steps: 1, Start: testStart})
	var got []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "[stats]") {
			got = append(got, line[17:23]+strings.Split(line, ",")[1][len("xxx INFO stats_logger: RANK"):])
		}
	}
	if len(got) != 10 {
		t.Fatalf("%d lines, want 10: %q", len(got), got)
	}
	var ms, prev int
	for i, line := range got {
		if _, err := fmt.Sscanf(line, "00,%d", &ms); err != nil {
			t.Fatal(err)
		}
		if i > 0 && ms < prev {
			t.Errorf("%q out of order", got)
		}
		prev = ms
	}
	// Steps take 2.0 ms and a little; rank 7 waits for 35 ms more.
	if prev != 37 {
		t.Errorf("the last line is written at %d ms, want 37: %q", prev, got)
	}
}

// However often the log is rotated in a run, its lines are those of a run without.
func TestFleetRotation(t *testing.T) {
	s := scenarioOf(several(2))
	want := runFleet(t, s, Options{Seed: 1, Steps: 700})
	for _, rotate := range []Rotation{{Size: 10_000}, {Size: 10_000, Copy: true}} {
		path := filepath.Join(t.TempDir(), "engine.log")
		runFleet(t, s, Options{Seed: 1, Steps: 700, Log: path, Rotate: rotate, Faults: []Fault{{Kind: faultRotate, Step: 300}}})
		var got []byte
		files := 0
		for _, suffix := range []string{".5", ".4", ".3", ".2", ".1", ""} {
			if text, err := os.ReadFile(path + suffix); err == nil {
				got = append(got, text...)
				files++
			}
		}
		if files < 4 || string(got) != want {
			t.Errorf("%+v: %d files with %d bytes, want %d bytes", rotate, files, len(got), len(want))
		}
	}
	t.Run("a file for each rank", func(t *testing.T) {
		dir := t.TempDir()
		runFleet(t, s, Options{Seed: 1, Steps: 700, Log: filepath.Join(dir, "rank{rank}.log")})
		total := 0
		for rank := range 2 {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank%d.log", rank)))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if !strings.Contains(line, fmt.Sprintf("RANK %d, ", rank)) || !strings.Contains(want, line) {
					t.Fatalf("rank %d has %s", rank, line)
				}
			}
			total += len(text)
		}
		if total != len(want) {
			t.Errorf("%d bytes in both files, want %d", total, len(want))
		}
	})
	t.Run("truncated", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "engine.log")
		runFleet(t, scenarioOf(several(1)), Options{Seed: 1, Steps: 301, Log: path, Faults: []Fault{{Kind: faultTruncate, Step: 250}}})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("step 300, ")) || bytes.Contains(text, []byte("step 200, ")) {
			t.Errorf("after the cut the log has %s", text)
		}
	})
}

// A hang and a jump of the clock change when things are said to happen, each in its own way.
func TestClockFaults(t *testing.T) {
	d := several(1)
	d.Requests.Rate = 0
	d.Logging.Interval = 10
	stamps := func(faults ...Fault) (list []time.Duration) {
		var cur []float64
		for line := range strings.Lines(runFleet(t, scenarioOf(d), Options{Seed: 1, Steps: 31, Start: testStart, Faults: faults})) {
			r := ledger.Parse(nil, []byte(line))
			if l := &r[0].Line; l.Section == ledger.Stats {
				list = append(list, l.Stamp.Time.Sub(testStart).Truncate(time.Second))
				v, _ := l.Value("avg_SPS", "")
				cur = append(cur, v)
			}
		}
		if len(list) != 4 {
			t.Fatalf("%d lines, want those of steps 0, 10, 20, 30", len(list))
		}
		if slow := cur[2] < 1; slow != (len(faults) > 0 && faults[0].Kind == faultHang) {
			t.Errorf("%v: steps per second %v", faults, cur)
		}
		return list
	}
	f := func(want string, faults ...Fault) {
		t.Helper()
		if got := fmt.Sprint(stamps(faults...)); got != want {
			t.Errorf("%v: lines at %s, want %s", faults, got, want)
		}
	}
	f("[0s 0s 0s 0s]")
	f("[0s 0s 1m0s 1m0s]", Fault{faultHang, 15, time.Minute})
	f("[0s 0s 1h0m0s 1h0m0s]", Fault{faultClockJump, 15, time.Hour})
	f("[0s 0s 1h0m0s 0s]", Fault{faultClockJump, 25, -time.Hour}, Fault{faultClockJump, 15, time.Hour})
}

// With a speed the engines keep pace with the clock, and end when they are told to.
func TestSpeed(t *testing.T) {
	for _, speed := range []float64{0.5, 1, 10} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			f, err := NewFleet(scenarioOf(several(2)), Options{Seed: 1, Speed: speed, LogStream: &log})
			if err != nil {
				t.Fatal(err)
			}
			if !f.opt.Start.Equal(time.Now()) {
				t.Errorf("the clocks start at %s, not now", f.opt.Start)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := f.Run(ctx); err != nil {
				t.Fatal(err)
			}
			for _, e := range f.Engines() {
				ahead := e.Now().Sub(f.opt.Start) - time.Duration(20*speed)*time.Second
				if ahead < 0 || ahead > time.Second { // the step that had begun
					t.Errorf("speed %g: after 20 s an engine is %s ahead", speed, ahead)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestFleetErrors(t *testing.T) {
	if _, err := NewFleet(&Scenario{}, Options{}); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("an empty scenario: %v", err)
	}
	path := filepath.Join(t.TempDir(), "no", "such.log")
	if _, err := NewFleet(scenarioOf(several(1)), Options{Log: path}); err == nil || !strings.Contains(err.Error(), "log: open ") {
		t.Errorf("no folder for the log: %v", err)
	}
	f, err := NewFleet(scenarioOf(several(1)), Options{Steps: 1, LogStream: brokenPipe{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Run(t.Context()); err == nil || err.Error() != "log: broken pipe" {
		t.Errorf("a log that breaks: %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, fmt.Errorf("broken pipe") }

// Ranks and GPUs are those of engines that each have several cards.
func TestRanks(t *testing.T) {
	d := several(18)
	d.Cards = 4
	f, err := NewFleet(scenarioOf(d), Options{Seed: 1, Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range f.Engines() {
		if e.cfg.Rank != 4*i || e.cfg.GPU != i%16 || e.cfg.World != 72 {
			t.Errorf("engine %d: rank %d of %d on GPU %d", i, e.cfg.Rank, e.cfg.World, e.cfg.GPU)
		}
	}
}

// History passes at once and Speed holds from then on; nothing is logged during the warm-up.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f, err := NewFleet(scenarioOf(several(1)), Options{Seed: 1, Speed: 1, LogStream: &log, History: time.Minute, Warmup: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if err := errors.Join(f.Run(ctx), f.Close()); err != nil {
			t.Fatal(err)
		}
		// A minute at once, then ten seconds in ten seconds.
		if ran := f.Engines()[0].Now().Sub(began); ran < 69*time.Second || ran > 71*time.Second {
			t.Errorf("the engine ran for %v", ran)
		}
		first := ledger.Parse(nil, log.Bytes()[:bytes.IndexByte(log.Bytes(), '\n')])[0].Line.Stamp.Time
		if quiet := first.Sub(began.UTC()); quiet < 20*time.Second || quiet > 40*time.Second {
			t.Errorf("the first line came %v after the start", quiet)
		}
	})
}
