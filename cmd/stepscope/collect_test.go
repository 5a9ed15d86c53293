package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

func TestCollectFlags(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, []byte("deployments:\n- name: a\n  logs: /x.log\n  color: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) {
		t.Helper()
		code, out, errs := command(t, append([]string{"collect"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("stepscope collect %q: exit code %d; %q %q, want %q in it", args, code, out, errs, want)
		}
	}
	db := filepath.Join(dir, "s.db")
	f("what to collect?", "--db", db)
	f("--deployment", "--db", db, "--log", "-")
	f("the file says all", "--db", db, "--config", file, "--log", "-")
	f("--server", "--deployment", "a", "--log", "-")
	f("can't be used together", "--db", db, "--server", "http://x", "--deployment", "a", "--log", "-")
	f(`line 4: deployment "a" has no key "color"`, "--db", db, "--config", file)
	f("no zone", "--db", db, "--deployment", "a", "--log", "x", "--zone", "Mars")
	f("host:port", "--db", db, "--deployment", "a", "--profile", "x")
	f("--kind", "--db", db, "--deployment", "a", "--metrics", "h:1", "--kind", "tgi")
}

// From a pipe into a database: the command ends with its input.
func TestCollectStandardInput(t *testing.T) {
	db := filepath.Join(t.TempDir(), "s.db")
	_, lines, _ := command(t, "engine", "--seed", "1", "--steps", "1000", "--profile-port-base", "0", "--start", "2026-05-06T07:08:09Z")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"collect", "--db", db, "--deployment", "piped", "--log", "-", "--zone", "UTC"},
		&IO{In: strings.NewReader(lines), Out: &out, Err: &errs})
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	s, err := sqlite.Open(t.Context(), db, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var steps []int64
	engines, err := s.Engines(t.Context(), "piped")
	if err != nil || len(engines) != 1 || engines[0].Name != "rank0" {
		t.Fatalf("engines %+v, error %v", engines, err)
	}
	err = s.Read(t.Context(), store.Selection{Engines: []int64{engines[0].ID}, Metrics: []string{"running"}, To: store.MaxTime}, func(x *store.Series) error {
		steps = append(steps, x.Steps...)
		return nil
	})
	if err != nil || len(steps) != 10 || steps[9] != 900 { // 0, 100, … 900
		t.Errorf("steps %v, error %v", steps, err)
	}
	if first := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC).UnixNano(); engines[0].First < first || engines[0].First > first+int64(time.Second) {
		t.Errorf("the first sample is of %v", time.Unix(0, engines[0].First).UTC())
	}
}

// From a pipe to a server: the command ends when the server has all of it, and leaves it in the spool when there is none.
func TestCollectToServer(t *testing.T) {
	dir := t.TempDir()
	_, lines, _ := command(t, "engine", "--seed", "1", "--steps", "500", "--profile-port-base", "0")
	collect := func(url string) string {
		t.Helper()
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"collect", "--server", url, "--deployment", "piped", "--log", "-", "--spool", filepath.Join(dir, "spool")},
			&IO{In: strings.NewReader(lines), Out: &out, Err: &errs})
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		return errs.String()
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan int, 1)
	go func() {
		defer w.Close()
		done <- run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--db", filepath.Join(dir, "s.db")}, &IO{Out: w, Err: io.Discard})
	}()
	line := make([]byte, 200)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(line[:n]))
	if said := collect(address); strings.Contains(said, "not taken everything") {
		t.Errorf("with a server the command says %s", said)
	}
	if page := get(t, address+"/fleet"); !strings.Contains(page, "piped") {
		t.Error("the fleet page lacks the deployment")
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("the server's exit code is %d", code)
	}
	if said := collect(address); !strings.Contains(said, "sent at the next start") {
		t.Errorf("without a server the command says %s", said)
	}
}

// The demo shows two simulated deployments with a history, and leaves nothing behind.
func TestDemo(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	own := filepath.Join(t.TempDir(), "own.db")
	t.Setenv("STEPSCOPE_DB", own) // which a demo must not touch
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	var errs bytes.Buffer
	done := make(chan int, 1)
	go func() {
		defer w.Close()
		done <- run(ctx, []string{"serve", "--demo", "--addr", "127.0.0.1:0"}, &IO{Out: w, Err: &errs})
	}()
	line := make([]byte, 200)
	n, err := r.Read(line)
	if err != nil {
		t.Fatalf("the server said nothing: %v, %s", err, errs.String())
	}
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(line[:n]))
	page := ""
	for range 600 {
		if page = get(t, address+"/fleet"); strings.Count(page, "rank1") >= 2 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, want := range []string{"demo-a", "demo-b", "rank0", "Simulated"} {
		if !strings.Contains(page, want) {
			t.Errorf("the fleet page lacks %q", want)
		}
	}
	stop()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("the demo wrote into the database that the environment names")
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d, error %v", url, res.StatusCode, err)
	}
	return string(body)
}
