package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/tail"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// state is what a person is told about a file.
type state struct {
	path string

	mu       sync.Mutex
	engines  map[store.EngineKey]bool
	counts   Counts
	last     time.Time // when a line of an engine came last
	time     time.Time // of that line
	pace     time.Duration
	unread   int64
	waiting  bool // there is no such file yet
	problem  *wire.Problem
	bad      string        // the last unreadable line, in words
	offClock time.Duration // how far lines' times are from the clock here, when read live
}

func newState(path string) *state {
	return &state{path: path, engines: map[store.EngineKey]bool{}, waiting: true}
}

// maxEngines bounds the list of a target's engines.
const maxEngines = 4096

// note adds what a chunk gave.
func (s *state) note(m Lines, before Counts, c *tail.Chunk, now time.Time) {
	after, seen := m.Counts(), m.Seen()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.problem, s.unread = false, nil, c.Unread
	s.counts.Lines += after.Lines - before.Lines
	s.counts.Samples += after.Samples - before.Samples
	s.counts.Foreign += after.Foreign - before.Foreign
	s.counts.Unreadable += after.Unreadable - before.Unreadable
	if seen.Bad != "" {
		s.bad = seen.Bad
	}
	if after.Lines == before.Lines {
		return
	}
	s.last = now
	for _, key := range seen.Engines {
		if len(s.engines) < maxEngines {
			s.engines[key] = true
		}
	}
	if !seen.Last.IsZero() {
		s.time, s.pace, s.offClock = seen.Last, seen.Pace, seen.Ahead
	}
}

// fail notes why a file cannot be read.
func (r *run) fail(f *following, err error) {
	now := r.opt.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = errors.Is(err, fs.ErrNotExist)
	if f.waiting {
		f.problem = nil
		return
	}
	p := &wire.Problem{Time: now, What: err.Error(), Count: 1}
	switch {
	case errors.Is(err, fs.ErrPermission):
		p.Hint = "Let the collector's user read the file and its folder."
	default:
		p.Hint = "Reading is tried again; look at the disk or mount that the file is on."
	}
	if f.problem != nil && f.problem.What == p.What {
		p.Time, p.Count = f.problem.Time, f.problem.Count+1
	}
	f.problem = p
}

// lack notes what is wrong with a pattern, nothing if what is empty.
func (s *Source) lack(pattern, what, hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what == "" {
		delete(s.lacks, pattern)
		return
	}
	p := &wire.Problem{Time: s.opt.Now(), What: pattern + ": " + what, Hint: hint, Count: 1}
	if was := s.lacks[pattern]; was != nil && was.What == p.What {
		p.Time, p.Count = was.Time, was.Count+1
	}
	s.lacks[pattern] = p
}

const (
	// quietTimes is how many times as long as usual nothing may come before a target is called quiet, and
	quietTimes = 4
	// quietLeast is the shortest such time.
	quietLeast = time.Minute
	// wrongZone is how far off a clock must be to make a wrong zone likely.
	wrongZone = 10 * time.Minute
)

// hints say what to do about a log without statistics.
var hints = map[string]string{
	"deepinfer":    "Check that it is the engine's log and that DEEPINFER_LOGGING_INTERVAL_STEP is above 0.",
	"vllm":         "Check that it is the server's log and that it runs without --disable-log-stats.",
	"sglang":       "Check that it is the server's log; its scheduler logs a line for each batch at level info.",
	"tensorrt-llm": "Check that it is the server's log and that print_iter_log is on.",
}

// target is the state as the pages show it.
func (s *state) target(kind string, now time.Time) wire.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := wire.Target{
		Name: s.path, Source: "log", Kind: kind, Last: s.last, Lines: s.counts.Lines, Samples: s.counts.Samples,
		Unreadable: s.counts.Unreadable, Problem: s.problem, Health: wire.Up,
		Engines: slices.SortedFunc(maps.Keys(s.engines), func(a, b store.EngineKey) int { return cmp.Compare(a.Name, b.Name) }),
	}
	if s.unread > 0 && !s.time.IsZero() && now.After(s.time) {
		t.Lag = now.Sub(s.time)
	}
	say := func(what, hint string) {
		if t.Problem == nil {
			t.Problem = &wire.Problem{Time: now, What: what, Hint: hint, Count: 1}
		}
	}
	switch {
	case s.problem != nil:
		t.Health = wire.Down
	case s.waiting:
		t.Health = wire.Waiting
		say(s.path+": no such file yet", "Reading begins when it appears; check the path if the engine runs already.")
	case s.counts.Lines == 0 && s.counts.Foreign > 0:
		t.Health = wire.Quiet
		say(fmt.Sprintf("%s: none of %d lines has statistics", s.path, s.counts.Foreign), hints[kind])
	case now.Sub(s.last) > max(quietTimes*s.pace, quietLeast):
		t.Health = wire.Quiet
	}
	if off := s.offClock; off.Abs() > wrongZone {
		where := "ahead of"
		if off < 0 {
			where = "behind"
		}
		say(fmt.Sprintf("%s: the lines' times are %v %s this machine's clock", s.path, off.Abs().Round(time.Minute), where),
			"Set the zone of this log's clock in the configuration, or correct the clock.")
	}
	if s.bad != "" {
		say(fmt.Sprintf("%d lines could not be read, the last for %s", s.counts.Unreadable, s.bad),
			"The rest is read; look at the place in the file.")
	}
	return t
}

// maxTargets is how many files are told of one by one.
const maxTargets = 64

// Targets is the state of each file, or, when they are many, of those with problems and of all others together.
func (s *Source) Targets() []wire.Target {
	now := s.opt.Now()
	s.mu.Lock()
	states := slices.Collect(maps.Values(s.state))
	lacks := maps.Clone(s.lacks)
	s.mu.Unlock()
	slices.SortFunc(states, func(a, b *state) int { return cmp.Compare(a.path, b.path) })
	var list []wire.Target
	for _, p := range slices.Sorted(maps.Keys(lacks)) {
		list = append(list, wire.Target{Name: p, Source: "log", Kind: s.opt.Kind, Health: wire.Waiting, Problem: lacks[p]})
	}
	for _, st := range states {
		list = append(list, st.target(s.opt.Kind, now))
	}
	if len(list) <= maxTargets {
		return list
	}
	all := wire.Target{Source: "log", Kind: s.opt.Kind, Health: wire.Up}
	var apart []wire.Target
	for _, t := range list {
		if t.Problem != nil && len(apart) < maxTargets {
			apart = append(apart, t)
			continue
		}
		all.Lines += t.Lines
		all.Samples += t.Samples
		all.Unreadable += t.Unreadable
		all.Lag = max(all.Lag, t.Lag)
		all.Engines = append(all.Engines, t.Engines...)
		if t.Last.After(all.Last) {
			all.Last = t.Last
		}
	}
	all.Name = fmt.Sprintf("%s (%d files)", s.opt.Patterns[0], len(list)-len(apart))
	return append(apart, all)
}
