package logs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
	excuses  map[store.EngineKey][]Excuse
	fields   []string // names of fields that are no numbers
	sealed   string   // a rotated file that can't be read, though lines of it were needed
}

func newState(path string) *state {
	return &state{path: path, engines: map[store.EngineKey]bool{}, excuses: map[store.EngineKey][]Excuse{}, waiting: true}
}

// maxEngines bounds the list of a target's engines.
const maxEngines = 4096

// note adds what a chunk gave.
func (s *state) note(m Lines, before Counts, c *tail.Chunk, now time.Time) {
	after, seen := m.Counts(), m.Seen()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.problem, s.unread = false, nil, c.Unread
	s.counts = s.counts.plus(after, before)
	s.fields = seen.Fields
	if seen.Bad != "" {
		s.bad = seen.Bad
	}
	if after.Lines == before.Lines {
		return
	}
	s.last = now
	for i, key := range seen.Engines {
		if len(s.engines) < maxEngines {
			s.engines[key] = true
		}
		if seen.Excuses == nil || seen.Excuses[i] == nil {
			delete(s.excuses, key)
		} else if s.engines[key] {
			s.excuses[key] = seen.Excuses[i]
		}
	}
	if !seen.Last.IsZero() {
		s.time, s.pace, s.offClock = seen.Last, seen.Pace, seen.Ahead
	}
}

// seal notes a rotated file that can't be read.
func (s *state) seal(path string) {
	if path == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = path
}

// restore begins with what was counted before, by an earlier run of this program too.
func (s *state) restore(c Counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts = c
}

// sums is what was counted until now.
func (s *state) sums() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// fail notes why a file cannot be read.
func (r *run) fail(f *following, err error) {
	now := r.opt.Now()
	if errors.Is(err, fs.ErrNotExist) { // so say readers of files about folders too
		if info, statErr := os.Stat(f.path); statErr == nil && info.IsDir() {
			err = syscall.EISDIR
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = errors.Is(err, fs.ErrNotExist)
	if f.waiting {
		f.problem = nil
		return
	}
	p := problemOf(now, f.path, err)
	p.Since(f.problem)
	f.problem = p
}

// problemOf says why a file cannot be read: the system's usual reasons by codes of their own, others in its words.
func problemOf(now time.Time, path string, err error) *wire.Problem {
	code := ""
	switch {
	case errors.Is(err, fs.ErrPermission):
		code = "log.permission"
	case errors.Is(err, syscall.EISDIR):
		code = "log.folder"
	case errors.Is(err, syscall.EIO):
		code = "log.disk"
	case errors.Is(err, syscall.ESTALE):
		code = "log.stale"
	case errors.Is(err, syscall.ETIMEDOUT):
		code = "log.timeout"
	}
	if code != "" {
		return wire.NewProblem(now, code, path)
	}
	words := err.Error()
	var in *fs.PathError
	if errors.As(err, &in) {
		words = in.Err.Error() // the path is told already
	}
	return wire.NewProblem(now, "log.failed", path, strings.TrimPrefix(words, path+": "))
}

// lack notes what is wrong with a pattern, nothing if the code is empty.
func (s *Source) lack(pattern, code string, args ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code == "" {
		delete(s.lacks, pattern)
		return
	}
	p := wire.NewProblem(s.opt.Now(), code, append([]string{pattern}, args...)...)
	p.Since(s.lacks[pattern])
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

// target is the state as the pages show it.
func (s *state) target(kind string, now time.Time) wire.Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := wire.Target{
		Name: s.path, Source: "log", Kind: kind, Last: s.last, Lines: s.counts.Lines, Samples: s.counts.Samples,
		Unreadable: s.counts.Unreadable, Problem: s.problem, Notes: s.notes(now), Health: wire.Up,
		Engines: slices.SortedFunc(maps.Keys(s.engines), func(a, b store.EngineKey) int { return cmp.Compare(a.Name, b.Name) }),
	}
	if s.unread > 0 && !s.time.IsZero() && now.After(s.time) {
		t.Lag = now.Sub(s.time)
	}
	say := func(code string, args ...string) {
		if t.Problem == nil {
			t.Problem = wire.NewProblem(now, code, args...)
		}
	}
	switch {
	case s.problem != nil:
		t.Health = wire.Down
	case s.waiting:
		t.Health = wire.Waiting
		say("log.missing", s.path)
	case s.counts.Lines == 0 && s.counts.Foreign > 0:
		t.Health = wire.Quiet
		say("log.no_stats_"+strings.ReplaceAll(kind, "-", "_"), s.path, strconv.FormatInt(s.counts.Foreign, 10))
	case now.Sub(s.last) > max(quietTimes*s.pace, quietLeast):
		t.Health = wire.Quiet
	}
	if off := s.offClock; off.Abs() > wrongZone {
		code := "log.clock_ahead"
		if off < 0 {
			code = "log.clock_behind"
		}
		say(code, s.path, off.Abs().Round(time.Minute).String())
	}
	if s.bad != "" {
		say("log.unreadable", strconv.FormatInt(s.counts.Unreadable, 10), s.bad)
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
