package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/engine/ledger"
	"github.com/stepscope/stepscope/store"
)

// Bounds of a question for series.
const (
	fewestPoints  = 20
	mostPoints    = 2000
	pointsStep    = 20 // rounded up to it, so that screens of nearly one width share an answer
	mostMetrics   = 8
	maxMetricName = 512
)

// series answers GET /api/series?deployment=&metric=&label=&range=|from=&to=&points=&only=&agg=1&x=time|step:
// the data of one chart, downsampled so that extremes survive. metric may be
// given several times. Without label all labels are answered.
func (s *Server) series(c echo.Context) error {
	q, err := s.readSeriesQuery(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	body, err := s.answers.get(ctx, q.key(), func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatherTimeout)
		defer cancel()
		answer, err := buildSeries(ctx, s.samples, q)
		if err == nil && answer.Samples == 0 {
			err = answerable(ctx, s.samples, q)
		}
		if err != nil {
			return nil, err
		}
		return answer.encode()
	})
	var unknown *compare.UnknownMetric
	if errors.As(err, &unknown) {
		return refuse(http.StatusNotFound, "metric_unknown", nil, unknown.Key, strings.Join(unknown.Near, ", "))
	}
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return deploymentError(err)
		}
		return storeError(err)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSONBlob(http.StatusOK, body)
}

// answerable says of a question that got no samples whether it could ever have
// any: an error tells of a deployment or a metric that doesn't exist.
func answerable(ctx context.Context, st store.Samples, q seriesQuery) error {
	deployments, err := st.Deployments(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(deployments, func(d store.Deployment) bool { return d.Name == q.deployment }) {
		return store.ErrNotFound
	}
	strange := slices.DeleteFunc(slices.Clone(q.metrics), func(key string) bool {
		_, known := ledger.Lookup(key)
		return known
	})
	if len(strange) == 0 {
		return nil
	}
	engines, err := st.Engines(ctx, q.deployment)
	if err != nil {
		return err
	}
	sel := store.Selection{Metrics: strange, To: store.MaxTime + 1}
	for _, e := range engines {
		sel.Engines = append(sel.Engines, e.ID)
	}
	columns, err := st.Columns(ctx, sel)
	if err != nil {
		return err
	}
	for _, c := range columns { // series under an engine's own name
		strange = slices.DeleteFunc(strange, func(key string) bool { return key == c.Metric })
	}
	return compare.CheckMetrics(strange)
}

// key is the same for questions with the same answer.
func (q seriesQuery) key() string { return fmt.Sprintf("%#v", q) }

func (s *Server) readSeriesQuery(c echo.Context) (seriesQuery, error) {
	bad := func(code string, args ...any) error { return refuse(http.StatusBadRequest, code, nil, args...) }
	params := c.QueryParams()
	q := seriesQuery{deployment: c.QueryParam("deployment"), metrics: params["metric"], joined: c.QueryParam("agg") == "1", points: store.DefaultPoints}
	if labels := params["label"]; len(labels) > 0 {
		q.label, q.hasLabel = labels[0], true
	}
	if q.deployment == "" || len(q.metrics) == 0 {
		return q, bad("series_what")
	}
	if len(q.metrics) > mostMetrics || slices.ContainsFunc(q.metrics, func(m string) bool { return m == "" || len(m) > maxMetricName }) {
		return q, bad("series_metrics", mostMetrics)
	}
	if text := c.QueryParam("points"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return q, bad("series_points", fewestPoints, mostPoints)
		}
		q.points = min(max((n+pointsStep-1)/pointsStep*pointsStep, fewestPoints), mostPoints)
	}
	switch only := c.QueryParam("only"); only {
	case "", "all":
	case "prompt":
		q.only = store.OnlyPrompt
	case "decode":
		q.only = store.OnlyDecode
	default:
		return q, bad("series_only")
	}
	switch x := c.QueryParam("x"); x {
	case "", "time":
	case "step":
		q.steps = true
	default:
		return q, bad("series_x")
	}
	r, err := readRange(c, s.now())
	if err != nil {
		return q, err
	}
	q.from, q.to = r.From.UnixNano(), r.To.UnixNano()
	if length, ends := rangeLengths[r.Key]; ends {
		// Rounded up to whole cells, so that those who look at the same time share one answer.
		width := max(int64(length)/int64(q.points), int64(time.Second))
		q.to = (q.to/width + 1) * width
		q.from = q.to - int64(length)
	}
	return q, nil
}

