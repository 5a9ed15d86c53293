package web

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/views"
)

// editDeployment changes what people say about a deployment.
func (s *Server) editDeployment(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	name := form.Get("name")
	labels, err := parseLabels(form.Get("labels"))
	if err != nil {
		return err
	}
	gpus, err := formNumber(form.Get("gpus"), "field_gpus")
	if err != nil {
		return err
	}
	peak, err := formNumber(form.Get("peak"), "field_peak")
	if err != nil {
		return err
	}
	note, cards := plainLines(form.Get("note")), int(gpus)
	patch := store.DeploymentPatch{Note: &note, Labels: &labels, GPUs: &cards, PeakTFLOPs: &peak}
	s.editing.Lock()
	defer s.editing.Unlock()
	if err := s.onlyChanges(c.Request().Context(), name, form, &patch); err != nil {
		return err
	}
	if _, err := s.samples.UpdateDeployment(c.Request().Context(), name, patch); err != nil {
		return deploymentError(err)
	}
	s.board.edited()
	return c.Redirect(http.StatusSeeOther, backTo(form, name, "saved"))
}

// onlyChanges leaves in a patch what its form changed: the fields "was_…" carry
// what the form began with. So two people who edit at once each change what
// they meant to, and the second is told where both changed the same.
func (s *Server) onlyChanges(ctx context.Context, name string, form url.Values, p *store.DeploymentPatch) error {
	if !form.Has("was_note") {
		return nil // from a program, which says all there shall be
	}
	all, err := s.samples.Deployments(ctx)
	if err != nil {
		return storeError(err)
	}
	i := slices.IndexFunc(all, func(d store.Deployment) bool { return d.Name == name })
	if i < 0 {
		return deploymentError(store.ErrNotFound)
	}
	now := viewDeployment(&deploymentState{Deployment: all[i]}, s.now())
	return keepOthersEdits(form, []editedField{
		{"gpus", now.GPUText(), refuse(http.StatusConflict, "edited_gpus", nil, now.GPUText()), func() { p.GPUs = nil }},
		{"peak", now.PeakText(), refuse(http.StatusConflict, "edited_peak", nil, now.PeakText()), func() { p.PeakTFLOPs = nil }},
		{"labels", now.LabelText(), refuse(http.StatusConflict, "edited_labels", nil, clip(now.LabelText(), 200)), func() { p.Labels = nil }},
		{"note", now.Note, refuse(http.StatusConflict, "edited_note", nil, clip(now.Note, 200)), func() { p.Note = nil }},
	})
}

// editedField is a field of a form that two people may edit at once.
type editedField struct {
	key, now string     // its name in the form, and what is stored
	no       *HTTPError // tells that somebody else has changed it
	drop     func()     // leaves the field out of the patch
}

// keepOthersEdits drops the fields that a form leaves as it was filled with, and
// refuses what somebody else has changed meanwhile to something else.
func keepOthersEdits(form url.Values, fields []editedField) error {
	for _, f := range fields {
		was, asked, now := plainLines(form.Get("was_"+f.key)), plainLines(form.Get(f.key)), plainLines(f.now)
		switch {
		case asked == was:
			f.drop()
		case now != was && now != asked:
			return f.no
		}
	}
	return nil
}

// plainLines has line ends as they are stored: forms send them with a carriage return.
func plainLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// deleteDeployment hides a deployment; the page it leads to offers to undo that.
func (s *Server) deleteDeployment(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	name := form.Get("name")
	if err := s.samples.DeleteDeployment(c.Request().Context(), name); err != nil {
		return deploymentError(err)
	}
	s.board.edited()
	return c.Redirect(http.StatusSeeOther, "/fleet?"+url.Values{"deleted": {name}}.Encode())
}

// restoreDeployment undoes that.
func (s *Server) restoreDeployment(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	if err := s.samples.RestoreDeployment(c.Request().Context(), form.Get("name")); err != nil {
		return deploymentError(err)
	}
	s.board.edited()
	return c.Redirect(http.StatusSeeOther, "/fleet?done=restored")
}

