package e2e

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// cell is a table's cell as a person meets it: what it shows, and what it says when one points at it.
type cell struct {
	Text  string `json:"text"`
	Title string `json:"title"`
}

// tableRow holds a row's cells by their column's key.
type tableRow struct {
	ID    string          `json:"id"`
	Class string          `json:"cls"`
	Cells map[string]cell `json:"cells"`
}

// table is one of the page's tables, all of its rows.
type table struct {
	p     *tab
	name  string
	units map[string]string // unit in each column's header
	rows  []tableRow
}

const readTable = `(() => {
  const table = document.querySelector('table[data-table="NAME"]');
  const units = {};
  for (const th of table.querySelectorAll("thead th[data-key]"))
    units[th.dataset.key] = th.querySelector("[data-role=unit]")?.textContent.trim() ?? "";
  const rows = [...table.querySelectorAll("tbody tr[data-id]")].map((tr) => ({
    id: tr.dataset.id, cls: tr.className,
    cells: Object.fromEntries([...tr.querySelectorAll("[data-key]")].map((td) => [td.dataset.key, { text: td.textContent.trim(), title: td.title }])),
  }));
  return { units, rows };
})()`

// table reads a table off the page, after asking for all rows where only the first are shown.
func (p *tab) table(name string) *table {
	p.t.Helper()
	block := fmt.Sprintf(`document.querySelector('[data-block="%s"]')`, name)
	if eval[bool](p, block+`.querySelector("[data-role=more]")?.hidden === false`) {
		eval[bool](p, `(`+block+`.querySelector("[data-action=more]").click(), true)`)
	}
	// The header counts what there is; long tables come in pieces.
	p.until(fmt.Sprintf(`(() => { const b = %s;
		const n = Number((b.querySelector("[data-role=count]")?.textContent ?? "").split(" of ")[0].replace(/[^0-9]/g, ""));
		return b.querySelectorAll("tbody tr[data-id]").length === n; })()`, block))
	got := eval[struct {
		Units map[string]string `json:"units"`
		Rows  []tableRow        `json:"rows"`
	}](p, strings.ReplaceAll(readTable, "NAME", name))
	return &table{p: p, name: name, units: got.Units, rows: got.Rows}
}

// named returns the rows with a text in their name column.
func (tb *table) named(name string) []tableRow {
	var found []tableRow
	for _, r := range tb.rows {
		if r.Cells["name"].Text == name || r.Cells["name"].Title == name {
			found = append(found, r)
		}
	}
	return found
}

// one returns the only row of that name.
func (tb *table) one(name string) tableRow {
	tb.p.t.Helper()
	rows := tb.named(name)
	if len(rows) != 1 {
		tb.p.t.Errorf("%s: %d rows are named %q, want 1", tb.name, len(rows), name)
		return tableRow{Cells: map[string]cell{}}
	}
	return rows[0]
}

// wantInt expects a count, both as shown and as exact value.
func (tb *table) wantInt(r tableRow, key string, want int64) {
	tb.p.t.Helper()
	c := r.Cells[key]
	if c.Text != grouped(want) || c.Title != grouped(want) {
		tb.p.t.Errorf("%s %s: %s shows %q (%q), want %s", tb.name, r.ID, key, c.Text, c.Title, grouped(want))
	}
}

// wantNs expects a time: exact where one points at it, rounded to what is shown in the column's unit.
func (tb *table) wantNs(r tableRow, key string, want int64) {
	tb.p.t.Helper()
	c := r.Cells[key]
	if c.Title != grouped(want)+" ns" {
		tb.p.t.Errorf("%s %s: %s is %q exactly, want %s ns", tb.name, r.ID, key, c.Title, grouped(want))
	}
	scale := map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[tb.units[key]]
	if scale == 0 {
		tb.p.t.Errorf("%s: the header of %s has no unit but %q", tb.name, key, tb.units[key])
		return
	}
	if !rounds(c.Text, float64(want)/scale) {
		tb.p.t.Errorf("%s %s: %s shows %q %s for %d ns", tb.name, r.ID, key, c.Text, tb.units[key], want)
	}
}

// wantText expects what a cell shows.
func (tb *table) wantText(r tableRow, key, want string) {
	tb.p.t.Helper()
	if got := r.Cells[key].Text; got != want {
		tb.p.t.Errorf("%s %s: %s shows %q, want %q", tb.name, r.ID, key, got, want)
	}
}

// rounds says whether a shown number is x rounded to its own last digit.
func rounds(shown string, x float64) bool {
	if shown == "<0.001" {
		return x > 0 && x < 0.0005
	}
	plain := strings.ReplaceAll(shown, ",", "")
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return false
	}
	_, decimals, _ := strings.Cut(plain, ".")
	half := 0.5 * math.Pow10(-len(decimals))
	return math.Abs(v-x) <= half*(1+1e-9)
}

// grouped is an integer with its thousands set apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// fact is what the line of facts says under a label.
func (p *tab) fact(label string) string {
	p.t.Helper()
	return eval[string](p, `[...document.querySelectorAll("#facts > div")].find((d) => d.querySelector("dt").textContent === `+
		quote(label)+`)?.querySelector("dd").textContent ?? ""`)
}
