package trace

import (
	"math/rand/v2"
	"testing"
)

// Whatever halves come, in whatever order and in whatever parts of the file, the counts are
// those of plain counting.
func TestFlowsCountAsPlainly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		ids := 1 + rng.IntN(80)
		parts := []*Partial{newPartial(10), newPartial(10), newPartial(10)}
		type halves struct{ starts, ends int64 }
		plain := map[flowKey]halves{}
		for range rng.IntN(200) {
			p := parts[rng.IntN(3)]
			k := flowKey{id: uint64(rng.IntN(ids)), cat: p.names.intern([]byte("ac2g"))}
			switch rng.IntN(4) {
			case 0:
				k.id += 1 << 60 // far from the others
			case 1:
				k.id = uint64(p.names.intern([]byte{'a' + byte(rng.IntN(20))}))
				k.text = true
			}
			h := plain[alike(p, k)]
			if rng.IntN(2) == 0 {
				p.flows.add(k, 1, 0)
				h.starts++
			} else {
				p.flows.add(k, 0, 1)
				h.ends++
			}
			plain[alike(p, k)] = h
		}
		var wantHalves, wantDups int64
		for _, h := range plain {
			switch {
			case h.ends == 0:
				wantHalves += h.starts
			case h.starts == 0:
				wantHalves += h.ends
			default:
				wantDups += h.starts - 1
			}
		}
		for i, p := range parts { // as a worker's result travels
			q, err := DecodePartial(p.AppendBinary(nil))
			if err != nil {
				t.Fatal(err)
			}
			parts[i] = q
		}
		halvesGot, dups := Merge(parts...).flows.unresolved()
		if halvesGot != wantHalves || dups != wantDups {
			t.Fatalf("round %d: %d halves and %d duplicates, want %d and %d", round, halvesGot, dups, wantHalves, wantDups)
		}
	}
}

// alike makes an id that is the same in every partial: names are numbered by each.
func alike(p *Partial, k flowKey) flowKey {
	k.cat = 0
	if k.text {
		k.id = uint64(p.names.str(nameID(k.id))[0])
	}
	return k
}

// Arrows numbered one after the other share their table's places by 32.
func TestFlowsOfConsecutiveIDsAreSmall(t *testing.T) {
	var f flows
	const n = 1 << 16
	for i := range uint64(n) {
		f.add(flowKey{id: i}, 1, 0)
	}
	if f.n != n/32 {
		t.Errorf("%d arrows in %d places, want %d", n, f.n, n/32)
	}
}

// Beyond the table's end arrows are given up and the result says so.
func TestFlowsCapped(t *testing.T) {
	var f flows
	for i := range uint64(maxFlowRuns + 1) {
		f.add(flowKey{id: i << 5}, 1, 0)
	}
	if halves, _ := f.unresolved(); !f.capped || halves != maxFlowRuns {
		t.Errorf("capped=%v with %d halves, want the %d of the table", f.capped, halves, maxFlowRuns)
	}
}