// putBaseline names a time range of a deployment, changes one (?id=), or brings a deleted one back.
func (s *Server) putBaseline(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	name := form.Get("name")
	all, err := s.samples.Baselines(ctx, name)
	if err != nil {
		return deploymentError(err)
	}
	b := store.Baseline{Deployment: name}
	if text := form.Get("id"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return refuse(http.StatusBadRequest, "baseline_id", err, clip(text, 40))
		}
		i := slices.IndexFunc(all, func(b store.Baseline) bool { return b.ID == id })
		if i < 0 {
			return deploymentError(store.ErrNotFound)
		}
		b = all[i]
	}
	if err := readBaseline(form, &b); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(other store.Baseline) bool { return other.Name == b.Name && other.ID != b.ID }) {
		return refuse(http.StatusBadRequest, "baseline_taken", nil, clip(b.Name, 80))
	}
	if _, err := s.samples.PutBaseline(ctx, b); err != nil {
		return deploymentError(err)
	}
	s.board.edited()
	return c.Redirect(http.StatusSeeOther, backTo(form, name, "baseline"))
}

// readBaseline puts a form's fields into a baseline. The form of one that exists
// shows its ends to the second: where that is unchanged, they stay as exact as they were.
func readBaseline(form url.Values, b *store.Baseline) error {
	from, err := formTime(form.Get("from"))
	if err != nil {
		return refuse(http.StatusBadRequest, "baseline_start", err, clip(form.Get("from"), 40))
	}
	to, err := formTime(form.Get("to"))
	if err != nil {
		return refuse(http.StatusBadRequest, "baseline_end", err, clip(form.Get("to"), 40))
	}
	for _, end := range [...]struct {
		at    *int64
		asked time.Time
	}{{&b.From, from}, {&b.To, to}} {
		if b.ID == 0 || !end.asked.Equal(time.Unix(0, *end.at).Truncate(time.Second)) {
			*end.at = end.asked.UnixNano()
		}
	}
	if b.To <= b.From {
		return refuse(http.StatusBadRequest, "baseline_order", nil)
	}
	b.Name, b.Note = strings.TrimSpace(form.Get("label")), plainLines(form.Get("note"))
	if b.Name == "" {
		return refuse(http.StatusBadRequest, "baseline_name", nil)
	}
	return nil
}

// deleteBaseline removes one; the page it leads to can make it again.
func (s *Server) deleteBaseline(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(form.Get("id"), 10, 64)
	if err != nil {
		return refuse(http.StatusBadRequest, "baseline_id", err, clip(form.Get("id"), 40))
	}
	name := form.Get("name")
	all, err := s.samples.Baselines(c.Request().Context(), name)
	if err != nil {
		return deploymentError(err)
	}
	if err := s.samples.DeleteBaseline(c.Request().Context(), id); err != nil {
		return deploymentError(err)
	}
	s.board.edited()
	to := backTo(form, name, "")
	for _, b := range all {
		if b.ID == id {
			gone := url.Values{"gone": {b.Name}, "gone_note": {b.Note},
				"gone_from": {exactTime(time.Unix(0, b.From))}, "gone_to": {exactTime(time.Unix(0, b.To))}}
			to = withQuery(to, gone)
		}
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// backTo is where a form leads: to the page it was on, which must be our own.
func backTo(form url.Values, deployment, done string) string {
	to := form.Get("back")
	if !isOwnPath(to) {
		to = views.DeploymentPath(deployment)
	}
	if done == "" {
		return to
	}
	return withQuery(to, url.Values{"done": {done}})
}

// withQuery sets parameters of an address; those of an earlier action go.
func withQuery(path string, set url.Values) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	q := u.Query()
	for _, k := range []string{"done", "deleted", "gone", "gone_note", "gone_from", "gone_to"} {
		q.Del(k)
	}
	for k, v := range set {
		q[k] = v
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// parseLabels reads "key=value, key=value"; new lines separate as well.
func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" {
			return nil, refuse(http.StatusBadRequest, "label_pair", nil, clip(part, 80))
		}
		if _, twice := labels[key]; twice {
			return nil, refuse(http.StatusBadRequest, "label_twice", nil, clip(key, 80))
		}
		labels[key] = value
	}
	return labels, nil
}

// formNumber reads a number that may be left empty, which is 0; code is how it
// is refused. Numbers of GPUs are whole.
func formNumber(text, code string) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1e6 || code == "field_gpus" && v != math.Trunc(v) {
		return 0, refuse(http.StatusBadRequest, code, err, clip(text, 40))
	}
	return v, nil
}

// deploymentError is storeError in the words of this page.
func deploymentError(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return refuse(http.StatusNotFound, "deployment_unknown", err)
	}
	return storeError(err)
}
