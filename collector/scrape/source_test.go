package scrape

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/store"
)

// memory is a sink that keeps what it gets.
type memory struct {
	mu      sync.Mutex
	batches []*store.Batch
	got     chan struct{}
}

func newMemory() *memory { return &memory{got: make(chan struct{}, 1000)} }

func (m *memory) Put(_ context.Context, b *store.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	m.mu.Lock()
	m.batches = append(m.batches, b)
	m.mu.Unlock()
	m.got <- struct{}{}
	return nil
}

func (m *memory) Position(string) string { return "" }

// wait waits for n more batches.
func (m *memory) wait(t *testing.T, n int) []*store.Batch {
	t.Helper()
	for range n {
		select {
		case <-m.got:
		case <-time.After(10 * time.Second):
			t.Fatal("no batch in 10 s")
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.batches)
}

// value finds a value of the first row of a batch that has it.
func value(b *store.Batch, engine, metric, label string) float64 {
	for _, r := range b.Rows {
		if b.Engines[r.Engine].Name != engine {
			continue
		}
		for i, c := range b.Layouts[r.Layout].Columns {
			if c == (store.Column{Metric: metric, Label: label}) && i < len(r.Values) && !math.IsNaN(r.Values[i]) {
				return r.Values[i]
			}
		}
	}
	return math.NaN()
}

// fixture reads an engine's text.
func fixture(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../engine/foreign/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// server answers with one text after the other, then with the last one.
func server(t *testing.T, path string, texts ...string) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.URL.Path == "/version":
			io.WriteString(w, `{"version":"0.13.1"}`)
		case r.URL.Path == path+"/":
			http.Redirect(w, r, path, http.StatusTemporaryRedirect)
		case r.URL.Path != path:
			http.NotFound(w, r)
		default:
			io.WriteString(w, texts[min(n, len(texts)-1)])
			n++
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// start runs a source until the test ends.
func start(t *testing.T, opt Options) (*Source, *memory) {
	t.Helper()
	if opt.Every == 0 {
		opt.Every = 20 * time.Millisecond
	}
	opt.Deployment = "d"
	s, m := New(opt), newMemory()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, m) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return s, m
}

// clockBy makes times that are one step apart, whatever the real clock says.
func clockBy(step time.Duration) func() time.Time {
	var mu sync.Mutex
	t := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		t = t.Add(step)
		return t
	}
}

func TestScrapeVLLM(t *testing.T) {
	srv := server(t, "/metrics", fixture(t, "vllm-2026-08.1.txt"), fixture(t, "vllm-2026-08.2.txt"))
	src, m := start(t, Options{Kind: foreign.VLLM, Address: srv.URL, Host: "node7", Parallel: "tp8"})
	got := m.wait(t, 2)
	first, second := got[0], got[1]
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(srv.URL, "http://"))
	name := "node7:" + port // a loopback address is the collector's own host
	if e := first.Engines[0]; e.Name != name || e.Deployment != "d" || e.Kind != "vllm" || e.Host != "node7" || e.Model != "m-70b" || e.Parallel != "tp8" || e.Rank != -1 || e.GPU != -1 || e.Version != "0.13.1" {
		t.Errorf("%+v", e)
	}
	if v := value(first, name, "running", ""); v != 30 {
		t.Errorf("running %v", v)
	}
	if v := value(first, name, "completion_TPS", ""); !math.IsNaN(v) {
		t.Errorf("a rate after one scrape: %v", v)
	}
	// Ratios don't depend on the interval.
	for metric, want := range map[string]float64{"prefill_caching_rate": 0.4, "accept_len": 2.8, "TTFT_avg": 150, "TTFT_count": 50} {
		if v := value(second, name, metric, ""); math.Abs(v-want) > 1e-9 {
			t.Errorf("%s %v, want %v", metric, v, want)
		}
	}
	// The layout has only grown, and what it had stands where it stood.
	a, b := first.Layouts[0].Columns, second.Layouts[0].Columns
	if len(b) <= len(a) || !slices.Equal(a, b[:len(a)]) {
		t.Errorf("columns %v became %v", a, b)
	}
	third := m.wait(t, 1)[2]
	if c := third.Layouts[0].Columns; len(c) != len(b) || &c[0] != &b[0] {
		t.Error("the same columns are not the same slice")
	}
	x := src.Targets()[0]
	if x.Source != "metrics" || x.Kind != "vllm" || x.Health != wire.Up || x.Problem != nil || x.Lines < 2 || x.Samples == 0 ||
		len(x.Engines) != 1 || x.Engines[0].Name != name || !slices.Contains(x.Unknown, "vllm:nixl_num_failed_transfers_total") {
		t.Errorf("%+v", x)
	}
	if i := slices.IndexFunc(x.Missing, func(s string) bool { return strings.HasPrefix(s, "mm_cache_hits: only with") }); i < 0 {
		t.Errorf("missing %q", x.Missing)
	}
}

