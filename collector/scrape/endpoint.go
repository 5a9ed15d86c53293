package scrape

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/rows"
	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

const (
	// quietAfter is how many scrapes without a value make a target quiet.
	quietAfter = 6
	// silentAfter is how many intervals without an answer are told as a silence afterwards.
	silentAfter = 3
	// maxNames bounds the lists of missing and unknown names in a report.
	maxNames = 200
)

// endpoint is one path of a server. Its fields up to mu are run's alone.
type endpoint struct {
	*Source
	url     *url.URL
	state   *foreign.State      // of a Prometheus text
	drained *foreign.Iterations // of a list of iterations
	rows    *rows.Builder
	engines []store.EngineInfo // behind the address, as of the last reading
	last    time.Time          // of the last answer that could be used
	barren  int                // answers without a value in a row

	mu     sync.Mutex
	isList bool
	told   map[string]bool // metrics that it has given
	t      wire.Target
}

func (s *Source) newEndpoint(path string) *endpoint {
	e := &endpoint{Source: s, rows: rows.NewBuilder(), told: map[string]bool{}, isList: s.kind == foreign.TensorRTLLM && path == metricsPath}
	if s.base != nil {
		u := *s.base
		u.Path = strings.TrimRight(u.Path, "/") + "/" + strings.TrimLeft(path, "/")
		e.url = &u
		e.t.Name = u.String()
	}
	e.t.Health = wire.Waiting
	return e
}

// run scrapes at once and then at aligned times, each address with its own shift, so that a
// fleet is not asked all at one moment.
func (e *endpoint) run(ctx context.Context, sink source.Sink, more func(*endpoint)) error {
	late := time.Duration(0)
	for {
		if err := e.scrape(ctx, sink, late, more); err != nil || ctx.Err() != nil {
			return err
		}
		every := e.every(e.listed())
		now := time.Now()
		due := next(now, every, shift(e.url.String(), every))
		timer := time.NewTimer(due.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		late = max(0, time.Since(due))
	}
}

// next is the first time after now that lies shift behind a multiple of every.
func next(now time.Time, every, shift time.Duration) time.Time {
	return now.Add(every - time.Duration((now.UnixNano()-int64(shift))%int64(every)))
}

// shift spreads addresses over the interval, always in the same way.
func shift(address string, every time.Duration) time.Duration {
	h := fnv.New64a()
	h.Write([]byte(address))
	return time.Duration(h.Sum64() % uint64(every))
}

func (e *endpoint) listed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isList
}

// scrape asks once. Only a sink that is closed is an error.
func (e *endpoint) scrape(ctx context.Context, sink source.Sink, late time.Duration, more func(*endpoint)) error {
	wait := min(max(e.every(e.listed()), minWait), maxWait)
	a := e.get(ctx, e.url, wait, maxBody)
	if ctx.Err() != nil {
		return nil
	}
	if a.problem != nil {
		e.fail(a.problem, wire.Down)
		return nil
	}
	res, problem := e.read(a, more)
	if problem != nil {
		// A list that is empty or torn comes from the engine; anything else is of somebody else.
		health := wire.Down
		if e.listed() {
			health = wire.Quiet
		}
		e.fail(problem, health)
		return nil
	}
	e.learnVersion(ctx, res)
	if len(res.Readings) > 0 {
		e.barren = 0
	} else {
		e.barren++
	}
	samples := e.put(res, a.at, e.last)
	e.silence(a.at)
	e.last = a.at
	if b := e.rows.Take(); b != nil {
		if err := sink.Put(ctx, b); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	e.succeed(res, a, samples, late)
	return nil
}

// read maps an answer. What the address speaks is decided by the answer: an engine may
// have been exchanged for another since.
func (e *endpoint) read(a answer, more func(*endpoint)) (*foreign.Result, *wire.Problem) {
	body := bytes.TrimSpace(a.body)
	isJSON := len(body) > 0 && (body[0] == '[' || body[0] == '{')
	kind, _ := e.known()
	if kind == "" {
		if kind = detect(body, isJSON); kind == "" {
			return nil, e.problem("metrics.unknown_kind", e.url.String())
		}
		e.state, e.drained = nil, nil
		if extra := e.learn(kind); extra != nil {
			more(extra)
		}
	}
	list := kind == foreign.TensorRTLLM && (isJSON || len(body) == 0 && e.listed())
	e.mu.Lock()
	e.isList = list
	e.mu.Unlock()
	var res foreign.Result
	if list {
		if e.drained == nil {
			e.drained = foreign.NewIterations()
		}
		res = e.drained.Drain(a.at, a.body)
	} else {
		if e.state == nil {
			e.state = foreign.NewState(kind)
		}
		res = e.state.Scrape(a.at, a.body)
		if a.cut {
			e.state.Incomplete()
		}
	}
	if len(res.Readings) == 0 && res.Problem != nil {
		if e.opt.Kind == "" {
			e.forget(kind) // what was found out may be another engine now
		}
		return nil, e.said(res.Problem, a.at)
	}
	return &res, nil
}

// detect finds the kind of engine in an answer.
func detect(body []byte, isJSON bool) string {
	if isJSON {
		if bytes.Equal(body, []byte("[]")) || bytes.Contains(body, []byte(`"iter"`)) {
			return foreign.TensorRTLLM
		}
		return ""
	}
	kind, most := "", 0
	for k, n := range foreign.Found(foreign.ParseText(body).Series) {
		if n > most || n == most && k < kind {
			kind, most = k, n
		}
	}
	return kind
}

// versionPaths are where engines tell their version, in JSON, by kind; the newest path first.
var versionPaths = map[string][]string{
	foreign.VLLM:        {"/version"},
	foreign.TensorRTLLM: {"/version"},
	foreign.SGLang:      {"/server_info", "/get_server_info"}, // with all settings
}

// maxVersion bounds such an answer.
const maxVersion = 1 << 20

// learnVersion asks an engine for its version, once for each start of it.
func (e *endpoint) learnVersion(ctx context.Context, res *foreign.Result) {
	kind, version := e.known()
	restarted := slices.ContainsFunc(res.Events, func(x foreign.Event) bool { return x.Kind == foreign.Reset })
	if len(res.Readings) == 0 || version != "" && !restarted || !restarted && !e.last.IsZero() {
		return
	}
	for _, path := range versionPaths[kind] {
		u := *e.base
		u.Path = strings.TrimRight(u.Path, "/") + path
		a := e.get(ctx, &u, minWait, maxVersion)
		var said struct {
			Version string `json:"version"`
		}
		if a.problem != nil || json.Unmarshal(a.body, &said) != nil || said.Version == "" || len(said.Version) > 100 {
			continue // older servers have no such page
		}
		e.Source.mu.Lock()
		e.version = said.Version
		e.Source.mu.Unlock()
		return
	}
}

// said is what is wrong with the contents of an answer, in the words of the engine's reader.
func (e *endpoint) said(p *foreign.Problem, at time.Time) *wire.Problem {
	where := e.url.String() + ": "
	return &wire.Problem{Time: at, Code: "metrics.content", Count: 1,
		What: where + p.What.EN, Hint: p.Next.EN, WhatZH: where + p.What.ZH, HintZH: p.Next.ZH}
}

// fail notes why there is nothing, and how often in a row.
func (e *endpoint) fail(p *wire.Problem, health wire.Health) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if was := e.t.Problem; was != nil && was.What == p.What {
		p.Count += was.Count
	}
	e.t.Problem, e.t.Health = p, health
}

