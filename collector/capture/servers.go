package capture

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// vllmStart is what newer servers accept with a start.
type vllmStart struct {
	Prefix        string `json:"profile_prefix"`
	MaxIterations int    `json:"max_iterations"`
}

// vllm records between two calls. The second may take many minutes and neither tells where the files are.
func (s *session) vllm() ([]*file, error) {
	if s.eng.OutputDir == "" {
		return nil, &failure{what: say("vllm_where"), hint: say("vllm_where_next")}
	}
	if strings.Contains(s.eng.OutputDir, "://") {
		return nil, &failure{what: say("vllm_no_folder", oneLine(s.eng.OutputDir)), hint: say("vllm_no_folder_next")}
	}
	if s.dir != s.eng.OutputDir {
		s.warn(say("vllm_fixed", s.eng.OutputDir))
	}
	where, err := s.open(s.eng.OutputDir)
	if err != nil {
		return nil, err
	}
	var before map[string]bool
	if s.resume {
		s.warn(say("restarted_stop"))
	} else {
		if before, err = where.before(vllmNames); err != nil {
			return nil, err
		}
		var body any
		if s.eng.SendBody {
			body = vllmStart{Prefix: s.profileID(), MaxIterations: s.steps}
		}
		// Whatever happens from here on, the server must not go on recording.
		s.linger = s.stopLater
		if err := s.start(body, say("vllm_next")); err != nil {
			if context.Cause(s.ctx) == nil {
				s.linger = nil // it was refused
			}
			return nil, err
		}
		if err := s.sleep(s.recordFor()); err != nil {
			s.perturbed()
			return nil, err
		}
	}
	ended := s.stopNow()
	h := &hunt{s: s, dir: where, match: vllmNames, old: before, since: s.asked, count: s.eng.Ranks, ended: ended.done, over: ended.over, began: s.captured}
	files, err := h.run()
	if err != nil {
		s.perturbed()
		return nil, ended.explain(err)
	}
	if !isClosed(ended.done) {
		s.warn(say("stop_silent"))
	}
	return files, nil
}

// recordFor is how long vLLM records.
func (s *session) recordFor() time.Duration {
	w := s.r.cfg.Waits
	d := s.eng.Record
	if d <= 0 && s.r.cfg.StepTime != nil {
		d = time.Duration(s.steps) * s.r.cfg.StepTime(s.eng.Key)
	}
	if d <= 0 {
		d = w.Record
	}
	return min(d, w.MaxRecord)
}

// sglangStart and trtStart are the bodies of a start.
type (
	sglangStart struct {
		OutputDir  string   `json:"output_dir,omitempty"`
		NumSteps   int      `json:"num_steps"`
		ProfileID  string   `json:"profile_id"`
		Activities []string `json:"activities"`
	}
	trtStart struct {
		OutputDir  string   `json:"output_dir,omitempty"`
		NumSteps   int      `json:"num_steps"`
		StartStep  int      `json:"start_step"`
		Activities []string `json:"activities"`
	}
)

var activities = []string{"CPU", "GPU"}

func (s *session) sglang() ([]*file, error) {
	id := s.profileID()
	return s.counted(sglangNames(id), sglangStart{OutputDir: s.dir, NumSteps: s.steps, ProfileID: id, Activities: activities}, say("sglang_next"))
}

func (s *session) tensorRT() ([]*file, error) {
	return s.counted(trtNames, trtStart{OutputDir: s.dir, NumSteps: s.steps, Activities: activities}, say("trt_next"))
}

