package views

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/stepscope/stepscope/engine/ledger"
)

// Health is how an engine or a deployment is, in a word.
type Health int

// The states, from the best to the worst; pages list the worst first.
const (
	Fine    Health = iota
	Ended          // stopped reporting long ago
	Waiting        // never reported
	Warn
	Bad
)

// String is the state's name in the catalogue and in the style sheet.
func (h Health) String() string { return [...]string{"fine", "ended", "waiting", "warn", "bad"}[h] }

// Label is one label of a deployment.
type Label struct{ Key, Value string }

// Baseline is a named time range of a deployment.
type Baseline struct {
	ID       int64
	Name     string
	Note     string
	From, To time.Time
}

// FleetEngine is one engine's row. All texts but the health are untrusted.
type FleetEngine struct {
	Name     string
	Health   Health
	Reasons  []Reason
	Kind     string
	Role     string
	Model    string
	Parallel string
	Version  string
	Host     string
	Rank     int // −1 unknown
	GPU      int // −1 unknown
	Figures  []Figure
	Last     time.Time // zero without samples
}

// FleetDeployment is a deployment with its engines.
type FleetDeployment struct {
	Name      string
	Note      string
	Labels    []Label
	GPUs      int     // 0 unknown
	Peak      float64 // TFLOP/s of one card, 0 unknown
	Health    Health
	Reasons   []Reason
	Kinds     []string
	Models    []string
	Parallel  []string
	Versions  []string
	Count     int           // engines it has
	Engines   []FleetEngine // those shown
	Open      bool          // its engines' rows are shown
	Figures   []Figure
	Spark     []float64 // NaN where there is nothing
	Last      time.Time
	Baselines []Baseline
}

// Fleet is what the fleet page shows.
type Fleet struct {
	Search      string
	Columns     []ledger.Metric // of the figures
	Deployments []FleetDeployment
	All         int // deployments before the filter
	Engines     int // before the filter
	Healths     [Bad + 1]int
	Mute        []string // sources that collectors read and that gave no engine's statistics yet: untrusted
	Open        []string // deployments whose engines are shown by the reader's choice
	Closed      []string // and hidden
	Deleted     string   // the deployment deleted just now, to offer undo
	Done        string   // "saved" or "restored" after such an action
	Pending     bool     // the figures are being gathered for the first time
	Now         time.Time
}

// DeploymentPath is the address of a deployment's page. Two names can't stand in a path: browsers
// take them for steps between folders.
func DeploymentPath(name string) string {
	if name == "." || name == ".." {
		return "/deployments?" + url.Values{"name": {name}}.Encode()
	}
	return "/deployments/" + url.PathEscape(name)
}

func deploymentURL(name string) templ.SafeURL { return templ.SafeURL(DeploymentPath(name)) }

// labelPattern is what the browser lets through as labels: key=value, parted by commas.
const labelPattern = ` *([^=,]*[^=, ][^=,]*=[^,]*)?( *, *([^=,]*[^=, ][^=,]*=[^,]*)?)*`

// shown is a name as text, or what stands for one that can't be seen.
func shown(p Page, name string) string {
	if strings.TrimSpace(name) == "" {
		return p.t("list.unnamed")
	}
	return harmless(name)
}

// toggle is the address that shows or hides a deployment's engines.
func (v Fleet) toggle(d FleetDeployment) templ.SafeURL {
	q := url.Values{}
	if v.Search != "" {
		q.Set("q", v.Search)
	}
	add := func(key string, names []string, wanted bool) {
		for _, n := range names {
			if n != d.Name {
				q.Add(key, n)
			}
		}
		if wanted {
			q.Add(key, d.Name)
		}
	}
	add("open", v.Open, !d.Open)
	add("closed", v.Closed, d.Open)
	return templ.SafeURL("/fleet?" + q.Encode())
}

// verdict is the page's first sentence: how many engines report, and what is wrong.
func (v Fleet) verdict(p Page) string {
	if v.Pending {
		return p.t("fleet.pending")
	}
	s := p.t("fleet.verdict", strconv.Itoa(v.All), strconv.Itoa(v.Engines), strconv.Itoa(v.Healths[Fine]+v.Healths[Warn]))
	var rest []string
	for h := Bad; h > Fine; h-- {
		if n := v.Healths[h]; n > 0 {
			rest = append(rest, p.t("fleet.count_"+h.String(), strconv.Itoa(n)))
		}
	}
	if len(rest) == 0 {
		return s + p.t("fleet.all_fine")
	}
	return s + p.t("fleet.but") + strings.Join(rest, p.t("common.comma")) + p.t("common.stop")
}

// muteShown is how many sources without an engine are named.
const muteShown = 3

// muteNames names the first of them.
func (v Fleet) muteNames(p Page) string {
	names := make([]string, 0, muteShown+1)
	for _, n := range v.Mute[:min(len(v.Mute), muteShown)] {
		names = append(names, harmless(n))
	}
	if len(v.Mute) > muteShown {
		names = append(names, "…")
	}
	return strings.Join(names, p.t("common.comma"))
}

// reasons joins what is wrong into one line.
func (p Page) reasons(rs []Reason) string {
	texts := make([]string, len(rs))
	for i, r := range rs {
		texts[i] = p.says(r)
	}
	return strings.Join(texts, p.t("common.semicolon"))
}

