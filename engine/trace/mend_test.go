package trace

import (
	"strings"
	"testing"
)

// document3 is three events and a header behind them; with the named part replaced.
func document3(old, new string) string {
	s := "{\"schemaVersion\": 1, \"traceEvents\": [" + opA + ",\n" + opB + ",\n" + opC + "], \"baseTimeNanoseconds\": 1700000000000000000}"
	if strings.Count(s, old) != 1 {
		panic(old + " does not stand once in " + s)
	}
	return strings.Replace(s, old, new, 1)
}

// first3 is the same of events that begin with their name.
func first3(old, new string) string {
	return strings.NewReplacer(opA, firstA, opB, firstB, opC, firstC).Replace(document3(old, new))
}

const (
	based = "slices=3; skipped=0; span=8000; start=1700000000000001000; cut at=-; "
	key3  = `"traceEvents": [` // as document3 has it
)

// Damage to the list's own key and brackets, which must not cost the events around it.
var damagedFrames = table(
	example{"key of the list with another letter", document3("traceEvents", "traceEwents"), based + "events=3; list_damaged=1; list_damaged.at=21; no_trace_events=-"},
	example{"key of the list cut short", document3("traceEvents", "tracets"), based + "events=3; list_damaged=1"},
	example{"key of the list with bytes put in", document3("traceEvents", "tra?!\x02ceEvents"), based + "events=3; list_damaged=1"},
	example{"key of the list overwritten", document3("traceEvents", "tr\x88\xf5ts"), based + "events=3; list_damaged=1"},
	example{"quote of the list's key lost", document3(`traceEvents"`, "traceEvents"), based + "events=3; header_damaged=1; list_damaged=1"},
	example{"colon of the list lost", document3(`traceEvents":`, `traceEvents"`), based + "events=3; header_damaged=1; list_damaged=1"},
	example{"bracket of the list lost", document3(key3, `"traceEvents": `), based + "events=3; list_damaged=1"},
	example{"bracket of the list is another byte", document3(key3, `"traceEvents": _`), based + "events=3; list_damaged=1"},
	example{"bracket of the list is a brace", document3(key3, `"traceEvents": {`), based + "events=3; list_damaged=1"},
	example{"bracket of the list twice", document3(key3, `"traceEvents": [[`), based + "events=3; list_damaged=1"},
	example{"bracket of a bare list twice", "[[" + opA + "," + opB + "," + opC + "]", "slices=3; events=3; list_damaged=1; skipped=0"},
	example{"frame lost with the first event's beginning", `{"schemaVersion": 1, "trac` + opA[30:] + "," + opB + "," + opC + "]}", "slices=2; list_damaged=1; span=5000; cut at=-"},
	example{"bracket before an event", document3(",\n"+opB, ",\n["+opB), based + "events=3; list_damaged=1"},
	example{"bracket for a brace", document3(opB, "]"+opB[1:]), "slices=2; span=8000; start=1700000000000001000; cut at=-; list_damaged=1; header_damaged=1"},
	example{"closing bracket between events", document3(",\n"+opB, "],\n"+opB), based + "events=3; header_damaged=1; list_damaged=1"},
	example{"closing bracket behind a comma", document3(",\n"+opB, ",\n]"+opB), based + "events=3; list_damaged=1"},
	example{"closing bracket between events that begin with their name", first3(",\n"+opB, "],\n"+opB), based + "events=3; list_damaged=1"},
	example{"closing bracket in a bare list", "[" + opA + "]," + opB + "," + opC + "]", "slices=3; events=3; list_damaged=1; junk_after_root=-; cut at=-"},
	example{"root closed between events", document3(",\n"+opB, "]},\n"+opB), based + "events=3; list_damaged=1; junk_after_root=-"},
	example{"root closed twice between events", document3(",\n"+opB, "]}}]\n,"+opB), based + "events=3; list_damaged=1"},
	example{"root closed behind a comma", document3(",\n"+opB, ",]}\n"+opB), based + "events=3; list_damaged=1; second_document=-"},
	example{"document opened between events", document3(",\n"+opB, ",\n{"+key3+opB), "slices=3; events=4; skipped=1; list_damaged=-; cut at=-"},
	example{"brace of a header member lost", document3(`{"schemaVersion": 1, `, `{"distributedInfo": {"backend": "nccl", "rank": 3, `), based + "events=3; header_damaged=1"},
	example{"list goes on inside an event", document3(opB, opB[:len(opB)-3]+`{"a": [1, [`), "slices=2; events=3; skipped=1; span=8000"},
	example{"root closed in a damaged header", document3(`{"schemaVersion": 1, `, `{"schemaVersion": 1 -x], ne} / e.g. `), based + "events=3; header_damaged=1; junk_after_root=-"},
	// What is no damage stays what it is.
	example{"another list of events", `{"otherEvents": [` + op("x", "900", "1") + `], ` + document3(`{"schemaVersion": 1, `, ""), clean + "events=3; list_damaged=-"},
	example{"another list of events, and no traceEvents", `{"otherEvents": [` + op("x", "900", "1") + `]}`, "slices=0; events=0; no_trace_events=1; list_damaged=-; verdict=unusable"},
	example{"a list of events as an element", document(opA, "["+opB+", "+opC+"]", opC), twoOf3 + "list_damaged=-"},
	example{"a document as an element", document(opA, document(opB), opC), twoOf3 + "list_damaged=-"},
	example{"events inside an event", document(opA, slice("cpu_op", "b", "1", "1", "4", "2", `"log": [`+op("x", "900", "1")+", "+op("y", "901", "1")+"]"), opC), clean + "list_damaged=-"},
	example{"second document of bare events", "[" + opA + "," + opB + "," + opC + "]\n[" + op("x", "900", "1") + "]", clean + "second_document=1; list_damaged=-"},
	example{"junk, then a second document", document(opA, opB, opC) + " -- \n" + document(op("x", "900", "1"), op("y", "901", "1")), clean + "junk_after_root=1; list_damaged=-"},
	example{"junk behind a root without a list", `{"displayTimeUnit": "ms"} -- end`, "slices=0; header_damaged=1; no_trace_events=1; cut at=-"},
	example{"a document without a list, then one with", `{"displayTimeUnit": "ms"}` + document(opA), "slices=0; second_document=1; cut at=-"},
	// Lists without brackets.
	example{"one event a line", opA + "\n" + opB + "\n" + opC + "\n", clean + "list_damaged=1; list_damaged.at=0; missing_comma=2; cut at=-; second_document=-"},
	example{"one event a line, name first", firstA + "\r\n" + firstB + "\r\n" + firstC, clean + "list_damaged=1; cut at=-"},
	example{"one event a line, cut", opA + "\n" + opB + "\n" + opC[:40], "slices=2; events=3; skipped=1; cut at=" + itoa(int64(len(opA+opB)+42))},
	example{"events with commas and no brackets", opA + ",\n" + opB + ",\n" + opC, clean + "list_damaged=1; cut at=-; missing_comma=-"},
	example{"one event and nothing else", opA, "slices=1; events=1; list_damaged=1; no_trace_events=-; cut at=-"},
	example{"no opening bracket", opA + "," + opB + "," + opC + "]", clean + "list_damaged=1; cut at=-"},
)

