package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
	"github.com/stepscope/stepscope/store/storetest"
	"github.com/stepscope/stepscope/views/i18n"
)

// rig is a hub over a real store with a clock that tests move.
type rig struct {
	*Hub
	t  *testing.T
	st store.Store

	mu  sync.Mutex
	now time.Time
}

var midnight = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func newRig(t *testing.T, o store.Options) *rig {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, st: st, now: midnight}
	r.restart()
	return r
}

// restart is a new server over the same store.
func (r *rig) restart() {
	if r.Hub != nil {
		r.Stop()
	}
	r.Hub = NewHub(r.st, HubOptions{PollWait: 50 * time.Millisecond, Now: r.clock})
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// refused checks that an error is of a kind and says what it should.
func refused(t *testing.T, err, is error, says string) {
	t.Helper()
	if !errors.Is(err, is) || !strings.Contains(err.Error(), says) {
		t.Fatalf("%v; want %v with %q", err, is, says)
	}
}

func key(name string) store.EngineKey { return store.EngineKey{Deployment: "prod", Name: name} }

// hello starts the collector "c" in a process of the given host that began so many seconds past midnight.
func (r *rig) hello(name, host string, started int) (wire.Welcome, error) {
	return r.Hello(r.t.Context(), wire.Hello{Collector: name, Host: host, Version: "1", Started: midnight.Add(time.Duration(started) * time.Second)})
}

// as is the context of calls by a process.
func as(ctx context.Context, host string, started int) context.Context {
	return withProcess(ctx, process{host: host, started: midnight.Add(time.Duration(started) * time.Second).UnixNano()})
}

// engines reports targets through which collector c captures these engines, and gives each one sample of the load.
func (r *rig) engines(c string, seq uint64, running float64, names ...string) {
	r.t.Helper()
	b := &store.Batch{Seq: seq, Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "running"}}}}}
	rep := wire.Report{Collector: c, Time: r.clock()}
	for i, n := range names {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: key(n), Kind: "deepinfer", Rank: i, GPU: -1})
		b.Rows = append(b.Rows, store.Row{Engine: i, Time: r.clock().UnixNano(), Step: 1, Values: []float64{running}})
		rep.Targets = append(rep.Targets, wire.Target{Name: n, Source: "profile", Health: wire.Up, CanCapture: true, Engines: []store.EngineKey{key(n)}})
	}
	r.must(r.Deliver(r.t.Context(), c, b))
	r.must(r.Report(r.t.Context(), rep))
}

func TestABatchIsStoredOnceAndSubscribersHearOfIt(t *testing.T) {
	r := newRig(t, store.Options{})
	events := r.Subscribe(t.Context())
	r.engines("c", 1, 3, "rank0")
	if e := <-events; e.Kind != SamplesCame || !slices.Equal(e.Deployments, []string{"prod"}) {
		t.Errorf("event %+v, want samples of prod", e)
	}
	if e := <-events; e.Kind != CollectorChanged || e.Collector != "c" {
		t.Errorf("event %+v, want collector c", e)
	}
	// Again with the same number, as after a lost answer: nothing happens.
	r.engines("c", 1, 9, "rank0")
	if e := <-events; e.Kind != CollectorChanged {
		t.Errorf("event %+v of a repeated batch", e)
	}
	list, err := r.st.Engines(t.Context(), "prod")
	r.must(err)
	latest, err := r.st.Latest(t.Context(), []int64{list[0].ID}, []string{"running"}, 0)
	r.must(err)
	if len(latest) != 1 || latest[0].Value != 3 {
		t.Errorf("%+v, want the first batch's 3", latest)
	}
}