func TestScrapeRates(t *testing.T) {
	srv := server(t, "/metrics", fixture(t, "vllm-dp.1.txt"), fixture(t, "vllm-dp.2.txt"))
	// Each look at the clock is 10 s later; a scrape looks once.
	_, m := start(t, Options{Address: srv.URL + "/", Now: clockBy(10 * time.Second)}) // the kind is found out
	got := m.wait(t, 2)
	name := strings.TrimPrefix(srv.URL, "http://")
	second := got[1]
	seconds := float64(second.Rows[0].Time-got[0].Rows[0].Time) / 1e9
	for engine, increase := range map[string]float64{"/engine0": 1000, "/engine1": 2000, "/engine10": 0} {
		if v := value(second, name+engine, "completion_TPS", ""); math.Abs(v-increase/seconds) > 1e-9 {
			t.Errorf("%s: %v tokens/s, want %v in %v s", engine, v, increase, seconds)
		}
	}
	if len(second.Engines) != 3 {
		t.Errorf("%+v", second.Engines)
	}
}

func TestScrapeTensorRTLLM(t *testing.T) {
	list := server(t, "/metrics", fixture(t, "trtllm-iterations.1.json"), "[]", fixture(t, "trtllm-iterations.2.json"), "[]")
	src, m := start(t, Options{Address: list.URL})
	got := m.wait(t, 2)
	name := strings.TrimPrefix(list.URL, "http://")
	if v := value(got[1], name, "step_ms", ""); v != 42 {
		t.Errorf("step_ms %v", v)
	}
	var flags []store.Flags
	for _, r := range got[1].Rows {
		flags = append(flags, r.Flags)
		if r.Step != 106 || got[1].Layouts[r.Layout].Section != "iteration" {
			t.Errorf("%+v", r)
		}
	}
	if !slices.Equal(flags, []store.Flags{0, store.PromptStep, store.DecodeStep}) {
		t.Errorf("flags %v", flags)
	}
	// The kind is known now, so its other interface is tried too.
	for range 500 {
		if x := src.Targets(); len(x) == 2 && x[1].Problem != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	x := src.Targets()
	if len(x) != 2 || x[0].Source != "iterations" || x[0].Kind != "tensorrt-llm" || x[1].Source != "metrics" || x[1].Health != wire.Down ||
		!strings.Contains(x[1].Problem.What, "404") || !strings.Contains(x[1].Problem.Hint, "return_perf_metrics") {
		t.Errorf("%+v", x)
	}
}

func TestEvents(t *testing.T) {
	low := strings.ReplaceAll(fixture(t, "vllm-2026-08.1.txt"), "generation_tokens_total{engine=\"0\",model_name=\"m-70b\"} 500000", "generation_tokens_total{engine=\"0\",model_name=\"m-70b\"} 5")
	srv := server(t, "/metrics", fixture(t, "vllm-2026-08.2.txt"), low)
	_, m := start(t, Options{Kind: foreign.VLLM, Address: srv.URL})
	second := m.wait(t, 2)[1]
	second.Events = noSilence(second.Events)
	if len(second.Events) != 1 || second.Events[0].Kind != store.CounterReset || second.Events[0].From >= second.Events[0].To || second.Engines[second.Events[0].Engine].Kind != "vllm" {
		t.Errorf("%+v", second.Events)
	}
}

// noSilence leaves out the silences that a busy machine makes of short intervals.
func noSilence(events []store.Event) []store.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool { return e.Kind == store.Silence })
}

