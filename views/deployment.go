package views

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Plot is one chart of a deployment: a metric, or several of one unit.
type Plot struct {
	Metrics  []ledger.Metric // the first one gives the chart its name and definition
	Title    string          // instead of the first metric's name: untrusted
	Label    string          // one series of the metrics only, if HasLabel
	HasLabel bool
	Labels   int // how many labels there are, drawn as lines of their own
}

// PlotGroup is a group of the metric table.
type PlotGroup struct {
	Group  ledger.Group // empty: series that the table doesn't know
	Plots  []Plot
	Absent []Missing
	More   int // plots left out
}

// Missing is a metric without samples, with the reason.
type Missing struct {
	Metric ledger.Metric
	Why    Reason
}

// DeploymentView is what a deployment's page shows.
type DeploymentView struct {
	FleetDeployment
	Columns []ledger.Metric
	Verdict []Reason
	Groups  []PlotGroup
	Pending bool   // the columns are still being listed: Groups are what such engines usually have
	X       string // "time" or "step"
	Only    string // "all", "prompt" or "decode"
	Joined  bool   // one line for all engines, else one for each
	Gone    *Baseline
	Done    string
	Now     time.Time
	Config  PlotConfig
}

// PlotConfig is what the page's script needs to know.
type PlotConfig struct {
	Deployment string            `json:"deployment"`
	Assets     map[string]string `json:"assets"`
	Range      string            `json:"range"`
	From       int64             `json:"from"` // ms since 1970
	To         int64             `json:"to"`
	X          string            `json:"x"`
	Only       string            `json:"only"`
	Joined     bool              `json:"joined"`
	Pending    bool              `json:"pending"` // the list of charts was not ready
}

// EventRow is something that happened to an engine, or to several at once.
type EventRow struct {
	Kind     string
	Engines  []string // the first few
	Count    int      // engines
	From, To time.Time
	N        int64 // lines or samples it is about
	Detail   string
}

// Story is what happened in a range: the sentence and the events.
type Story struct {
	Changes []Reason
	Events  []EventRow
	More    int // events left out
}

// id is a plot's anchor.
func (d Plot) id() string {
	if d.HasLabel {
		return "m-" + d.Metrics[0].Key + "-" + url.PathEscape(d.Label)
	}
	return "m-" + d.Metrics[0].Key
}

// query is what the script asks for.
func (d Plot) query() string {
	q := url.Values{}
	for _, m := range d.Metrics {
		q.Add("metric", m.Key)
	}
	if d.HasLabel {
		q.Set("label", d.Label)
	}
	return q.Encode()
}

// quantiles says whether the chart shows a histogram.
func (d Plot) quantiles() bool { return d.Metrics[0].Kind == ledger.Histogram }

// title is the chart's name.
func (d Plot) title(p Page) string {
	if d.Title != "" {
		return harmless(d.Title)
	}
	if d.quantiles() {
		return p.t("plot.quantiles", Words(p.Lang, d.Metrics[0].Name))
	}
	return harmless(Words(p.Lang, d.Metrics[0].Name))
}

// names are what the chart's lines are called, by metric: the part that tells them apart.
func (d Plot) names(p Page) string {
	if len(d.Metrics) < 2 {
		return ""
	}
	parts := make([]string, len(d.Metrics))
	for i, m := range d.Metrics {
		parts[i] = p.t("part." + partOf(m.Key))
	}
	return strings.Join(parts, "\n")
}

// rule says how the chart joins engines.
func (d Plot) rule(p Page) string {
	if len(d.Metrics) > 1 {
		return p.t("rule.own")
	}
	return ruleName(p, d.Metrics[0])
}

// partOf is the last part of a key such as cpu_mean.
func partOf(key string) string { return key[strings.LastIndexByte(key, '_')+1:] }

// unit is the axis's unit over time; counters are shown as their increase per minute.
func (d Plot) unit(p Page) string { return d.unitPer(p, "plot.per_minute") }

// stepUnit is the axis's unit over steps; counters are shown as their increase per 1,000 of them.
func (d Plot) stepUnit(p Page) string { return d.unitPer(p, "plot.per_steps") }

