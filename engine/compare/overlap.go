package compare

import "fmt"

// Shares of lines that two columns have in common: from the first on verdicts carry it,
// above the second there are none.
const (
	someShared = 0.01
	mostShared = 0.5
)

// shared is the share of the lines of the column with fewer that the other has too. It
// is 0 for columns of other deployments.
func shared(a, b *view) float64 {
	if a.Deployment == "" || a.Deployment != b.Deployment {
		return 0
	}
	times := func(v *view) (map[string][]int64, int) {
		all, n := make(map[string][]int64), 0
		for i := range v.Engines {
			e := &v.Engines[i]
			var longest []int64
			for k := range e.Series {
				if t := e.Series[k].Times; len(t) > len(longest) {
					longest = t
				}
			}
			all[e.Name] = longest
			n += len(longest)
		}
		return all, n
	}
	x, nx := times(a)
	y, ny := times(b)
	common := 0
	for name, s := range x {
		t := y[name]
		for i, j := 0, 0; i < len(s) && j < len(t); {
			switch {
			case s[i] < t[j]:
				i++
			case s[i] > t[j]:
				j++
			default:
				common, i, j = common+1, i+1, j+1
			}
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(min(nx, ny))
}

// sameLines says that columns have lines in common, nil when they (nearly) haven't.
func sameLines(share float64) *Reason {
	if share < someShared {
		return nil
	}
	much := fmt.Sprintf("%.0f %%", 100*share)
	r := why(SameLines, much+" of the lines are A's too", "有 "+much+" 的日志与 A 相同",
		much+" of the lines are in both columns, since their times overlap: what is shared makes them alike. Choose times that don't overlap.",
		"两列的时段重叠，"+much+" 的日志相同，差异因此被冲淡。请选择不重叠的时段。")
	if share > mostShared {
		r.Long.EN = much + " of the lines are in both columns, since their times overlap: that is no comparison of two. Choose times that don't overlap."
		r.Long.ZH = "两列的时段重叠，" + much + " 的日志相同：这不是两者之间的比较。请选择不重叠的时段。"
	}
	return r
}

// sharedLine tells of columns whose lines are A's too; ok is false when none are.
func (b *builder) sharedLine() (line FairnessLine, ok bool) {
	line = FairnessLine{Key: "overlap", Name: Words{EN: "Lines that are A's too", ZH: "与 A 相同的日志"}, Unit: "share", Cells: make([]FairnessCell, len(b.views))}
	for i := range b.views {
		c := &line.Cells[i]
		c.Level = Fair
		if i == 0 {
			continue
		}
		c.OK, c.Value, c.Reason = true, b.shared[i], sameLines(b.shared[i])
		switch {
		case c.Reason == nil:
			continue
		case c.Value > mostShared:
			c.Level = Unfair
		default:
			c.Level = Qualified
		}
		ok = true
	}
	return line, ok
}
