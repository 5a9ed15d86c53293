package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/engine/foreign"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

// targetsShown is how many targets of one collector a page has; a thousand
// engines are found by searching, and the troubled ones come first.
const targetsShown = 300

// collectorPage shows the collectors and their targets.
func (s *Server) collectorPage(c echo.Context) error {
	v := views.Collectors{Now: s.now().UTC(), Search: c.QueryParam("q")}
	if c.QueryParam("only") == "trouble" {
		v.Only = "trouble"
	}
	words := strings.Fields(store.Fold(v.Search))
	for _, state := range s.hub.Collectors() {
		v.List = append(v.List, collectorView(language(c), state, words, v.Only == "trouble"))
	}
	p := s.page(c, "collector", "collector.title")
	if c.QueryParam("part") == "body" {
		return s.render(c, http.StatusOK, views.CollectorBody(p, v))
	}
	return s.render(c, http.StatusOK, views.CollectorPage(p, v))
}

func collectorView(l i18n.Lang, state CollectorState, words []string, trouble bool) views.Collector {
	c := views.Collector{
		Name: state.Name, Host: state.Hello.Host, Version: state.Hello.Version, Started: state.Hello.Started, Seen: state.Seen, Gone: state.Gone,
		Spooled: state.Report.Spooled, Counts: map[string]int{}, All: len(state.Report.Targets),
	}
	if state.Refused != nil {
		c.Problems = append(c.Problems, problemView(l, *state.Refused))
	}
	for _, p := range state.Report.Problems {
		c.Problems = append(c.Problems, problemView(l, p))
	}
	for _, t := range state.Report.Targets {
		health := targetHealth(t.Health)
		c.Counts[health]++
		if trouble && health == "up" && t.Problem == nil && t.Unreadable == 0 || !targetMatches(l, t, words) {
			continue
		}
		c.Targets = append(c.Targets, targetView(l, t, health))
	}
	slices.SortStableFunc(c.Targets, func(a, b views.Target) int {
		return slices.Index(views.TargetHealths, a.Health) - slices.Index(views.TargetHealths, b.Health)
	})
	c.Matching = len(c.Targets)
	c.Targets = c.Targets[:min(len(c.Targets), targetsShown)]
	return c
}

// targetHealth is the state as the page knows it; a word of another version of
// the collector is none of them.
func targetHealth(h wire.Health) string {
	if text := string(h); slices.Contains(views.TargetHealths, text) {
		return text
	}
	return string(wire.Waiting)
}

// targetMatches says whether all words occur in what the page shows of a target.
func targetMatches(l i18n.Lang, t wire.Target, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := t.Name + " " + t.Source + " " + t.Kind + " " + string(t.Health)
	for _, e := range t.Engines {
		text += " " + e.Deployment + " " + e.Name
	}
	if t.Problem != nil {
		text += " " + t.Problem.What + " " + problemText(*t.Problem).In(l)
	}
	text = store.Fold(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

func targetView(l i18n.Lang, t wire.Target, health string) views.Target {
	v := views.Target{
		Name: t.Name, Source: t.Source, Kind: t.Kind, Health: health, Last: t.Last, Lag: t.Lag, Lines: t.Lines, Samples: t.Samples,
		Unreadable: t.Unreadable, Unknown: t.Unknown, CanCapture: t.CanCapture, ProfileAddr: t.ProfileAddr, OutputDir: t.OutputDir,
	}
	for _, e := range t.Engines {
		v.Engines = append(v.Engines, views.EngineLink{Deployment: e.Deployment, Name: e.Name})
	}
	if t.Problem != nil {
		p := problemView(l, *t.Problem)
		v.Problem = &p
	}
	for _, n := range t.Notes {
		v.Notes = append(v.Notes, problemView(l, n))
	}
	for _, m := range t.Missing {
		key, why, _ := strings.Cut(m, ": ")
		// The reason in the reader's language is the one that the collector gave in English.
		if w := foreign.AbsentReason(t.Kind, key); w.EN == why {
			why = views.Words(l, w)
		}
		v.Missing = append(v.Missing, views.Absent{Key: key, Why: why})
	}
	return v
}

func problemView(l i18n.Lang, p wire.Problem) views.Problem {
	return views.Problem{Time: p.Time, What: problemText(p).In(l), Hint: problemHint(p).In(l), Count: p.Count}
}
