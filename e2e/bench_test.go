package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// The measured bars of the browser's side: go test -run '^$' -bench . -benchtime 1x
//
// Every reading is of a page opened for it, left alone until its readers stand ready, and given one file. Wall time is the
// page's own, from the drop to the summary. CPU time is that of the worker threads between these two, from the kernel's
// scheduler; what other threads of the browser do for them (fetching the file, compiling, collecting garbage) is not in it
// for either side.

// reading is one measured reading by the page.
type reading struct {
	wall  float64 // ms from the drop to the summary
	cpu   float64 // ms of all worker threads
	all   float64 // ms of everything in the browser: fetching the file, compiling and collecting garbage too
	rows  float64 // ms to the first phases on the page
	wasm  float64 // bytes of the modules' memories
	rss   float64 // peak bytes of the page's process
	grown float64 // of which since the page was empty
}

// caps has the reading workers keep so many slices in columns, and so many rows: annotations, launches and GPU work.
func caps(columns, rows int) tabOption {
	return func(p *tab) error {
		return p.onNewDocument(fmt.Sprintf(`Worker.prototype.postMessage = ((post) => function (message, ...rest) {
			if (message?.request?.op === "read") Object.assign(message.request.caps, { columns: %d, rows: %d });
			return post.call(this, message, ...rest);
		})(Worker.prototype.postMessage);`, columns, rows))
	}
}

const watchRows = `new Promise((resolve) => {
	const rows = document.querySelector("[data-table=phases] tbody");
	window.firstRows = new Promise((found) => new MutationObserver((_, o) => {
		if (rows.querySelector("tr[data-id]") === null) return;
		o.disconnect();
		found(performance.now());
	}).observe(rows, { childList: true }));
	setTimeout(() => resolve(true), 500);
})`

// A trace of which little was parsed may have no phases to show.
const waitRows = `(window.noRows = new Promise((r) => setTimeout(() => r(NaN), 500)), true)`

// readFile has a fresh page read a file with n workers.
func readFile(b *testing.B, path string, n int, opts ...tabOption) reading {
	b.Helper()
	return readBy(b, shared, path, n, opts...)
}

// readBy is readFile by a server's page.
func readBy(b *testing.B, srv *server, path string, n int, opts ...tabOption) reading {
	b.Helper()
	p := open(b, srv, "/trace", append(opts, cores(n))...)
	defer p.close()
	return p.measured(b, func() { p.choose(path) })
}

func (p *tab) measured(b *testing.B, start func()) reading {
	b.Helper()
	p.until(`performance.getEntriesByType("resource").some((e) => e.name.includes(".wasm") && e.responseEnd > 0)`)
	eval[bool](p, watchRows)
	// Whoever looks for a file gives the page time to get its readers ready.
	before := renderer(b)
	for range 100 {
		time.Sleep(300 * time.Millisecond)
		now := renderer(b)
		if now.workers == before.workers {
			break
		}
		before = now
	}
	start()
	p.done()
	after := renderer(b)
	eval[bool](p, waitRows)
	m := eval[struct {
		StartTime, Duration, Memory float64
		Rows                        *float64 // absent: none came
	}](p, `Promise.race([firstRows, noRows]).then((rows) => {
		const m = performance.getEntriesByName("stepscope:read")[0];
		return { StartTime: m.startTime, Duration: m.duration, Memory: m.detail.memory, Rows: rows - m.startTime };
	})`)
	rows := math.NaN()
	if m.Rows != nil {
		rows = *m.Rows
	}
	return reading{wall: m.Duration, cpu: after.workers - before.workers, all: after.all - before.all, rows: rows, wasm: m.Memory, rss: after.peak, grown: after.peak - before.resident}
}

const peerPage = `<!DOCTYPE html><input type="file" id="file-input"><script>
const worker = new Worker("/worker.js");
document.querySelector("input").onchange = (e) => {
	const began = performance.now();
	worker.onmessage = (m) => { window.answer = { Wall: performance.now() - began, Events: m.data }; };
	worker.onerror = (m) => { window.answer = { Wall: NaN, Events: 0 }; };
	worker.postMessage(e.target.files[0]);
};
</script>`

const peerWorker = `onmessage = async (e) => {
	self.kept = JSON.parse(await e.data.text());
	postMessage(self.kept.traceEvents.length);
};`

