package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// watch runs in every page before its own scripts: it keeps violations of the policy, and what the reading workers answer.
const watch = `
window.e2e = { violations: [], summaries: [], alerts: 0 };
addEventListener("securitypolicyviolation", (e) => e2e.violations.push(e.violatedDirective + " " + e.blockedURI));
window.alert = () => { e2e.alerts++; };
window.Worker = class extends Worker {
  constructor(...args) {
    super(...args);
    this.addEventListener("message", (e) => {
      if (typeof e.data?.ok === "string" && e.data.ok.startsWith('{"schema"')) e2e.summaries.push(e.data.ok);
    });
  }
};`

// tab is one page of the browser, with cookies of its own.
type tab struct {
	t       testing.TB
	ctx     context.Context
	close   func()
	srv     *server
	allowed []*regexp.Regexp
	logFrom int

	mu       sync.Mutex
	problems []string
}

// tabOption prepares a tab before it opens its first address.
type tabOption func(*tab) error

// cores has the page believe in a number of processor cores: so many workers read.
func cores(n int) tabOption {
	return func(p *tab) error {
		_, err := chromedp.Call(p.ctx, emulation.SetHardwareConcurrencyOverride,
			emulation.SetHardwareConcurrencyOverrideParams{HardwareConcurrency: int64(n)})
		return err
	}
}

func size(width, height int64) tabOption {
	return func(p *tab) error { return chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)) }
}

// focused has the page behave as the one in use, whatever other windows there are.
func focused(p *tab) error {
	_, err := chromedp.Call(p.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return err
}

func noScript(p *tab) error {
	_, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
}

// open opens a path of the server in a new tab. When the test ends, everything the page complained of fails it.
func open(t testing.TB, srv *server, path string, opts ...tabOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chrome.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, close: cancel, srv: srv}
	_, p.logFrom = chrome.console(0)
	go p.listen(chromedp.Console(ctx))
	if err := p.onNewDocument(watch); err != nil {
		t.Fatal(err)
	}
	for _, opt := range append([]tabOption{size(1440, 900), focused}, opts...) {
		if err := opt(p); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(p.judge)
	p.navigate(srv.url(path))
	return p
}

// onNewDocument runs a script in every document before the document's own.
func (p *tab) onNewDocument(source string) error {
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: source})
	return err
}

func (p *tab) listen(messages func(func(chromedp.ConsoleMessage, error) bool)) {
	for m, err := range messages {
		if err != nil {
			return
		}
		if m.IsException() || m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning {
			p.mu.Lock()
			p.problems = append(p.problems, fmt.Sprintf("%s (%s)", m, m.URL))
			p.mu.Unlock()
		}
	}
}

// allow names complaints that the test brings about on purpose.
func (p *tab) allow(pattern string) { p.allowed = append(p.allowed, regexp.MustCompile(pattern)) }

// judge fails the test for every complaint of the page, its workers or the browser about them.
func (p *tab) judge() {
	var violations []string
	if raw, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](`window.e2e?.violations ?? []`)); err == nil {
		violations = raw
	}
	p.mu.Lock()
	problems := append(slices.Clone(p.problems), violations...)
	p.mu.Unlock()
	lines, _ := chrome.console(p.logFrom)
	problems = append(problems, lines...)
	for _, problem := range problems {
		if !slices.ContainsFunc(p.allowed, func(r *regexp.Regexp) bool { return r.MatchString(problem) }) {
			p.t.Errorf("the page complained: %s", problem)
		}
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.state())
	}
}

func (p *tab) navigate(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
}

// eval returns what a JavaScript expression gives in the page; promises are awaited.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluating %s: %v", expression, err)
	}
	return v
}

// quote is a Go string as a JavaScript literal.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return string(b)
}

// until waits for an expression to become true.
func (p *tab) until(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		// While one page gives way to the next, there is nothing to ask: errors are a no, too.
		yes, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && yes {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waited in vain for %s (%v)\n%s", expression, err, p.state())
		}
	}
}

