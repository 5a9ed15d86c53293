package spool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// batch has so many rows of one engine; its numbers follow from seq.
func batch(seq uint64, rows int) *store.Batch {
	b := &store.Batch{
		Seq:       seq,
		Engines:   []store.EngineInfo{{EngineKey: store.EngineKey{Deployment: "prod", Name: "rank0"}, GPU: -1}},
		Layouts:   []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "running"}, {Metric: "MFU"}}}},
		Positions: []store.Position{{Source: "log:/a", Value: strconv.FormatUint(seq, 10)}},
	}
	for i := range rows {
		n := int64(seq)*1000 + int64(i)
		b.Rows = append(b.Rows, store.Row{Time: n, Step: n, Flags: store.DecodeStep, Values: []float64{float64(n), 1 / float64(n)}})
	}
	return b
}

func welcome(seq uint64, positions ...store.Position) wire.Welcome {
	return wire.Welcome{Seq: seq, Positions: positions}
}

func mustOpen(t *testing.T, dir string, o Options) *Spool {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustAppend(t *testing.T, s *Spool, b *store.Batch) {
	t.Helper()
	if err := s.Append(b); err != nil {
		t.Fatal(err)
	}
}

func reopen(t *testing.T, s *Spool, dir string, o Options) *Spool {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, dir, o)
}

// drain takes everything that waits.
func drain(t *testing.T, s *Spool) (list []*store.Batch) {
	t.Helper()
	for s.Stats().Batches > 0 {
		ctx, cancel := context.WithCancel(t.Context())
		// Damaged ones at the end leave nothing to wait for.
		go func() {
			for s.Stats().Batches > 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		b, err := s.Next(ctx)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
		s.Ack(b.Seq)
		cancel()
	}
	return list
}

func wantBatches(t *testing.T, s *Spool, want ...*store.Batch) {
	t.Helper()
	got := drain(t, s)
	if len(got) != len(want) {
		t.Fatalf("%d batches, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("batch %d is\n%+v, want\n%+v", i, got[i], want[i])
		}
	}
}

func TestBatchesComeBackInOrderAndAreForgotten(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{Segment: 600}) // about two batches each
	var all []*store.Batch
	for i := range 20 {
		all = append(all, batch(uint64(i+1), i))
		mustAppend(t, s, all[i])
	}
	if files, err := (Disk{}).List(dir); err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	// A batch stays until it is acknowledged.
	for range 2 {
		if b, err := s.Next(t.Context()); err != nil || b.Seq != 1 {
			t.Fatalf("%+v, %v", b, err)
		}
	}
	s.Ack(7)
	s = reopen(t, s, dir, Options{Segment: 600})
	// What was acknowledged may come back after a restart; the server's number says so.
	if w, err := s.Meet(welcome(9)); err != nil || w.Seq != 20 || w.Positions[0].Value != "20" {
		t.Fatalf("%+v, %v", w, err)
	}
	wantBatches(t, s, all[9:]...)
	if st := s.Stats(); st.Batches != 0 || st.Waiting != 0 || st.Bytes > 3000 || st.Seq != 20 {
		t.Errorf("%+v: sent segments must be gone", st)
	}
	mustAppend(t, s, batch(20, 1)) // a repetition
	mustAppend(t, s, batch(25, 1)) // numbers may leap
	wantBatches(t, s, batch(25, 1))
	if err := s.Append(batch(0, 1)); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("without a number: %v", err)
	}
	bad := batch(26, 1)
	bad.Rows[0].Engine = 5
	if err := s.Append(bad); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("an impossible one: %v", err)
	}
}

// With the server connected the spool stays small however long it runs.
func TestAConnectedSpoolStaysSmall(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	for i := range 400 {
		b := batch(uint64(i+1), 200)
		mustAppend(t, s, b)
		s.Ack(b.Seq)
	}
	// One batch above the size at which a sent segment is left.
	if st := s.Stats(); st.Bytes > lean+16<<10 {
		t.Errorf("%d bytes", st.Bytes)
	}
}

// Where sources stand is known without any server, however old the batches are.
func TestPositionsAreKeptInTheFolder(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{Segment: 1})
	if _, ok := s.Welcome(); ok {
		t.Error("a new folder knows where sources stand")
	}
	put := func(seq uint64, p ...store.Position) {
		t.Helper()
		mustAppend(t, s, &store.Batch{Seq: seq, Positions: p})
		s.Ack(seq)
	}
	put(1, store.Position{Source: "a", Value: "1"}, store.Position{Source: "b", Value: "1"})
	put(2, store.Position{Source: "a", Value: "2"}, store.Position{Source: "c", Value: "9"})
	put(3, store.Position{Source: "c"})
	for range 3 {
		s = reopen(t, s, dir, Options{Segment: 1})
		w, ok := s.Welcome()
		if want := welcome(3, store.Position{Source: "a", Value: "2"}, store.Position{Source: "b", Value: "1"}); !ok || !reflect.DeepEqual(w, want) {
			t.Fatalf("%+v, %v; want %+v", w, ok, want)
		}
	}
}

