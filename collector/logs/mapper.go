package logs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// Identity is what a configuration says about the engines of a log.
type Identity struct {
	Deployment  string
	Host        string
	HostInNames bool // engines are host/rankN, where ranks alone are not unique
	Role        string
	Model       string
	Parallel    string
}

// Place is where lines come from.
type Place struct {
	Path     string // of a file, or what a stream is called
	Offset   int64
	Ref      time.Time // when the last of the lines can have been written, for years that are not told
	Arrival  time.Time
	Live     bool // they were read soon after they were written
	Streamed bool // Offset counts bytes of a stream
}

// Counts sum up what a Mapper has seen.
type Counts struct {
	Lines      int64 // of engines, readable ones
	Samples    int64 // values
	Foreign    int64 // lines that are not the engine's
	Unreadable int64 // lines that look like the engine's and could not be read, or only in part
	Texts      int64 // fields that are no numbers, of which none but the engine's excuses are kept
}

// Lines is what turns the lines of one kind of engine into batches. It is for one goroutine.
type Lines interface {
	Begin()                                        // begins a chunk of lines; Seen tells of it alone
	Line(line []byte, at *Place)                   // reads one line without its line break
	Broken(reason ledger.Reason, n int, at *Place) // counts lines that never came to be read
	Seen() Seen                                    // what came since Begin
	Counts() Counts                                // sums since the start
	Rows() int                                     // how many rows wait to be taken
	Take() *store.Batch                            // what was read since the last Take, nil when that is nothing
}

// Seen is what a chunk of lines was about.
type Seen struct {
	Engines []store.EngineKey
	Excuses [][]Excuse    // of the engines: what they say they cannot tell; nil when nobody does
	Fields  []string      // names of fields that are no numbers, some of them
	Last    time.Time     // time of the last line of an engine, zero without
	Pace    time.Duration // usual time between two lines, 0 unknown
	Ahead   time.Duration // how far Last is ahead of the clock here, 0 unknown
	Bad     string        // the last unreadable line in words, "" without
}

// Excuse is an engine's own word for why it cannot tell a section's figures. It is untrusted.
type Excuse struct {
	Section ledger.Section
	Why     string
}

// Mapper is the Lines of DeepInfer engines.
type Mapper struct {
	id       Identity
	zone     *time.Location
	position func(name string) string

	engines map[string]*engine
	layouts map[string]*layout
	results []ledger.Result
	zeroes  map[string]bool // metrics whose 0 is nothing

	batch   store.Batch
	touched []*engine
	used    []*layout
	slab    []float64
	bad     []unreadable
	excuses []excuse
	fields  []string // names of fields that are no numbers
	last    *engine  // of the line before
	counts  Counts
	round   int       // of Begin
	seen    []*engine // since Begin
	wrong   string    // the last unreadable line since Begin
}

// layout is a row's columns and where the batch under way has them.
type layout struct {
	store.Layout
	index int
}

// unreadable counts lines of one engine that could not be read for one reason.
type unreadable struct {
	engine *engine
	reason ledger.Reason
	count  int64
	first  string // place and beginning of the first one
	time   int64
}

// NewMapper makes a Mapper. zone is where clocks stand whose zone lines don't tell; position returns what the Mapper has
// put into a batch before.
func NewMapper(id Identity, zone *time.Location, position func(name string) string) *Mapper {
	m := &Mapper{id: id, zone: zone, position: position, engines: map[string]*engine{}, layouts: map[string]*layout{}, zeroes: map[string]bool{}}
	for _, metric := range ledger.Metrics() {
		if metric.ZeroIsAbsent {
			m.zeroes[metric.Key] = true
		}
	}
	return m
}

// Begin begins a chunk of lines: what is seen from here on is what its source says.
func (m *Mapper) Begin() {
	m.round++
	m.seen, m.wrong = m.seen[:0], ""
}

// Line reads one line without its line break.
func (m *Mapper) Line(line []byte, at *Place) {
	m.results = ledger.Parse(m.results[:0], line)
	if len(m.results) == 0 {
		m.counts.Foreign++
		return
	}
	for i := range m.results {
		m.result(&m.results[i], at)
	}
}

// Broken counts lines that never came to be read.
func (m *Mapper) Broken(reason ledger.Reason, n int, at *Place) {
	for range n {
		m.unreadable(m.last, &ledger.ParseError{Reason: reason}, at, at.Arrival.UnixNano())
	}
}