func TestDamagedFrames(t *testing.T) { run(t, damagedFrames) }

// Comments that do not end would take the rest of the file with them.
var openComments = table(
	example{"block comment that never ends", document(opA, "/* here"+opB, opC), "slices=3; skipped=0; comment=-; junk_between_events=1; cut at=-"},
	example{"line comment in a file of one line", "[" + opA + ", // here " + opB + ", " + opC + "]", "slices=3; comment=-; junk_between_events=1"},
	example{"line comment at the end", "[" + opA + "," + opB + "," + opC + "] // end", clean + "comment=1; cut at=-"},
	example{"block comment around an event", document(opA, "/* "+opB+", */ "+opB, opC), clean + "comment=1"},
	example{"block comment longer than comments are", document(opA, "/*"+strings.Repeat("-", lookahead)+"*/ "+opB, opC), "slices=3; skipped=0; cut at=-"},
	example{"block comment nearly as long as comments are", document(opA, "/*"+strings.Repeat("-", lookahead-4)+"*/ "+opB, opC), clean + "comment=1; junk_between_events=-"},
	example{"events in a comment of some KB", document(opA, "/*"+strings.Repeat(opB+",", 100)+"*/ "+opB, opC), clean + "comment=1"},
	example{"block comment behind one that never ends", document(opA, "/*"+strings.Repeat("-", lookahead)+opB, "/* b */"+opC), "slices=3; skipped=0; comment=1; junk_between_events=1; cut at=-"},
	example{"line comment behind a block comment without an end", "[" + opA + ", // a\n" + opB + ", /* b" + opC + " // c\n]", "slices=3; comment=2; junk_between_events=1; cut at=-"},
	example{"ends that overlap beginnings", document(opA, "/*/ "+opB+" /*/"+opB, "//*/\n"+opC), clean + "comment=2; cut at=-"},
	example{"comment that never ends in the header", `{"schemaVersion": 1, /* here ` + document(opA, opB, opC)[1:], clean + "header_damaged=1; cut at=-"},
)