// newPeer serves a page that reads a file as text and parses it in a worker, and does nothing with it.
func newPeer(b *testing.B) *server {
	b.Helper()
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		})
	}
	serve("/{$}", "text/html", peerPage)
	serve("/worker.js", "text/javascript", peerWorker)
	serve("/favicon.ico", "image/x-icon", "")
	s := httptest.NewServer(mux)
	b.Cleanup(s.Close)
	return &server{addr: strings.TrimPrefix(s.URL, "http://")}
}

func parseFile(b *testing.B, peer *server, path string) reading {
	b.Helper()
	p := open(b, peer, "/")
	defer p.close()
	eval[bool](p, `new Promise((r) => setTimeout(() => r(true), 500))`)
	before := renderer(b)
	p.choose(path)
	p.until(`window.answer !== undefined`)
	got := eval[struct{ Wall, Events float64 }](p, `window.answer`)
	if got.Events == 0 {
		b.Fatal("JSON.parse failed")
	}
	r := renderer(b)
	return reading{wall: got.Wall, cpu: r.workers, all: r.all - before.all, rss: r.peak}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// each collects one figure of several readings.
func each(rs []reading, f func(reading) float64) []float64 {
	out := make([]float64, len(rs))
	for i, r := range rs {
		out[i] = f(r)
	}
	return out
}

func wall(r reading) float64 { return r.wall }
func cpu(r reading) float64  { return r.cpu }
func all(r reading) float64  { return r.all }

const rounds5 = 5

func megabytes(b *testing.B, path string) float64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size()) / 1e6
}

// unpacked is the plain form of a real trace.
func unpacked(b *testing.B, name string) string {
	b.Helper()
	in, err := os.Open(corpus(b, "traces", name))
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		b.Fatal(err)
	}
	out := filepath.Join(b.TempDir(), strings.TrimSuffix(name, ".gz"))
	if err := create(out, func(w io.Writer) error { _, err := io.Copy(w, z); return err }); err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkAgainstJSONParse: one worker, reading and analysis, against text() and JSON.parse in a worker, turn by turn in
// one browser. Bars: 4 times by wall time, 5 times by CPU time of the worker. The page without a parser is measured beside
// them: more than the possible times nobody can reach here.
func BenchmarkAgainstJSONParse(b *testing.B) {
	for name, path := range ordered(map[string]func() string{
		"vllm-h100":       func() string { return unpacked(b, "vllm-h100-4rank-rank0.json.gz") },
		"generated-100MB": func() string { return exampleTrace(b).path },
	}) {
		b.Run(name, func(b *testing.B) {
			file := path()
			peer := newPeer(b)
			limit := newCeilings(b)
			for b.Loop() {
				var ours, theirs []reading
				for range rounds5 {
					ours = append(ours, readFile(b, file, 1))
					theirs = append(theirs, parseFile(b, peer, file))
					limit.measure(b, file, 1)
				}
				mb := megabytes(b, file)
				limit.report(b, mb, ours, "")
				b.ReportMetric(median(each(theirs, wall))/median(each(limit.alone, wall)), "possible-times-by-wall")
				b.ReportMetric(median(each(theirs, cpu))/median(each(limit.alone, cpu)), "possible-times-by-cpu")
				b.ReportMetric(median(each(theirs, all))/median(each(ours, all)), "times-by-all-cpu")
				b.ReportMetric(mb/median(each(ours, all))*1e3, "ours-MB/all-cpu-s")
				b.ReportMetric(median(each(theirs, wall))/median(each(ours, wall)), "times-by-wall")
				b.ReportMetric(median(each(theirs, cpu))/median(each(ours, cpu)), "times-by-cpu")
				b.ReportMetric(mb/median(each(ours, wall))*1e3, "ours-MB/s")
				b.ReportMetric(mb/median(each(ours, cpu))*1e3, "ours-MB/cpu-s")
				b.ReportMetric(mb/median(each(theirs, wall))*1e3, "JSON.parse-MB/s")
				b.ReportMetric(mb/median(each(theirs, cpu))*1e3, "JSON.parse-MB/cpu-s")
			}
		})
	}
}

