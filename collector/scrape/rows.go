package scrape

import (
	"time"

	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/store"
)

// put makes rows and events of a result taken at the time at; the interval began at since,
// which is zero for the first one. It returns how many values there are.
func (e *endpoint) put(res *foreign.Result, at, since time.Time) (samples int64) {
	if len(res.Readings) > 0 {
		e.engines = e.engines[:0]
	}
	for i := range res.Readings {
		r := &res.Readings[i]
		info := e.info(r.Engine, res.Info)
		samples += e.rows.Add(r, info, at, 0)
		if n := len(e.engines); n == 0 || e.engines[n-1].EngineKey != info.EngineKey {
			e.engines = append(e.engines, info)
		}
	}
	from := at.UnixNano()
	if !since.IsZero() {
		from = min(from, since.UnixNano())
	}
	for _, x := range res.Events {
		engines := e.engines // an event of the server is one of each engine behind it
		if x.Engine != "" || len(engines) == 0 {
			engines = []store.EngineInfo{e.info(x.Engine, res.Info)}
		}
		for _, info := range engines {
			e.rows.Event(store.Event{
				Kind: eventKind(x.Kind, e.listed()), From: from, To: at.UnixNano(),
				FromStep: x.FromStep, ToStep: x.ToStep, Count: x.Count, Detail: x.Detail,
			}, info)
		}
	}
	return samples
}

// silence tells of a time without answers, once it is over.
func (e *endpoint) silence(at time.Time) {
	if e.last.IsZero() || at.Sub(e.last) <= silentAfter*e.every(e.listed()) {
		return
	}
	for _, info := range e.engines {
		e.rows.Event(store.Event{
			Kind: store.Silence, From: e.last.UnixNano(), To: at.UnixNano(), FromStep: -1, ToStep: -1, Count: 1,
			Detail: "no metrics from " + e.url.String(),
		}, info)
	}
}

func eventKind(k foreign.EventKind, list bool) store.EventKind {
	switch {
	case k == foreign.Lost:
		return store.Gap
	case list:
		return store.Restart
	}
	return store.CounterReset
}

// info is what is known of one engine behind the address.
func (e *endpoint) info(name string, in foreign.Info) store.EngineInfo {
	kind, version := e.known()
	full := e.engineName()
	if name != "" {
		full += "/" + name
	}
	o := &e.opt
	info := store.EngineInfo{
		EngineKey: store.EngineKey{Deployment: o.Deployment, Name: full}, Kind: kind, Host: hostOf(e.base, o.Host),
		Rank: -1, GPU: -1, Role: o.Role, Model: o.Model, Parallel: o.Parallel, Version: version,
	}
	if info.Role == "" {
		info.Role = in.Role
	}
	if info.Model == "" {
		info.Model = in.Model
	}
	return info
}
