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

// covered returns the time that the intervals of some unions cover together.
func covered(unions ...[]span) (t int64) {
	var open span // begins empty
	for {
		first := -1
		for i, u := range unions {
			if len(u) > 0 && (first < 0 || u[0].s < unions[first][0].s) {
				first = i
			}
		}
		if first < 0 {
			return satAdd(t, open.e-open.s)
		}
		next := unions[first][0]
		unions[first] = unions[first][1:]
		if open.s < open.e && next.s <= open.e {
			open.e = max(open.e, next.e)
			continue
		}
		t = satAdd(t, open.e-open.s)
		open = next
	}
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