func TestSchedule(t *testing.T) {
	const every = 10 * time.Second
	at := time.Unix(1_000_000_003, 0) // 3 s after a multiple of 10 s
	for _, c := range []struct{ shift, wait time.Duration }{
		{0, 7 * time.Second}, {2 * time.Second, 9 * time.Second}, {4 * time.Second, time.Second}, {3 * time.Second, every},
	} {
		if got := next(at, every, c.shift).Sub(at); got != c.wait {
			t.Errorf("shift %v: in %v, want %v", c.shift, got, c.wait)
		}
	}
	seen := map[time.Duration]bool{}
	for i := range 64 {
		d := shift(fmt.Sprintf("http://n%d:8000/metrics", i), every)
		if d < 0 || d >= every {
			t.Errorf("shift %v", d)
		}
		seen[d/time.Second] = true
	}
	if len(seen) < 8 {
		t.Errorf("64 addresses share %d seconds of ten", len(seen))
	}
}

func TestEngineName(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.1:8000": "10.0.0.1:8000", "http://n1": "n1:80", "https://n1/a/": "n1:443/a", "localhost:1": "me:1", "[::1]:2": "me:2", "127.0.0.5:3": "me:3",
	} {
		if got := EngineName(in, "me"); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// What one interface of a server gives is not missing from the other.
func TestInterfacesTogether(t *testing.T) {
	reads := make(chan string, 1000)
	texts := map[string][]string{
		"/metrics":            {fixture(t, "trtllm-iterations.1.json"), fixture(t, "trtllm-iterations.2.json")},
		"/prometheus/metrics": {fixture(t, "trtllm-2026.1.txt"), fixture(t, "trtllm-2026.2.txt")},
	}
	var mu sync.Mutex
	n := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := texts[r.URL.Path]
		if list == nil {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		io.WriteString(w, list[min(n[r.URL.Path], len(list)-1)])
		n[r.URL.Path]++
		mu.Unlock()
		reads <- r.URL.Path
	}))
	t.Cleanup(srv.Close)
	src, _ := start(t, Options{Kind: foreign.TensorRTLLM, Address: srv.URL})
	for count := map[string]int{}; count["/metrics"] < 4 || count["/prometheus/metrics"] < 4; {
		count[<-reads]++
	}
	x := src.Targets()
	for i, given := range []string{"accept_rate_uncond", "step_ms"} { // by the other one
		if slices.ContainsFunc(x[i].Missing, func(m string) bool { return strings.HasPrefix(m, given+":") }) {
			t.Errorf("%s misses %s, which %s has: %q", x[i].Name, given, x[1-i].Name, x[i].Missing)
		}
	}
	if !slices.ContainsFunc(x[1].Missing, func(m string) bool { return strings.HasPrefix(m, "prefill_time: stands in") }) {
		t.Errorf("%q", x[1].Missing)
	}
}

// Another engine may come to an address whose kind was found out.
func TestKindChanges(t *testing.T) {
	srv := server(t, "/metrics", fixture(t, "vllm-dp.1.txt"), fixture(t, "sglang-0.4.3.1.txt"), fixture(t, "sglang-0.4.3.1.txt"))
	src, m := start(t, Options{Address: srv.URL})
	got := m.wait(t, 2)
	if a, b := got[0].Engines[0].Kind, got[1].Engines[0].Kind; a != "vllm" || b != "sglang" || len(noSilence(got[1].Events)) != 0 {
		t.Errorf("%s, then %s, %+v", a, b, got[1].Events)
	}
	for range 1000 {
		if src.Targets()[0].Kind == "sglang" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if x := src.Targets()[0]; x.Kind != "sglang" {
		t.Errorf("%+v", x)
	}
}

// A time without answers is told once it is over.
func TestSilence(t *testing.T) {
	e := New(Options{Deployment: "d", Kind: foreign.VLLM, Address: "n1:8000", Every: 10 * time.Second}).endpoints[0]
	begin := time.Unix(1_800_000_000, 0)
	read := func(second int, running string) *store.Batch {
		at := begin.Add(time.Duration(second) * time.Second)
		res, problem := e.read(answer{at: at, body: []byte("vllm:num_requests_running " + running + "\n")}, nil)
		if problem != nil {
			t.Fatal(problem)
		}
		e.put(res, at, e.last)
		e.silence(at)
		e.last = at
		return e.rows.Take()
	}
	read(0, "1")
	if b := read(30, "2"); len(b.Events) != 0 { // two scrapes missed
		t.Errorf("%+v", b.Events)
	}
	b := read(61, "3") // 31 s since the one before
	if len(b.Events) != 1 || b.Events[0].Kind != store.Silence || b.Events[0].To-b.Events[0].From != 31e9 || b.Engines[b.Events[0].Engine].Name != "n1:8000" {
		t.Errorf("%+v", b.Events)
	}
}
