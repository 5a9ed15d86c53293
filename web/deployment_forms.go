package web

import (
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
	note, cards := form.Get("note"), int(gpus)
	patch := store.DeploymentPatch{Note: &note, Labels: &labels, GPUs: &cards, PeakTFLOPs: &peak}
	if _, err := s.samples.UpdateDeployment(c.Request().Context(), name, patch); err != nil {
		return deploymentError(err)
	}
	s.board.edited()
	return c.Redirect(http.StatusSeeOther, backTo(form, name, "saved"))
}

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

// putBaseline names a time range of a deployment, or brings a deleted one back.
func (s *Server) putBaseline(c echo.Context) error {
	form, err := readForm(c)
	if err != nil {
		return err
	}
	name := form.Get("name")
	from, err := formTime(form.Get("from"))
	if err != nil {
		return refuse(http.StatusBadRequest, "baseline_start", err, clip(form.Get("from"), 40))
	}
	to, err := formTime(form.Get("to"))
	if err != nil {
		return refuse(http.StatusBadRequest, "baseline_end", err, clip(form.Get("to"), 40))
	}
	if !to.After(from) {
		return refuse(http.StatusBadRequest, "baseline_order", nil)
	}
	b := store.Baseline{Deployment: name, Name: strings.TrimSpace(form.Get("label")), Note: form.Get("note"), From: from.UnixNano(), To: to.UnixNano()}
	if b.Name == "" {
		return refuse(http.StatusBadRequest, "baseline_name", nil)
	}
	all, err := s.samples.Baselines(c.Request().Context(), name)
	if err != nil {
		return deploymentError(err)
	}
	if slices.ContainsFunc(all, func(other store.Baseline) bool { return other.Name == b.Name }) {
		return refuse(http.StatusBadRequest, "baseline_taken", nil, clip(b.Name, 80))
	}
	if _, err := s.samples.PutBaseline(c.Request().Context(), b); err != nil {
		return deploymentError(err)
	}
	s.board.edited()
	return c.Redirect(http.StatusSeeOther, backTo(form, name, "baseline"))
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
