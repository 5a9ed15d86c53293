package sim

import (
	"math"
	"math/rand/v2"
)

// Requests says what arrives at an engine.
type Requests struct {
	Rate     float64 `json:"rate"`     // requests per second and engine
	Arrivals string  `json:"arrivals"` // "poisson", or "fixed" for equal distances
	RateRamp Ramp    `json:"rate_ramp"`
	Prompt   Dist    `json:"prompt"` // tokens
	Output   Dist    `json:"output"` // tokens
	Prefix   Prefix  `json:"prefix"`

	AbortShare float64 `json:"abort_share"` // of requests whose client gives up
	PatienceMS float64 `json:"patience_ms"` // mean time after which such a client does
}

// Prefix says how requests share the beginnings of their prompts: a tree with so many branches at each level, a node of a
// level adding so many tokens. A prompt never is all prefix: what its tree is too long for is cut.
type Prefix struct {
	Share    float64 `json:"share"`    // of requests that begin with a shared prefix
	Branches []int   `json:"branches"` // by level, for example [4, 16]: 4 system prompts, 16 documents under each
	Tokens   []int   `json:"tokens"`   // by level
}

// workload makes the requests of one engine, in the order of their arrival.
type workload struct {
	cfg    Requests
	engine uint64
	r      *rand.Rand
	count  uint64
	at     int64 // when the next one arrives; negative: never
}

func newWorkload(cfg Requests, engine int, r *rand.Rand) *workload {
	w := &workload{cfg: cfg, engine: uint64(engine), r: r}
	w.advance(0)
	return w
}

// advance draws the distance to the next arrival.
func (w *workload) advance(step int) {
	rate := w.cfg.Rate * w.cfg.RateRamp.at(step)
	if rate <= 0 {
		w.at = -1
		return
	}
	gap := 1.0
	if w.cfg.Arrivals != arrivalsFixed {
		gap = w.r.ExpFloat64()
	}
	w.at += max(int64(gap/rate*1e9), 1)
}

// next returns the request that has arrived by now, or nil.
func (w *workload) next(now int64, step int) *sequence {
	if w.at < 0 || w.at > now {
		return nil
	}
	w.count++
	s := &sequence{
		id:      w.engine<<40 | w.count,
		arrival: w.at,
		prompt:  w.cfg.Prompt.draw(w.r),
		output:  w.cfg.Output.draw(w.r),
		ease:    w.r.NormFloat64(),
	}
	w.share(s)
	if w.r.Float64() < w.cfg.AbortShare {
		s.leave = s.arrival + max(int64(w.r.ExpFloat64()*w.cfg.PatienceMS*1e6), 1)
	}
	w.advance(step)
	return s
}

// share places a request's beginning in the tree. The tree is the same for all engines of a deployment.
func (w *workload) share(s *sequence) {
	p := w.cfg.Prefix
	if len(p.Branches) == 0 || w.r.Float64() >= p.Share {
		return
	}
	path, end := uint64(2), 0
	for level, branches := range p.Branches {
		// Popular prefixes are much more popular than others: squaring favours low numbers.
		f := w.r.Float64()
		path = mix(path, uint64(math.Floor(f*f*float64(branches))))
		end += p.Tokens[level]
		if end >= s.prompt {
			return
		}
		s.prefix = append(s.prefix, prefixNode{path &^ 1, end})
	}
}
