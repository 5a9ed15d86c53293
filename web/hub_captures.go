package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views/i18n"
)

const (
	// resend is after how long an unanswered command is given again: answering
	// takes a collector no time, so this is a lost poll.
	resend = 5 * time.Second
	// abandonAfter ends a capture whose collector is gone: longer than the 30 s and
	// 600 s for which an engine may take and write a trace.
	abandonAfter = 15 * time.Minute
	// forgetfulAfter ends one whose collector is there and says nothing about it:
	// large models take a quarter of an hour to write their traces.
	forgetfulAfter = time.Hour
	maxPath        = 4_096 // bytes
	maxMore        = 1_024 // traces of one capture
)

// captureQueue is the captures that are under way. They are loaded from the
// store once, so that a restarted server hands them out again.
type captureQueue struct {
	loaded bool
	active map[int64]*activeCapture
	ended  map[store.EngineKey]time.Time // end of the engine's last capture that reached it
	asked  map[int64]time.Time           // when the captures of the last day were asked for, but for those that reached no engine
}

type activeCapture struct {
	store.Capture
	answered    bool      // the collector's present process knows it
	sent        time.Time // command last given
	cancelBy    string    // who wants it cancelled
	cancelSent  time.Time
	lastTouched time.Time // by an update, or when it was loaded
}

