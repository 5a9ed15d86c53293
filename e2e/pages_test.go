package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// fullServer is a server with something on every page: two deployments, targets in trouble of several kinds, captures in
// every state, and two kept traces, whose ids it gives.
func fullServer(t *testing.T) (srv *server, a, b string) {
	t.Helper()
	srv = newServer(t)
	c := joinCollector(t, srv, "node1")
	c.deliver(fleetBatch("old", 3, -1))
	c.deliver(fleetBatch("new", 3, 1))
	now := time.Now()
	key := func(d, e string) store.EngineKey { return store.EngineKey{Deployment: d, Name: e} }
	log := wire.Target{Name: "/var/log/rank0.log", Source: "log", Kind: "deepinfer", Engines: []store.EngineKey{key("old", "rank0")}, Health: wire.Up,
		Last: now, Lines: 12_345, Samples: 540_000, Unreadable: 3, Problem: wire.NewProblem(now, "log.unreadable", "3", "/var/log/rank0.log:77"),
		Missing: []string{"TTFT: 7"}}
	report := wire.Report{
		Problems: []wire.Problem{*wire.NewProblem(now, "spool.thinned", "1200")},
		Targets: []wire.Target{log, captureTarget(key("old", "rank0"), "127.0.0.1:6070"), captureTarget(key("old", "rank1"), "127.0.0.1:6071"),
			{Name: "/var/log/rank2.log", Source: "log", Kind: "deepinfer", Health: wire.Down, Engines: []store.EngineKey{key("new", "rank2")},
				Problem: wire.NewProblem(now, "log.permission", "/var/log/rank2.log")},
			{Name: "10.0.0.9:8000", Source: "metrics", Kind: "vllm", Health: wire.Down, Problem: wire.NewProblem(now, "metrics.refused", "10.0.0.9:8000")},
			{Name: "/var/log/rank3.log", Source: "log", Kind: "deepinfer", Health: wire.Waiting, Problem: wire.NewProblem(now, "log.missing", "/var/log/rank3.log")},
		}}
	c.report(report)
	a, b = keepByAPI(t, srv, smallTrace(t).path, "a.json"), keepByAPI(t, srv, slowTrace(t).path, "b.json")
	p := open(t, srv, "/captures?deployment=old")
	p.click("#capture-form button[type=submit]")
	p.until(`document.querySelector("#started") !== null`)
	for _, command := range c.commands() {
		x := *command.Capture
		c.update(x, store.Asked, nil)
		if x.Engine.Name == "rank0" {
			c.update(x, store.Stored, func(x *store.Capture) { x.Path, x.Bytes, x.TraceID = "/data/a.json", 49_000_000, a })
		}
	}
	return srv, a, b
}

// pagesOf are the addresses of every page and of what must be true when it is ready.
func pagesOf(a, b string) [][3]string {
	const chart = `document.querySelector("main canvas") !== null`
	return [][3]string{
		{"fleet", "/fleet", `document.querySelectorAll("tr[data-id]").length > 0`},
		{"deployment", "/deployments/new?range=1h", chart},
		{"compare", "/compare?c=old&c=new&range=1h", `document.querySelector("#comparison table") !== null`},
		{"compare-traces", "/compare/traces?a=" + a + "&b=" + b, `document.querySelector("#pair").dataset.state === "done"`},
		{"compare-traces-empty", "/compare/traces", `true`},
		{"captures", "/captures?deployment=old", `document.querySelectorAll("tr[data-id]").length > 0`},
		{"collector", "/collector", `document.querySelectorAll("tr[data-id]").length > 0`},
		{"traces", "/traces", `document.querySelectorAll("table.kept tbody tr").length === 2`},
		{"trace-empty", "/trace", `document.querySelector("#trace").dataset.state === "empty"`},
		{"trace", "/trace?trace=/api/traces/" + a + "/content", `document.querySelector("#trace").dataset.state === "done"`},
		{"trace-missing", "/trace?trace=/api/traces/" + strings.Repeat("0", 64) + "/content", `document.querySelector("#trace").dataset.state === "error"`},
		{"error-404", "/nowhere", `true`},
		{"error-400", "/deployments/new?from=x&to=y", `true`},
		{"login", "/login", `true`},
	}
}

// emptyPages are pages of a server that knows nothing yet.
var emptyPages = [][3]string{
	{"none-fleet", "/fleet", `true`}, {"none-compare", "/compare", `true`}, {"none-captures", "/captures", `true`},
	{"none-collector", "/collector", `true`}, {"none-traces", "/traces", `true`},
}

// TestEveryPage opens every page, light in English and dark in Chinese, on a telephone and on a desk: none is wider than its
// window, none lacks names for what one can use, and Chinese pages speak Chinese. The pictures are to be looked at.
func TestEveryPage(t *testing.T) {
	srv, a, b := fullServer(t)
	none := newServer(t)
	for _, look := range [...]struct{ lang, theme string }{{"en", "light"}, {"zh", "dark"}} {
		visit := func(s *server, pages [][3]string) {
			p := open(t, s, "/login?lang="+look.lang+"&theme="+look.theme)
			p.allow(`status of (404|400)`)
			for _, page := range pages {
				name := "pages/" + page[0] + "-" + look.lang + "-" + look.theme
				p.do(chromedp.EmulateViewport(1280, 900))
				p.navigate(s.url(page[1]))
				p.until(page[2])
				p.fits(name + " at 1280 px")
				if look.lang == "zh" {
					p.speaksChinese(name)
				}
				p.fullShot(name)
				p.do(chromedp.EmulateViewport(320, 800))
				p.until(`innerWidth === 320`)
				p.settled()
				p.fits(name + " at 320 px")
				p.fullShot(name + "-320")
				p.usable(name)
				p.shaded(name)
			}
		}
		visit(srv, pagesOf(a, b))
		visit(none, emptyPages)
	}
}

