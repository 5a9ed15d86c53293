package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector"
	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/engine/sim/kineto"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

const (
	// purgeEvery is how often deleted traces and stale uploads are cleared away.
	purgeEvery = 10 * time.Minute
	// packEvery is how often samples are packed: charts read packed ones much faster,
	// so few must be waiting.
	packEvery = 2 * time.Minute
)

// The example trace: about 100 MB of JSON, the same bytes on every machine.
const (
	exampleSteps = 20
	exampleSeed  = 1
)

// ServeCmd serves the pages and the API.
type ServeCmd struct {
	Addr      string `default:"127.0.0.1:8080" env:"STEPSCOPE_ADDR" help:"Address to listen on; one that other machines reach needs --token."`
	DB        string `name:"db" env:"STEPSCOPE_DB" placeholder:"FILE" type:"path" help:"Database file; made when missing. Default: stepscope.db, with --demo a temporary one."`
	MaxUpload Size   `default:"4GiB" env:"STEPSCOPE_MAX_UPLOAD" help:"Largest trace to keep."`
	Quota     Size   `default:"50GiB" env:"STEPSCOPE_QUOTA" help:"Most bytes of traces to keep in all."`
	Token     string `env:"STEPSCOPE_TOKEN" help:"What whoever changes anything must know; better in the environment than on the command line."`

	Collect string `placeholder:"FILE" type:"existingfile" env:"STEPSCOPE_COLLECT" help:"Collect from the engines that this configuration names (docs/collect.md)."`
	Demo    bool   `help:"Show two simulated deployments, one of them worse than the other, with a history and live."`

	CaptureCooldown time.Duration `default:"1m" placeholder:"TIME" help:"An engine is not captured again for so long after a capture, which slows it down; 0: at once."`
	CaptureQuota    int           `default:"1000" placeholder:"N" help:"Most captures of all engines within 24 hours; 0: no limit."`

	Retention Retention `embed:"" prefix:"keep-"`
}

// Retention says how long what is collected stays. Zero keeps all.
type Retention struct {
	Raw     time.Duration `default:"0" placeholder:"TIME" help:"Log lines stay as they came for so long, as in 48h, before they are packed, which loses nothing, takes a fifth of the room and is read much faster; 0 packs them within minutes."`
	Samples time.Duration `default:"0" placeholder:"TIME" help:"Delete samples and events older than this, as in 2160h; 0 keeps all."`
	Traces  time.Duration `default:"0" placeholder:"TIME" help:"Delete traces older than this; 0 keeps all."`
	Bytes   Size          `default:"0" placeholder:"SIZE" help:"Delete the oldest samples beyond so many bytes; 0 keeps all."`
}

// Validate refuses what no store does.
func (r *Retention) Validate() error {
	switch {
	case r.Raw < 0:
		return errors.New("--keep-raw: give a time, or 0 to pack log lines within minutes")
	case r.Samples < 0 || r.Traces < 0 || r.Samples > 0 && r.Samples < r.Raw:
		return errors.New("--keep-samples and --keep-traces: give a time, or 0 to keep all; samples not shorter than --keep-raw")
	}
	return nil
}

func (r *Retention) store() store.Retention {
	return store.Retention{Raw: r.Raw, Chunks: r.Samples, Traces: r.Traces, MaxBytes: int64(r.Bytes)}
}

// Validate refuses an address without a port, which nothing could be wrong about but the command line.
func (cmd *ServeCmd) Validate() error {
	_, port, err := net.SplitHostPort(cmd.Addr)
	if n, nerr := strconv.Atoi(port); err != nil || nerr != nil || n < 0 || n > 65535 {
		return fmt.Errorf("--addr %s: give host:port with a port up to 65535, as in 127.0.0.1:8080 or :8080", plain(cmd.Addr))
	}
	switch {
	case cmd.CaptureCooldown < 0 || cmd.CaptureCooldown > maxCooldown:
		return fmt.Errorf("--capture-cooldown %s: give a time from 0 to %s", cmd.CaptureCooldown, maxCooldown)
	case cmd.CaptureQuota < 0:
		return errors.New("--capture-quota: give a number of captures, or 0 for no limit")
	}
	return nil
}

// maxCooldown is as far back as the record of captures is read at a start.
const maxCooldown = 24 * time.Hour

// hub is how captures are limited.
func (cmd *ServeCmd) hub() web.HubOptions {
	o := web.HubOptions{Cooldown: cmd.CaptureCooldown, Quota: cmd.CaptureQuota}
	if o.Cooldown == 0 {
		o.Cooldown = -1 // 0 is the hub's default
	}
	return o
}

