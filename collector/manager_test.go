package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// server is a Link that remembers.
type server struct {
	wire.Link
	mu        sync.Mutex
	batches   []store.Batch
	positions map[string]string
	seq       uint64
	report    wire.Report
	fail      func(b *store.Batch) error // before a batch is taken
}

func (s *server) Hello(context.Context, wire.Hello) (w wire.Welcome, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, value := range s.positions {
		w.Positions = append(w.Positions, store.Position{Source: name, Value: value})
	}
	w.Seq = s.seq
	return w, nil
}

func (s *server) Deliver(_ context.Context, _ string, b *store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(b); err != nil {
			return err
		}
	}
	if b.Seq != s.seq+1 {
		return fmt.Errorf("batch %d after %d", b.Seq, s.seq)
	}
	s.seq = b.Seq
	s.batches = append(s.batches, *b)
	for _, p := range b.Positions {
		if s.positions == nil {
			s.positions = map[string]string{}
		}
		s.positions[p.Source] = p.Value
	}
	return nil
}

func (s *server) Report(_ context.Context, r wire.Report) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report = r
	return nil
}

func (s *server) Poll(ctx context.Context, _ string) ([]wire.Command, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// steps are those stored of each deployment.
func (s *server) steps() map[string][]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := map[string][]int64{}
	for _, b := range s.batches {
		for _, r := range b.Rows {
			d := b.Engines[r.Engine].Deployment
			got[d] = append(got[d], r.Step)
		}
	}
	return got
}

// eventually waits for something that is only a matter of time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 600 {
		if ok() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

func appendLine(t *testing.T, path string, step int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, "RANK 0, GPU 0, step %d, [stats] (running 1)\n", step)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// run runs a collector and returns how to end it.
func run(t *testing.T, s *server, file string) (end func()) {
	t.Helper()
	c, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Link: s, Config: c, File: file, Log: quiet(), hurry: hurry{poll: 5 * time.Millisecond, batch: 5 * time.Millisecond, retry: 10 * time.Millisecond, look: 20 * time.Millisecond}})
	}()
	return func() {
		t.Helper()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Targets come and go with the file; a faulty file changes nothing and is told; positions outlive all of it.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	of := func(names ...string) string {
		text := "deployments:\n"
		for _, n := range names {
			text += fmt.Sprintf("- name: %s\n  logs: %s\n", n, filepath.Join(dir, n+".log"))
		}
		return text
	}
	s := &server{}
	write(t, file, of("a"))
	appendLine(t, filepath.Join(dir, "a.log"), 100)
	appendLine(t, filepath.Join(dir, "b.log"), 200)
	end := run(t, s, file)
	eventually(t, "a's first line", func() bool { return len(s.steps()["a"]) == 1 })

	write(t, file, of("a", "b"))
	eventually(t, "b's line", func() bool { return len(s.steps()["b"]) == 1 })

	write(t, file, "deployments:\n- name: a\n  colour: red\n")
	eventually(t, "the fault in a report", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.report.Problems, func(p wire.Problem) bool {
			return strings.Contains(p.What, `line 3: deployment "a" has no key "colour"`)
		})
	})
	appendLine(t, filepath.Join(dir, "b.log"), 300)
	eventually(t, "b's second line, in spite of the fault", func() bool { return len(s.steps()["b"]) == 2 })

	write(t, file, of("b"))
	eventually(t, "a to be gone", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.report.Targets) == 1 && len(s.report.Problems) == 0 && strings.HasSuffix(s.report.Targets[0].Name, "b.log")
	})
	appendLine(t, filepath.Join(dir, "a.log"), 200)
	write(t, file, of("a", "b"))
	eventually(t, "a's line from its absence", func() bool { return len(s.steps()["a"]) == 2 })
	end()

	appendLine(t, filepath.Join(dir, "a.log"), 300)
	end = run(t, s, file)
	eventually(t, "a's line after a restart", func() bool { return len(s.steps()["a"]) == 3 })
	end()
	if got := s.steps(); !slices.Equal(got["a"], []int64{100, 200, 300}) || !slices.Equal(got["b"], []int64{200, 300}) {
		t.Errorf("steps %v", got)
	}
}

// Failures of the server cost nothing, lost acknowledgements included; rows that it will never take cost only themselves.
func TestDelivery(t *testing.T) {
	dir := t.TempDir()
	file, log := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "a.log")
	write(t, file, "deployments:\n- name: a\n  logs: "+log+"\n")
	fails := 3
	s := &server{fail: func(b *store.Batch) error {
		if fails--; fails >= 0 {
			return errors.New("away")
		}
		for _, r := range b.Rows {
			if r.Step == 666 {
				return fmt.Errorf("no: %w", store.ErrInvalid)
			}
		}
		return nil
	}}
	appendLine(t, log, 100)
	end := run(t, s, file)
	eventually(t, "the line that was refused at first", func() bool { return len(s.steps()["a"]) == 1 })
	appendLine(t, log, 666)
	eventually(t, "the refusal in a report", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.report.Problems, func(p wire.Problem) bool { return strings.Contains(p.What, "refused rows") })
	})
	appendLine(t, log, 700)
	eventually(t, "the line after it", func() bool { return len(s.steps()["a"]) == 2 })
	end()
	if got := s.steps()["a"]; !slices.Equal(got, []int64{100, 700}) {
		t.Errorf("steps %v", got)
	}
}

// Overlapping patterns read a file once.
func TestOverlap(t *testing.T) {
	dir := t.TempDir()
	file, log := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "a.log")
	write(t, file, fmt.Sprintf("deployments:\n- name: a\n  logs:\n  - %s/*.log\n  - %s\n", dir, log))
	s := &server{}
	appendLine(t, log, 100)
	end := run(t, s, file)
	eventually(t, "the line", func() bool { return len(s.steps()["a"]) == 1 })
	appendLine(t, log, 200)
	eventually(t, "the next one", func() bool { return len(s.steps()["a"]) == 2 })
	end()
	if got := s.steps()["a"]; !slices.Equal(got, []int64{100, 200}) {
		t.Errorf("steps %v", got)
	}
}

// quiet is a log for collectors whose trouble is intended.
func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// An event that names its engine and says no more, such as that of a capture, leaves what is known of it.
func TestRosterKeepsWhatItKnows(t *testing.T) {
	r := newRoster(newBatcher(&Options{Log: quiet(), Config: &config.Config{Name: "c"}}, nil))
	key := store.EngineKey{Deployment: "d", Name: "rank0"}
	for _, info := range []store.EngineInfo{
		{EngineKey: key, Kind: "deepinfer", Host: "h", Rank: 0, GPU: 3},
		{EngineKey: key, Rank: -1, GPU: -1},
	} {
		if err := r.Put(t.Context(), &store.Batch{Engines: []store.EngineInfo{info}}); err != nil {
			t.Fatal(err)
		}
	}
	if s, ok := r.engine(key); !ok || s.info.Kind != "deepinfer" || s.info.GPU != 3 || s.info.Host != "h" {
		t.Errorf("%+v", s.info)
	}
}
