package foreign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lines writes a text's series as "name{k=v} value".
func lines(x Text) string {
	var b strings.Builder
	for _, s := range x.Series {
		b.WriteString(s.Name)
		for _, l := range s.Labels {
			b.WriteString(" " + l.Name + "=" + l.Value)
		}
		fmt.Fprintf(&b, " %g\n", s.Value)
	}
	return b.String()
}

func TestParseText(t *testing.T) {
	for _, c := range []struct {
		name, in, want  string
		bad, duplicates int
	}{
		{name: "plain", in: "a 1\nb{x=\"y\"} 2\n", want: "a 1\nb x=y 2\n"},
		{name: "no end of line, CRLF, time stamp", in: "a 1 1700000000000\r\nb 2", want: "a 1\nb 2\n"},
		{name: "bad lines between", in: "a 1\n!!\nb{ 2\nc 3\n", want: "a 1\nc 3\n", bad: 2},
		{name: "twice", in: "a{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 9\n", want: "a x=1 y=2 1\n", duplicates: 1},
		{name: "NaN and infinity", in: "a NaN\nb +Inf\n", want: "a NaN\nb +Inf\n"},
		{name: "escapes and control characters", in: "a{x=\"p\\\\q\\\"\\n\x01\"} 1\n", want: "a x=p\\q\"__ 1\n"},
		{name: "a histogram", in: "# TYPE h histogram\nh_bucket{le=\"0.10\"} 1\nh_bucket{le=\"+Inf\"} 3\nh_sum 2.5\nh_count 3\n",
			want: "h_bucket le=+Inf 3\nh_bucket le=0.1 1\nh_count 3\nh_sum 2.5\n"},
		{name: "a histogram without TYPE", in: "h_bucket{le=\"0.10\"} 1\nh_sum 2.5\nh_count 3\n", want: "h_bucket le=0.1 1\nh_count 3\nh_sum 2.5\n"},
		{name: "two TYPE lines", in: "# TYPE a counter\na 1\n# TYPE a counter\na{x=\"2\"} 2\n", want: "a 1\na x=2 2\n", bad: 1},
		{name: "OpenMetrics' end", in: "# TYPE a counter\na_total 1\n# EOF\n", want: "a_total 1\n"},
	} {
		got := ParseText([]byte(c.in))
		if lines(got) != c.want || got.BadLines != c.bad || got.Duplicates != c.duplicates || got.Partial {
			t.Errorf("%s: %q %+v", c.name, lines(got), got)
		}
	}
	// Types that the name tells.
	x := ParseText([]byte("# TYPE a counter\na_total 1\n"))
	if x.Series[0].Type != CounterType {
		t.Errorf("OpenMetrics' counter: %+v", x.Series[0])
	}
	// A text of nothing but faults is given up, not read over and over.
	if x := ParseText([]byte(strings.Repeat("!\n", 1000))); !x.Partial || x.BadLines > maxBadLines+1 {
		t.Errorf("%+v", x)
	}
	var b strings.Builder
	for i := range maxSeries + 5 {
		fmt.Fprintf(&b, "a{n=\"%d\"} 1\n", i)
	}
	if x := ParseText([]byte(b.String())); x.Cut != 5 || len(x.Series) != maxSeries {
		t.Errorf("%d cut, %d series", x.Cut, len(x.Series))
	}
}

// scrapeOne makes a scrape of a few lines.
func scrapeOne(s *State, second float64, text string) Result {
	return s.Scrape(t0.Add(time.Duration(second*float64(time.Second))), []byte(text))
}

func gen(total, running float64) string {
	return fmt.Sprintf("# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total %g\n# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running %g\n", total, running)
}

func TestResets(t *testing.T) {
	s := NewState(VLLM)
	scrapeOne(s, 0, gen(1000, 1))
	r := scrapeOne(s, 10, gen(100, 2)) // began anew
	if len(r.Events) != 1 || r.Events[0].Kind != Reset || !strings.Contains(r.Events[0].Detail, "fell from 1000 to 100") {
		t.Errorf("%+v", r.Events)
	}
	absentAll(t, &r.Readings[0], "completion_TPS")
	check(t, &r.Readings[0], want{"running": 2})
	if len(r.Missing) != 0 {
		t.Errorf("missing after a restart: %+v", r.Missing)
	}
	r = scrapeOne(s, 20, gen(600, 2))
	check(t, &r.Readings[0], want{"completion_TPS": 50}) // 500 ÷ 10 s
	if len(r.Events) != 0 || r.Problem != nil {
		t.Errorf("%+v", r)
	}

	// The counter has passed its old value, but the process is another one.
	s = NewState(VLLM)
	scrapeOne(s, 0, gen(100, 1)+"process_start_time_seconds 1000\n")
	r = scrapeOne(s, 10, gen(200, 1)+"process_start_time_seconds 5000\n")
	absentAll(t, &r.Readings[0], "completion_TPS")
	if len(r.Events) != 1 {
		t.Errorf("%+v", r.Events)
	}
	// The same told by _created.
	s = NewState(VLLM)
	scrapeOne(s, 0, gen(100, 1)+"vllm:generation_tokens_created 1000\n")
	if r = scrapeOne(s, 10, gen(200, 1)+"vllm:generation_tokens_created 5000\n"); len(r.Events) != 1 {
		t.Errorf("%+v", r.Events)
	}

	// Two servers behind one address: the third fall says so.
	s = NewState(VLLM)
	var last Result
	for i := range 7 {
		last = scrapeOne(s, float64(10*i), gen(map[bool]float64{true: 100, false: 9000}[i%2 == 0]+float64(i), 1))
	}
	if last.Problem == nil || !strings.Contains(last.Problem.Next.EN, "load balancer") {
		t.Errorf("%+v", last.Problem)
	}

	// Another program's counter that falls is only absent itself.
	s = NewState(VLLM)
	scrapeOne(s, 0, gen(100, 1)+"# TYPE http_total counter\nhttp_total 50\n")
	r = scrapeOne(s, 10, gen(200, 1)+"# TYPE http_total counter\nhttp_total 5\n")
	check(t, &r.Readings[0], want{"completion_TPS": 10})
	absentAll(t, &r.Readings[0], "http_total")
	if len(r.Events) != 0 {
		t.Errorf("%+v", r.Events)
	}
}