// counted records a number of steps, after which the server stops by itself and writes, without a word.
func (s *session) counted(names matcher, body any, missingHint store.Said) ([]*file, error) {
	dir := s.dir
	if dir == "" {
		dir = profile.DefaultOutputDir
	}
	where, err := s.open(dir)
	if err != nil {
		return nil, err
	}
	var before map[string]bool
	if s.resume {
		s.warn(say("restarted_files"))
	} else {
		if before, err = where.before(names); err != nil {
			return nil, err
		}
		s.linger = s.stopLater
		if err := s.start(body, missingHint); err != nil {
			if context.Cause(s.ctx) == nil {
				s.linger = nil
			}
			return nil, err
		}
	}
	h := &hunt{s: s, dir: where, match: names, old: before, since: s.asked, count: s.eng.Ranks, began: s.captured}
	h.until = time.Now().Add(s.stepsFor() + s.r.cfg.Waits.Appear)
	files, err := h.run()
	if err == nil {
		s.linger = nil
		return files, nil
	}
	s.perturbed()
	if context.Cause(s.ctx) != nil || len(h.tracks) > 0 {
		return nil, err
	}
	// The steps did not come: an idle server waits for them for ever. What it has is better than nothing.
	s.warn(say("steps_late", s.steps))
	ended := s.stopNow()
	h = &hunt{s: s, dir: where, match: names, old: before, since: s.asked, count: s.eng.Ranks, ended: ended.done, over: ended.over, began: s.captured}
	if files, err = h.run(); err != nil {
		return nil, ended.explain(err)
	}
	return files, nil
}

// stepsFor is how long a loaded server may need for the steps.
func (s *session) stepsFor() time.Duration {
	if s.r.cfg.StepTime != nil {
		// Recording makes steps slower, some steps are long prefills.
		if d := s.r.cfg.StepTime(s.eng.Key); d > 0 {
			return min(5*time.Duration(s.steps)*d, s.r.cfg.Waits.MaxRecord)
		}
	}
	return s.r.cfg.Waits.MaxRecord
}

// profileID names a recording in file names; it is the same after a restart.
func (s *session) profileID() string {
	s.mu.Lock()
	c := s.members[0].c
	s.mu.Unlock()
	of := s.group
	if of == "" {
		of = fmt.Sprintf("#%d %d", c.ID, c.Steps)
	}
	sum := sha256.Sum256([]byte(of + "\x00" + s.eng.Addr))
	return "stepscope" + hex.EncodeToString(sum[:6])
}

// stopping is a stop call under way.
type stopping struct {
	s      *session
	done   chan struct{} // closed when the server has answered that all is written
	over   chan struct{} // closed when the call is over, however it ended
	answer answer        // once over
}

// stopNow tells the server to stop and doesn't wait for it. Another recording there has to wait for its end.
func (s *session) stopNow() *stopping {
	st := &stopping{s: s, done: make(chan struct{}), over: make(chan struct{})}
	s.linger = func() { <-st.over }
	s.r.work.Go(func() {
		// A cancelled capture's recording must be stopped as well.
		ctx, cancel := context.WithTimeout(s.r.late, s.r.cfg.Waits.Stop)
		defer cancel()
		a := s.eng.post(ctx, "/stop_profile", nil)
		if st.answer = a; a.outcome == taken {
			close(st.done)
		}
		close(st.over)
	})
	return st
}

// explain adds the server's answer to a stop to the reason why there are no files.
func (st *stopping) explain(err error) error {
	f, ok := err.(*failure)
	if !ok {
		return err
	}
	switch addr := oneLine(st.s.eng.Addr); {
	case !isClosed(st.over):
		f.what = say("and", say("stop_unanswered", addr), f.what)
	case st.answer.outcome != taken:
		f.what = say("and", say("call_refused", "/stop_profile", addr, st.answer.text()), f.what)
	}
	return f
}

// stopLater stops the recording of a capture that has ended otherwise.
func (s *session) stopLater() {
	ctx, cancel := context.WithTimeout(s.r.late, s.r.cfg.Waits.Stop)
	defer cancel()
	if a := s.eng.post(ctx, "/stop_profile", nil); a.outcome != taken {
		s.r.cfg.Log.Warn("a server did not stop recording", "addr", s.eng.Addr, "answer", a.text().Text)
	}
}
