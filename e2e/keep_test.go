package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// keepByAPI stores a file as a script would and returns its id.
func keepByAPI(t testing.TB, srv *server, path, name string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	req, err := http.NewRequest(http.MethodPut, srv.url("/api/traces?name="+url.QueryEscape(name)), f)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ ID string }
	if err := json.Unmarshal(body, &kept); err != nil || kept.ID == "" {
		t.Fatalf("keeping %s: %s: %s", path, res.Status, body)
	}
	return kept.ID
}

func sha256Of(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestKeep goes the whole way of a kept trace: from the page into the store, found, opened, downloaded, deleted, undone.
func TestKeep(t *testing.T) {
	srv := newServer(t)
	m := middleTrace(t)
	sum := sha256Of(t, m.path)
	other := keepByAPI(t, srv, smallTrace(t).path, "another.json")

	p := open(t, srv, "/trace")
	p.choose(m.path)
	p.done()
	if got := eval[string](p, `document.querySelector("#keep-form").elements.namedItem("name").value`); got != "middle.json" {
		t.Errorf("the form proposes the name %q", got)
	}
	p.do(
		chromedp.SendKeys(chromedp.CSS("#keep-form [name=label]"), "decode-a"),
		chromedp.SendKeys(chromedp.CSS("#keep-form [name=note]"), "after the upgrade"),
	)
	p.click("#keep-form [type=submit]")
	p.until(`!document.querySelector("#keep-result").hidden`)
	if got := p.text("#keep-result"); !strings.HasPrefix(got, "Kept on the server.") {
		t.Errorf("after keeping: %q", got)
	}
	if got := eval[string](p, `document.querySelector("#keep-result [data-role=link]").getAttribute("href")`); got != "/trace?trace=/api/traces/"+sum+"/content" {
		t.Errorf("the link to the kept trace is %q", got)
	}
	p.fullShot("kept-done")

	p.click(`#keep-result a[href="/traces"]`)
	p.until(`document.querySelectorAll("table.kept tbody tr").length === 2`)
	p.shot("kept-list")
	// The search finds it by name, label and note, and nothing else.
	for _, words := range []string{"middle", "decode-a", "upgrade"} {
		p.navigate(srv.url("/traces"))
		p.do(chromedp.SendKeys(chromedp.CSS("#q"), words+"\r"))
		p.until(`location.search.includes("q=")`)
		ids := eval[[]string](p, `[...document.querySelectorAll("table.kept tbody tr")].map((tr) => tr.dataset.id)`)
		if len(ids) != 1 || ids[0] != sum {
			t.Errorf("searching for %q finds %v, want %s", words, ids, sum)
		}
	}
	row := `tr[data-id="` + sum + `"]`
	p.navigate(srv.url("/traces"))
	file, name := p.download(func() { p.click(row + " a[download]") })
	if got := sha256Of(t, file); got != sum || name != "middle.json" {
		t.Errorf("downloaded %s with SHA-256 %s, want middle.json with %s", name, got, sum)
	}
	p.click(row + " th a")
	p.done()
	checkTruth(t, p, m)
	if !p.visible("#keep-url") || p.visible("#keep-form") {
		t.Error("a trace from the store must be called kept, not offered to keep")
	}

	// Delete, undo, delete again; the bytes stay reachable only while they are kept.
	content := "/api/traces/" + sum + "/content"
	listed := func() string {
		return strings.Join(eval[[]string](p, `[...document.querySelectorAll("table.kept tbody tr")].map((tr) => tr.dataset.id)`), " ")
	}
	p.navigate(srv.url("/traces"))
	p.click(row + ` form[action$="/delete"] button`)
	p.until(`document.querySelector(".banner form") !== null`)
	if listed() != other {
		t.Errorf("after deleting, the list has %s", listed())
	}
	p.shot("deleted")
	if status := statusOf(t, srv, content); status != http.StatusNotFound && status != http.StatusGone {
		t.Errorf("a deleted trace is still served: %d", status)
	}
	p.click(".banner form button")
	p.until(`document.querySelectorAll("table.kept tbody tr").length === 2`)
	if got := sha256.Sum256(srv.get(t, content)); hex.EncodeToString(got[:]) != sum {
		t.Error("the trace came back with other bytes")
	}
	p.click(row + ` form[action$="/delete"] button`)
	p.until(`document.querySelectorAll("table.kept tbody tr").length === 1`)
	if listed() != other {
		t.Errorf("after deleting again, the list has %s", listed())
	}
}

func statusOf(t *testing.T, srv *server, path string) int {
	t.Helper()
	res, err := http.Get(srv.url(path))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// TestKeepTwice keeps the same bytes again: the page says that they were there.
func TestKeepTwice(t *testing.T) {
	srv := newServer(t)
	m := smallTrace(t)
	keepByAPI(t, srv, m.path, "first.json")
	p := open(t, srv, "/trace")
	p.choose(m.path)
	p.done()
	p.click("#keep-form [type=submit]")
	p.until(`!document.querySelector("#keep-result").hidden`)
	if got := p.text("#keep-result"); !strings.HasPrefix(got, "The server had these bytes already") {
		t.Errorf("after keeping the same bytes: %q", got)
	}
	// The name typed now is another one: the page shows both, and changes it on request.
	name := filepath.Base(m.path)
	if got := p.text(`#keep-differs [data-field=name]`); got != "Name: first.json · typed now: "+name {
		t.Errorf("the name kept and the name typed: %q", got)
	}
	for _, field := range []string{"label", "note"} {
		if !eval[bool](p, `document.querySelector("#keep-differs [data-field=`+field+`]").hidden`) {
			t.Errorf("%s was left empty and is shown as different", field)
		}
	}
	p.click("#keep-differs button")
	p.until(`!document.querySelector("#keep-applied").hidden && document.querySelector("#keep-differs").hidden`)
	p.click(`#keep-result a[href="/traces"]`)
	p.until(`document.querySelector("table.kept tbody tr")?.textContent.includes(` + strconv.Quote(name) + `)`)
}

// TestLimits keeps what is larger than the server takes: the page says so, with the limit, and loses nothing.
func TestLimits(t *testing.T) {
	for flag, want := range map[string]string{"--max-upload=1MiB": "1", "--quota=1MiB": ""} {
		t.Run(flag, func(t *testing.T) {
			srv := newServer(t, flag)
			p := open(t, srv, "/trace")
			p.allow(`status of (413|507)`)
			p.choose(middleTrace(t).path)
			p.done()
			p.click("#keep-form [type=submit]")
			p.until(`!document.querySelector("#keep-error").hidden`)
			got := p.text("#keep-error")
			if !strings.HasPrefix(got, "Not kept: ") || !strings.Contains(got, want) || len(got) < 40 {
				t.Errorf("the page says %q", got)
			}
			t.Log(got)
			if p.traceState() != "done" || !p.visible("#phases") || !p.visible("#keep-form") {
				t.Error("a refusal must leave the trace and the form")
			}
			q := open(t, srv, "/traces")
			if n := eval[int](q, `document.querySelectorAll("table.kept tbody tr").length`); n != 0 {
				t.Errorf("%d traces are listed", n)
			}
		})
	}
}

// TestImported finds in the list what the command line stored beside the running server.
func TestImported(t *testing.T) {
	srv := newServer(t)
	m := smallTrace(t)
	cli(t, "import", m.path, "--db", srv.db, "--label", "from-cli")
	p := open(t, srv, "/traces?q=from-cli")
	p.click("table.kept tbody tr th a")
	p.done()
	checkTruth(t, p, m)
}

// TestListWithoutScript searches, deletes and restores with forms alone.
func TestListWithoutScript(t *testing.T) {
	srv := newServer(t)
	keepByAPI(t, srv, smallTrace(t).path, "small.json")
	keepByAPI(t, srv, middleTrace(t).path, "middle.json")
	p := open(t, srv, "/traces", noScript)
	p.do(
		chromedp.SendKeys(chromedp.CSS("#q"), "middle\r"),
		chromedp.WaitNotPresent(chromedp.CSS(`table.kept tbody tr:nth-child(2)`)),
		chromedp.Click(chromedp.CSS(`table.kept form[action$="/delete"] button`)),
		chromedp.WaitVisible(chromedp.CSS(".banner form button")),
		chromedp.Click(chromedp.CSS(".banner form button")),
		chromedp.WaitVisible(chromedp.CSS(`table.kept tbody tr:nth-child(2)`)),
	)
}
