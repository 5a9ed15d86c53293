package trace

import (
	"cmp"
	"slices"
)

// interval is a slice in which launches are looked for.
type interval struct {
	start, end int64
	track      uint32
}

// finder finds the interval that holds a moment of a thread: one of the thread's own if
// there is one, else one of its process.
type finder struct {
	a    *analysis
	list []interval
	by   map[place]*placed
}

// place is a thread (track + 1) or a process.
type place struct {
	pid   ident
	track uint32
}

// placed are the intervals of one place by their start. reach is the latest end of those
// up to each one: where it lies before a moment, none further left can hold it.
type placed struct {
	order []int32
	reach []int64
}

func (a *analysis) finder(list []interval) *finder {
	f := &finder{a, list, map[place]*placed{}}
	add := func(at place, i int32) {
		p := f.by[at]
		if p == nil {
			p = &placed{}
			f.by[at] = p
		}
		p.order = append(p.order, i)
	}
	for i, x := range list {
		add(place{track: x.track + 1}, int32(i))
		add(place{pid: a.p.tracks.list[x.track].pid}, int32(i))
	}
	for _, p := range f.by {
		slices.SortStableFunc(p.order, func(x, y int32) int { return cmp.Compare(list[x].start, list[y].start) })
		p.reach = make([]int64, len(p.order))
		for j, i := range p.order {
			p.reach[j] = list[i].end
			if j > 0 {
				p.reach[j] = max(p.reach[j], p.reach[j-1])
			}
		}
	}
	return f
}

// find returns the index of the interval that holds ts, -1 for none.
func (f *finder) find(track uint32, ts int64) int32 {
	if i := f.in(place{track: track + 1}, ts); i >= 0 {
		return i
	}
	return f.in(place{pid: f.a.p.tracks.list[track].pid}, ts)
}

func (f *finder) in(at place, ts int64) int32 {
	p := f.by[at]
	if p == nil {
		return -1
	}
	k, _ := slices.BinarySearchFunc(p.order, ts, func(i int32, ts int64) int {
		if f.list[i].start <= ts {
			return -1
		}
		return 1
	})
	for k--; k >= 0 && ts < p.reach[k]; k-- { // the one that began last goes first
		if i := p.order[k]; ts < f.list[i].end {
			return i
		}
	}
	return -1
}
