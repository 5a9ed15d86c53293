package spool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	l.note("server", err, "the batches wait in the spool meanwhile; nothing is lost as long as it has room")
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

// note keeps the newest problem of a kind for the report; nil takes it away.
func (l *Link) note(kind string, err error, hint string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.problems, kind)
		return
	}
	p := l.problems[kind]
	if p == nil {
		p = &wire.Problem{}
		l.problems[kind] = p
	}
	p.Time, p.What, p.Hint = time.Now(), err.Error(), hint
	p.Count++
}

// Deliver implements wire.Link: nil means that the batch is in the spool.
func (l *Link) Deliver(_ context.Context, _ string, b *store.Batch) error {
	err := l.spool.Append(b)
	l.note("spool", err, "reading waits until the spool takes batches again; what is in log files stays readable there")
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
		l.note("disk", err, diskHint)
	}
	if err != nil {
		return err
	}
	err = l.remote.Deliver(ctx, hello.Collector, b)
	if errors.Is(err, store.ErrInvalid) {
		// It would stop everything behind it for ever. Where the sources stand must
		// be known all the same, or a restart would bring these lines again.
		l.note("refused", fmt.Errorf("the server refused batch %d, its %d rows and %d events are lost: %w", b.Seq, len(b.Rows), len(b.Events), err),
			"collector and server may be of different versions: update the older one")
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
		l.note("server", err, "the batches wait in the spool meanwhile; nothing is lost as long as it has room")
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

const diskHint = "check the disk of the spool's folder"

// Problems lists what is wrong with the spool and the way to the server.
func (l *Link) Problems() (list []wire.Problem) {
	l.mu.Lock()
	for _, kind := range [...]string{"server", "spool", "disk", "refused"} {
		if p := l.problems[kind]; p != nil {
			list = append(list, *p)
		}
	}
	l.mu.Unlock()
	add := func(hint, what string, args ...any) {
		list = append(list, wire.Problem{Time: time.Now(), What: fmt.Sprintf(what, args...), Hint: hint, Count: 1})
	}
	st := l.spool.Stats()
	if st.Thinned > 0 {
		add("give it more room with --spool-max, or keep the server up", "%d samples were thinned out of the spool", st.Thinned)
	}
	if st.Damaged > 0 {
		add(diskHint, "%d batches in the spool were damaged and are lost", st.Damaged)
	}
	if st.Skipped > 0 {
		add("run one collector of this name, always with the same spool folder",
			"%d batches in the spool were given up: the server has later ones of this collector", st.Skipped)
	}
	if st.Fault != nil {
		add(diskHint, "%v", st.Fault)
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
