package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/profile"
	"github.com/stepscope/stepscope/store"
)

// Schedule captures a deployment's engines again and again.
type Schedule struct {
	Deployment string        `yaml:"deployment"`
	Engines    []string      `yaml:"engines"` // names; none: all that can be captured
	Every      time.Duration `yaml:"every"`
	Steps      int           `yaml:"steps"` // 0: 20
	// OnlyWhenLoaded leaves a turn out while the engines have nothing to do: the trace would be empty steps.
	OnlyWhenLoaded bool `yaml:"only_when_loaded"`
}

// MinEvery is the shortest time between two scheduled captures: each makes its engine slower for a while and fills the store.
const MinEvery = 10 * time.Minute

// Check says what is wrong with the schedule, or nil.
func (s Schedule) Check() error {
	switch {
	case s.Deployment == "":
		return errors.New("a schedule needs a deployment")
	case s.Every < MinEvery:
		return fmt.Errorf("every is %s; it must be at least %s", s.Every, MinEvery)
	case s.Steps < 0 || s.Steps > profile.MaxSteps:
		return fmt.Errorf("steps is %d; it must be from 1 to %d", s.Steps, profile.MaxSteps)
	}
	return nil
}

// Asker makes captures at the server; a [wire.Link] is one.
type Asker interface {
	RequestCaptures(ctx context.Context, collector string, q wire.CaptureRequest) ([]store.Capture, error)
}

// Scheduler asks for captures when they are due.
type Scheduler struct {
	asker     Asker
	collector string
	log       *slog.Logger

	mu       sync.Mutex
	problems map[string]wire.Problem // by deployment
}

// NewScheduler returns a Scheduler. log may be nil.
func NewScheduler(asker Asker, collector string, log *slog.Logger) *Scheduler {
	if log == nil {
		log = slog.Default()
	}
	return &Scheduler{asker: asker, collector: collector, log: log, problems: map[string]wire.Problem{}}
}

// Run follows one schedule until ctx ends. The first capture is due after one period: a collector that is restarted
// often must not capture often.
func (s *Scheduler) Run(ctx context.Context, sched Schedule) {
	for {
		select {
		case <-time.After(sched.Every):
			s.turn(ctx, sched)
		case <-ctx.Done():
			return
		}
	}
}

func (s *Scheduler) turn(ctx context.Context, sched Schedule) {
	made, err := s.asker.RequestCaptures(ctx, s.collector, wire.CaptureRequest{
		Deployment: sched.Deployment, Engines: sched.Engines, Steps: sched.Steps, Force: !sched.OnlyWhenLoaded,
		Note: fmt.Sprintf("scheduled every %s", shortDuration(sched.Every)),
	})
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.problems, sched.Deployment)
		s.log.Info("scheduled captures", "deployment", sched.Deployment, "captures", len(made))
		return
	}
	p := wire.NewProblem(time.Now(), "schedule.left_out", oneLine(sched.Deployment), oneLine(err.Error()), shortDuration(sched.Every))
	p.Count += s.problems[sched.Deployment].Count
	s.problems[sched.Deployment] = *p
	s.log.Warn("a scheduled capture was left out", "deployment", sched.Deployment, "error", err)
}

// Problems are the schedules whose last turn was left out.
func (s *Scheduler) Problems() []wire.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []wire.Problem
	for _, p := range s.problems {
		list = append(list, p)
	}
	return list
}

// shortDuration is d without its zero parts: "6h" for "6h0m0s".
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
