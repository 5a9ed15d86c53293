//go:build unix

package collector

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/remote"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// A hundred collectors with ten engines each at one server, over HTTP, all polling: nothing is lost or stored twice, and the
// server stays small.
func TestManyRemoteCollectors(t *testing.T) {
	const (
		collectors = 100
		engines    = 10
		batches    = 3
	)
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	s := &service{t: t, path: filepath.Join(t.TempDir(), "s.db"), addr: "127.0.0.1:0"}
	s.start()
	s.front.steady = true
	url := "http://" + s.addr
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	fail := make(chan error, collectors)
	var wait, polls sync.WaitGroup
	polling, stopPolling := context.WithCancel(ctx)
	for i := range collectors {
		wait.Go(func() {
			name := fmt.Sprintf("node%d", i)
			fail <- func() error {
				link, err := remote.New(remote.Options{URL: url})
				if err != nil {
					return err
				}
				if _, err := link.Hello(ctx, wire.Hello{Collector: name, Host: name, Started: time.Unix(1, 0)}); err != nil {
					return err
				}
				polls.Go(func() {
					for polling.Err() == nil {
						_, _ = link.Poll(polling, name) // its end is the context's
					}
				})
				for seq := range uint64(batches) {
					b := &store.Batch{Seq: seq + 1, Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "running"}, {Metric: "pending"}}}}}
					report := wire.Report{Collector: name, Time: time.Now()}
					for e := range engines {
						key := store.EngineKey{Deployment: "fleet", Name: fmt.Sprintf("%s/rank%d", name, e)}
						b.Engines = append(b.Engines, store.EngineInfo{EngineKey: key, Kind: "deepinfer", Host: name, Rank: e, GPU: e})
						b.Rows = append(b.Rows, store.Row{Engine: e, Time: int64(seq+1) * 1e9, Step: int64(seq), Values: []float64{float64(i), float64(seq)}})
						report.Targets = append(report.Targets, wire.Target{Name: key.Name, Health: wire.Up, Engines: []store.EngineKey{key}})
					}
					for range 2 { // the second is a repetition
						if err := link.Deliver(ctx, name, b); err != nil {
							return err
						}
					}
					if err := link.Report(ctx, report); err != nil {
						return err
					}
				}
				return nil
			}()
		})
	}
	wait.Wait()
	for range collectors {
		if err := <-fail; err != nil {
			t.Error(err)
		}
	}
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 100<<20 {
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
	states := s.hub.Collectors()
	if len(states) != collectors {
		t.Errorf("%d collectors", len(states))
	}
	for _, c := range states {
		if len(c.Report.Targets) != engines || c.Refused != nil {
			t.Errorf("%s: %d targets, refused %+v", c.Name, len(c.Report.Targets), c.Refused)
		}
	}
	stopPolling()
	polls.Wait()
	list, err := s.db.Engines(ctx, "fleet")
	if err != nil || len(list) != collectors*engines {
		t.Fatalf("%d engines, error %v", len(list), err)
	}
	var ids []int64
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	values := 0
	err = s.db.Read(ctx, store.Selection{Engines: ids, To: store.MaxTime}, func(x *store.Series) error { values += len(x.Values); return nil })
	if want := collectors * engines * batches * 2; err != nil || values != want {
		t.Errorf("%d values, want %d, error %v", values, want, err)
	}
	s.stop()
}