func (m *Mapper) result(r *ledger.Result, at *Place) {
	t, own := when(r.Line.Stamp, m.zone, at.Ref)
	if !own {
		t = at.Arrival
	}
	if r.Err != nil {
		e := m.last
		if r.Line.Rank >= 0 {
			e = m.engine(&r.Line)
		}
		m.unreadable(e, r.Err, at, t.UnixNano())
	}
	if r.Line.Rank < 0 || r.Line.Section == "" {
		return
	}
	if r.Line.Step > maxStep {
		m.unreadable(m.last, &ledger.ParseError{Reason: ledger.BadValue, Near: "step"}, at, t.UnixNano())
		return
	}
	e := m.engine(&r.Line)
	if e == nil {
		m.unreadable(m.last, &ledger.ParseError{Reason: tooManyEngines}, at, t.UnixNano())
		return
	}
	m.last = e
	if e.round != m.round {
		e.round = m.round
		m.seen = append(m.seen, e)
	}
	if own && !r.Line.Stamp.ZoneKnown {
		t = settle(t, m.zone, e.lastTime())
	}
	s := sight{section: r.Line.Section, step: r.Line.Step, time: t.UnixNano(), arrival: at.Arrival.UnixNano(), own: own, live: at.Live, prompt: m.id.Role == "prompt"}
	flags := store.Flags(0)
	if r.Line.Section == ledger.Stats {
		s.rate, _ = r.Line.Value("avg_SPS", "")
		_, s.experts = r.Line.Value("moe_lb", "")
		if v, ok := r.Line.Value("is_prompt", ""); ok && v == 1 {
			flags |= store.PromptStep
			s.promptStep = true
		} else if ok && v == 0 {
			flags |= store.DecodeStep
			s.decodeStep = true
		}
	}
	seen, events := e.see(s)
	m.use(e)
	for _, x := range events {
		x.Engine = int64(e.index)
		m.batch.Events = append(m.batch.Events, x)
	}
	l := m.layout(e, &r.Line)
	if l == nil { // a name that no store takes: the rest counts
		m.unreadable(e, &ledger.ParseError{Reason: badName}, at, s.time)
		r.Line.Values = slices.DeleteFunc(r.Line.Values, func(v ledger.Value) bool { return !storable(v) })
		l = m.layout(e, &r.Line)
	}
	m.texts(e, &r.Line, s.time)
	if len(r.Line.Values) == 0 {
		return
	}
	m.batch.Rows = append(m.batch.Rows, store.Row{
		Engine: e.index, Layout: l.index, Time: s.time, Step: s.step, Flags: flags | seen, Values: m.values(r.Line.Values),
	})
	m.counts.Lines++
	m.counts.Samples += int64(len(r.Line.Values))
}

// slabValues are allocated at once.
const slabValues = 4096

func (m *Mapper) values(list []ledger.Value) []float64 {
	if len(m.slab) < len(list) {
		m.slab = make([]float64, max(slabValues, len(list)))
	}
	v := m.slab[:len(list):len(list)]
	m.slab = m.slab[len(list):]
	for i := range list {
		v[i] = list[i].V
		if v[i] == 0 && m.zeroes[list[i].Key] {
			v[i] = math.NaN()
		}
	}
	return v
}

// maxStep is far beyond any engine's life, and keeps sums of steps far from overflowing.
const maxStep = 1 << 52

// engine finds the engine of a line; nil when there are more than anybody has.
func (m *Mapper) engine(line *ledger.Line) *engine {
	// The line before was most often the same engine's.
	if e := m.last; e != nil && e.info.Rank == line.Rank && e.info.GPU == line.GPU {
		return e
	}
	name := "rank" + strconv.Itoa(line.Rank)
	if m.id.HostInNames {
		name = m.id.Host + "/" + name
	}
	e := m.engines[name]
	if e == nil {
		if len(m.engines) >= maxEngines || store.CheckName("engine", name, store.MaxEngineName) != nil {
			return nil
		}
		e = newEngine(store.EngineInfo{
			EngineKey: store.EngineKey{Deployment: m.id.Deployment, Name: name}, Kind: "deepinfer", Host: m.id.Host,
			Rank: line.Rank, Role: m.id.Role, Model: m.id.Model, Parallel: m.id.Parallel,
		}, m.position(positionName(m.id.Deployment, name)))
		m.engines[name] = e
	}
	e.info.GPU = line.GPU
	return e
}

func positionName(deployment, engine string) string { return "engine:" + deployment + "/" + engine }

// use makes an engine part of the batch.
func (m *Mapper) use(e *engine) {
	if e.index < 0 {
		e.index = len(m.touched)
		m.touched = append(m.touched, e)
	}
}

