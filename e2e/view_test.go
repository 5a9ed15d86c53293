package e2e

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// list is Go strings as a JavaScript array.
func list(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// column is a column of a CSV file by its header.
func column(t *testing.T, records [][]string, key string) []string {
	t.Helper()
	i := slices.Index(records[0], key)
	if i < 0 {
		t.Fatalf("no column %q in %v", key, records[0])
	}
	var out []string
	for _, r := range records[1:] {
		out = append(out, r[i])
	}
	return out
}

// TestSortFilterExport sorts and filters a table, exports it in all forms, reloads, and finds all of it as it was.
func TestSortFilterExport(t *testing.T) {
	m := smallTrace(t)
	srv := newServer(t)
	id := keepByAPI(t, srv, m.path, "small.json")
	p := open(t, srv, "/trace?trace=/api/traces/"+id+"/content")
	p.done()

	sortBy := func(key string) {
		p.click(`#kernels th[data-key="` + key + `"] [data-action=sort]`)
	}
	order := func() []string {
		var names []string
		for _, r := range p.table("kernels").rows {
			names = append(names, r.Cells["name"].Title)
		}
		return names
	}
	byTotal := order()
	for i, k := range m.truth.Kernels {
		if byTotal[i] != k.Name {
			t.Fatalf("kernels are not sorted by time at first: row %d is %q, want %q", i, byTotal[i], k.Name)
		}
	}
	sortBy("name")
	byName := order()
	// Numbers in names count as numbers: 64x8 comes before 128x64.
	natural := eval[[]string](p, `((names) => names.sort(new Intl.Collator("en", { numeric: true }).compare))(`+list(byTotal)+`)`)
	if !slices.Equal(byName, natural) {
		t.Errorf("not sorted by name: %q", byName)
	}
	sortBy("name")
	slices.Reverse(byName)
	if got := order(); !slices.Equal(got, byName) {
		t.Errorf("a second click does not turn the order round: %q", got)
	}
	if got := eval[string](p, `document.querySelector('#kernels th[data-key=name]').ariaSort`); got != "descending" {
		t.Errorf("aria-sort is %q", got)
	}

	var want []string
	for _, name := range byName {
		if strings.Contains(strings.ToLower(name), "nccl") {
			want = append(want, name)
		}
	}
	if len(want) == 0 || len(want) == len(byName) {
		t.Fatalf("the filter would not tell anything: %d of %d names", len(want), len(byName))
	}
	p.do(chromedp.SendKeys(chromedp.CSS("#kernels [data-role=filter]"), "nccl"))
	p.until(`document.querySelector("#kernels [data-role=count]").textContent === "` + strconv.Itoa(len(want)) + " of " + strconv.Itoa(len(byName)) + `"`)
	if got := order(); !slices.Equal(got, want) {
		t.Errorf("filtered: %q, want %q", got, want)
	}

	check := func(p *tab) {
		t.Helper()
		path, name := p.download(func() { p.click("#kernels [data-export=csv]") })
		if name != "small-kernels.csv" {
			t.Errorf("the CSV is called %q", name)
		}
		records := readCSV(t, path)
		if got := column(t, records, "name"); !slices.Equal(got, want) {
			t.Errorf("CSV: %q, want %q", got, want)
		}
		totals := column(t, records, "total_ns")
		for i, n := range want {
			for _, k := range m.truth.Kernels {
				if k.Name == n && totals[i] != strconv.FormatInt(k.Total, 10) {
					t.Errorf("CSV: %s took %s ns, want %d", n, totals[i], k.Total)
				}
			}
		}
	}
	check(p)

	path, _ := p.download(func() { p.click("#kernels [data-export=json]") })
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var objects []struct {
		Name  string `json:"name"`
		Count int64  `json:"count"`
	}
	if err := json.Unmarshal(raw, &objects); err != nil || len(objects) != len(want) || objects[0].Name != want[0] {
		t.Errorf("JSON: %v, %v", objects, err)
	}
	path, name := p.download(func() { p.click("#kernels [data-export=markdown]") })
	if raw, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(raw)), "\n"); name != "small-kernels.md" || len(lines) != len(want)+2 || !strings.HasPrefix(lines[0], "| ") {
		t.Errorf("Markdown %s: %s", name, raw)
	}

	// The address is the state: another tab with it shows the same.
	at := eval[string](p, "location.href")
	q := open(t, srv, strings.TrimPrefix(at, srv.url("")))
	q.done()
	check(q)
	if got := eval[string](q, `document.querySelector("#kernels [data-role=filter]").value`); got != "nccl" {
		t.Errorf("the filter's field holds %q after a reload", got)
	}
	q = open(t, srv, "/trace?trace=/api/traces/"+id+"/content#step=2&shapes.sort=b:asc")
	q.done()
	if got := q.text("#step-title"); !strings.HasPrefix(got, "Step 2 ·") {
		t.Errorf("the step of the address is not shown: %q", got)
	}
	var last int64
	for _, r := range q.table("shapes").rows {
		b, err := strconv.ParseInt(strings.ReplaceAll(r.Cells["b"].Title, ",", ""), 10, 64)
		if err != nil || b < last {
			t.Errorf("shapes are not sorted by B as the address says: %q after %d", r.Cells["b"].Title, last)
		}
		last = b
	}
}

