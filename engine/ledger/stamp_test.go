package ledger

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestStamps(t *testing.T) {
	const (
		zone = 1 << iota
		year
		all = zone | year
	)
	day := time.Date(2026, 8, 20, 12, 34, 56, 0, time.UTC)
	noYear := time.Date(0, 8, 20, 12, 34, 56, 0, time.UTC)
	f := func(prefix string, want time.Time, known int) {
		t.Helper()
		for _, p := range []string{prefix, "\x1b[32m" + prefix + "\x1b[0m"} {
			r := parseOne(t, p+sampleCPU)
			s := r.Line.Stamp
			if r.Err != nil || !s.Time.Equal(want) || s.ZoneKnown != (known&zone != 0) || s.YearKnown != (known&year != 0) {
				t.Errorf("%q gives %v (zone %v, year %v), want %v; error %v", p, s.Time, s.ZoneKnown, s.YearKnown, want, r.Err)
			}
		}
	}
	ms := day.Add(123 * time.Millisecond)
	// ISO 8601 and relatives.
	f("2026-08-20T12:34:56Z ", day, all)
	f("2026-08-20T12:34:56.123456789Z stdout F ", day.Add(123456789), all)
	f("2026-08-20T20:34:56.123+08:00 ", ms, all)
	f("2026-08-20 04:34:56-0800 ", day, all)
	f("2026-08-20 12:34:56 +00 | INFO | ", day, all)
	f("2026-08-20 18:04:56+0530 ", day, all)
	f("2026-08-20 12:34:56.123 UTC [77] ", ms, all)
	f("2026-08-20T12:34:56 ", day, year)
	f("20260820T123456Z ", day, all)
	f("20260820-12:34:56 ", day, year)
	// Loggers.
	f("2026-08-20 12:34:56,123 - engine - INFO - ", ms, year)
	f("[2026-08-20 12:34:56 TP0] ", day, year)
	f("2026/08/20 12:34:56.123000 main.go:7: ", ms, year)
	f("2026-08-20 12:34:56.123 | INFO     | engine:log:12 - ", ms, year)
	f("INFO 2026-08-20 12:34:56 CST ", day, year) // CST names several zones
	f("time=2026-08-20T12:34:56Z level=info msg=\"", day, all)
	f("(EngineCore pid=9) INFO 08-20 12:34:56 [stats.py:9] ", noYear, 0)
	f("I0820 12:34:56.123456 77 stats.cc:9] ", noYear.Add(123456*time.Microsecond), 0)
	f("I20260820 12:34:56.123456 77 stats.cc:9] ", day.Add(123456*time.Microsecond), year)
	f("Aug 20 12:34:56 host engine[77]: ", noYear, 0)
	f("Aug  3 12:34:56 host engine[77]: ", time.Date(0, 8, 3, 12, 34, 56, 0, time.UTC), 0)
	f("Thu Aug 20 12:34:56 2026 ", day, year)
	f("Thu, 20 Aug 2026 12:34:56 GMT ", day, all)
	f("[20/Aug/2026:12:34:56 +0000] ", day, all)
	f("1787229296.123 INFO ", ms, all)
	f("[1787229296123] ", ms, all)
	f("1787229296: ", day, all)
	f("Feb 29 01:02:03 ", time.Date(0, 2, 29, 1, 2, 3, 0, time.UTC), 0)
	f("2026-12-31 23:59:60Z ", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), all)
	// The most complete wins; of equals the one nearest to the engine.
	f("2026-08-20T12:34:57Z 2026-08-20 12:34:56,123 INFO ", day.Add(time.Second), all)
	f("2026-08-20T12:34:57Z 2026-08-20T12:34:56Z ", day, all)
	f("Aug 21 10:00:00 host 2026-08-20 12:34:56 ", day, year)
	f("2026-08-20 12:34:56 08-19 12:34:56 ", day, year)
	// What looks like a time and isn't.
	for _, p := range []string{"", "INFO ", "2026-13-20 12:34:56 ", "2026-02-30 12:34:56 ", "2026-08-20 24:34:56 ", "2026-08-20 12:60:56 ",
		"2026-08-20 ", "12:34:56 ", "v2026-08-20T12:34:56 ", "1234-08-20 12:34:56 ", "0000-08-20 12:34:56 ", "2026-08-20 12:34:561 ",
		"Aug 20 ", "Foo 20 12:34:56 ", "0820 12:34:56 ", "X0820 12:34:56 ", "123456789 ", "12345678901234567890 ", "1787229296x ", "1787229296.1x ",
		"99-08-20 12:34:56x", "10.0.0.1:6070 ", "0123456789 "} {
		f(p, time.Time{}, 0)
	}
}

