package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

func TestBackupRestore(t *testing.T) {
	dir := t.TempDir()
	db, copied, other := filepath.Join(dir, "a.db"), filepath.Join(dir, "copy"), filepath.Join(dir, "b.db")
	f := func(want int, text string, args ...string) {
		t.Helper()
		code, out, errOut := command(t, args...)
		if code != want || !strings.Contains(out+errOut, text) {
			t.Errorf("stepscope %s: exit code %d, want %d; output %q %q, want %q in it", strings.Join(args, " "), code, want, out, errOut, text)
		}
	}
	f(1, "--db", "backup", copied, "--db", db)
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("backing up what is not there made it: %v", err)
	}
	st, err := sqlite.Open(t.Context(), db, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.CreateDeployment(t.Context(), store.Deployment{Name: "prod"}); err != nil {
		t.Fatal(err)
	}
	f(0, "stepscope restore", "backup", copied, "--db", db) // while it is open
	f(1, "another name", "backup", copied, "--db", db)
	f(2, "--replace", "restore", copied, "--db", db)
	f(1, "stop it", "restore", copied, "--db", db, "--replace")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	f(0, "before", "restore", copied, "--db", db, "--replace")
	f(0, "restored", "restore", copied, "--db", other)
	for _, path := range []string{db, other} {
		st, err := sqlite.Open(t.Context(), path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := st.Deployments(t.Context()); err != nil || len(d) != 1 || d[0].Name != "prod" {
			t.Errorf("%s has %+v, %v", path, d, err)
		}
		st.Close()
	}
	f(1, "no such file", "restore", filepath.Join(dir, "none"), "--db", filepath.Join(dir, "c.db"))
}
