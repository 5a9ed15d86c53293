package capture

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

func TestSGLang(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	var writer sync.WaitGroup
	a.start = func(w http.ResponseWriter, body string) {
		var q sglangStart
		if err := json.Unmarshal([]byte(body), &q); err != nil || q.OutputDir != dir || q.NumSteps != 5 || len(q.ProfileID) < 10 || len(q.Activities) != 2 {
			t.Errorf("body %s: %v", body, err)
		}
		io.WriteString(w, "Start profiling.\n")
		writer.Go(func() {
			time.Sleep(50 * time.Millisecond)
			for rank := range 2 {
				write(t, gz(t, fmt.Sprintf(`{"tp":%d}`, rank)), dir, fmt.Sprintf("%s-TP-%d-EP-0-DECODE.trace.json.gz", q.ProfileID, rank))
			}
			write(t, gz(t, `{"merged":1}`), dir, "merged-"+q.ProfileID+".trace.json.gz")
			write(t, gz(t, `{"other":1}`), dir, "1766000000.1234567-TP-0.trace.json.gz")
			write(t, "x", dir, q.ProfileID+"-TP-0-memory.pickle")
		})
	}
	g := newRig(t, a.engine(SGLang, dir))
	g.r.Do(g.capture(1))
	c := g.done(1)
	writer.Wait()
	if c.State != store.Stored {
		t.Fatalf("%s: %s", c.State, c.Error)
	}
	if len(c.More) != 1 || g.content(c.TraceID) != `{"tp":0}` || g.content(c.More[0]) != `{"tp":1}` {
		t.Errorf("traces %q %q", c.TraceID, c.More)
	}
	if strings.Contains(a.called(), "stop") {
		t.Errorf("calls %q: it stops by itself", a.called())
	}
}

// Steps that do not come, as on an idle server: it is told to stop, and what it has is taken.
func TestSGLangIdle(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	var id string
	a.start = func(w http.ResponseWriter, body string) {
		var q sglangStart
		json.Unmarshal([]byte(body), &q)
		id = q.ProfileID
	}
	a.stop = func(w http.ResponseWriter) { write(t, gz(t, doc), dir, id+"-TP-0.trace.json.gz") }
	g := newRig(t, a.engine(SGLang, dir))
	g.r.Do(g.capture(1))
	c := g.done(1)
	if c.State != store.Stored || !strings.Contains(c.Warning, "5 steps did not come in time") {
		t.Errorf("%s: %s; warning %q", c.State, c.Error, c.Warning)
	}
	a.mu.Lock()
	a.stop = nil
	a.mu.Unlock()
	g.r.Do(g.capture(2))
	g.failed(2, "no trace appeared in "+dir, "")
}

// SGLang says with a 500 that it records already.
func TestSGLangBusy(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	a.start = func(w http.ResponseWriter, body string) {
		var q sglangStart
		json.Unmarshal([]byte(body), &q)
		if a.starts < 3 {
			w.WriteHeader(500)
			io.WriteString(w, "Profiling is already in progress. Call /stop_profile first.")
			return
		}
		write(t, gz(t, doc), dir, "p-"+q.ProfileID+"-TP-0.trace.json.gz")
	}
	g := newRig(t, a.engine(SGLang, dir), hastily)
	g.r.Do(g.capture(1))
	c := g.done(1)
	if c.State != store.Stored || a.starts != 3 || !strings.Contains(c.Warning, "try 3 of 6") {
		t.Errorf("%s: %s after %d starts; warning %q", c.State, c.Error, a.starts, c.Warning)
	}
	a.mu.Lock()
	a.starts = -1000
	a.mu.Unlock()
	g.r.Do(g.capture(2))
	g.failed(2, "already in progress", "never stopped")
}

func TestTensorRT(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	name := func(at time.Time, rank int) string {
		return fmt.Sprintf("trtllm-trace-%d-0a1b2c3d-rank-%d.json", at.Unix(), rank)
	}
	a.start = func(w http.ResponseWriter, body string) {
		want := fmt.Sprintf(`{"output_dir":%q,"num_steps":5,"start_step":0,"activities":["CPU","GPU"]}`, dir)
		if body != want {
			t.Errorf("body %s, want %s", body, want)
		}
		io.WriteString(w, `{"message":"Profiling started"}`)
		for rank := range 3 {
			write(t, fmt.Sprintf(`{"rank":%d}`, rank), dir, name(time.Now(), rank))
		}
		write(t, `{"old":1}`, dir, name(time.Now().Add(-time.Hour), 9))
	}
	e := a.engine(TensorRTLLM, dir)
	e.Ranks, e.Remove = 3, true
	g := newRig(t, e, hastily)
	g.r.Do(g.capture(1))
	c := g.done(1)
	if c.State != store.Stored || len(c.More) != 2 || g.content(c.More[1]) != `{"rank":2}` {
		t.Fatalf("%s: %s; %q", c.State, c.Error, c.More)
	}
	// Stored, the sources are removed; the other recording's file is not.
	for range 400 {
		if len(files(t, dir)) == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if left := files(t, dir); len(left) != 1 || !strings.Contains(left[0], "rank-9") {
		t.Errorf("left %q", left)
	}
	a.mu.Lock()
	a.start = func(w http.ResponseWriter, _ string) {
		w.WriteHeader(409)
		io.WriteString(w, `{"success":false,"message":"a profiling window is active"}`)
	}
	a.mu.Unlock()
	g.r.Do(g.capture(2))
	g.failed(2, "HTTP 409: a profiling window is active", "another client records")
}

// An engine on another node whose folder is mounted here under another path.
func TestMappedPath(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	e := a.engine(TensorRTLLM, "/data/traces/run1")
	e.Paths = Paths{{Engine: "/data", Local: filepath.Join(dir, "wrong")}, {Engine: "/data/traces", Local: dir}}
	a.start = func(w http.ResponseWriter, body string) {
		if !strings.Contains(body, `"/data/traces/run1"`) {
			t.Errorf("body %s", body)
		}
		mkdir(t, dir, "run1")
		write(t, doc, dir, "run1", fmt.Sprintf("trtllm-trace-%d-0a1b2c3d-rank-0.json", time.Now().Unix()))
	}
	g := newRig(t, e)
	g.r.Do(g.capture(1))
	c := g.done(1)
	if c.State != store.Stored || !strings.HasPrefix(c.Path, "/data/traces/run1/trtllm-trace-") {
		t.Errorf("%s: %s; path %q", c.State, c.Error, c.Path)
	}
}