// load fills the queue from the store at first use.
func (h *Hub) load(ctx context.Context) error {
	h.mu.Lock()
	loaded := h.captures.loaded
	h.mu.Unlock()
	if loaded {
		return nil
	}
	active := map[int64]*activeCapture{}
	now := h.opt.Now()
	for before := int64(0); ; {
		page, err := h.st.ListCaptures(ctx, store.CaptureQuery{Active: true, Limit: store.MaxPage, Before: before})
		if err != nil {
			return fmt.Errorf("captures under way: %w", err)
		}
		for _, c := range page {
			active[c.ID] = &activeCapture{Capture: c, lastTouched: now}
			before = c.ID
		}
		if len(page) < store.MaxPage {
			break
		}
	}
	recent, err := h.recentCaptures(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.captures.loaded {
		return nil
	}
	h.captures = captureQueue{loaded: true, active: active, ended: map[store.EngineKey]time.Time{}, asked: map[int64]time.Time{}}
	for _, c := range recent {
		h.captures.rememberEnd(c)
		h.captures.remember(c)
	}
	return nil
}

// rememberEnd notes when an engine was last disturbed by a capture.
func (q *captureQueue) rememberEnd(c store.Capture) {
	if _, reached := c.Times[store.Asked]; !reached || !c.State.Done() {
		return
	}
	if end := c.Times[c.State]; end.After(q.ended[c.Engine]) {
		q.ended[c.Engine] = end
	}
}

// redeliver makes all captures of a collector unanswered: its process is new.
func (h *Hub) redeliver(ctx context.Context, collector string) error {
	if err := h.load(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.captures.active {
		if a.Collector == collector {
			a.answered, a.sent, a.cancelSent = false, time.Time{}, time.Time{}
		}
	}
	return nil
}

// Poll implements wire.Link.
func (h *Hub) Poll(ctx context.Context, collector string) ([]wire.Command, error) {
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(h.opt.PollWait)
	defer timeout.Stop()
	again := time.NewTicker(resend)
	defer again.Stop()
	for {
		// Anew after each wake-up: another process may have taken the name over.
		if err := h.claim(ctx, collector, process{}); err != nil {
			return nil, err
		}
		list, wake := h.due(collector)
		if len(list) > 0 {
			return list, nil
		}
		select {
		case <-wake:
		case <-again.C:
		case <-timeout.C:
			return nil, nil
		case <-h.stopped:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// due lists the commands that a collector is to get now, oldest first.
func (h *Hub) due(collector string) (list []wire.Command, wake <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.opt.Now()
	for _, id := range slices.Sorted(maps.Keys(h.captures.active)) {
		a := h.captures.active[id]
		if a.Collector != collector {
			continue
		}
		if !a.answered && now.Sub(a.sent) >= resend {
			a.sent = now
			c := a.Capture
			c.Times = maps.Clone(c.Times)
			list = append(list, wire.Command{Capture: &c})
		}
		if a.cancelBy != "" && now.Sub(a.cancelSent) >= resend {
			a.cancelSent = now
			list = append(list, wire.Command{Cancel: id})
		}
	}
	if s := h.collectors[collector]; s != nil {
		wake = s.wake
	}
	return list, wake
}

// Update implements wire.Link. A repeated last update is accepted.
func (h *Hub) Update(ctx context.Context, collector string, u wire.CaptureUpdate) error {
	if err := h.claim(ctx, collector, process{}); err != nil {
		return err
	}
	if err := h.load(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	a := h.captures.active[u.Capture.ID]
	var c store.Capture
	if a != nil {
		c = a.Capture
		if u.Capture.State == store.Cancelled && u.Capture.Error == "" && a.cancelBy != "" {
			u.Capture.Told.Error = wire.Say("cancelled_by", a.cancelBy)
			u.Capture.Error = u.Capture.Told.Error.Text
		}
	}
	h.mu.Unlock()
	if a == nil {
		return h.updateDone(ctx, u.Capture)
	}
	if c.Collector != collector {
		return fmt.Errorf("%w: capture %d is carried out by collector %q, not by %q", store.ErrInvalid, c.ID, c.Collector, collector)
	}
	c, err := applyUpdate(c, u.Capture, h.opt.Now())
	if err != nil {
		return err
	}
	return h.saveCapture(ctx, c)
}

// updateDone judges an update of a capture that isn't under way.
func (h *Hub) updateDone(ctx context.Context, u store.Capture) error {
	c, err := h.st.Capture(ctx, u.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: there is no capture %d", store.ErrInvalid, u.ID)
	case err != nil:
		return err
	case c.State == u.State:
		return nil
	}
	return fmt.Errorf("%w: capture %d is %s already", store.ErrInvalid, u.ID, c.State)
}

// applyUpdate takes over what is the collector's to say: not the engine, who asked and for what.
func applyUpdate(c, u store.Capture, now time.Time) (store.Capture, error) {
	switch u.State {
	case store.Queued, store.Asked, store.PickedUp, store.Captured, store.Found, store.Stored, store.Failed, store.Cancelled:
	default:
		return c, fmt.Errorf("%w: %.40q is no state of a capture", store.ErrInvalid, u.State)
	}
	if u.TraceID != "" && !isTraceID(u.TraceID) || slices.ContainsFunc(u.More, func(id string) bool { return !isTraceID(id) }) || len(u.More) > maxMore {
		return c, fmt.Errorf("%w: capture %d names traces that can't be: ids are lower-case SHA-256, %d at most", store.ErrInvalid, c.ID, maxMore)
	}
	c.State, c.Bytes, c.TraceID, c.More = u.State, max(u.Bytes, 0), u.TraceID, u.More
	c.Warning, c.Error, c.Hint = cleanText(u.Warning, maxTextBytes), cleanText(u.Error, maxTextBytes), cleanText(u.Hint, maxTextBytes)
	c.Told = u.Told.Clean(func(s string) string { return cleanText(s, maxTextBytes) })
	c.Path = cleanText(u.Path, maxPath)
	times := maps.Clone(c.Times)
	if times == nil {
		times = map[store.CaptureState]time.Time{}
	}
	for _, s := range []store.CaptureState{store.Queued, store.Asked, store.PickedUp, store.Captured, store.Found, store.Stored, store.Failed, store.Cancelled} {
		if at, ok := u.Times[s]; ok && times[s].IsZero() {
			times[s] = at.UTC()
		}
	}
	if times[c.State].IsZero() {
		times[c.State] = now.UTC()
	}
	c.Times = times
	return c, nil
}

// stateWord is a state in the reader's language.
func stateWord(s store.CaptureState) i18n.Phrase {
	return i18n.Phrase{Key: "capturestate." + string(s)}
}

func isTraceID(id string) bool { return isHex(id, 64) }

// saveCapture stores a capture's new state and tells everybody.
func (h *Hub) saveCapture(ctx context.Context, c store.Capture) error {
	if err := h.st.UpdateCapture(ctx, c); err != nil {
		return fmt.Errorf("capture %d: %w", c.ID, err)
	}
	h.mu.Lock()
	if a := h.captures.active[c.ID]; a != nil {
		a.Capture, a.answered, a.lastTouched = c, true, h.opt.Now()
	}
	if c.State.Done() {
		delete(h.captures.active, c.ID)
		h.captures.rememberEnd(c)
		h.captures.remember(c)
	}
	h.mu.Unlock()
	h.publish(Event{Kind: CaptureChanged, Capture: c.ID, State: c.State})
	return nil
}

// CancelCapture ends a capture: at once if its collector has not heard of it or
// is gone, else by a command. by is who asks, for the record.
func (h *Hub) CancelCapture(ctx context.Context, id int64, by string) (store.Capture, error) {
	if err := h.load(ctx); err != nil {
		return store.Capture{}, err
	}
	h.mu.Lock()
	a := h.captures.active[id]
	if a == nil {
		h.mu.Unlock()
		c, err := h.st.Capture(ctx, id)
		if err != nil {
			return c, err
		}
		return c, refuse(http.StatusConflict, "capture_done", store.ErrInvalid, stateWord(c.State))
	}
	c, now := a.Capture, h.opt.Now()
	a.cancelBy = cleanText(by, maxCollector)
	s := h.collectors[c.Collector]
	if asked := a.answered || !a.sent.IsZero(); asked && s != nil && now.Sub(s.seen) <= goneAfter {
		h.rouse(s)
		h.mu.Unlock()
		return c, nil
	}
	h.mu.Unlock()
	reason := store.Capture{State: store.Cancelled, Path: c.Path, Bytes: c.Bytes, Warning: c.Warning}
	why, next := wire.Say("cancelled_by", by), store.Said{}
	if c.State != store.Queued {
		next = wire.Say("collector_away")
	}
	reason.Error, reason.Hint, reason.Told = why.Text, next.Text, store.Told{Warnings: c.Told.Warnings, Error: why, Hint: next}
	c, err := applyUpdate(c, reason, now)
	if err != nil {
		return c, err
	}
	return c, h.saveCapture(ctx, c)
}

// Sweep ends captures whose collectors have been silent for too long: they would
// keep their engines from being captured for ever. It is to be called now and then.
func (h *Hub) Sweep(ctx context.Context) error {
	if err := h.load(ctx); err != nil {
		return err
	}
	now := h.opt.Now()
	lost := map[int64]time.Duration{} // and for how long nothing was heard
	h.mu.Lock()
	for id, a := range h.captures.active {
		limit := abandonAfter
		if s := h.collectors[a.Collector]; s != nil && now.Sub(s.seen) <= goneAfter {
			limit = forgetfulAfter
		}
		if now.Sub(a.lastTouched) > limit {
			lost[id] = limit
		}
	}
	h.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		c, err := h.st.Capture(ctx, id)
		if err != nil {
			return err
		}
		why, next := wire.Say("silent", c.Collector, lost[id], wire.Say("state_"+string(c.State))), wire.Say("silent_next")
		c, err = applyUpdate(c, store.Capture{State: store.Failed, Path: c.Path, Bytes: c.Bytes, Warning: c.Warning, TraceID: c.TraceID, More: c.More,
			Error: why.Text, Hint: next.Text, Told: store.Told{Warnings: c.Told.Warnings, Error: why, Hint: next},
		}, now)
		if err == nil {
			err = h.saveCapture(ctx, c)
		}
		if err != nil && !errors.Is(err, store.ErrInvalid) {
			return err
		}
	}
	return nil
}