// traits is what an engine is, apart from what its deployment's row says of all of them.
func (e FleetEngine) traits(p Page, d FleetDeployment) string {
	var t []string
	add := func(s string, common []string) {
		if s != "" && (len(common) != 1 || common[0] != s) {
			t = append(t, harmless(s))
		}
	}
	if len(d.Kinds) != 1 {
		add(kindName(e.Kind), nil)
	}
	if e.Role != "mixed" {
		add(roleName(p, e.Role), nil)
	}
	if e.Rank >= 0 {
		add(p.t("engine.rank", strconv.Itoa(e.Rank)), nil)
	}
	if e.GPU >= 0 {
		add(p.t("engine.gpu", strconv.Itoa(e.GPU)), nil)
	}
	add(e.Host, nil)
	add(e.Parallel, d.Parallel)
	add(e.Model, d.Models)
	add(e.Version, d.Versions)
	return strings.Join(t, " · ")
}

// traits is what a deployment consists of.
func (d FleetDeployment) traits(p Page) string {
	t := []string{p.t("fleet.engines", strconv.Itoa(d.Count))}
	if d.Count == 1 {
		t[0] = p.t("fleet.engine")
	}
	if d.GPUs > 0 {
		t = append(t, p.t("fleet.gpus", strconv.Itoa(d.GPUs)))
	}
	for _, k := range d.Kinds {
		t = append(t, harmless(kindName(k)))
	}
	for _, list := range [][]string{d.Parallel, d.Models, d.Versions} {
		for _, s := range list {
			t = append(t, harmless(s))
		}
	}
	return strings.Join(t, " · ")
}

// kindName is what an engine is called.
func kindName(kind string) string {
	switch kind {
	case "deepinfer":
		return "DeepInfer"
	case "vllm":
		return "vLLM"
	case "sglang":
		return "SGLang"
	case "tensorrt-llm":
		return "TensorRT-LLM"
	case "gpu":
		return "GPU"
	}
	return kind
}

// roleName is what an engine does; roles that nobody knows stay as they are.
func roleName(p Page, role string) string {
	switch role {
	case "mixed", "prompt", "decode":
		return p.t("role." + role)
	}
	return role
}

// LabelText is the labels as the form takes them.
func (d FleetDeployment) LabelText() string {
	parts := make([]string, len(d.Labels))
	for i, l := range d.Labels {
		parts[i] = l.Key + "=" + l.Value
	}
	return strings.Join(parts, ", ")
}

// GPUText and PeakText are those numbers as the form takes them, empty where they are unknown.
func (d FleetDeployment) GPUText() string { return number(float64(d.GPUs)) }

// PeakText is documented with GPUText.
func (d FleetDeployment) PeakText() string { return number(d.Peak) }

// number is a form's value of a number that may be unknown.
func number(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// ago is how long before now something was, in the largest fitting unit; the script keeps it true.
func ago(p Page, now, t time.Time) string {
	if t.IsZero() {
		return p.t("common.none")
	}
	s := int64(now.Sub(t) / time.Second)
	switch {
	case s < 1:
		return p.t("ago.now")
	case s < 60:
		return p.t("ago.s", strconv.FormatInt(s, 10))
	case s < 3600:
		return p.t("ago.min", strconv.FormatInt(s/60, 10))
	case s < 2*86400:
		return p.t("ago.h", strconv.FormatInt(s/3600, 10))
	}
	return p.t("ago.d", strconv.FormatInt(s/86400, 10))
}

const (
	sparkWidth  = 96
	sparkHeight = 20
)

// sparkPath draws values from zero to their maximum; where there are none, the line is broken.
func sparkPath(values []float64) string {
	highest := 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			highest = max(highest, v)
		}
	}
	if highest == 0 {
		highest = 1
	}
	var b strings.Builder
	step := float64(sparkWidth) / float64(max(1, len(values)-1))
	pen := false
	for i, v := range values {
		if math.IsNaN(v) {
			pen = false
			continue
		}
		x, y := float64(i)*step, 1+(sparkHeight-2)*(1-max(0, v)/highest)
		op := "M"
		if pen {
			op = "L"
		}
		b.WriteString(op + strconv.FormatFloat(x, 'f', 1, 64) + " " + strconv.FormatFloat(y, 'f', 1, 64))
		if !pen && (i+1 == len(values) || math.IsNaN(values[i+1])) {
			b.WriteString("h0.1") // a lone point is a dot
		}
		pen = true
	}
	return b.String()
}

// sparkTitle says what a trend shows.
func (d FleetDeployment) sparkTitle(p Page) string {
	lowest, highest, n := math.Inf(1), math.Inf(-1), 0
	for _, v := range d.Spark {
		if !math.IsNaN(v) {
			lowest, highest, n = min(lowest, v), max(highest, v), n+1
		}
	}
	if n == 0 {
		return p.t("fleet.no_trend")
	}
	return p.t("fleet.trend_of", Sig3(lowest), Sig3(highest))
}

// columnLabel names a column beside its figure, where a narrow page has no header.
func columnLabel(p Page, m ledger.Metric) string {
	if unit := unitOf(p, m); unit != "" {
		return shortName(p, m) + ", " + unit
	}
	return shortName(p, m)
}
