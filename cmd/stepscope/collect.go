package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector"
	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/remote"
	"github.com/stepscope/stepscope/collector/spool"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

// CollectCmd collects from engines, for a server or straight into a database.
type CollectCmd struct {
	Config string `placeholder:"FILE" type:"existingfile" env:"STEPSCOPE_COLLECT" help:"What to collect (docs/collect.md); instead of the flags from --deployment on. It is read again when it changes."`
	Name   string `placeholder:"NAME" help:"This collector's name at the server. Default: what the configuration says, or the host's name."`

	Server   string `placeholder:"URL" env:"STEPSCOPE_SERVER" xor:"to" help:"Server to deliver to, as in http://stats.example:8080."`
	DB       string `name:"db" placeholder:"FILE" type:"path" xor:"to" help:"Database to write to instead of a server."`
	Token    string `env:"STEPSCOPE_TOKEN" help:"The server's token; better in the environment than on the command line."`
	Spool    string `placeholder:"DIR" type:"path" default:"stepscope-spool" help:"Folder that keeps what the server has not taken yet."`
	SpoolMax Size   `default:"1GiB" help:"Most bytes of the spool. Beyond, the oldest rows are thinned, and counted."`

	Deployment string   `placeholder:"NAME" help:"Deployment that the engines below belong to."`
	Log        []string `sep:"none" placeholder:"GLOB|-" help:"DeepInfer logs, or - for standard input; may be repeated."`
	Zone       string   `placeholder:"ZONE" help:"Zone of the logs' times where lines don't tell it, as in Asia/Shanghai or UTC. Default: this machine's."`
	Metrics    []string `placeholder:"HOST:PORT" help:"Engines that are asked for their metrics; ranges as in host:8000-8007."`
	Kind       string   `placeholder:"KIND" enum:",vllm,sglang,tensorrt-llm" default:"" help:"What these are: vllm, sglang or tensorrt-llm. Default: found out."`
	Profile    []string `placeholder:"HOST:PORT" help:"DeepInfer engines' profile interfaces, as in host:6070-6077."`
	OutputDir  string   `placeholder:"DIR" help:"Folder for their traces, the same for engines and collector."`
	GPU        bool     `name:"gpu" help:"Read this machine's cards."`
	GPUCount   int      `name:"gpu-count" placeholder:"N" help:"GPUs of the whole deployment; the server's pages can say it too, and what is said there counts."`
	PeakTflops float64  `name:"peak-tflops" placeholder:"TFLOPS" help:"One GPU's dense BF16 peak in TFLOP/s, as in 989.5; turns estimated TFLOP/s into MFU."`
}

// Validate wants either a file or flags.
func (c *CollectCmd) Validate() error {
	flags := len(c.Log)+len(c.Metrics)+len(c.Profile) > 0 || c.GPU
	facts := c.GPUCount != 0 || c.PeakTflops != 0
	switch {
	case c.Server == "" && c.DB == "":
		return errors.New("where to? give --server, or --db to write to a database")
	case c.Config != "" && (flags || facts || c.Deployment != ""):
		return errors.New("--config: the file says all; leave out --deployment and what follows it")
	case c.Config == "" && !flags:
		return errors.New("what to collect? give --config, or --deployment with --log, --metrics, --profile or --gpu")
	case c.Config == "" && c.Deployment == "":
		return errors.New("--deployment: give a name to group the engines under")
	}
	return nil
}

