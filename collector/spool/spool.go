package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// Defaults of Options, in bytes. A batch may be larger than a segment, which
// then has just that one.
const (
	DefaultMax     = 1 << 30
	DefaultSegment = 4 << 20
	// lean is the size at which a segment is given up once the server has all
	// of it: small, so that a connected collector's spool stays small.
	lean = 256 << 10
)

// ErrFull: the spool has no room and nothing left to thin. The batch was not
// taken; it can be once the server is back.
var ErrFull = errors.New("the spool is full and its rows are thinned as far as they can be")

// Options bound a spool. Zero values are the defaults.
type Options struct {
	Max     int64 // bytes on disk
	Segment int64 // bytes of one file
	Files   Files // the file system; nil is the real one
}

// Stats says what a spool holds and what it had to do.
type Stats struct {
	Batches int   // waiting for the server
	Waiting int64 // bytes of them
	Bytes   int64 // on disk, all files
	Seq     uint64
	Thinned int64 // samples thinned out since the spool was opened
	Damaged int64 // batches that the disk damaged, at least
	Skipped int64 // batches given up because the server has later ones that are not from here
	Fault   error // last failure that cost nothing yet
}

// Spool is an open folder. All methods may be called from many goroutines.
type Spool struct {
	dir   string
	opt   Options
	files Files
	lock  io.Closer

	mu        sync.Mutex
	segments  []*segment // by number
	active    *segment   // where records are appended; nil after a failure
	next      uint64     // number of the next segment
	records   []record   // not acknowledged, by seq
	seq       uint64     // of the last batch taken
	positions map[string]string
	known     bool // positions are from this folder or from the server, not just empty
	bytes     int64
	thinned   int64
	damaged   int64
	skipped   int64
	fault     error
	closed    bool
	changed   chan struct{} // closed and replaced when records come or go
}

// Open opens the folder and makes it if it isn't there. It fails if another process has it.
func Open(dir string, o Options) (*Spool, error) {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	if o.Segment <= 0 {
		o.Segment = DefaultSegment
	}
	o.Segment = min(o.Segment, max(o.Max/8, 1))
	if o.Files == nil {
		o.Files = Disk{}
	}
	s := &Spool{dir: dir, opt: o, files: o.Files, positions: map[string]string{}, next: 1, changed: make(chan struct{})}
	if err := s.files.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("spool folder: %w; choose another with --spool, or check who may write there", err)
	}
	var err error
	if s.lock, err = s.files.Lock(filepath.Join(dir, "lock")); err != nil {
		return nil, fmt.Errorf("spool folder %q: %w; give each collector a folder of its own", dir, err)
	}
	if err := s.load(); err != nil {
		s.Close()
		return nil, fmt.Errorf("spool folder %q: %w", dir, err)
	}
	// What was written before is never appended to: its end may be torn.
	if err := s.rotate(); err != nil {
		s.Close()
		return nil, fmt.Errorf("spool folder %q: %w; it must be writable and have space", dir, err)
	}
	return s, nil
}

// Close lets go of the folder. What waits in it stays for the next Open.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.lock.Close()
	for _, seg := range s.segments {
		err = errors.Join(err, seg.file.Close())
	}
	s.notify()
	return err
}

// notify wakes who waits for a change. The spool is locked.
func (s *Spool) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

var errClosed = errors.New("the spool is closed")

// Append takes a batch. After nil it is on the disk. A batch whose Seq was taken
// before is not taken again. On failure nothing was taken and the same batch, or
// a longer one with the same Seq, can be tried again.
func (s *Spool) Append(b *store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case b.Seq == 0:
		return fmt.Errorf("%w: a batch without a number can't be spooled", store.ErrInvalid)
	case b.Seq <= s.seq:
		return nil
	}
	// What the server would refuse is refused while the collector still has it.
	if err := b.Check(); err != nil {
		return err
	}
	rec, err := appendRecord(nil, kindBatch, 0, b)
	if err != nil {
		return err
	}
	// A new segment may be due, here or in making room, with about as large a snapshot as the last.
	if err := s.makeRoom(int64(len(rec) + 2*len(s.segments[len(s.segments)-1].snapshot))); err != nil {
		return err
	}
	if a := s.active; a == nil || a.size >= s.opt.Segment || a.pending == 0 && a.size >= min(lean, s.opt.Segment) {
		if err := s.rotate(); err != nil {
			return fmt.Errorf("spool folder %q: %w; it must be writable and have space", s.dir, err)
		}
	}
	a := s.active
	_, err = a.file.WriteAt(rec, a.size)
	if err == nil {
		err = a.file.Sync()
	}
	if err != nil {
		// What of it is on the disk is unknown: this file is not used any more.
		s.active = nil
		return fmt.Errorf("spool folder %q: %w; it must be writable and have space", s.dir, errors.Join(err, a.file.Truncate(a.size)))
	}
	s.records = append(s.records, record{seg: a, off: a.size, size: int64(len(rec)), seq: b.Seq})
	a.size += int64(len(rec))
	a.pending++
	s.bytes += int64(len(rec))
	s.seq = b.Seq
	s.remember(b.Positions)
	s.fault = nil
	s.notify()
	return nil
}

