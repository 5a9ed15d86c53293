package web

import (
	"context"
	"sync"
	"time"
)

// sweepEvery is how often captures without a living collector are looked for.
const sweepEvery = time.Minute

// background starts what a server does without being asked: summaries of new
// traces, and an end for captures that nobody carries out any more. stop ends
// it and waits, so that the store can be closed.
func (s *Server) background(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.summaries.Run(ctx) })
	wg.Go(func() {
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := s.hub.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("ending abandoned captures failed; trying again later", "error", err)
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}