func TestEpoch(t *testing.T) {
	for s, want := range map[string]int64{
		"1787229296": 1787229296e9, "1787229296.5": 1787229296.5e9, "1787229296123": 1787229296123e6, "1787229296123.25": 1787229296123250e3,
		"1787229296123456": 1787229296123456e3, "1787229296123456789": 1787229296123456789, "1787229296.123456789012": 1787229296123456789,
	} {
		got, ok := epoch(s)
		if !ok || got.Time.UnixNano() != want {
			t.Errorf("%s is %d, %v, want %d", s, got.Time.UnixNano(), ok, want)
		}
	}
}

func TestWrappedLines(t *testing.T) {
	day := time.Date(2026, 8, 20, 12, 34, 56, 0, time.UTC)
	f := func(raw string, want time.Time) {
		t.Helper()
		r := parseOne(t, raw)
		if r.Err != nil || !r.Line.Stamp.Time.Equal(want) {
			t.Errorf("%q gives time %v, want %v; error %v", raw, r.Line.Stamp.Time, want, r.Err)
		}
		sameValues(t, r.Line.Values, wantStats)
	}
	docker, err := json.Marshal(map[string]string{"log": "\x1b[32mINFO\x1b[0m " + sampleStats + "\n", "stream": "stdout", "time": "2026-08-20T12:34:56Z"})
	if err != nil {
		t.Fatal(err)
	}
	f(string(docker), day)
	f("2026-08-20T12:34:57Z stdout F "+string(docker), day) // both complete: the inner one
	f(`{"level":"info","ts":1787229296,"msg":"`+sampleStats+`"}`, day)
	f(`{"message":"`+sampleStats+`", "@timestamp" : "2026-08-20T12:34:56Z", "tags":["a","b"], "n":{"x":[1,2.5e3]}}`, day)
	f(`{"text":"2026-08-20 12:34:55 | `+sampleStats+`","record":{"time":{"repr":"2026-08-20T20:34:56+08:00","timestamp":1787229296}}}`, day)
	f(`{"MESSAGE":"`+sampleStats+`","__REALTIME_TIMESTAMP":"1787229296000000"}`, day)
	f(`{"msg":"2026-08-20 12:34:56 `+sampleStats+`"}`, day)
	f(`{"t":"x","a":3,"msg":"`+sampleStats+`"}`, time.Time{})
	// Docker around a structured logger.
	inner, err := json.Marshal(map[string]string{"msg": sampleStats})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := json.Marshal(map[string]string{"log": string(inner) + "\n", "time": "2026-08-20T12:34:56Z"})
	if err != nil {
		t.Fatal(err)
	}
	f(string(outer), day)
	// A brace before the line is not JSON.
	f("{rank:0} "+sampleStats, time.Time{})
	f("2026-08-20 12:34:56 {engine} "+sampleStats, day)

	// Escapes of all kinds, in a name.
	r := parseOne(t, `{"log":"RANK 0, GPU 0, step 1, [cpu] (a\/b\"c\\d\u00e9\uD83Dx\t\b\uZZ cur1ms)\r\n"}`)
	if r.Err != nil || len(r.Line.Values) != 1 || r.Line.Values[0].Label != "a/b\"c\\d\u00e9\uFFFDx  \uFFFDZZ" {
		t.Errorf("%+v", r)
	}
	// Records that are cut.
	for _, raw := range []string{`{"log":"RANK 0, GPU 0, step 1, [stats] (running 1 | pend`, `{"log":"RANK 0, GPU 0, step 1, [stats] (running 1 | p\`,
		`{"log":"RANK 0, GPU 0, step 1, [stats] (running 1 | \u00`} {
		if r := parseOne(t, raw); r.Err == nil || r.Err.Reason != Cut || len(r.Line.Values) != 1 {
			t.Errorf("%q: %+v", raw, r)
		}
	}
	// Wrapped deeper than anybody wraps: not opened, so not read, but not lost either.
	deep := sampleStats
	for range maxWraps + 1 {
		b, err := json.Marshal(map[string]string{"log": deep})
		if err != nil {
			t.Fatal(err)
		}
		deep = string(b)
	}
	if got := Parse(nil, []byte(deep)); len(got) != 1 {
		t.Errorf("%d results", len(got))
	}
}

func TestStripANSI(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "\x1b[1;32mgreen\x1b[0m": "green", "\x1b]0;title\x07x": "x", "\x1b]8;;url\x1b\\x": "x",
		"\x1b(Bx": "Bx", "x\x1b": "x", "x\x1b[31": "x", "x\x1b]0;t": "x", "\x1b[\x1b[mx": "x",
	} {
		if got := stripANSI(in); got != want && !(strings.HasPrefix(in, "\x1b[\x1b") && strings.HasSuffix(got, "x")) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestColouredBody(t *testing.T) {
	raw := strings.ReplaceAll(sampleStats, "|", "\x1b[90m|\x1b[0m")
	r := parseOne(t, raw+"\x1b[0m\r\n")
	if r.Err != nil {
		t.Error(r.Err)
	}
	sameValues(t, r.Line.Values, wantStats)
}