func TestOpenComments(t *testing.T) { run(t, openComments) }

// Large files, where a swallowed rest is longer than values are.
func TestSwallowedRest(t *testing.T) {
	many := make([]string, 2000) // 200 KB
	for i := range many {
		many[i] = op("n", num(i+1), "1")
	}
	whole := document(many...)
	for name, x := range map[string]struct{ old, new, want string }{
		"brackets open inside args":  {`"ts": 5, "dur": 1, "args": {}},`, `"ts": 5, "dur": 1, "args": {"a": [{}, `, "slices=1999; skipped=1; cut at=-"},
		"document opened":            {`"ts": 5, "dur": 1, "args": {}},`, `"ts": 5, "dur": 1, "args": {}}, {"traceEvents": [`, "slices=2000; skipped=1; cut at=-"},
		"bracket before an event":    {`"ts": 5, "dur": 1, "args": {}},`, `"ts": 5, "dur": 1, "args": {}}, [`, "slices=2000; skipped=0; list_damaged=1; cut at=-"},
		"header member never closes": {`{"traceEvents"`, `{"distributedInfo": {"rank": 1, "traceEvents"`, "slices=2000; header_damaged=1"},
	} {
		if strings.Count(whole, x.old) != 1 {
			t.Fatalf("%s: %q stands %d times", name, x.old, strings.Count(whole, x.old))
		}
		data := []byte(strings.Replace(whole, x.old, x.new, 1))
		t.Run(name, func(t *testing.T) {
			check(t, read(t, data), x.want)
			want := wholeOf(data, Options{})
			for _, cuts := range [][]int64{{300}, {60_000, 70_000}, {150_000}} {
				sameSplit(t, splitOf, data, cuts, Options{}, want)
			}
			if got := chunked(data, Options{}, sizes(777)); got != want {
				t.Error("in chunks: another result")
			}
		})
	}
}

// What has taken in events and does not end within 2 KiB lost a bracket: its events are read, the same from any chunks.
// Looking 64 KiB ahead at each such bracket took minutes for a few megabytes of them.
func TestEventsTakenIn(t *testing.T) {
	const event = `{"ph":"X","ts":1,"dur":1}`
	for _, c := range []struct {
		name, in string
		slices   int64
	}{
		{"object", `{"traceEvents":[{"a":[` + strings.Repeat(event+",", 200) + event + `]},` + event + `]}`, 202},
		{"list", `{"traceEvents":[[` + strings.Repeat(event+",", 200) + event + `],` + event + `]}`, 202},
		{"objects never closed", `{"traceEvents":[` + strings.Repeat(`{"a":[`+event+",", 20_000) + event + `]}`, 20_001},
		{"lists never closed", `{"traceEvents":[` + strings.Repeat(`[`+event+",", 20_000) + event + `]}`, 20_001},
		{"short object", `{"traceEvents":[{"a":[` + strings.Repeat(event+",", 50) + event + `]},` + event + `]}`, 1},
	} {
		p, err := Read(strings.NewReader(c.in), Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := Analyze(p, AnalyzeOptions{}).Health.Slices; got != c.slices {
			t.Errorf("%s: %d slices, want %d", c.name, got, c.slices)
		}
		want := wholeOf([]byte(c.in), Options{})
		if got := chunked([]byte(c.in), Options{}, sizes(997)); got != want {
			a, b := around(got, want)
			t.Errorf("%s in chunks:\n got …%s\nwant …%s", c.name, a, b)
		}
	}
}

// Where no end of a comment was found none is looked for again, for either kind: 64 KiB each took seconds for 2 MB of them.
func TestCommentsNeverClosed(t *testing.T) {
	const n = 40_000
	in := "[" + strings.Repeat(`{"ph":"X","ts":1,"dur":1},/*`, n) + strings.Repeat(`{"ph":"X","ts":1,"dur":1},//`, n) + "]"
	want := wholeOf([]byte(in), Options{})
	if got := chunked([]byte(in), Options{}, sizes(997)); got != want {
		a, b := around(got, want)
		t.Errorf("in chunks:\n got …%s\nwant …%s", a, b)
	}
	p, err := Read(strings.NewReader(in), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h := Analyze(p, AnalyzeOptions{}).Health; h.Slices != 2*n {
		t.Errorf("%d slices, want %d", h.Slices, 2*n)
	}
	// The reader keeps how far it looked: to the end, but for what may begin an end.
	r := NewReader(Options{})
	if _, err := r.Write([]byte(in)); err != nil {
		t.Fatal(err)
	}
	for i, far := range r.noEnd {
		if far < int64(len(in))/3 {
			t.Errorf("kind %d: it is known up to byte %d only", i, far)
		}
	}
}
