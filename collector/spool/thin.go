package spool

import (
	"errors"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/store"
)

// thinnedText is the Detail of events that tell of thinned rows. It is short:
// there may be one in every batch, and it must not cost more than the rows did.
const thinnedText = "spool full"

// makeRoom thins until add more bytes fit. The spool is locked.
func (s *Spool) makeRoom(add int64) error {
	if add > s.opt.Max {
		return fmt.Errorf("%w: a batch of %d bytes can't go into %d", ErrFull, add, s.opt.Max)
	}
	for s.bytes+add > s.opt.Max {
		seg := s.thinnest()
		if seg == nil {
			return fmt.Errorf("%w: %d batches in %d of %d bytes; bring the server back, or give the spool more with --spool-max",
				ErrFull, len(s.records), s.bytes, s.opt.Max)
		}
		if seg == s.active {
			// Only sealed segments are rewritten.
			if err := s.rotate(); err != nil {
				return fmt.Errorf("spool folder %q: %w; it must be writable and have space", s.dir, err)
			}
		}
		if err := s.thin(seg); err != nil {
			return fmt.Errorf("thinning the spool in %q: %w", s.dir, err)
		}
	}
	return nil
}

// thinnest is the segment to thin next: the oldest of those thinned least.
func (s *Spool) thinnest() (best *segment) {
	for _, seg := range s.segments {
		if seg.pending > 0 && !seg.thinned && (best == nil || seg.level < best.level) {
			best = seg
		}
	}
	return best
}

// thin rewrites a segment with every second row.
func (s *Spool) thin(seg *segment) error {
	var data []byte
	var at []record // where the segment's records come to lie
	var dropped int64
	odd := map[rowKind]bool{}
	level := byte(math.MaxUint8)
	for _, r := range s.records {
		if r.seg != seg {
			continue
		}
		b, err := s.read(r)
		if errors.Is(err, errBad) || errors.Is(err, store.ErrInvalid) {
			s.damaged++ // it could not have been sent either
			continue
		}
		if err != nil {
			return err
		}
		dropped += thinBatch(b, odd)
		moved := record{off: int64(len(seg.snapshot) + len(data)), seq: r.seq, level: min(r.level, 254) + 1}
		if data, err = appendRecord(data, kindBatch, moved.level, b); err != nil {
			return err
		}
		moved.size = int64(len(seg.snapshot)+len(data)) - moved.off
		level = min(level, moved.level)
		at = append(at, moved)
	}
	if size := int64(len(seg.snapshot) + len(data)); dropped == 0 || size > seg.size-seg.size/32 {
		seg.thinned = true // nothing to win: the rows are as small as what tells of them
		return nil
	}
	fresh, err := s.begin(seg.number, seg.snapshot, data)
	if err != nil {
		return err
	}
	fresh.pending, fresh.level = len(at), level
	for i := range at {
		at[i].seg = fresh
	}
	s.replace(seg, fresh, at)
	s.thinned += dropped
	return nil
}

// replace puts a rewritten segment in the place of its former self.
func (s *Spool) replace(old, fresh *segment, at []record) {
	kept := s.records[:0]
	for _, r := range s.records {
		if r.seg != old {
			kept = append(kept, r)
		} else if len(at) > 0 && at[0].seq == r.seq { // else it was damaged
			kept, at = append(kept, at[0]), at[1:]
		}
	}
	s.records = kept
	for i := range s.segments {
		if s.segments[i] == old {
			s.segments[i] = fresh
		}
	}
	s.bytes += fresh.size - old.size
	if err := old.file.Close(); err != nil {
		s.fault = err
	}
}

// rowKind is what rows alternate by: so a scrape does not take the places of
// log lines, and batches of one row each are thinned too.
type rowKind struct {
	store.EngineKey
	section string
	columns int
}

// thinBatch takes every second row of each kind away and says so in an event of
// the engine. It returns how many samples went. odd carries over to the next batch.
func thinBatch(b *store.Batch, odd map[rowKind]bool) (dropped int64) {
	events := map[int64]*store.Event{}
	kept := b.Rows[:0]
	for _, r := range b.Rows {
		k := rowKind{b.Engines[r.Engine].EngineKey, b.Layouts[r.Layout].Section, len(b.Layouts[r.Layout].Columns)}
		odd[k] = !odd[k]
		if odd[k] {
			kept = append(kept, r)
			continue
		}
		e := events[int64(r.Engine)]
		if e == nil {
			e = &store.Event{Engine: int64(r.Engine), Kind: store.Dropped, From: r.Time, To: r.Time, FromStep: -1, ToStep: -1, Detail: thinnedText}
			events[int64(r.Engine)] = e
		}
		e.From, e.To = min(e.From, r.Time), max(e.To, r.Time)
		for _, v := range r.Values {
			if !math.IsNaN(v) {
				e.Count++
				dropped++
			}
		}
	}
	b.Rows = kept
	dropLayouts(b)
	for i := range b.Events { // of a former thinning
		old := &b.Events[i]
		if e := events[old.Engine]; e != nil && old.Kind == store.Dropped && old.Detail == thinnedText {
			old.From, old.To, old.Count = min(old.From, e.From), max(old.To, e.To), old.Count+e.Count
			delete(events, old.Engine)
		}
	}
	for engine := range b.Engines {
		if e := events[int64(engine)]; e != nil {
			b.Events = append(b.Events, *e)
		}
	}
	return dropped
}

// dropLayouts takes the layouts without rows away: the names of their columns
// are most of what a thinned batch weighs.
func dropLayouts(b *store.Batch) {
	at := make([]int, len(b.Layouts)) // new index + 1
	kept := b.Layouts[:0]
	for _, r := range b.Rows {
		at[r.Layout] = -1
	}
	for i, l := range b.Layouts {
		if at[i] != 0 {
			kept = append(kept, l)
			at[i] = len(kept)
		}
	}
	b.Layouts = kept
	for i := range b.Rows {
		b.Rows[i].Layout = at[b.Rows[i].Layout] - 1
	}
}
