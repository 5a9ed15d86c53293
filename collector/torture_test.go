//go:build unix

package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
)

// STEPSCOPE_TORTURE is how many times the collector is killed in the long form (make torture).
const tortureEnv = "STEPSCOPE_TORTURE"

func kills(t *testing.T) int {
	if s := os.Getenv(tortureEnv); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s=%s: %v", tortureEnv, s, err)
		}
		return n
	}
	if testing.Short() {
		return 6
	}
	return 10
}

// world writes the logs of simulated engines and remembers every line.
type world struct {
	t      *testing.T
	dir    string
	random *rand.Rand
	mu     sync.Mutex
	lines  []written
	logs   []*logWriter
	failed error
	turned atomic.Int64 // rotations
}

// written is a line as the engine gave it.
type written struct {
	rank    int
	section ledger.Section
	step    int64
	time    int64
	values  map[store.Column]float64
}

func (w written) String() string { return fmt.Sprintf("rank%d [%s] %d", w.rank, w.section, w.step) }

// logWriter is a log that is rotated as it grows.
type logWriter struct {
	path   string
	byCopy bool
	size   int64
	keep   int
}

const rotateAt = 150 << 10

func (l *logWriter) append(text []byte) error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	l.size += int64(len(text))
	return errors.Join(err, f.Close())
}

