package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/stepscope/stepscope/store"
)

// fleetBatch is an hour of a deployment of DeepInfer engines, a line every 20 s: decode and prompt steps in turn, timers
// and drafts by position. Engine odd, if there is one, generates half of what the others do.
func fleetBatch(name string, engines, odd int) *store.Batch {
	stats := store.Layout{Section: "stats", Columns: []store.Column{
		{Metric: "completion_TPS"}, {Metric: "prompt_TPS"}, {Metric: "running"}, {Metric: "pending"}, {Metric: "KV_cache_usage"},
		{Metric: "TTFT_max"}, {Metric: "batch_usage"}, {Metric: "avg_nextn_accept_rate"}, {Metric: "verified_tokens"},
		{Metric: "nextn_accept_rate", Label: "1"}, {Metric: "nextn_accept_rate", Label: "2"}, {Metric: "finished"}}}
	cpu := store.Layout{Section: "cpu", Columns: []store.Column{
		{Metric: "cpu_cur", Label: "worker.forward"}, {Metric: "cpu_mean", Label: "worker.forward"}, {Metric: "cpu_max", Label: "worker.forward"}, {Metric: "cpu_calls", Label: "worker.forward"}}}
	b := &store.Batch{Layouts: []store.Layout{stats, cpu}}
	end := time.Now().Add(-5 * time.Second).UnixNano()
	const lines, every = 180, int64(20 * time.Second)
	for e := range engines {
		b.Engines = append(b.Engines, store.EngineInfo{EngineKey: store.EngineKey{Deployment: name, Name: fmt.Sprintf("rank%d", e)},
			Kind: "deepinfer", Host: "node1", Rank: e, GPU: e, Role: "mixed", Model: "model-x", Parallel: "dp4", Version: "1.2"})
		for i := range lines {
			wave := 1 + 0.1*math.Sin(float64(i)/9)
			tps := 1000 * wave
			if e == odd {
				tps /= 2
			}
			flags, usage, ttft := store.DecodeStep, 0.3, math.NaN()
			if i%4 == 0 {
				flags, usage, ttft = store.PromptStep, 0.8, 150*wave
			}
			at, step := end-int64(lines-1-i)*every+int64(e)*1e6, int64(5000+100*i)
			b.Rows = append(b.Rows,
				store.Row{Engine: e, Layout: 0, Time: at, Step: step, Flags: flags,
					Values: []float64{tps, 3000 * wave, 16, 1, 0.5 * wave, ttft, usage, 0.7, 900, 0.8, 0.6, float64(100 * i)}},
				store.Row{Engine: e, Layout: 1, Time: at, Step: step, Values: []float64{20 * wave, 20, 31, 100}})
		}
	}
	ago := func(d time.Duration) int64 { return end - int64(d) }
	b.Events = []store.Event{
		{Engine: 0, Kind: store.CaptureEvent, From: ago(40 * time.Minute), To: ago(38 * time.Minute), FromStep: -1, ToStep: -1, Detail: "20 steps"},
		{Engine: 0, Kind: store.Restart, From: ago(30 * time.Minute), To: ago(30 * time.Minute), FromStep: -1, ToStep: -1},
		{Engine: int64(engines - 1), Kind: store.Silence, From: ago(25 * time.Minute), To: ago(20 * time.Minute), FromStep: -1, ToStep: -1},
	}
	return b
}

// newest is one more line of a deployment's first engine, generating tps.
func newest(name string, tps float64) *store.Batch {
	return &store.Batch{
		Layouts: []store.Layout{{Section: "stats", Columns: []store.Column{{Metric: "completion_TPS"}}}},
		Engines: []store.EngineInfo{{EngineKey: store.EngineKey{Deployment: name, Name: "rank0"}, Kind: "deepinfer", Rank: 0, GPU: 0}},
		Rows:    []store.Row{{Time: time.Now().UnixNano(), Step: 90_000, Flags: store.DecodeStep, Values: []float64{tps}}},
	}
}

