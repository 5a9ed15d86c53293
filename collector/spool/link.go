package spool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// The times between two tries to reach the server: the first, and the longest
// after doubling.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// ErrOvertaken: another process went on under this collector's name, so this one
// no longer knows where its sources stand. After a restart it goes on where the
// server stands: what the other read is not read twice.
var ErrOvertaken = errors.New("another process went on under this collector's name; stop one of them, give it another name, and start this one again")

// Link is a wire.Link that spools what is delivered and forwards it to a remote
// one. Everything but Deliver and Hello goes straight through. Run must be
// running for anything to be forwarded.
type Link struct {
	remote wire.Link
	spool  *Spool
	wait   func(ctx context.Context, d time.Duration) error // tests have no time

	mu       sync.Mutex
	hello    *wire.Hello
	met      bool // the server answered the last hello, and no call failed since
	problems map[string]*wire.Problem
	greeted  chan struct{} // closed at the first Hello
}

var _ wire.Link = (*Link)(nil)

// NewLink joins a spool and the way to the server. The spool stays the caller's to close, after Run.
func NewLink(remote wire.Link, s *Spool) *Link {
	return &Link{remote: remote, spool: s, wait: sleep, problems: map[string]*wire.Problem{}, greeted: make(chan struct{})}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Hello implements wire.Link. With the server away it answers from the spool, and
// Run greets the server later. It fails where only the server can know: in an
// empty spool, and when the name is taken.
func (l *Link) Hello(ctx context.Context, h wire.Hello) (wire.Welcome, error) {
	w, err := l.greet(ctx, h)
	if err != nil {
		local, ok := l.spool.Welcome()
		if !ok || errors.Is(err, wire.ErrTaken) || errors.Is(err, store.ErrInvalid) || ctx.Err() != nil {
			return wire.Welcome{}, err
		}
		w = local
	}
	l.mu.Lock()
	if l.hello == nil {
		close(l.greeted)
	}
	l.hello = &h
	l.mu.Unlock()
	return w, nil
}

// greet says hello to the server and drops what it has.
func (l *Link) greet(ctx context.Context, h wire.Hello) (wire.Welcome, error) {
	w, err := l.remote.Hello(ctx, h)
	switch {
	case err != nil:
	case !l.known():
		w, err = l.spool.Meet(w)
	case w.Seq > l.spool.Stats().Seq:
		err = fmt.Errorf("%w: the server has batches up to %d under the name %q, this process gave none beyond %d", ErrOvertaken, w.Seq, h.Collector, l.spool.Stats().Seq)
	default: // the collector reads on already: only numbers count now
		l.spool.Ack(w.Seq)
	}
	l.note("spool.server", err)
	l.mu.Lock()
	l.met = err == nil
	l.mu.Unlock()
	return w, err
}

func (l *Link) known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hello != nil
}

// note keeps the newest error of a kind for the report; nil takes it away.
func (l *Link) note(code string, err error) {
	if err != nil {
		l.tell(code, err.Error())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.problems, code)
}

// tell keeps the newest problem of a kind for the report, and how often there was one.
func (l *Link) tell(code string, args ...string) {
	p := wire.NewProblem(time.Now(), code, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if was := l.problems[code]; was != nil {
		p.Count += was.Count
	}
	l.problems[code] = p
}

// Deliver implements wire.Link: nil means that the batch is in the spool.
func (l *Link) Deliver(_ context.Context, _ string, b *store.Batch) error {
	err := l.spool.Append(b)
	l.note("spool.full", err)
	return err
}

// Run forwards until ctx ends, or until it fails with ErrOvertaken or because the
// spool was closed.
func (l *Link) Run(ctx context.Context) error {
	select {
	case <-l.greeted:
	case <-ctx.Done():
		return ctx.Err()
	}
	retry := firstRetry
	for {
		err := l.step(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errClosed), errors.Is(err, ErrOvertaken):
			return err
		case err == nil:
			retry = firstRetry
			continue
		}
		// Collectors that lost one server must not all come back in the same moment.
		if err := l.wait(ctx, retry/2+rand.N(retry/2+1)); err != nil {
			return err
		}
		retry = min(2*retry, lastRetry)
	}
}

// step forwards one batch, after greeting a server that was away.
func (l *Link) step(ctx context.Context) error {
	l.mu.Lock()
	met, hello := l.met, *l.hello
	l.mu.Unlock()
	if !met {
		if _, err := l.greet(ctx, hello); err != nil {
			return err
		}
	}
	b, err := l.spool.Next(ctx)
	if ctx.Err() == nil {
		l.note("spool.disk", err)
	}
	if err != nil {
		return err
	}
	err = l.remote.Deliver(ctx, hello.Collector, b)
	if errors.Is(err, store.ErrInvalid) {
		// It would stop everything behind it for ever. Where the sources stand must
		// be known all the same, or a restart would bring these lines again.
		l.tell("spool.refused", strconv.FormatUint(b.Seq, 10), strconv.Itoa(len(b.Rows)), strconv.Itoa(len(b.Events)), err.Error())
		err = l.remote.Deliver(ctx, hello.Collector, &store.Batch{Seq: b.Seq, Positions: b.Positions})
		if errors.Is(err, store.ErrInvalid) {
			err = nil
		}
	}
	if err == nil {
		l.spool.Ack(b.Seq)
		return nil
	}
	if ctx.Err() == nil {
		l.note("spool.server", err)
		l.mu.Lock()
		l.met = false
		l.mu.Unlock()
	}
	return err
}

// Report implements wire.Link. It adds what waits here and what went wrong.
func (l *Link) Report(ctx context.Context, r wire.Report) error {
	r.Spooled += l.spool.Stats().Waiting
	r.Problems = append(r.Problems[:len(r.Problems):len(r.Problems)], l.Problems()...)
	return l.remote.Report(ctx, r)
}

// Problems lists what is wrong with the spool and the way to the server.
func (l *Link) Problems() (list []wire.Problem) {
	l.mu.Lock()
	for _, code := range [...]string{"spool.server", "spool.full", "spool.disk", "spool.refused"} {
		if p := l.problems[code]; p != nil {
			list = append(list, *p)
		}
	}
	l.mu.Unlock()
	st := l.spool.Stats()
	for _, lost := range []struct {
		code  string
		count int64
	}{{"spool.thinned", st.Thinned}, {"spool.damaged", st.Damaged}, {"spool.skipped", st.Skipped}} {
		if lost.count > 0 {
			list = append(list, *wire.NewProblem(time.Now(), lost.code, strconv.FormatInt(lost.count, 10)))
		}
	}
	if st.Fault != nil {
		list = append(list, *wire.NewProblem(time.Now(), "spool.disk", st.Fault.Error()))
	}
	return list
}

// Poll implements wire.Link.
func (l *Link) Poll(ctx context.Context, collector string) ([]wire.Command, error) {
	return l.remote.Poll(ctx, collector)
}

// RequestCaptures implements wire.Link.
func (l *Link) RequestCaptures(ctx context.Context, collector string, q wire.CaptureRequest) ([]store.Capture, error) {
	return l.remote.RequestCaptures(ctx, collector, q)
}

// Update implements wire.Link.
func (l *Link) Update(ctx context.Context, collector string, u wire.CaptureUpdate) error {
	return l.remote.Update(ctx, collector, u)
}

// PutTrace implements wire.Link.
func (l *Link) PutTrace(ctx context.Context, f wire.TraceFile) (string, error) {
	return l.remote.PutTrace(ctx, f)
}