// succeed notes what an answer gave.
func (e *endpoint) succeed(res *foreign.Result, a answer, samples int64, late time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &e.t
	t.Lines++
	t.Samples += samples
	t.Unreadable += int64(res.Skipped)
	t.Lag = late
	t.Health = wire.Up
	if e.barren == 0 {
		t.Last = a.at
	} else if e.barren >= quietAfter {
		t.Health = wire.Quiet
	}
	t.Problem = nil
	switch {
	case res.Problem != nil:
		t.Problem = e.said(res.Problem, a.at)
	case a.cut:
		t.Problem = e.problem("metrics.too_large", e.url.String(), strconv.Itoa(maxBody>>20))
	case e.rows.Dropped() > 0:
		t.Problem = e.problem("metrics.columns", e.url.String(), strconv.FormatInt(e.rows.Dropped(), 10), strconv.Itoa(rows.MaxColumns))
	case t.Health == wire.Quiet:
		t.Problem = e.problem("metrics.empty_lists", e.url.String(), strconv.Itoa(e.barren))
	}
	for _, r := range res.Readings {
		for _, v := range r.Values {
			if len(e.told) < rows.MaxColumns {
				e.told[v.Key] = true
			}
		}
	}
	t.Engines = t.Engines[:0:0]
	for _, info := range e.engines {
		t.Engines = append(t.Engines, info.EngineKey)
	}
	if len(res.Missing) > 0 || len(res.Readings) > 0 && e.barren == 0 {
		t.Missing = t.Missing[:0:0]
		for _, m := range res.Missing {
			if len(t.Missing) < maxNames {
				t.Missing = append(t.Missing, m.Key+": "+m.Reason.EN)
			}
		}
		t.Unknown = res.Unknown[:min(len(res.Unknown), maxNames)]
	}
}

// tells says whether the interface has given a metric, or for a histogram its parts.
func (e *endpoint) tells(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.told[key] || e.told[key+ledger.CountSuffix]
}

// target is the state as a report has it. What another interface of the same server gives
// is not missing.
func (e *endpoint) target(kind string, all []*endpoint) wire.Target {
	e.mu.Lock()
	t := e.t
	missing := slices.Clone(t.Missing)
	e.mu.Unlock()
	t.Missing = slices.DeleteFunc(missing, func(m string) bool {
		key, _, _ := strings.Cut(m, ":")
		return slices.ContainsFunc(all, func(o *endpoint) bool { return o != e && o.tells(key) })
	})
	t.Kind, t.Source = kind, "metrics"
	if e.listed() {
		t.Source = "iterations"
	}
	t.Engines = slices.Clone(t.Engines)
	return t
}
