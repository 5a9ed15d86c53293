package collector

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/gpu"
	"github.com/stepscope/stepscope/collector/logs"
	"github.com/stepscope/stepscope/collector/scrape"
	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
)

// targets says how to make the source of each target, by a key that is the same as long as nothing of the target changes.
func (m *manager) targets(c *config.Config) map[string]func() source.Source {
	list := map[string]func() source.Source{}
	for i := range c.Deployments {
		d := &c.Deployments[i]
		for _, l := range d.Logs {
			opt := logs.Options{
				Identity: logs.Identity{
					Deployment: d.Name, Host: cmp.Or(l.Host, d.Host), HostInNames: d.HostInNames,
					Role: d.Role, Model: d.Model, Parallel: d.Parallel,
				},
				Patterns: l.Paths, Zone: zone(l.Zone), Start: l.Start, Stdin: m.opt.Stdin, Claims: &m.claims, Poll: m.opt.hurry.poll,
			}
			if l.Engine != "" {
				m.foreign(&opt, l.Kind, l.Engine, false)
			}
			list[fmt.Sprintf("log %q %+v", d.Name, l)+fmt.Sprintf("%+v", opt.Identity)] = func() source.Source { return logs.New(opt) }
		}
		for _, s := range d.Metrics {
			m.servers(list, d, s)
		}
		if d.GPU != nil {
			opt := gpu.Options{
				Deployment: d.Name, Host: cmp.Or(d.Host, hostName()), Every: d.GPU.Every, Library: d.GPU.Library, Log: m.log,
				Engines: func() []gpu.Engine { return m.sink.cards(cmp.Or(d.Host, hostName())) },
			}
			list[fmt.Sprintf("gpu %q %q %+v", d.Name, opt.Host, *d.GPU)] = func() source.Source { return gpu.New(opt) }
		}
		for _, s := range d.Schedule {
			list[fmt.Sprintf("schedule %+v", s)] = func() source.Source { return schedule{m.scheduler, s} }
		}
		for _, p := range d.Profile {
			list[fmt.Sprintf("profile %q %+v", d.Name, p)] = func() source.Source { return m.driverPorts(d.Name, p) }
		}
	}
	return list
}

// servers adds the sources of a group of servers with metrics.
func (m *manager) servers(list map[string]func() source.Source, d *config.Deployment, s config.Metrics) {
	for _, addr := range s.Addresses {
		opt := scrape.Options{
			Deployment: d.Name, Kind: s.Kind, Address: addr, Path: s.Path, Every: s.Every, Token: s.Token,
			Host: hostName(), Role: d.Role, Model: d.Model, Parallel: d.Parallel,
		}
		list[fmt.Sprintf("metrics %+v", opt)] = func() source.Source { return scrape.New(opt) }
	}
	if s.Traces != nil {
		list[fmt.Sprintf("traces %q %+v %+v", d.Name, s.Addresses, *s.Traces)] = func() source.Source { return m.serverPorts(d.Name, s) }
	}
	if len(s.Logs) > 0 {
		opt := logs.Options{
			Identity: logs.Identity{Deployment: d.Name, Host: d.Host, Role: d.Role, Model: d.Model, Parallel: d.Parallel},
			Patterns: s.Logs, Claims: &m.claims, Poll: m.opt.hurry.poll,
		}
		m.foreign(&opt, s.Kind, scrape.EngineName(s.Addresses[0], hostName()), true)
		list[fmt.Sprintf("log %+v of %s", opt.Identity, s.Addresses[0])+fmt.Sprintf("%q %q", s.Kind, s.Logs)] = func() source.Source { return logs.New(opt) }
	}
}

// foreign lets the lines of a log be read as another kind of engine's.
func (m *manager) foreign(opt *logs.Options, kind, name string, beside bool) {
	id, zone := opt.Identity, opt.Zone
	opt.Kind = kind
	opt.Lines = func(func(string) string) logs.Lines { return logs.NewForeignMapper(kind, name, id, zone, beside) }
}

// schedule is the source of nothing: it asks for captures when they are due.
type schedule struct {
	scheduler *capture.Scheduler
	capture.Schedule
}

// Run follows the schedule.
func (s schedule) Run(ctx context.Context, _ source.Sink) error {
	s.scheduler.Run(ctx, s.Schedule)
	return nil
}

// Targets has none.
func (schedule) Targets() []wire.Target { return nil }

// zone is a checked zone's location.
func zone(name string) *time.Location {
	if name == "" {
		return time.Local
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return time.Local // the configuration was checked; the zone files have gone since
	}
	return z
}
