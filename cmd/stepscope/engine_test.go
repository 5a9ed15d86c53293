package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/ledger"
)

// The same command prints the same ledger, byte for byte, and all of it can be read back.
func TestEngineLedger(t *testing.T) {
	args := []string{"engine", "--seed", "1", "--steps", "2000", "--log", "-", "--profile-port-base", "0"}
	code, first, errs := command(t, args...)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, errors %q", code, errs)
	}
	if _, second, _ := command(t, args...); first != second {
		t.Error("the second run prints something else")
	}
	count := map[ledger.Section]int{}
	for line := range strings.Lines(first) {
		for _, r := range ledger.Parse(nil, []byte(line)) {
			if r.Err != nil {
				t.Fatalf("%s: %v", line, r.Err)
			}
			count[r.Line.Section]++
		}
	}
	// Steps 0, 100, … 1900, without GPU work at step 0; memory at step 10, which doesn't change.
	if count[ledger.Stats] != 20 || count[ledger.CPU] != 20 || count[ledger.CUDA] != 19 || count[ledger.NCCL] != 1 {
		t.Errorf("lines: %v", count)
	}
	if _, other, _ := command(t, "engine", "--seed", "2", "--steps", "2000", "--profile-port-base", "0"); other == first {
		t.Error("another seed prints the same")
	}
}

func TestEngineFlags(t *testing.T) {
	f := func(want int, text string, args ...string) {
		t.Helper()
		code, out, errs := command(t, append([]string{"engine", "--profile-port-base", "0"}, args...)...)
		if code != want || !strings.Contains(out+errs, text) {
			t.Errorf("stepscope engine %q: exit code %d, want %d; %q %q, want %q in it", args, code, want, out, errs, text)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.json")
	if err := os.WriteFile(file, []byte("{\n\"deployments\": [{\"logging\": {\"prefix\": \"none\"}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte("{\n\"deployment\": []}"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(0, "RANK 2, GPU 2, step 0, [stats] (", "--steps", "1", "--count", "3")
	f(0, "RANK 0, GPU 0, step 0, [stats] (", "--steps", "1", "--scenario", file)
	f(0, "2026-05-06 07:08:09,002 INFO", "--steps", "1", "--start", "2026-05-06T07:08:09Z")
	f(2, "bad.json: line 2: there is no key \"deployment\" here", "--scenario", bad)
	f(2, "no such file", "--scenario", filepath.Join(dir, "none.json"))
	f(2, "the built-in ones are drifting-draft, ", "--scenario", "sick")
	f(2, "there is no such fault", "--fault", "sleep")
	f(2, "at which step?", "--fault", "hang=3s")
	f(2, "is no speed", "--speed", "fast")
	f(2, "is no speed", "--speed=-1")
	f(2, "is no time", "--start", "noon")
	f(2, "the year 1905", "--start", "1905-06-30T00:00:00Z")
	f(2, "standard output can't be rotated", "--rotate", "rename:1KiB")
	f(2, "rotation", "--rotate", "daily")
	f(2, "standard output can't be rotated or truncated", "--fault", "truncate@5")
	f(2, "9999 is out of range", "--count", "9999")
	f(2, "--count", "--count", "-1")
	f(2, "--count: give 1 or more", "--count", "0")
	f(2, "--steps", "--steps", "-1")
	f(2, "--profile-port-base", "--profile-port-base", "65530")
	f(1, "log: open", "--steps", "1", "--log", filepath.Join(dir, "none", "engine.log"))

	logs := filepath.Join(dir, "rank{rank}.log")
	f(0, "", "--steps", "400", "--count", "2", "--log", logs, "--rotate", "copytruncate:4KiB", "--fault", "rotate@100", "--fault", "hang@200=1m")
	for _, name := range []string{"rank0.log", "rank0.log.1", "rank1.log", "rank1.log.2"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 4096 {
			t.Errorf("%s: %v, error %v", name, info, err)
		}
	}
}
