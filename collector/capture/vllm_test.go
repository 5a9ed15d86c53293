package capture

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/store"
)

// api is an API server with profile calls as a test wants them.
type api struct {
	*httptest.Server
	mu     sync.Mutex
	calls  []string // "start {body}", "stop"
	starts int
	start  func(w http.ResponseWriter, body string)
	stop   func(w http.ResponseWriter)
}

func newAPI(t *testing.T) *api {
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		start, stop := a.start, a.stop
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/start_profile":
			a.starts++
			a.calls = append(a.calls, "start "+string(body))
			a.mu.Unlock()
			if start != nil {
				start(w, string(body))
			}
		case r.Method == http.MethodPost && r.URL.Path == "/stop_profile":
			a.calls = append(a.calls, "stop")
			a.mu.Unlock()
			if stop != nil {
				stop(w)
			}
		default:
			a.mu.Unlock()
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) called() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.calls, "; ")
}

func (a *api) host() string { return strings.TrimPrefix(a.URL, "http://") }

func (a *api) engine(kind, dir string) Engine {
	return Engine{Kind: kind, Addr: a.host(), GPU: -1, Rank: -1, Part: -1, OutputDir: dir, Paths: Paths{{Engine: dir}}}
}

const doc = `{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2}]}`

// vllmFile is the name of a worker's trace.
func vllmFile(worker string) string {
	return fmt.Sprintf("%s.%d.pt.trace.json.gz", worker, time.Now().UnixNano())
}

// Two ranks, each with a file that comes while the server stops; the frontend's file and old ones are left.
func TestVLLM(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	old := vllmFile("dp0_pp0_tp0_dcp0_ep0_rank0")
	write(t, gz(t, `{"traceEvents":["old"]}`), dir, old)
	a.stop = func(w http.ResponseWriter) {
		for rank := range 2 {
			write(t, gz(t, fmt.Sprintf(`{"rank":%d}`, rank)), dir, vllmFile(fmt.Sprintf("dp0_pp0_tp%d_dcp0_ep0_rank%d", rank, rank)))
		}
		write(t, gz(t, `{"frontend":1}`), dir, vllmFile("node_17.async_llm"))
		write(t, "a table", dir, "profiler_out_0.txt")
		time.Sleep(150 * time.Millisecond)
	}
	g := newRig(t, a.engine(VLLM, dir), func(c *Config) {
		c.StepTime = func(store.EngineKey) time.Duration { return 20 * time.Millisecond }
	})
	g.r.Do(g.capture(1))
	c := g.done(1)
	if c.State != store.Stored {
		t.Fatalf("%s: %s; %s", c.State, c.Error, c.Hint)
	}
	if got, want := passed(c), "queued asked picked_up captured found stored"; got != want {
		t.Errorf("states %q, want %q", got, want)
	}
	inOrder(t, c)
	if got := g.content(c.TraceID); got != `{"rank":0}` {
		t.Errorf("first trace %q", got)
	}
	if len(c.More) != 1 || g.content(c.More[0]) != `{"rank":1}` {
		t.Errorf("more traces %q", c.More)
	}
	if got := a.called(); got != "start ; stop" {
		t.Errorf("calls %q", got)
	}
	// 5 steps of 20 ms lie between the two calls.
	if d := c.Times[store.Captured].Sub(c.Times[store.PickedUp]); d < 100*time.Millisecond {
		t.Errorf("recorded for %s, want 5 × 20 ms", d)
	}
	if !strings.Contains(g.metas[c.More[0]].Note, "rank 1") || !strings.HasSuffix(g.metas[c.More[0]].Name, ".pt.trace.json.gz") {
		t.Errorf("meta %+v", g.metas[c.More[0]])
	}
}

func TestVLLMRefusals(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	g := newRig(t, a.engine(VLLM, dir))
	reply := func(status int, body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, _ string) { w.WriteHeader(status); io.WriteString(w, body) }
	}
	for id, c := range []struct {
		start        func(http.ResponseWriter, string)
		reason, hint string
	}{
		{reply(404, `{"detail":"Not Found"}`), "HTTP 404: Not Found", "--profiler-config"},
		{reply(401, "<html>"), "HTTP 401: an HTML page", "token"},
		{reply(500, "boom\x1b[31m"), "HTTP 500: boom\uFFFD[31m", "server's log"},
		{reply(307, ""), "HTTP 307", "key"},
	} {
		a.mu.Lock()
		a.start = c.start
		a.mu.Unlock()
		g.r.Do(g.capture(int64(id + 1)))
		g.failed(int64(id+1), c.reason, c.hint)
	}
	if strings.Contains(a.called(), "stop") {
		t.Errorf("calls %q: what was refused needs no stop", a.called())
	}
	g.eng.OutputDir = ""
	g.r.Do(g.capture(11))
	g.failed(11, "does not tell where", "torch_profiler_dir")
	g.eng.OutputDir = "gs://bucket/x"
	g.r.Do(g.capture(12))
	g.failed(12, "no folder", "torch_profiler_dir")
	g.eng = a.engine("mystery", dir)
	g.eng.Key = store.EngineKey{Deployment: "chat", Name: "rank3"}
	g.r.Do(g.capture(13))
	g.failed(13, `kind "mystery"`, "vllm")
	if keys, _ := g.events(); len(keys) != 0 {
		t.Errorf("windows %q although nothing was recorded", keys)
	}
}