// A server that restarts knows from its store where sources stand, and a
// collector that says nothing new is taken as it was.
func TestPositionsSurviveAServersRestart(t *testing.T) {
	r := newRig(t, store.Options{})
	_, err := r.hello("c", "node1", 0)
	r.must(err)
	r.must(r.Deliver(t.Context(), "c", &store.Batch{Seq: 1, Positions: []store.Position{{Source: "log:/a", Value: "10"}, {Source: "log:/b", Value: "20"}}}))
	r.must(r.Deliver(t.Context(), "c", &store.Batch{Seq: 2, Positions: []store.Position{{Source: "log:/a", Value: "15"}, {Source: "log:/b"}}}))
	r.restart()
	ctx := as(t.Context(), "node1", 0)
	r.must(r.Deliver(ctx, "c", &store.Batch{Seq: 2, Positions: []store.Position{{Source: "log:/a", Value: "99"}}})) // repeated
	w, err := r.hello("c", "node1", 0)
	r.must(err)
	if w.Seq != 2 || !slices.Equal(w.Positions, []store.Position{{Source: "log:/a", Value: "15"}}) {
		t.Errorf("%+v, want batch 2 with /a at 15", w)
	}
}

func TestANameBelongsToOneProcess(t *testing.T) {
	r := newRig(t, store.Options{})
	_, err := r.hello("c", "node1", 0)
	r.must(err)
	// Another host: refused, and everything it sends, as long as the first is heard.
	r.pass(40 * time.Second)
	_, err = r.hello("c", "node2", 30)
	refused(t, err, wire.ErrTaken, `"node1" that was heard 40s ago`)
	refused(t, r.Deliver(as(t.Context(), "node2", 30), "c", &store.Batch{Seq: 1}), wire.ErrTaken, "node1")
	if p := r.Collectors()[0].Refused; p == nil || p.Count != 2 || !strings.Contains(p.What, `"node2"`) {
		t.Errorf("the collector's page would show %+v", p)
	}
	r.must(r.Deliver(as(t.Context(), "node1", 0), "c", &store.Batch{Seq: 1}))
	// A restart on the same host is let in at once; what the former process still sends is refused.
	_, err = r.hello("c", "node1", 50)
	r.must(err)
	refused(t, r.Deliver(as(t.Context(), "node1", 0), "c", &store.Batch{Seq: 2}), wire.ErrTaken, "")
	_, err = r.hello("c", "node1", 0)
	refused(t, err, wire.ErrTaken, "")
	// What it had under way when it was killed accuses nobody. If it goes on, two run.
	if p := r.Collectors()[0].Refused; p != nil {
		t.Errorf("after a restart the collector's page would show %+v", p)
	}
	r.pass(11 * time.Second)
	_, err = r.hello("c", "node1", 0)
	refused(t, err, wire.ErrTaken, "")
	if p := r.Collectors()[0].Refused; p == nil || p.Count != 1 || !strings.Contains(p.What, "started earlier still runs") || !strings.Contains(p.Hint, "collector:") {
		t.Errorf("beside a process that goes on, the page would show %+v", p)
	}
	r.must(r.Deliver(as(t.Context(), "node1", 50), "c", &store.Batch{Seq: 3}))
	r.pass(2 * time.Minute)
	if p := r.Collectors()[0].Refused; p != nil {
		t.Errorf("2 minutes after it stopped, the page would show %+v", p)
	}
	r.must(r.Deliver(as(t.Context(), "node1", 50), "c", &store.Batch{Seq: 4}))
	// Silent for longer than 45 s: another may have the name.
	r.pass(46 * time.Second)
	_, err = r.hello("c", "node2", 30)
	r.must(err)
	if c := r.Collectors()[0]; c.Hello.Host != "node2" || c.Refused != nil {
		t.Errorf("%+v, want node2 and no complaint", c)
	}
}

