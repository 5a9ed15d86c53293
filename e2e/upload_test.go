package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestUploadSurvivesTheServer kills the server in the middle of keeping 100 MB: once it is back, the rest follows, not the whole.
func TestUploadSurvivesTheServer(t *testing.T) {
	m := exampleTrace(t)
	info, err := os.Stat(m.path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256Of(t, m.path)
	db := filepath.Join(t.TempDir(), "stepscope.db")
	srv, err := startServer(db, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const before = 60 << 20
	g := newGate(t, srv.addr, before)
	front := *srv
	front.addr = g.listener.Addr().String()

	p := open(t, &front, "/trace")
	p.allow(`ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET|ERR_CONNECTION_REFUSED`)
	p.choose(m.path)
	p.done()
	p.click("#keep-form [type=submit]")
	select {
	case <-g.reached:
	case <-time.After(patience):
		t.Fatalf("the upload never got to %d bytes\n%s", int64(before), p.state())
	}
	if err := srv.kill(); err != nil {
		t.Fatal(err)
	}
	g.cut()
	p.until(`/connection lost .* next try in/.test(document.querySelector("#keep-progress [data-role=text]").textContent)`)
	p.do(chromedp.ScrollIntoView(chromedp.CSS("#keep-progress")))
	p.shot("keep-lost")

	again, err := startServer(db, srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := again.stop(); err != nil {
			t.Error(err)
		}
	})
	first := g.lift()
	p.until(`!document.querySelector("#keep-result").hidden`)
	if got := p.text("#keep-result"); !strings.HasPrefix(got, "Kept on the server.") {
		t.Errorf("after the break: %q", got)
	}
	if got := sha256Of(t, fetched(t, again, "/api/traces/"+sum+"/content")); got != sum {
		t.Errorf("the kept bytes have SHA-256 %s, want %s", got, sum)
	}
	// Pieces have 8 MB, and what the server had not yet acknowledged is sent again: some pieces, not all.
	g.mu.Lock()
	second := g.passed - first
	g.mu.Unlock()
	if most := info.Size() - before + 24<<20; second > most {
		t.Errorf("%d bytes were sent after the break, at most %d of the %d were missing", second, most, info.Size())
	}
}

// fetched is a file with what a path of the server gives.
func fetched(t *testing.T, srv *server, path string) string {
	t.Helper()
	return written(t, "fetched", srv.get(t, path))
}

// TestPausingAndCancelling pauses an upload, goes on with it, and cancels another: nothing half-sent is listed.
func TestPausingAndCancelling(t *testing.T) {
	srv := newServer(t)
	g := newGate(t, srv.addr, 20<<20)
	front := *srv
	front.addr = g.listener.Addr().String()
	p := open(t, &front, "/trace")
	p.allow(`ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET`)
	says := func(pattern string) string {
		return `/` + pattern + `/.test(document.querySelector("#keep-progress [data-role=text]").textContent)`
	}
	listed := func() int {
		q := open(t, srv, "/traces")
		return eval[int](q, `document.querySelectorAll("table.kept tbody tr").length`)
	}
	p.choose(exampleTrace(t).path)
	p.done()
	p.click("#keep-form [type=submit]")
	<-g.reached
	p.until(says("connection lost"))
	p.click("[data-action=keep-cancel]")
	p.until(`document.querySelector("#keep-progress").hidden && !document.querySelector("#keep-form").hidden`)
	g.lift()
	if n := listed(); n != 0 {
		t.Errorf("%d traces are listed after a cancelled upload", n)
	}

	g.stopAfter(20 << 20)
	p.click("#keep-form [type=submit]")
	<-g.reached
	p.click("[data-action=keep-pause]")
	p.until(says(`^paused at [0-9.]+ MB of [0-9.]+ MB`))
	if got := p.text("[data-action=keep-pause]"); got != "Resume" {
		t.Errorf("a paused upload offers to %q", got)
	}
	g.lift()
	if n := listed(); n != 0 {
		t.Errorf("%d traces are listed while an upload is paused", n)
	}
	p.click("[data-action=keep-pause]")
	p.until(`!document.querySelector("#keep-result").hidden`)
	if n := listed(); n != 1 {
		t.Errorf("%d traces are listed after one was kept", n)
	}
}
