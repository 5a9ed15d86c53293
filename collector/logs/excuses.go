package logs

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

const (
	// maxExcuse bounds what is kept of an engine's text, in bytes.
	maxExcuse = 300
	// maxFields is how many names of fields that are no numbers are told.
	maxFields = 16
	// maxNotes is how many engines' excuses a target tells; the others are counted.
	maxNotes = 8
)

// excuse is what an engine said since the last Take that it cannot tell.
type excuse struct {
	engine  *engine
	section ledger.Section
	count   int64 // how many different texts one after the other
	time    int64
}

// texts takes note of a line's fields that are no numbers: an engine's excuse is told once until it changes, others are
// counted.
func (m *Mapper) texts(e *engine, line *ledger.Line, t int64) {
	if len(line.Texts) == 0 {
		if len(e.Cannot) > 0 && len(line.Values) > 0 {
			delete(e.Cannot, line.Section)
		}
		return
	}
	if len(line.Values) == 0 {
		m.counts.Lines++
	}
	for _, text := range line.Texts {
		if text.Key != ledger.Unavailable {
			m.counts.Texts++
			if name := oneLine(text.Key); len(m.fields) < maxFields && !slices.Contains(m.fields, name) {
				m.fields = append(slices.Clip(m.fields), name) // those given out stay as they are
			}
			continue
		}
		why := oneLine(text.V)
		if e.Cannot[line.Section] == why {
			continue
		}
		if e.Cannot == nil {
			e.Cannot = map[ledger.Section]string{}
		}
		e.Cannot[line.Section] = why
		at := slices.IndexFunc(m.excuses, func(x excuse) bool { return x.engine == e && x.section == line.Section })
		if at < 0 {
			at = len(m.excuses)
			m.excuses = append(m.excuses, excuse{engine: e, section: line.Section})
		}
		m.excuses[at].count, m.excuses[at].time = m.excuses[at].count+1, t
	}
}

// tellExcuses makes events of them, one for each engine and section: a text that changes all the time is told as it is now.
func (m *Mapper) tellExcuses() {
	for _, x := range m.excuses {
		why, there := x.engine.Cannot[x.section]
		if !there { // it can again
			continue
		}
		m.use(x.engine)
		m.batch.Events = append(m.batch.Events, store.Event{
			Engine: int64(x.engine.index), Kind: store.Unavailable, From: x.time, To: x.time, FromStep: -1, ToStep: -1, Count: x.count,
			Detail: string(x.section) + ": " + why,
		})
	}
}

// cannot lists what the engine says it cannot tell.
func (e *engine) cannot() (list []Excuse) {
	for _, section := range slices.Sorted(maps.Keys(e.Cannot)) {
		list = append(list, Excuse{section, e.Cannot[section]})
	}
	return list
}

// oneLine bounds a stranger's text.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(store.Meta{Note: s}.Clean().Note), " ")
	if len(s) > maxExcuse {
		s = strings.ToValidUTF8(s[:maxExcuse], "") + "…"
	}
	return s
}

// notes are what the engines of a file cannot tell, and which of their fields are not kept. The state is locked.
func (s *state) notes(now time.Time) (list []wire.Problem) {
	for _, key := range slices.SortedFunc(maps.Keys(s.excuses), func(a, b store.EngineKey) int { return cmp.Compare(a.Name, b.Name) }) {
		if len(list) == maxNotes {
			list = append(list, *wire.NewProblem(now, "log.more_unavailable", strconv.Itoa(len(s.excuses)-maxNotes)))
			break
		}
		for _, x := range s.excuses[key] {
			list = append(list, *wire.NewProblem(now, "log.unavailable", key.Name, string(x.Section), x.Why))
		}
	}
	if s.sealed != "" {
		list = append(list, *wire.NewProblem(now, "log.compressed", s.sealed))
	}
	if len(s.fields) > 0 {
		list = append(list, *wire.NewProblem(now, "log.texts", strconv.FormatInt(s.counts.Texts, 10), strings.Join(s.fields, ", ")))
	}
	return list
}
