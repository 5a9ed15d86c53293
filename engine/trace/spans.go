package trace

import (
	"encoding/binary"
	"slices"
)

// span is a time interval in ns, end exclusive.
type span struct{ s, e int64 }

// spans collects intervals whose union is asked for, in a few bytes for each that stays
// apart: the work beyond the cap may be most of a file.
type spans struct {
	packed []byte // the union so far, in order: distance from the interval before, and length
	n      int    // intervals in packed
	first  int64  // where the first of them starts
	last   int64  // where the last of them ends
	list   []span // what came since
	next   int    // pack at this length
}

const spansListed = 1 << 12

func (u *spans) add(s, e int64) {
	if e <= s {
		return
	}
	if k := len(u.list); k > 0 && u.list[k-1].s <= s && s <= u.list[k-1].e {
		u.list[k-1].e = max(u.list[k-1].e, e)
		return
	}
	if len(u.list) >= max(u.next, spansListed) {
		u.pack()
	}
	u.list = append(u.list, span{s, e})
}

// pack brings all intervals into packed.
func (u *spans) pack() {
	list := union(u.list)
	u.next = 0
	if len(list) > 0 && u.n > 0 && list[0].s <= u.last { // out of order: all anew
		all := make([]span, 0, u.n+len(list))
		for c := u.cursor(); c.ok; c.step() {
			all = append(all, c.head)
		}
		list = union(append(all, list...))
		u.packed, u.n = u.packed[:0], 0
		u.next = len(list) / 2 // what comes that often in no order costs no more than sorting it
	}
	for _, x := range list {
		if u.n == 0 {
			u.first, u.last = x.s, 0
		}
		u.packed = binary.AppendVarint(u.packed, x.s-u.last)
		u.packed = binary.AppendUvarint(u.packed, uint64(x.e-x.s))
		u.n, u.last = u.n+1, x.e
	}
	u.list = u.list[:0]
}

// spanCursor goes through disjoint intervals in order: head is the present one while ok.
type spanCursor struct {
	head   span
	ok     bool
	list   []span
	packed []byte
}

// cursor returns one at the first of the packed intervals.
func (u *spans) cursor() spanCursor {
	c := spanCursor{packed: u.packed}
	c.step()
	return c
}

// cursorOf returns a cursor at the first interval of a union.
func cursorOf(union []span) spanCursor {
	c := spanCursor{list: union}
	c.step()
	return c
}

func (c *spanCursor) step() {
	switch {
	case len(c.list) > 0:
		c.head, c.list, c.ok = c.list[0], c.list[1:], true
	case len(c.packed) > 0:
		gap, k := binary.Varint(c.packed)
		length, m := binary.Uvarint(c.packed[k:])
		c.packed = c.packed[k+m:]
		c.head.s = c.head.e + gap
		c.head.e, c.ok = c.head.s+int64(length), true
	default:
		c.ok = false
	}
}

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
func covered(unions ...spanCursor) (t int64) {
	var open span // begins empty
	for {
		first := -1
		for i := range unions {
			if c := &unions[i]; c.ok && (first < 0 || c.head.s < unions[first].head.s) {
				first = i
			}
		}
		if first < 0 {
			return satAdd(t, open.e-open.s)
		}
		next := unions[first].head
		unions[first].step()
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
