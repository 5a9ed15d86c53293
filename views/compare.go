package views

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/stepscope/stepscope/engine/compare"
)

// Compare is the page that puts deployments side by side. Names are untrusted.
type Compare struct {
	Columns     []CompareColumn // as chosen, the baseline first
	Deployments []string        // to choose from
	Baselines   map[string][]string
	Per         compare.Per
	Align       string // "time", "elapsed" or "step"; "": as fits the columns
	Sort        string // of the rows: "" is reading order, "name", "b.size", "b.verdict"
	Show        string // "" all rows, "evidence" those with evidence or a refusal, "headline"
	Table       *compare.Table
	Pending     bool // it is still being computed
	Failure     *Failure
	Took        time.Duration
	Config      CompareConfig
}

// CompareColumn is one column as its form shows it.
type CompareColumn struct {
	Deployment string
	Range      string // "", "-1h", …, "baseline:LABEL" or "own"
	From, To   time.Time
	Spec       string // as it stands in the address
}

// CompareConfig is what the page's script needs to know.
type CompareConfig struct {
	Trails string            `json:"trails"` // address of the series, "" without a comparison
	Names  []string          `json:"names"`  // of the columns
	Assets map[string]string `json:"assets"`
}

// CompareRanges are the ranges a column can have besides the page's own and its
// deployment's baselines.
var CompareRanges = []string{"-15m", "-1h", "-6h", "-24h", "-7d"}

// Aligns are the ways to lay the columns' times over each other.
var Aligns = []string{"time", "elapsed", "step"}

// Shows are the choices of rows.
var Shows = []string{"", "evidence", "headline"}

// Pers are the normalisations.
var Pers = []compare.Per{compare.PerDeployment, compare.PerGPU, compare.PerEngine, compare.PerToken}

// columnLetter is the letter of a column, "a" for the first.
func columnLetter(i int) string { return string(rune('a' + i)) }

// columns is the address with these columns; all else in it stays.
func (v Compare) columns(p Page, specs []string) templ.SafeURL {
	q := p.query()
	q.Del("c")
	for _, s := range specs {
		q.Add("c", s)
	}
	return templ.SafeURL((&url.URL{Path: "/compare", RawQuery: q.Encode()}).String())
}

func (v Compare) specs() []string {
	specs := make([]string, len(v.Columns))
	for i, c := range v.Columns {
		specs[i] = c.Spec
	}
	return specs
}

// without is the address with one column less.
func (v Compare) without(p Page, i int) templ.SafeURL {
	specs := v.specs()
	return v.columns(p, append(specs[:i:i], specs[i+1:]...))
}

// moved is the address with a column moved one place to the left (−1) or right.
func (v Compare) moved(p Page, i, by int) templ.SafeURL {
	specs := v.specs()
	j := i + by
	if j < 0 || j >= len(specs) {
		return ""
	}
	specs[i], specs[j] = specs[j], specs[i]
	return v.columns(p, specs)
}

// first is the address with a column made the baseline.
func (v Compare) first(p Page, i int) templ.SafeURL {
	specs := v.specs()
	one := specs[i]
	rest := append(specs[:i:i], specs[i+1:]...)
	return v.columns(p, append([]string{one}, rest...))
}

// chosen is the address with other times for some columns.
func (v Compare) chosen(p Page, choices []compare.Choice) templ.SafeURL {
	specs := v.specs()
	for _, c := range choices {
		if c.Column < len(specs) {
			specs[c.Column] = c.Spec
		}
	}
	return v.columns(p, specs)
}

// chosenText names the columns with their other times.
func (v Compare) chosenText(choices []compare.Choice) string {
	var parts []string
	for _, c := range choices {
		if s, err := compare.ParseColumn(c.Spec); err == nil {
			parts = append(parts, strings.ToUpper(columnLetter(c.Column))+" "+columnSpan(s.From.UnixNano(), s.To.UnixNano()))
		}
	}
	return strings.Join(parts, ", ")
}

// set is the address with one parameter changed; "" removes it.
func (v Compare) set(p Page, key, value string) templ.SafeURL {
	q := p.query()
	if value == "" {
		q.Del(key)
	} else {
		q.Set(key, value)
	}
	return templ.SafeURL((&url.URL{Path: "/compare", RawQuery: q.Encode()}).String())
}

// export is the address of the comparison as a file.
func (v Compare) export(p Page, format string) templ.SafeURL {
	q := url.Values{"c": v.specs(), "format": {format}, "lang": {string(p.Lang)}}
	for _, key := range []string{"per", "metric", "since", "range", "from", "to"} {
		if values := p.Query[key]; len(values) > 0 {
			q[key] = values
		}
	}
	return templ.SafeURL((&url.URL{Path: "/api/compare", RawQuery: q.Encode()}).String())
}

// handedOn are the parameters that the form of the columns keeps.
func (v Compare) handedOn(p Page) url.Values {
	q := p.query()
	for _, key := range []string{"c", "d", "r", "f", "t", "lang", "theme", "part"} {
		q.Del(key)
	}
	return q
}

// shows says whether a row is among those that were asked for. Rows that say
// why they say nothing are not left out when evidence is asked for.
func (v Compare) shows(r compare.Row) bool {
	switch v.Show {
	case "headline":
		return r.Headline
	case "evidence":
		for _, c := range r.Cells {
			if c.Verdict.Evidenced() || c.Verdict == compare.Refused {
				return true
			}
		}
		return false
	}
	return true
}

