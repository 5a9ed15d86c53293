package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

func packedBatch(t *testing.T, b *store.Batch) []byte {
	t.Helper()
	data, err := wire.AppendBatch(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	zw.Write(data)
	zw.Close()
	return out.Bytes()
}

// Whatever stands in a body, the answer is a refusal in words.
func TestHostileBodiesOfCollectors(t *testing.T) {
	a := newAPI(t, store.Options{})
	good := packedBatch(t, &store.Batch{Seq: 1, Positions: []store.Position{{Source: "s", Value: "v"}}})
	const deliver = wire.DeliverPath + "?collector=c"
	binary := []string{"Content-Type", wire.BatchType}
	packed := append([]string{"Content-Encoding", "gzip"}, binary...)

	a.refused(415, "no batch", "POST", deliver, bytes.NewReader(good))
	a.refused(415, "gzip only", "POST", deliver, bytes.NewReader(good), append([]string{"Content-Encoding", "br"}, binary...)...)
	a.refused(400, "not gzipped", "POST", deliver, strings.NewReader("{}"), packed...)
	a.refused(400, "broke off", "POST", deliver, bytes.NewReader(good[:len(good)-9]), packed...)
	a.refused(400, "version", "POST", deliver, strings.NewReader("\x07"), binary...)
	a.refused(400, "no number", "POST", deliver, strings.NewReader(""), binary...)
	// A few KB that unpack to more than a batch may have.
	var bomb bytes.Buffer
	zw := gzip.NewWriter(&bomb)
	io.CopyN(zw, zeros{}, wire.MaxBatchBytes+1)
	zw.Close()
	a.refused(413, "larger than 16 MiB", "POST", deliver, &bomb, packed...)
	a.refused(400, "name", "POST", wire.DeliverPath, bytes.NewReader(good), packed...)
	// A batch that the encoding can carry and the store can't.
	bad := packedBatch(t, &store.Batch{Seq: 1, Engines: []store.EngineInfo{{EngineKey: store.EngineKey{Deployment: "a\nb", Name: "x"}}}})
	a.refused(400, "control characters", "POST", deliver, bytes.NewReader(bad), packed...)

	for _, path := range []string{wire.HelloPath, wire.ReportPath, wire.UpdatePath + "?collector=c", wire.RequestPath + "?collector=c", "/api/captures"} {
		a.refused(400, "can't be read", "POST", path, strings.NewReader(""))
		a.refused(400, "can't be read", "POST", path, strings.NewReader(`[1]`))
		a.refused(400, "bytes behind", "POST", path, strings.NewReader(`{}{}`))
	}
	a.refused(413, "larger than 64 KiB", "POST", wire.HelloPath, strings.NewReader(`{"Host":"`+strings.Repeat("x", maxHello)+`"}`))
	a.refused(400, "name", "POST", wire.PollPath, nil)

	// And the good one is taken, once.
	a.want(204, "POST", deliver, bytes.NewReader(good), packed...)
	a.want(204, "POST", deliver, bytes.NewReader(good), packed...)
	r := a.want(200, "POST", wire.HelloPath, strings.NewReader(`{"Collector":"c","Host":"n","Started":"2026-03-01T00:00:00Z"}`))
	var w wire.Welcome
	if err := json.Unmarshal(r.body, &w); err != nil || w.Seq != 1 || len(w.Positions) != 1 || w.Positions[0].Value != "v" {
		t.Errorf("%s (%v)", r.body, err)
	}
	// The name is taken: marked, so that a client knows to keep its batches.
	second := a.want(409, "POST", deliver, bytes.NewReader(good), append([]string{wire.ProcessHeader, "5 elsewhere"}, packed...)...)
	if second.header.Get(wire.TakenHeader) != "1" {
		t.Errorf("no mark on %v", second.header)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A page of another site can't take commands, deliver or capture; neither can
// who has no token.
func TestCollectorsNeedOriginAndToken(t *testing.T) {
	paths := []string{wire.HelloPath, wire.DeliverPath, wire.ReportPath, wire.PollPath, wire.UpdatePath, wire.RequestPath, "/api/captures", "/api/captures/1/cancel"}
	open := newSite(t, nil)
	locked := newSite(t, func(c *Config) { c.Addr, c.Token = netip.MustParseAddr("0.0.0.0"), "secret" })
	for _, p := range paths {
		if res, _ := open.do("POST", p, strings.NewReader("{}"), "Sec-Fetch-Site", "cross-site"); res.StatusCode != 403 {
			t.Errorf("%s from another site: %d", p, res.StatusCode)
		}
		if res, _ := locked.do("POST", p, strings.NewReader("{}")); res.StatusCode != 401 {
			t.Errorf("%s without the token: %d", p, res.StatusCode)
		}
		if res, _ := locked.do("POST", p, strings.NewReader("{}"), "Authorization", "Bearer wrong"); res.StatusCode != 401 {
			t.Errorf("%s with a wrong token: %d", p, res.StatusCode)
		}
	}
	res, body := locked.do("POST", wire.HelloPath, strings.NewReader(`{"Collector":"c"}`), "Authorization", "Bearer secret")
	if res.StatusCode != 200 {
		t.Errorf("with the token: %d %s", res.StatusCode, body)
	}
}

func TestCapturesOverHTTP(t *testing.T) {
	a := newAPI(t, store.Options{})
	now := time.Now().UnixNano()
	b := &store.Batch{Seq: 1, Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "running"}}}}}
	rep := wire.Report{Collector: "c"}
	for i, name := range []string{"rank0", "rank1"} {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: key(name), Rank: i, GPU: -1})
		b.Rows = append(b.Rows, store.Row{Engine: i, Time: now, Step: 1, Values: []float64{float64(i)}}) // rank0 is idle
		rep.Targets = append(rep.Targets, wire.Target{Health: wire.Up, CanCapture: true, Engines: []store.EngineKey{key(name)}})
	}
	a.want(204, "POST", wire.DeliverPath+"?collector=c", bytes.NewReader(packedBatch(t, b)), "Content-Type", wire.BatchType, "Content-Encoding", "gzip")
	report, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	a.want(204, "POST", wire.ReportPath, bytes.NewReader(report))

	const all = `{"deployment":"prod","steps":10,"output_dir":"/tmp","note":"n"}`
	idle := a.want(409, "POST", "/api/captures", strings.NewReader(all))
	if got, want := strings.TrimSpace(string(idle.body)), `{"error":"no sequence is running on rank0: the trace would hold empty steps","hint":"wait for load, or ask again with \"force\": true","code":"capture_idle","params":["rank0"],"zh":{"error":"rank0 上没有正在运行的序列：trace 里只会有空步","hint":"请等有负载时再试，或加上 \"force\": true 重新请求"},"idle":["rank0"]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	type capture struct {
		ID                int64
		Deployment, State string
		Engine, By        string
		Steps             int
		Warning           string
		Done              bool
		Times             map[string]time.Time
		MoreTraces        []string `json:"more_traces"`
	}
	var made struct{ Captures []capture }
	forced := strings.Replace(all, "{", `{"force":true,`, 1)
	r := a.want(201, "POST", "/api/captures", strings.NewReader(forced), "User-Agent", "stepscope/1.0")
	if err := json.Unmarshal(r.body, &made); err != nil || len(made.Captures) != 2 {
		t.Fatalf("%s (%v)", r.body, err)
	}
	c := made.Captures[0]
	if c.Engine != "rank0" || c.Deployment != "prod" || c.State != "queued" || c.By != "cli 127.0.0.1" || c.Steps != 10 || c.Warning == "" || c.Done || c.Times["queued"].IsZero() || c.MoreTraces == nil {
		t.Errorf("%+v", c)
	}
	get := func(query string) (got struct {
		Captures []capture
		Next     *int64
	}) {
		t.Helper()
		r := a.want(200, "GET", "/api/captures"+query, nil)
		if err := json.Unmarshal(r.body, &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if l := get("?deployment=prod&active=1"); len(l.Captures) != 2 || l.Captures[0].Engine != "rank1" || l.Next != nil {
		t.Errorf("%+v; want the newest first", l)
	}
	l := get("?limit=1")
	if len(l.Captures) != 1 || l.Next == nil {
		t.Fatalf("%+v", l)
	}
	if l := get(fmt.Sprintf("?limit=1&before=%d", *l.Next)); len(l.Captures) != 1 || l.Captures[0].Engine != "rank0" {
		t.Errorf("the second page is %+v", l)
	}
	if l := get("?deployment=other"); len(l.Captures) != 0 || l.Captures == nil {
		t.Errorf("%+v; want an empty list", l)
	}

	one := fmt.Sprintf("/api/captures/%d", c.ID)
	a.want(200, "POST", one+"/cancel", nil)
	r = a.want(200, "GET", one, nil)
	if err := json.Unmarshal(r.body, &c); err != nil || c.State != "cancelled" || !c.Done {
		t.Errorf("%s (%v)", r.body, err)
	}
	a.refused(409, "is cancelled already", "POST", one+"/cancel", nil)
	a.refused(404, "no capture with this id", "GET", "/api/captures/999", nil)
	a.refused(404, "no capture with this id", "POST", "/api/captures/999/cancel", nil)
	for _, id := range []string{"x", "0", "-1", "1.5"} {
		a.refused(400, "no id", "GET", "/api/captures/"+id, nil)
	}
	a.refused(400, "limit", "GET", "/api/captures?limit=501", nil)
	a.refused(400, "before", "GET", "/api/captures?before=x", nil)
	// Commands come through the poll, over HTTP as in the process.
	r = a.want(200, "POST", wire.PollPath+"?collector=c", nil)
	var list []wire.Command
	if err := json.Unmarshal(r.body, &list); err != nil || len(list) != 1 || list[0].Capture.Engine != key("rank1") {
		t.Errorf("%s (%v)", r.body, err)
	}
}

func TestWhoAsksIsOnRecord(t *testing.T) {
	f := func(want, remote string, header ...string) {
		t.Helper()
		r := &http.Request{RemoteAddr: remote, Header: http.Header{}}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		if got := whoAsks(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("api 10.0.0.3", "10.0.0.3:5555")
	f("cli ::1", "[::1]:5555", "User-Agent", "stepscope/1.0")
	f("page 127.0.0.1", "127.0.0.1:1", "Sec-Fetch-Site", "same-origin", "User-Agent", "Mozilla/5.0")
	f("api 10.0.0.3", "10.0.0.3:5555", "X-Forwarded-For", "1.2.3.4")
}
