package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// sections that come with every log interval, each counted for itself: a rotation may take one line and leave the next.
var sections = [...]ledger.Section{ledger.Stats, ledger.CPU, ledger.CUDA}

// progress is how far the lines of one section have come.
type progress struct {
	Step  int64 `json:"s"`           // of the last line, −1 before the first
	Every int64 `json:"e"`           // steps between two lines as far as learned, 0 unknown
	Wide  int64 `json:"w,omitempty"` // step of the line that Every was learned from, while no other has confirmed it
	Time  int64 `json:"t"`           // of the last line, ns
	First int64 `json:"f,omitempty"` // first step after a restart, if that was not 0 and Every was not known yet
}

// engine is what is known of one engine. Its exported fields are what is kept between runs.
type engine struct {
	Sections [len(sections)]progress `json:"p"`
	NCCL     progress                `json:"n"`
	Gap      [2]int64                `json:"g,omitzero"`  // first and last step of the last gap told
	Last     int64                   `json:"t"`           // time of the last line, ns
	Pace     int64                   `json:"i"`           // usual time between two [stats] lines, ns, 0 unknown
	Began    int64                   `json:"r,omitempty"` // time of the last restart, ns
	Jumped   int64                   `json:"j,omitempty"` // 1 + step at which a jump of the clock was told last, 0 never
	Prompts  bool                    `json:"q,omitempty"` // [stats] lines of prompt steps came since it began, and
	Decodes  bool                    `json:"d,omitempty"` // … of decode steps
	// Cannot is why the engine says that it can't tell a section's figures, by section; no entry: it can.
	Cannot map[ledger.Section]string `json:"u,omitempty"`

	info    store.EngineInfo
	ahead   int64 // most that a line's time was ahead of its arrival, ns
	arrived bool  // ahead is known
	live    bool  // the last line was read soon after it was written
	off     int64 // how far the last line's time was ahead of the clock here, ns, if it was live
	layouts map[ledger.Section]*layout
	index   int // in the batch under way, −1 not in it
	round   int // of the Mapper, in which a line came last
}

func newEngine(info store.EngineInfo, saved string) *engine {
	e := &engine{info: info, NCCL: progress{Step: -1}, layouts: map[ledger.Section]*layout{}, index: -1}
	for i := range e.Sections {
		e.Sections[i].Step = -1
	}
	if saved != "" {
		was := *e
		if json.Unmarshal([]byte(saved), &was) == nil { // another version's is as good as none
			*e = was
		}
	}
	return e
}

// lastTime is that of the last line, zero before the first.
func (e *engine) lastTime() time.Time {
	if e.Last == 0 {
		return time.Time{}
	}
	return time.Unix(0, e.Last)
}

func (e *engine) saved() string {
	var text bytes.Buffer
	j := json.NewEncoder(&text)
	j.SetEscapeHTML(false) // an engine's text may be all such characters, and a position has its bound
	if err := j.Encode(e); err != nil {
		panic(err) // numbers and texts always marshal
	}
	return strings.TrimSpace(text.String())
}

// sight is a line as far as its place among the others matters.
type sight struct {
	section ledger.Section
	step    int64
	time    int64 // ns
	arrival int64 // ns; equal to time for a line without a time of its own
	own     bool  // time is the line's own
	live    bool  // it was read soon after it was written
	rate    float64
	prompt  bool // the engine does prompts only, and logs five times as often as its windows are long

	promptStep, decodeStep bool // what a [stats] line says of its step
	experts                bool // it has the load of experts, whose window is longer
}

// expertWindow is how many steps the window of the experts' load has unless an engine is told otherwise.
const expertWindow = 128

