package trace

import (
	"iter"
	"math/bits"
)

// flowKey names one arrow: the flow's category and its id.
type flowKey struct {
	id   uint64
	cat  nameID
	text bool // id is a nameID: the file's id was a string
}

// What is known of an arrow, in two bits.
const (
	flowNone   = 0
	flowStart  = 1 // starts only
	flowEnd    = 2 // ends only
	flowPaired = 3
)

// flowRun holds the states of 32 consecutive ids of one category. Real files number their
// arrows one after the other, so that one costs less than a byte; ids without any order
// cost a run each.
type flowRun struct {
	states uint64
	id     uint64 // of the run: the arrows' id >> 5
	cat    nameID
	text   bool
}

// flows counts the halves of arrows without a partner, and the starts that are one too many
// for theirs. Only those are asked for, so a pair needs no counts.
type flows struct {
	slots  []flowRun // open addressing; free: states 0
	n      int
	extra  map[flowKey]int64 // one-sided arrows with several halves: how many beyond the first
	dups   int64             // starts beyond the first of paired arrows
	capped bool
}

const (
	maxFlowRuns  = 1 << 22 // 24 bytes each, up to two slots a run
	maxFlowExtra = 1 << 20
)

func (f *flows) hash(run uint64, cat nameID) int {
	hi, lo := bits.Mul64(run+uint64(cat)<<40, 0x9e3779b97f4a7c15)
	return int((hi ^ lo ^ lo>>32) & uint64(len(f.slots)-1))
}

// run finds or makes the run of an arrow; a new one must be given a state at once. It is nil
// when the table is full.
func (f *flows) run(k flowKey) *flowRun {
	if len(f.slots) == 0 || 2*(f.n+1) > len(f.slots) {
		if f.n >= maxFlowRuns {
			f.capped = true
			return nil
		}
		f.grow()
	}
	id := k.id >> 5
	for i := f.hash(id, k.cat); ; i = (i + 1) & (len(f.slots) - 1) {
		s := &f.slots[i]
		if s.states == 0 {
			*s = flowRun{id: id, cat: k.cat, text: k.text}
			f.n++
			return s
		}
		if s.id == id && s.cat == k.cat && s.text == k.text {
			return s
		}
	}
}

func (f *flows) grow() {
	old := f.slots
	f.slots = make([]flowRun, max(1<<8, 2*len(old)))
	f.n = 0
	for _, s := range old {
		if s.states != 0 {
			f.run(flowKey{s.id << 5, s.cat, s.text}).states = s.states
		}
	}
}

// add counts halves of one arrow; starts + ends > 0.
func (f *flows) add(k flowKey, starts, ends int64) {
	r := f.run(k)
	if r == nil {
		return
	}
	at := 2 * (k.id & 31)
	was := r.states >> at & 3
	r.states |= pick(starts > 0, flowStart<<at) | pick(ends > 0, flowEnd<<at)
	switch is := r.states >> at & 3; {
	case was == flowPaired:
		f.dups += starts
	case was == flowNone && is == flowPaired:
		f.dups += starts - 1
	case was == flowNone:
		f.more(k, starts+ends-1)
	case was == is:
		f.more(k, starts+ends)
	case was == flowStart: // all starts there were, but one, are too many; so are the new ones
		f.dups += f.take(k) + starts
	default:
		f.take(k)
		f.dups += starts - 1
	}
}

func pick(ok bool, v uint64) uint64 {
	if ok {
		return v
	}
	return 0
}

func (f *flows) more(k flowKey, n int64) {
	if n == 0 {
		return
	}
	if f.extra == nil {
		f.extra = map[flowKey]int64{}
	}
	if _, ok := f.extra[k]; !ok && len(f.extra) >= maxFlowExtra {
		f.capped = true
		return
	}
	f.extra[k] += n
}

func (f *flows) take(k flowKey) int64 {
	n := f.extra[k]
	if n > 0 {
		delete(f.extra, k)
	}
	return n
}

// all gives every arrow with the fewest halves that lead to its state: a paired one's
// starts beyond the first are in dups already.
func (f *flows) all() iter.Seq2[flowKey, [2]int64] {
	return func(yield func(flowKey, [2]int64) bool) {
		for _, s := range f.slots {
			for left := s.states; left != 0; {
				at := bits.TrailingZeros64(left) &^ 1
				left &^= 3 << at
				k := flowKey{s.id<<5 | uint64(at/2), s.cat, s.text}
				n := [2]int64{1, 1}
				switch s.states >> at & 3 {
				case flowStart:
					n = [2]int64{1 + f.extra[k], 0}
				case flowEnd:
					n = [2]int64{0, 1 + f.extra[k]}
				}
				if !yield(k, n) {
					return
				}
			}
		}
	}
}

// unresolved returns how many flow halves have no partner, and how many starts are one
// too many for their arrow.
func (f *flows) unresolved() (halves, duplicates int64) {
	for _, s := range f.slots {
		one := (s.states ^ s.states>>1) & 0x5555555555555555 // states 1 and 2
		halves += int64(bits.OnesCount64(one))
	}
	for _, n := range f.extra {
		halves += n
	}
	return halves, f.dups
}
