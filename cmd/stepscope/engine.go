package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/engine/sim"
)

// EngineCmd runs simulated engines that can be observed like real ones.
type EngineCmd struct {
	Count    *int   `placeholder:"N" help:"Engines of each deployment. Default: what the scenario says, which is one in the built-in ones."`
	Scenario string `default:"healthy" placeholder:"NAME|FILE" help:"What happens: ${scenarios}, or a JSON file (docs/engine.md)."`
	Seed     uint64 `default:"1" help:"Chooses the run: the same seed, the same ledger."`
	Steps    int64  `placeholder:"N" help:"End after so many steps of each engine. Default: run until interrupted."`
	Speed    Speed  `placeholder:"FACTOR|max" help:"How fast the engines' clocks run, 1 being real time; max: as fast as possible. Default: 1, or max with --steps."`
	Start    string `placeholder:"TIME" help:"What the engines' clocks show at first, as in 2026-03-02T09:00:00Z. Default: now, or with max a time that the seed chooses."`

	Log    string       `default:"-" placeholder:"FILE|-" help:"Where the ledger's lines go; {rank} in the name makes a file for each engine."`
	Rotate sim.Rotation `placeholder:"HOW:SIZE" help:"Rotate log files at a size: rename:1MiB or copytruncate:1MiB."`

	Curves string `placeholder:"DIR" help:"Keep each deployment's decode curve in this folder, as engines do."`

	ProfilePortBase int    `default:"6070" placeholder:"PORT" help:"Engines answer /profile on this port plus their GPU's number; 0: not at all."`
	ProfileHost     string `default:"127.0.0.1" placeholder:"HOST" help:"Where /profile listens. It has no authentication: beyond this host anybody can start captures."`
	OutputDir       string `placeholder:"DIR" help:"Where traces go when a request names no folder. Default: the engine's, /tmp."`
	Truth           bool   `help:"Write beside each trace what is in it, as JSON, to test a reader against."`

	Fault []sim.Fault `sep:"none" placeholder:"FAULT" help:"Something to go wrong, in every engine; may be repeated: hang@STEP=DURATION, slow-export=DURATION, refuse, crash, port-taken, rotate@STEP, truncate@STEP, clock-jump@STEP=DURATION."`
}

// Speed is how fast a simulation runs on the command line: a factor, or max.
type Speed struct {
	Factor float64 // seconds of the simulation per second; 0: as fast as possible
	Given  bool
}

// UnmarshalText reads a factor or max.
func (s *Speed) UnmarshalText(text []byte) error {
	if string(text) == "max" {
		*s = Speed{0, true}
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f > 0 && f <= 1e6) {
		return fmt.Errorf("%q is no speed: give a factor above 0, as in 1 or 10, or max", text)
	}
	*s = Speed{f, true}
	return nil
}

// Validate refuses impossible options before anything is opened.
func (c *EngineCmd) Validate() error {
	switch {
	case c.Count != nil && *c.Count < 1:
		return errors.New("--count: give 1 or more")
	case c.Steps < 0:
		return errors.New("--steps: give 1 or more")
	case c.ProfilePortBase < 0 || c.ProfilePortBase > 65535-sim.MaxGPU:
		return fmt.Errorf("--profile-port-base: give a port up to %d, or 0 for no interface", 65535-sim.MaxGPU)
	case c.Log == "-" && c.Rotate != sim.Rotation{}:
		return errors.New("--rotate: standard output can't be rotated; give --log a file")
	case c.Log == "-" && slices.ContainsFunc(c.Fault, sim.Fault.OfLog):
		return errors.New("--fault: standard output can't be rotated or truncated; give --log a file")
	case c.Log == "":
		return errors.New("--log: give a file, or - for standard output")
	}
	_, err := c.start()
	return err
}

func (c *EngineCmd) start() (time.Time, error) {
	if c.Start == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, c.Start)
	if err != nil {
		return t, fmt.Errorf("--start: %q is no time; write it as in 2026-03-02T09:00:00Z", c.Start)
	}
	if y := t.Year(); y < 1970 || y > 2200 {
		return t, fmt.Errorf("--start: traces are not written for the year %d; give 1970 to 2200", y)
	}
	return t, nil
}

// Run runs the engines until they have made their steps or the program is interrupted.
func (c *EngineCmd) Run(ctx context.Context, streams *IO) error {
	scenario, err := c.scenario()
	if err != nil {
		return withCode(exitUsage, err)
	}
	start, err := c.start()
	if err != nil {
		return withCode(exitUsage, err)
	}
	opt := sim.Options{
		Seed: c.Seed, Steps: c.Steps, Speed: c.Speed.Factor, Start: start, Rotate: c.Rotate, CurveDir: c.Curves, Faults: c.Fault,
		Profile: sim.ProfileOptions{Host: c.ProfileHost, PortBase: c.ProfilePortBase, OutputDir: c.OutputDir},
		Errors:  slog.New(slog.NewTextHandler(streams.Err, nil)),
	}
	if !c.Speed.Given && c.Steps == 0 {
		opt.Speed = 1
	}
	if c.Log == "-" {
		opt.LogStream = streams.Out
	} else {
		opt.Log = c.Log
	}
	fleet, err := sim.NewFleet(scenario, opt)
	if err != nil {
		return err
	}
	return errors.Join(fleet.Run(ctx), fleet.Close())
}

// scenario returns the one that was asked for, with the changes that flags make to it.
func (c *EngineCmd) scenario() (*sim.Scenario, error) {
	var s *sim.Scenario
	if !strings.ContainsAny(c.Scenario, `./\`) {
		var err error
		if s, err = sim.Builtin(c.Scenario); err != nil {
			return nil, fmt.Errorf("%w; a file's name has a dot or a slash in it", err)
		}
	} else {
		text, err := os.ReadFile(c.Scenario)
		if err != nil {
			return nil, fmt.Errorf("scenario: %w", err)
		}
		if s, err = sim.ReadScenario(text); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Scenario, err)
		}
	}
	for i := range s.Deployments {
		d := &s.Deployments[i]
		if c.Count != nil {
			d.Engines = *c.Count
		}
		d.Trace.Truth = d.Trace.Truth || c.Truth
	}
	return s, s.Validate()
}
