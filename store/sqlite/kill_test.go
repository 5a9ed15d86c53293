package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
)

// victimVar makes the test binary the process that gets killed: it holds the
// database's path and the upload's id.
const victimVar = "STEPSCOPE_TEST_VICTIM"

const victimBytes = 60*mib + 5

// TestVictim is no test: it goes on with an upload, a MiB for each byte that its
// parent grants on standard input, and says so before it hands the MiB over.
func TestVictim(t *testing.T) {
	arg := os.Getenv(victimVar)
	if arg == "" {
		t.Skip("runs as the child of TestKilled")
	}
	dir, id := filepath.Split(arg)
	s := openStore(t, filepath.Join(dir, "test.db"), store.Options{})
	u, err := s.Upload(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	b := storetest.Content(1, victimBytes)[u.Offset:]
	if _, err := s.AppendUpload(context.Background(), id, u.Offset, &granted{r: bytes.NewReader(b)}); err != nil {
		t.Fatal(err)
	}
}

type granted struct{ r *bytes.Reader }

func (g *granted) Read(p []byte) (int, error) {
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return 0, err
	}
	n, err := g.r.Read(p[:min(len(p), mib)])
	fmt.Println("read", n)
	return n, err
}

// A server killed at any moment has stored a prefix whose hash state belongs to
// it: the upload goes on there, and the trace has the SHA-256 of the whole.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	want := storetest.Content(1, victimBytes)
	s := openStore(t, path, store.Options{})
	u, err := s.CreateUpload(t.Context(), store.Meta{}, victimBytes)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	last := int64(0)
	// Behind each fourth MiB the child is in the middle of a transaction.
	for _, reads := range []int{4, 4, 9, 8, 13} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
		cmd.Env = append(os.Environ(), victimVar+"="+filepath.Join(filepath.Dir(path), u.ID))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(make([]byte, reads)); err != nil { // and it stays open
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range reads {
			if !lines.Scan() {
				t.Fatalf("the child ended early: %v", lines.Err())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed

		s := openStore(t, path, store.Options{})
		got, err := s.Upload(t.Context(), u.ID)
		if err != nil || got.Offset < last || got.Offset > victimBytes {
			t.Fatalf("after a kill at read %d: %+v, %v; before it was at %d", reads, got, err, last)
		}
		if n := usage(t, s); n != got.Offset {
			t.Errorf("usage is %d and the upload at %d", n, got.Offset)
		}
		last = got.Offset
		s.Close()
	}
	// 38 MiB were handed over; of 9, 8 and 13, no kill can take back the first 8, 4 and 12.
	if last < 24*mib || last > 38*mib {
		t.Errorf("the kills left the upload at %d MiB", last/mib)
	}
	s = openStore(t, path, store.Options{})
	u, err = s.AppendUpload(t.Context(), u.ID, last, bytes.NewReader(want[last:]))
	if err != nil || u.Trace != storetest.ID(want) {
		t.Fatalf("the rest: %+v, %v; want %s", u, err, storetest.ID(want))
	}
	wantBytes(t, s, u.Trace, want)
}
