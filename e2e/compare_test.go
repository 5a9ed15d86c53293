package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// comparable gives a server two deployments with the same load, of which the second generates 10 % fewer tokens.
func comparable(t testing.TB) *server {
	srv := newServer(t)
	c := joinCollector(t, srv, "node1")
	c.deliverDeployment("old", 4, figures{tps: 8000, sps: 30, accept: 0.6, running: 60, arrival: 10}, 1)
	c.deliverDeployment("new", 4, figures{tps: 7200, sps: 27, accept: 0.5, running: 66, arrival: 10}, 2)
	c.deliverDeployment(hostileName, 2, figures{tps: 7900, sps: 30, accept: 0.6, running: 60, arrival: 10}, 3)
	return srv
}

func TestCompareDeployments(t *testing.T) {
	srv := comparable(t)
	p := open(t, srv, "/compare?range=1h")
	p.set("fieldset.new select[name=d]", "old")
	p.until(`location.search === "?c=old&range=1h" && document.querySelector("fieldset[data-letter=a]") !== null`)
	p.set("fieldset.new select[name=d]", "new")
	p.until(`location.search === "?c=old&c=new&range=1h"`)
	p.compared()
	if got := p.text(".answer"); !strings.Contains(got, "B generates") || !strings.Contains(got, "fewer tokens per second than A") {
		t.Errorf("the answer: %q", got)
	}
	if got := p.text("#fair"); !strings.Contains(got, "Arrival rate") || strings.Contains(got, "not fair") {
		t.Errorf("fairness: %q", got)
	}
	row := p.text(`tr[data-id="completion_TPS|||"]`)
	if !strings.Contains(row, "worse") || !strings.Contains(row, "↓") || !strings.Contains(row, "−") {
		t.Errorf("10 %% fewer tokens: %q", row)
	}
	if got := p.text(`tr[data-id="avg_input_length|||"]`); !strings.Contains(got, "no evidence") {
		t.Errorf("the same lengths: %q", got)
	}
	// Everything exact is there on focus, and the definition one click away.
	eval[bool](p, `document.querySelector('tr[data-id="completion_TPS|||"] [data-key=diffb]').focus() ?? true`)
	p.until(`document.querySelector("#inspect").textContent.includes("for the whole table")`)
	p.click(`tr[data-id="completion_TPS|||"] summary`)
	p.until(`document.querySelector('tr[data-id="completion_TPS|||"] .definition').offsetHeight > 0`)
	p.fits("compare")
	p.fullShot("compare-light")

	// Curves come when they are in sight, on one scale, and one cursor goes over all.
	eval[bool](p, `(document.querySelector("#plots").scrollIntoView(), true)`)
	p.until(`document.querySelectorAll(".trails canvas").length >= 2`)
	if said := eval[string](p, `document.querySelector(".trails").getAttribute("aria-label")`); !strings.Contains(said, ": A ") || !strings.Contains(said, "; B ") {
		t.Errorf("the curves are described as %q", said)
	}
	p.hover(".multiple .trails", 0.25, 0.5) // in the middle of the first of two plots
	p.until(`[...document.querySelectorAll(".multiple [data-role=at]")].filter((s) => /A [\d,.]+ · B /.test(s.textContent)).length >= 2`)
	p.shot("compare-curves")
	path, name := p.download(func() { p.click(".multiple [data-action=png]") })
	if raw, err := os.ReadFile(path); err != nil || !strings.HasSuffix(name, ".png") {
		t.Errorf("picture %q: %v", name, err)
	} else if img, err := png.Decode(bytes.NewReader(raw)); err != nil || img.Bounds().Dx() < 200 {
		t.Errorf("the picture: %v", err)
	}
	// By step instead of time; the address follows.
	p.click(`a[data-align=step]`)
	p.until(`location.search.includes("align=step") && document.querySelector(".multiple").dataset.axis === "step"`)

	// Filtering and going through the rows by keys.
	p.key("/")
	p.do(chromedp.SendKeys(chromedp.CSS("#metrics [data-role=filter]"), "acceptance"))
	p.until(`location.search.includes("q=acceptance")`)
	left := eval[[]string](p, `[...document.querySelectorAll("tr.metric:not([hidden])")].map((r) => r.innerText.toLowerCase())`)
	for _, row := range left {
		if !strings.Contains(row, "acceptance") {
			t.Errorf("the filter left %q", row)
		}
	}
	if all := eval[int](p, `document.querySelectorAll("tr.metric").length`); len(left) == 0 || len(left) == all {
		t.Errorf("%d of %d rows are left", len(left), all)
	}
	// Sorted by a link, without losing the filter.
	p.press(`th.against a.sort`)
	p.until(`location.search.includes("sort=b.size") && location.search.includes("q=acceptance") && document.querySelector("th.against").getAttribute("aria-sort") === "descending"`)
	p.compared()
	p.key("\x1bj")
	p.until(`document.activeElement.closest("tr") === document.querySelector("tr.metric:not([hidden])")`)
	p.key("c")
	p.until(`document.activeElement.matches("select[name=d]")`)
}

