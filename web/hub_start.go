package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views/i18n"
)

// Bounds of a request for captures.
const (
	defaultSteps  = 20
	maxSteps      = 50
	maxEngines    = 512
	idleWindow    = 5 * time.Minute // how old a figure of the load may be
	runningMetric = "running"
)

// IdleError refuses captures of engines without load: their traces would be
// empty steps. A request with Force goes on all the same.
type IdleError struct{ Engines []string }

// Error names the engines.
func (e *IdleError) Error() string {
	return fmt.Sprintf("no sequence is running on %s: the trace would hold empty steps", listed(e.Engines))
}

// Unwrap gives store.ErrInvalid: asking again the same way does not help.
func (e *IdleError) Unwrap() error { return store.ErrInvalid }

// listed names the first few of a list.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// RequestCaptures implements wire.Link.
func (h *Hub) RequestCaptures(ctx context.Context, collector string, q wire.CaptureRequest) ([]store.Capture, error) {
	if err := h.claim(ctx, collector, process{}); err != nil {
		return nil, err
	}
	q.By = "schedule of " + collector
	return h.StartCaptures(ctx, q)
}

// StartCaptures checks a request and queues one capture for each engine, all or
// none. Refusals are *HTTPError around store.ErrInvalid; for engines without
// load there is an *IdleError inside.
func (h *Hub) StartCaptures(ctx context.Context, q wire.CaptureRequest) ([]store.Capture, error) {
	if err := checkRequest(&q); err != nil {
		return nil, err
	}
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	// Two requests at once must not both find an engine free.
	h.starting.Lock()
	defer h.starting.Unlock()

	known, err := h.st.Engines(ctx, q.Deployment)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if len(known) == 0 {
		return nil, refuse(http.StatusNotFound, "capture_deployment", store.ErrInvalid, clip(q.Deployment, 80))
	}
	chosen, err := h.choose(q, known)
	if err != nil {
		return nil, err
	}
	var need int64
	for _, e := range chosen {
		need += wire.Expect(e.Kind, q.Steps, 0).Bytes
	}
	if err := h.checkRoom(ctx, need); err != nil {
		return nil, err
	}
	idle, err := h.idle(ctx, chosen)
	if err != nil {
		return nil, err
	}
	if len(idle) > 0 && !q.Force {
		return nil, refuse(http.StatusConflict, "capture_idle", &IdleError{idle}, listed(idle))
	}
	now := h.opt.Now().UTC()
	var b [8]byte
	rand.Read(b[:])
	var made []store.Capture
	for _, e := range chosen {
		c := store.Capture{Group: hex.EncodeToString(b[:]), Engine: e.EngineKey, Collector: e.collector, By: cleanText(q.By, maxCollector),
			Steps: q.Steps, OutputDir: q.OutputDir, Note: q.Note, State: store.Queued, Times: map[store.CaptureState]time.Time{store.Queued: now}}
		if slices.Contains(idle, e.Name) {
			idle := wire.Say("idle")
			c.Warning, c.Told.Warnings = idle.Text, []store.Said{idle}
		}
		if c, err = h.st.CreateCapture(ctx, c); err != nil {
			return nil, errors.Join(err, h.undo(context.WithoutCancel(ctx), made))
		}
		made = append(made, c)
	}
	h.enqueue(made, now)
	return made, nil
}

// enqueue hands new captures to their collectors.
func (h *Hub) enqueue(made []store.Capture, now time.Time) {
	h.mu.Lock()
	for _, c := range made {
		h.captures.active[c.ID] = &activeCapture{Capture: c, lastTouched: now}
		h.captures.remember(c)
		if s := h.collectors[c.Collector]; s != nil {
			h.rouse(s)
		}
	}
	h.mu.Unlock()
	for _, c := range made {
		h.publish(Event{Kind: CaptureChanged, Capture: c.ID, State: c.State})
	}
}

// undo ends the rows of a request whose later rows could not be written. Rows stay: they are the record.
func (h *Hub) undo(ctx context.Context, made []store.Capture) (err error) {
	for _, c := range made {
		c, failed := applyUpdate(c, store.Capture{State: store.Failed, Error: "the request's other captures could not be written to the store"}, h.opt.Now())
		err = errors.Join(err, failed, h.st.UpdateCapture(ctx, c))
	}
	return err
}

// checkRequest refuses what no engine could do and fills in the default.
func checkRequest(q *wire.CaptureRequest) error {
	bad := func(code string, args ...any) error {
		return refuse(http.StatusBadRequest, code, store.ErrInvalid, args...)
	}
	if q.Steps == 0 {
		q.Steps = defaultSteps
	}
	switch {
	case q.Deployment == "":
		return bad("capture_what")
	case q.Steps < 1 || q.Steps > maxSteps:
		return bad("capture_steps", q.Steps, maxSteps, defaultSteps)
	case len(q.Engines) > maxEngines:
		return bad("capture_engines", len(q.Engines), maxEngines)
	case q.OutputDir != "" && (!path.IsAbs(q.OutputDir) || path.Clean(q.OutputDir) != q.OutputDir ||
		len(q.OutputDir) > maxPath || cleanText(q.OutputDir, maxPath) != q.OutputDir):
		return bad("capture_folder")
	}
	q.Note = store.Meta{Note: q.Note}.Clean().Note
	return nil
}