// Run collects until ctx ends.
func (c *CollectCmd) Run(ctx context.Context, streams *IO) (err error) {
	log := slog.New(slog.NewTextHandler(streams.Err, nil))
	cfg, err := c.config()
	if err != nil {
		return withCode(exitUsage, err)
	}
	var link wire.Link
	var closing func() error
	// The way to the server must outlive the collector, whose last batches go that way.
	lasting, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	collecting, stopCollecting := context.WithCancelCause(ctx)
	defer stopCollecting(nil)
	if c.DB != "" {
		link, closing, err = c.intoDatabase(ctx)
	} else {
		link, closing, err = c.overHTTP(lasting, stopCollecting, log)
	}
	if err != nil {
		stop(nil)
		return err
	}
	fmt.Fprintf(streams.Out, "Collecting (stop it with Ctrl-C)\n")
	if c.DB != "" {
		fmt.Fprintf(streams.Out, "A server with the same database shows what is stored, but neither this collector's state nor captures through it: use --server for those\n")
	}
	suffix := ""
	if c.Config == "" { // several of these may run on a host
		suffix = "/" + c.Deployment
	}
	err = collector.Run(collecting, collector.Options{
		Suffix: suffix, Link: link, Config: cfg, File: c.Config, Stdin: streams.In, Version: version(), Log: log,
	})
	if cause := context.Cause(collecting); ctx.Err() == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	err = errors.Join(err, closing())
	stop(nil)
	return err
}

func (c *CollectCmd) config() (cfg *config.Config, err error) {
	if c.Config != "" {
		cfg, err = config.Load(c.Config)
	} else {
		cfg, err = config.FromFlags(config.Flags{
			Deployment: c.Deployment, Logs: c.Log, Zone: c.Zone, Metrics: c.Metrics, Kind: c.Kind,
			Profile: c.Profile, OutputDir: c.OutputDir, GPU: c.GPU, GPUs: c.GPUCount, PeakTFLOPs: c.PeakTflops,
		})
	}
	if err != nil {
		return nil, err
	}
	if c.Name != "" {
		if err := store.CheckName("collector", c.Name, store.MaxEngineName); err != nil {
			return nil, err
		}
		cfg.Name = c.Name
	}
	if n := len(slices.DeleteFunc(logPaths(cfg), func(p string) bool { return p != "-" })); n > 1 {
		return nil, errors.New("standard input can be one log only")
	}
	return cfg, nil
}

func logPaths(cfg *config.Config) (list []string) {
	for _, d := range cfg.Deployments {
		for _, l := range d.Logs {
			list = append(list, l.Paths...)
		}
	}
	return list
}

// intoDatabase writes to a database itself. A server may have the same database open.
func (c *CollectCmd) intoDatabase(ctx context.Context) (wire.Link, func() error, error) {
	db, err := sqlite.Open(ctx, c.DB, store.Options{}.WithDefaults())
	if err != nil {
		return nil, nil, err
	}
	hub := web.NewHub(db, web.HubOptions{})
	return hub, func() error { hub.Stop(); return db.Close() }, nil
}

// overHTTP delivers to a server by way of a spool.
func (c *CollectCmd) overHTTP(ctx context.Context, fail context.CancelCauseFunc, log *slog.Logger) (wire.Link, func() error, error) {
	s, err := spool.Open(c.Spool, spool.Options{Max: int64(c.SpoolMax)})
	if err != nil {
		return nil, nil, err
	}
	far, err := remote.New(remote.Options{URL: c.Server, Token: c.Token, Version: version(), State: filepath.Join(c.Spool, "uploads.json")})
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	link := spool.NewLink(far, s)
	var forwarding sync.WaitGroup
	running, stop := context.WithCancel(ctx)
	forwarding.Go(func() {
		if err := link.Run(running); err != nil && running.Err() == nil {
			fail(err) // the process must start anew, where the server stands
		}
	})
	return link, func() error {
		began := time.Now()
		for s.Stats().Batches > 0 && time.Since(began) < lastSending {
			time.Sleep(lastSending / 100)
		}
		if left := s.Stats().Batches; left > 0 {
			log.Warn("the server has not taken everything yet; the rest is sent at the next start", "batches", left, "spool", c.Spool)
		}
		stop()
		forwarding.Wait()
		return s.Close()
	}, nil
}

// lastSending is how long the command goes on at its end to empty the spool.
const lastSending = 5 * time.Second