// BenchmarkWorkers: 400 MB with two workers against one, and when the first rows show. Bars: 1.25 times on two cores;
// first phases within 15 % of the time.
func BenchmarkWorkers(b *testing.B) {
	file := largeTrace(b).path
	limit1, limit2 := newCeilings(b), newCeilings(b)
	for b.Loop() {
		var one, two []reading
		for range rounds5 {
			one = append(one, readFile(b, file, 1))
			two = append(two, readFile(b, file, 2))
			limit1.measure(b, file, 1)
			limit2.measure(b, file, 2)
		}
		share := func(r reading) float64 { return r.rows / r.wall * 100 }
		mb := megabytes(b, file)
		limit1.report(b, mb, one, "-one")
		limit2.report(b, mb, two, "-two")
		b.ReportMetric(median(each(one, wall))/median(each(two, wall)), "times-by-wall")
		b.ReportMetric(mb/median(each(one, wall))*1e3, "one-MB/s")
		b.ReportMetric(mb/median(each(one, cpu))*1e3, "one-MB/cpu-s")
		b.ReportMetric(mb/median(each(two, cpu))*1e3, "two-MB/cpu-s")
		b.ReportMetric(mb/median(each(one, all))*1e3, "one-MB/all-cpu-s")
		b.ReportMetric(mb/median(each(two, all))*1e3, "two-MB/all-cpu-s")
		b.ReportMetric(mb/median(each(two, wall))*1e3, "two-MB/s")
		b.ReportMetric(median(each(one, all))/median(each(one, wall)), "cores-busy-one")
		b.ReportMetric(median(each(two, all))/median(each(two, wall)), "cores-busy-two")
		b.ReportMetric(median(each(one, share)), "%-to-first-rows-one")
		b.ReportMetric(median(each(two, share)), "%-to-first-rows-two")
		b.ReportMetric(slices.Max(each(two, share)), "%-to-first-rows-two-worst")
		b.ReportMetric(median(each(two, func(r reading) float64 { return r.wasm }))/1e6, "wasm-MB")
		b.ReportMetric(0.25*mb+100, "wasm-MB-allowed")
		b.ReportMetric(median(each(two, func(r reading) float64 { return r.rss }))/1e6, "process-peak-MB")
		b.ReportMetric(median(each(two, func(r reading) float64 { return r.grown }))/1e6, "process-grown-MB")
	}
}

// BenchmarkHuge opens 2.5 GB from a file, all columns kept. Bar: it opens, within 0.25 times its size and 100 MB.
func BenchmarkHuge(b *testing.B) {
	m := maker("huge.json", kineto.Options{Seed: 4, Steps: 512})(b)
	defer os.Remove(m.path)
	for b.Loop() {
		for _, n := range []int{1, 2} {
			r := readFile(b, m.path, n)
			mb := megabytes(b, m.path)
			b.ReportMetric(mb, "MB")
			b.ReportMetric(mb/r.wall*1e3, fmt.Sprintf("MB/s-%d", n))
			b.ReportMetric(r.wasm/1e6, fmt.Sprintf("wasm-MB-%d", n))
			b.ReportMetric(0.25*mb+100, "wasm-MB-allowed")
			b.ReportMetric(r.rss/1e6, fmt.Sprintf("process-peak-MB-%d", n))
		}
	}
}

// BenchmarkCapped streams generated input that is stored nowhere, with what is kept of single events capped: a
// million slices, 64 Ki rows. Bar: the memory does not grow with the input.
func BenchmarkCapped(b *testing.B) {
	target := "http://" + shared.addr
	proxy := newFront(b, target)
	for b.Loop() {
		for _, steps := range []int{110, 520} {
			p := open(b, proxy, "/trace", cores(1), caps(1<<20, 1<<16))
			r := p.measured(b, func() { p.typeAddress(fmt.Sprintf("/generated/%d.json", steps)) })
			got := eval[string](p, `[...document.querySelectorAll("#facts > div")].map((d) => d.innerText.replace(/\s+/g, " ")).join("; ")`)
			b.Logf("%d steps: %s", steps, got)
			p.close()
			b.ReportMetric(r.wasm/1e6, fmt.Sprintf("wasm-MB-%d-steps", steps))
			b.ReportMetric(r.rss/1e6, fmt.Sprintf("process-peak-MB-%d-steps", steps))
		}
	}
}