// see takes note of a line. flags are those of its row; events are what it shows.
func (e *engine) see(s sight) (flags store.Flags, events []store.Event) {
	event := func(kind store.EventKind, from, fromStep, toStep, count int64, detail string) {
		events = append(events, store.Event{
			Kind: kind, From: min(from, s.time), To: s.time, FromStep: fromStep, ToStep: toStep, Count: count, Detail: detail,
		})
	}
	last := e.Last
	if last == 0 {
		last = s.time
	}
	i := slices.Index(sections[:], s.section)
	p := &e.NCCL // which comes when it likes: nothing of it is ever missing
	if i >= 0 {
		p = &e.Sections[i]
	}
	apart := s.step - p.Step
	// A lower step at a later time is a new life; at an earlier one it is an old line, read late. Without times only a
	// far fall can tell.
	fell := apart < -2*p.Every
	if s.own {
		fell = apart < 0 && s.time > p.Time
	}
	if p.Step >= 0 && (s.step == 0 || fell) {
		e.restart(s, p.Step, last, event)
		*p = progress{Step: -1}
		apart = 0
		if s.step > 0 {
			p.First = s.step
		}
	}
	next := p.Step < 0 || apart > 0
	flags |= e.clock(s, p, event)
	if i >= 0 && p.Step >= 0 && apart > 0 {
		for _, g := range p.gaps(s.step) {
			if g = e.likely(s.section, g, p.Every); g.count == 0 {
				continue
			}
			event(store.Gap, last, g.from, g.to, g.count, fmt.Sprintf("%d [%s] lines are missing, one for every %d steps", g.count, s.section, p.Every))
		}
	}
	if s.section == ledger.Stats {
		e.pace(s, apart == p.Every && next, flags, event)
	}
	if next {
		p.Step, p.Time = s.step, s.time
	}
	if e.Last = s.time; i < 0 {
		return flags, events
	}
	full := p.Every
	for _, other := range e.Sections {
		if p.Every == 0 { // the first [cuda] line comes an interval later than the others' first
			full = max(full, other.Every)
		}
	}
	e.Prompts, e.Decodes = e.Prompts || s.promptStep, e.Decodes || s.decodeStep
	if s.prompt || e.Prompts && !e.Decodes { // as far as can be seen until now, where nobody told
		full *= 5
	}
	if s.experts {
		full = max(full, expertWindow-1)
	}
	if s.step == 0 || s.step <= full {
		flags |= store.Filling
	}
	return flags, events
}

type emit = func(kind store.EventKind, from, fromStep, toStep, count int64, detail string)

// sameRestart is how far apart in time the sections may notice the same restart.
const sameRestart = 2 * time.Minute

// restart reports that steps began anew, once for all sections.
func (e *engine) restart(s sight, was, last int64, event emit) {
	stats := e.Sections[0].Step
	if s.section == ledger.Stats {
		// Its line of step 0 comes first of all; without that, another section has told already.
		noticed := slices.ContainsFunc(e.Sections[1:], func(p progress) bool { return p.Step >= 0 && p.Step <= s.step })
		if s.step > 0 && noticed {
			return
		}
	} else if stats >= 0 && stats <= s.step || e.Began != 0 && max(s.time-e.Began, e.Began-s.time) < int64(sameRestart) {
		return
	}
	event(store.Restart, last, was, s.step, 0, "")
	e.Began, e.Pace, e.Prompts, e.Decodes = s.time, 0, false, false
}

type gap struct{ from, to, count int64 }

// likely is the part of a gap that is to be told. An engine without work has no [cuda] lines: theirs count as lost only near
// lines of other sections that are.
func (e *engine) likely(section ledger.Section, g gap, every int64) gap {
	if section == ledger.CUDA {
		from, to := e.Gap[0]-every, e.Gap[1]+every
		if e.Gap[0] == 0 && e.Gap[1] == 0 {
			return gap{}
		}
		if before := (from - g.from + every - 1) / every; before > 0 {
			g.from, g.count = g.from+before*every, g.count-before
		}
		if behind := (g.to - to + every - 1) / every; behind > 0 {
			g.to, g.count = g.to-behind*every, g.count-behind
		}
		g.count = max(g.count, 0)
		return g
	}
	e.Gap = [2]int64{g.from, g.to}
	return g
}