func TestIntervals(t *testing.T) {
	// No time between two scrapes, or time that runs backwards: no rates, no division by zero.
	s := NewState(VLLM)
	scrapeOne(s, 0, gen(100, 1))
	for _, second := range []float64{0, -5} {
		r := scrapeOne(s, second, gen(200, 1))
		absentAll(t, &r.Readings[0], "completion_TPS")
		sound(t, r)
	}
	// A counter that appears was 0 before …
	s = NewState(VLLM)
	scrapeOne(s, 0, gen(100, 1))
	success := "# TYPE vllm:request_success_total counter\nvllm:request_success_total{finished_reason=\"stop\"} 20\n"
	r := scrapeOne(s, 10, gen(100, 1)+success)
	check(t, &r.Readings[0], want{"request_rate": 2, "completion_TPS": 0})
	// … unless the scrape before was not read completely.
	s = NewState(VLLM)
	scrapeOne(s, 0, gen(100, 1)+"!!\n")
	r = scrapeOne(s, 10, gen(200, 1)+success)
	absentAll(t, &r.Readings[0], "request_rate")
	check(t, &r.Readings[0], want{"completion_TPS": 10})
	// Values that are no numbers are absent.
	r = scrapeOne(NewState(VLLM), 0, gen(1, math.NaN())+"vllm:kv_cache_usage_perc 0.5\n")
	absentAll(t, &r.Readings[0], "running")
	r = scrapeOne(NewState(VLLM), 0, "vllm:kv_cache_usage_perc +Inf\nvllm:num_requests_running 1\n")
	absentAll(t, &r.Readings[0], "KV_cache_usage")
}

func TestUnknownIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(gen(1, 1) + "other 1\n")
	for i := range maxUnknown + 50 {
		fmt.Fprintf(&b, "vllm:new{n=\"%d\"} 1\n", i)
	}
	fmt.Fprintf(&b, "running 77\nvllm:long{a=\"%s\"} 1\n", strings.Repeat("x", 5000))
	r := scrapeOne(NewState(VLLM), 0, b.String())
	n := 0
	for _, v := range r.Readings[0].Values {
		if v.Key == "vllm:new" || v.Key == "other" || v.Key == "series:running" || v.Key == "vllm:long" {
			n++
		}
	}
	if n != maxUnknown || r.Skipped != 50+3 { // other, running and the long one (cut to a name's length) come last
		t.Errorf("%d kept, %d skipped", n, r.Skipped)
	}
	check(t, &r.Readings[0], want{"running": 1})
	r = scrapeOne(NewState(VLLM), 0, gen(1, 1)+"running 77\n")
	check(t, &r.Readings[0], want{"running": 1, "series:running": 77})
}

func TestNoSeries(t *testing.T) {
	for _, c := range []struct{ kind, body, what, next string }{
		{VLLM, "", "empty", "--disable-log-stats"},
		{SGLang, "python_info 1\n", "none of SGLang", "--enable-metrics"},
		{VLLM, "sglang:num_running_reqs 1\n", "of SGLang (1)", "kind"},
		{SGLang, "vllm_num_requests_running 1\n", "of vLLM (1)", "kind"},
		{VLLM, "<!doctype html><p>404", "HTML", "port"},
		{TensorRTLLM, "[]", "JSON", "/prometheus/metrics"},
		{VLLM, `[{"iter":1}]`, "JSON", "tensorrt-llm"},
		{VLLM, "some words\n", "not Prometheus text", "8000"},
		{TensorRTLLM, "x 1\n", "none of TensorRT-LLM", "return_perf_metrics"},
	} {
		r := scrapeOne(NewState(c.kind), 0, c.body)
		if r.Problem == nil || !strings.Contains(r.Problem.What.EN, c.what) || !strings.Contains(r.Problem.Next.EN, c.next) || len(r.Readings) != 0 {
			t.Errorf("%s %q: %+v", c.kind, c.body, r.Problem)
		}
	}
}

func FuzzScrape(f *testing.F) {
	names, err := filepath.Glob("testdata/*.1.txt")
	if err != nil || len(names) == 0 {
		f.Fatal(err)
	}
	for _, name := range names {
		a, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(strings.Replace(name, ".1.", ".2.", 1))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a, b)
	}
	f.Add([]byte("vllm:a{engine=\"0\"} 1\nvllm:a{engine=\"1\"} 1\n"), []byte("sglang_x_bucket{le=\"NaN\"} 1\ntrtllm:spec_decode_accepted_tokens_total{token_position=\"-1\"} 3\n"))
	f.Add([]byte("# TYPE h histogram\nh_bucket{le=\"1\"} 5\nh_count 1e400\n"), []byte("{\"a b\",c=\"d\"} 1\r\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, kind := range Kinds() {
			s := NewState(kind)
			for i, body := range [][]byte{a, b, a} {
				sound(t, s.Scrape(t0.Add(time.Duration(i)*time.Second), body))
			}
		}
	})
}
