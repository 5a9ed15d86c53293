package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// asker notes requests and when they came.
type asker struct {
	mu   sync.Mutex
	at   []time.Time
	got  []wire.CaptureRequest
	fail error
}

func (a *asker) RequestCaptures(_ context.Context, collector string, q wire.CaptureRequest) ([]store.Capture, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if collector != "node7" {
		return nil, fmt.Errorf("collector %q", collector)
	}
	a.at, a.got = append(a.at, time.Now()), append(a.got, q)
	return make([]store.Capture, 2), a.fail
}

func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &asker{}
		s := NewScheduler(a, "node7", slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		go s.Run(ctx, Schedule{Deployment: "chat", Every: 6 * time.Hour, Steps: 10, OnlyWhenLoaded: true})
		time.Sleep(12*time.Hour + time.Minute)
		synctest.Wait()
		a.mu.Lock()
		if want := []time.Time{start.Add(6 * time.Hour), start.Add(12 * time.Hour)}; !slices.EqualFunc(a.at, want, time.Time.Equal) {
			t.Errorf("asked at %v, want %v", a.at, want)
		}
		if q := a.got[0]; q.Deployment != "chat" || q.Steps != 10 || q.Force || q.Note != "scheduled every 6h" {
			t.Errorf("request %+v", q)
		}
		a.fail = errors.New("no sequence is running")
		a.mu.Unlock()
		if p := s.Problems(); len(p) != 0 {
			t.Errorf("problems %+v", p)
		}
		time.Sleep(12 * time.Hour)
		synctest.Wait()
		p := s.Problems()
		if len(p) != 1 || p[0].Count != 2 || p[0].What != "scheduled capture of chat: no sequence is running" {
			t.Errorf("problems %+v", p)
		}
	})
}

func TestScheduleCheck(t *testing.T) {
	for _, c := range []struct {
		s  Schedule
		ok bool
	}{
		{Schedule{Deployment: "chat", Every: 6 * time.Hour}, true},
		{Schedule{Deployment: "chat", Every: 10 * time.Minute, Steps: 50}, true},
		{Schedule{Every: 6 * time.Hour}, false},
		{Schedule{Deployment: "chat", Every: 9 * time.Minute}, false},
		{Schedule{Deployment: "chat"}, false},
		{Schedule{Deployment: "chat", Every: time.Hour, Steps: 51}, false},
		{Schedule{Deployment: "chat", Every: time.Hour, Steps: -1}, false},
	} {
		if err := c.s.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
}

// poller gives commands once, then nothing at once, or errors.
type poller struct {
	mu    sync.Mutex
	cmds  []wire.Command
	fail  error
	polls int
}

func (p *poller) Poll(ctx context.Context, collector string) ([]wire.Command, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.polls++
	cmds := p.cmds
	p.cmds = nil
	return cmds, p.fail
}

// Run carries out what is polled; a server that answers at once is not asked in a circle.
func TestRun(t *testing.T) {
	e := newEngine(t, nil)
	g := newRig(t, e.target())
	p := &poller{cmds: []wire.Command{g.capture(1)}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- g.r.Run(ctx, p) }()
	if c := g.done(1); c.State != store.Stored {
		t.Errorf("%s: %s", c.State, c.Error)
	}
	time.Sleep(300 * time.Millisecond)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.polls < 2 || p.polls > 60 {
		t.Errorf("%d polls", p.polls)
	}
	g.r.Do(g.capture(2)) // closed: nothing begins
}
