package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
	"github.com/stepscope/stepscope/views/i18n"
)

// capturesShown is how many captures one page of the record has.
const capturesShown = 100

// captureRoutes mounts the page of captures and its forms.
func (s *Server) captureRoutes(e *echo.Echo) {
	e.Match([]string{http.MethodGet, http.MethodHead}, "/captures", s.capturesPage)
	e.POST("/captures", s.startCaptures)
	e.POST("/captures/:id/cancel", s.cancelCapture)
}

// capturesPage is the form for a new capture and the record; ?deployment=
// chooses whose engines the form offers and narrows the record.
func (s *Server) capturesPage(c echo.Context) error {
	form := views.CaptureForm{Deployment: c.QueryParam("deployment"), Steps: defaultSteps}
	if n, err := strconv.Atoi(c.QueryParam("steps")); err == nil && n >= 1 && n <= maxSteps {
		form.Steps = n
	}
	return s.renderCaptures(c, http.StatusOK, form, c.QueryParams()["engine"], nil)
}

// renderCaptures shows the page; named are the engines to tick, none ticks all.
func (s *Server) renderCaptures(c echo.Context, status int, form views.CaptureForm, named []string, refused *views.Failure) error {
	ctx := c.Request().Context()
	now := s.now().UTC()
	v := views.Captures{Now: now, Form: form, Refused: refused, Started: c.QueryParam("started"), Only: c.QueryParam("deployment")}
	if refused != nil {
		v.Only = form.Deployment
	}
	engines, err := s.samples.Engines(ctx, "")
	if err != nil {
		return storeError(err)
	}
	var own []store.Engine
	for _, e := range engines {
		if !slices.Contains(v.Deployments, e.Deployment) {
			v.Deployments = append(v.Deployments, e.Deployment)
		}
		if e.Deployment == form.Deployment && e.Kind != "gpu" {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		v.Form.Deployment = ""
	}
	if v.Form.Engines, err = s.captureEngines(c, own, named); err != nil {
		return err
	}
	if v.Form.StepTime, err = s.stepTime(c, own); err != nil {
		return err
	}
	q := store.CaptureQuery{Deployment: v.Only, Limit: capturesShown}
	if before, err := strconv.ParseInt(c.QueryParam("before"), 10, 64); err == nil && before > 0 {
		q.Before, v.Later = before, true
	}
	list, err := s.cfg.Store.ListCaptures(ctx, q)
	if err != nil {
		return storeError(err)
	}
	if len(list) == q.Limit {
		v.Next = list[len(list)-1].ID
	}
	v.Groups = captureGroups(list, language(c))
	if v.Only != "" && len(list) == 0 && refused == nil && !slices.Contains(v.Deployments, v.Only) {
		known, err := s.samples.Deployments(ctx)
		if err != nil {
			return storeError(err)
		}
		if v.Unknown = !slices.ContainsFunc(known, func(d store.Deployment) bool { return d.Name == v.Only }); v.Unknown {
			status = http.StatusNotFound
		}
	}
	p := s.page(c, "captures", "capture.title")
	switch c.QueryParam("part") {
	case "body":
		return s.render(c, http.StatusOK, views.CapturesBody(p, v))
	case "form":
		return s.render(c, http.StatusOK, views.CaptureEngines(p, v))
	}
	return s.render(c, status, views.CapturesPage(p, v))
}

// captureEngines says of each engine whether it can be captured now.
func (s *Server) captureEngines(c echo.Context, own []store.Engine, named []string) ([]views.CaptureEngine, error) {
	if len(own) == 0 {
		return nil, nil
	}
	ctx := c.Request().Context()
	routes := make([]route, 0, len(own))
	for _, e := range own {
		routes = append(routes, route{Engine: e})
	}
	idle, err := s.hub.idle(ctx, routes)
	if err != nil {
		return nil, storeError(err)
	}
	active, err := s.cfg.Store.ListCaptures(ctx, store.CaptureQuery{Deployment: own[0].Deployment, Active: true, Limit: store.MaxPage})
	if err != nil {
		return nil, storeError(err)
	}
	busy := map[store.EngineKey]int64{}
	for _, a := range active {
		busy[a.Engine] = a.ID
	}
	list := make([]views.CaptureEngine, 0, len(own))
	for _, e := range own {
		collector, phrase := s.hub.CanCapture(e.EngineKey)
		why := ""
		if phrase != nil {
			why = language(c).Say(*phrase)
		}
		list = append(list, views.CaptureEngine{
			Name: e.Name, Kind: e.Kind, Role: e.Role, Collector: collector, Why: why, Idle: slices.Contains(idle, e.Name),
			StepBytes: wire.Expect(e.Kind, 1, 0).Bytes, Busy: busy[e.EngineKey], Chosen: len(named) == 0 || slices.Contains(named, e.Name),
		})
	}
	return list, nil
}

// stepTime is how long a step of the slowest of some engines takes, by what they
// logged lately; 0 when none says.
func (s *Server) stepTime(c echo.Context, engines []store.Engine) (time.Duration, error) {
	if len(engines) == 0 {
		return 0, nil
	}
	ids := make([]int64, len(engines))
	for i, e := range engines {
		ids[i] = e.ID
	}
	latest, err := s.samples.Latest(c.Request().Context(), ids, []string{"avg_SPS"}, s.now().Add(-idleWindow).UnixNano())
	if err != nil {
		return 0, storeError(err)
	}
	var slowest time.Duration
	for _, l := range latest {
		// Slower than a step a minute is an idle engine's figure.
		if l.Value > 1.0/60 {
			slowest = max(slowest, time.Duration(float64(time.Second)/l.Value))
		}
	}
	return slowest, nil
}

// captureGroups puts the captures of one request together, newest request
// first, engines by name.
func captureGroups(list []store.Capture, l i18n.Lang) []views.CaptureGroup {
	var groups []views.CaptureGroup
	at := map[string]int{}
	for _, c := range list {
		i, ok := at[c.Group]
		if !ok {
			i = len(groups)
			at[c.Group] = i
			groups = append(groups, views.CaptureGroup{ID: c.Group, Deployment: c.Engine.Deployment, By: c.By, Note: c.Note, Steps: c.Steps, At: c.Times[store.Queued]})
		}
		groups[i].Captures = append(groups[i].Captures, captureView(c, l))
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Captures, func(a, b views.Capture) int { return strings.Compare(a.Engine, b.Engine) })
	}
	return groups
}

