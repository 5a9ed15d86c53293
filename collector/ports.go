package collector

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/scrape"
	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// ports is the source of nothing: it watches whether the interfaces that traces come from can be reached.
type ports struct {
	kind      string
	addresses []string
	outputDir string
	engines   func(addr string) []store.EngineInfo // who answers at an address, as far as their statistics have come by
	nobody    func(addr string) *wire.Problem      // what to say when nobody is known to

	mu    sync.Mutex
	state map[string]*wire.Problem // by address; no entry: not tried yet
}

// driverPorts are those of DeepInfer engines, whose ports tell their GPUs.
func (m *manager) driverPorts(deployment string, cfg config.Profile) *ports {
	return &ports{
		kind: capture.DeepInfer, addresses: cfg.Addresses, outputDir: cfg.OutputDir, state: map[string]*wire.Problem{},
		engines: func(addr string) (list []store.EngineInfo) {
			gpu := gpuOf(addr, cfg.PortBase)
			for _, e := range m.sink.of(deployment) {
				if e.Kind == capture.DeepInfer && e.GPU == gpu && (cfg.Host == "" || cfg.Host == e.Host) {
					list = append(list, e)
				}
			}
			return list[:min(len(list), 1)]
		},
		nobody: func(addr string) *wire.Problem {
			base, gpu := strconv.Itoa(cfg.PortBase), gpuOf(addr, cfg.PortBase)
			if gpu < 0 {
				return wire.NewProblem(time.Now(), "profile.below_port_base", addr, base)
			}
			return wire.NewProblem(time.Now(), "profile.unknown_engine", addr, base, strconv.Itoa(gpu))
		},
	}
}

// serverPorts are those of API servers.
func (m *manager) serverPorts(deployment string, cfg config.Metrics) *ports {
	return &ports{
		kind: cfg.Kind, addresses: cfg.Addresses, outputDir: cfg.Traces.OutputDir, state: map[string]*wire.Problem{},
		engines: func(addr string) (list []store.EngineInfo) {
			for _, e := range m.sink.of(deployment) {
				if _, ok := partOf(e.Name, addr); ok {
					list = append(list, e)
				}
			}
			return list
		},
		nobody: func(addr string) *wire.Problem { return wire.NewProblem(time.Now(), "profile.unknown_server", addr) },
	}
}

// partOf says whether an engine belongs to the server at an address, and which data-parallel part of it it is, −1 all.
func partOf(engine, addr string) (part int, ok bool) {
	rest, ok := strings.CutPrefix(engine, scrape.EngineName(addr, hostName()))
	if !ok || rest == "" {
		return -1, ok
	}
	digits, ok := strings.CutPrefix(rest, "/engine")
	part, err := strconv.Atoi(digits)
	return part, ok && err == nil
}

const (
	// knockEvery is how often interfaces are tried.
	knockEvery = 15 * time.Second
	knockWait  = 3 * time.Second
)

// Run tries the interfaces now and then by opening a connection: asking would begin a capture.
func (p *ports) Run(ctx context.Context, _ source.Sink) error {
	for {
		for _, addr := range p.addresses {
			problem := p.knock(ctx, addr)
			if ctx.Err() != nil {
				return nil
			}
			p.mu.Lock()
			if problem != nil {
				problem.Since(p.state[addr])
			}
			p.state[addr] = problem
			p.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(knockEvery):
		}
	}
}

func (p *ports) knock(ctx context.Context, addr string) *wire.Problem {
	_, host, ok := strings.Cut(addr, "://")
	if !ok {
		host = addr
	}
	conn, err := (&net.Dialer{Timeout: knockWait}).DialContext(ctx, "tcp", host)
	if err == nil {
		conn.Close()
		return nil
	}
	return p.unreached(addr, err)
}

// unreached says why there is no connection.
func (p *ports) unreached(addr string, err error) *wire.Problem {
	now := time.Now()
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) && p.kind != capture.DeepInfer:
		return wire.NewProblem(now, "profile.server_refused", addr)
	case errors.Is(err, syscall.ECONNREFUSED):
		return wire.NewProblem(now, "profile.refused", addr)
	case errors.As(err, &dns) && dns.IsNotFound:
		return wire.NewProblem(now, "profile.unknown_host", addr)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return wire.NewProblem(now, "profile.no_route", addr)
	case errors.As(err, &timeout) && timeout.Timeout():
		return wire.NewProblem(now, "profile.timeout", addr, knockWait.String())
	}
	return wire.NewProblem(now, "profile.failed", addr, err.Error())
}

// gpuOf is the number of the GPU whose engine answers at an address.
func gpuOf(addr string, base int) int {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < base {
		return -1
	}
	return n - base
}

// Targets is the state of each interface.
func (p *ports) Targets() []wire.Target {
	var list []wire.Target
	for _, addr := range p.addresses {
		t := wire.Target{Name: addr, Source: "profile", Kind: p.kind, Health: wire.Waiting, ProfileAddr: addr, OutputDir: p.outputDir}
		p.mu.Lock()
		problem, tried := p.state[addr]
		p.mu.Unlock()
		if problem != nil {
			t.Health, t.Problem = wire.Down, problem
		} else if tried {
			t.Health = wire.Up
		}
		for _, e := range p.engines(addr) {
			t.Engines, t.CanCapture = append(t.Engines, e.EngineKey), true
		}
		if !t.CanCapture && t.Health == wire.Up {
			t.Health = wire.Waiting
			t.Problem = p.nobody(addr)
		}
		list = append(list, t)
	}
	return list
}
