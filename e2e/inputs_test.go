package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestSeveralFilesOpenInTabs(t *testing.T) {
	small, middle := smallTrace(t), middleTrace(t)
	broken := written(t, "notes.txt", []byte("meeting at ten"))
	p := open(t, shared, "/trace")
	p.drop(small.path, broken, middle.path)
	p.until(`document.querySelectorAll("#tabs [role=tab]").length === 3`)
	// All are read in turn, the first of them is shown.
	p.until(`[...document.querySelectorAll("#tabs [data-role=state]")].every((s) => s.textContent === "" || s.textContent === "failed")`)
	names := eval[[]string](p, `[...document.querySelectorAll("#tabs [data-role=name]")].map((n) => n.textContent)`)
	if got := strings.Join(names, " "); got != "small.json notes.txt middle.json" {
		t.Errorf("tabs: %s", got)
	}
	if got := p.fact("File"); got != "small.json" {
		t.Errorf("the first file should be shown, not %q", got)
	}
	checkTruth(t, p, small)

	p.click(`#tabs .tab:nth-child(2) [role=tab]`)
	if got := p.failed(); !strings.Contains(got, "notes.txt could not be read") {
		t.Errorf("the error of the second: %q", got)
	}
	if p.visible("#phases") {
		t.Error("the results of another trace are still there under an error")
	}

	p.click(`#tabs .tab:nth-child(3) [role=tab]`)
	p.done()
	checkTruth(t, p, middle)
	if p.visible("#error-box") {
		t.Error("the error of another tab is shown")
	}
	// Back undoes the flat view first, then the choice of the tab.
	p.do(chromedp.NavigateBack())
	p.until(`document.querySelector("[data-action=phases-view][data-view=tree]").ariaPressed === "true"`)
	p.do(chromedp.NavigateBack())
	p.until(`document.querySelector('#tabs [aria-selected=true] [data-role=name]').textContent === "notes.txt"`)

	p.click(`#tabs .tab:nth-child(2) [data-action=close-tab]`)
	p.until(`document.querySelectorAll("#tabs [role=tab]").length === 2`)
	p.until(`!document.querySelector("#tabs").hidden && document.querySelector("#error-box").hidden`)
	p.shot("tabs")
}

func TestExampleByOneClick(t *testing.T) {
	p := open(t, shared, "/trace")
	p.click("#open-example")
	p.done()
	if at := eval[string](p, `location.pathname + location.search`); at != "/trace?trace="+url.QueryEscape("/example.json.gz") {
		t.Errorf("the address does not say what is open: %s", at)
	}
	checkTruth(t, p, exampleTrace(t))

	// The same address opens it again, without a click.
	q := open(t, shared, "/trace?trace=/example.json.gz")
	q.done()
	checkTruth(t, q, exampleTrace(t))
	if q.visible("#keep-form") {
		t.Error("the page offers to keep what did not come from a file")
	}
}

func TestAddresses(t *testing.T) {
	p := open(t, shared, "/trace")
	for name, act := range map[string]func(string){
		"form":  func(a string) { p.typeAddress(a) },
		"paste": func(a string) { p.paste(a) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range []string{
				"http://example.com/trace.json", "https://" + shared.addr + "/example.json.gz", "http://user@" + shared.addr + "/example.json.gz",
			} {
				act(address)
				if got := p.failed(); !strings.Contains(got, "Only addresses on this server can be opened.") || !strings.Contains(got, address) {
					t.Errorf("%s: %q", address, got)
				}
				p.click("#error-box [data-action=dismiss]")
				p.until(`document.querySelector("#error-box").hidden`)
			}
		})
	}
	t.Run("query", func(t *testing.T) {
		q := open(t, shared, "/trace?trace="+url.QueryEscape("//example.com/trace.json"))
		q.allow(`status of 400`)
		if got := q.text("main"); !strings.Contains(got, "The page opens traces of this server only") {
			t.Error(got)
		}
	})
	// The whole address of a page of this server opens what that page shows.
	p.typeAddress(shared.url("/trace?trace=/example.json.gz"))
	p.done()
	if got := p.fact("File"); got != "example.json.gz" {
		t.Errorf("opened %q", got)
	}
}

func (p *tab) typeAddress(address string) {
	p.t.Helper()
	eval[bool](p, `(document.querySelector("#url-input").value = "", true)`)
	p.do(chromedp.SendKeys(chromedp.CSS("#url-input"), address+"\r"))
}