// settled waits until what follows the window's size (charts, columns) has done so: two frames.
func (p *tab) settled() {
	p.t.Helper()
	eval[bool](p, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// shaded fails the test where something is cut at an edge of a box that scrolls and nothing hints at it, and where a
// narrow comparison shows less than both values and the verdict.
func (p *tab) shaded(what string) {
	p.t.Helper()
	if found := eval[[]string](p, unshaded); len(found) > 0 {
		p.t.Errorf("%s:\n  %s", what, strings.Join(found, "\n  "))
	}
}

const unshaded = `(() => {
	const out = [];
	for (const e of document.querySelectorAll(".scroll")) {
		const style = getComputedStyle(e);
		const wide = e.scrollWidth > e.clientWidth + 1 && style.overflowX === "auto";
		const tall = e.scrollHeight > e.clientHeight + 1 && style.overflowY === "auto" && style.maxHeight !== "none";
		// Two covers and two shades for each way that is cut.
		const layers = style.backgroundAttachment.split(", ");
		const want = tall ? 8 : wide ? 4 : 0;
		if (layers.length < want || want > 0 && layers.filter((l) => l === "local").length < want / 2) out.push("cut without a hint: " + e.outerHTML.slice(0, 120));
	}
	for (const e of document.querySelectorAll('.metrics tr.headline td[data-key="levelb"], .metrics tr.headline td.diff .word')) {
		const box = e.getBoundingClientRect();
		if (box.width > 0 && (box.left < 0 || box.right > innerWidth)) out.push("out of sight: " + e.outerHTML.slice(0, 120));
	}
	return out;
})()`

// usable fails the test for what one could not use without a mouse or without eyes: controls without a name, focus that
// is not seen, places that a label is missing at.
func (p *tab) usable(what string) {
	p.t.Helper()
	if found := eval[[]string](p, unusable); len(found) > 0 {
		p.t.Errorf("%s:\n  %s", what, strings.Join(found, "\n  "))
	}
}

const unusable = `(() => {
	const out = [];
	const tell = (why, e) => out.push(why + ": " + e.outerHTML.slice(0, 160));
	const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.getBoundingClientRect().width > 0;
	const text = (e) => (e?.textContent ?? "").trim();
	const named = (e) => (e.getAttribute("aria-label") ?? "").trim() ||
		(e.getAttribute("aria-labelledby") ?? "").split(/ +/).map((id) => text(document.getElementById(id))).join("") ||
		[...(e.labels ?? [])].map(text).join("") || (e.matches("input, select, textarea") ? "" : text(e)) || e.getAttribute("title") || "";
	if (document.querySelectorAll("h1").length > 1) out.push("several h1");
	if (document.querySelector("main") === null) out.push("no main");
	const ids = new Map();
	for (const e of document.querySelectorAll("[id]")) {
		if (ids.has(e.id)) tell("an id twice", e);
		ids.set(e.id, e);
	}
	for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'], [role=img], img, svg:not([aria-hidden])"))
		if (shown(e) && !named(e) && e.querySelector("[aria-label], title") === null) tell("no name", e);
	for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) tell("out of the order of the page", e);
	for (const e of document.querySelectorAll("thead th")) if (shown(e) && !e.hasAttribute("scope")) tell("a header without scope", e);
	const before = document.activeElement;
	const first = document.querySelector("a.skip");
	if (document.querySelector("a[href], button") !== first || document.querySelector(first.hash) === null) out.push("the skip link is not the first, or leads nowhere");
	for (const e of [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter(shown).slice(0, 150)) {
		if (e.disabled) continue;
		e.focus({ focusVisible: true, preventScroll: true });
		if (document.activeElement !== e) continue;
		const s = getComputedStyle(e);
		if ((s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 1) && s.boxShadow === "none") tell("focus is not seen", e);
	}
	document.activeElement?.blur();
	before?.focus?.({ preventScroll: true });
	return [...new Set(out)].slice(0, 12);
})()`

// speaksChinese fails the test for sentences of five English words or more. Names and paths from outside are shorter here.
func (p *tab) speaksChinese(what string) {
	p.t.Helper()
	found := eval[[]string](p, `(() => {
		const english = /(?:[A-Za-z][A-Za-z']+[ ,;:]+){4,}[A-Za-z']+/;
		const says = (text) => english.test(text) && !text.includes("::"); // those are names of C++ kernels
		const out = new Set();
		const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let n; (n = walk.nextNode()) !== null; ) {
			const at = n.parentElement;
			if (at.closest("script, style, template, noscript, code, pre, th.name, [data-key=name], .facts") === null && says(n.textContent)) out.add(n.textContent.trim());
		}
		for (const at of document.querySelectorAll("[title], [aria-label], [placeholder]"))
			for (const name of ["title", "aria-label", "placeholder"])
				if (at.closest("th.name, [data-key=name], .facts") === null && says(at.getAttribute(name) ?? "")) out.add(name + "=" + at.getAttribute(name));
		return [...out].slice(0, 8);
	})()`)
	for _, s := range found {
		p.t.Errorf("%s says in English: %s", what, fmt.Sprintf("%.200q", s))
	}
}
