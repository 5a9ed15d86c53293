package kineto

import (
	"cmp"
	"slices"
)

// union measures the time covered by intervals that come in no order, in memory bounded by those that may still grow.
type union struct {
	open []stretch
	sum  int64
}

func (u *union) add(start, end int64) { u.open = append(u.open, stretch{start, end}) }

// settle joins what overlaps and forgets, but for their length, the intervals that end before t: nothing that starts
// before t may be added afterwards.
func (u *union) settle(t int64) {
	slices.SortFunc(u.open, func(a, b stretch) int { return cmp.Compare(a.start, b.start) })
	kept := u.open[:0]
	for _, s := range u.open {
		if n := len(kept); n > 0 && s.start <= kept[n-1].end {
			kept[n-1].end = max(kept[n-1].end, s.end)
			continue
		}
		kept = append(kept, s)
	}
	done := 0
	for done < len(kept) && kept[done].end < t {
		u.sum += kept[done].end - kept[done].start
		done++
	}
	u.open = append(u.open[:0], kept[done:]...)
}

// total is the time covered so far.
func (u *union) total() int64 {
	u.settle(0)
	sum := u.sum
	for _, s := range u.open {
		sum += s.end - s.start
	}
	return sum
}