func TestFleetPage(t *testing.T) {
	srv := newServer(t)
	p := open(t, srv, "/")
	p.until(`location.pathname === "/trace"`) // without engines there is no fleet to lead to
	c := joinCollector(t, srv, "node1")
	c.deliver(fleetBatch("canary", 4, 2))
	c.deliver(fleetBatch("wide", 24, -1))
	c.deliver(fleetBatch(hostileName, 1, -1))
	p.navigate(srv.url("/"))
	p.until(`location.pathname === "/fleet"`)
	row := func(name string) string { return fmt.Sprintf(`tbody[data-id=%s]`, quote(name)) }
	// What came within the last second comes to the page by itself.
	p.until(`document.querySelector('tbody[data-id="canary"] [data-live=completion_TPS]')?.textContent.includes("3,8") && document.querySelectorAll("tbody[data-id]").length === 3`)
	if got := p.text(row("canary") + " tr.deployment"); !strings.Contains(got, "4 engines · DeepInfer · dp4 · model-x") {
		t.Errorf("the deployment's row: %q", got)
	}
	if p.visible(row("wide")+" tr.engine") || !p.visible(row("canary")+" tr.engine") {
		t.Error("24 engines are shown at once, or 4 are not")
	}
	p.fits("fleet")
	p.shot("fleet-light")

	// A line that comes changes the value in place, and leaves a form alone that is being filled in.
	p.click(row("canary") + " .edit summary")
	p.do(chromedp.SendKeys(chromedp.CSS(row("canary")+" [name=note]"), "half a sentence"))
	eval[bool](p, `(window.before = document.querySelector('tbody[data-id="canary"] tr[data-id="e:rank0"]'), true)`)
	c.deliver(newest("canary", 4321))
	p.until(`document.querySelector('tbody[data-id="canary"] tr[data-id="e:rank0"] [data-live=completion_TPS]').textContent.includes("4,321")`)
	if !eval[bool](p, `document.querySelector('tbody[data-id="canary"] tr[data-id="e:rank0"]') === window.before &&
		document.querySelector('tbody[data-id="canary"] [name=note]').value === "half a sentence"`) {
		t.Error("the row was replaced, or the form lost what was typed")
	}

	// Folding, filtering and definitions.
	p.click(row("wide") + " a.fold")
	p.until(`document.querySelectorAll('tbody[data-id="wide"] tr.engine').length === 24 && location.search.includes("open=wide")`)
	p.key("/")
	p.do(chromedp.SendKeys(chromedp.CSS("#q"), "rank17"))
	p.until(`document.querySelectorAll("tr.engine").length === 1 && location.search.includes("q=rank17")`)
	p.navigate(srv.url("/fleet"))
	p.click("thead a[href='#def-KV_cache_usage']")
	p.until(`document.activeElement.id === "def-KV_cache_usage" && document.activeElement.innerText.includes("(blocks − 1)")`)

	// Editing and deleting are forms; both say what was done, and deleting can be undone.
	p.navigate(srv.url("/fleet"))
	p.click(row("canary") + " .edit summary")
	p.set(row("canary")+" [name=gpus]", "4")
	p.set(row("canary")+" [name=labels]", "build=77")
	p.click(row("canary") + " .edit .primary")
	p.until(`location.search === "" && document.querySelector(".banner")?.textContent === "Saved." && document.body.innerText.includes("4 GPUs") && document.body.innerText.includes("build=77")`)
	p.click(row("canary") + " .edit summary")
	p.click(row("canary") + ` form[action="/deployments/delete"] button`)
	p.until(`document.querySelector(".banner button") && !document.querySelector('tbody[data-id="canary"]')`)
	p.shot("fleet-undo")
	p.click(".banner button")
	p.until(`location.search === "" && document.querySelector(".banner") && document.querySelector('tbody[data-id="canary"]')`)

	for _, shape := range []struct {
		name, query   string
		width, height int64
	}{{"fleet-dark-zh", "?theme=dark&lang=zh&open=wide", 1600, 900}, {"fleet-320", "", 320, 720}, {"fleet-1280", "?lang=en", 1280, 800}} {
		q := open(t, srv, "/fleet"+shape.query, size(shape.width, shape.height))
		q.until(`document.querySelectorAll("tbody tr.engine").length > 0`)
		q.fits(shape.name)
		q.shot(shape.name)
	}
	plain := open(t, srv, "/fleet?q=canary", noScript)
	if got := plain.text(row("canary")); !strings.Contains(got, "rank2") {
		t.Errorf("without JavaScript: %q", got)
	}
}

