package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/storetest"
	"github.com/stepscope/stepscope/views/i18n"
)

// ask requests captures as a page would.
func (r *rig) ask(q wire.CaptureRequest) ([]store.Capture, error) {
	if q.Deployment == "" {
		q.Deployment = "prod"
	}
	q.By = "page 127.0.0.1"
	return r.StartCaptures(r.t.Context(), q)
}

func (r *rig) update(collector string, c store.Capture) error {
	return r.Update(r.t.Context(), collector, wire.CaptureUpdate{Capture: c})
}

// commands polls once and returns the ids to start and to cancel.
func (r *rig) commands(ctx context.Context, collector string) (start, cancel []int64) {
	r.t.Helper()
	list, err := r.Poll(ctx, collector)
	r.must(err)
	for _, c := range list {
		if c.Capture != nil {
			start = append(start, c.Capture.ID)
		} else {
			cancel = append(cancel, c.Cancel)
		}
	}
	return start, cancel
}

func TestACaptureGoesFromRequestToStored(t *testing.T) {
	r := newRig(t, store.Options{})
	_, err := r.hello("c", "node1", 0)
	r.must(err)
	r.engines("c", 1, 8, "rank0", "rank1")
	made, err := r.ask(wire.CaptureRequest{OutputDir: "/data/traces", Note: "slow"})
	r.must(err)
	if len(made) != 2 || made[0].Engine != key("rank0") || made[1].Engine != key("rank1") || made[0].Group != made[1].Group || made[0].Group == "" {
		t.Fatalf("%+v; want one for each engine, in one group", made)
	}
	c := made[0]
	if c.Steps != 20 || c.By != "page 127.0.0.1" || c.Collector != "c" || c.OutputDir != "/data/traces" || c.Note != "slow" || c.Warning != "" ||
		!c.Times[store.Queued].Equal(midnight) {
		t.Errorf("%+v", c)
	}
	list, err := r.Poll(t.Context(), "c")
	r.must(err)
	if len(list) != 2 || list[0].Capture.ID != c.ID || list[0].Capture.Steps != 20 {
		t.Fatalf("commands %+v", list)
	}
	// The collector can't change what was asked for, only how it goes.
	r.pass(time.Second)
	r.must(r.update("c", store.Capture{ID: c.ID, State: store.Asked, Steps: 50, By: "somebody else", Engine: key("rank9")}))
	r.pass(3 * time.Second)
	id := storetest.ID([]byte("a"))
	r.must(r.update("c", store.Capture{ID: c.ID, State: store.Stored, Path: "/data/traces/x.json", Bytes: 99, TraceID: id, More: []string{id},
		Times: map[store.CaptureState]time.Time{store.Asked: midnight.Add(time.Hour), store.Captured: midnight.Add(2 * time.Second)}}))
	got, err := r.st.Capture(t.Context(), c.ID)
	r.must(err)
	if got.Steps != 20 || got.By != "page 127.0.0.1" || got.Engine != key("rank0") || got.State != store.Stored || got.TraceID != id || got.Bytes != 99 || got.Note != "slow" || !slices.Equal(got.More, []string{id}) {
		t.Errorf("%+v", got)
	}
	for state, after := range map[store.CaptureState]time.Duration{store.Queued: 0, store.Asked: time.Second, store.Captured: 2 * time.Second, store.Stored: 4 * time.Second} {
		if !got.Times[state].Equal(midnight.Add(after)) {
			t.Errorf("%s at %v, want %v past midnight", state, got.Times[state], after)
		}
	}
	// A lost answer: the same again is accepted, something else is not.
	r.must(r.update("c", store.Capture{ID: c.ID, State: store.Stored}))
	refused(t, r.update("c", store.Capture{ID: c.ID, State: store.Failed}), store.ErrInvalid, "is stored already")
}