// shift makes room for a new x.log.1.
func (l *logWriter) shift() error {
	for i := l.keep - 1; i > 0; i-- {
		err := os.Rename(fmt.Sprintf("%s.%d", l.path, i), fmt.Sprintf("%s.%d", l.path, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// rotate turns the log; between is called where copytruncate loses lines.
func (l *logWriter) rotate(between func() error) error {
	if err := l.shift(); err != nil {
		return err
	}
	l.size = 0
	if !l.byCopy {
		return os.Rename(l.path, l.path+".1")
	}
	text, err := os.ReadFile(l.path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path+".1", text, 0o600); err != nil {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	l.size = 0
	return os.Truncate(l.path, 0)
}

// prefix is what the engine's logger writes before a line.
func prefix(at time.Time) string {
	return at.UTC().Format("2006-01-02 15:04:05.000") + " INFO stats_logger: "
}

// line writes one line to its log: ranks 0 and 1 share one, rank 2 has its [stats] and its timers in two.
func (w *world) line(at time.Time, line *ledger.Line) error {
	at = at.Truncate(time.Millisecond)
	text := append([]byte(prefix(at)), ledger.AppendLine(nil, line)...)
	rec := written{rank: line.Rank, section: line.Section, step: line.Step, time: at.UnixNano(), values: map[store.Column]float64{}}
	// The engine rounds as it writes: what it wrote is what must be stored.
	for _, v := range ledger.Parse(nil, text)[0].Line.Values {
		if m, ok := ledger.Lookup(v.Key); v.V == 0 && ok && m.ZeroIsAbsent || math.IsNaN(v.V) {
			continue
		}
		rec.values[store.Column{Metric: v.Key, Label: v.Label}] = v.V
	}
	log := w.logs[0]
	if line.Rank == 2 {
		if log = w.logs[1]; line.Section != ledger.Stats {
			log = w.logs[2]
		}
	}
	w.mu.Lock()
	w.lines = append(w.lines, rec)
	w.mu.Unlock()
	return log.append(append(text, '\n'))
}

// run steps the engines until ctx ends, and a while longer, so that a loss before the end shows.
func (w *world) run(ctx context.Context) error {
	random := newRandom() // of this goroutine
	const interval = 10
	d := sim.DefaultDeployment()
	d.Requests.Rate = 8 // never idle: engines without work have no [cuda] lines, which could not be told from lost ones
	d.Logging.Interval, d.Logging.NCCLInterval = interval, 0
	var engines []*sim.Engine
	for rank := range 3 {
		e, err := sim.NewEngine(sim.Config{
			Deployment: d, Seed: 3, Index: rank, Rank: rank, GPU: rank, World: 3, Start: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
			Emit: func(at time.Time, line *ledger.Line) { w.failed = errors.Join(w.failed, w.line(at, line)) },
		})
		if err != nil {
			return err
		}
		engines = append(engines, e)
	}
	steps := func(n int) error {
		for range n {
			for _, e := range engines {
				if err := errors.Join(e.Step(), w.failed); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := steps(30 * interval); err != nil { // nothing is lost before the intervals are learned
		return err
	}
	for ctx.Err() == nil {
		if err := steps(1 + random.IntN(2*interval)); err != nil {
			return err
		}
		for _, l := range w.logs {
			if l.size < rotateAt {
				continue
			}
			err := l.rotate(func() error {
				if random.IntN(2) == 0 {
					return nil
				}
				return steps(random.IntN(3 * interval)) // these lines are lost unless somebody is quick
			})
			if err != nil {
				return err
			}
			w.turned.Add(1)
		}
		time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond)
	}
	return steps(30 * interval)
}

// Kill the collector again and again, at any moment, while logs are rotated, its database is locked, its disk is full and
// its acknowledgements get lost: in the end the store has every line exactly once, but for those that rotation destroyed,
// and these are told as gaps.
func TestTorture(t *testing.T) {
	w := newWorld(t)
	db := filepath.Join(w.dir, "s.db")
	n := kills(t)
	finish := w.start()
	locks := 0
	for i := 0; i < n || !w.proved(locks) && i < 10*n; i++ {
		c := w.child(db, "faults")
		if i%4 == 3 {
			time.Sleep(time.Duration(w.random.IntN(30)) * time.Millisecond)
			release, locked, err := lockWriter(db)
			if err != nil {
				t.Fatal(err)
			}
			if locked {
				locks++
			}
			time.Sleep(time.Duration(w.random.IntN(300)) * time.Millisecond)
			release()
		}
		time.Sleep(time.Duration(20+w.random.IntN(380)) * time.Millisecond)
		w.patience(i - n)
		w.kill(c)
	}
	finish()
	w.drain(db)
	w.report(n, w.compare(db))
	w.happened(locks)
}

// happened checks that what the test is about did happen.
func (w *world) happened(locks int) {
	w.t.Helper()
	full := w.fulls()
	w.t.Logf("the disk was full for %d batches, the database locked %d times", full, locks)
	if full == 0 || locks == 0 || w.turned.Load() == 0 {
		w.t.Errorf("a full disk %d times, a locked database %d times, %d rotations: each must happen", full, locks, w.turned.Load())
	}
}

// patience lets collectors live longer that are beyond those asked for: what has not happened yet did not come about in
// the time that others had.
func (w *world) patience(beyond int) {
	if beyond >= 0 {
		time.Sleep(time.Second)
	}
}

// proved says whether all kinds of faults have happened.
func (w *world) proved(locks int) bool { return locks > 0 && w.turned.Load() > 0 && w.fulls() > 0 }

// fulls is how often a batch found a full disk.
func (w *world) fulls() int {
	text, err := os.ReadFile(w.tally())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return bytes.Count(text, []byte("full"))
}

func (w *world) tally() string { return filepath.Join(w.dir, "tally.txt") }

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) }

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	return &world{t: t, dir: dir, random: newRandom(), logs: []*logWriter{
		{path: filepath.Join(dir, "node.log"), keep: 60},
		{path: filepath.Join(dir, "rank2.log"), keep: 60, byCopy: true},
		{path: filepath.Join(dir, "rank2-timers.log"), keep: 60},
	}}
}

// start lets the engines run, until finish.
func (w *world) start() (finish func()) {
	ctx, stop := context.WithCancel(context.Background())
	wrote := make(chan error, 1)
	go func() { wrote <- w.run(ctx) }()
	return func() {
		w.t.Helper()
		stop()
		if err := <-wrote; err != nil {
			w.t.Fatal(err)
		}
	}
}

// kill ends a collector that has not ended by itself.
func (w *world) kill(c *exec.Cmd) {
	w.t.Helper()
	if err := c.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != -1 {
		w.t.Fatalf("the collector ended by itself: %v\n%s", err, c.Stderr)
	}
}

// drain lets a collector read what is left, and another see that nothing is: on a busy machine one may take its own
// slowness for the end.
func (w *world) drain(db string) {
	w.t.Helper()
	for range 10 {
		c := w.child(db, "drain")
		if err := c.Wait(); err != nil {
			w.t.Fatalf("the last run: %v\n%s", err, c.Stderr)
		}
		if strings.HasSuffix(c.Stderr.(*bytes.Buffer).String(), "rows 0\n") {
			return
		}
	}
	w.t.Fatal("reading never ends")
}

func (w *world) report(kills, lost int) {
	w.t.Logf("%d kills, %d rotations, %d lines, %d of them destroyed by rotation and told", kills, w.turned.Load(), len(w.lines), lost)
}

// child starts a collector in a process of its own.
func (w *world) child(db, mode string) *exec.Cmd {
	w.t.Helper()
	c := w.command(db, mode)
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Process.Kill() }) // an error says that it has ended
	return c
}

func (w *world) command(db, mode string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+mode, "CHILD_DB="+db, "CHILD_LOGS="+filepath.Join(w.dir, "*.log"), tallyEnv+"="+w.tally())
	c.Stderr = &bytes.Buffer{}
	return c
}
