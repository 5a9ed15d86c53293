package compare

import (
	"fmt"
	"math"
	"strings"
)

// rises says whether a series evidently drifts, and upwards from quarter to quarter.
func (m *measured) rises() bool {
	q := m.est.quarters
	return m.est.drifts && q[0] < q[1] && q[1] < q[2] && q[2] < q[3]
}

// overrun says whether a column's queue grows through all of its time by a notable part of
// what runs: more comes than it serves, whatever the arrival rate is.
func (b *builder) overrun(column int) (r *Row, is bool) {
	r = b.find("pending", "", BothKinds, "")
	if r == nil || !r.Cells[column].OK || !r.Cells[column].rises {
		return nil, false
	}
	running := b.find("running", "", BothKinds, "")
	if running == nil || !running.Cells[column].OK {
		return nil, false
	}
	p := r.Cells[column].path
	return r, p[3]-p[0] > long*running.Cells[column].Level
}

// queueAnswer tells of a queue that grows without end; of column 0 beside the first other.
func (b *builder) queueAnswer(column int) []Finding {
	var out []Finding
	for _, k := range []int{0, column} {
		r, is := b.overrun(k)
		if !is || k == 0 && column != 1 {
			continue
		}
		var path []string
		for _, v := range r.Cells[k].path {
			path = append(path, significant(v))
		}
		letter := letters[k : k+1]
		f := r.finding(column, math.NaN(), Words{
			EN: fmt.Sprintf("%s's queue grows without end: pending %s, by quarters of its time. More requests come than it serves, and each waits longer than the one before.", letter, strings.Join(path, " → ")),
			ZH: fmt.Sprintf("%s 的队列持续增长：等待中（按四分之一时段）%s。到达的请求多于其处理能力，后来者等待越来越久。", letter, strings.Join(path, " → ")),
		})
		f.Qualifications = nil // the sentence says it
		if k == 0 {
			f.Verdict = None
		}
		out = append(out, f)
	}
	return out
}