func TestACollectorThatVanishesIsShownAsGone(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 3, "rank0")
	r.pass(time.Minute)
	if c := r.Collectors()[0]; c.Gone || len(c.Report.Targets) != 1 {
		t.Errorf("after 60 s: %+v", c)
	}
	if name, why := r.CanCapture(key("rank0")); name != "c" || why != nil {
		t.Errorf("after 60 s: %q, %v", name, why)
	}
	r.pass(time.Second)
	if c := r.Collectors()[0]; !c.Gone {
		t.Error("after 61 s it is not gone")
	}
	if _, why := r.CanCapture(key("rank0")); why == nil || i18n.English.Say(*why) != "its collector c has not been heard since 2026-03-01 00:00:00 UTC" {
		t.Errorf("after 61 s: %v", why)
	}
	if _, why := r.CanCapture(key("rank9")); why == nil || i18n.English.Say(*why) != "no collector reports a profile interface of it" {
		t.Errorf("an unknown engine: %v", why)
	}
}

// Two collectors reach one engine: the one whose target is up is asked.
func TestAnEngineIsCapturedThroughACollectorThatReachesIt(t *testing.T) {
	r := newRig(t, store.Options{})
	report := func(c string, h wire.Health, problem *wire.Problem) {
		r.must(r.Report(t.Context(), wire.Report{Collector: c, Targets: []wire.Target{
			{Name: "p", Source: "profile", Health: h, CanCapture: true, ProfileAddr: "n:6070", Problem: problem, Engines: []store.EngineKey{key("rank0")}}}}))
	}
	report("a", wire.Down, &wire.Problem{What: "n:6070: connection refused"})
	if _, why := r.CanCapture(key("rank0")); why == nil || i18n.Chinese.Say(*why) != "n:6070: connection refused" {
		t.Errorf("%v", why)
	}
	report("b", wire.Up, nil)
	if name, why := r.CanCapture(key("rank0")); name != "b" || why != nil {
		t.Errorf("%q, %v; want b", name, why)
	}
}

func TestReportsAreBounded(t *testing.T) {
	r := newRig(t, store.Options{})
	long := strings.Repeat("x", maxTextBytes+1)
	r.must(r.Report(t.Context(), wire.Report{Collector: "c", Targets: []wire.Target{{Name: "a\x1b[2J\nb", Problem: &wire.Problem{What: long},
		Unknown: slices.Repeat([]string{long}, maxTexts+1)}}, Problems: make([]wire.Problem, maxTexts+1)}))
	rep := r.Collectors()[0].Report
	target := rep.Targets[0]
	if target.Name != "a[2J b" || len(target.Problem.What) != maxTextBytes || len(target.Unknown) != maxTexts || len(rep.Problems) != maxTexts {
		t.Errorf("name %q, %d bytes, %d names, %d problems", target.Name, len(target.Problem.What), len(target.Unknown), len(rep.Problems))
	}
	refused(t, r.Report(t.Context(), wire.Report{Collector: "c", Targets: make([]wire.Target, maxTargets+1)}), store.ErrInvalid, "20001 targets")
	for _, name := range []string{"", "a\nb", " a", strings.Repeat("x", 256)} {
		_, err := r.hello(name, "h", 0)
		refused(t, err, store.ErrInvalid, "name")
	}
	// The silent ones make room; with all of them talking nobody else comes in.
	for i := range maxCollectors - 1 {
		r.must(r.Deliver(t.Context(), fmt.Sprint("n", i), &store.Batch{Seq: 1}))
	}
	if _, err := r.hello("one more", "h", 0); err == nil || !strings.Contains(err.Error(), "1024 collectors") {
		t.Errorf("%v", err)
	}
	r.pass(2 * time.Minute)
	_, err := r.hello("one more", "h", 0)
	r.must(err)
	if n := len(r.Collectors()); n != maxCollectors {
		t.Errorf("%d collectors, want %d", n, maxCollectors)
	}
}

