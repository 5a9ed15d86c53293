//go:build unix

package collector

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/tail"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

// cpuTime is what this process has used, all threads.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// recorded makes an engine's lines of some sections, to be written again under other steps.
func recorded(b *testing.B, sections ...ledger.Section) []ledger.Line {
	var lines []ledger.Line
	d := sim.DefaultDeployment()
	d.Logging.Interval, d.Logging.NCCLInterval = 10, 0
	e, err := sim.NewEngine(sim.Config{Deployment: d, Seed: 1, World: 8, Start: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
		Emit: func(_ time.Time, line *ledger.Line) {
			for _, s := range sections {
				if s == line.Section && line.Step > 500 {
					lines = append(lines, *line)
				}
			}
		}})
	if err != nil {
		b.Fatal(err)
	}
	for len(lines) < 300 {
		if err := e.Step(); err != nil {
			b.Fatal(err)
		}
	}
	return lines
}

// The whole way of full [stats] lines: read, parsed, checked for gaps, batched, stored. At least 25,000 per CPU-second. What
// travels to other machines is the ratio to splitting the same file into lines with bufio.Scanner.
func BenchmarkLines(b *testing.B) {
	const n = 60_000
	lines := recorded(b, ledger.Stats)
	path := filepath.Join(b.TempDir(), "rank0.log")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for i := range n {
		line := lines[i%len(lines)]
		line.Step = int64(100 * (i + 1))
		if rate, _ := line.Value("avg_SPS", ""); rate > 0 { // so that its clock does not jump
			at = at.Add(time.Duration(100 / rate * float64(time.Second)))
		}
		fmt.Fprintf(w, "%s%s\n", prefix(at), ledger.AppendLine(nil, &line))
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		before := cpuTime(b)
		scan(b, path, n)
		scanned := cpuTime(b) - before

		before = cpuTime(b)
		collect(b, path, n)
		took := cpuTime(b) - before
		b.ReportMetric(n/took.Seconds(), "lines/CPU-s")
		b.ReportMetric(float64(took)/float64(scanned), "×bufio.Scanner")
	}
}

func scan(b *testing.B, path string, want int) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	n := 0
	for s.Scan() {
		n++
	}
	if n != want || s.Err() != nil {
		b.Fatalf("%d lines, error %v", n, s.Err())
	}
}

// stopper ends a collector once enough rows are stored.
type stopper struct {
	wire.Link
	left int
	stop func()
}

func (s *stopper) Deliver(ctx context.Context, collector string, batch *store.Batch) error {
	err := s.Link.Deliver(ctx, collector, batch)
	if s.left -= len(batch.Rows); s.left <= 0 && err == nil {
		s.stop()
	}
	return err
}

func collect(b *testing.B, path string, rows int) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "s.db"), store.Options{}.WithDefaults())
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithTimeout(b.Context(), 5*time.Minute)
	defer stop()
	link := &stopper{web.NewHub(db, web.HubOptions{}), rows, stop}
	err = Run(ctx, Options{Link: link, Log: quiet(), Config: &config.Config{Name: "c", Deployments: []config.Deployment{{
		Name: "d", Logs: []config.Log{{Paths: []string{path}, Zone: "UTC", Start: tail.AtBeginning}},
	}}}})
	if err != nil || link.left != 0 {
		b.Fatalf("%d rows too few, error %v", link.left, err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}

// A thousand engines with a log each, a [stats], a [cpu] and a [cuda] line of each every ten seconds: less than 20 % of a core
// and 300 MB for a collector with its database, in a process of its own.
func BenchmarkThousandEngines(b *testing.B) {
	const (
		engines = 1000
		seconds = 20
	)
	lines := recorded(b, ledger.Stats, ledger.CPU, ledger.CUDA)
	for len(lines) > 0 && lines[0].Section != ledger.Stats {
		lines = lines[1:]
	}
	for b.Loop() {
		dir := b.TempDir()
		write := func(rank, round int) {
			f, err := os.OpenFile(filepath.Join(dir, "rank"+strconv.Itoa(rank)+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			var text bytes.Buffer
			for i := range 3 {
				line := lines[(3*(rank+round)+i)%(len(lines)/3*3)]
				line.Rank, line.GPU, line.Step = rank, rank%8, int64(100*round)
				fmt.Fprintf(&text, "%s%s\n", prefix(time.Now()), ledger.AppendLine(nil, &line))
			}
			if _, err := f.Write(text.Bytes()); err != nil {
				b.Fatal(err)
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		}
		for rank := range engines {
			write(rank, 0)
		}
		w := &world{t: nil, dir: dir}
		c := w.command(filepath.Join(dir, "s.db"), "calm")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		for i := range seconds * engines / 10 { // each engine has its moment within ten seconds
			write(i%engines, 1+i/engines)
			time.Sleep(time.Until(began.Add(time.Duration(i) * 10 * time.Second / engines)))
		}
		time.Sleep(4 * time.Second) // for the last ones to be read and stored
		took := time.Since(began)
		if err := c.Process.Signal(os.Interrupt); err != nil {
			b.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			b.Fatalf("%v\n%s", err, c.Stderr)
		}
		use := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		b.ReportMetric(100*use.Seconds()/took.Seconds(), "%core")
		if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			b.ReportMetric(float64(u.Maxrss)/1024, "MB")
		}
		if !strings.HasSuffix(c.Stderr.(*bytes.Buffer).String(), fmt.Sprintf("rows %d\n", 3*(engines+seconds*engines/10))) {
			b.Errorf("%s", c.Stderr)
		}
	}
}