// A stop that hangs: the files are complete, and the server gets no other recording until it has answered.
func TestVLLMStopHangs(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	release := make(chan struct{})
	var once sync.Once
	defer once.Do(func() { close(release) })
	a.stop = func(w http.ResponseWriter) {
		write(t, gz(t, doc), dir, vllmFile("rank0"))
		<-release
	}
	g := newRig(t, a.engine(VLLM, dir))
	g.r.Do(g.capture(1))
	c := g.done(1)
	if c.State != store.Stored || !strings.Contains(c.Warning, "has not answered") {
		t.Fatalf("%s: %s; warning %q", c.State, c.Error, c.Warning)
	}
	g.r.Do(g.capture(2))
	time.Sleep(100 * time.Millisecond)
	if got := a.called(); got != "start ; stop" {
		t.Errorf("calls %q while the server still stops", got)
	}
	once.Do(func() { close(release) })
	if c = g.done(2); c.State != store.Stored {
		t.Errorf("%s: %s", c.State, c.Error)
	}
}

// "The profiler is enabled, but no file": the place that was looked in is told.
func TestVLLMNoFile(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	g := newRig(t, a.engine(VLLM, dir))
	g.r.Do(g.capture(1))
	g.failed(1, "no trace appeared in "+dir, "check that the folder")
	a.mu.Lock()
	a.stop = func(w http.ResponseWriter) { w.WriteHeader(500); io.WriteString(w, "Worker died") }
	a.mu.Unlock()
	g.r.Do(g.capture(2))
	g.failed(2, "/stop_profile at "+a.host()+": HTTP 500: Worker died; no trace appeared", "")
	if keys, _ := g.waitEvents(2); keys[0] != "chat/rank3" {
		t.Errorf("windows %q", keys)
	}
}

// A file that is written slowly is taken when it is whole, not before.
func TestGrowingFile(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	text := gz(t, strings.Repeat(doc, 1)+strings.Repeat(" ", 5000))
	name := vllmFile("rank0")
	var writer sync.WaitGroup
	a.stop = func(w http.ResponseWriter) {
		writer.Go(func() {
			for i := range 8 {
				write(t, text[:len(text)*(i+1)/8], dir, name)
				time.Sleep(40 * time.Millisecond)
			}
		})
	}
	g := newRig(t, a.engine(VLLM, dir))
	g.r.Do(g.capture(1))
	c := g.done(1)
	writer.Wait()
	if c.State != store.Stored || string(g.traces[c.TraceID]) != text {
		t.Errorf("%s: %s; %d of %d bytes", c.State, c.Error, len(g.traces[c.TraceID]), len(text))
	}
}

// A file that never gets its end while the server says nothing of it is no trace.
func TestNeverWhole(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	text := gz(t, doc)
	a.stop = func(w http.ResponseWriter) {
		write(t, text[:len(text)-5], dir, vllmFile("rank0"))
		w.WriteHeader(500)
	}
	g := newRig(t, a.engine(VLLM, dir))
	g.r.Do(g.capture(1))
	g.failed(1, "ends early", "stopped in the middle")
	// One whole and one cut: what there is is kept, what not is told.
	a.mu.Lock()
	a.stop = func(w http.ResponseWriter) {
		write(t, text, dir, vllmFile("rank0"))
		write(t, text[:len(text)-5], dir, vllmFile("rank1"))
		w.WriteHeader(500)
	}
	a.mu.Unlock()
	g.r.Do(g.capture(2))
	if c := g.done(2); c.State != store.Stored || len(c.More) != 0 || !strings.Contains(c.Warning, "rank1") {
		t.Errorf("%s %s, more %q, warning %q", c.State, c.Error, c.More, c.Warning)
	}
}

