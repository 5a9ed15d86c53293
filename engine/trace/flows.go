package trace

import "math/bits"

// flowKey names one arrow: the flow's category and its id.
type flowKey struct {
	id   uint64
	cat  nameID
	text bool // id is a nameID: the file's id was a string
}

type flowCount struct {
	key          flowKey
	starts, ends uint32
}

// flows counts the two halves of every arrow. Open addressing, because real files hold
// one arrow per kernel and a Go map of them would cost more than the scan.
type flows struct {
	slots  []flowCount // free: starts and ends both 0
	n      int
	capped bool
}

// maxFlows caps the arrows that are paired (24 bytes each, up to two slots an arrow).
const maxFlows = 1 << 23

func (f *flows) hash(k flowKey) int {
	hi, lo := bits.Mul64(k.id+uint64(k.cat)<<40, 0x9e3779b97f4a7c15)
	return int((hi ^ lo ^ lo>>32) & uint64(len(f.slots)-1))
}

func (f *flows) add(k flowKey, starts, ends uint32) {
	if 2*(f.n+1) > len(f.slots) {
		if f.n >= maxFlows {
			f.capped = true
			return
		}
		f.grow()
	}
	for i := f.hash(k); ; i = (i + 1) & (len(f.slots) - 1) {
		s := &f.slots[i]
		if s.starts|s.ends == 0 {
			*s = flowCount{k, starts, ends}
			f.n++
			return
		}
		if s.key == k {
			s.starts += starts
			s.ends += ends
			return
		}
	}
}

func (f *flows) grow() {
	old := f.slots
	f.slots = make([]flowCount, max(1<<10, 2*len(old)))
	f.n = 0
	for _, s := range old {
		if s.starts|s.ends != 0 {
			f.add(s.key, s.starts, s.ends)
		}
	}
}

// unresolved returns how many flow halves have no partner, and how many starts are one
// too many for their arrow.
func (f *flows) unresolved() (halves, duplicates int64) {
	for _, s := range f.slots {
		switch {
		case s.ends == 0:
			halves += int64(s.starts)
		case s.starts == 0:
			halves += int64(s.ends)
		case s.starts > 1:
			duplicates += int64(s.starts) - 1
		}
	}
	return halves, duplicates
}
