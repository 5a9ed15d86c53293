package spool

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/store"
)

const (
	segmentSuffix = ".spool"
	newSuffix     = ".new" // of files that are not finished
)

// segment is one file.
type segment struct {
	number   uint64
	file     File
	size     int64 // of what counts; behind it there may be torn bytes
	pending  int   // records the server has not acknowledged
	level    byte  // how often all of its pending records were thinned
	thinned  bool  // as far as it goes: no rows can be taken any more
	snapshot []byte
}

// record is where a batch lies.
type record struct {
	seg   *segment
	off   int64
	size  int64
	seq   uint64
	level byte
}

func (s *Spool) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016x%s", number, segmentSuffix))
}

// begin makes a new segment with the given batch records. It is written whole
// under another name, so that a crash leaves it out or complete.
func (s *Spool) begin(number uint64, snapshot []byte, records []byte) (*segment, error) {
	name := s.path(number)
	temp := name + newSuffix
	f, err := s.files.Create(temp)
	if err != nil {
		return nil, err
	}
	data := slices.Concat(snapshot, records)
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = s.files.Rename(temp, name)
	}
	if err == nil {
		err = s.files.SyncDir(s.dir)
	}
	if err != nil {
		// The rename may have been done: a file that nobody knows must not stay.
		return nil, errors.Join(err, f.Close(), s.files.Remove(temp))
	}
	return &segment{number: number, file: f, size: int64(len(data)), snapshot: snapshot}, nil
}

// snapshotRecord is the record that a new segment begins with.
func (s *Spool) snapshotRecord() ([]byte, error) {
	b := &store.Batch{Seq: s.seq}
	for _, source := range slices.Sorted(maps.Keys(s.positions)) {
		b.Positions = append(b.Positions, store.Position{Source: source, Value: s.positions[source]})
	}
	return appendRecord(nil, kindSnapshot, 0, b)
}

// rotate begins a new active segment.
func (s *Spool) rotate() error {
	snapshot, err := s.snapshotRecord()
	if err != nil {
		return err
	}
	seg, err := s.begin(s.next, snapshot, nil)
	if err != nil {
		return err
	}
	s.next++
	s.segments = append(s.segments, seg)
	s.active = seg
	s.bytes += seg.size
	s.sweep()
	return nil
}

// sweep removes the segments that hold nothing the server lacks. Failing to is
// no harm: they are found again, and the server knows their numbers. The newest
// stays even when nothing is appended to it any more, since a full disk let no
// other begin: it says where the sources stand.
func (s *Spool) sweep() {
	if len(s.segments) == 0 {
		return
	}
	newest := s.segments[len(s.segments)-1]
	s.segments = slices.DeleteFunc(s.segments, func(seg *segment) bool {
		if seg == newest || seg == s.active || seg.pending > 0 {
			return false
		}
		s.discard(seg)
		return true
	})
}

// discard removes a segment's file.
func (s *Spool) discard(seg *segment) {
	s.bytes -= seg.size
	if err := errors.Join(seg.file.Close(), s.files.Remove(s.path(seg.number))); err != nil {
		s.fault = fmt.Errorf("removing a sent part of the spool: %w", err)
	}
}

// load reads the folder: which records there are, and where the sources stand.
func (s *Spool) load() error {
	names, err := s.files.List(s.dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, segmentSuffix+newSuffix) {
			if err := s.files.Remove(filepath.Join(s.dir, name)); err != nil {
				return err
			}
		}
		digits, ok := strings.CutSuffix(name, segmentSuffix)
		number, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil || len(digits) != 16 {
			continue
		}
		if err := s.loadSegment(number); err != nil {
			return fmt.Errorf("%s: %w", s.path(number), err)
		}
		s.next = number + 1
	}
	s.loadPositions()
	return nil
}

// loadSegment indexes one segment's records.
func (s *Spool) loadSegment(number uint64) error {
	f, err := s.files.Open(s.path(number))
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	seg := &segment{number: number, file: f, level: 255}
	for off := int64(0); off < size; {
		h, payload, err := readRecord(f, off, size)
		if err != nil && !errors.Is(err, errBad) {
			return errors.Join(err, f.Close())
		}
		if err != nil {
			// Torn bytes at the end were never acknowledged; damage before a whole record was.
			found := findRecord(f, off+1, size)
			if found < size {
				s.damaged++
			}
			off = found
			continue
		}
		switch {
		case h.kind == kindSnapshot:
			seg.snapshot = make([]byte, headSize+len(payload))
			if _, err := f.ReadAt(seg.snapshot, off); err != nil {
				return errors.Join(err, f.Close())
			}
		default:
			// A number that comes again replaces the former one: its first writing
			// was reported as failed, and the batch came again with more in it.
			for n := len(s.records); n > 0 && s.records[n-1].seq >= h.seq; n = len(s.records) {
				s.records[n-1].seg.pending--
				s.records = s.records[:n-1]
			}
			s.records = append(s.records, record{seg: seg, off: off, size: headSize + int64(h.size), seq: h.seq, level: h.level})
			seg.pending++
			seg.level = min(seg.level, h.level)
		}
		s.seq = max(s.seq, h.seq)
		off += headSize + int64(h.size)
		seg.size = off
	}
	seg.size = size
	s.bytes += size
	s.segments = append(s.segments, seg)
	return nil
}

// loadPositions finds where the sources stand: the newest snapshot and what came after it.
func (s *Spool) loadPositions() {
	for _, seg := range slices.Backward(s.segments) {
		if seg.snapshot == nil {
			continue
		}
		h, _ := parseHead(seg.snapshot)
		b, err := unpack(seg.snapshot[headSize:])
		if err != nil {
			continue
		}
		s.known = true
		for _, p := range b.Positions {
			s.positions[p.Source] = p.Value
		}
		for _, r := range s.records {
			if r.seq > h.seq {
				if b, err := s.read(r); err == nil {
					s.remember(b.Positions)
				}
			}
		}
		return
	}
}