func TestCommandsAreGivenUntilAnswered(t *testing.T) {
	r := newRig(t, store.Options{})
	_, err := r.hello("c", "node1", 0)
	r.must(err)
	r.engines("c", 1, 8, "rank0", "rank1")
	made, err := r.ask(wire.CaptureRequest{})
	r.must(err)
	one, two := made[0].ID, made[1].ID
	f := func(what string, ctx context.Context, want ...int64) {
		t.Helper()
		if got, _ := r.commands(ctx, "c"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	f("first", t.Context(), one, two)
	f("at once again", t.Context())
	r.must(r.update("c", store.Capture{ID: one, State: store.Queued})) // "I know of it"
	r.pass(resend)
	f("5 s later", t.Context(), two)
	r.must(r.update("c", store.Capture{ID: two, State: store.Asked}))
	r.pass(resend)
	f("both answered", t.Context())
	// A new process knows nothing of them, whatever their state.
	_, err = r.hello("c", "node1", 60)
	r.must(err)
	f("new process", as(t.Context(), "node1", 60), one, two)
	// So does a new server know them from its store.
	r.restart()
	f("new server", as(t.Context(), "node1", 60), one, two)
	r.must(r.update("c", store.Capture{ID: two, State: store.Failed, Error: "e"}))
	r.must(r.update("c", store.Capture{ID: one, State: store.PickedUp}))
	r.pass(resend)
	f("one is done, one under way", as(t.Context(), "node1", 60))
}

// A request wakes a poll that waits; so does a cancellation.
func TestAWaitingPollIsWoken(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 8, "rank0")
	r.opt.PollWait = time.Hour
	got := make(chan []wire.Command)
	poll := func() {
		list, err := r.Poll(t.Context(), "c")
		if err != nil {
			t.Error(err)
		}
		got <- list
	}
	go poll()
	made, err := r.ask(wire.CaptureRequest{})
	r.must(err)
	if list := <-got; len(list) != 1 || list[0].Capture == nil || list[0].Capture.ID != made[0].ID {
		t.Fatalf("%+v", list)
	}
	r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Asked}))
	go poll()
	_, err = r.CancelCapture(t.Context(), made[0].ID, "api 10.0.0.3")
	r.must(err)
	if list := <-got; len(list) != 1 || list[0].Cancel != made[0].ID {
		t.Fatalf("%+v", list)
	}
	r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Cancelled}))
	c, err := r.st.Capture(t.Context(), made[0].ID)
	r.must(err)
	if c.Error != "cancelled by api 10.0.0.3" {
		t.Errorf("%q", c.Error)
	}
}

func TestACaptureNobodyHasIsCancelledAtOnce(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 8, "rank0", "rank1")
	made, err := r.ask(wire.CaptureRequest{Engines: []string{"rank0"}})
	r.must(err)
	c, err := r.CancelCapture(t.Context(), made[0].ID, "page 127.0.0.1")
	r.must(err)
	if c.State != store.Cancelled || c.Error != "cancelled by page 127.0.0.1" || c.Hint != "" {
		t.Errorf("%+v", c)
	}
	var he *HTTPError
	if _, err := r.CancelCapture(t.Context(), made[0].ID, "x"); !errors.As(err, &he) || he.Status != http.StatusConflict || he.Code != "capture_done" {
		t.Errorf("again: %v", err)
	}
	if start, cancel := r.commands(t.Context(), "c"); len(start)+len(cancel) != 0 {
		t.Errorf("commands for a cancelled capture: %v %v", start, cancel)
	}
	// Never asked of the engine, so there is nothing to cool down from.
	made, err = r.ask(wire.CaptureRequest{Engines: []string{"rank0"}})
	r.must(err)
	r.commands(t.Context(), "c")
	r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Asked}))
	r.pass(2 * time.Minute) // its collector vanishes
	c, err = r.CancelCapture(t.Context(), made[0].ID, "p")
	r.must(err)
	if c.State != store.Cancelled || !strings.Contains(c.Hint, "may still record") {
		t.Errorf("%+v", c)
	}
	if _, err := r.CancelCapture(t.Context(), 999, "p"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	r := newRig(t, store.Options{Quota: 300 << 20})
	r.engines("c", 1, 8, "rank0", "rank1")
	r.engines("idle", 1, 0, "rank2")
	f := func(status int, says string, q wire.CaptureRequest) {
		t.Helper()
		_, err := r.ask(q)
		var he *HTTPError
		if !errors.As(err, &he) || he.Status != status || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v; want %d with ErrInvalid", err, status)
			return
		}
		if message, hint := he.In(i18n.English); !strings.Contains(message, says) || hint == "" {
			t.Errorf("%v; want %d with %q, a hint, and ErrInvalid", err, status, says)
		}
	}
	only := func(names ...string) wire.CaptureRequest { return wire.CaptureRequest{Engines: names} }
	f(400, "steps is 51", wire.CaptureRequest{Steps: 51})
	f(400, "steps is -1", wire.CaptureRequest{Steps: -1})
	for _, dir := range []string{"traces", "./x", "/a/../b", "/a/", "//a", "/a\nb", "/" + strings.Repeat("x", maxPath)} {
		f(400, "folder for the trace", wire.CaptureRequest{OutputDir: dir})
	}
	f(400, "513 engines", wire.CaptureRequest{Engines: make([]string, 513)})
	f(404, "no deployment “x”", wire.CaptureRequest{Deployment: "x"})
	f(404, `has no engine “rank7”`, only("rank0", "rank7"))
	// 3 engines × 25 steps × 4.9 MB = 367.5 MB = 350.475 MiB
	f(507, "about 350.48 MiB", wire.CaptureRequest{Steps: 25})
	f(409, "no sequence is running on rank2", only("rank0", "rank2"))
	if list, err := r.st.ListCaptures(t.Context(), store.CaptureQuery{}); err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v: refused requests left rows", list, err)
	}

	// All or none: rank0 is busy, so rank1 is not captured either.
	made, err := r.ask(only("rank0"))
	r.must(err)
	f(409, `“rank0” is being captured already`, only("rank0", "rank1"))
	r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Asked}))
	r.pass(10 * time.Second)
	r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Failed}))
	r.pass(59 * time.Second)
	f(429, `“rank0” was captured a moment ago`, only("rank0"))
	r.restart() // the cool-down is known from the store
	r.must(r.Report(t.Context(), wire.Report{Collector: "c", Targets: []wire.Target{{CanCapture: true, Health: wire.Up, Engines: []store.EngineKey{key("rank0")}}}}))
	f(429, "a moment ago", only("rank0"))
	r.pass(time.Second)
	_, err = r.ask(only("rank0"))
	r.must(err)
	f(409, `“rank1” can't be captured: no collector reports`, only("rank1"))
}

