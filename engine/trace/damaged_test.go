package trace

import (
	"strings"
	"testing"
)

// offset is where sub first stands in s.
func offset(s, sub string) string {
	i := strings.Index(s, sub)
	if i < 0 {
		panic("no " + sub + " in " + s)
	}
	return itoa(int64(i))
}

var (
	opA, opB, opC = op("a", "1", "2"), op("b", "4", "2"), op("c", "7", "2")
	// The same with the name first, as programs other than Kineto write it.
	firstA = `{"name": "a", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}`
	firstB = `{"name": "b", "ph": "X", "ts": 4, "dur": 2, "pid": 1, "tid": 1}`
	firstC = `{"name": "c", "ph": "X", "ts": 7, "dur": 2, "pid": 1, "tid": 1}`
)

// named is one event with the raw bytes of a name between its quotes, between two others.
func named(raw string) string {
	return document(opA, `{"ph": "X", "name": "`+raw+`", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 4, "dur": 2}`, opC)
}

// valued is one kernel with an argument of the given raw value, between two others.
func valued(raw string) string {
	return document(opA, kernel("k", "4", "2", `5, "odd": `+raw+`, "last": 1`), opC)
}

const (
	three    = "slices=3; events=3; skipped=0; span=8000; "
	twoOf3   = "slices=2; events=3; skipped=1; span=8000; "
	oneFixed = three + "repaired=1; "
	clean    = three + "repaired=0; "
)

// The table "How peers treat damaged input" of the collected cases.
var damagedByPeers = table(
	example{"bare NaN as duration", document(opA, op("b", "4", "NaN"), opC), "slices=2; events=3; skipped=0; untimed=1; nonfinite=-; span=8000; verdict=warn"},
	example{"null among events", document(opA, "null", opC), twoOf3},
	example{"number among events", document(opA, "17.5", opC), twoOf3},
	example{"string among events", document(opA, `"}, {"`, opC), twoOf3},
	example{"list among events", document(opA, `[{"ph": "X"}, 2]`, opC), twoOf3},
	example{"surrogate pair", named(`x\ud83d\ude00y`), clean + "interned x😀y=yes"},
	example{"lone high surrogate", named(`x\ud83dy`), oneFixed + "interned x\ufffdy=yes"},
	example{"lone low surrogate", named(`x\ude00y`), oneFixed + "interned x\ufffdy=yes"},
	example{"two high surrogates, then a low one", named(`\ud83d\ud83d\ude00`), oneFixed + "interned \ufffd😀=yes"},
	example{"high surrogate before another escape", named(`\ud83d\n`), oneFixed + "interned \ufffd\n=yes"},
	example{"bad escape", named(`a\qb`), oneFixed + `interned a\qb=yes`},
	example{"short unicode escape", named(`a\u12b`), oneFixed + `interned a\u12b=yes`},
	example{"UTF-8 byte-order mark", "\ufeff" + document(opA, opB, opC), clean},
	example{"byte-order mark before a list", "\ufeff[" + opA + "," + opB + "," + opC + "]", clean},
	example{"fraction of epoch µs", document(op("a", "1743521598000000.123", "1")), "slices=1; start=1743521598000000123; span=1000"},
	example{"ts 1e20", document(opA, op("b", "1e20", "1"), opC), "slices=2; skipped=0; untimed=1; span=8000"},
	example{"traceEvents twice", `{"traceEvents": [` + opA + `], "x": 1, "traceEvents": [` + opB + `,` + opC + `]}`, clean},
	example{"name twice", document(opA, `{"ph": "X", "name": "old", "name": "new", "cat": "kernel", "ts": 4, "dur": 2, "args": {"device": 0}}`, opC), clean + "kernels=new; kernel new=1/2000/2000/2000"},
	example{"string pid and tid", document(opA, slice("cpu_op", "b", `"main"`, `"loop"`, "4", "2", ""), opC), clean},
	example{"no pid, no tid", document(opA, `{"ph": "X", "name": "b", "ts": 4, "dur": 2}`, opC), clean},
	example{"missing comma between events", "{\"traceEvents\": [" + opA + "\n" + opB + "," + opC + "]}", clean + "missing_comma=1; missing_comma.at=" + offset("{\"traceEvents\": ["+opA+"\n"+opB, opB)},
	example{"junk after the root", document(opA, opB, opC) + "\n-- end --\n", clean + "junk_after_root=1; junk_after_root.at=" + offset(document(opA, opB, opC)+"\n--", "--") + "; cut at=-"},
	example{"comments", "// head\n{/* a */\"traceEvents\": [ // b\n" + opA + "/* c */,/* d */" + opB + ",\n" + opC + " /* e */]/* f */}// g",
		clean + "comment=8; comment.at=0; cut at=-"},
	example{"two objects", document(opA, opB, opC) + document(op("d", "100", "1")), clean + "second_document=1; cut at=-"},
	example{"object, then a list", document(opA, opB, opC) + "[" + op("d", "100", "1") + "]", clean + "second_document=1"},
	example{"empty object", "{}", "slices=0; events=0; verdict=unusable; cut at=-; span=-; start=-; gpus=0"},
	example{"empty list", "[]", "slices=0; events=0; verdict=unusable; cut at=-; span=-; start=-"},
	example{"traceEvents null", `{"traceEvents": null}`, "slices=0; events=0; cut at=-"},
	example{"partial overlap on a thread", document(op("a", "1", "5"), op("b", "3", "6"), op("c", "8", "1")), clean},
)

