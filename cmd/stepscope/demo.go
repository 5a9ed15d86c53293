package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/tail"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
)

const (
	// demoHistory is what a newcomer finds: enough to compare, and made within seconds.
	demoHistory = 15 * time.Minute
	// demoWarmup passes before, so that the history begins with engines at work.
	demoWarmup = 3 * time.Minute
	// demoEngines are the engines of each of the two deployments.
	demoEngines = 2
	demoSeed    = 7
)

// demoDeployment is a simulated deployment of the demo.
type demoDeployment struct {
	name   string
	note   string
	change func(d *sim.Deployment)
}

// demoDeployments get the same requests, so that what differs comes from the engines. Both can carry the load, so that
// nothing piles up while somebody looks.
var demoDeployments = []demoDeployment{
	{"demo-a", "Simulated, healthy.", nil},
	{"demo-b", "Simulated, same load as demo-a. The draft head fits the target model less well, and graphs for larger batches are missing.",
		func(d *sim.Deployment) {
			d.Draft.Ramp = sim.Ramp{From: 0, To: 1, Factor: 0.75}
			d.Graphs = slices.DeleteFunc(d.Graphs, func(tokens int) bool { return tokens > 288 })
		}},
}

// demoRate is the load: requests per second and engine.
const demoRate = 7

// demo is simulated engines that write logs and answer /profile on this machine, and a configuration to read them by.
type demo struct {
	dir    string
	fleets []*sim.Fleet
	config *config.Config
}

// newDemo makes the engines in a temporary folder. Close it after use.
func newDemo(log *slog.Logger) (_ *demo, err error) {
	d := &demo{config: &config.Config{Name: "demo"}}
	if d.dir, err = os.MkdirTemp("", "stepscope-demo-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	start := time.Now().Add(-demoWarmup - demoHistory)
	for _, dep := range demoDeployments {
		if err := d.add(dep, start, log); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *demo) add(dep demoDeployment, start time.Time, log *slog.Logger) error {
	s, err := sim.Builtin("healthy")
	if err != nil {
		return err
	}
	engines := &s.Deployments[0]
	engines.Name, engines.Engines = dep.name, demoEngines
	engines.Requests.Rate = demoRate
	engines.Trace.StepBytes = 1_000_000 // smaller than a real one, so that a capture is there at once
	if dep.change != nil {
		dep.change(engines)
	}
	dir := filepath.Join(d.dir, dep.name)
	if err := os.MkdirAll(filepath.Join(dir, "traces"), 0o700); err != nil {
		return err
	}
	base, err := freePorts(demoEngines)
	if err != nil {
		return err
	}
	fleet, err := sim.NewFleet(s, sim.Options{
		Seed: demoSeed, Speed: 1, Start: start, History: demoWarmup + demoHistory, Warmup: demoWarmup, Log: filepath.Join(dir, "rank{rank}.log"),
		Rotate:  sim.Rotation{Size: 4 << 20},
		Profile: sim.ProfileOptions{PortBase: base, OutputDir: filepath.Join(dir, "traces")}, Errors: log,
	})
	if err != nil {
		return err
	}
	d.fleets = append(d.fleets, fleet)
	d.config.Deployments = append(d.config.Deployments, config.Deployment{
		Name: dep.name, Model: "simulated", Role: "mixed", Host: "simulated",
		Logs: []config.Log{{Paths: []string{filepath.Join(dir, "*.log")}, Zone: "Local", Start: tail.WithRotated}},
		Profile: []config.Profile{{
			Addresses: []string{fmt.Sprintf("127.0.0.1:%d", base), fmt.Sprintf("127.0.0.1:%d", base+1)}, PortBase: base, Zone: "Local",
			Traces: config.Traces{OutputDir: filepath.Join(dir, "traces"), Paths: capture.Paths{{Engine: filepath.Join(dir, "traces")}}, Remove: true},
		}},
	})
	return nil
}

// freePorts finds so many neighbouring ports on loopback that nobody listens on now.
func freePorts(n int) (int, error) {
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("finding ports for the simulated engines: %w", err)
		}
		base := first.Addr().(*net.TCPAddr).Port
		open := []net.Listener{first}
		for i := 1; i < n; i++ {
			if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+i)); err == nil {
				open = append(open, l)
			}
		}
		for _, l := range open {
			l.Close()
		}
		if len(open) == n {
			return base, nil
		}
	}
	return 0, errors.New("finding ports for the simulated engines: no neighbouring ones are free on 127.0.0.1")
}

// Run runs the engines until ctx ends.
func (d *demo) Run(ctx context.Context) error {
	ends := make(chan error, len(d.fleets))
	for _, f := range d.fleets {
		go func() { ends <- f.Run(ctx) }()
	}
	var err error
	for range d.fleets {
		err = errors.Join(err, <-ends)
	}
	return err
}

// describe says on the pages that these deployments are simulated.
func (d *demo) describe(ctx context.Context, db store.Samples) error {
	for _, dep := range demoDeployments {
		gpus, peak := demoEngines, sim.DefaultDeployment().FLOPs.Peak
		err := db.CreateDeployment(ctx, store.Deployment{Name: dep.name, Note: dep.note, GPUs: gpus, PeakTFLOPs: peak})
		if errors.Is(err, store.ErrInvalid) { // it is there from an earlier demo
			_, err = db.UpdateDeployment(ctx, dep.name, store.DeploymentPatch{Note: &dep.note, GPUs: &gpus, PeakTFLOPs: &peak})
		}
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	return nil
}

// Close ends the engines and removes what they wrote.
func (d *demo) Close() error {
	var err error
	for _, f := range d.fleets {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}