// route is an engine and who can capture it.
type route struct {
	store.Engine
	collector string
}

// choose finds the engines that a request means and refuses those that can't be captured now.
func (h *Hub) choose(q wire.CaptureRequest, known []store.Engine) ([]route, error) {
	no := func(status int, code string, args ...any) ([]route, error) {
		return nil, refuse(status, code, store.ErrInvalid, args...)
	}
	var chosen []route
	for _, e := range known {
		named := slices.Contains(q.Engines, e.Name)
		if len(q.Engines) > 0 && !named {
			continue
		}
		collector, why := h.CanCapture(e.EngineKey)
		if why != nil {
			if !named {
				continue
			}
			return no(http.StatusConflict, "capture_engine", e.Name, *why)
		}
		chosen = append(chosen, route{e, collector})
	}
	for _, name := range q.Engines {
		if !slices.ContainsFunc(chosen, func(r route) bool { return r.Name == name }) {
			return no(http.StatusNotFound, "capture_no_engine", q.Deployment, clip(name, 80))
		}
	}
	if len(chosen) == 0 {
		return no(http.StatusConflict, "capture_none", q.Deployment)
	}
	if len(chosen) > maxEngines {
		return no(http.StatusBadRequest, "capture_engines", len(chosen), maxEngines)
	}
	now := h.opt.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range chosen {
		for _, a := range h.captures.active {
			if a.Engine == e.EngineKey {
				return no(http.StatusConflict, "capture_busy", e.Name, a.ID, stateWord(a.State))
			}
		}
		if left := h.captures.ended[e.EngineKey].Add(h.opt.Cooldown).Sub(now); left > 0 {
			return no(http.StatusTooManyRequests, "capture_recovers", e.Name, max(left.Round(time.Second), time.Second))
		}
	}
	return chosen, h.checkQuota(len(chosen))
}

// CanCapture says which collector can capture an engine, else why none can.
func (h *Hub) CanCapture(e store.EngineKey) (collector string, why *i18n.Phrase) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.opt.Now()
	why = &i18n.Phrase{Key: "uncapturable.no_profile"}
	var newest time.Time
	for name, s := range h.collectors {
		i, ok := s.targets[e]
		if !ok {
			continue
		}
		if now.Sub(s.seen) > goneAfter {
			if collector == "" {
				why = &i18n.Phrase{Key: "uncapturable.gone", Args: []any{name, s.seen.UTC().Format(time.DateTime)}}
			}
			continue
		}
		if t := s.report.Targets[i]; t.Health == wire.Down {
			if collector == "" {
				why = &i18n.Phrase{Key: "uncapturable.down", Args: []any{t.ProfileAddr}}
				if t.Problem != nil {
					why = problemPhrase(*t.Problem)
				}
			}
			continue
		}
		if collector == "" || s.reported.After(newest) {
			collector, why, newest = name, nil, s.reported
		}
	}
	return collector, why
}

// checkRoom refuses captures whose traces could not be stored.
func (h *Hub) checkRoom(ctx context.Context, need int64) error {
	u, err := h.st.Usage(ctx)
	if err != nil {
		return err
	}
	if u.Quota > 0 && u.Bytes+max(need, 1) > u.Quota {
		return refuse(http.StatusInsufficientStorage, "capture_room", store.ErrInvalid, sizeText(u.Bytes), sizeText(u.Quota), sizeText(need))
	}
	return nil
}

// idle lists the engines whose newest figure says that nothing runs. Engines
// without a figure are not called idle.
func (h *Hub) idle(ctx context.Context, chosen []route) (names []string, err error) {
	ids := make([]int64, len(chosen))
	for i, e := range chosen {
		ids[i] = e.ID
	}
	latest, err := h.st.Latest(ctx, ids, []string{runningMetric}, h.opt.Now().Add(-idleWindow).UnixNano())
	if err != nil {
		return nil, err
	}
	running := map[int64]float64{}
	for _, l := range latest {
		running[l.Engine] += l.Value
	}
	for _, e := range chosen {
		if v, ok := running[e.ID]; ok && v == 0 {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// problemPhrase is what a problem says, in the reader's language where its kind is known.
func problemPhrase(p wire.Problem) *i18n.Phrase {
	return &i18n.Phrase{Key: "uncapturable.said", Args: []any{problemText(p)}}
}

// problemText is what happened, in both languages.
func problemText(p wire.Problem) i18n.Both {
	if zh, _, ok := i18n.Chinese.Problem(p.Code, p.Args...); ok {
		return i18n.Both{EN: p.What, ZH: zh}
	}
	return i18n.Both{EN: p.What, ZH: cmp.Or(p.WhatZH, p.What)}
}

// problemHint is what to do about it, likewise.
func problemHint(p wire.Problem) i18n.Both {
	if _, zh, ok := i18n.Chinese.Problem(p.Code, p.Args...); ok {
		return i18n.Both{EN: p.Hint, ZH: zh}
	}
	return i18n.Both{EN: p.Hint, ZH: cmp.Or(p.HintZH, p.Hint)}
}
