package sim

// blockPool is the KV cache: blocks of tokens, counted references, and the contents of unused blocks kept for sequences
// that begin alike until the space is needed. All operations take constant time.
//
// Block 0 is the reserved one. It is never given out, so its links are the ends of the list of free blocks: the next to be
// taken first, those with contents after those without, the longest unused ones first.
type blockPool struct {
	refs       []int32
	hash       []uint64 // of the content, 0: none that others could use
	next, prev []int32
	cached     map[uint64]int32
	free       int
	evictions  int64 // blocks taken although they had contents
}

func newBlockPool(blocks int) *blockPool {
	p := &blockPool{
		refs: make([]int32, blocks), hash: make([]uint64, blocks),
		next: make([]int32, blocks), prev: make([]int32, blocks),
		cached: make(map[uint64]int32),
	}
	for b := int32(1); b < int32(blocks); b++ {
		p.insert(b, p.prev[0], 0)
	}
	p.free = blocks - 1
	return p
}

func (p *blockPool) insert(b, after, before int32) {
	p.prev[b], p.next[b] = after, before
	p.next[after], p.prev[before] = b, b
}

func (p *blockPool) unlink(b int32) {
	p.next[p.prev[b]], p.prev[p.next[b]] = p.next[b], p.prev[b]
	p.free--
}

// take returns a block with one reference; false when none is free.
func (p *blockPool) take() (int32, bool) {
	b := p.next[0]
	if b == 0 {
		return 0, false
	}
	p.unlink(b)
	if p.hash[b] != 0 {
		p.forget(b)
		p.evictions++
	}
	p.refs[b] = 1
	return b, true
}

// find returns the block with the content, without taking a reference.
func (p *blockPool) find(hash uint64) (int32, bool) {
	b, ok := p.cached[hash]
	return b, ok
}

// share takes another reference to a block that has contents.
func (p *blockPool) share(b int32) {
	if p.refs[b] == 0 {
		p.unlink(b)
	}
	p.refs[b]++
}

// publish makes a block's content known to later sequences. Of two blocks with the same content the first stays known.
func (p *blockPool) publish(b int32, hash uint64) {
	if _, ok := p.cached[hash]; !ok {
		p.cached[hash] = b
		p.hash[b] = hash
	}
}

func (p *blockPool) forget(b int32) {
	delete(p.cached, p.hash[b])
	p.hash[b] = 0
}

// release gives one reference back.
func (p *blockPool) release(b int32) {
	p.refs[b]--
	if p.refs[b] > 0 {
		return
	}
	if p.hash[b] == 0 {
		p.insert(b, 0, p.next[0])
	} else {
		p.insert(b, p.prev[0], 0)
	}
	p.free++
}