func TestDamagedByPeers(t *testing.T) { run(t, damagedByPeers) }

// The rest of the table: what is not a trace says so.
func TestNotATrace(t *testing.T) {
	for _, x := range []struct{ name, in, want string }{
		{"empty file", "", "empty"},
		{"blanks", " \n\t ", "empty"},
		{"byte-order mark only", "\ufeff", "empty"},
		{"text", "INFO 12:00:01 profiler started", "INFO 12:00"},
		{"page", "<html><body>login</body></html>", "HTML"},
		{"archive", "PK\x03\x04aaaaaaaaaaaaaaaaaaaa", "ZIP"},
		{"database", "SQLite format 3\x00aaaaaaaa", "SQLite"},
		{"number", "42", "42"},
		{"string", `"traceEvents"`, "traceEvents"},
		{"binary", "\x00\x01\x02\x03\x04\x05\x06\x07\x00\x01\x02\x03\x04\x05\x06\x07", "binary"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(x.in), Options{})
			if err == nil {
				t.Fatal("read without an error")
			}
			e, ok := err.(*Error)
			if !ok || e.Hint == "" || !strings.Contains(err.Error(), x.want) {
				t.Errorf("error %q with hint, want one that says %s and what to do", err, x.want)
			}
			if len(e.What) > 200 || strings.ContainsFunc(e.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("error %q repeats the file's bytes raw or at length", err)
			}
		})
	}
}