// TestKeyboard walks the page without a mouse.
func TestKeyboard(t *testing.T) {
	m := smallTrace(t)
	p := open(t, shared, "/trace")
	p.choose(m.path)
	p.done()
	eval[bool](p, `(document.activeElement?.blur(), true)`)
	place := func() string {
		return eval[string](p, `(() => { const e = document.activeElement; const tr = e.closest("tr[data-id]");
			return (e.closest("[data-block]")?.dataset.block ?? "") + "/" + (tr ? [...tr.parentElement.querySelectorAll("tr[data-id]")].indexOf(tr) : e.dataset.role ?? e.tagName); })()`)
	}
	expect := func(key, want string) {
		t.Helper()
		p.key(key)
		if got := place(); got != want {
			t.Errorf("after %q the focus is on %s, want %s", key, got, want)
		}
	}
	expect("j", "phases/0")
	expect("j", "phases/1")
	expect("j", "phases/2")
	expect("k", "phases/1")
	if got := p.text("#inspect"); got == "" {
		t.Error("the focused cell is not explained")
	}
	expect("/", "phases/filter")
	p.key("sched")
	p.until(`document.querySelector("#phases [data-role=filter]").value === "sched"`)
	for _, r := range p.table("phases").rows {
		if !strings.Contains(r.Cells["name"].Text, "sched") {
			t.Errorf("the filter let %q pass", r.Cells["name"].Text)
		}
	}
	p.key("\x1b") // Escape leaves the field

	title := func() string { return p.text("#step-title") }
	p.key("]")
	p.until(`!document.querySelector("#step").hidden`)
	if got := title(); !strings.HasPrefix(got, "Step 0 ·") {
		t.Errorf("the first step is %q", got)
	}
	p.key("]")
	if got := title(); !strings.HasPrefix(got, "Step 1 ·") {
		t.Errorf("the next step is %q", got)
	}
	if got := eval[string](p, "location.hash"); !strings.Contains(got, "step=1") {
		t.Errorf("the address does not say which step: %s", got)
	}
	p.key("[")
	if got := title(); !strings.HasPrefix(got, "Step 0 ·") {
		t.Errorf("the step before is %q", got)
	}
	p.shot("step")
	p.key("\x1b")
	p.until(`document.querySelector("#step").hidden`)
	p.key("?")
	p.until(`document.querySelector("#keys").open`)
	p.shot("keys")
}

func TestLanguages(t *testing.T) {
	srv := newServer(t)
	id := keepByAPI(t, srv, smallTrace(t).path, "small.json")
	p := open(t, srv, "/trace?trace=/api/traces/"+id+"/content#kernels.q=nccl")
	p.done()
	en := p.text("#phases-title")
	p.click("a[data-set-lang=zh]")
	p.until(`document.documentElement.lang === "zh" && document.querySelector("#trace")?.dataset.state === "done"`)
	if zh := p.text("#phases-title"); zh == en || zh == "" {
		t.Errorf("the title of the phases is %q in both languages", zh)
	}
	if got := eval[string](p, `document.querySelector("#kernels [data-role=filter]").value`); got != "nccl" {
		t.Errorf("the language switch lost the filter: %q", got)
	}
	if got := p.text("#verdict"); !hasHan(got) {
		t.Errorf("the verdict is not in Chinese: %q", got)
	}
	// What a script or a template forgot to translate stands out as a missing key or as English words in headers.
	if got := eval[[]string](p, `[...document.querySelectorAll("h2, th [data-role=label], button, label, dt")].filter((e) => e.getClientRects().length > 0)
		.map((e) => e.innerText.trim()).filter((s) => /undefined|\bnull\b|^[a-z]+\.[a-z_.]+$/.test(s))`); len(got) > 0 {
		t.Errorf("untranslated: %q", got)
	}
	p.fullShot("done-zh")
	p.navigate(srv.url("/traces"))
	if got := p.text("h1"); !hasHan(got) {
		t.Errorf("the choice is forgotten on the next page: %q", got)
	}
	p.shot("kept-zh")
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff })
}

func TestThemes(t *testing.T) {
	p := open(t, shared, "/trace")
	p.choose(smallTrace(t).path)
	p.done()
	ground := func() string { return eval[string](p, `getComputedStyle(document.documentElement).backgroundColor`) }
	p.click("a[data-set-theme=dark]")
	p.until(`document.documentElement.dataset.theme === "dark"`)
	dark := ground()
	if p.traceState() != "done" {
		t.Error("switching the theme closed the trace")
	}
	p.click("a[data-set-theme=light]")
	p.until(`document.documentElement.dataset.theme === "light"`)
	if light := ground(); light == dark {
		t.Errorf("both themes have the ground %s", light)
	}
	p.click("a[data-set-theme=dark]")
	p.navigate(shared.url("/traces"))
	if got := ground(); got != dark {
		t.Errorf("the next page forgot the theme: %s, want %s", got, dark)
	}
}
