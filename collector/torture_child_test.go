//go:build unix

package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
		be := beCollector
		if mode == "lock" {
			be = func(string) error { return holdLock(os.Getenv("CHILD_DB")) }
		}
		if err := be(mode); err != nil {
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
	link := &faulty{Link: to, tally: os.Getenv(tallyEnv)}
	link.last.Store(time.Now().UnixNano())
	pace := hurry{poll: 3 * time.Millisecond, batch: 10 * time.Millisecond, retry: 50 * time.Millisecond}
	switch mode {
	case "faults": // until it is killed
		link.faults = true
		go link.fullDisk(os.Getenv("CHILD_DB"))
	case "calm": // as in earnest, until it is interrupted
		pace = hurry{}
	case "drain": // until nothing comes any more
		go func() {
			const idle = 1500 * time.Millisecond
			for link.busy.Load() > 0 || time.Since(time.Unix(0, link.last.Load())) < idle {
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
	if mode != "faults" {
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
		for range 6000 { // until the server has all of it
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
	ended  atomic.Int64 // batches whose fate is known
	busy   atomic.Int64 // batches under way: a disk under load may take seconds for one
	tally  string       // a file with a line for each time that the disk was full
}

// tallyEnv names that file.
const tallyEnv = "STEPSCOPE_TEST_TALLY"

// full counts a batch that found no room. The file is appended to when there is room again: the disk is "full" for a
// moment only. A kill before that costs the test one of its proofs and nothing else.
func (f *faulty) full(err error) {
	// A file that may not grow is an I/O error to SQLite, whose text is all that is left of it.
	isFull := errors.Is(err, store.ErrDiskFull) || errors.Is(err, syscall.EFBIG) || strings.Contains(err.Error(), "disk I/O error")
	if f.tally == "" || !isFull {
		return
	}
	for range 100 {
		file, err := os.OpenFile(f.tally, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		_, err = file.WriteString("full\n")
		if errors.Join(err, file.Close()) == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var errFault = errors.New("a fault that was asked for")

func (f *faulty) Deliver(ctx context.Context, collector string, b *store.Batch) error {
	f.busy.Add(1)
	defer f.busy.Add(-1)
	if f.faults && rand.IntN(10) == 0 {
		return errFault
	}
	err := f.Link.Deliver(ctx, collector, b)
	f.ended.Add(1)
	if err != nil {
		f.full(err)
		return err
	}
	f.last.Store(time.Now().UnixNano())
	f.rows.Add(int64(len(b.Rows)))
	if f.faults && rand.IntN(10) == 0 {
		return errFault
	}
	return nil
}

// fullDisk now and then lets no file grow any more for a while, as a full disk does: until a batch has met it, unless none
// comes.
func (f *faulty) fullDisk(db string) {
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
		} else if strings.HasPrefix(db, "url=") {
			size = largest(filepath.Join(filepath.Dir(os.Getenv("CHILD_LOGS")), "spool"))
		}
		full := was
		if full.Cur = 0; rand.IntN(2) == 0 { // files that are written from their start again grow only later
			full.Cur = uint64(rand.Int64N(size + 1))
		}
		ended := f.ended.Load()
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full) // without it the test is only milder
		for wait := 0; f.ended.Load() < ended+2 && wait < 50; wait++ {
			time.Sleep(4 * time.Millisecond)
		}
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was)
	}
}

// largest is the size of the largest file in a folder.
func largest(dir string) (size int64) {
	list, _ := os.ReadDir(dir) // not there yet: 0
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			size = max(size, info.Size())
		}
	}
	return size
}

// walWriteLock is the byte of the shared-memory file that SQLite locks to write: 120, as its file format says.
const walWriteLock = 120

// lockWriter keeps every other process from writing to a database, as one in a transaction does, until it is released. locked
// is false when there is none yet, or somebody writes just now.
func lockWriter(db string) (release func(), locked bool, err error) {
	f, err := os.OpenFile(db+"-shm", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: walWriteLock, Len: 1}
	for range 50 {
		err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock)
		if !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return func() { f.Close() }, false, nil
	}
	return func() { f.Close() }, err == nil, err
}

// holdLock is the mode "lock" of this program: it locks a database that another process serves, and says so.
func holdLock(db string) error {
	release, locked, err := lockWriter(db)
	if err != nil || !locked {
		return err
	}
	time.Sleep(time.Duration(100+rand.IntN(300)) * time.Millisecond)
	release()
	fmt.Println("locked")
	return nil
}
