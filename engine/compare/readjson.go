package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// maxDocument bounds what ReadJSON takes, in bytes.
const maxDocument = 64 << 20

// UnmarshalJSON reads null as NaN.
func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// ReadJSON reads what WriteJSON wrote. Definitions of metrics come from this program's
// own table.
func ReadJSON(r io.Reader) (*Table, error) {
	var d jsonTable
	if err := json.NewDecoder(io.LimitReader(r, maxDocument)).Decode(&d); err != nil {
		return nil, fmt.Errorf("reading a comparison: %w", err)
	}
	n := len(d.Columns)
	if n < MinColumns || n > MaxColumns {
		return nil, fmt.Errorf("reading a comparison: it has %d columns, not %d to %d", n, MinColumns, MaxColumns)
	}
	t := &Table{LeftRows: d.LeftRows, Method: Method{float64(d.Method.Level), d.Method.Tests, Words(d.Method.Blocks), Words(d.Method.Family)}}
	for i, c := range d.Columns {
		from, err1 := time.Parse(time.RFC3339Nano, c.From)
		to, err2 := time.Parse(time.RFC3339Nano, c.To)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("reading a comparison: column %d has no times", i)
		}
		t.Columns = append(t.Columns, Column{letters[i : i+1], c.Name, c.Spec, c.Deployment, c.Baseline, from.UnixNano(), to.UnixNano(), c.Engines,
			c.Kinds, c.Roles, c.Models, c.Versions, c.Parallel, c.GPUs, float64(c.PeakTFLOPs), c.Lines, c.IntervalNS, c.MeansNS, Left(c.Left), c.Restarts, c.Gaps, c.Captures})
	}
	t.Answer, t.Where = findingsOf(d.Answer, n), findingsOf(d.Where, n)
	t.Fairness = Fairness{Level: d.Fairness.Level, Text: Words(d.Fairness.Text), Columns: d.Fairness.Columns}
	for _, l := range d.Fairness.Lines {
		line := FairnessLine{Key: l.Key, Name: Words(l.Name), Unit: l.Unit}
		for _, c := range l.Cells {
			cell := FairnessCell{OK: c.Value != nil || c.Text != "", Text: c.Text, Value: orNaN(c.Value), Level: c.Level, Diff: c.Difference.difference(), Reason: c.Reason.reason()}
			line.Cells = append(line.Cells, cell)
		}
		if len(line.Cells) != n {
			return nil, fmt.Errorf("reading a comparison: %q has %d cells for %d columns", l.Key, len(line.Cells), n)
		}
		t.Fairness.Lines = append(t.Fairness.Lines, line)
	}
	for _, g := range d.Groups {
		group := Group{Name: Words(g.Name)}
		for _, r := range g.Rows {
			if len(r.Cells) != n {
				return nil, fmt.Errorf("reading a comparison: %q has %d cells for %d columns", r.Metric, len(r.Cells), n)
			}
			m, ok := definition(r.Metric)
			if !ok {
				m.Key, m.Name = r.Metric, Words(r.Name)
			}
			row := Row{Metric: m, Label: r.Label, Steps: r.Steps, Stat: r.Stat, Unit: r.Unit, Headline: r.Headline, Notes: reasonsOf(r.Notes)}
			for i := range r.Cells {
				row.Cells = append(row.Cells, r.Cells[i].cell())
			}
			group.Key = m.Group
			group.Rows = append(group.Rows, row)
		}
		t.Groups = append(t.Groups, group)
	}
	return t, nil
}

func orNaN(n *number) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

func (c *jsonCell) cell() Cell {
	out := Cell{OK: c.Level != nil, Level: orNaN(c.Level), Spread: orNaN(c.Spread), Lines: c.Lines, Points: c.Points, Effect: float64(c.Effective),
		Left: Left(c.Left), Absent: c.Absent.reason(), Diff: c.Difference.difference(), Verdict: c.Verdict, Reason: c.Reason.reason(), Qualifications: reasonsOf(c.Qualifications)}
	out.Low, out.High = out.Level, out.Level
	if c.Low != nil {
		out.Low = float64(*c.Low)
		if out.High = orNaN(c.High); math.IsNaN(out.High) {
			out.High = math.Inf(1)
		}
	}
	for _, e := range c.Engines {
		out.Engines = append(out.Engines, EngineLevel{e.Name, float64(e.Level), e.Lines, e.Outlier})
	}
	return out
}

// difference reads one; an end that JSON could not hold was infinite.
func (d *jsonDifference) difference() *Difference {
	if d == nil {
		return nil
	}
	end := func(n number, sign int) float64 {
		if math.IsNaN(float64(n)) {
			return math.Inf(sign)
		}
		return float64(n)
	}
	return &Difference{Value: float64(d.Value), Rel: float64(d.Relative), Low: end(d.Low, -1), High: end(d.High, 1), Low95: end(d.Low95, -1), High95: end(d.High95, 1),
		SE: float64(d.SE), DF: float64(d.DF), P: float64(d.P), Adjusted: float64(d.Adjusted), EnginesVary: d.EnginesVary}
}

func (r *jsonReason) reason() *Reason {
	if r == nil {
		return nil
	}
	return &Reason{r.Code, Words(r.Short), Words(r.Long)}
}

func reasonsOf(all []jsonReason) []Reason {
	var out []Reason
	for i := range all {
		out = append(out, *all[i].reason())
	}
	return out
}

func findingsOf(all []jsonFinding, columns int) []Finding {
	var out []Finding
	for _, f := range all {
		i := strings.Index(letters[:columns], f.Column)
		if i < 0 || f.Column == "" {
			continue
		}
		var choose []Choice
		for _, c := range f.Choose {
			if k := strings.Index(letters[:columns], c.Column); k >= 0 && c.Column != "" {
				choose = append(choose, Choice{k, c.Spec})
			}
		}
		out = append(out, Finding{Choose: choose, Text: Words(f.Text), Column: i, Key: f.Metric, Label: f.Label, Steps: f.Steps, Stat: f.Stat, Verdict: f.Verdict,
			Share: float64(f.Share), Against: f.Against, Qualifications: reasonsOf(f.Qualifications)})
	}
	return out
}
