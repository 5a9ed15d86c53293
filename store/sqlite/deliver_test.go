package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// numbered is batch n of a collector: ten rows in which all values are n, and a
// position that says n.
func numbered(n int) *store.Batch {
	b := &store.Batch{Seq: uint64(n), Engines: []store.EngineInfo{{EngineKey: store.EngineKey{Deployment: "prod", Name: "rank0"}}},
		Layouts:   []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "sps"}, {Metric: "tps"}}}},
		Positions: []store.Position{{Source: "a.log", Value: strconv.Itoa(n)}}}
	for i := range int64(10) {
		b.Rows = append(b.Rows, store.Row{Time: t0 + (int64(n)*10+i)*60*int64(time.Second), Step: int64(n)*10 + i, Values: []float64{float64(n), float64(n)}})
	}
	return b
}

// wantNumbered fails unless the store holds all of the batches up to n, once.
func wantNumbered(t *testing.T, s *Store, n int) {
	t.Helper()
	at, seq, err := s.Positions(t.Context(), "node")
	if err != nil || seq != uint64(n) || n > 0 && (len(at) != 1 || at[0].Value != strconv.Itoa(n)) {
		t.Fatalf("positions %+v, batch %d, %v; want batch %d", at, seq, err, n)
	}
	if got := countSamples(t, s); got != 20*n { // ten rows of two values each
		t.Fatalf("%d samples, want %d of %d batches", got, 20*n, n)
	}
}

// wantAdvice fails unless an error has its sentinel, the place and a next step.
func wantAdvice(t *testing.T, s *Store, err, sentinel error, next string) {
	t.Helper()
	if !errors.Is(err, sentinel) || !strings.Contains(err.Error(), s.path) || !strings.Contains(err.Error(), next) {
		t.Errorf("error %v; want %v, the path and %q", err, sentinel, next)
	}
}

func TestDeliverDiskFull(t *testing.T) {
	s := smallDisk(t, 17*mib+mib/2) // 16 of them stay free
	n := 1
	for ; n < 10_000; n++ {
		if _, err := s.Deliver(t.Context(), "node", numbered(n)); err != nil {
			var space *store.SpaceError
			if !errors.As(err, &space) {
				t.Errorf("no figures in %v", err)
			}
			wantAdvice(t, s, err, store.ErrDiskFull, "make room")
			break
		}
	}
	wantNumbered(t, s, n-1)
	// Packing makes room where it is scarce.
	if _, err := s.Maintain(t.Context(), time.Unix(0, t0).Add(20000*time.Hour), store.Retention{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Deliver(t.Context(), "node", numbered(n)); err != nil {
		t.Errorf("after packing: %v", err)
	}
	wantNumbered(t, s, n)
}

// Another program may fill the disk between the look and the write.
func TestDeliverWriteFails(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "test.db"), store.Options{})
	var pages int
	if err := s.w.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		if _, err := s.w.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 3)
	n := 1
	for ; n < 10_000; n++ {
		if _, err := s.Deliver(t.Context(), "node", numbered(n)); err != nil {
			wantAdvice(t, s, err, store.ErrDiskFull, "make room")
			break
		}
	}
	if n == 1 || n == 10_000 {
		t.Fatalf("the disk was full at batch %d", n)
	}
	wantNumbered(t, s, n-1)
	err := s.PutSummary(t.Context(), keepUnlimited(t, s, limit, pages), make([]byte, mib))
	wantAdvice(t, s, err, store.ErrDiskFull, "make room")
	limit(1 << 30)
	if _, err := s.Deliver(t.Context(), "node", numbered(n)); err != nil {
		t.Error(err)
	}
	wantNumbered(t, s, n)
}

// keepUnlimited keeps a small trace and sets the limit again.
func keepUnlimited(t *testing.T, s *Store, limit func(int), pages int) string {
	limit(1 << 30)
	defer limit(pages + 10)
	return keep(t, s, []byte(`{"traceEvents":[]}`)).ID
}

func TestDeliverBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s, other := openStore(t, path, store.Options{}), openStore(t, path, store.Options{})
	if _, err := s.Deliver(t.Context(), "node", numbered(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.Exec(`PRAGMA busy_timeout = 20`); err != nil {
		t.Fatal(err)
	}
	tx, err := other.w.BeginTx(t.Context(), nil) // holds the only right to write
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Deliver(t.Context(), "node", numbered(2))
	wantAdvice(t, s, err, store.ErrBusy, "try again")
	_, err = s.Maintain(t.Context(), time.Unix(0, t0).Add(1000*time.Hour), store.Retention{})
	wantAdvice(t, s, err, store.ErrBusy, "try again")
	wantNumbered(t, s, 1) // reading goes on
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Deliver(t.Context(), "node", numbered(2)); err != nil {
		t.Error(err)
	}
	wantNumbered(t, s, 2)
}

// deliverVar makes the test binary a collector that gets killed; it holds the database's path.
const deliverVar = "STEPSCOPE_TEST_DELIVERER"

// TestDeliverer is no test: it delivers batches for good, maintains now and
// then, and says which batches were acknowledged.
func TestDeliverer(t *testing.T) {
	path := os.Getenv(deliverVar)
	if path == "" {
		t.Skip("runs as the child of TestDeliverKilled")
	}
	s := openStore(t, path, store.Options{})
	_, seq, err := s.Positions(context.Background(), "node")
	if err != nil {
		t.Fatal(err)
	}
	for n := int(seq) + 1; ; n++ {
		if _, err := s.Deliver(context.Background(), "node", numbered(n)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("acknowledged", n)
		if n%7 == 0 { // 100 minutes a batch: all but the last two are old enough
			if _, err := s.Maintain(context.Background(), time.Unix(0, t0+int64(n)*600*int64(time.Second)), store.Retention{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A collector killed at any moment has delivered whole batches: what was
// acknowledged is there, positions and samples agree, nothing is there twice.
func TestDeliverKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	kills := 12
	if testing.Short() {
		kills = 4
	}
	r := rand.New(rand.NewPCG(1, 1))
	last := 0
	for range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDeliverer$")
		cmd.Env = append(os.Environ(), deliverVar+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 1 + r.IntN(30) {
			if !lines.Scan() {
				t.Fatalf("the child ended early: %v", lines.Err())
			}
			if n, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "acknowledged ")); err == nil {
				last = n
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed

		s := openStore(t, path, store.Options{})
		_, seq, err := s.Positions(t.Context(), "node")
		if err != nil || int(seq) < last {
			t.Fatalf("after a kill: batch %d, %v; %d was acknowledged", seq, err, last)
		}
		wantNumbered(t, s, int(seq))
		s.Close()
	}
}
