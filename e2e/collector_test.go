package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// fakeCollector is a collector that says what a test wants, over the protocol of the real one.
type fakeCollector struct {
	t    testing.TB
	srv  *server
	name string
	proc string
	seq  uint64
}

// joinCollector greets the server.
func joinCollector(t testing.TB, srv *server, name string) *fakeCollector {
	t.Helper()
	c := &fakeCollector{t: t, srv: srv, name: name}
	started := time.Now().Add(-time.Hour)
	c.proc = strconv.FormatInt(started.UnixNano(), 10) + " node1"
	c.post(wire.HelloPath, wire.Hello{Collector: name, Version: "test", Host: "node1", Started: started}, nil)
	return c
}

func (c *fakeCollector) post(path string, in, out any) {
	c.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		c.t.Fatal(err)
	}
	answer := c.send(path, "application/json", body)
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *fakeCollector) send(path, kind string, body []byte) []byte {
	c.t.Helper()
	req, err := http.NewRequest(http.MethodPost, c.srv.url(path+"?collector="+url.QueryEscape(c.name)), bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set(wire.ProcessHeader, c.proc)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		c.t.Fatalf("%s: %s: %s", path, res.Status, answer)
	}
	return answer
}

func (c *fakeCollector) deliver(b *store.Batch) {
	c.t.Helper()
	c.seq++
	b.Seq = c.seq
	body, err := wire.AppendBatch(nil, b)
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(wire.DeliverPath, wire.BatchType, body)
}

func (c *fakeCollector) report(r wire.Report) {
	c.t.Helper()
	r.Collector, r.Time = c.name, time.Now()
	c.post(wire.ReportPath, r, nil)
}

// commands polls until there is at least one.
func (c *fakeCollector) commands() (list []wire.Command) {
	c.t.Helper()
	for range 20 {
		c.post(wire.PollPath, struct{}{}, &list)
		if len(list) > 0 {
			return list
		}
	}
	c.t.Fatal("no command came")
	return nil
}

func (c *fakeCollector) update(x store.Capture, state store.CaptureState, change func(*store.Capture)) {
	c.t.Helper()
	x.State = state
	x.Times = map[store.CaptureState]time.Time{state: time.Now()}
	if change != nil {
		change(&x)
	}
	c.post(wire.UpdatePath, wire.CaptureUpdate{Capture: x}, nil)
}

// hostileName is what a name from another machine may be.
const hostileName = `"><script>pwned=1</script><img src=x onerror=pwned=1>'&`

// set gives a field a value, as typing or choosing does.
func (p *tab) set(selector, value string) {
	p.t.Helper()
	p.until(`document.querySelector(` + quote(selector) + `) !== null`)
	eval[bool](p, `(() => { const f = document.querySelector(`+quote(selector)+`); f.value = `+quote(value)+`;
		f.dispatchEvent(new Event("input", { bubbles: true })); f.dispatchEvent(new Event("change", { bubbles: true })); return true; })()`)
}

// captureTarget is a profile interface of an engine.
func captureTarget(e store.EngineKey, addr string) wire.Target {
	return wire.Target{Name: addr, Source: "profile", Kind: "deepinfer", Engines: []store.EngineKey{e}, Health: wire.Up, CanCapture: true, ProfileAddr: addr}
}

// figures are what a made-up engine logs: the levels around which its lines lie.
type figures struct {
	tps, sps, accept, running, arrival float64
}

// deliverDeployment stores an hour of lines of some engines, a line every 40 s, with noise of 3 %.
func (c *fakeCollector) deliverDeployment(name string, engines int, f figures, seed uint64) {
	c.t.Helper()
	noise := rand.New(rand.NewPCG(seed, 1))
	layout := store.Layout{Section: "stats", Columns: []store.Column{
		{Metric: "completion_TPS"}, {Metric: "avg_SPS"}, {Metric: "avg_nextn_accept_rate"}, {Metric: "verified_tokens"}, {Metric: "running"},
		{Metric: "pending"}, {Metric: "avg_input_length"}, {Metric: "avg_output_length"}, {Metric: "prefill_caching_rate"}, {Metric: "finished"},
		{Metric: "aborted"}, {Metric: "TTFT_mean"},
	}}
	b := &store.Batch{Layouts: []store.Layout{layout}}
	end := time.Now().Add(-10 * time.Second).UnixNano()
	const every = int64(40 * time.Second)
	for e := range engines {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: name, Name: fmt.Sprintf("rank%d", e)},
			Kind: "deepinfer", Host: "node1", Rank: e, GPU: e, Role: "mixed", Model: "model-x", Parallel: "tp8", Version: "1.2"})
		finished := 1000.0
		for i := range 90 {
			around := func(v float64) float64 { return v * (1 + 0.03*math.Max(-3, math.Min(3, noise.NormFloat64()))) }
			finished += math.Round(around(f.arrival * 40 / float64(engines)))
			b.Rows = append(b.Rows, store.Row{Engine: e, Layout: 0, Time: end - int64(89-i)*every, Step: int64(1000 + 1200*i), Flags: store.DecodeStep,
				Values: []float64{around(f.tps / float64(engines)), around(f.sps), around(f.accept), 5000, math.Round(around(f.running)),
					0, around(1800), around(600), around(0.25), finished,
					0, around(80)}})
		}
	}
	c.deliver(b)
}