func TestIdleEnginesAreCapturedWithForce(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 0, "rank0")
	r.engines("d", 1, 4, "rank1")
	_, err := r.ask(wire.CaptureRequest{})
	var idle *IdleError
	if !errors.As(err, &idle) || !slices.Equal(idle.Engines, []string{"rank0"}) {
		t.Fatalf("%v", err)
	}
	made, err := r.ask(wire.CaptureRequest{Force: true})
	r.must(err)
	if made[0].Warning != "the engine had no running sequence when this was asked" || made[1].Warning != "" {
		t.Errorf("%+v", made)
	}
}

// A figure of ten minutes ago says nothing about now: no warning.
func TestOldFiguresDontCallAnEngineIdle(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 0, "rank0")
	r.pass(10 * time.Minute)
	r.must(r.Report(t.Context(), r.Collectors()[0].Report))
	_, err := r.ask(wire.CaptureRequest{})
	r.must(err)
}

func TestASchedulesRequestIsOnRecordAsSuch(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 8, "rank0")
	made, err := r.RequestCaptures(t.Context(), "c", wire.CaptureRequest{Deployment: "prod", By: "page 127.0.0.1"})
	r.must(err)
	if made[0].By != "schedule of c" {
		t.Errorf("by %q", made[0].By)
	}
	_, err = r.RequestCaptures(t.Context(), "c", wire.CaptureRequest{Deployment: "prod"})
	refused(t, err, store.ErrInvalid, "being captured already")
}

func TestUpdatesThatAreRefused(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 8, "rank0")
	made, err := r.ask(wire.CaptureRequest{})
	r.must(err)
	id := made[0].ID
	refused(t, r.update("c", store.Capture{ID: 999, State: store.Asked}), store.ErrInvalid, "no capture 999")
	refused(t, r.update("d", store.Capture{ID: id, State: store.Asked}), store.ErrInvalid, `carried out by collector "c", not by "d"`)
	refused(t, r.update("c", store.Capture{ID: id, State: "x"}), store.ErrInvalid, `"x" is no state`)
	refused(t, r.update("c", store.Capture{ID: id, State: store.Stored, TraceID: "../../etc"}), store.ErrInvalid, "traces that can't be")
	refused(t, r.update("c", store.Capture{ID: id, State: store.Stored, More: []string{"x"}}), store.ErrInvalid, "traces that can't be")
	long := strings.Repeat("x", 10_000)
	r.must(r.update("c", store.Capture{ID: id, State: store.Asked, Error: long, Path: long, Hint: "a\nb", Bytes: -1}))
	c, err := r.st.Capture(t.Context(), id)
	r.must(err)
	if len(c.Error) > maxTextBytes || len(c.Path) > maxPath || c.Hint != "a b" || c.Bytes != 0 {
		t.Errorf("%d, %d bytes, %q, %d", len(c.Error), len(c.Path), c.Hint, c.Bytes)
	}
}

func TestAbandonedCapturesEnd(t *testing.T) {
	r := newRig(t, store.Options{})
	r.engines("c", 1, 8, "rank0")
	made, err := r.ask(wire.CaptureRequest{})
	r.must(err)
	r.must(r.update("c", store.Capture{ID: made[0].ID, State: store.Asked}))
	state := func() store.Capture {
		r.must(r.Sweep(t.Context()))
		c, err := r.st.Capture(t.Context(), made[0].ID)
		r.must(err)
		return c
	}
	r.pass(15 * time.Minute)
	if c := state(); c.State != store.Asked {
		t.Errorf("after 15 min: %s", c.State)
	}
	r.pass(time.Second)
	if c := state(); c.State != store.Failed || !strings.Contains(c.Error, `collector "c" has said nothing`) || !strings.Contains(c.Error, "it was asked") || c.Hint == "" {
		t.Errorf("after 15 min 1 s: %+v", c)
	}
	// A second request is let through: the engine isn't locked for ever.
	r.engines("c", 2, 8, "rank0")
	r.pass(time.Minute)
	made, err = r.ask(wire.CaptureRequest{})
	r.must(err)
	// A collector that is there has an hour to say something.
	r.pass(time.Hour)
	r.engines("c", 3, 8, "rank0")
	if c := state(); c.State != store.Queued {
		t.Errorf("after 1 h: %s", c.State)
	}
	r.pass(time.Second)
	if c := state(); c.State != store.Failed || !strings.Contains(c.Error, "for 1h0m0s; it was queued") {
		t.Errorf("after 1 h 1 s: %+v", c)
	}
}