// drag draws the mouse over an element, from one share of its width to another.
func (p *tab) drag(selector string, from, to float64) {
	p.t.Helper()
	eval[bool](p, `(document.querySelector(`+quote(selector)+`).scrollIntoView({ block: "center" }), true)`)
	box := eval[[4]float64](p, `(() => { const r = document.querySelector(`+quote(selector)+`).getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`)
	y := box[1] + box[3]/2
	at := func(kind input.DispatchMouseEventType, share float64, buttons int64) {
		params := input.DispatchMouseEventParams{Type: kind, X: box[0] + share*box[2], Y: y, Button: input.MouseButtonLeft, Buttons: buttons, ClickCount: 1}
		if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, params); err != nil {
			p.t.Fatal(err)
		}
	}
	at(input.DispatchMouseEventTypeMouseMoved, from, 0)
	at(input.DispatchMouseEventTypeMousePressed, from, 1)
	for i := 1; i <= 5; i++ {
		at(input.DispatchMouseEventTypeMouseMoved, from+(to-from)*float64(i)/5, 1)
	}
	at(input.DispatchMouseEventTypeMouseReleased, to, 0)
}

// drawn waits until a metric's chart is there with data.
func (p *tab) drawn(metric string) {
	p.t.Helper()
	p.until(`document.querySelector(` + quote("#m-"+metric+" canvas") + `) && document.querySelector(` + quote("#m-"+metric+" [data-role=note]") + `).textContent.match(/samples|个样本/)`)
}

