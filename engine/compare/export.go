package compare

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"time"
)

// Formats lists the formats of Write.
func Formats() []string { return []string{"json", "csv", "md"} }

// Write writes the table in one of Formats; lang is "en" or "zh" for the texts.
func (t *Table) Write(w io.Writer, format, lang string) error {
	switch format {
	case "csv":
		return t.WriteCSV(w, lang)
	case "md":
		return t.WriteMarkdown(w, lang)
	}
	return t.WriteJSON(w)
}

// in picks a language.
func in(w Words, lang string) string {
	if lang == "zh" {
		return w.ZH
	}
	return w.EN
}

// csvHead names the columns of WriteCSV: one record for each row and column of the table.
var csvHead = []string{"group", "metric", "label", "steps", "stat", "unit", "better", "column", "name", "level", "low", "high",
	"spread", "lines", "points", "difference", "relative", "diff_low", "diff_high", "diff_low_95", "diff_high_95", "se", "df", "p",
	"p_adjusted", "verdict", "reason", "qualifications"}

// WriteCSV writes one record for each metric and column, with all digits. A cell that a
// spreadsheet would take for a formula has a ' in front.
func (t *Table) WriteCSV(w io.Writer, lang string) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHead); err != nil {
		return err
	}
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			for i := range r.Cells {
				if err := out.Write(t.record(&g, &r, i, lang)); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

func (t *Table) record(g *Group, r *Row, i int, lang string) []string {
	c := &r.Cells[i]
	rec := []string{string(g.Key), r.Metric.Key, plain(r.Label), string(r.Steps), r.Stat, r.Unit, string(r.Metric.Better),
		t.Columns[i].Letter, plain(t.Columns[i].Name)}
	if c.OK {
		rec = append(rec, digits(c.Level), digits(c.Low), digits(c.High), digits(c.Spread), strconv.Itoa(c.Lines), strconv.Itoa(c.Points))
	} else {
		rec = append(rec, "", "", "", "", strconv.Itoa(c.Lines), strconv.Itoa(c.Points))
	}
	if d := c.Diff; d != nil {
		rec = append(rec, digits(d.Value), digits(d.Rel), digits(d.Low), digits(d.High), digits(d.Low95), digits(d.High95),
			digits(d.SE), digits(d.DF), digits(d.P), digits(d.Adjusted))
	} else {
		rec = append(rec, make([]string, 10)...)
	}
	reason := ""
	switch {
	case c.Reason != nil:
		reason = in(c.Reason.Short, lang)
	case c.Absent != nil:
		reason = in(c.Absent.Short, lang)
	}
	conditions := ""
	for k, q := range c.Qualifications {
		if k > 0 {
			conditions += "; "
		}
		conditions += in(q.Short, lang)
	}
	return append(rec, string(c.Verdict), plain(reason), plain(conditions))
}

// digits writes a number so that it reads back the same; nothing for NaN.
func digits(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// plain keeps spreadsheets from taking an untrusted text for a formula.
func plain(s string) string {
	if s != "" {
		switch s[0] {
		case '=', '+', '-', '@', '\t', '\r':
			return "'" + s
		}
	}
	return s
}

// number is a float that JSON can hold: null for what is no finite number.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// WriteJSON writes everything that the table has, as docs/compare.md describes it.
func (t *Table) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(t.document())
}

func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
