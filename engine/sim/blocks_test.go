package sim

import (
	"math/rand/v2"
	"testing"
)

// check compares a pool's lists and counts with what its references say.
func (p *blockPool) check(t *testing.T) {
	t.Helper()
	seen := make([]bool, len(p.refs))
	n, filled := 0, false
	for b := p.next[0]; b != 0; b = p.next[b] {
		if seen[b] || p.refs[b] != 0 || p.prev[p.next[b]] != b {
			t.Fatalf("block %d is in the free list wrongly: seen %v, %d references", b, seen[b], p.refs[b])
		}
		if p.hash[b] == 0 && filled {
			t.Fatalf("block %d has no contents but comes after one that has", b)
		}
		seen[b], filled = true, filled || p.hash[b] != 0
		n++
	}
	if n != p.free {
		t.Fatalf("%d blocks in the free list, %d counted", n, p.free)
	}
	for b := range p.refs {
		if b > 0 && !seen[b] && p.refs[b] <= 0 {
			t.Fatalf("block %d is neither free nor used", b)
		}
		if h := p.hash[b]; h != 0 && p.cached[h] != int32(b) {
			t.Fatalf("block %d has contents that are known as block %d", b, p.cached[h])
		}
	}
	if len(p.cached) > len(p.refs)-1 {
		t.Fatalf("%d contents in %d blocks", len(p.cached), len(p.refs)-1)
	}
}

func TestBlockPool(t *testing.T) {
	p := newBlockPool(64)
	if p.free != 63 {
		t.Fatalf("%d free blocks of 64, want 63: one is reserved", p.free)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var held []int32 // one entry for each reference
	for range 20_000 {
		switch k := r.IntN(10); {
		case k < 4:
			if b, ok := p.take(); ok {
				held = append(held, b)
			} else if p.free != 0 {
				t.Fatal("no block, although some are free")
			}
		case k < 6:
			if b, ok := p.find(uint64(1 + r.IntN(100))); ok {
				p.share(b)
				held = append(held, b)
			}
		case k < 7 && len(held) > 0:
			if b := held[r.IntN(len(held))]; p.hash[b] == 0 {
				p.publish(b, uint64(1+r.IntN(100)))
			}
		case len(held) > 0:
			i := r.IntN(len(held))
			p.release(held[i])
			held[i] = held[len(held)-1]
			held = held[:len(held)-1]
		}
		p.check(t)
	}
	refs := 0
	for _, n := range p.refs {
		refs += int(n)
	}
	if refs != len(held) {
		t.Errorf("%d references, want %d", refs, len(held))
	}
	if p.evictions == 0 {
		t.Error("nothing was evicted in a full pool")
	}
}

// Contents go in the order in which they were last used.
func TestEvictionOrder(t *testing.T) {
	p := newBlockPool(4)
	var blocks []int32
	for i := range 3 {
		b, _ := p.take()
		p.publish(b, uint64(10+i))
		blocks = append(blocks, b)
	}
	for _, i := range []int{1, 0, 2} {
		p.release(blocks[i])
	}
	b, ok := p.find(11)
	if !ok {
		t.Fatal("contents of an unused block are gone before anybody needed it")
	}
	p.share(b)
	p.release(b) // now the one used last
	for _, want := range []uint64{10, 12, 11} {
		if _, ok := p.find(want); !ok {
			t.Fatalf("contents %d went too early", want)
		}
		if _, ok := p.take(); !ok {
			t.Fatal("no block")
		}
		if _, ok := p.find(want); ok {
			t.Fatalf("contents %d should be gone", want)
		}
	}
	if _, ok := p.take(); ok {
		t.Error("a fourth block of three")
	}
}
