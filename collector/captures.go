package collector

import (
	"context"
	"slices"
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/store"
)

// captures carries out what the server asks for until ctx ends.
func (m *manager) captures(ctx context.Context) {
	runner := capture.New(capture.Config{
		Collector: m.opt.name(), Link: m.opt.Link, Log: m.log, Engines: m.capturable,
		Sink: m.sink,
		StepTime: func(key store.EngineKey) time.Duration {
			s, _ := m.sink.engine(key)
			return s.pace
		},
		LastStep: func(key store.EngineKey) time.Time {
			s, _ := m.sink.engine(key)
			return s.last
		},
	})
	if err := runner.Run(ctx, m.opt.Link); err != nil {
		m.log.Warn("captures were left under way; they are taken up at the next start", "error", err)
	}
}

// capturable says how to capture an engine, by the configuration of this moment.
func (m *manager) capturable(key store.EngineKey) (capture.Engine, bool) {
	s, ok := m.sink.engine(key)
	if !ok {
		return capture.Engine{}, false
	}
	m.mu.Lock()
	c := m.config
	m.mu.Unlock()
	at := slices.IndexFunc(c.Deployments, func(d config.Deployment) bool { return d.Name == key.Deployment })
	if at < 0 {
		return capture.Engine{}, false
	}
	for _, s := range c.Deployments[at].Metrics {
		for _, addr := range s.Addresses {
			if s.Traces == nil || s.Kind == "" {
				continue
			}
			if part, ok := partOf(key.Name, addr); ok {
				return m.serverEngine(key, s, addr, part), true
			}
		}
	}
	for _, p := range c.Deployments[at].Profile {
		for _, addr := range p.Addresses {
			if s.info.Kind == capture.DeepInfer && gpuOf(addr, p.PortBase) == s.info.GPU && (p.Host == "" || p.Host == s.info.Host) {
				return capture.Engine{
					Key: key, Kind: capture.DeepInfer, Addr: addr, GPU: s.info.GPU, Rank: s.info.Rank, Part: -1, Ranks: 1,
					OutputDir: p.OutputDir, Paths: p.Paths, Remove: p.Remove, Zone: zone(p.Zone),
				}, true
			}
		}
	}
	return capture.Engine{}, false
}

// serverEngine is an engine of an API server. A capture slows down all that the server has.
func (m *manager) serverEngine(key store.EngineKey, s config.Metrics, addr string, part int) capture.Engine {
	e := capture.Engine{
		Key: key, Kind: s.Kind, Addr: addr, GPU: -1, Rank: -1, Part: part, Ranks: s.Traces.Ranks,
		OutputDir: s.Traces.OutputDir, Paths: s.Traces.Paths, Remove: s.Traces.Remove, Token: s.Token,
	}
	for _, other := range m.sink.of(key.Deployment) {
		if _, ok := partOf(other.Name, addr); ok && other.EngineKey != key {
			e.Also = append(e.Also, other.EngineKey)
		}
	}
	return e
}
