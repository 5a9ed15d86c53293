//go:build unix

package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/remote"
	"github.com/stepscope/stepscope/collector/spool"
	"github.com/stepscope/stepscope/collector/tail"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

// childEnv makes the test's program a collector.
const childEnv = "STEPSCOPE_TEST_COLLECTOR"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		if err := beCollector(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beCollector collects into a database.
func beCollector(mode string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	to, end, err := destination(ctx, os.Getenv("CHILD_DB"))
	if err != nil {
		return err
	}
	link := &faulty{Link: to}
	link.last.Store(time.Now().UnixNano())
	pace := hurry{poll: 3 * time.Millisecond, batch: 10 * time.Millisecond, retry: 50 * time.Millisecond}
	switch mode {
	case "faults": // until it is killed
		link.faults = true
		go fullDisk(os.Getenv("CHILD_DB"))
	case "calm": // as in earnest, until it is interrupted
		pace = hurry{}
	case "drain": // until nothing comes any more
		go func() {
			const idle = 1500 * time.Millisecond
			for time.Since(time.Unix(0, link.last.Load())) < idle {
				time.Sleep(idle / 10)
			}
			stop()
		}()
	}
	err = Run(ctx, Options{
		Link: link, Log: quiet(), hurry: pace,
		Config: &config.Config{Name: "c", Deployments: []config.Deployment{{
			Name: "torture", Logs: []config.Log{{Paths: []string{os.Getenv("CHILD_LOGS")}, Zone: "UTC", Start: tail.WithRotated}},
		}}},
	})
	if mode == "calm" {
		fmt.Fprintln(os.Stderr, "rows", link.rows.Load())
	}
	return errors.Join(err, end())
}

// destination is a database, or url= and the address of a server, to which a spool leads.
func destination(ctx context.Context, to string) (wire.Link, func() error, error) {
	url, far := strings.CutPrefix(to, "url=")
	if !far {
		db, err := sqlite.Open(ctx, to, store.Options{}.WithDefaults())
		if err != nil {
			return nil, nil, err
		}
		return web.NewHub(db, web.HubOptions{}), db.Close, nil
	}
	s, err := spool.Open(filepath.Join(filepath.Dir(os.Getenv("CHILD_LOGS")), "spool"), spool.Options{})
	if err != nil {
		return nil, nil, err
	}
	server, err := remote.New(remote.Options{URL: url})
	if err != nil {
		return nil, nil, err
	}
	link := spool.NewLink(server, s)
	forwarding, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- link.Run(forwarding) }()
	return link, func() error {
		for range 100 { // until the server has all of it
			if s.Stats().Batches == 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			return err
		}
		return s.Close()
	}, nil
}

// faulty loses batches on the way to the store, and acknowledgements on the way back.
type faulty struct {
	wire.Link
	faults bool
	last   atomic.Int64 // when a batch was stored last, ns
	rows   atomic.Int64 // stored
}

var errFault = errors.New("a fault that was asked for")

func (f *faulty) Deliver(ctx context.Context, collector string, b *store.Batch) error {
	if f.faults && rand.IntN(10) == 0 {
		return errFault
	}
	if err := f.Link.Deliver(ctx, collector, b); err != nil {
		return err
	}
	f.last.Store(time.Now().UnixNano())
	f.rows.Add(int64(len(b.Rows)))
	if f.faults && rand.IntN(10) == 0 {
		return errFault
	}
	return nil
}

// fullDisk now and then lets no file grow any more for a while, as a full disk does.
func fullDisk(db string) {
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was) != nil {
		return
	}
	for {
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		size := int64(1 << 20)
		if info, err := os.Stat(db + "-wal"); err == nil {
			size = info.Size()
		}
		full := was
		full.Cur = uint64(rand.Int64N(size + 1))
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full) // without it the test is only milder
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was)
	}
}

// walWriteLock is the byte of the shared-memory file that SQLite locks to write: 120, as its file format says.
const walWriteLock = 120

// lockWriter keeps everybody else from writing to a database, as another process in a transaction does, until it is released.
func lockWriter(t *testing.T, db string) (release func()) {
	f, err := os.OpenFile(db+"-shm", os.O_RDWR, 0)
	if err != nil {
		return func() {} // not open yet
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: walWriteLock, Len: 1}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock); err != nil && !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("locking the database: %v", err)
	}
	return func() { f.Close() }
}
