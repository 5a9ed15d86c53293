package compare

// The types of the JSON document. They are apart from Table's, so that numbers that JSON
// lacks become null and that renaming a field in Go changes no file.

type jsonTable struct {
	Columns  []jsonColumn  `json:"columns"`
	Answer   []jsonFinding `json:"answer"`
	Fairness jsonFairness  `json:"fairness"`
	Where    []jsonFinding `json:"where"`
	Groups   []jsonGroup   `json:"groups"`
	LeftRows int           `json:"left_rows,omitempty"`
	Method   jsonMethod    `json:"method"`
}

type jsonWords struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

type jsonReason struct {
	Code  Code      `json:"code"`
	Short jsonWords `json:"short"`
	Long  jsonWords `json:"long"`
}

type jsonColumn struct {
	Letter     string   `json:"letter"`
	Name       string   `json:"name"`
	Spec       string   `json:"spec"`
	Deployment string   `json:"deployment"`
	Baseline   string   `json:"baseline,omitempty"`
	From       string   `json:"from"`
	To         string   `json:"to"`
	Engines    int      `json:"engines"`
	Kinds      []string `json:"kinds"`
	Roles      []string `json:"roles"`
	Models     []string `json:"models"`
	Versions   []string `json:"versions"`
	Parallel   []string `json:"parallel"`
	GPUs       int      `json:"gpus"`
	PeakTFLOPs number   `json:"peak_tflops"`
	Lines      int      `json:"lines"`
	IntervalNS int64    `json:"interval_ns"`
	MeansNS    int64    `json:"means_ns,omitempty"`
	Left       jsonLeft `json:"left_out"`
	Restarts   int      `json:"restarts"`
	Gaps       int      `json:"gaps"`
	Captures   int      `json:"captures"`
}

type jsonLeft struct {
	Perturbed int `json:"perturbed"`
	Filling   int `json:"filling"`
	NotFinite int `json:"not_finite"`
	Resets    int `json:"resets"`
	Alone     int `json:"engine_missing"`
}

type jsonFinding struct {
	Text           jsonWords    `json:"text"`
	Column         string       `json:"column"`
	Metric         string       `json:"metric,omitempty"`
	Label          string       `json:"label,omitempty"`
	Steps          StepKind     `json:"steps,omitempty"`
	Stat           string       `json:"stat,omitempty"`
	Verdict        Verdict      `json:"verdict,omitempty"`
	Share          number       `json:"share"`
	Against        bool         `json:"against,omitempty"`
	Qualifications []jsonReason `json:"qualifications,omitempty"`
	Choose         []jsonChoice `json:"choose,omitempty"`
}

// jsonChoice is a column with the time that would make the row comparable.
type jsonChoice struct {
	Column string `json:"column"`
	Spec   string `json:"spec"`
}

type jsonFairness struct {
	Level   FairnessLevel      `json:"level"`
	Text    jsonWords          `json:"text"`
	Columns []FairnessLevel    `json:"columns"`
	Lines   []jsonFairnessLine `json:"lines"`
}

type jsonFairnessLine struct {
	Key   string             `json:"key"`
	Name  jsonWords          `json:"name"`
	Unit  string             `json:"unit,omitempty"`
	Cells []jsonFairnessCell `json:"cells"`
}

type jsonFairnessCell struct {
	Value      *number         `json:"value"`
	Text       string          `json:"text,omitempty"`
	Level      FairnessLevel   `json:"level,omitempty"`
	Difference *jsonDifference `json:"difference,omitempty"`
	Reason     *jsonReason     `json:"reason,omitempty"`
}

type jsonGroup struct {
	Key  string    `json:"key"`
	Name jsonWords `json:"name"`
	Rows []jsonRow `json:"rows"`
}

type jsonRow struct {
	Metric   string       `json:"metric"`
	Label    string       `json:"label,omitempty"`
	Steps    StepKind     `json:"steps,omitempty"`
	Stat     string       `json:"stat,omitempty"`
	Name     jsonWords    `json:"name"`
	Unit     string       `json:"unit"`
	Better   string       `json:"better"`
	Headline bool         `json:"headline,omitempty"`
	Cells    []jsonCell   `json:"cells"`
	Notes    []jsonReason `json:"notes,omitempty"`
}

type jsonCell struct {
	Level          *number         `json:"level"`
	Low            *number         `json:"low,omitempty"`
	High           *number         `json:"high,omitempty"`
	Spread         *number         `json:"spread,omitempty"`
	Lines          int             `json:"lines"`
	Points         int             `json:"points"`
	Effective      number          `json:"effective_points"`
	Left           jsonLeft        `json:"left_out"`
	Engines        []jsonEngine    `json:"engines,omitempty"`
	Absent         *jsonReason     `json:"absent,omitempty"`
	Difference     *jsonDifference `json:"difference,omitempty"`
	Verdict        Verdict         `json:"verdict,omitempty"`
	Reason         *jsonReason     `json:"reason,omitempty"`
	Qualifications []jsonReason    `json:"qualifications,omitempty"`
}

type jsonEngine struct {
	Name    string `json:"name"`
	Level   number `json:"level"`
	Lines   int    `json:"lines"`
	Outlier bool   `json:"outlier,omitempty"`
}

