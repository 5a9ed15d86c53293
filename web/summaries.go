package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/engine/trace"
	"github.com/stepscope/stepscope/store"
)

const (
	// lookEvery is how often the store is asked for traces without a summary: one
	// cheap query, and however a trace got in, it is found.
	lookEvery = 3 * time.Second
	// forgetAfter is when a trace is tried again whose failure may pass, such as a
	// busy disk.
	forgetAfter = 10 * time.Minute
	// batchOfTraces is more than can fail at once without hiding those behind them.
	batchOfTraces = 256
)

// SummaryStore is what summaries need of a store.
type SummaryStore interface {
	store.Traces
	store.Summaries
}

// Summaries computes the summary of every kept trace in the background, with the
// browser's own code: one at a time, on one reader, so that it takes no more
// than a core and one analysis's memory from whoever else works here.
type Summaries struct {
	st     SummaryStore
	log    *slog.Logger
	failed map[string]time.Time // failures that may pass: when
}

// NewSummaries makes the worker and its API over a store.
func NewSummaries(st SummaryStore, log *slog.Logger) *Summaries {
	return &Summaries{st: st, log: log, failed: map[string]time.Time{}}
}

// Register mounts GET /api/traces/{id}/summary.
func (s *Summaries) Register(e *echo.Echo) {
	e.Match([]string{http.MethodGet, http.MethodHead}, "/api/traces/:id/summary", s.get)
}

// failure stands in the place of a summary that can't be: the file is not a
// trace, whatever its first bytes promised.
type failure struct {
	Failure words `json:"failure"`
}

var failurePrefix = []byte(`{"failure":`)

// get serves a trace's summary.
func (s *Summaries) get(c echo.Context) error {
	id, err := traceID(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	t, err := s.st.Trace(ctx, id)
	if err == nil && !t.Live() {
		err = store.ErrNotFound
	}
	if err != nil {
		return storeError(err)
	}
	b, err := s.st.Summary(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		c.Response().Header().Set("Retry-After", "3")
		return refuse(http.StatusNotFound, "summary_pending", err)
	}
	if err != nil {
		return storeError(err)
	}
	if bytes.HasPrefix(b, failurePrefix) {
		var f failure
		if err := json.Unmarshal(b, &f); err != nil {
			return err
		}
		return refuse(http.StatusUnprocessableEntity, "summary_none", nil, f.Failure.Error, f.Failure.Hint)
	}
	// Bytes never change under an id, but a newer version may compute them anew.
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return c.JSONBlob(http.StatusOK, b)
}

// Run works until ctx ends.
func (s *Summaries) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := s.work(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("looking for traces without a summary failed; trying again later", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// work computes what is missing.
func (s *Summaries) work(ctx context.Context) error {
	list, err := s.st.Unsummarised(ctx, batchOfTraces)
	if err != nil {
		return err
	}
	for _, id := range list {
		if at, ok := s.failed[id]; ok && time.Since(at) < forgetAfter {
			continue
		}
		delete(s.failed, id)
		err := s.compute(ctx, id)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) { // deleted meanwhile
			s.failed[id] = time.Now()
			s.log.Error("computing a trace's summary failed; trying again later", "trace", id, "error", err)
		}
	}
	return nil
}

// compute computes and stores one summary, or the reason why there is none.
func (s *Summaries) compute(ctx context.Context, id string) error {
	t, err := s.st.Trace(ctx, id)
	if err != nil {
		return err
	}
	b, err := s.summarize(ctx, t)
	var bad *trace.Error
	if errors.As(err, &bad) {
		s.log.Warn("a kept file is no trace that can be read", "trace", id, "name", t.Name, "error", err)
		b, err = json.Marshal(failure{words{Error: bad.Error(), Hint: bad.Hint}})
	}
	if err != nil {
		return err
	}
	return s.st.PutSummary(ctx, id, b)
}

// summarize reads a trace straight from the store.
func (s *Summaries) summarize(ctx context.Context, t store.Trace) (b []byte, err error) {
	blob, err := s.st.OpenBlob(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	defer func() {
		// A file that makes the reader panic must not take the server with it.
		if p := recover(); p != nil {
			err = &trace.Error{What: fmt.Sprintf("reading it failed inside the reader: %v", p), Hint: "please report it with the file"}
		}
	}()
	p, err := trace.Read(readerWith{ctx, blob}, trace.Options{})
	if err != nil {
		return nil, err
	}
	p.SetFileBytes(blob.Size())
	return trace.Analyze(p, trace.AnalyzeOptions{Name: t.Name}).AppendJSON(nil), nil
}

// readerWith ends a long reading with its context.
type readerWith struct {
	ctx context.Context
	io.Reader
}

func (r readerWith) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
