package collector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// ports is the source of nothing: it watches whether DeepInfer engines' profile interfaces can be reached.
type ports struct {
	deployment string
	cfg        config.Profile
	known      *roster

	mu    sync.Mutex
	state map[string]*wire.Problem // by address; no entry: not tried yet
}

func newPorts(deployment string, cfg config.Profile, known *roster) *ports {
	return &ports{deployment: deployment, cfg: cfg, known: known, state: map[string]*wire.Problem{}}
}

const (
	// knockEvery is how often interfaces are tried.
	knockEvery = 15 * time.Second
	knockWait  = 3 * time.Second
)

// Run tries the interfaces now and then by opening a connection: asking would begin a capture.
func (p *ports) Run(ctx context.Context, _ source.Sink) error {
	for {
		for _, addr := range p.cfg.Addresses {
			problem := knock(ctx, addr)
			if ctx.Err() != nil {
				return nil
			}
			p.mu.Lock()
			if was := p.state[addr]; problem != nil && was != nil && was.What == problem.What {
				problem.Time, problem.Count = was.Time, was.Count+1
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

func knock(ctx context.Context, addr string) *wire.Problem {
	conn, err := (&net.Dialer{Timeout: knockWait}).DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
		return nil
	}
	p := &wire.Problem{Time: time.Now(), What: fmt.Sprintf("profile interface %s: %v", addr, err), Count: 1,
		Hint: "Check the address and the network between here and the engine."}
	if errors.Is(err, syscall.ECONNREFUSED) {
		p.Hint = "The engine is down, or its interface is off: it needs DEEPINFER_PROFILE_HTTP_ENABLE=1 and a free port DEEPINFER_PROFILE_HTTP_PORT_BASE plus the GPU's number."
	}
	return p
}

// gpu is the number of the GPU whose engine answers at an address.
func (p *ports) gpu(addr string) int { return gpuOf(addr, p.cfg.PortBase) }

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

// engine is who answers at an address, as far as its statistics have come by.
func (p *ports) engine(addr string) (store.EngineInfo, bool) {
	gpu := p.gpu(addr)
	list := p.known.of(p.deployment)
	slices.SortFunc(list, func(a, b store.EngineInfo) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range list {
		if e.Kind == "deepinfer" && e.GPU == gpu && (p.cfg.Host == "" || p.cfg.Host == e.Host) {
			return e, true
		}
	}
	return store.EngineInfo{}, false
}

// Targets is the state of each interface.
func (p *ports) Targets() []wire.Target {
	var list []wire.Target
	for _, addr := range p.cfg.Addresses {
		t := wire.Target{Name: addr, Source: "profile", Kind: "deepinfer", Health: wire.Waiting, ProfileAddr: addr, OutputDir: p.cfg.OutputDir}
		p.mu.Lock()
		problem, tried := p.state[addr]
		p.mu.Unlock()
		if problem != nil {
			t.Health, t.Problem = wire.Down, problem
		} else if tried {
			t.Health = wire.Up
		}
		if e, ok := p.engine(addr); ok {
			t.Engines, t.CanCapture = []store.EngineKey{e.EngineKey}, true
		} else if t.Health == wire.Up {
			t.Health = wire.Waiting
			t.Problem = &wire.Problem{Time: time.Now(), Count: 1,
				What: fmt.Sprintf("no statistics of an engine on GPU %d of %s came yet", p.gpu(addr), p.deployment),
				Hint: "Give the engine's log as a target of this deployment, and check port_base: an engine's port is that plus its GPU's number."}
		}
		list = append(list, t)
	}
	return list
}
