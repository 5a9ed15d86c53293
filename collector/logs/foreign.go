package logs

import (
	"fmt"
	"slices"
	"time"

	"github.com/stepscope/stepscope/collector/rows"
	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// ForeignMapper is the Lines of vLLM, SGLang and TensorRT-LLM.
type ForeignMapper struct {
	kind   string
	id     Identity
	name   string // of the engine that speaks
	zone   *time.Location
	beside bool
	reader *foreign.LogReader
	rows   *rows.Builder

	engines map[string]*speaker
	bad     []unreadable
	counts  Counts
	seen    []*speaker // since Begin
	last    *speaker
	wrong   string
}

// speaker is one engine of a log.
type speaker struct {
	info store.EngineInfo
	last time.Time
	pace time.Duration
	off  time.Duration // how far the last line is ahead of the clock here
	here bool          // seen since Begin
}

// ranBack is how far a clock may run back unnoticed: lines of several threads are not
// always in order.
const ranBack = 5 * time.Second

// NewForeignMapper makes one for the log of an engine of a kind, called name within its
// deployment. Engines that number themselves in one log are name/engine0, name/engine1 ….
// beside leaves out what the same server's metrics interface has anyway.
func NewForeignMapper(kind, name string, id Identity, zone *time.Location, beside bool) *ForeignMapper {
	return &ForeignMapper{
		kind: kind, id: id, name: name, zone: zone, beside: beside,
		reader: foreign.NewLogReader(kind), rows: rows.NewBuilder(), engines: map[string]*speaker{},
	}
}

// Begin begins a chunk of lines.
func (m *ForeignMapper) Begin() {
	for _, s := range m.seen {
		s.here = false
	}
	m.seen, m.wrong = m.seen[:0], ""
}

// Line reads one line without its line break.
func (m *ForeignMapper) Line(line []byte, at *Place) {
	readings, events, state := m.reader.Line(line)
	switch state {
	case foreign.OtherLine:
		m.counts.Foreign++
		return
	case foreign.DamagedLine:
		m.unreadable(ledger.BadValue, line, at)
		return
	}
	m.counts.Lines++
	for i := range readings {
		m.reading(&readings[i], at)
	}
	for _, x := range events {
		s := m.speaker(x.Engine)
		m.rows.Event(store.Event{
			Kind: store.Restart, From: s.last.UnixNano(), To: s.last.UnixNano(), FromStep: x.FromStep, ToStep: x.ToStep, Count: x.Count, Detail: x.Detail,
		}, s.info)
	}
}

func (m *ForeignMapper) reading(r *foreign.Reading, at *Place) {
	if m.beside {
		r.Values = slices.DeleteFunc(r.Values, func(v ledger.Value) bool { return foreign.InMetrics(m.kind, v.Key) })
	}
	s := m.speaker(r.Engine)
	t, own := when(r.Stamp, m.zone, at.Ref)
	flags := store.Flags(0)
	if !own {
		t, flags = at.Arrival, store.ArrivalTime
	} else if !r.Stamp.ZoneKnown {
		t = settle(t, m.zone, s.last)
	}
	if back := s.last.Sub(t); !s.last.IsZero() && back > ranBack {
		flags |= store.ClockJump
		m.rows.Event(store.Event{
			Kind: store.ClockJumped, From: t.UnixNano(), To: t.UnixNano(), FromStep: -1, ToStep: -1, Count: 1,
			Detail: fmt.Sprintf("the log's clock ran back by %s", back.Round(time.Millisecond)),
		}, s.info)
	} else if gap := -back; !s.last.IsZero() && gap > 0 {
		if s.pace == 0 {
			s.pace = gap
		}
		s.pace += (gap - s.pace) / 8
	}
	s.last, s.off = t, 0
	if own && at.Live {
		s.off = t.Sub(at.Arrival)
	}
	if !s.here {
		s.here = true
		m.seen = append(m.seen, s)
	}
	m.last = s
	if len(r.Values) > 0 {
		m.counts.Samples += m.rows.Add(r, s.info, t, flags)
	}
}

// speaker finds an engine of the log.
func (m *ForeignMapper) speaker(number string) *speaker {
	s := m.engines[number]
	if s == nil {
		name := m.name
		if number != "" {
			name += "/" + number
		}
		s = &speaker{info: store.EngineInfo{
			EngineKey: store.EngineKey{Deployment: m.id.Deployment, Name: name}, Kind: m.kind, Host: m.id.Host,
			Rank: -1, GPU: -1, Role: m.id.Role, Model: m.id.Model, Parallel: m.id.Parallel,
		}}
		m.engines[number] = s
	}
	return s
}

// Broken counts lines that never came to be read. Those of a server's log are mostly not
// statistics, so that only the sum is told.
func (m *ForeignMapper) Broken(reason ledger.Reason, n int, at *Place) {
	for range n {
		m.unreadable(reason, nil, at)
	}
}

func (m *ForeignMapper) unreadable(reason ledger.Reason, line []byte, at *Place) {
	m.counts.Unreadable++
	near := string(line[:min(len(line), 48)])
	m.wrong = (&ledger.ParseError{Reason: reason, Near: near}).Error()
	for i := range m.bad {
		if m.bad[i].reason == reason {
			m.bad[i].count++
			return
		}
	}
	first := fmt.Sprintf("%s, byte %d", at.Path, at.Offset)
	if near != "" {
		first += fmt.Sprintf(", near %q", near)
	}
	m.bad = append(m.bad, unreadable{reason: reason, count: 1, first: first, time: at.Arrival.UnixNano()})
}

// Seen tells of the lines since Begin.
func (m *ForeignMapper) Seen() (s Seen) {
	for _, e := range m.seen {
		s.Engines = append(s.Engines, e.info.EngineKey)
	}
	s.Bad = m.wrong
	if m.last != nil && len(m.seen) > 0 {
		s.Last, s.Pace, s.Ahead = m.last.last, m.last.pace, m.last.off
	}
	return s
}

// Counts returns the sums since the beginning.
func (m *ForeignMapper) Counts() Counts { return m.counts }

// Rows is how many rows wait to be taken.
func (m *ForeignMapper) Rows() int { return m.rows.Rows() }

// Take returns what was read since the last Take, and nil when that is nothing.
func (m *ForeignMapper) Take() *store.Batch {
	if m.last != nil {
		for _, u := range m.bad {
			m.rows.Event(store.Event{
				Kind: store.Unreadable, From: u.time, To: u.time, FromStep: -1, ToStep: -1, Count: u.count,
				Detail: fmt.Sprintf("%s; first: %s", u.reason, u.first),
			}, m.last.info)
		}
		m.bad = m.bad[:0]
	}
	return m.rows.Take()
}
