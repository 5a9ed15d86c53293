package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/stepscope/stepscope/engine/sim/kineto"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

// purgeEvery is how often deleted traces and stale uploads are cleared away.
const purgeEvery = 10 * time.Minute

// The example trace: about 100 MB of JSON, the same bytes on every machine.
const (
	exampleSteps = 20
	exampleSeed  = 1
)

// ServeCmd serves the pages and the API.
type ServeCmd struct {
	Addr      string `default:"127.0.0.1:8080" env:"STEPSCOPE_ADDR" help:"Address to listen on; one that other machines reach needs --token."`
	DB        string `name:"db" default:"stepscope.db" env:"STEPSCOPE_DB" type:"path" help:"Database file; made when missing."`
	MaxUpload Size   `default:"4GiB" env:"STEPSCOPE_MAX_UPLOAD" help:"Largest trace to keep."`
	Quota     Size   `default:"50GiB" env:"STEPSCOPE_QUOTA" help:"Most bytes of traces to keep in all."`
	Token     string `env:"STEPSCOPE_TOKEN" help:"What whoever changes anything must know; better in the environment than on the command line."`
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

	opt := store.Options{MaxTrace: int64(cmd.MaxUpload), Quota: int64(cmd.Quota)}.WithDefaults()
	db, err := sqlite.Open(ctx, cmd.DB, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	server, err := web.New(web.Config{
		Store:   db,
		Limits:  web.Limits{MaxUpload: int64(cmd.MaxUpload)},
		Grace:   opt.Grace,
		Assets:  web.Built(),
		Example: writeExample,
		Addr:    bound.Addr(),
		Token:   cmd.Token,
		Version: version(),
		Log:     log,
	})
	if err != nil {
		return err
	}

	// The store outlives the purging: stop it and wait before the close above.
	purging, stopPurging := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); purge(purging, db, log) }()
	defer func() { stopPurging(); <-done }()

	fmt.Fprintf(streams.Out, "Stepscope is at http://%s (stop it with Ctrl-C)\n", bound)
	return server.Serve(ctx, listener)
}

// purge clears away what was deleted or abandoned long enough ago, now and
// then, until ctx ends.
func purge(ctx context.Context, db store.Traces, log *slog.Logger) {
	tick := time.NewTicker(purgeEvery)
	defer tick.Stop()
	for {
		got, err := db.Purge(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			log.Error("clearing away deleted traces failed; trying again later", "error", err)
		} else if got.Traces > 0 || got.Uploads > 0 {
			log.Info("cleared away", "traces", got.Traces, "uploads", got.Uploads, "bytes", got.Bytes)
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
