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

// Collectors is the page of who reads the engines. All texts come from other
// machines and are untrusted.
type Collectors struct {
	Now    time.Time
	Search string
	Only   string // "trouble" shows only what is not well
	List   []Collector
}

// Collector is one collector and its targets.
type Collector struct {
	Name, Host, Version string
	Started, Seen       time.Time
	Gone                bool
	Spooled             int64 // bytes waiting for the server
	Problems            []Problem
	Targets             []Target       // the worst first, as many as one page shows
	Counts              map[string]int // of all targets, by health
	All                 int            // targets in all
	Matching            int            // … that the search finds
}

// Target is one source of statistics.
type Target struct {
	Name, Source, Kind     string
	Engines                []EngineLink
	Health                 string // "up", "quiet", "down", "waiting"
	Last                   time.Time
	Lag                    time.Duration
	Lines, Samples         int64
	Unreadable             int64
	Problem                *Problem
	Notes                  []Problem // what the engine can not tell: the target is well all the same
	Missing                []Absent
	Unknown                []string
	CanCapture             bool
	ProfileAddr, OutputDir string
}

// EngineLink names an engine.
type EngineLink struct{ Deployment, Name string }

// Problem is what went wrong, with what to do about it.
type Problem struct {
	Time       time.Time
	What, Hint string
	Count      int64
}

// Absent is a metric that a source does not expose, and why.
type Absent struct{ Key, Why string }

// TargetHealths are the states of a target, the worst first.
var TargetHealths = []string{"down", "quiet", "waiting", "up"}

// with is the page's address with the search or the choice changed.
func (v Collectors) only(value string) templ.SafeURL {
	q := url.Values{}
	if v.Search != "" {
		q.Set("q", v.Search)
	}
	if value != "" {
		q.Set("only", value)
	}
	if len(q) == 0 {
		return "/collector"
	}
	return templ.SafeURL("/collector?" + q.Encode())
}

// verdict is how the collectors are, in a sentence.
func (v Collectors) verdict(p Page) string {
	targets, gone, spooled := 0, 0, int64(0)
	bad := map[string]int{}
	for _, c := range v.List {
		targets += c.All
		spooled += c.Spooled
		if c.Gone {
			gone++
		}
		for h, n := range c.Counts {
			bad[h] += n
		}
	}
	sum := "collector.sum"
	if len(v.List) == 1 {
		sum = "collector.sum_one"
	}
	parts := []string{p.t(sum, strconv.Itoa(len(v.List)), strconv.Itoa(targets))}
	if gone > 0 {
		parts = append(parts, p.t("collector.n_gone", strconv.Itoa(gone)))
	}
	for _, h := range TargetHealths {
		if n := bad[h]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+p.t("target."+h))
		}
	}
	if spooled > 0 {
		parts = append(parts, p.t("collector.spooled", megabytes(spooled)))
	}
	return strings.Join(parts, p.t("common.semicolon")) + p.t("common.stop")
}

// counts lists how many targets are in which state.
func (c Collector) counts(p Page) string {
	var parts []string
	for _, h := range TargetHealths {
		if n := c.Counts[h]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+p.t("target."+h))
		}
	}
	return strings.Join(parts, p.t("common.comma"))
}

// state is "gone", "trouble" or "well".
func (c Collector) state() string {
	switch {
	case c.Gone:
		return "gone"
	case len(c.Problems) > 0 || c.Counts["down"] > 0:
		return "trouble"
	}
	return "well"
}

// name is the metric's name in the table of metrics, else its key.
func (a Absent) name(p Page) string {
	if m, ok := ledger.Lookup(a.Key); ok {
		return Words(p.Lang, m.Name)
	}
	return harmless(a.Key)
}

// nameTail is how many letters of a long name's end stay in sight: a path's end
// tells it from its neighbours.
const nameTail = 26

// parts are a long name's beginning, which may be cut by its column, and its end;
// a short name has no beginning.
func (t Target) parts(p Page) (head, tail string) {
	runes := []rune(shown(p, t.Name))
	if len(runes) <= nameTail+8 {
		return "", string(runes)
	}
	cut := len(runes) - nameTail
	return string(runes[:cut]), string(runes[cut:])
}

// lag prints how far reading is behind, from a second on.
func (t Target) lag(p Page) string {
	if t.Lag < time.Second {
		return p.t("collector.no_lag")
	}
	return seconds(t.Lag)
}

// reads is a figure of reading, or a dash for a target that nothing is read from.
func (t Target) reads(p Page, figure string) string {
	if t.Source == "profile" {
		return p.t("common.none")
	}
	return figure
}

// belongs says whose a target's engines are, two deployments may have engines of one name, and of what kind they are.
func (t Target) belongs(p Page) string {
	const most = 3 // names
	var names []string
	for _, e := range t.Engines {
		if name := shown(p, e.Deployment); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	if t.Kind != "" {
		names = append(names, harmless(kindName(t.Kind)))
	}
	return strings.Join(names, " · ")
}

// deploymentPage is the address of an engine's deployment.
func (e EngineLink) deploymentPage() templ.SafeURL {
	return templ.SafeURL("/deployments/" + url.PathEscape(e.Deployment))
}

// count prints a number with its thousands grouped.
func count(n int64) string { return grouped(strconv.FormatInt(n, 10)) }
