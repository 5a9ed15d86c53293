package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

func TestCaptureFromThePage(t *testing.T) {
	srv := newServer(t)
	p := open(t, srv, "/captures")
	if got := p.text("main"); !strings.Contains(got, "No engine is known yet") || !strings.Contains(got, "Nothing was captured yet.") {
		t.Errorf("an empty server's page says %q", got)
	}
	c := joinCollector(t, srv, "node1")
	c.deliverDeployment("production", 2, figures{tps: 8000, sps: 30, accept: 0.6, running: 60, arrival: 10}, 1)
	first, second := store.EngineKey{Deployment: "production", Name: "rank0"}, store.EngineKey{Deployment: "production", Name: "rank1"}
	c.report(wire.Report{Targets: []wire.Target{captureTarget(first, "127.0.0.1:6070")}})

	p.navigate(srv.url("/captures"))
	p.set("#deployment", "production")
	p.until(`document.querySelectorAll("input[name=engine]").length === 2`)
	if got := p.text(".engines-choice"); !strings.Contains(got, "no collector reports a profile interface of it") {
		t.Errorf("an engine that can't be captured should say why: %q", got)
	}
	// 20 steps of 4.9 MB: 98 MB.
	if got := p.text("#expect"); !strings.Contains(got, "20 steps make about 98") {
		t.Errorf("expected size: %q", got)
	}
	p.set("input[name=steps]", "10")
	p.until(`document.querySelector("#expect").textContent.includes("10 steps make about 49 MB")`)
	p.fits("form")
	p.shot("captures-form")
	p.click("#capture-form button[type=submit]")
	p.until(`document.querySelector("tr[data-id^=c] .capture-state.queued") !== null`)

	got := c.commands()
	if len(got) != 1 || got[0].Capture == nil || got[0].Capture.Engine != first || got[0].Capture.Steps != 10 {
		t.Fatalf("the collector was told %+v", got)
	}
	x := *got[0].Capture
	c.update(x, store.Asked, nil)
	p.until(`document.querySelector("tr[data-id^=c] .capture-state.asked") !== null`)
	c.update(x, store.Captured, func(x *store.Capture) { x.Path, x.Bytes = "/tmp/"+hostileName+".json", 49_000_000 })
	p.until(`document.querySelector("tr[data-id^=c] .capture-state.captured") !== null`)
	id := keepByAPI(t, srv, smallTrace(t).path, "captured.json")
	c.update(x, store.Stored, func(x *store.Capture) { x.Path, x.Bytes, x.TraceID = "/tmp/a.json", 49_000_000, id })
	p.until(`document.querySelector("tr[data-id^=c] .capture-state.stored") !== null`)
	if got := p.text("tr[data-id^=c]"); !strings.Contains(got, "49.0") || !strings.Contains(got, "open in the viewer") {
		t.Errorf("the row of a stored capture: %q", got)
	}
	p.shot("captures-stored")
	p.click("tr[data-id^=c] .result a")
	p.until(`location.pathname === "/trace"`)
	p.done()

	// An engine that recovers is refused with the reason, and the form stays as it was.
	c.report(wire.Report{Targets: []wire.Target{captureTarget(first, "127.0.0.1:6070"), captureTarget(second, "127.0.0.1:6071")}})
	p.navigate(srv.url("/captures?deployment=production&steps=7"))
	p.allow("429")
	p.click("#capture-form button[type=submit]")
	p.until(`document.querySelector(".refused") !== null`)
	if got := p.text(".refused"); !strings.Contains(got, "recovers") || !strings.Contains(got, "ask again in") {
		t.Errorf("the refusal: %q", got)
	}
	if got := eval[string](p, `document.querySelector("input[name=steps]").value`); got != "7" {
		t.Errorf("the form forgot its steps: %q", got)
	}
	p.shot("captures-refused")
	// The refused form goes on following its engines, although its address does not name their deployment.
	broken := captureTarget(second, "127.0.0.1:6071")
	broken.Health = wire.Down
	c.report(wire.Report{Targets: []wire.Target{captureTarget(first, "127.0.0.1:6070"), broken}})
	p.until(`document.querySelector("input[value=rank1]").disabled && document.querySelector(".engines-choice").textContent.includes("127.0.0.1:6071 can't be reached")`)
	c.report(wire.Report{Targets: []wire.Target{captureTarget(first, "127.0.0.1:6070"), captureTarget(second, "127.0.0.1:6071")}})
	p.until(`!document.querySelector("input[value=rank1]").disabled`)
	if !eval[bool](p, `document.querySelector("input[value=rank1]").checked`) {
		p.click("input[value=rank1]") // an engine that comes back is not ticked by itself
	}

	// Cancelling one that the collector works on.
	p.click("input[name=engine][value=rank0]")
	p.click("#capture-form button[type=submit]")
	p.until(`document.querySelector("#started") !== null`)
	x = *c.commands()[0].Capture
	c.update(x, store.Asked, nil)
	p.until(`document.querySelector(".capture-state.asked") !== null`)
	p.click(".result form button")
	if got := c.commands(); got[0].Cancel != x.ID {
		t.Fatalf("the collector was told %+v, not to cancel %d", got, x.ID)
	}
	c.update(x, store.Cancelled, nil)
	p.until(`document.querySelector(".capture-state.cancelled") !== null`)
	if got := p.text("#record"); !strings.Contains(got, "cancelled by page 127.0.0.1") {
		t.Errorf("the record does not say who cancelled: %q", got)
	}
}