// Run serves until ctx ends.
func (cmd *ServeCmd) Run(ctx context.Context, streams *IO) (err error) {
	log := slog.New(slog.NewTextHandler(streams.Err, nil))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmd.Addr)
	if err != nil {
		return fmt.Errorf("listening on %s: %w (another server there? choose another --addr)", cmd.Addr, err)
	}
	defer listener.Close() // a second close after Serve's is harmless
	bound, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return fmt.Errorf("listening on %s: %w", cmd.Addr, err)
	}

	collectors, err := cmd.collectors(log)
	if err != nil {
		return err
	}
	var shown *demo
	if cmd.Demo {
		if shown, err = newDemo(log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, shown.Close()) }()
		collectors = append(collectors, collector.Options{Config: shown.config})
	}

	opt := store.Options{MaxTrace: int64(cmd.MaxUpload), Quota: int64(cmd.Quota)}.WithDefaults()
	db, err := sqlite.Open(ctx, cmd.database(shown), opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if shown != nil {
		if err := shown.describe(ctx, db); err != nil {
			return err
		}
	}

	hub := web.NewHub(db, cmd.hub())
	server, err := web.New(web.Config{
		Store:   db,
		Hub:     hub,
		Limits:  web.Limits{MaxUpload: int64(cmd.MaxUpload)},
		Grace:   opt.Grace,
		Assets:  web.Built(),
		Example: writeExample,
		Addr:    bound.Addr(),
		Token:   cmd.Token,
		Version: version(),
		Log:     log,
	})
	if errors.Is(err, web.ErrUnguarded) {
		return withCode(exitUsage, fmt.Errorf("--addr %s: %w", plain(cmd.Addr), err))
	}
	if err != nil {
		return err
	}

	// The store outlives what works with it: that is stopped and waited for before the close above.
	working, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer func() { stop(); work.Wait() }()
	work.Go(func() { tidy(working, db, cmd.Retention.store(), log) })
	for _, c := range collectors {
		c.Link, c.Version, c.Log = hub, version(), log
		work.Go(func() {
			if err := collector.Run(working, c); err != nil {
				log.Error("collecting has ended; restart the server to go on", "error", err)
			}
		})
	}
	if shown != nil {
		work.Go(func() {
			if err := shown.Run(working); err != nil {
				log.Error("the simulated engines have ended", "error", err)
			}
		})
	}

	fmt.Fprintf(streams.Out, "Stepscope is at %s (stop it with Ctrl-C)\n", whereabouts(bound))
	return server.Serve(ctx, listener)
}

// whereabouts is what to type into a browser. All addresses at once are none that could be typed.
func whereabouts(bound netip.AddrPort) string {
	if !bound.Addr().IsUnspecified() {
		return "http://" + bound.String()
	}
	return fmt.Sprintf("http://localhost:%d, and at that port of every other address of this machine", bound.Port())
}

// collectors are those that the command line asks for.
func (cmd *ServeCmd) collectors(log *slog.Logger) ([]collector.Options, error) {
	if cmd.Collect == "" {
		return nil, nil
	}
	c, err := config.Load(cmd.Collect)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	return []collector.Options{{Config: c, File: cmd.Collect, Suffix: " (server)"}}, nil
}

// database is the file to open. A demo never writes into the database that the environment names.
func (cmd *ServeCmd) database(shown *demo) string {
	env := os.Getenv("STEPSCOPE_DB")
	if abs, err := filepath.Abs(env); err == nil && env != "" {
		env = abs
	}
	switch {
	case shown != nil && (cmd.DB == "" || cmd.DB == env):
		return filepath.Join(shown.dir, "demo.db")
	case cmd.DB == "":
		return "stepscope.db"
	}
	return cmd.DB
}

// tidy clears away what was deleted or abandoned long enough ago, packs samples and applies the retention, now and then,
// until ctx ends.
func tidy(ctx context.Context, db store.Store, keep store.Retention, log *slog.Logger) {
	tick := time.NewTicker(packEvery)
	defer tick.Stop()
	for round := 0; ; round++ {
		if round%int(purgeEvery/packEvery) == 0 {
			got, err := db.Purge(ctx, time.Now())
			if err != nil && ctx.Err() == nil {
				log.Error("clearing away deleted traces failed; trying again later", "error", err)
			} else if got.Traces > 0 || got.Uploads > 0 {
				log.Info("cleared away", "traces", got.Traces, "uploads", got.Uploads, "bytes", got.Bytes)
			}
		}
		kept, err := db.Maintain(ctx, time.Now(), keep)
		if err != nil && ctx.Err() == nil {
			log.Error("packing samples and applying the retention failed; trying again later", "error", err)
		} else if kept.DroppedChunks > 0 || kept.DroppedTraces > 0 {
			log.Info("the retention has deleted", "chunks", kept.DroppedChunks, "traces", kept.DroppedTraces, "bytes", kept.FreedBytes)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// writeExample writes the trace the page offers to open.
func writeExample(w io.Writer) error {
	_, err := kineto.Generate(w, kineto.Options{Steps: exampleSteps, Seed: exampleSeed})
	return err
}
