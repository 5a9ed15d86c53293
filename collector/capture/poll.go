package capture

import (
	"context"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
)

// Poller gives commands; a [wire.Link] is one.
type Poller interface {
	Poll(ctx context.Context, collector string) ([]wire.Command, error)
}

// farewell is how long the last words to engines and server may take when the collector ends.
const farewell = 5 * time.Second

// Run carries out the commands that p gives until ctx ends, and then closes the Runner.
func (r *Runner) Run(ctx context.Context, p Poller) error {
	pause := r.cfg.Waits.Retry
	for ctx.Err() == nil {
		asked := time.Now()
		cmds, err := p.Poll(ctx, r.cfg.Collector)
		if err == nil {
			r.Do(cmds...)
		}
		// A server that answers at once with nothing must not be asked in a circle.
		if err == nil && (len(cmds) > 0 || time.Since(asked) > r.cfg.Waits.Retry) {
			pause = r.cfg.Waits.Retry
			continue
		}
		if err != nil && ctx.Err() == nil && pause == r.cfg.Waits.Retry {
			r.cfg.Log.Warn("the server gives no commands; captures wait", "error", err)
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, r.cfg.Waits.MaxRetry)
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	return r.Close(last)
}
