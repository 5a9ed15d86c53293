package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the table for a chat or a merge request: the answer, whether the
// comparison is fair, what explains it, and the rows.
func (t *Table) WriteMarkdown(w io.Writer, lang string) error {
	out := bufio.NewWriter(w)
	words := func(en, zh string) string { return in(Words{EN: en, ZH: zh}, lang) }
	fmt.Fprintf(out, "# %s\n\n", words("Comparison", "对比"))
	for _, c := range t.Columns {
		fmt.Fprintf(out, "- **%s** %s, %s – %s, %d %s\n", c.Letter, escape(c.Name), moment(c.From), moment(c.To), c.Engines, words("engines", "个引擎"))
	}
	fmt.Fprintf(out, "\n%s\n\n", escape(in(t.Fairness.Text, lang)))
	for _, f := range t.Answer {
		fmt.Fprintf(out, "%s\n", escape(in(f.Text, lang)))
	}
	if len(t.Where) > 0 {
		fmt.Fprintf(out, "\n## %s\n\n", words("Where", "差异所在"))
		for _, f := range t.Where {
			fmt.Fprintf(out, "- %s\n", escape(in(f.Text, lang)))
		}
	}
	for _, g := range t.Groups {
		fmt.Fprintf(out, "\n## %s\n\n| %s | A |", in(g.Name, lang), words("metric", "指标"))
		for _, c := range t.Columns[1:] {
			fmt.Fprintf(out, " %s | %s−A | %s |", c.Letter, c.Letter, words("verdict", "结论"))
		}
		out.WriteString("\n|---|---:|" + strings.Repeat("---:|---:|---|", len(t.Columns)-1) + "\n")
		for i := range g.Rows {
			r := &g.Rows[i]
			fmt.Fprintf(out, "| %s | %s |", escape(r.Title(lang)), escape(r.Cells[0].Text(r.Unit, lang)))
			for k := 1; k < len(r.Cells); k++ {
				c := &r.Cells[k]
				fmt.Fprintf(out, " %s | %s | %s |", escape(c.Text(r.Unit, lang)), c.Change(&r.Cells[0], r.Unit, lang), escape(c.Says(lang)))
			}
			out.WriteString("\n")
		}
	}
	fmt.Fprintf(out, "\n%s %s\n", in(t.Method.Family, lang), in(t.Method.Blocks, lang))
	return out.Flush()
}

// escape keeps untrusted text from becoming Markdown or HTML.
func escape(s string) string {
	return markdown.Replace(strings.Join(strings.Fields(s), " "))
}

var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;",
	"&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`)

// Title names a row: metric, label, kind of steps, quantile.
func (r *Row) Title(lang string) string {
	s := named(r, lang == "zh")
	if r.Stat != "" {
		s += " " + r.Stat
	}
	return s
}

// Text is a cell's level for people, or "–" and why there is none.
func (c *Cell) Text(unit, lang string) string {
	switch {
	case !c.OK && c.Absent != nil:
		return "– (" + in(c.Absent.Short, lang) + ")"
	case !c.OK:
		return "–"
	case c.Low != c.High:
		if c.Low <= 0 {
			return "≤ " + figureIn(c.High, unit, lang)
		}
		return figureIn(c.Low, unit, lang) + "–" + figureIn(c.High, unit, lang)
	}
	return figureIn(c.Level, unit, lang)
}

// Change is the difference from the baseline's cell with its interval, empty without one.
func (c *Cell) Change(base *Cell, unit, lang string) string {
	if c.Diff == nil {
		return ""
	}
	return ChangeIn(c.Diff, unit, lang) + " (" + spanIn(c.Diff, base.Level, unit, lang) + ")"
}

// Says is the verdict in words with its reason and conditions.
func (c *Cell) Says(lang string) string {
	s := in(verdictWords[c.Verdict], lang)
	if c.Reason != nil && c.Verdict != NoEvidence {
		if s != "" {
			s += ": "
		}
		s += in(c.Reason.Short, lang)
	}
	for _, q := range c.Qualifications {
		s += "; " + in(q.Short, lang)
	}
	return strings.TrimPrefix(s, "; ")
}

var verdictWords = map[Verdict]Words{
	Better:     {EN: "better", ZH: "更好"},
	Worse:      {EN: "worse", ZH: "更差"},
	Changed:    {EN: "changed", ZH: "有变化"},
	NoEvidence: {EN: "no evidence", ZH: "无证据"},
	NeedsData:  {EN: "needs data", ZH: "数据不足"},
	Refused:    {EN: "not comparable", ZH: "不可比较"},
}

// Word is the verdict's word.
func (v Verdict) Word() Words { return verdictWords[v] }