// gaps learns how far lines are apart and returns what is missing before the line of a step above the last one.
func (p *progress) gaps(step int64) (list []gap) {
	apart := step - p.Step
	if p.Every > 0 && apart > p.Every {
		if n := (apart+p.Every/2)/p.Every - 1; n > 0 {
			return []gap{{p.Step + p.Every, p.Step + n*p.Every, n}}
		}
		return nil
	}
	if p.Every == 0 || apart < p.Every {
		if was := p.Every; was > 0 && p.Wide > 0 && was%apart == 0 {
			// Lines were missing where the distance was learned.
			list = append(list, gap{p.Wide - was + apart, p.Wide - apart, was/apart - 1})
		}
		p.Every, p.Wide = apart, step
	} else {
		p.Wide = 0 // confirmed
	}
	if p.First > 0 && p.Wide == 0 {
		if p.First%p.Every == 0 {
			list = append(list, gap{0, p.First - p.Every, p.First / p.Every})
		}
		p.First = 0
	}
	return list
}

const (
	// backwards is how far a line may be before the one before it: ranks write a few ms apart, loggers buffer.
	backwards = time.Second
	// leap is how far a clock must be off before it is said to have jumped.
	leap = 2 * time.Second
	// ahead is how much further than ever a line must be ahead of its arrival.
	ahead = time.Minute
)

// clock compares a line's time with what it should be. A [stats] line says itself how long its steps took: that tells a
// pause of the engine from a jump of its clock.
func (e *engine) clock(s sight, p *progress, event emit) store.Flags {
	if !s.own {
		return store.ArrivalTime
	}
	jump := int64(0)
	switch apart := s.step - p.Step; {
	case p.Step < 0 || apart < 0: // nothing to compare with, or an old line
	case s.time < p.Time-int64(backwards):
		jump = s.time - p.Time
	case s.rate > 0 && apart > 0 && apart == p.Every:
		want := float64(apart) / s.rate * 1e9
		if off := float64(s.time-p.Time) - want; math.Abs(off) > math.Max(float64(leap), want/4) {
			jump = int64(off)
		}
	}
	if e.off = 0; s.live {
		off := s.time - s.arrival
		e.off = off
		// Lines that are behind are a backlog that is caught up with, be it of the engine, of who ships its log, or of us:
		// only a clock can bring them ahead of now.
		if before := max(e.ahead, 0); jump == 0 && e.arrived && off > before+int64(ahead) {
			jump = off - before
		}
		if e.ahead = max(e.ahead, off); !e.arrived || jump != 0 {
			e.ahead, e.arrived = off, true
		}
	}
	if jump == 0 {
		return 0
	}
	if e.Jumped != s.step+1 { // another section's line has told
		e.Jumped = s.step + 1
		event(store.ClockJumped, s.time, -1, s.step, 0, time.Duration(jump).Round(time.Millisecond).String())
	}
	return store.ClockJump
}

const (
	// silentTimes is how many times as long as usual nothing must come to be called a silence, and
	silentTimes = 8
	// silentLeast is the shortest time that is called one.
	silentLeast = 30 * time.Second
)

// pace learns the time between two [stats] lines, and reports a silence before this one. regular: no line is missing before it.
func (e *engine) pace(s sight, regular bool, flags store.Flags, event emit) {
	was := e.live
	e.live = s.live
	last := e.Sections[0].Time
	if last == 0 || flags&store.ClockJump != 0 || !s.own && !(was && s.live) {
		return
	}
	took := s.time - last
	if e.Pace > 0 && took > max(silentTimes*e.Pace, int64(silentLeast)) {
		event(store.Silence, last, -1, s.step, 0, fmt.Sprintf("no [stats] line for %v, usual is one every %v",
			time.Duration(took).Round(time.Second), time.Duration(e.Pace).Round(100*time.Millisecond)))
		return
	}
	if !regular || took <= 0 {
		return
	}
	if e.Pace == 0 {
		e.Pace = took
	} else {
		e.Pace += (took - e.Pace) / 8
	}
}