var damagedText = table(
	example{"control byte in args", valued("\"a\x01b\""), oneFixed + "linked=0; kernel k=1/2000/2000/2000"},
	example{"control byte in a key of args", document(opA, op("b", "4", "2")[:len(op("b", "4", "2"))-2]+"\"k\x02y\": 1}}", opC), oneFixed},
	example{"control byte in a category", document(opA, strings.Replace(opB, "cpu_op", "cpu\x03op", 1), opC), oneFixed + "cat cpu\ufffdop=1/2000"},
	example{"raw newline in a name", named("two\nlines"), oneFixed + "interned two\ufffdlines=yes"},
	example{"zero byte in a name", named("a\x00b"), oneFixed + "interned a\ufffdb=yes"},
	example{"DEL is allowed", named("a\x7fb"), clean + "interned a\x7fb=yes"},
	example{"bad UTF-8", named("a\xffb\xc0\xafc"), oneFixed + "interned a\ufffdb\ufffd\ufffdc=yes"},
	example{"UTF-8 cut short", named("a\xe4\xb8"), oneFixed + "interned a\ufffd\ufffd=yes"},
	example{"surrogate in UTF-8", named("a\xed\xa0\x80"), oneFixed + "interned a\ufffd\ufffd\ufffd=yes"},
	example{"good UTF-8", named("é你😀"), clean + "interned é你😀=yes"},
	example{"all escapes", named(`\"\\\/\b\f\n\r\t\u0041`), clean + "interned \"\\/\b\f\n\r\tA=yes"},
	example{"windows path", named(`D:\jobs\quant\eval.py`), oneFixed + `interned D:\jobs\quant\eval.py=yes`},
	example{"windows path with known escapes", named(`D:\temp\new`), clean + "interned D:\temp\new=yes"},
	example{"path ending in a backslash", named(`D:\jobs\`), oneFixed + `interned D:\jobs\=yes`},
	example{"unescaped quotes in the middle", named(`say "hi" twice`), oneFixed + `interned say "hi" twice=yes`},
	example{"unescaped quotes at the end", named(`say "hi"`), oneFixed + `interned say "hi"=yes`},
	example{"unescaped quotes at the start", named(`"hi" there`), oneFixed + `interned "hi" there=yes`},
	example{"quote, comma, text", named(`a", b`), oneFixed + `interned a", b=yes`},
	example{"braces in a name", named(`f{"a": [1]}, {x`), oneFixed + `interned f{"a": [1]}, {x=yes`},
	example{"missing closing quote", document(opA, `{"ph": "X", "name": "b, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 4, "dur": 2}`, opC), oneFixed + "interned b=yes"},
	example{"unescaped quotes in args", valued(`"record {"event_id": 9}"`), oneFixed + "kernel k=1/2000/2000/2000"},
	example{"comma missing between members", document(opA, `{"ph": "X" "name": "b", "ts": 4 "dur": 2}`, opC), oneFixed},
	example{"comma doubled between members", document(opA, `{"ph": "X",, "name": "b", "ts": 4,, "dur": 2}`, opC), oneFixed},
	example{"comma before the closing brace", document(opA, `{"ph": "X", "name": "b", "ts": 4, "dur": 2,}`, opC), three},
	example{"comment between members", document(opA, `{"ph": "X", /* here */ "name": "b", "ts": 4, // there
		"dur": 2}`, opC), three},
	example{"python literals", valued("[True, False, None]"), clean},
	example{"kernel signature with quotes", named(`void f<char const*, 'a'>("x", 1)`), oneFixed},
)

func TestDamagedText(t *testing.T) { run(t, damagedText) }

// Numbers that are none: absent in args, and not a repair.
func TestNonfiniteArguments(t *testing.T) {
	for _, x := range nonfinite {
		t.Run(x.name, func(t *testing.T) { check(t, read(t, []byte(x.in)), x.want) })
	}
}

var nonfinite = func() (list []example) {
	for _, raw := range []string{
		"inf", "-inf", "+inf", "Inf", "INF", "Infinity", "-Infinity", "infinity", "nan", "NaN", "-nan", "NAN", "nan(ind)", "-nan(ind)",
		"-nan(snan)", "1.#INF", "-1.#INF", "1.#QNAN", "-1.#IND", "1.#SNAN", "-1.#IND00", "[1, nan, 2]", `{"deep": -nan(ind)}`,
	} {
		list = append(list, example{"argument " + raw, valued(raw), clean + "nonfinite=1; untimed=-; gpu 0 sum=2000"})
	}
	for _, raw := range []string{"inf", "-Infinity", "nan", "-nan(ind)", "1.#INF", `"NaN"`, "null", "true", "{}", "[1]", `""`, `"abc"`} {
		list = append(list,
			example{"ts " + raw, document(opA, op("b", raw, "2"), opC), "slices=2; events=3; skipped=0; repaired=0; untimed=1; nonfinite=-"},
			example{"dur " + raw, document(opA, op("b", "4", raw), opC), "slices=2; events=3; skipped=0; repaired=0; untimed=1; nonfinite=-"})
	}
	return table(list...)
}()

var damagedLists = table(
	example{"trailing comma", "{\"traceEvents\": [" + opA + "," + opB + "," + opC + ",]}", clean + "trailing_comma=1"},
	example{"trailing comma in a bare list", "[" + opA + "," + opB + "," + opC + ",]", clean + "trailing_comma=1"},
	example{"commas doubled", "{\"traceEvents\": [" + opA + ",," + opB + ", , ," + opC + "]}", clean + "extra_comma=3"},
	example{"comma first", "{\"traceEvents\": [," + opA + "," + opB + "," + opC + "]}", clean + "extra_comma=1"},
	example{"log lines between events", document(opA, "INFO 12:00 flush\n"+opB, opC), clean + "junk_between_events=1"},
	example{"log line behind an event", "{\"traceEvents\": [" + opA + " WARN slow\n," + opB + "," + opC + "]}", clean + "junk_between_events=1"},
	example{"log lines between events that begin with their name", document(firstA, "INFO 12:00 flush\n"+firstB, firstC), clean + "junk_between_events=1"},
	example{"log line with brackets", document(opA, "INFO [step 3] {done}\n"+opB, opC), clean},
	example{"brace too many", "{\"traceEvents\": [" + opA + "}," + opB + "," + opC + "]}", clean + "junk_between_events=1"},
	example{"closing brace missing", document(opA, opB[:len(opB)-1], opC), "slices=2; events=3; skipped=1"},
	example{"closing braces missing, name first", document(firstA, firstB[:len(firstB)-1], firstC), "slices=2; events=3; skipped=1"},
	example{"event of one word", document(opA, "oops", opC), "slices=2; junk_between_events=1; cut at=-"},
	example{"colon missing", document(opA, strings.Replace(opB, `"pid":`, `"pid"`, 1), opC), "events=3; cut at=-; interned c=yes"},
	example{"value missing", document(opA, strings.Replace(opB, `"pid": 1`, `"pid": `, 1), opC), "events=3; cut at=-"},
	example{"bracket for brace in args", document(opA, strings.Replace(opB, `{}}`, `{"a": [1}}}`, 1), opC), "events=3; cut at=-"},
	example{"never closed, object", document(opA, opB, opC)[:len(document(opA, opB, opC))-1], clean + "cut at=" + itoa(int64(len(document(opA, opB, opC))-1))},
	example{"never closed, bare list", "[" + opA + "," + opB + "," + opC, clean + "cut at=-"},
	example{"damaged last event, then the header", `{"traceEvents": [` + opA + `,` + opB + `,{"ph": "X", "name: 1, !!}], "baseTimeNanoseconds": 1700000000000000000}`,
		"slices=2; events=3; skipped=1; start=1700000000000001000; cut at=-"},
	example{"damaged last event of the first document", `{"traceEvents": [` + opA + `,` + opB + `,{"ph": "X", "name: 1, !!}]}` + "\n" + document(op("d", "100", "1")),
		"slices=2; second_document=1; span=5000"},
	example{"damaged last event, then an unknown header key", `{"traceEvents": [` + opA + `,` + opB + `,{"ph": "X", "name: 1, !!}], "my_note": 3, "baseTimeNanoseconds": 1700000000000000000}`,
		"slices=2; start=1700000000000001000; cut at=-"},
)

func TestDamagedLists(t *testing.T) { run(t, damagedLists) }

var damagedHeaders = table(
	example{"log lines before the events", `{"schemaVersion": 1, "INFO": ["x {"event": 9}"], "baseTimeNanoseconds": 1700000000000000000, ` + document(opA, opB, opC)[1:],
		clean + "header_damaged=1; start=1700000000000001000"},
	example{"log lines behind the events", document(opA, opB, opC)[:len(document(opA, opB, opC))-1] + `, "WARN": ["y "z" 1"], "baseTimeNanoseconds": 1700000000000000000}`,
		clean + "header_damaged=1; start=1700000000000001000; cut at=-"},
	example{"unquoted key", `{schemaVersion: 1, ` + document(opA, opB, opC)[1:], clean + "header_damaged=1"},
	example{"control byte in the header", "{\"traceName\": \"a\x01b\", " + document(opA, opB, opC)[1:], three},
	example{"nan in the header", `{"x": nan, "baseTimeNanoseconds": 1700000000000000000, ` + document(opA, opB, opC)[1:], three + "start=1700000000000001000"},
	example{"comma missing in the header", `{"schemaVersion": 1 "baseTimeNanoseconds": 1700000000000000000 ` + document(opA, opB, opC)[1:], three + "start=1700000000000001000"},
	example{"text between the list and the header", document(opA, opB, opC)[:len(document(opA, opB, opC))-1] + ` oops "baseTimeNanoseconds": 1700000000000000000}`,
		three + "start=1700000000000001000"},
	example{"events inside a header value", `{"otherData": {"traceEvents": [` + op("x", "900", "1") + `]}, ` + document(opA, opB, opC)[1:], clean},
	example{"traceEvents absent", `{"displayTimeUnit": "ms", "baseTimeNanoseconds": 5}`, "slices=0; events=0; verdict=unusable; start=-"},
	example{"traceEvents late", `{"a": {"b": [1, {"c": "]}"}]}, "d": null, "e": -1.5e3, "traceEvents": [` + opA + "," + opB + "," + opC + "]}", clean + "header_damaged=-"},
)

func TestDamagedHeaders(t *testing.T) { run(t, damagedHeaders) }
