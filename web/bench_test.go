package web

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

// The bars of the pages of statistics.
const (
	pageBar  = 150 * time.Millisecond // any page's HTML with a year behind it
	wireBar  = 300_000                // bytes before charts' data, compressed
	busyBar  = 250 * time.Millisecond // any page, p99, while 100 browsers look at 1,000 engines
	browsers = 100
	reporter = 1000
)

// ledgerKeys are the first n metrics of the ledger's own lines without labels.
func ledgerKeys(n int) []string {
	var keys []string
	for _, m := range ledger.All() {
		if m.Label.EN == "" && m.Kind != ledger.Histogram && len(keys) < n {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// BenchmarkPagesWithAYear asks for the pages over a year of 64 engines with 40
// metrics and a line every 40 s, the figures of now gathered already and not.
func BenchmarkPagesWithAYear(b *testing.B) {
	// Writing takes minutes: STEPSCOPE_YEAR_DB names a file to keep it in, good for a day.
	path := os.Getenv("STEPSCOPE_YEAR_DB")
	if path == "" {
		path = filepath.Join(b.TempDir(), "year.db")
	}
	st, err := sqlite.Open(b.Context(), path, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	const days = 365
	start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -days+1)
	began := time.Now()
	if there, err := st.Engines(b.Context(), "year"); err != nil {
		b.Fatal(err)
	} else if len(there) > 0 {
		b.Logf("the year in %s is used", path)
	} else if err := st.Fill(b.Context(), sqlite.Filling{Deployment: "year", Engines: 64, Metrics: ledgerKeys(40), Days: days, Start: start, Every: 40 * time.Second}); err != nil {
		b.Fatal(err)
	}
	b.Logf("a year was written in %v", time.Since(began))
	for _, target := range []string{"/fleet", "/fleet?open=year", "/deployments/year?range=1h", "/deployments/year?range=7d",
		"/deployments/year?from=" + start.Format(time.RFC3339) + "&to=" + start.AddDate(1, 0, 0).Format(time.RFC3339), "/compare?c=year", "/captures?deployment=year", "/collector"} {
		b.Run(strings.ReplaceAll(target, "/", "∕"), func(b *testing.B) {
			var cold, worst time.Duration
			var size int
			for range b.N {
				s := benchServer(b, st) // nothing gathered yet
				for k := range 5 {
					began := time.Now()
					size = ask(b, s, target)
					if took := time.Since(began); k == 0 {
						cold = max(cold, took)
					} else {
						worst = max(worst, took)
					}
				}
			}
			b.ReportMetric(float64(cold.Microseconds())/1e3, "ms/first")
			b.ReportMetric(float64(worst.Microseconds())/1e3, "ms/worst")
			b.ReportMetric(float64(size), "B/page")
			if max(cold, worst) > pageBar || size > wireBar {
				b.Errorf("%s: first %v, worst after it %v, %d bytes; the bars are %v and %d", target, cold, worst, size, pageBar, wireBar)
			}
		})
	}
}

func benchConfig(st store.Store) Config {
	return Config{Store: st, Grace: time.Hour, Assets: fstest.MapFS{}, Addr: netip.MustParseAddr("127.0.0.1"), Log: slog.New(slog.DiscardHandler)}
}

func benchServer(b *testing.B, st store.Store) *Server {
	b.Helper()
	s, err := New(benchConfig(st))
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// ask fetches a page as a browser does and returns its size on the wire.
func ask(b *testing.B, s *Server, target string) int {
	r := httptest.NewRequest("GET", target, nil)
	r.Host = "127.0.0.1"
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != 200 {
		b.Fatalf("%s: %d %s", target, w.Code, w.Body)
	}
	return w.Body.Len()
}

// BenchmarkLive has 100 browsers follow the pages while 1,000 engines report,
// each of them every 10 s: every browser holds a stream, and after each event
// asks for what its page asks for. With -benchtime=5m it runs that long and
// tells the memory every 10 s.
func BenchmarkLive(b *testing.B) {
	st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "live.db"), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	cfg := benchConfig(st)
	cfg.Hub = NewHub(st, HubOptions{})
	s, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	keys := ledgerKeys(40)
	var clients sync.WaitGroup
	clients.Go(func() { report(ctx, b, cfg.Hub, keys) })
	time.Sleep(12 * time.Second) // until all have reported once
	var mu sync.Mutex
	took := map[string][]time.Duration{}
	for i := range browsers {
		clients.Go(func() {
			browse(ctx, b, srv.URL, i, func(kind string, d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				took[kind] = append(took[kind], d)
			})
		})
	}
	time.Sleep(10 * time.Second)
	var memory []footprint
	for b.Loop() {
		for range 2 {
			time.Sleep(10 * time.Second)
			memory = append(memory, measureFootprint())
		}
	}
	stop()
	cfg.Hub.Stop()
	srv.CloseClientConnections()
	clients.Wait()
	for _, kind := range sortedKeys(took) {
		all := took[kind]
		slices.Sort(all)
		p50, p99 := all[len(all)/2], all[len(all)*99/100]
		b.ReportMetric(float64(p99.Microseconds())/1e3, "p99-ms/"+kind)
		b.Logf("%s: %d asked, p50 %v, p99 %v, worst %v", kind, len(all), p50, p99, all[len(all)-1])
		if p99 > busyBar {
			b.Errorf("%s: p99 %v, the bar is %v", kind, p99, busyBar)
		}
	}
	reportFootprints(b, memory)
}

// report delivers lines of 1,000 engines in 40 deployments, a tenth of them each second.
func report(ctx context.Context, b *testing.B, h *Hub, keys []string) {
	layout := store.Layout{Section: "stats"}
	for _, k := range keys {
		layout.Columns = append(layout.Columns, store.Column{Metric: k})
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for step := int64(0); ; step++ {
		batch := &store.Batch{Layouts: []store.Layout{layout}}
		for e := int(step % 10); e < reporter; e += 10 {
			values := make([]float64, len(keys))
			for i := range values {
				values[i] = float64((e*31+i*7+int(step))%100) / 100
			}
			batch.Rows = append(batch.Rows, store.Row{Engine: len(batch.Engines), Time: time.Now().UnixNano(), Step: step * 100, Flags: store.DecodeStep, Values: values})
			batch.Engines = append(batch.Engines, engine(fmt.Sprintf("d%02d", e%40), fmt.Sprintf("rank%d", e/40), e/40))
		}
		if err := h.Deliver(ctx, "bench", batch); err != nil && ctx.Err() == nil {
			b.Error(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// browse is a browser: half of them look at the fleet, half at a deployment with six charts in sight.
func browse(ctx context.Context, b *testing.B, base string, n int, tell func(string, time.Duration)) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 6, DisableCompression: true}}
	defer client.CloseIdleConnections()
	get := func(kind, path string) {
		began := time.Now()
		req, err := http.NewRequestWithContext(ctx, "GET", base+path, nil)
		if err != nil {
			b.Error(err)
			return
		}
		req.Header.Set("Accept-Encoding", "gzip")
		res, err := client.Do(req)
		if err != nil {
			return // the bench ends
		}
		defer res.Body.Close()
		zr, err := gzip.NewReader(res.Body)
		if err == nil {
			_, err = io.Copy(io.Discard, zr)
		}
		if err == nil && res.StatusCode == 200 {
			tell(kind, time.Since(began))
		} else if ctx.Err() == nil {
			b.Errorf("%s: %d, %v", path, res.StatusCode, err)
		}
	}
	time.Sleep(time.Duration(n) * 20 * time.Millisecond)
	deployment := fmt.Sprintf("d%02d", n%40)
	page, part := "/fleet", "/fleet?part=body"
	if n%2 == 1 {
		page, part = "/deployments/"+deployment+"?range=15m", "/deployments/"+deployment+"?range=15m&part=now"
	}
	get("page", page)
	req, err := http.NewRequestWithContext(ctx, "GET", base+"/api/live", nil)
	if err != nil {
		b.Error(err)
		return
	}
	res, err := client.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	asked, pages := time.Time{}, time.Now()
	for events.Scan() {
		if !strings.HasPrefix(events.Text(), "data:") || n%2 == 1 && !strings.Contains(events.Text(), deployment) {
			continue
		}
		get("part", part)
		if n%2 == 1 && time.Since(asked) > 3*time.Second { // as the page's script does: no more often than a chart has new pixels
			asked = time.Now()
			for _, metric := range []string{"completion_TPS", "prompt_TPS", "running", "pending", "KV_cache_usage", "MFU"} {
				get("series", "/api/series?deployment="+deployment+"&metric="+metric+"&range=15m&points=300&agg=1")
			}
		}
		if time.Since(pages) > 5*time.Second {
			pages = time.Now()
			get("page", page)
		}
	}
}