// rows are a group's rows that are shown.
func (v Compare) rows(g compare.Group) []compare.Row {
	var rows []compare.Row
	for _, r := range g.Rows {
		if v.shows(r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// plotted are the rows with a small multiple: what heads the table and what
// differs, else all that is shown.
func (v Compare) plotted(p Page) []compare.Row {
	all := p.Query.Get("plots") == "all"
	var rows []compare.Row
	for _, g := range v.Table.Groups {
		for _, r := range g.Rows {
			evidenced := false
			points := 0
			for _, c := range r.Cells {
				evidenced = evidenced || c.Verdict.Evidenced()
				points = max(points, len(c.Trail))
			}
			if points > 1 && (all || r.Headline || evidenced) {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// RowID names a row within its comparison: in addresses, in the page and in the
// series that the script asks for.
func RowID(r compare.Row) string {
	return strings.Join([]string{r.Metric.Key, r.Label, string(r.Steps), r.Stat}, "|")
}

// findingRow is the address of the row a finding rests on.
func findingRow(f compare.Finding) templ.SafeURL {
	id := strings.Join([]string{f.Key, f.Label, string(f.Steps), f.Stat}, "|")
	return templ.SafeURL("#" + anchor(id))
}

// anchor is a row's id as an element's: letters and digits, everything else in hex.
func anchor(id string) string {
	var b strings.Builder
	b.WriteString("m-")
	for _, c := range []byte(id) {
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "-%02x", c)
		}
	}
	return b.String()
}

// orAll names the empty choice.
func orAll(s string) string {
	if s == "" {
		return "all"
	}
	return s
}

// options are the deployments of a column's list, its own among them.
func (v Compare) options(own string) []string {
	if own == "" {
		return v.Deployments
	}
	for _, name := range v.Deployments {
		if name == own {
			return v.Deployments
		}
	}
	return append([]string{own}, v.Deployments...)
}

func isCompareRange(r string) bool {
	for _, x := range CompareRanges {
		if x == r {
			return true
		}
	}
	return false
}

// ownTime fills a field of an own range.
func ownTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return inputTime(t)
}

// plotTitle is what a row's curves are called where their caption is not seen.
func plotTitle(p Page, r compare.Row) string {
	parts := []string{rowName(p, r)}
	if r.Label != "" {
		parts = append(parts, harmless(r.Label))
	}
	if r.Steps != compare.BothKinds {
		parts = append(parts, p.t("compare.steps_"+string(r.Steps)))
	}
	if r.Stat != "" {
		parts = append(parts, r.Stat)
	}
	if unit := rowUnit(p.Lang, r.Unit); unit != "" {
		parts = append(parts, "("+unit+")")
	}
	return strings.Join(parts, " ")
}

// plotScale is what a row's values are multiplied by to be drawn.
func plotScale(r compare.Row) string {
	if shareUnit(r.Unit) {
		return "100"
	}
	return "1"
}

// fairNumber is a figure of the load; counts are whole numbers.
func fairNumber(v float64, unit string) string {
	if unit == "" && v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return count(int64(v))
	}
	return rowNumber(v, unit)
}

// columnFact is something that is known of each column, such as its engines.
type columnFact struct {
	Name  string
	Cells []factCell
}

type factCell struct {
	Text, Title string
	Warn        bool
}

// facts are what the columns are made of. Facts that no column has are left out.
func (v Compare) facts(p Page) []columnFact {
	var list []columnFact
	add := func(name string, cell func(compare.Column) factCell) {
		f := columnFact{Name: name}
		any := false
		for _, c := range v.Table.Columns {
			x := cell(c)
			any = any || x.Text != ""
			f.Cells = append(f.Cells, x)
		}
		if any {
			list = append(list, f)
		}
	}
	words := func(of func(compare.Column) []string) func(compare.Column) factCell {
		return func(c compare.Column) factCell { return factCell{Text: harmless(strings.Join(of(c), ", "))} }
	}
	warned := func(of func(compare.Column) int) func(compare.Column) factCell {
		return func(c compare.Column) factCell {
			if of(c) == 0 {
				return factCell{}
			}
			return factCell{Text: strconv.Itoa(of(c)), Warn: true}
		}
	}
	add(p.t("compare.time"), func(c compare.Column) factCell { return factCell{Text: columnSpan(c.From, c.To) + " UTC"} })
	add(p.t("compare.engines"), func(c compare.Column) factCell {
		kinds := make([]string, len(c.Kinds))
		for i, k := range c.Kinds {
			kinds[i] = kindName(k)
		}
		return factCell{Text: strconv.Itoa(c.Engines) + " · " + harmless(strings.Join(kinds, ", "))}
	})
	add(p.t("compare.lines"), func(c compare.Column) factCell {
		return factCell{Text: count(int64(c.Lines)), Title: leftOut(p, c.Left)}
	})
	add(p.t("compare.means"), func(c compare.Column) factCell {
		if c.Coarse == 0 {
			return factCell{}
		}
		return factCell{Text: p.t("compare.means_of", compare.Stretch(c.Coarse)), Title: p.t("compare.means_def"), Warn: true}
	})
	add(p.t("compare.model"), words(func(c compare.Column) []string { return c.Models }))
	add(p.t("compare.parallel"), words(func(c compare.Column) []string { return c.Parallel }))
	add(p.t("compare.version"), words(func(c compare.Column) []string { return c.Versions }))
	add(p.t("nav.captures"), warned(func(c compare.Column) int { return c.Traces }))
	add(p.t("compare.restarts"), warned(func(c compare.Column) int { return c.Restarts }))
	add(p.t("compare.gaps"), warned(func(c compare.Column) int { return c.Gaps }))
	return list
}
