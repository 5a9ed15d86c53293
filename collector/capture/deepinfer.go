package capture

import (
	"context"
	"errors"
	"net"
	"path"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// deepInfer asks a DeepInfer engine, whose one call lasts until the file is written.
func (s *session) deepInfer() ([]*file, error) {
	dir := s.dir
	if dir == "" {
		dir = profile.DefaultOutputDir
	}
	where, err := s.open(dir)
	if err != nil {
		return nil, err
	}
	names := deepInferNames(s.eng.GPU, s.eng.Rank, s.eng.Zone)
	if s.resume {
		w := s.r.cfg.Waits
		s.warn(say("restarted_file"))
		return s.adopt(where, names, nil, s.asked.Add(w.Pickup+w.Completion+w.Appear))
	}
	before, err := where.before(names)
	if err != nil {
		return nil, err
	}
	said, err := s.askDeepInfer()
	if err == nil {
		s.captured()
		return s.named(said)
	}
	var e *profile.Error
	if !errors.As(err, &e) {
		return nil, err
	}
	if e.Outcome != profile.NoResult {
		return nil, refusedBy(e)
	}
	// From here on the engine may be recording.
	if context.Cause(s.ctx) != nil {
		s.perturbed()
		return nil, err
	}
	until := time.Now().Add(s.r.cfg.Waits.Appear)
	switch w := s.r.cfg.Waits; e.Cause {
	case profile.Failed:
		until = time.Now().Add(2 * w.Stable) // it says that nothing comes; one look costs nothing
	case profile.Lost, profile.Gateway, profile.Unclear:
		until = s.asked.Add(w.Pickup + w.Completion + w.Appear)
	}
	s.warn(say("watching", engineSaid(e), where.local))
	files, err := s.adopt(where, names, before, until)
	var f *failure
	if errors.As(err, &f) {
		f.what = say("and", engineSaid(e), f.what)
	}
	return files, err
}

// askDeepInfer sends the request until the engine isn't busy.
func (s *session) askDeepInfer() (string, error) {
	w := s.r.cfg.Waits
	c := profile.Client{Addr: s.eng.Addr, PickupWait: w.Pickup, CompletionWait: w.Completion}
	if s.r.cfg.LastStep != nil {
		c.LastStep = func() time.Time { return s.r.cfg.LastStep(s.eng.Key) }
	}
	first := time.Now()
	for try := 0; ; try++ {
		s.ask()
		// An engine that has not refused within its pickup wait has taken the request: it says nothing of it.
		taken := time.AfterFunc(w.Pickup+w.Pickup/10, func() { s.set(store.PickedUp) })
		said, err := c.Capture(s.ctx, profile.Request{NumSteps: s.steps, OutputDir: s.dir})
		taken.Stop()
		var e *profile.Error
		if err == nil || !errors.As(err, &e) || e.Outcome != profile.Busy {
			return said, err
		}
		e.Tries = try + 1
		if c.LastStep == nil || c.LastStep().IsZero() {
			e.Since = first
		}
		again, stop := s.backOff(try, e.Said)
		if stop != nil {
			return "", stop
		}
		if !again {
			return "", err
		}
	}
}

// refusedBy is the failure of a request after which the engine does nothing.
func refusedBy(e *profile.Error) error {
	f := &failure{what: engineSaid(e), err: e}
	switch e.Outcome {
	case profile.Busy:
		f.hint = say("busy_next")
	case profile.NotPickedUp:
		f.hint = say("not_picked_up_next")
	case profile.BadRequest:
		f.hint = say("bad_request_next")
	default:
		f.hint = say("see_reason_next")
	}
	return f
}

// named fetches the file that the engine named. Its word is untrusted.
func (s *session) named(said string) ([]*file, error) {
	s.each(func(c *store.Capture) { c.Path = oneLine(said) })
	if paths, err := s.eng.paths(); err == nil {
		if _, _, err := paths.find(said); err != nil {
			return nil, &failure{what: say("engines_file", cause(err)), err: err, hint: say("mapped_only_next")}
		}
	}
	where, err := s.open(path.Dir(said))
	if err != nil {
		return nil, err
	}
	name := path.Base(path.Clean(said))
	ended := make(chan struct{})
	close(ended)
	h := &hunt{s: s, dir: where, only: name, match: deepInferNames(-1, -1, s.eng.Zone), ended: ended}
	files, err := h.run()
	if err != nil {
		return nil, err
	}
	if f, err := profile.ParseFileName(name, time.UTC); err == nil &&
		(s.eng.GPU >= 0 && f.GPU != s.eng.GPU || s.eng.Rank >= 0 && f.Rank != s.eng.Rank) {
		s.warn(say("file_of_another", f.GPU, f.Rank))
	}
	return files, nil
}

// adopt watches the folder for a file of this engine and time.
func (s *session) adopt(where *folder, names matcher, before map[string]bool, until time.Time) ([]*file, error) {
	h := &hunt{s: s, dir: where, match: names, old: before, since: s.asked, until: until, count: 1, began: s.captured}
	files, err := h.run()
	if err != nil {
		s.perturbed()
		return nil, err
	}
	return s.pick(files)
}

// pick chooses one of several files: other nodes of a shared folder may have an engine of the same GPU and rank.
func (s *session) pick(files []*file) ([]*file, error) {
	if host, _, err := net.SplitHostPort(s.eng.Addr); err == nil {
		for i, f := range files {
			if f.ip == host {
				files[0], files[i] = files[i], files[0]
				break
			}
		}
		if files[0].ip == host {
			return s.first(files), nil
		}
	}
	for _, f := range files {
		if f.ip != files[0].ip || f.rank != files[0].rank {
			for _, f := range files {
				f.close()
			}
			return nil, &failure{
				what: say("two_files", short(files[0].name), short(f.name)),
				hint: say("two_files_next"),
			}
		}
	}
	return s.first(files), nil
}

// first keeps one file and closes the others.
func (s *session) first(files []*file) []*file {
	for _, f := range files[1:] {
		f.close()
	}
	return files[:1]
}

// before lists what is in the folder already.
func (f *folder) before(match matcher) (map[string]bool, error) {
	names, err := f.list(func(name string) bool { _, ok := match(name); return ok })
	if err != nil {
		return nil, &failure{what: say("listing", f.local, cause(err)), err: err, hint: say("read_folder_next")}
	}
	old := make(map[string]bool, len(names))
	for _, name := range names {
		old[name] = true
	}
	return old, nil
}
