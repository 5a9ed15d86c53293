package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
	"github.com/stepscope/stepscope/engine/trace"
	"github.com/stepscope/stepscope/store"
)

// summariser is the worker over an api's store.
func summariser(a *api) (*Summaries, *bytes.Buffer) {
	var log bytes.Buffer
	return NewSummaries(a.st.(SummaryStore), slog.New(slog.NewTextHandler(&log, nil))), &log
}

// The stored summary is byte for byte what the reader gives for the file alone,
// which is what the browser shows.
func TestSummariesAreTheReadersOwn(t *testing.T) {
	a := newAPI(t, store.Options{})
	var plain, packed bytes.Buffer
	if _, err := kineto.Generate(&plain, kineto.Options{Steps: 3, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	zw := gzip.NewWriter(&packed)
	zw.Write(plain.Bytes())
	zw.Close()
	s, log := summariser(a)
	for _, file := range [][]byte{plain.Bytes(), packed.Bytes()} {
		id, _ := a.put("name=run.json", file)
		path := "/api/traces/" + id + "/summary"
		pending := a.want(404, "GET", path, nil)
		if !strings.Contains(string(pending.body), "being computed") || pending.header.Get("Retry-After") != "3" {
			t.Errorf("pending: %s", pending.body)
		}
		if err := s.work(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, err := trace.ReadRanges(bytes.NewReader(file), int64(len(file)), 1, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := trace.Analyze(p, trace.AnalyzeOptions{Name: "run.json"}).AppendJSON(nil)
		r := a.want(200, "GET", path, nil)
		if !bytes.Equal(r.body, want) || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%d bytes of %q differ from the reader's %d", len(r.body), r.header.Get("Content-Type"), len(want))
		}
		a.want(204, "DELETE", "/api/traces/"+id, nil)
		a.refused(404, "nothing is kept", "GET", path, nil)
	}
	a.refused(400, "no id", "GET", "/api/traces/x/summary", nil)
	if log.Len() > 0 {
		t.Error(log.String())
	}
}

// A file that only looks like a trace gets an answer that says so, and is not read again.
func TestFilesThatAreNoTracesAreReadOnce(t *testing.T) {
	a := newAPI(t, store.Options{})
	var file bytes.Buffer
	zw := gzip.NewWriter(&file)
	zw.Write([]byte("hello"))
	zw.Close()
	id, _ := a.put("name=x.json.gz", file.Bytes())
	s, log := summariser(a)
	for range 3 {
		if err := s.work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "level="); n != 1 {
		t.Errorf("%d lines in the log: %s", n, log)
	}
	a.refused(422, "JSON", "GET", "/api/traces/"+id+"/summary", nil)
}

// What goes wrong with the store may pass: it is said once, and tried again later.
func TestFailuresThatMayPassAreTriedAgain(t *testing.T) {
	a := newAPI(t, store.Options{})
	a.put("name=x.json", []byte(`{"traceEvents": []}`))
	var log bytes.Buffer
	st := &failing{SummaryStore: a.st.(SummaryStore), err: errors.New("the disk is away")}
	s := NewSummaries(st, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		if err := s.work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "the disk is away"); n != 1 || st.opened != 1 {
		t.Errorf("tried %d times, said %d times: %s", st.opened, n, &log)
	}
	st.err = nil
	for id := range s.failed {
		s.failed[id] = s.failed[id].Add(-forgetAfter)
	}
	if err := s.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := s.st.Unsummarised(t.Context(), 9); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

type failing struct {
	SummaryStore
	err    error
	opened int
}

func (f *failing) OpenBlob(ctx context.Context, id string) (store.Blob, error) {
	f.opened++
	if f.err != nil {
		return nil, f.err
	}
	return f.SummaryStore.OpenBlob(ctx, id)
}

// The end of the server ends a reading in the middle, and nothing is recorded about the file.
func TestStoppingEndsAReading(t *testing.T) {
	a := newAPI(t, store.Options{})
	id, _ := a.put("name=x.json", []byte(`{"traceEvents": []}`))
	ctx, cancel := context.WithCancel(t.Context())
	var log bytes.Buffer
	s := NewSummaries(&stopping{SummaryStore: a.st.(SummaryStore), cancel: cancel}, slog.New(slog.NewTextHandler(&log, nil)))
	s.Run(ctx)
	if _, err := s.st.Summary(t.Context(), id); !errors.Is(err, store.ErrNotFound) || log.Len() > 0 {
		t.Errorf("%v, log %s", err, &log)
	}
}

type stopping struct {
	SummaryStore
	cancel func()
}

func (s *stopping) OpenBlob(ctx context.Context, id string) (store.Blob, error) {
	b, err := s.SummaryStore.OpenBlob(context.WithoutCancel(ctx), id)
	return stopBlob{b, s.cancel}, err
}

type stopBlob struct {
	store.Blob
	cancel func()
}

func (b stopBlob) Read(p []byte) (int, error) {
	b.cancel()
	n, err := b.Blob.Read(p[:min(len(p), 4)])
	return n, err
}

var _ io.Reader = stopBlob{}

// A failure is told apart from a summary by its first key.
func TestNoSummaryLooksLikeAFailure(t *testing.T) {
	p, err := trace.Read(strings.NewReader(`{"traceEvents": []}`), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b := trace.Analyze(p, trace.AnalyzeOptions{}).AppendJSON(nil); bytes.HasPrefix(b, failurePrefix) {
		t.Errorf("%s", b[:40])
	}
	b, err := json.Marshal(failure{words{Error: "e"}})
	if err != nil || !bytes.HasPrefix(b, failurePrefix) {
		t.Errorf("%s, %v", b, err)
	}
}
