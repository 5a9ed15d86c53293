package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

// deploymentPage shows one deployment over a time. ?part=now and ?part=story
// are the parts that follow the engines, for the page's script.
func (s *Server) deploymentPage(c echo.Context) error {
	name := namedDeployment(c)
	if name == "" {
		return c.Redirect(http.StatusSeeOther, "/fleet")
	}
	ctx := c.Request().Context()
	now := s.now()
	r, err := readRange(c, now)
	if err != nil {
		return err
	}
	part := c.QueryParam("part")
	d, err := s.deployment(ctx, name, part != "")
	if err != nil {
		return err
	}
	if !namesRange(c) {
		r = usefulRange(d, now)
	}
	p := s.page(c, "fleet", "deployment.title")
	p.Title = d.Name
	p.Range = &r
	if part == "story" {
		story, err := readStory(ctx, s.samples, d, r)
		if err != nil {
			return storeError(err)
		}
		return s.render(c, http.StatusOK, views.DeploymentStory(p, story))
	}
	v := views.DeploymentView{FleetDeployment: d.row, Columns: figureMetrics, Now: now,
		X: choice(c.QueryParam("x"), "time", "step"), Only: choice(c.QueryParam("only"), "all", "prompt", "decode"),
		Joined: choice(c.QueryParam("view"), "joined", "engines") == "joined"}
	v.Open = true
	v.Verdict = verdict(d, now)
	if part == "now" {
		return s.render(c, http.StatusOK, views.DeploymentNow(p, v))
	}
	columns, err := s.columns(ctx, d, r)
	if err != nil {
		return storeError(err)
	}
	v.Groups, v.Pending = plotGroups(columns, kindsOf(d)), columns == nil
	v.Gone = goneBaseline(c)
	if done := c.QueryParam("done"); done == "saved" || done == "baseline" {
		v.Done = done
	}
	v.Config = views.PlotConfig{Deployment: d.Name, Range: r.Key, From: r.From.UnixMilli(), To: r.To.UnixMilli(), X: v.X, Only: v.Only, Joined: v.Joined, Pending: v.Pending,
		Assets: map[string]string{"charts": s.assets.urls["charts.js"]}}
	return s.render(c, http.StatusOK, views.DeploymentPage(p, v))
}

// namedDeployment is the name in the address. The router gives the part of a
// path as it was sent whenever that has escapes of its own, such as %2F.
func namedDeployment(c echo.Context) string {
	name := c.Param("name")
	if c.Request().URL.RawPath != "" {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
	}
	if name == "" {
		name = c.QueryParam("name")
	}
	return name
}

