package trace

import "slices"

// span is a time interval in ns, end exclusive.
type span struct{ s, e int64 }

// spans collects intervals whose union is asked for; it is compacted as it grows, so it
// holds no more than about twice the disjoint ones.
type spans struct {
	list []span
	next int // compact at this length
}

func (u *spans) add(s, e int64) {
	if e <= s {
		return
	}
	if k := len(u.list); k > 0 && u.list[k-1].s <= s && s <= u.list[k-1].e {
		u.list[k-1].e = max(u.list[k-1].e, e)
		return
	}
	if len(u.list) >= max(u.next, 1<<12) {
		u.compact()
		u.next = 2 * len(u.list)
	}
	u.list = append(u.list, span{s, e})
}

// compact sorts the intervals and joins those that touch.
func (u *spans) compact() { u.list = union(u.list) }

// union sorts list and joins the intervals that touch or overlap, in place.
func union(list []span) []span {
	if !slices.IsSortedFunc(list, bySpanStart) {
		slices.SortFunc(list, bySpanStart)
	}
	out := list[:0]
	for _, x := range list {
		if k := len(out); k > 0 && x.s <= out[k-1].e {
			out[k-1].e = max(out[k-1].e, x.e)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// merge joins two unions into one in a single pass.
func merge(x, y []span) []span {
	out := make([]span, 0, len(x)+len(y))
	for len(x) > 0 || len(y) > 0 {
		var next span
		if len(y) == 0 || len(x) > 0 && x[0].s <= y[0].s {
			next, x = x[0], x[1:]
		} else {
			next, y = y[0], y[1:]
		}
		if k := len(out); k > 0 && next.s <= out[k-1].e {
			out[k-1].e = max(out[k-1].e, next.e)
		} else {
			out = append(out, next)
		}
	}
	return out
}

func bySpanStart(a, b span) int {
	switch {
	case a.s < b.s:
		return -1
	case a.s > b.s:
		return 1
	}
	return 0
}

func total(list []span) (t int64) {
	for _, x := range list {
		t = satAdd(t, x.e-x.s)
	}
	return t
}
