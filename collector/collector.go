package collector

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
)

// Run collects until ctx ends, or standard input if there is no other target, and what was read is delivered. It fails only when the server will never have it, as when
// another collector has its name from the start.
func Run(ctx context.Context, opt Options) error {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	welcome, err := hello(ctx, &opt)
	if err != nil {
		return err
	}
	b := newBatcher(&opt, welcome.Positions)
	m := newManager(&opt, b)
	ctx, m.finished = context.WithCancel(ctx)
	defer m.finished()

	// Delivering goes on for a while after everything else has stopped.
	give, stopGiving := context.WithCancel(context.WithoutCancel(ctx))
	defer stopGiving()
	stop, stopBatches := context.WithCancel(give)
	delivered := make(chan struct{})
	go func() { defer close(delivered); b.run(stop, give, welcome.Seq) }()

	var wait sync.WaitGroup
	wait.Go(func() { m.watch(ctx) })
	wait.Go(func() { m.report(ctx) })
	wait.Go(func() { m.captures(ctx) })
	wait.Wait()
	m.stop()

	stopBatches()
	select {
	case <-delivered:
	case <-time.After(farewell):
		opt.Log.Warn("the server did not take the last lines; they are read again at the next start")
	}
	return nil
}

// hello introduces the collector, as often as it takes.
func hello(ctx context.Context, opt *Options) (wire.Welcome, error) {
	h := wire.Hello{Collector: opt.name(), Version: opt.Version, Host: hostName(), Started: time.Now()}
	pause := firstRetry
	for first := true; ; first = false {
		w, err := opt.Link.Hello(ctx, h)
		if err == nil {
			return w, nil
		}
		if ctx.Err() != nil {
			return w, nil
		}
		if first {
			opt.Log.Warn("the server does not answer; trying again", "error", err)
			if errors.Is(err, wire.ErrTaken) {
				opt.Log.Warn("give this collector a name of its own (collector: in the configuration)", "name", h.Collector)
			}
		}
		select {
		case <-ctx.Done():
			return w, nil
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRetry)
	}
}