// remember takes over positions; an empty value removes one.
func (s *Spool) remember(list []store.Position) {
	for _, p := range list {
		if p.Value == "" {
			delete(s.positions, p.Source)
		} else {
			s.positions[p.Source] = p.Value
		}
	}
	s.known = true
}

// read reads one batch.
func (s *Spool) read(r record) (*store.Batch, error) {
	size, err := r.seg.file.Size()
	if err != nil {
		return nil, err
	}
	h, payload, err := readRecord(r.seg.file, r.off, size)
	if err != nil {
		return nil, err
	}
	b, err := unpack(payload)
	if err != nil {
		return nil, err
	}
	if h.seq != r.seq || b.Seq != r.seq {
		return nil, errBad
	}
	return b, nil
}

// Next waits for the oldest batch that is not acknowledged and returns it; it
// stays until Ack. A batch that the disk has damaged is given up and counted.
func (s *Spool) Next(ctx context.Context) (*store.Batch, error) {
	for {
		s.mu.Lock()
		for !s.closed && len(s.records) > 0 {
			b, err := s.read(s.records[0])
			if err == nil {
				s.mu.Unlock()
				return b, nil
			}
			if !errors.Is(err, errBad) && !errors.Is(err, store.ErrInvalid) {
				s.mu.Unlock()
				return nil, fmt.Errorf("spool folder %q: %w", s.dir, err)
			}
			s.damaged++
			s.drop(1)
		}
		changed, closed := s.changed, s.closed
		s.mu.Unlock()
		if closed {
			return nil, errClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Ack forgets all batches up to seq: the server has them.
func (s *Spool) Ack(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ack(seq)
}

func (s *Spool) ack(seq uint64) {
	n := 0
	for n < len(s.records) && s.records[n].seq <= seq {
		n++
	}
	s.drop(n)
}

// drop forgets the oldest n records.
func (s *Spool) drop(n int) {
	if n == 0 {
		return
	}
	for _, r := range s.records[:n] {
		r.seg.pending--
	}
	s.records = slices.Delete(s.records, 0, n)
	if !s.closed {
		s.sweep()
	}
	s.notify()
}

// Meet joins what a server knows with what waits here, and returns where the
// sources stand: the server's positions, and on top those of the batches it lacks.
// The server's word counts even where the spool remembers more: a store that was
// restored from a backup lacks the lines since, and they may still be readable.
// A server that has later batches than ever were here heard another process of
// this name: what waits here is then given up, its lines are read again or were
// read by the other.
func (s *Spool) Meet(w wire.Welcome) (wire.Welcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.Seq > s.seq {
		s.skipped += int64(len(s.records))
	}
	s.ack(w.Seq)
	former := maps.Clone(s.positions)
	clear(s.positions)
	s.remember(w.Positions)
	for _, r := range s.records {
		b, err := s.read(r)
		if err != nil {
			if errors.Is(err, errBad) || errors.Is(err, store.ErrInvalid) {
				continue // Next counts it
			}
			return wire.Welcome{}, fmt.Errorf("spool folder %q: %w", s.dir, err)
		}
		s.remember(b.Positions)
	}
	changed := s.seq < w.Seq || !maps.Equal(former, s.positions)
	s.seq = max(s.seq, w.Seq)
	if changed {
		if err := s.rotate(); err != nil {
			return wire.Welcome{}, fmt.Errorf("spool folder %q: %w; it must be writable and have space", s.dir, err)
		}
	}
	return s.welcome(), nil
}

// Welcome says where the sources stand without a server. ok is false in a folder
// that never had a batch nor met a server: nobody knows then.
func (s *Spool) Welcome() (w wire.Welcome, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.welcome(), s.known
}

func (s *Spool) welcome() wire.Welcome {
	w := wire.Welcome{Seq: s.seq}
	for _, source := range slices.Sorted(maps.Keys(s.positions)) {
		w.Positions = append(w.Positions, store.Position{Source: source, Value: s.positions[source]})
	}
	return w
}

// Stats tells how the spool is.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := int64(0)
	for _, r := range s.records {
		waiting += r.size
	}
	return Stats{Batches: len(s.records), Waiting: waiting, Bytes: s.bytes, Seq: s.seq, Thinned: s.thinned, Damaged: s.damaged, Skipped: s.skipped, Fault: s.fault}
}