// num is a number in JSON with enough digits for any screen; NaN is null.
type num float64

// MarshalJSON implements json.Marshaler.
func (n num) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, v, 'g', 6, 64), nil
}

func nums(values []float64) []num {
	if values == nil {
		return nil
	}
	out := make([]num, len(values))
	for i, v := range values {
		out[i] = num(v)
	}
	return out
}

type lineJSON struct {
	Metric  string `json:"metric"`
	Label   string `json:"label"`
	Engine  string `json:"engine"`
	Steps   string `json:"steps"`
	Samples int64  `json:"samples"`
	Outlier bool   `json:"outlier"`
	Cells   []int  `json:"i"`
	Mean    []num  `json:"v"`
	Low     []num  `json:"lo,omitempty"`
	High    []num  `json:"hi,omitempty"`
	// Of quantiles: the values each is of, and where only a bound is known: −1 at most v, 1 more than v.
	Counts  []int64 `json:"n,omitempty"`
	Clipped []int   `json:"clip,omitempty"`
}

// clipped says where a quantile lies under its histogram's first bound or above the last one; nil: nowhere.
func (l *seriesLine) clipped() []int {
	if l.Counts == nil {
		return nil
	}
	out, any := make([]int, len(l.Mean)), false
	for i := range min(len(l.Low), len(l.High)) {
		switch {
		case math.IsInf(l.Low[i], -1):
			out[i], any = -1, true
		case math.IsInf(l.High[i], 1):
			out[i], any = 1, true
		}
	}
	if !any {
		return nil
	}
	return out
}

type bandJSON struct {
	Label string `json:"label,omitempty"`
	Steps string `json:"steps"`
	Cells []int  `json:"i"`
	Min   []num  `json:"min"`
	P10   []num  `json:"p10"`
	P50   []num  `json:"p50"`
	P90   []num  `json:"p90"`
	Max   []num  `json:"max"`
}

type outlierJSON struct {
	Engine string `json:"engine"`
	Off    num    `json:"off"`
}

// encode prints the answer. x of cell i is x0 + i·dx.
func (a *seriesAnswer) encode() ([]byte, error) {
	out := struct {
		Start    float64       `json:"x0"`
		DX       float64       `json:"dx"`
		Cells    int           `json:"cells"`
		Lines    []lineJSON    `json:"lines"`
		Bands    []bandJSON    `json:"bands"`
		Engines  int           `json:"engines"`
		Cards    int           `json:"cards"` // of readings of cards
		More     int           `json:"more"`
		Samples  int64         `json:"samples"`
		Outliers []outlierJSON `json:"outliers"`
		Times    []*[2]int64   `json:"times,omitempty"` // ms since 1970
	}{Start: a.X0, DX: a.DX, Cells: a.Cells, Lines: []lineJSON{}, Bands: []bandJSON{}, Engines: a.Engines, Cards: a.Cards, More: a.More, Samples: a.Samples, Outliers: []outlierJSON{}}
	for _, l := range a.Lines {
		out.Lines = append(out.Lines, lineJSON{Metric: l.Metric, Label: l.Label, Engine: l.Engine, Steps: l.Steps, Samples: l.Samples, Outlier: l.Outlier,
			Cells: l.Cells, Mean: nums(l.Mean), Low: nums(l.Low), High: nums(l.High), Counts: l.Counts, Clipped: l.clipped()})
	}
	for _, b := range a.Bands {
		out.Bands = append(out.Bands, bandJSON{Label: b.Label, Steps: b.Steps, Cells: b.Cells, Min: nums(b.Min), P10: nums(b.P10), P50: nums(b.P50), P90: nums(b.P90), Max: nums(b.Max)})
	}
	for _, o := range a.Outliers {
		out.Outliers = append(out.Outliers, outlierJSON{o.Engine, num(o.Off)})
	}
	for _, t := range a.Times {
		if t[1] == 0 {
			out.Times = append(out.Times, nil)
			continue
		}
		out.Times = append(out.Times, &[2]int64{t[0] / 1e6, t[1] / 1e6})
	}
	return json.Marshal(out)
}
