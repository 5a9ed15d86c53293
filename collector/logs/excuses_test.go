package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func ncclLine(step int, body string) string {
	return fmt.Sprintf("2026-11-29 10:00:%02d INFO RANK 0, GPU 3, step %d, [nccl_memory] (%s)", step%60, step, body)
}

// What an engine says it cannot tell is an event whenever it says something new, also over a restart of the collector.
func TestExcuses(t *testing.T) {
	b := newBench(t, Identity{})
	f := func(want string, lines ...string) {
		t.Helper()
		b.lines(lines...)
		var got []string
		for _, e := range b.events {
			got = append(got, fmt.Sprintf("%s ×%d %s", e.Kind, e.Count, e.Detail))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("events %q, want %q", got, want)
		}
		b.events = nil
	}
	f("unavailable ×1 nccl_memory: no such call", ncclLine(10, "stats_unavailable=no such call"))
	f("", ncclLine(20, "stats_unavailable=no such call"))
	b.restart()
	f("", ncclLine(30, "stats_unavailable=no such call"))
	f("unavailable ×2 nccl_memory: third", ncclLine(31, "stats_unavailable=second"), ncclLine(32, "stats_unavailable=third"))
	f("", ncclLine(40, "total=1.5 GiB | communicator_count=1 | groups=[dp (1.5 GiB)]")) // it can again
	f("unavailable ×1 nccl_memory: third", ncclLine(50, "stats_unavailable=third"))
	// Hostile texts: bounded, one line, and what is kept of them stays storable: bench checks each batch.
	long := strings.Repeat(`"\`, 400)
	b.m.Line([]byte(ncclLine(60, "stats_unavailable="+long)), &b.place)
	for _, section := range []string{"stats", "cpu", "cuda"} {
		b.m.Line([]byte(strings.Replace(ncclLine(60, "stats_unavailable "+long), "nccl_memory", section, 1)), &b.place)
	}
	b.take()
	for _, e := range b.events {
		if len(e.Detail) > maxExcuse+40 || strings.ContainsAny(e.Detail, "\n\x1b") {
			t.Errorf("event %d bytes: %q", len(e.Detail), e.Detail)
		}
	}
	if len(b.events) == 0 {
		t.Error("no event")
	}
}

// keep is a sink whose positions outlive a source.
func keep(m map[string]string) *memory { return &memory{positions: m} }

// The sums of a target go on after a restart, and its notes tell what engines cannot.
func TestTargetsGoOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.log", "RANK 0, GPU 0, step 1, [stats] (running x | pending 2)\nhello\n"+
		"RANK 0, GPU 0, step 10, [nccl_memory] (stats_unavailable=too old)\n"+
		"RANK 1, GPU 1, step 1, [stats] (running 1 | mood good)\n")
	positions := map[string]string{}
	run := func(want string) {
		t.Helper()
		s := sourceOf(dir, "a.log")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, keep(positions)) }()
		got := ""
		for range 400 {
			x := s.Targets()[0]
			got = fmt.Sprintf("%d lines, %d values, %d unreadable", x.Lines, x.Samples, x.Unreadable)
			for _, n := range x.Notes {
				got += "; " + n.Code + " " + strings.Join(n.Args, ",")
			}
			if x.Problem != nil {
				got += "; " + x.Problem.Code
			}
			if got == want {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		stop()
		if err := <-done; err != nil || got != want {
			t.Errorf("%s, error %v; want %s", got, err, want)
		}
	}
	const notes = "; log.unavailable rank0,nccl_memory,too old; log.texts 1,mood"
	run("3 lines, 2 values, 1 unreadable" + notes + "; log.unreadable")
	f, err := os.OpenFile(filepath.Join(dir, "a.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "RANK 0, GPU 0, step 2, [stats] (running 3)\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	run("4 lines, 3 values, 1 unreadable; log.unavailable rank0,nccl_memory,too old")
}

func TestSaved(t *testing.T) {
	want := Counts{1, 2, 3, 4, 5}
	position, got := decodeSaved(encodeSaved(`{"v":1}`, want))
	if position != `{"v":1}` || got != want {
		t.Errorf("%q, %+v", position, got)
	}
	for text, want := range map[string]string{"": "", `{"v":1,"c":{}}`: `{"v":1,"c":{}}`, "junk": "junk", `{"p":{},"n":[-1]}`: "{}"} {
		if position, got := decodeSaved(text); position != want || got != (Counts{}) {
			t.Errorf("%q: %q, %+v", text, position, got)
		}
	}
}