// A subscriber that reads nothing holds nobody up and a bounded amount: what it
// misses comes as one event for all.
func TestSlowSubscribersAreCoalesced(t *testing.T) {
	r := newRig(t, store.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var subs []<-chan Event
	for range 120 {
		subs = append(subs, r.Subscribe(ctx))
	}
	// The first event is taken by each forwarder and waits in its hand.
	r.publish(Event{Kind: CollectorChanged, Collector: "first"})
	for len(subs) > 0 {
		r.mu.Lock()
		idle := 0
		for s := range r.subs {
			s.mu.Lock()
			if len(s.collectors.order) == 0 {
				idle++
			}
			s.mu.Unlock()
		}
		r.mu.Unlock()
		if idle == len(subs) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for i := range 10_000 {
		r.publish(Event{Kind: SamplesCame, Deployments: []string{fmt.Sprint("d", i%3)}})
		r.publish(Event{Kind: CaptureChanged, Capture: int64(i), State: store.Queued})
	}
	r.publish(Event{Kind: CollectorChanged, Collector: "c"})
	for _, s := range subs {
		want := []Event{{Kind: CollectorChanged, Collector: "first"},
			{Kind: SamplesCame, Deployments: []string{"d0", "d1", "d2"}}, {Kind: CaptureChanged}, {Kind: CollectorChanged, Collector: "c"}}
		for _, w := range want {
			if e := <-s; e.Kind != w.Kind || !slices.Equal(e.Deployments, w.Deployments) || e.Capture != w.Capture || e.Collector != w.Collector {
				t.Fatalf("event %+v, want %+v", e, w)
			}
		}
	}
	cancel()
	for _, s := range subs {
		if _, ok := <-s; ok {
			t.Fatal("an event after the end")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.subs) != 0 {
		t.Errorf("%d subscribers are left", len(r.subs))
	}
}

func TestStopEndsPollsAndSubscriptions(t *testing.T) {
	r := newRig(t, store.Options{})
	r.opt.PollWait = time.Hour
	events := r.Subscribe(t.Context())
	polled := make(chan error)
	go func() {
		list, err := r.Poll(t.Context(), "c")
		if len(list) > 0 {
			err = fmt.Errorf("commands %v", list)
		}
		polled <- err
	}()
	r.Stop()
	r.Stop()
	if _, ok := <-events; ok {
		t.Error("an event instead of the end")
	}
	r.must(<-polled)
	r.must(r.Deliver(t.Context(), "c", &store.Batch{Seq: 1})) // what is under way is still stored
}

func TestTracesAreCheckedAgainstTheirSum(t *testing.T) {
	r := newRig(t, store.Options{})
	b := storetest.Content(5, 3*mib/2)
	put := func(data []byte, sum string, size int) (string, error) {
		opened := false
		id, err := r.PutTrace(t.Context(), wire.TraceFile{Meta: store.Meta{Name: "a.json"}, SHA256: sum, Size: int64(size),
			Open: func(off int64) (io.ReadCloser, error) {
				opened = true
				return io.NopCloser(bytes.NewReader(data[off:])), nil
			}})
		if !opened && err == nil {
			return "kept:" + id, nil
		}
		return id, err
	}
	for _, c := range []struct {
		data []byte
		size int
	}{{b[:len(b)-1], len(b)}, {append(bytes.Clone(b), ' '), len(b)}, {storetest.Content(6, len(b)), len(b)}} {
		if _, err := put(c.data, storetest.ID(b), c.size); !errors.Is(err, errChanged) && !strings.Contains(fmt.Sprint(err), "it changed while it was read") {
			t.Errorf("%d bytes for %d: %v", len(c.data), c.size, err)
		}
	}
	if u, err := r.st.Usage(t.Context()); err != nil || u.Traces != 0 {
		t.Errorf("%+v, %v: something was kept", u, err)
	}
	id, err := put(b, storetest.ID(b), len(b))
	r.must(err)
	if id != storetest.ID(b) {
		t.Errorf("id %s", id)
	}
	if id, err := put(nil, storetest.ID(b), len(b)); err != nil || id != "kept:"+storetest.ID(b) {
		t.Errorf("again: %s, %v; want it to be known without reading", id, err)
	}
}