// Reasons beside those of the ledger.
const (
	tooManyEngines ledger.Reason = "too_many_engines"
	badName        ledger.Reason = "bad_name"
)

// storable says whether a value's names can be stored: they come from a file that anybody may write to.
func storable(v ledger.Value) bool {
	return store.CheckName("metric", v.Key, store.MaxMetric) == nil && len(v.Label) <= store.MaxSeries && utf8.ValidString(v.Label)
}

// layout finds the columns of a line, most often those of the engine's line before. It is nil when one can't be stored.
func (m *Mapper) layout(e *engine, line *ledger.Line) *layout {
	l := e.layouts[line.Section]
	if l == nil || !slices.EqualFunc(l.Columns, line.Values, func(c store.Column, v ledger.Value) bool {
		return c.Metric == v.Key && c.Label == v.Label
	}) {
		var key strings.Builder
		key.WriteString(string(line.Section))
		for i := range line.Values {
			v := &line.Values[i]
			fmt.Fprintf(&key, "\x00%s\x00%s", v.Key, v.Label)
		}
		if l = m.layouts[key.String()]; l == nil {
			if slices.ContainsFunc(line.Values, func(v ledger.Value) bool { return !storable(v) }) {
				return nil
			}
			l = &layout{Layout: store.Layout{Section: string(line.Section)}, index: -1}
			for i := range line.Values {
				l.Columns = append(l.Columns, store.Column{Metric: strings.Clone(line.Values[i].Key), Label: strings.Clone(line.Values[i].Label)})
			}
			if len(m.layouts) < maxLayouts {
				m.layouts[key.String()] = l
			}
		}
		e.layouts[line.Section] = l
	}
	if l.index < 0 {
		l.index = len(m.used)
		m.used = append(m.used, l)
	}
	return l
}

// maxLayouts bounds the memory that lines with ever new fields can take.
const maxLayouts = 4096

func (m *Mapper) unreadable(e *engine, err *ledger.ParseError, at *Place, t int64) {
	m.counts.Unreadable++
	for i := range m.bad {
		if b := &m.bad[i]; b.engine == e && b.reason == err.Reason {
			b.count++
			return
		}
	}
	first := fmt.Sprintf("%s, byte %d", at.Path, at.Offset)
	if err.Near != "" {
		first += fmt.Sprintf(", near %q", err.Near)
	}
	m.wrong = fmt.Sprintf("%s (%s)", err.Reason, first)
	m.bad = append(m.bad, unreadable{e, err.Reason, 1, first, t})
}

// Seen tells of the lines since Begin.
func (m *Mapper) Seen() (s Seen) {
	for i, e := range m.seen {
		s.Engines = append(s.Engines, e.info.EngineKey)
		if len(e.Cannot) > 0 {
			if s.Excuses == nil {
				s.Excuses = make([][]Excuse, len(m.seen))
			}
			s.Excuses[i] = e.cannot()
		}
	}
	s.Bad, s.Fields = m.wrong, m.fields
	if e := m.last; e != nil && len(m.seen) > 0 {
		s.Last, s.Pace, s.Ahead = time.Unix(0, e.Last), time.Duration(e.Pace), time.Duration(e.off)
	}
	return s
}

// Rows is how many rows wait to be taken.
func (m *Mapper) Rows() int { return len(m.batch.Rows) }

// Counts returns the sums since the beginning.
func (m *Mapper) Counts() Counts { return m.counts }

// Take returns what was read since the last Take, and nil when that is nothing.
func (m *Mapper) Take() *store.Batch {
	for i := range m.bad {
		u := &m.bad[i]
		if u.engine == nil {
			continue // nobody's: the target's state tells of it
		}
		m.use(u.engine)
		m.batch.Events = append(m.batch.Events, store.Event{
			Engine: int64(u.engine.index), Kind: store.Unreadable, From: u.time, To: u.time, FromStep: -1, ToStep: -1,
			Count: u.count, Detail: fmt.Sprintf("%s; first: %s", u.reason, u.first),
		})
	}
	m.tellExcuses()
	b := m.batch
	for _, e := range m.touched {
		b.Engines = append(b.Engines, e.info)
		b.Positions = append(b.Positions, store.Position{Source: positionName(m.id.Deployment, e.info.Name), Value: e.saved()})
		e.index = -1
	}
	for _, l := range m.used {
		b.Layouts = append(b.Layouts, l.Layout)
		l.index = -1
	}
	m.batch, m.touched, m.used, m.bad, m.excuses = store.Batch{}, m.touched[:0], m.used[:0], m.bad[:0], m.excuses[:0]
	if len(b.Engines) == 0 {
		return nil
	}
	return &b
}
