package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// memory is a sink that keeps positions and counts rows.
type memory struct {
	mu        sync.Mutex
	positions map[string]string
	rows      int
}

func (m *memory) Put(ctx context.Context, b *store.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range b.Positions {
		m.positions[p.Source] = p.Value
	}
	m.rows += len(b.Rows)
	return ctx.Err()
}

func (m *memory) Position(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.positions[name]
}

// watch runs a source until its targets are as wanted.
func watch(t *testing.T, s *Source, want func(list []wire.Target) bool) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, &memory{positions: map[string]string{}}) }()
	ok := false
	for range 400 {
		if ok = want(s.Targets()); ok {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	if err := <-done; err != nil || !ok {
		t.Errorf("targets %+v, error %v", s.Targets(), err)
	}
}

func sourceOf(dir string, patterns ...string) *Source {
	for i := range patterns {
		patterns[i] = filepath.Join(dir, patterns[i])
	}
	return New(Options{Identity: Identity{Deployment: "d"}, Patterns: patterns, Zone: time.UTC, Poll: 5 * time.Millisecond})
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Each target says how it is, and what to do if it is not well.
func TestTargets(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "good.log", "RANK 0, GPU 0, step 1, [stats] (running 1)\n")
	put(t, dir, "other.log", "hello\n")
	put(t, dir, "bad.log", "RANK 1, GPU 1, step 1, [stats] (running x | pending 2)\n")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := sourceOf(dir, "*.log", "none-*.log", "missing.log", "folder")
	if list := s.Targets(); len(list) != 2 || list[0].Health != wire.Waiting {
		t.Errorf("before the start: %+v", list)
	}
	watch(t, s, func(list []wire.Target) bool {
		got := map[string]string{}
		for _, target := range list {
			problem := ""
			if target.Problem != nil {
				problem = target.Problem.What
			}
			got[filepath.Base(target.Name)] = fmt.Sprintf("%s %v %d %d %s", target.Health, len(target.Engines), target.Lines, target.Unreadable, problem)
		}
		return len(list) == 6 && got["good.log"] == "up 1 1 0 " &&
			strings.HasPrefix(got["other.log"], "quiet 0 0 0 ") && strings.Contains(got["other.log"], "none of 1 lines") &&
			strings.HasPrefix(got["bad.log"], "up 1 1 1 1 lines could not be read, the last for bad_value") &&
			strings.HasPrefix(got["missing.log"], "waiting 0 0 0 ") && strings.Contains(got["missing.log"], "no such file yet") &&
			strings.HasPrefix(got["folder"], "down 0 0 0 ") && strings.HasSuffix(got["folder"], "is a folder, not a file") &&
			strings.HasPrefix(got["none-*.log"], "waiting 0 0 0 ") && strings.Contains(got["none-*.log"], "no such file")
	})
}

// With very many files those that are well are summed up.
func TestManyTargets(t *testing.T) {
	dir := t.TempDir()
	for i := range maxTargets + 36 { // 100
		put(t, dir, fmt.Sprintf("rank%d.log", i), fmt.Sprintf("RANK %d, GPU 0, step 1, [stats] (running 1)\n", i))
	}
	put(t, dir, "other.log", "hello\n")
	watch(t, sourceOf(dir, "*.log"), func(list []wire.Target) bool {
		return len(list) == 2 && strings.HasSuffix(list[0].Name, "other.log") && list[1].Lines == 100 && len(list[1].Engines) == 100 &&
			strings.HasSuffix(list[1].Name, "(100 files)")
	})
}

// Lines that are written now with the time of another zone are told.
func TestWrongZone(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.log", "")
	s := sourceOf(dir, "a.log")
	step := 0
	watch(t, s, func(list []wire.Target) bool {
		f, err := os.OpenFile(filepath.Join(dir, "a.log"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		step++
		fmt.Fprintf(f, "%s RANK 0, GPU 0, step %d, [stats] (running 1)\n", time.Now().UTC().Add(8*time.Hour).Format("2006-01-02 15:04:05.000"), step)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return list[0].Problem != nil && strings.Contains(list[0].Problem.What, "8h0m0s ahead of this machine's clock")
	})
}