func captureView(c store.Capture, l i18n.Lang) views.Capture {
	times := make(map[string]time.Time, len(c.Times))
	for s, t := range c.Times {
		times[string(s)] = t
	}
	told := toldIn(c, l)
	return views.Capture{
		ID: c.ID, Engine: c.Engine.Name, Collector: c.Collector, State: string(c.State), Done: c.State.Done(), Times: times,
		Warnings: told.warnings, Error: told.err, Hint: told.hint, Path: c.Path, OutputDir: c.OutputDir, Bytes: c.Bytes, Trace: c.TraceID, More: c.More,
	}
}

// startCaptures takes the page's form. A refusal shows the form again, as it
// was filled in, with the reason above it.
func (s *Server) startCaptures(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	q := wire.CaptureRequest{
		Deployment: form.Get("deployment"), Engines: form["engine"], OutputDir: form.Get("output_dir"), Note: form.Get("note"),
		Force: form.Get("force") == "1", By: whoAsks(c.Request()),
	}
	again := views.CaptureForm{Deployment: q.Deployment, Steps: defaultSteps, OutputDir: q.OutputDir, Note: q.Note}
	show := func(he *HTTPError) error {
		return s.renderCaptures(c, he.Status, again, q.Engines, he.failure(language(c)))
	}
	if q.Steps, err = strconv.Atoi(form.Get("steps")); err != nil {
		return show(refuse(http.StatusBadRequest, "capture_steps", err, "“"+clip(form.Get("steps"), 40)+"”", maxSteps, defaultSteps))
	}
	again.Steps = q.Steps
	if len(q.Engines) == 0 {
		// In a form, nothing ticked is nobody; only the API takes it for all.
		return show(refuse(http.StatusBadRequest, "capture_nobody", nil))
	}
	made, err := s.hub.StartCaptures(c.Request().Context(), q)
	if err != nil {
		var idle *IdleError
		if errors.As(err, &idle) {
			again.Idle = idle.Engines
		}
		he := asHTTPError(hubError(c, err))
		if he.Status >= http.StatusInternalServerError && he.Status != http.StatusInsufficientStorage {
			return err
		}
		if again.Idle != nil {
			he = refuse(he.Status, "capture_idle_form", err, he.Args...)
		}
		return show(he)
	}
	to := url.Values{"deployment": {q.Deployment}}
	if len(made) > 0 {
		to.Set("started", made[0].Group)
	}
	return c.Redirect(http.StatusSeeOther, "/captures?"+to.Encode()+"#record")
}

// cancelCapture ends a capture and leads back to the record.
func (s *Server) cancelCapture(c echo.Context) error {
	id, err := captureID(c)
	if err != nil {
		return err
	}
	got, err := s.hub.CancelCapture(c.Request().Context(), id, whoAsks(c.Request()))
	if err != nil {
		return noCapture(c, err)
	}
	to := url.Values{"deployment": {got.Engine.Deployment}}
	return c.Redirect(http.StatusSeeOther, "/captures?"+to.Encode()+"#capture-"+strconv.FormatInt(id, 10))
}
