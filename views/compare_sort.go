package views

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/engine/compare"
)

// Ways to sort the rows of a comparison besides reading order: by name, or by a
// column's difference or verdict, as in "b.size".
const (
	sortName    = "name"
	sortSize    = "size"
	sortVerdict = "verdict"
)

// verdictOrder is how rows sorted by verdict follow each other.
var verdictOrder = []compare.Verdict{compare.Worse, compare.Better, compare.Changed, compare.NoEvidence, compare.NeedsData, compare.Refused, compare.None}

// sorting reads the choice: what is sorted by and which column. An unknown one
// is reading order.
func (v Compare) sorting() (by string, column int) {
	if v.Sort == sortName {
		return sortName, 0
	}
	letter, by, _ := strings.Cut(v.Sort, ".")
	if by != sortSize && by != sortVerdict || len(letter) != 1 {
		return "", 0
	}
	if column = int(letter[0]) - 'a'; column < 1 || v.Table == nil || column >= len(v.Table.Columns) {
		return "", 0
	}
	return by, column
}

// groups are the groups that are shown with their rows; sorted rows are one
// group without a name.
func (v Compare) groups(p Page) []compare.Group {
	var groups []compare.Group
	var all []compare.Row
	for _, g := range v.Table.Groups {
		if rows := v.rows(g); len(rows) > 0 {
			all = append(all, rows...)
			g.Rows = rows
			groups = append(groups, g)
		}
	}
	by, column := v.sorting()
	if by == "" || len(all) == 0 {
		return groups
	}
	slices.SortStableFunc(all, func(x, y compare.Row) int {
		switch by {
		case sortName:
			return cmp.Or(strings.Compare(strings.ToLower(rowName(p, x)), strings.ToLower(rowName(p, y))), strings.Compare(x.Label, y.Label))
		case sortVerdict:
			return cmp.Or(cmp.Compare(verdictPlace(x, column), verdictPlace(y, column)), bySize(x, y, column))
		}
		return bySize(x, y, column)
	})
	return []compare.Group{{Rows: all}}
}

func verdictPlace(r compare.Row, column int) int {
	return slices.Index(verdictOrder, r.Cells[column].Verdict)
}

// bySize puts the largest difference first, those with evidence before the others:
// a large one without is noise.
func bySize(x, y compare.Row, column int) int {
	class := func(r compare.Row) int {
		c := r.Cells[column]
		switch {
		case c.Verdict.Evidenced():
			return 0
		case c.Diff != nil && c.Verdict != compare.Refused:
			return 1
		}
		return 2
	}
	size := func(r compare.Row) float64 {
		d := r.Cells[column].Diff
		switch {
		case d == nil:
			return 0
		case math.IsNaN(d.Rel): // A is 0
			return math.Inf(1)
		}
		return math.Abs(d.Rel)
	}
	return cmp.Or(cmp.Compare(class(x), class(y)), cmp.Compare(size(y), size(x)))
}

// sortChoice is one link to sort by; chosen ones lead back to reading order.
type sortChoice struct {
	Key, By string
	Chosen  bool
}

// sortsOf are the ways to sort by a column.
func (v Compare) sortsOf(column int) []sortChoice {
	by, at := v.sorting()
	var list []sortChoice
	for _, b := range []string{sortSize, sortVerdict} {
		list = append(list, sortChoice{columnLetter(column) + "." + b, b, by == b && at == column})
	}
	return list
}

// sortedBy says whether the rows are sorted by a column.
func (v Compare) sortedBy(column int) bool {
	by, at := v.sorting()
	return by != "" && by != sortName && at == column
}

// sortLink is the address sorted by a key, or in reading order if it is so already.
func (v Compare) sortLink(p Page, key string, chosen bool) string {
	if chosen {
		key = ""
	}
	return string(v.set(p, "sort", key))
}

// ariaSort says in which order a column's rows are.
func ariaSort(sorted bool, order string) string {
	if sorted {
		return order
	}
	return "none"
}

// align is how the curves lie over each other: as chosen, else by time where
// the columns' times overlap, and else from their starts.
func (v Compare) align() string {
	if v.Align != "" || v.Table == nil {
		return cmp.Or(v.Align, Aligns[0])
	}
	for _, c := range v.Table.Columns[1:] {
		if a := v.Table.Columns[0]; c.From >= a.To || a.From >= c.To {
			return "elapsed"
		}
	}
	return Aligns[0]
}