// Cancelled while it records: the server must stop.
func TestVLLMCancel(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	g := newRig(t, a.engine(VLLM, dir), func(c *Config) { c.Waits.Record, c.Waits.MaxRecord = time.Minute, time.Minute })
	g.r.Do(g.capture(1))
	g.state(1, store.PickedUp)
	g.r.Do(cancel(1))
	if c := g.done(1); c.State != store.Cancelled {
		t.Errorf("%s: %s", c.State, c.Error)
	}
	for range 400 {
		if a.called() == "start ; stop" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got := a.called(); got != "start ; stop" {
		t.Errorf("calls %q", got)
	}
}

// The collector ends while vLLM records, and starts again: the recording is stopped and its files are found.
func TestVLLMResumes(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	g := newRig(t, a.engine(VLLM, dir), func(c *Config) { c.Waits.Record, c.Waits.MaxRecord = time.Minute, time.Minute })
	a.stop = func(w http.ResponseWriter) { write(t, gz(t, doc), dir, vllmFile("rank0")) }
	g.r.Do(g.capture(1))
	before := g.state(1, store.PickedUp)
	if err := g.r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := g.captures[1]; c.State != store.PickedUp {
		t.Fatalf("the end of the collector made it %s", c.State)
	}
	again := newRig(t, g.eng)
	again.r.Do(again.capture(1, func(c *store.Capture) { *c = before }))
	c := again.done(1)
	if c.State != store.Stored || !c.Times[store.Asked].Equal(before.Times[store.Asked]) || !strings.Contains(c.Warning, "restarted") {
		t.Errorf("%s: %s; warning %q", c.State, c.Error, c.Warning)
	}
	if got := strings.Count(a.called(), "start"); got != 1 {
		t.Errorf("%d recordings", got)
	}
}

// The data-parallel engines of one server are one recording, and each gets its own file.
func TestGroupAtOneServer(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	a.stop = func(w http.ResponseWriter) {
		for dp := range 3 {
			write(t, gz(t, fmt.Sprintf(`{"dp":%d}`, dp)), dir, vllmFile(fmt.Sprintf("dp%d_pp0_tp0_dcp0_ep0_rank%d", dp, dp)))
		}
	}
	g := newRig(t, a.engine(VLLM, dir), func(c *Config) {
		c.Engines = func(k store.EngineKey) (Engine, bool) {
			e := a.engine(VLLM, dir)
			e.Key = k
			fmt.Sscanf(k.Name, "engine%d", &e.Part)
			e.Also = []store.EngineKey{{Deployment: "chat", Name: "engine0"}, {Deployment: "chat", Name: "engine2"}}
			return e, true
		}
	})
	of := func(id int64, name string) func(*store.Capture) {
		return func(c *store.Capture) { c.ID, c.Engine.Name = id, name }
	}
	g.r.Do(g.capture(1, of(1, "engine0")), g.capture(2, of(2, "engine1")), g.capture(3, of(3, "engine7")))
	for id, want := range map[int64]string{1: `{"dp":0}`, 2: `{"dp":1}`} {
		c := g.done(id)
		if c.State != store.Stored || g.content(c.TraceID) != want || len(c.More) != 0 {
			t.Errorf("capture %d is %s: %s; %q", id, c.State, c.Error, c.More)
		}
	}
	g.failed(3, "none of the 3 files is of engine 7", "data-parallel index")
	if a.called() != "start ; stop" {
		t.Errorf("calls %q", a.called())
	}
	keys, _ := g.waitEvents(4)
	if len(keys) != 4 { // engines 0, 1 and 7 were asked for, engine 2 suffers with them
		t.Errorf("windows %q", keys)
	}
}

// One of two captures at one server is cancelled: the other goes on.
func TestCancelOneOfGroup(t *testing.T) {
	t.Parallel()
	a, dir := newAPI(t), t.TempDir()
	hold := make(chan struct{})
	a.stop = func(w http.ResponseWriter) {
		<-hold
		write(t, gz(t, doc), dir, vllmFile("rank0"))
	}
	g := newRig(t, a.engine(VLLM, dir))
	g.r.Do(g.capture(1), g.capture(2))
	g.state(1, store.PickedUp)
	g.r.Do(cancel(1))
	if c := g.done(1); c.State != store.Cancelled {
		t.Errorf("%s", c.State)
	}
	close(hold)
	if c := g.done(2); c.State != store.Stored {
		t.Errorf("%s: %s", c.State, c.Error)
	}
	if g.captures[1].TraceID != "" {
		t.Error("the cancelled one has a trace")
	}
}