func TestIdleEnginesAreWarnedOf(t *testing.T) {
	srv := newServer(t)
	c := joinCollector(t, srv, "node1")
	c.deliverDeployment("idle", 1, figures{tps: 1, sps: 1, accept: 0.5, running: 0, arrival: 0}, 1)
	e := store.EngineKey{Deployment: "idle", Name: "rank0"}
	c.report(wire.Report{Targets: []wire.Target{captureTarget(e, "127.0.0.1:6070")}})
	// All of it works without scripts, too.
	p := open(t, srv, "/captures?deployment=idle", noScript)
	if got := p.text("#idle"); !strings.Contains(got, "No sequence is running on rank0") {
		t.Errorf("before asking: %q", got)
	}
	p.allow("409")
	p.click("#capture-form button[type=submit]")
	p.until(`document.querySelector(".refused") !== null`)
	if got := p.text(".refused"); !strings.Contains(got, "empty steps") {
		t.Errorf("refusal: %q", got)
	}
	p.click("input[name=force]")
	p.click("#capture-form button[type=submit]")
	p.until(`document.querySelector("#started") !== null`)
	if got := p.text("#record"); !strings.Contains(got, "queued") || !strings.Contains(got, "no running sequence") {
		t.Errorf("after insisting: %q", got)
	}
}

func TestCollectorPage(t *testing.T) {
	srv := newServer(t)
	p := open(t, srv, "/collector")
	if got := p.text("main"); !strings.Contains(got, "No collector was heard") {
		t.Errorf("an empty server's page: %q", got)
	}
	p.shot("collector-empty")
	c := joinCollector(t, srv, hostileName)
	e := store.EngineKey{Deployment: hostileName, Name: hostileName}
	up := wire.Target{Name: "/var/log/" + hostileName, Source: "log", Kind: "deepinfer", Engines: []store.EngineKey{e}, Health: wire.Up,
		Last: time.Now(), Lines: 12_345, Samples: 540_000, Unreadable: 3, Missing: []string{"ttft_mean: the engine writes none"}, Unknown: []string{"odd_series"}}
	down := wire.Target{Name: "10.0.0.9:8000", Source: "metrics", Kind: "vllm", Health: wire.Down,
		Problem: &wire.Problem{Time: time.Now(), What: "10.0.0.9:8000: connection refused", Hint: "is the server running, and on this port?", Count: 7}}
	c.report(wire.Report{Spooled: 2_500_000, Targets: []wire.Target{up, down}})
	p.until(`document.querySelectorAll("tr[data-id]").length === 2`)
	if got := p.text("#main .verdict"); got != "1 collector reads 2 targets; 1 down; 1 up; 2.50 MB wait for this server." {
		t.Errorf("verdict: %q", got)
	}
	rows := eval[[]string](p, `[...document.querySelectorAll("tr[data-id]")].map((r) => r.innerText)`)
	if !strings.Contains(rows[0], "connection refused") || !strings.Contains(rows[0], "7 times in a row") || !strings.Contains(rows[0], "is the server running") {
		t.Errorf("the one that is down stands first, with cause and next step: %q", rows[0])
	}
	if !strings.Contains(rows[1], "12,345") || !strings.Contains(rows[1], "540,000") || !strings.Contains(rows[1], "metrics not exposed: 1") {
		t.Errorf("the other: %q", rows[1])
	}
	// An open list stays open while figures change in place.
	p.click("tr[data-id] details:not(.nothing) summary")
	up.Lines = 12_346
	c.report(wire.Report{Targets: []wire.Target{up, down}})
	p.until(`document.querySelector("main").innerText.includes("12,346")`)
	if !eval[bool](p, `document.querySelector("tr[data-id] details:not(.nothing)").open`) {
		t.Error("an update closed the list of missing metrics")
	}
	p.fits("collector")
	p.fullShot("collector")
	p.click(".search a")
	p.until(`location.search.includes("only=trouble")`)
	unharmed(t, p)
}