func TestMeetingTheServer(t *testing.T) {
	pos := func(source, value string) store.Position { return store.Position{Source: source, Value: value} }
	f := func(name string, w, want wire.Welcome, pending int, skipped int64) {
		t.Helper()
		dir := t.TempDir()
		s := mustOpen(t, dir, Options{})
		mustAppend(t, s, &store.Batch{Seq: 4, Positions: []store.Position{pos("a", "4"), pos("old", "4")}})
		mustAppend(t, s, &store.Batch{Seq: 5, Positions: []store.Position{pos("a", "5")}})
		mustAppend(t, s, &store.Batch{Seq: 6, Positions: []store.Position{pos("b", "6")}})
		got, err := s.Meet(w)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
		if st := s.Stats(); st.Batches != pending || st.Skipped != skipped {
			t.Errorf("%s: %+v, want %d waiting, %d skipped", name, st, pending, skipped)
		}
		// And so it is after a restart without the server.
		s = reopen(t, s, dir, Options{})
		if got, ok := s.Welcome(); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, restarted: %+v; want %+v", name, got, want)
		}
	}
	f("the server has the first", welcome(4, pos("a", "4"), pos("old", "4")), welcome(6, pos("a", "5"), pos("b", "6"), pos("old", "4")), 2, 0)
	f("the server has all", welcome(6, pos("a", "5"), pos("b", "6"), pos("old", "4")), welcome(6, pos("a", "5"), pos("b", "6"), pos("old", "4")), 0, 0)
	f("a store from a backup", welcome(2, pos("old", "2")), welcome(6, pos("a", "5"), pos("b", "6"), pos("old", "4")), 3, 0)
	f("an empty store", welcome(0), welcome(6, pos("a", "5"), pos("b", "6"), pos("old", "4")), 3, 0)
	// Another process of this name delivered up to 9: its positions count.
	f("overtaken", welcome(9, pos("a", "9")), welcome(9, pos("a", "9")), 0, 3)
}

// An empty store and nothing waiting: sources are read from their start again.
func TestANewStoreIsFilledAgain(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	mustAppend(t, s, batch(1, 1))
	s.Ack(1)
	if w, err := s.Meet(welcome(0)); err != nil || len(w.Positions) != 0 || w.Seq != 1 {
		t.Errorf("%+v, %v; want no positions, and numbers that go on", w, err)
	}
}

// A crash can cut the file anywhere. What was acknowledged before the cut is
// there; a batch that was being written is there whole or not at all, its
// position with it.
func TestTornWrites(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	var ends []int64
	for i := range 3 {
		mustAppend(t, s, batch(uint64(i+1), 2))
		ends = append(ends, s.active.size)
	}
	name := filepath.Base(s.path(s.active.number))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for cut := s.records[0].off; cut <= int64(len(data)); cut++ {
		for _, tail := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"} { // some file systems leave zeros
			torn := t.TempDir()
			if err := os.WriteFile(filepath.Join(torn, name), append(data[:cut:cut], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(torn, Options{Files: &faults{lazy: true}})
			if err != nil {
				t.Fatal(err)
			}
			whole := 0
			for whole < 3 && ends[whole] <= cut {
				whole++
			}
			w, _ := s.Welcome()
			if st := s.Stats(); st.Batches != whole || st.Damaged != 0 || w.Seq != uint64(whole) || whole > 0 && w.Positions[0].Value != strconv.Itoa(whole) {
				t.Fatalf("cut at %d of %d: %+v, %+v; want %d batches", cut, len(data), st, w, whole)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A process that is killed at any moment has every batch that it reported as taken.
func TestKilledProcesses(t *testing.T) {
	if dir := os.Getenv("SPOOL_KILL_DIR"); dir != "" {
		appendUntilKilled(dir)
		return
	}
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	dir := t.TempDir()
	var last uint64
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcesses$")
		cmd.Env = append(os.Environ(), "SPOOL_KILL_DIR="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == 5+round*3 {
				cmd.Process.Kill()
			}
			if seq, err := strconv.ParseUint(lines.Text(), 10, 64); err == nil {
				last = seq
			}
		}
		cmd.Wait()
	}
	s := mustOpen(t, dir, Options{Segment: 2000})
	got := drain(t, s)
	// The last one may have been taken just before its report.
	if n := uint64(len(got)); n < last || n > last+1 || last < uint64(rounds*5) {
		t.Fatalf("%d batches, reported up to %d", n, last)
	}
	for i, b := range got {
		if want := batch(uint64(i+1), (i+1)%7); !reflect.DeepEqual(b, want) {
			t.Fatalf("batch %d is %+v, want %+v", i+1, b, want)
		}
	}
	if st := s.Stats(); st.Damaged != 0 {
		t.Errorf("%+v", st)
	}
}

func appendUntilKilled(dir string) {
	s, err := Open(dir, Options{Segment: 2000})
	if err != nil {
		fmt.Println(err)
		return
	}
	w, _ := s.Welcome()
	for seq := w.Seq + 1; ; seq++ {
		if err := s.Append(batch(seq, int(seq%7))); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(seq)
	}
}
