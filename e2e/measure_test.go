package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// process is what the system says about the process of the page that has workers, or of the last page without.
type process struct {
	workers  float64 // ms that all its dedicated workers ran
	resident float64 // bytes
	peak     float64 // bytes, the most that were ever resident
	all      float64 // ms that all processes of the browser ran
}

// renderer looks at the browser's page processes; Linux only, as /proc is.
func renderer(tb testing.TB) process {
	tb.Helper()
	got, err := chromedp.CallBrowser(chrome.ctx, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		tb.Fatal(err)
	}
	var best process
	all := 0.0
	for _, info := range got.ProcessInfo {
		all += info.CPUTime * 1e3
		if info.Type != "renderer" {
			continue
		}
		p := look(filepath.Join("/proc", strconv.FormatInt(info.ID, 10)))
		if p.workers > best.workers || best.workers == 0 && p.peak > best.peak {
			best = p
		}
	}
	best.all = all
	return best
}

func look(dir string) (p process) {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return p // it has ended
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			p.resident = kb * 1024
		case name == "VmHWM":
			p.peak = kb * 1024
		}
	}
	threads, err := filepath.Glob(filepath.Join(dir, "task", "*"))
	if err != nil {
		return p
	}
	for _, thread := range threads {
		name, err := os.ReadFile(filepath.Join(thread, "comm"))
		if err != nil || !strings.HasPrefix(string(name), "DedicatedWorker") {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		if err != nil {
			continue
		}
		ran, _, _ := strings.Cut(string(stat), " ")
		if ns, err := strconv.ParseFloat(ran, 64); err == nil {
			p.workers += ns / 1e6
		}
	}
	return p
}

// newFront is a server that passes everything on, and makes traces of so many steps at /generated/{steps}.json as they are
// read, so that a page sees large input that is stored nowhere.
func newFront(tb testing.TB, target string) *server {
	tb.Helper()
	to, err := url.Parse(target)
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(to))
	mux.HandleFunc("GET /generated/{name}", func(w http.ResponseWriter, r *http.Request) {
		steps, err := strconv.Atoi(strings.TrimSuffix(r.PathValue("name"), ".json"))
		if err != nil {
			http.Error(w, fmt.Sprintf("not a number of steps: %v", err), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		// A reader that went away ends the writing; there is nobody left to tell.
		_, _ = kineto.Generate(w, kineto.Options{Seed: 7, Steps: steps})
	})
	s := httptest.NewServer(mux)
	tb.Cleanup(s.Close)
	return &server{addr: strings.TrimPrefix(s.URL, "http://")}
}