// compared waits until the comparison is there.
func (p *tab) compared() {
	p.t.Helper()
	p.until(`document.querySelector("#comparison")?.dataset.pending === "false" && document.querySelector("#metrics [data-role=count]").textContent !== ""`)
}

func TestCompareColumnsChange(t *testing.T) {
	srv := comparable(t)
	p := open(t, srv, "/compare?c=old&c=new&theme=dark")
	p.compared()
	p.fullShot("compare-dark")
	specs := func() string {
		u, err := url.Parse(eval[string](p, `location.href`))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(u.Query()["c"], " ")
	}
	change := func(want string, act func()) {
		t.Helper()
		act()
		p.until(fmt.Sprintf(`new URLSearchParams(location.search).getAll("c").join(" ") === %s`, quote(want)))
		p.compared()
		if got := specs(); got != want {
			t.Errorf("columns %q, want %q", got, want)
		}
	}
	change("new old", func() { p.press(`fieldset[data-letter=b] .moves a:nth-child(2)`) })
	if got := p.text(".answer"); !strings.Contains(got, "more tokens per second than A") {
		t.Errorf("turned round: %q", got)
	}
	change("new@-15m old", func() { p.set("fieldset[data-letter=a] select[name=r]", "-15m") })
	change("new@-15m old "+hostileName, func() { p.set("fieldset.new select[name=d]", hostileName) })
	unharmed(t, p)
	p.fits("three columns")
	p.fullShot("compare-three")
	change("new@-15m "+hostileName, func() { p.press(`fieldset[data-letter=b] .moves a:last-child`) })
	eval[bool](p, `history.back() ?? true`)
	p.until(`new URLSearchParams(location.search).getAll("c").length === 3`)
}

func TestCompareSaysWhatIsWrong(t *testing.T) {
	srv := comparable(t)
	p := open(t, srv, "/compare?c=old&c=gone")
	p.until(`document.querySelector(".refused") !== null || document.querySelector("#comparison .bad") !== null`)
	p.allow("404")
	if got := p.text("main"); !strings.Contains(got, "gone") {
		t.Errorf("a deployment that isn't there: %q", got)
	}
	q := open(t, srv, "/compare?c=old&c=new", noScript)
	q.until(`document.body !== null`)
	for range 20 { // without scripts one asks again by oneself
		if q.visible("#metrics") {
			break
		}
		q.navigate(srv.url("/compare?c=old&c=new"))
	}
	if !strings.Contains(q.text(`tr[data-id="completion_TPS|||"]`), "worse") {
		t.Error("without scripts there is no table")
	}
}

func TestCompareExports(t *testing.T) {
	srv := comparable(t)
	var table struct{ Columns []struct{ Letter string } }
	raw := srv.get(t, "/api/compare?c=old&c=new")
	if err := json.Unmarshal(raw, &table); err != nil && !json.Valid(raw) {
		t.Errorf("JSON: %v", err)
	}
	csv := string(srv.get(t, "/api/compare?c=old&c=new&format=csv"))
	if !strings.Contains(csv, "completion_TPS") {
		t.Errorf("CSV: %.300s", csv)
	}
	md := string(srv.get(t, "/api/compare?c=old&c=new&format=md"))
	if !strings.Contains(md, "| ") || !strings.Contains(md, "worse") {
		t.Errorf("Markdown: %.300s", md)
	}
}

func TestComparePhone(t *testing.T) {
	srv := comparable(t)
	for _, width := range []int64{320, 390} {
		p := open(t, srv, "/compare?c=old&c=new&show=headline", size(width, 844))
		p.compared()
		p.fits(fmt.Sprintf("compare at %d px", width))
		p.fullShot(fmt.Sprintf("compare-%d", width))
		for _, path := range []string{"/captures?deployment=old", "/collector", "/compare/traces"} {
			p.navigate(srv.url(path))
			p.until(`document.readyState === "complete"`)
			p.fits(fmt.Sprintf("%s at %d px", path, width))
		}
	}
}

// slowTrace is smallTrace's engine with more layers: every step takes longer.
var slowTrace = maker("slow.json", kineto.Options{Seed: 4, Steps: 12, IdleSteps: 1, Layers: 6, BytesPerStep: 150_000})

