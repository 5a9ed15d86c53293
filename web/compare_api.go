package web

import (
	"bytes"
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/engine/compare"
	"github.com/stepscope/stepscope/views"
)

// compareAPI answers GET /api/compare with the page's comparison as JSON, CSV or
// Markdown; its parameters are those of the page, and ?format=.
func (s *Server) compareAPI(c echo.Context) error {
	got, err := s.waitCompare(c)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	kind, name := "application/json", "comparison.json"
	switch format := c.QueryParam("format"); format {
	case "", "json":
		err = got.table.WriteJSON(&out)
	case "csv":
		kind, name = "text/csv; charset=utf-8", "comparison.csv"
		err = got.table.WriteCSV(&out, string(language(c)))
	case "md", "markdown":
		kind, name = "text/markdown; charset=utf-8", "comparison.md"
		err = got.table.WriteMarkdown(&out, string(language(c)))
	default:
		return refuse(http.StatusBadRequest, "compare_format", nil)
	}
	if err != nil {
		return err
	}
	if c.QueryParam("format") != "" {
		c.Response().Header().Set("Content-Disposition", attachment(name))
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Blob(http.StatusOK, kind, out.Bytes())
}

// waitCompare waits for a comparison as long as one may take.
func (s *Server) waitCompare(c echo.Context) (*comparison, error) {
	r, err := readRange(c, s.now())
	if err != nil {
		return nil, err
	}
	got, done, err := s.startCompare(c, r, compareTimeout)
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, refuse(http.StatusServiceUnavailable, "compare_slow", nil)
	}
	return got, nil
}

// trailsJSON is what the page's curves are drawn from.
type trailsJSON struct {
	Columns []trailColumn           `json:"columns"`
	Rows    map[string][]trailSerie `json:"rows"` // by row, then by column
}

// trailColumn is a column's time in ms since 1970, and its steps over that time.
type trailColumn struct {
	From  float64      `json:"from"`
	To    float64      `json:"to"`
	Steps [][2]float64 `json:"steps"` // time in ms, step
}

// trailSerie is one curve: times in ms since 1970, and values.
type trailSerie struct {
	T []float64 `json:"t"`
	V []float64 `json:"v"`
}

// compareTrails answers with the aggregated series of all rows, no longer than
// a curve can show; smallest and largest values survive.
func (s *Server) compareTrails(c echo.Context) error {
	got, err := s.waitCompare(c)
	if err != nil {
		return err
	}
	answer := trailsJSON{Rows: map[string][]trailSerie{}}
	for i, col := range got.table.Columns {
		tc := trailColumn{From: millis(col.From), To: millis(col.To), Steps: [][2]float64{}}
		if i < len(got.steps) {
			for _, m := range got.steps[i] {
				tc.Steps = append(tc.Steps, [2]float64{millis(m.Time), float64(m.Step)})
			}
		}
		answer.Columns = append(answer.Columns, tc)
	}
	for _, g := range got.table.Groups {
		for _, r := range g.Rows {
			series := make([]trailSerie, len(r.Cells))
			any := false
			for i, cell := range r.Cells {
				series[i] = thin(cell.Trail, compareRowTrail)
				any = any || len(series[i].T) > 1
			}
			if any {
				answer.Rows[views.RowID(r)] = series
			}
		}
	}
	answer.fit()
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, answer)
}

// fit narrows each column's time to where it has points: a deployment that began
// late in the time asked for is laid over the others from its own beginning.
func (t *trailsJSON) fit() {
	for i := range t.Columns {
		first, last := math.Inf(1), math.Inf(-1)
		for _, series := range t.Rows {
			if times := series[i].T; len(times) > 0 {
				first, last = min(first, times[0]), max(last, times[len(times)-1])
			}
		}
		if first < last {
			t.Columns[i].From, t.Columns[i].To = first, last
		}
	}
}

func millis(ns int64) float64 { return float64(ns) / 1e6 }

// thin cuts a trail to at most n points: of each stretch the smallest and the
// largest value stay, in their order.
func thin(trail []compare.Point, n int) trailSerie {
	s := trailSerie{T: []float64{}, V: []float64{}}
	put := func(p compare.Point) {
		s.T = append(s.T, millis(p.Time))
		s.V = append(s.V, p.Value)
	}
	if len(trail) <= n {
		for _, p := range trail {
			put(p)
		}
		return s
	}
	stretches := n / 2
	for k := range stretches {
		part := trail[k*len(trail)/stretches : (k+1)*len(trail)/stretches]
		low, high := 0, 0
		for i, p := range part {
			if p.Value < part[low].Value {
				low = i
			}
			if p.Value > part[high].Value {
				high = i
			}
		}
		put(part[min(low, high)])
		if low != high {
			put(part[max(low, high)])
		}
	}
	return s
}
