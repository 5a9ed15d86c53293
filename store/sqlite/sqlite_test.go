package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
)

func open(t *testing.T, dir string, o store.Options) store.Traces {
	t.Helper()
	return openStore(t, filepath.Join(dir, "test.db"), o)
}

func openStore(t *testing.T, path string, o store.Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) { storetest.RunTests(t, open) }
