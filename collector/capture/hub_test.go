package capture

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/source"
	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/sim"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/web"
)

// hubSink delivers straight to a hub.
type hubSink struct{ hub *web.Hub }

func (s hubSink) Put(ctx context.Context, b *store.Batch) error {
	return s.hub.Deliver(ctx, "node7", b)
}
func (s hubSink) Position(string) string { return "" }

// With the real server: a request becomes a command, the trace and its audit row are stored, the ledger is marked; a
// collector that is restarted in the middle takes the capture up again.
func TestWithHub(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "x.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	hub := web.NewHub(st, web.HubOptions{Cooldown: -1, PollWait: 50 * time.Millisecond})
	defer hub.Stop()

	hold := make(chan struct{})
	var held atomic.Bool
	e := newEngine(t, func(c *sim.Capture, w io.Writer) error {
		if held.Load() {
			<-hold
		}
		_, err := c.Write(w)
		return err
	})
	target := e.target()
	target.Key = store.EngineKey{Deployment: "chat", Name: "rank3"}

	// collect is a collector's life. What it returns ends it.
	started := time.Now()
	collect := func() (end func()) {
		started = started.Add(time.Second)
		hello := wire.Hello{Collector: "node7", Host: "n7", Started: started}
		if _, err := hub.Hello(ctx, hello); err != nil {
			t.Fatal(err)
		}
		err := hub.Report(ctx, wire.Report{Collector: "node7", Time: time.Now(), Targets: []wire.Target{{
			Name: target.Addr, Source: "profile", Kind: DeepInfer, Engines: []store.EngineKey{target.Key}, Health: wire.Up, CanCapture: true, ProfileAddr: target.Addr,
		}}})
		if err != nil {
			t.Fatal(err)
		}
		r := New(Config{Collector: "node7", Link: hub, Sink: source.Sink(hubSink{hub}), TempDir: t.TempDir(), Waits: brief,
			Log: slog.New(slog.DiscardHandler), Engines: func(k store.EngineKey) (Engine, bool) { return target, k == target.Key }})
		run, cancel := context.WithCancel(ctx)
		done := make(chan error)
		go func() { done <- r.Run(run, hub) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	if err := hub.Deliver(ctx, "node7", &store.Batch{Engines: []store.EngineInfo{{EngineKey: target.Key, Kind: DeepInfer, Rank: 3, GPU: 2}}}); err != nil {
		t.Fatal(err)
	}
	end := collect()
	ask := func() store.Capture {
		t.Helper()
		made, err := hub.StartCaptures(ctx, wire.CaptureRequest{Deployment: "chat", Steps: 4, Note: "slow?", By: "cli 127.0.0.1"})
		if err != nil || len(made) != 1 {
			t.Fatalf("%d captures, %v", len(made), err)
		}
		return made[0]
	}
	until := func(id int64, want func(store.Capture) bool) store.Capture {
		t.Helper()
		for range 2000 {
			c, err := st.Capture(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if want(c) {
				return c
			}
			time.Sleep(10 * time.Millisecond)
		}
		c, err := st.Capture(ctx, id)
		t.Fatalf("capture stays %+v, %v", c, err)
		return c
	}
	done := func(c store.Capture) bool { return c.State.Done() }

	c := until(ask().ID, done)
	if c.State != store.Stored || c.By != "cli 127.0.0.1" || c.Steps != 4 || c.Note != "slow?" || c.Bytes == 0 || c.Path == "" {
		t.Fatalf("%+v", c)
	}
	tr, err := st.Trace(ctx, c.TraceID)
	if err != nil || tr.ContentType != store.TypeGzip || tr.Label != "chat" || !strings.Contains(tr.Note, "slow?") {
		t.Errorf("%+v, %v", tr, err)
	}
	engines, err := st.Engines(ctx, "chat")
	if err != nil || len(engines) != 1 {
		t.Fatalf("%+v, %v", engines, err)
	}
	events, err := st.Events(ctx, []int64{engines[0].ID}, 0, time.Now().Add(time.Hour).UnixNano())
	if err != nil || len(events) != 1 || events[0].Kind != store.CaptureEvent || events[0].From > events[0].To {
		t.Errorf("events %+v, %v", events, err)
	}
	if engines[0].Kind != DeepInfer || engines[0].Rank != 3 {
		t.Errorf("the event made the engine %+v", engines[0])
	}

	// The second one's file is not written yet when the collector ends.
	held.Store(true)
	id := ask().ID
	until(id, func(c store.Capture) bool { return c.State == store.Asked && len(files(t, e.dir)) == 2 })
	end()
	if c := until(id, func(store.Capture) bool { return true }); c.State.Done() {
		t.Fatalf("the collector's end made it %s", c.State)
	}
	close(hold)
	end = collect()
	defer end()
	if c = until(id, done); c.State != store.Stored || !strings.Contains(c.Warning, "restarted") {
		t.Errorf("%s: %s; %s; warning %q", c.State, c.Error, c.Hint, c.Warning)
	}
}

// A compressed file that is changed while it is sent is not stored, and not tried for ever.
func TestChangedWhileSent(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	name := vllmFile("rank0")
	a.stop = func(w http.ResponseWriter) { write(t, gz(t, doc), dir, name) }
	g := newRig(t, a.engine(VLLM, dir))
	g.put = func(wire.TraceFile) error {
		write(t, gz(t, doc+"  "), dir, name)
		return errors.New("the sum is another")
	}
	g.r.Do(g.capture(1))
	g.failed(1, "was changed while it was sent", "capture again")
}