func (d Plot) unitPer(p Page, per string) string {
	m := charted(d.Metrics[0])
	u := unitOf(p, m)
	if m.Kind == ledger.Counter {
		return p.t(per, u)
	}
	return u
}

// cellText says what a point of a chart is made of.
func cellText(m ledger.Metric) string {
	switch m.Kind {
	case ledger.Counter:
		return "plot.cell_counter"
	case ledger.Histogram:
		return "plot.cell_quantile"
	}
	return "plot.cell"
}

// counted is what the samples of a chart are, if they are no lines of an engine.
func (d Plot) counted(p Page) string {
	if !d.quantiles() {
		return ""
	}
	return UnitName(p.Lang, d.Metrics[0].Counted)
}

// search is what the page's filter looks at.
func (d Plot) search(p Page) string {
	parts := []string{d.title(p), d.Label}
	for _, m := range d.Metrics {
		parts = append(parts, m.Key, Words(p.Lang, m.Name))
	}
	return strings.ToLower(strings.Join(parts, " "))
}

// with is the page's address with one of its switches set.
func (v DeploymentView) switchLink(p Page, key, value string) templ.SafeURL {
	q := p.query()
	q.Set(key, value)
	return templ.SafeURL((&url.URL{Path: p.Path, RawQuery: q.Encode()}).String())
}

// baselineLink is the page with a baseline's time.
func (v DeploymentView) baselineLink(b Baseline) templ.SafeURL {
	return templ.SafeURL(withParams(DeploymentPath(v.Name), url.Values{"from": {stamp(b.From)}, "to": {stamp(b.To)}}))
}

// compareLink opens the comparison with this deployment, and a baseline of it if given.
func (v DeploymentView) compareLink(baseline string) templ.SafeURL {
	q := url.Values{"c": {v.Name}}
	if baseline != "" {
		q["c"] = []string{v.Name + "@baseline:" + baseline, v.Name}
	}
	return templ.SafeURL("/compare?" + q.Encode())
}

func (v DeploymentView) captureLink() templ.SafeURL {
	return templ.SafeURL("/captures?" + url.Values{"deployment": {v.Name}}.Encode())
}

func withParams(path string, set url.Values) string {
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return path + sep + set.Encode()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// utcTime is a time as the pages write it, in UTC.
func utcTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// sentence joins the verdict's clauses.
func (p Page) sentence(clauses []Reason) string {
	if len(clauses) == 0 {
		return ""
	}
	return p.reasons(clauses) + p.t("common.stop")
}

// clause is one part of a sentence with what follows it, inside its element: templ sets no space between elements.
func (p Page) clause(clauses []Reason, i int) string {
	if i == len(clauses)-1 {
		return p.says(clauses[i]) + p.t("common.stop")
	}
	return p.says(clauses[i]) + p.t("common.semicolon")
}

// engines names the engines of an event.
func (e EventRow) engines(p Page) string {
	names := make([]string, len(e.Engines))
	for i, n := range e.Engines {
		names[i] = shown(p, n)
	}
	s := strings.Join(names, p.t("common.comma"))
	if rest := e.Count - len(e.Engines); rest > 0 {
		s += " " + p.t("event.more", strconv.Itoa(rest))
	}
	return s
}

// length is how long an event lasted, or nothing for a moment.
func (e EventRow) length(p Page) string {
	d := e.To.Sub(e.From)
	if d <= 0 {
		return ""
	}
	return Sig3(d.Seconds()) + " s"
}

// about is what an event is about in figures and in its own words.
func (e EventRow) about(p Page) string {
	s := harmless(e.Detail)
	// Of the other kinds the number is none of lines or samples.
	if e.N > 0 && slices.Contains([]string{"gap", "unreadable", "dropped", "other"}, e.Kind) {
		n := p.t("event.n_"+e.Kind, grouped(strconv.FormatInt(e.N, 10)))
		if s == "" {
			return n
		}
		return n + ": " + s
	}
	return s
}