func TestCompareKeptTraces(t *testing.T) {
	srv := newServer(t)
	a := keepByAPI(t, srv, smallTrace(t).path, "small.json")
	b := keepByAPI(t, srv, slowTrace(t).path, hostileName+".json")
	p := open(t, srv, "/compare/traces?a="+a+"&b="+b)
	p.until(`document.querySelector("#pair").dataset.state === "done"`)
	unharmed(t, p)
	if got := p.text("#pair-verdict"); !strings.Contains(got, "Decode cycle") || !strings.Contains(got, "in B against") {
		t.Errorf("verdict: %q", got)
	}
	if got := p.text(`table[data-table=dkinds]`); !strings.Contains(got, "Decode steps") || !strings.Contains(got, "B − A") {
		t.Errorf("kinds: %.300q", got)
	}
	p.fits("two traces")
	p.fullShot("pair-light")
	// The largest difference stands first.
	deltas := eval[[]float64](p, `[...document.querySelectorAll("table[data-table=dgpu] tbody [data-key=delta_ns]")].map((c) => Math.abs(Number(c.title.replace(/[^0-9]/g, ""))))`)
	for i := 1; i < len(deltas); i++ {
		if deltas[i] > deltas[i-1] {
			t.Errorf("differences are not sorted by size: %v", deltas)
		}
	}
	// A row leads to its place in both traces.
	href := eval[string](p, `[...document.querySelectorAll("table[data-table=dphases] tr[data-id]")].find((r) => r.dataset.id === "deepinfer:schedule").querySelector("td.open a[data-letter=b]").getAttribute("href")`)
	q := open(t, srv, href)
	q.done()
	if got := eval[string](q, `document.querySelector("#phases [data-role=filter]").value`); got != "deepinfer:schedule" {
		t.Errorf("the viewer's filter is %q", got)
	}
	if top := eval[float64](q, `document.querySelector("#phases").getBoundingClientRect().top`); top < -20 || top > 400 {
		t.Errorf("the viewer did not go to the phases: they begin at %v", top)
	}
	// Turned round, every difference changes its sign.
	before := p.text(`tr[data-id="decode delta"] [data-key=cycle_ns]`)
	p.click("#swap")
	p.until(`new URLSearchParams(location.search).get("a") === ` + quote(b))
	p.until(`document.querySelector("#pair").dataset.state === "done" && document.querySelector('tr[data-id="decode delta"]') !== null`)
	if after := p.text(`tr[data-id="decode delta"] [data-key=cycle_ns]`); after == before || before[0] == after[0] {
		t.Errorf("B − A was %q and is %q turned round", before, after)
	}
	p.click(`[data-norm=trace]`)
	p.until(`location.hash.includes("norm=trace") && document.querySelector("#pair-norm").textContent === "sums of the whole traces"`)
	p.navigate(srv.url("/compare/traces?a=" + a + "&b=" + b + "&theme=dark&lang=zh"))
	p.until(`document.querySelector("#pair").dataset.state === "done"`)
	p.fullShot("pair-dark-zh")
}

func TestCompareDroppedFiles(t *testing.T) {
	cpuOnly := corpus(t, "cases", "23-cpu-only-no-kernels.json")
	p := open(t, shared, "/compare/traces")
	p.dropAt(200, smallTrace(t).path)
	p.until(`document.querySelector("#pair").dataset.state === "one"`)
	p.dropAt(1200, cpuOnly)
	p.until(`document.querySelector("#pair").dataset.state === "done"`)
	if got := p.text("#pair-notes"); !strings.Contains(got, "B has no GPU events") || !strings.Contains(got, "Capture again with GPU") {
		t.Errorf("notes: %q", got)
	}
	p.fullShot("pair-no-gpu")
	p.dropAt(1200, slowTrace(t).path)
	p.until(`document.querySelector("#pair").dataset.state === "done" && document.querySelector('tr[data-id="decode delta"]') !== null`)
	// A dropped file has no address: the viewer gets it from this page.
	href := eval[string](p, `document.querySelector("table[data-table=dkernels] td.open a[data-letter=a]").getAttribute("href")`)
	if !strings.HasPrefix(href, "/trace?handover=") {
		t.Fatalf("the link is %q", href)
	}
	ctx, cancel := chromedp.NewContext(p.ctx)
	t.Cleanup(cancel)
	q := &tab{t: t, ctx: ctx, close: cancel, srv: shared}
	if err := focused(q); err != nil {
		t.Fatal(err)
	}
	q.navigate(shared.url(href))
	q.done()
	if got := q.fact("File"); got != filepath.Base(smallTrace(t).path) {
		t.Errorf("the viewer shows %q", got)
	}
}

// dropAt drags a file to a place of the window and drops it.
func (p *tab) dropAt(x float64, file string) {
	p.t.Helper()
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: absolute(p.t, []string{file}), DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{
		input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop,
	} {
		if _, err := chromedp.Call(p.ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: x, Y: 300, Data: data}); err != nil {
			p.t.Fatal(err)
		}
		if kind == input.DispatchDragEventTypeDragOver {
			p.until(`"dragging" in document.documentElement.dataset`)
		}
	}
}

// press activates an element that may lie outside the window.
func (p *tab) press(selector string) {
	p.t.Helper()
	p.until(`document.querySelector(` + quote(selector) + `) !== null`)
	eval[bool](p, `document.querySelector(`+quote(selector)+`).click() ?? true`)
}

// hover moves the pointer over an element, to so large a part of its width and height.
func (p *tab) hover(selector string, right, down float64) {
	p.t.Helper()
	at := eval[[2]float64](p, `(() => { const r = document.querySelector(`+quote(selector)+`).getBoundingClientRect(); return [r.x + r.width * `+fmt.Sprint(right)+`, r.y + r.height * `+fmt.Sprint(down)+`]; })()`)
	if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at[0], Y: at[1]}); err != nil {
		p.t.Fatal(err)
	}
}