type jsonDifference struct {
	Value       number `json:"value"`
	Relative    number `json:"relative"`
	Low         number `json:"low"`
	High        number `json:"high"`
	Low95       number `json:"low_95"`
	High95      number `json:"high_95"`
	SE          number `json:"se"`
	DF          number `json:"df"`
	P           number `json:"p"`
	Adjusted    number `json:"p_adjusted"`
	EnginesVary bool   `json:"engines_vary,omitempty"`
}

type jsonMethod struct {
	Level  number    `json:"level"`
	Tests  int       `json:"tests"`
	Blocks jsonWords `json:"blocks"`
	Family jsonWords `json:"family"`
}

// document is the table as JSON has it.
func (t *Table) document() jsonTable {
	d := jsonTable{LeftRows: t.LeftRows, Answer: t.findings(t.Answer), Where: t.findings(t.Where), Method: jsonMethod{number(t.Method.Level), t.Method.Tests,
		jsonWords(t.Method.Blocks), jsonWords(t.Method.Family)}, Columns: []jsonColumn{}, Groups: []jsonGroup{}}
	for _, c := range t.Columns {
		d.Columns = append(d.Columns, jsonColumn{c.Letter, c.Name, c.Spec, c.Deployment, c.Baseline, moment(c.From), moment(c.To), c.Engines,
			list(c.Kinds), list(c.Roles), list(c.Models), list(c.Versions), list(c.Parallel), c.GPUs, number(c.PeakTFLOPs), c.Lines, c.Interval, c.Coarse,
			jsonLeft(c.Left), c.Restarts, c.Gaps, c.Traces})
	}
	d.Fairness = jsonFairness{Level: t.Fairness.Level, Text: jsonWords(t.Fairness.Text), Columns: t.Fairness.Columns}
	for _, l := range t.Fairness.Lines {
		line := jsonFairnessLine{Key: l.Key, Name: jsonWords(l.Name), Unit: l.Unit}
		for _, c := range l.Cells {
			cell := jsonFairnessCell{Text: c.Text, Level: c.Level, Difference: c.Diff.json(), Reason: c.Reason.json()}
			if c.OK && c.Text == "" {
				cell.Value = pointer(c.Value)
			}
			line.Cells = append(line.Cells, cell)
		}
		d.Fairness.Lines = append(d.Fairness.Lines, line)
	}
	for _, g := range t.Groups {
		group := jsonGroup{Key: string(g.Key), Name: jsonWords(g.Name)}
		for _, r := range g.Rows {
			row := jsonRow{r.Metric.Key, r.Label, r.Steps, r.Stat, jsonWords(r.Metric.Name), r.Unit, string(r.Metric.Better), r.Headline, nil, reasons(r.Notes)}
			for i := range r.Cells {
				row.Cells = append(row.Cells, r.Cells[i].json())
			}
			group.Rows = append(group.Rows, row)
		}
		d.Groups = append(d.Groups, group)
	}
	return d
}

func (c *Cell) json() jsonCell {
	out := jsonCell{Lines: c.Lines, Points: c.Points, Effective: number(c.Effect), Left: jsonLeft(c.Left), Absent: c.Absent.json(),
		Difference: c.Diff.json(), Verdict: c.Verdict, Reason: c.Reason.json(), Qualifications: reasons(c.Qualifications)}
	if c.OK {
		out.Level, out.Spread = pointer(c.Level), pointer(c.Spread)
		if c.Low != c.High {
			out.Low, out.High = pointer(c.Low), pointer(c.High)
		}
	}
	for _, e := range c.Engines {
		out.Engines = append(out.Engines, jsonEngine{e.Name, number(e.Level), e.Lines, e.Outlier})
	}
	return out
}

func (d *Difference) json() *jsonDifference {
	if d == nil {
		return nil
	}
	return &jsonDifference{number(d.Value), number(d.Rel), number(d.Low), number(d.High), number(d.Low95), number(d.High95),
		number(d.SE), number(d.DF), number(d.P), number(d.Adjusted), d.EnginesVary}
}

func (r *Reason) json() *jsonReason {
	if r == nil {
		return nil
	}
	return &jsonReason{r.Code, jsonWords(r.Short), jsonWords(r.Long)}
}

func reasons(all []Reason) []jsonReason {
	var out []jsonReason
	for i := range all {
		out = append(out, *all[i].json())
	}
	return out
}

func (t *Table) findings(all []Finding) []jsonFinding {
	out := []jsonFinding{}
	for _, f := range all {
		out = append(out, jsonFinding{jsonWords(f.Text), letters[f.Column : f.Column+1], f.Key, f.Label, f.Steps, f.Stat, f.Verdict,
			number(f.Share), f.Against, reasons(f.Qualifications), choices(f.Choose)})
	}
	return out
}

func choices(all []Choice) []jsonChoice {
	var out []jsonChoice
	for _, c := range all {
		out = append(out, jsonChoice{letters[c.Column : c.Column+1], c.Spec})
	}
	return out
}

func pointer(v float64) *number {
	n := number(v)
	return &n
}

// list is never null in JSON.
func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