// deployment finds a deployment's state. While the first gathering is under way, the store says what there is.
func (s *Server) deployment(ctx context.Context, name string, fresh bool) (*deploymentState, error) {
	snap, err := s.board.get(ctx, fresh)
	if err != nil {
		return nil, storeError(err)
	}
	if snap != nil {
		if d := snap.find(name); d != nil {
			return d, nil
		}
		if !fresh {
			return s.deployment(ctx, name, true) // it may have come since
		}
		return nil, deploymentError(store.ErrNotFound)
	}
	all, err := s.samples.Deployments(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	for _, d := range all {
		if d.Name != name {
			continue
		}
		engines, err := s.samples.Engines(ctx, name)
		if err != nil {
			return nil, storeError(err)
		}
		state := &deploymentState{Deployment: d}
		for _, e := range engines {
			state.engines = append(state.engines, &engineState{Engine: e, heard: e.Last})
		}
		state.row = viewDeployment(state, s.now())
		return state, nil
	}
	return nil, deploymentError(store.ErrNotFound)
}

// alikeEngines is how many engines of one kind, role and version are asked what
// they report: the others report the same, and listing costs time for each.
const alikeEngines = 4

// columns lists what the deployment has in the range; nil when that takes too long for a page.
func (s *Server) columns(ctx context.Context, d *deploymentState, r views.Range) (catalogue, error) {
	sel := store.Selection{From: r.From.UnixNano(), To: r.To.UnixNano() + 1}
	asked := map[[3]string]int{}
	for _, e := range d.engines {
		alike := [3]string{e.Kind, e.Role, e.Version}
		if e.Last >= sel.From && e.First < sel.To && asked[alike] < alikeEngines {
			asked[alike]++
			sel.Engines = append(sel.Engines, e.ID)
		}
	}
	if len(sel.Engines) == 0 {
		return catalogue{}, nil
	}
	key := d.Name + "\x00" + r.Key
	if r.Key == "own" {
		key += strconv.FormatInt(sel.From, 36) + " " + strconv.FormatInt(sel.To, 36)
	}
	return s.catalogues.get(ctx, s.samples, key, sel)
}

// choice is the given value if it is one of several, else the first of them.
func choice(given string, values ...string) string {
	for _, v := range values {
		if v == given {
			return v
		}
	}
	return values[0]
}

func kindsOf(d *deploymentState) []string {
	var kinds []string
	for _, e := range d.engines {
		kinds = addNew(kinds, e.Kind)
	}
	return kinds
}

// goneBaseline is the baseline deleted just now, from the address that the deleting led to.
func goneBaseline(c echo.Context) *views.Baseline {
	name := c.QueryParam("gone")
	from, err := formTime(c.QueryParam("gone_from"))
	if name == "" || err != nil {
		return nil
	}
	to, err := formTime(c.QueryParam("gone_to"))
	if err != nil || !to.After(from) {
		return nil
	}
	return &views.Baseline{Name: name, Note: c.QueryParam("gone_note"), From: from, To: to}
}

// verdict is the page's first sentence: what the deployment does now, and who falls behind.
func verdict(d *deploymentState, now time.Time) []views.Reason {
	var newest int64
	reporting := 0
	for _, e := range d.engines {
		newest = max(newest, e.Last)
		if e.Last != 0 && e.silence(now) == 0 {
			reporting++
		}
	}
	count := strconv.Itoa(len(d.engines))
	switch {
	case newest == 0:
		return []views.Reason{{Key: "verdict.never"}}
	case reporting == 0:
		return []views.Reason{{Key: "verdict.ended", Args: []string{time.Unix(0, newest).UTC().Format("2006-01-02 15:04:05")}}}
	}
	text := map[string]string{}
	for _, m := range slices.Concat(figureMetrics, otherFigures["completion_TPS"]) {
		if f := joinedFigure(d, m); f.Value == f.Value {
			text[m.Key] = views.Number(m.Unit, f.Value)
		}
	}
	var out []views.Reason
	say := func(metric, key string, args ...string) {
		out = append(out, views.Reason{Key: key, Args: args, About: metric})
	}
	for _, g := range [...]struct{ metric, key string }{
		{"completion_TPS", "verdict.generates"}, {"completion_done_TPS", "verdict.generates_done"}, {"gen_throughput", "verdict.generates_logged"},
	} {
		if v, ok := text[g.metric]; ok && len(out) == 0 {
			say(g.metric, g.key, strconv.Itoa(reporting), count, v)
		}
	}
	if len(out) == 0 {
		say("", "verdict.quiet", strconv.Itoa(reporting), count)
	}
	for _, c := range [...]struct{ metric, key string }{
		{"prompt_TPS", "verdict.prompts"}, {"KV_cache_usage", "verdict.kv"}, {"avg_nextn_accept_rate", "verdict.acceptance"},
		{"MFU", "verdict.mfu"}, {"TTFT_max", "verdict.ttft"},
	} {
		if v, ok := text[c.metric]; ok {
			say(c.metric, c.key, v)
		}
		if c.metric == "prompt_TPS" {
			running, hasRunning := text["running"]
			pending, hasPending := text["pending"]
			if hasRunning && hasPending {
				say("running", "verdict.load", running, pending)
			} else if hasRunning {
				say("running", "verdict.running", running)
			}
		}
	}
	return append(out, laggards(d)...)
}

// laggards names the engines that generate far less than their peers now.
func laggards(d *deploymentState) []views.Reason {
	m, _ := ledger.Lookup(trendMetric)
	var list []laidEngine
	var names []string
	for _, e := range d.engines {
		if v := e.value(m); v == v {
			list = append(list, laidEngine{id: e.ID, mean: v})
			names = append(names, e.Name)
		}
	}
	var out []views.Reason
	for _, f := range findOutliers(list) {
		if f.off < 0 {
			out = append(out, views.Reason{Key: "verdict.slow", Args: []string{names[f.at], views.Sig3(-100 * f.off)}})
		}
	}
	return out
}
