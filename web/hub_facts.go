package web

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

const (
	// maxFacts bounds the deployments of one report.
	maxFacts = 1024
	// factsEvery is how often unchanged facts are compared with what is stored: a person may have edited it.
	factsEvery = time.Minute
)

// given is what a collector's configuration said about a deployment when it was last taken over. It is stored as one of
// the collector's positions: with it a value that came from the configuration is told from one that a person entered,
// which is never overwritten.
type given struct {
	GPUs int     `json:"g,omitempty"`
	Peak float64 `json:"p,omitempty"`
}

func factsPosition(deployment string) string { return "deployment:" + deployment }

// takeFacts takes over what a collector's configuration says about deployments, where nobody else has said anything since.
// Failures are tried again with a later report.
func (h *Hub) takeFacts(ctx context.Context, collector string, facts []wire.DeploymentFacts) error {
	facts = slices.Clone(facts[:min(len(facts), maxFacts)])
	h.mu.Lock()
	s, now := h.collectors[collector], h.opt.Now()
	if s == nil || len(facts) == 0 && len(s.facts) == 0 || slices.Equal(facts, s.facts) && now.Sub(s.factsAt) < factsEvery {
		h.mu.Unlock()
		return nil
	}
	h.mu.Unlock()

	h.editing.Lock()
	defer h.editing.Unlock()
	known, err := h.st.Deployments(ctx)
	if err != nil {
		return err
	}
	positions, _, err := h.st.Positions(ctx, collector)
	if err != nil {
		return err
	}
	var problems []wire.Problem
	all := true
	for _, f := range facts {
		i := slices.IndexFunc(known, func(d store.Deployment) bool { return d.Name == f.Name })
		if f.GPUs < 0 || !(f.PeakTFLOPs >= 0) || math.IsInf(f.PeakTFLOPs, 0) {
			continue // nothing of ours
		}
		if i < 0 {
			all = false // it comes with its first samples: the next report looks again
			continue
		}
		more, err := h.takeOver(ctx, collector, f, known[i], before(positions, f.Name), now)
		if err != nil {
			return err
		}
		problems = append(problems, more...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.collectors[collector]; s != nil {
		s.factProblems = problems
		if all {
			s.facts, s.factsAt = facts, now
		}
	}
	return nil
}

// before is what was taken over last.
func before(positions []store.Position, deployment string) (g given) {
	for _, p := range positions {
		if p.Source == factsPosition(deployment) && json.Unmarshal([]byte(p.Value), &g) != nil {
			return given{} // another version's is as good as none
		}
	}
	return g
}

// takeOver merges one deployment's facts.
func (h *Hub) takeOver(ctx context.Context, collector string, f wire.DeploymentFacts, d store.Deployment, was given, now time.Time) (problems []wire.Problem, err error) {
	var is given
	var patch store.DeploymentPatch
	var changes, differs bool
	if is.GPUs, changes, differs = weigh(f.GPUs, d.GPUs, was.GPUs); changes {
		patch.GPUs = &f.GPUs
	} else if differs {
		problems = append(problems, *wire.NewProblem(now, "facts.gpus", f.Name, strconv.Itoa(f.GPUs), strconv.Itoa(d.GPUs)))
	}
	if is.Peak, changes, differs = weigh(f.PeakTFLOPs, d.PeakTFLOPs, was.Peak); changes {
		patch.PeakTFLOPs = &f.PeakTFLOPs
	} else if differs {
		problems = append(problems, *wire.NewProblem(now, "facts.peak", f.Name, plainNumber(f.PeakTFLOPs), plainNumber(d.PeakTFLOPs)))
	}
	if patch.GPUs != nil || patch.PeakTFLOPs != nil {
		if _, err := h.st.UpdateDeployment(ctx, f.Name, patch); err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	if is == was {
		return problems, nil
	}
	text, err := json.Marshal(is)
	if err != nil {
		return nil, err
	}
	_, err = h.st.Deliver(ctx, collector, &store.Batch{Positions: []store.Position{{Source: factsPosition(f.Name), Value: string(text)}}})
	return problems, err
}

// weigh holds what a configuration says against what is stored and what was taken over last. It tells what is taken over
// now, whether that changes what is stored, and whether a person said otherwise.
func weigh[T int | float64](says, stored, was T) (is T, changes, differs bool) {
	switch {
	case says == 0:
		return was, false, false
	case stored == 0, stored == was, stored == says:
		return says, stored != says, false
	}
	return was, false, true
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
