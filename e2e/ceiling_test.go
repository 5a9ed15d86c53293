package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// discard makes the reading workers of a page do everything but read: they fetch the file's bytes as always, copy them into
// the module's memory or not even that, and parse the first 64 KB only. What is left is what the browser takes for itself.
const discard = `{
	const copies = %t;
	let fresh = true, from = 0, at = 0, end = 0;
	const instantiate = WebAssembly.instantiate;
	WebAssembly.instantiate = async (...args) => {
		const instance = await instantiate(...args);
		const real = instance.exports;
		const exports = { ...real,
			ss_open: (start, to, ...rest) => { fresh = true; from = at = start; end = to; real.ss_open(start, to, ...rest); },
			ss_commit: (n) => {
				if (fresh) real.ss_commit(Math.min(n, 65536));
				fresh = false;
				at += n;
				return at >= end ? 1 : 0;
			},
			ss_start: () => from, // ranges join, so that each worker's time counts
			ss_stop: () => end < 1e299 ? end : -1,
			ss_at_event: () => end < 1e299 ? 1 : 0,
		};
		return new Proxy(instance, { get: (of, key) => key === "exports" ? exports : of[key] });
	};
	const set = Uint8Array.prototype.set;
	if (!copies) Uint8Array.prototype.set = function (from, ...rest) {
		if (fresh || from.length < 65536) set.call(this, from, ...rest);
	};
}
`

// newDiscarding passes everything on to a server, and has the workers of its pages discard what they read.
func newDiscarding(tb testing.TB, target *server, copies bool) *server {
	tb.Helper()
	to, err := url.Parse(target.url(""))
	if err != nil {
		tb.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	direct := proxy.Director
	proxy.Director = func(r *http.Request) {
		direct(r)
		if isWorker(r) {
			r.Header.Set("Accept-Encoding", "identity")
		}
	}
	proxy.ModifyResponse = func(res *http.Response) error {
		if !isWorker(res.Request) {
			return nil
		}
		script, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil {
			return err
		}
		if enc := res.Header.Get("Content-Encoding"); enc != "" {
			return fmt.Errorf("the worker's script came as %s", enc)
		}
		script = append([]byte(fmt.Sprintf(discard, copies)), script...)
		res.Body = io.NopCloser(bytes.NewReader(script))
		res.ContentLength = int64(len(script))
		res.Header.Set("Content-Length", strconv.Itoa(len(script)))
		return nil
	}
	s := httptest.NewServer(proxy)
	tb.Cleanup(s.Close)
	return &server{addr: strings.TrimPrefix(s.URL, "http://")}
}

func isWorker(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "/worker-") && strings.HasSuffix(r.URL.Path, ".js")
}

// ceilings are readings that do nothing with the bytes: what is possible at best.
type ceilings struct {
	dropping, copying *server
	alone, memory     []reading
}

func newCeilings(tb testing.TB) *ceilings {
	return &ceilings{dropping: newDiscarding(tb, shared, false), copying: newDiscarding(tb, shared, true)}
}

// measure has n workers read a file alone, and once more into the module's memory.
func (c *ceilings) measure(b *testing.B, path string, n int) {
	b.Helper()
	c.alone = append(c.alone, readBy(b, c.dropping, path, n))
	c.memory = append(c.memory, readBy(b, c.copying, path, n))
}

// report prints the rates of reading alone and into memory, by wall time, by CPU time of the workers and of the whole
// browser, and how near ours came.
func (c *ceilings) report(b *testing.B, mb float64, ours []reading, suffix string) {
	b.Helper()
	for _, of := range []struct {
		name string
		rs   []reading
	}{{"reading-alone", c.alone}, {"into-memory", c.memory}} {
		b.ReportMetric(mb/median(each(of.rs, wall))*1e3, of.name+"-MB/s"+suffix)
		b.ReportMetric(mb/median(each(of.rs, cpu))*1e3, of.name+"-MB/cpu-s"+suffix)
		b.ReportMetric(mb/median(each(of.rs, all))*1e3, of.name+"-MB/all-cpu-s"+suffix)
	}
	b.ReportMetric(median(each(c.alone, wall))/median(each(ours, wall)), "ours/reading-alone-by-wall"+suffix)
	b.ReportMetric(median(each(c.alone, cpu))/median(each(ours, cpu)), "ours/reading-alone-by-cpu"+suffix)
	b.ReportMetric(median(each(c.alone, all))/median(each(ours, all)), "ours/reading-alone-by-all-cpu"+suffix)
}