// state says what the page shows, for failures.
func (p *tab) state() string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 1500)`))
	if err != nil {
		return err.Error()
	}
	return "the page shows: " + text
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// choose gives files to the page's file picker.
func (p *tab) choose(files ...string) {
	p.t.Helper()
	p.do(chromedp.SetUploadFiles(chromedp.CSS("#file-input"), absolute(p.t, files), chromedp.NodeReady))
}

// drop drags files over the window and drops them.
func (p *tab) drop(files ...string) {
	p.t.Helper()
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: absolute(p.t, files), DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{
		input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop,
	} {
		_, err := chromedp.Call(p.ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: 600, Y: 500, Data: data})
		if err != nil {
			p.t.Fatal(err)
		}
		if kind == input.DispatchDragEventTypeDragOver {
			p.until(`"dragging" in document.documentElement.dataset`)
		}
	}
}

func absolute(t testing.TB, files []string) []string {
	t.Helper()
	out := make([]string, len(files))
	for i, f := range files {
		path, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = path
	}
	return out
}

// key presses keys one after the other, wherever the focus is: "\x1b" is Escape. A key that the page handles itself types
// nothing, as on a real keyboard; chromedp's own KeyEvent would type it all the same.
func (p *tab) key(keys string) {
	p.t.Helper()
	for _, r := range keys {
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: string(r), Text: string(r)}
		if r == '\x1b' {
			down.Key, down.Text, down.WindowsVirtualKeyCode = "Escape", "", 27
		}
		up := down
		up.Type, up.Text = input.DispatchKeyEventTypeKeyUp, ""
		for _, event := range []input.DispatchKeyEventParams{down, up} {
			if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, event); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// done waits until the shown trace is read.
func (p *tab) done() {
	p.t.Helper()
	p.until(`["done", "error"].includes(document.querySelector("#trace")?.dataset.state)`)
	if state := p.traceState(); state != "done" {
		p.t.Fatalf("the trace page ended in state %q: %s", state, p.text("#error-box"))
	}
	if p.visible("#drop-veil") && eval[string](p, `getComputedStyle(document.querySelector("#drop-veil")).visibility`) != "hidden" {
		p.t.Error("the veil for dropping lies over the page though nothing is dragged")
	}
}

// failed waits until the page shows an error and returns its text.
func (p *tab) failed() string {
	p.t.Helper()
	p.until(`!document.querySelector("#error-box").hidden`)
	return p.text("#error-box")
}

func (p *tab) traceState() string {
	return eval[string](p, `document.querySelector("#trace").dataset.state`)
}

// text is the visible text of an element, blanks folded.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return strings.Join(strings.Fields(eval[string](p, `document.querySelector(`+quote(selector)+`)?.innerText ?? "(no such element)"`)), " ")
}

// visible says whether an element is there and takes room.
func (p *tab) visible(selector string) bool {
	p.t.Helper()
	return eval[bool](p, `(document.querySelector(`+quote(selector)+`)?.getClientRects().length ?? 0) > 0`)
}

// summary is the summary as the reading worker gave it to the page, the n-th since the page was loaded.
func (p *tab) summary(n int) string {
	p.t.Helper()
	p.until(fmt.Sprintf("e2e.summaries.length > %d", n))
	return eval[string](p, fmt.Sprintf("e2e.summaries[%d]", n))
}

// download does something that makes the browser download a file, and returns the file's path and proposed name.
func (p *tab) download(act func()) (path, name string) {
	p.t.Helper()
	dir := p.t.TempDir()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	behave := cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: dir, EventsEnabled: new(true),
		BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
	}
	if _, err := chromedp.CallBrowser(ctx, cdpbrowser.SetDownloadBehavior, behave); err != nil {
		p.t.Fatal(err)
	}
	begins := chromedp.BrowserEvents(ctx, cdpbrowser.DownloadWillBegin)
	moves := chromedp.BrowserEvents(ctx, cdpbrowser.DownloadProgress)
	act()
	begin := firstOf(p.t, begins, func(cdpbrowser.EventDownloadWillBegin) bool { return true })
	end := firstOf(p.t, moves, func(e cdpbrowser.EventDownloadProgress) bool {
		return e.GUID == begin.GUID && e.State != cdpbrowser.DownloadProgressStateInProgress
	})
	if end.State != cdpbrowser.DownloadProgressStateCompleted {
		p.t.Fatalf("the download of %s ended as %s", begin.URL, end.State)
	}
	return filepath.Join(dir, begin.GUID), begin.SuggestedFilename
}

func firstOf[E any](t testing.TB, events func(func(E, error) bool), match func(E) bool) (found E) {
	t.Helper()
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if match(e) {
			return e
		}
	}
	return found
}