// paste has the page see a paste of text with nothing in focus.
func (p *tab) paste(text string) {
	p.t.Helper()
	eval[bool](p, `(() => {
		document.activeElement?.blur();
		const data = new DataTransfer();
		data.setData("text/plain", `+quote(text)+`);
		return document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
	})()`)
}

// TestRefusals opens files that are no traces: each says in place what it is and what to do, and the page goes on.
func TestRefusals(t *testing.T) {
	zstd := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00, 0x11, 0, 0, '{', '}', 0, 0, 0, 0}
	p := open(t, shared, "/trace")
	for _, c := range []struct {
		name    string
		content []byte
		want    []string
	}{
		{"packed.json.zst", zstd, []string{"packed.json.zst could not be read", "zstd", "zstd -d FILE", "stepscope trace summary FILE"}},
		{"zstd-in-disguise.json", zstd, []string{"zstd -d FILE"}},
		{"empty.json", nil, []string{"empty.json could not be read", "0 bytes"}},
		{"page.html", []byte("<!DOCTYPE html><p>404 not found</p>"), []string{"page.html could not be read"}},
		{"binary.json", []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00"), []string{"binary.json could not be read"}},
		{"number.json", []byte("42\n"), []string{"number.json could not be read"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.choose(written(t, c.name, c.content))
			got := p.failed()
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("the error does not say %q: %s", want, got)
				}
			}
			if hint := p.text("#error-box [data-role=hint]"); len(hint) < 10 {
				t.Errorf("no next step: %q", hint)
			}
			if p.traceState() != "error" || p.visible("#phases") || !p.visible("#start") {
				t.Error("an error should stand alone with the ways to open another file")
			}
			if c.name == "packed.json.zst" {
				p.shot("error")
			}
			p.click("#error-box [data-action=dismiss]")
			p.until(`document.querySelector("#trace").dataset.state === "empty"`)
		})
	}
	p.choose(smallTrace(t).path)
	p.done()
	checkTruth(t, p, smallTrace(t))
}

// TestMissingTrace opens the address of a trace that is not there.
func TestMissingTrace(t *testing.T) {
	p := open(t, shared, "/trace?trace=/api/traces/"+strings.Repeat("0", 64)+"/content")
	p.allow(`404`)
	if got := p.failed(); !strings.Contains(got, "nothing is kept under this id") || !strings.Contains(got, "/traces") {
		t.Error(got)
	}
}

func TestWithoutScript(t *testing.T) {
	p := open(t, shared, "/trace", noScript)
	html, err := chromedp.Run(p.ctx, chromedp.Text(chromedp.CSS("#trace noscript")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"JavaScript", "WebAssembly"} {
		if !strings.Contains(html, want) {
			t.Errorf("without JavaScript the page does not say that it needs %s: %q", want, html)
		}
	}
	p.shot("no-script")
}

// TestFirstLoad opens the page: what it loads before a trace is there stays within the budget.
func TestFirstLoad(t *testing.T) {
	p := open(t, shared, "/trace")
	p.until(`performance.getEntriesByType("resource").some((e) => e.name.includes(".wasm") && e.responseEnd > 0)`)
	sizes := eval[map[string]float64](p, `Object.fromEntries([...performance.getEntriesByType("navigation"),
		...performance.getEntriesByType("resource")].map((e) => [e.name, e.encodedBodySize]))`)
	var wasm, rest float64
	for name, n := range sizes {
		if n == 0 {
			t.Errorf("%s came with no bytes", name)
		}
		if strings.HasSuffix(name, ".wasm") {
			wasm += n
		} else {
			rest += n
		}
	}
	t.Logf("reader %.0f bytes, all else %.0f bytes", wasm, rest)
	if wasm == 0 || wasm > 900_000 || rest > 400_000 {
		t.Errorf("the first load takes %.0f bytes of reader (at most 900,000) and %.0f of the rest (at most 400,000): %v", wasm, rest, sizes)
	}
}

// shot writes a picture of what the window shows to out/, for people to look at.
func (p *tab) shot(name string) {
	p.t.Helper()
	p.until(`document.fonts.status === "loaded"`)
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	p.save(name, png)
}

// fullShot is a picture of the whole page.
func (p *tab) fullShot(name string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Fatal(err)
	}
	p.save(name, png)
}

func (p *tab) save(name string, png []byte) {
	p.t.Helper()
	path := filepath.Join("out", filepath.FromSlash(name)+".png")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