func TestDeploymentPage(t *testing.T) {
	srv := newServer(t)
	c := joinCollector(t, srv, "node1")
	c.deliver(fleetBatch("canary", 4, 2))
	c.deliver(fleetBatch("wide", 24, 7))
	p := open(t, srv, "/deployments/canary?range=1h")
	p.until(`document.querySelector("[data-live=verdict]").textContent.includes("rank2 generates 50.0 % less")`)
	p.drawn("completion_TPS")
	if got := p.text("#m-completion_TPS [data-role=note]"); !strings.Contains(got, "4 engines: sum over engines") || !strings.Contains(got, "rank2 −50.0 %") {
		t.Errorf("the chart's note: %q", got)
	}
	p.until(`document.querySelector("[data-live=changes]")?.textContent.includes("1 × trace capture")`)
	p.fits("deployment")
	p.shot("deployment-light")

	// Charts that nobody has seen are not built.
	if eval[bool](p, `document.querySelector("#g-timers canvas") !== null`) {
		t.Error("a chart far below is built already")
	}
	// Prompt and decode steps are two lines with their names.
	eval[bool](p, `(document.querySelector("#m-batch_usage").scrollIntoView(), true)`)
	p.drawn("batch_usage")
	if got := p.text("#m-batch_usage .legend"); !strings.Contains(got, "decode steps 30.0") || !strings.Contains(got, "prompt steps 80.0") {
		t.Errorf("the legend of batch usage: %q", got)
	}
	// A timer's three parts are one chart.
	eval[bool](p, `(document.querySelector("#g-timers").scrollIntoView(), true)`)
	p.until(`document.querySelector("#g-timers .legend")?.textContent.includes("worst 31.0")`)
	p.shot("deployment-timers")

	// A definition is one click away.
	p.click("#m-completion_TPS .about summary")
	p.until(`document.querySelector("#m-completion_TPS .about-text").innerText.includes("generated tokens of all entries but the first")`)
	p.click("#m-completion_TPS .about summary")

	// A drag over one chart sets the time of all, in the address; Back returns.
	p.drag("#m-completion_TPS .plot-area", 0.4, 0.6)
	p.until(`new URLSearchParams(location.search).has("from") && document.querySelector(".ranges .own summary").textContent.includes("UTC")`)
	span := eval[float64](p, `(() => { const q = new URLSearchParams(location.search); return Date.parse(q.get("to")) - Date.parse(q.get("from")); })()`)
	if want := 0.2 * 3600e3 * 1.2; span < want*0.7 || span > want*1.3 { // the plot is about five sixths of its element
		t.Errorf("a drag over a fifth of the chart chose %v ms of an hour", span)
	}
	p.drawn("completion_TPS")
	p.shot("deployment-brushed")
	// What is shown is what is kept.
	p.click(".baselines summary")
	p.set("#baseline-form [name=label]", "good hour")
	p.click("#baseline-form button")
	p.until(`document.querySelector(".baselines li a")?.textContent === "good hour"`)
	p.click(`.baselines form[action="/baselines/delete"] button`)
	p.until(`document.querySelector(".banner")?.innerText.includes("good hour")`)
	p.click(".banner button")
	p.until(`document.querySelector(".baselines li a")?.textContent === "good hour"`)

	// The filter is in the address, beside what else is chosen, and Back brings it back.
	p.set("#plots-filter", "nextn")
	p.until(`new URLSearchParams(location.search).get("q") === "nextn" && document.querySelector("#m-completion_TPS").hidden`)
	p.click("a[data-switch=view][data-value=engines]")
	p.set("#plots-filter", "no such chart")
	p.until(`!document.querySelector("#plots-none").hidden`)
	eval[bool](p, `(history.back(), true)`)
	p.until(`document.querySelector("#plots-filter").value === "nextn" && document.querySelector("#plots-none").hidden && !location.search.includes("view=")`)

	// New lines appear without a reload.
	p.navigate(srv.url("/deployments/canary?range=live"))
	p.drawn("completion_TPS")
	c.deliver(newest("canary", 54_321))
	p.until(`document.querySelector('[data-live-root=now] tr[data-id="e:rank0"] [data-live=completion_TPS]').textContent.includes("54,321")`)

	// Many engines are a band, the odd one out by name; over steps as over time; Chinese and dark.
	p.navigate(srv.url("/deployments/wide?range=1h&view=engines&theme=dark&lang=zh"))
	p.until(`document.querySelector("#m-completion_TPS [data-role=note]").textContent.includes("rank7 −50.0 %")`)
	if got := p.text("#m-completion_TPS [data-role=note]"); !strings.Contains(got, "24 个引擎：中位数、10–90 % 与极值") {
		t.Errorf("the note of a band: %q", got)
	}
	p.shot("deployment-band-dark-zh")
	p.click("a[data-switch=x][data-value=step]")
	p.until(`document.querySelector("#m-completion_TPS").dataset.axis === "step"`)
	before := eval[string](p, `location.search`)
	p.drag("#m-completion_TPS .plot-area", 0.5, 0.8)
	p.until(`new URLSearchParams(location.search).has("from")`)
	eval[bool](p, `(history.back(), true)`)
	p.until(`location.search === ` + quote(before))

	for _, width := range []int64{320, 768, 1600} {
		q := open(t, srv, "/deployments/canary?range=1h&lang=en&theme=light", size(width, 800))
		eval[bool](q, `(document.querySelector("#m-completion_TPS").scrollIntoView(), true)`)
		q.drawn("completion_TPS")
		q.fits(fmt.Sprintf("deployment at %d px", width))
		q.fullShot(fmt.Sprintf("deployment-%d", width))
	}
}
