package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rig is a scheduler without draft or time: a step at each call, one token for each running sequence.
type rig struct {
	*scheduler
	t        *testing.T
	b        batch
	finished []uint64
}

func newRig(t *testing.T, limits Limits, cache Cache, role string) *rig {
	r := &rig{t: t}
	r.scheduler = newScheduler(limits, cache, role, func(*sequence) {}, func(q *sequence) { r.finished = append(r.finished, q.id) })
	return r
}

func (r *rig) request(id uint64, prompt, output int, prefix ...prefixNode) *sequence {
	q := &sequence{id: id, prompt: prompt, output: output, prefix: prefix}
	r.add(q)
	return q
}

// run makes a step and says what it was: kind, sequences with their tokens, and the queues after it.
func (r *rig) run(now int64) string {
	r.t.Helper()
	r.schedule(now, &r.b)
	kind := "idle"
	var parts []string
	for i, q := range r.b.seqs {
		kind = "decode"
		if r.b.prompt {
			kind = "prompt"
			parts = append(parts, fmt.Sprintf("%d:%d", q.id, r.b.chunks[i]))
		} else {
			parts = append(parts, fmt.Sprint(q.id))
		}
	}
	if r.b.prompt {
		r.prefilled(&r.b, func(q *sequence) { q.generated++; q.ready = now + 10 })
	} else {
		for _, q := range r.b.seqs {
			q.generated++
		}
		r.decoded()
	}
	r.pool.check(r.t)
	return fmt.Sprintf("%s %s | w%d p%d r%d c%d | free %d", kind, strings.Join(parts, " "),
		len(r.waiting), len(r.prompted), len(r.running), r.chunkedCount(), r.pool.free)
}

func (r *rig) want(now int64, want string) {
	r.t.Helper()
	if got := r.run(now); got != want {
		r.t.Fatalf("\n got %s\nwant %s", got, want)
	}
}

func TestChunkedPrefill(t *testing.T) {
	// 16 tokens a block, 100 tokens a step.
	r := newRig(t, Limits{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}, Cache{Blocks: 101, BlockSize: 16, States: 9}, roleMixed)
	r.request(1, 30, 3)
	r.request(2, 150, 2)
	r.want(0, "prompt 1:30 2:70 | w1 p1 r0 c1 | free 88") // 2 and 10 blocks
	r.want(0, "decode 1 | w1 p0 r1 c1 | free 88")         // steps alternate
	r.want(0, "prompt 2:80 | w0 p1 r1 c0 | free 88")
	r.want(0, "decode 1 2 | w0 p0 r0 c0 | free 100") // the third token of 1, the second of 2
	r.want(0, "idle  | w0 p0 r0 c0 | free 100")
	if !slices.Equal(r.finished, []uint64{1, 2}) || r.states != 8 {
		t.Errorf("finished %v, %d free states; want 1 and 2, and 8", r.finished, r.states)
	}
}

func TestLimits(t *testing.T) {
	t.Run("max_num_seqs", func(t *testing.T) {
		r := newRig(t, Limits{MaxNumSeqs: 2, MaxNumBatchedTokens: 100}, Cache{Blocks: 100, BlockSize: 16, States: 9}, roleMixed)
		for id := range uint64(3) {
			r.request(id+1, 10, 3)
		}
		r.want(0, "prompt 1:10 2:10 | w1 p2 r0 c0 | free 97")
		r.want(0, "decode 1 2 | w1 p0 r2 c0 | free 97")
		r.want(0, "decode 1 2 | w1 p0 r0 c0 | free 99")
		r.want(0, "prompt 3:10 | w0 p1 r0 c0 | free 98")
	})
	t.Run("states", func(t *testing.T) {
		r := newRig(t, Limits{MaxNumSeqs: 9, MaxNumBatchedTokens: 100}, Cache{Blocks: 100, BlockSize: 16, States: 2}, roleMixed)
		r.request(1, 10, 2)
		r.request(2, 10, 2)
		r.want(0, "prompt 1:10 | w1 p1 r0 c0 | free 98")
		r.want(0, "decode 1 | w1 p0 r0 c0 | free 99")
		r.want(0, "prompt 2:10 | w0 p1 r0 c0 | free 98")
	})
	t.Run("a request that never fits", func(t *testing.T) {
		r := newRig(t, Limits{MaxNumSeqs: 9, MaxNumBatchedTokens: 100}, Cache{Blocks: 11, BlockSize: 16, States: 9}, roleMixed)
		r.request(1, 150, 11) // 161 tokens in 160
		r.want(0, "idle  | w0 p0 r0 c0 | free 10")
		if r.counts.aborted != 1 || r.counts.arrived != 1 {
			t.Errorf("%d of %d aborted, want 1 of 1", r.counts.aborted, r.counts.arrived)
		}
	})
}

// Prompts that begin alike share blocks once the first has computed them; the last token is always computed.
func TestPrefixCache(t *testing.T) {
	cache := Cache{Blocks: 101, BlockSize: 16, States: 9, Prefix: true}
	r := newRig(t, Limits{MaxNumSeqs: 9, MaxNumBatchedTokens: 1000}, cache, roleMixed)
	system, document := prefixNode{id: 2, end: 40}, prefixNode{id: 4, end: 96}
	r.request(1, 100, 2, system, document)
	r.want(0, "prompt 1:100 | w0 p1 r0 c0 | free 93")
	r.want(0, "decode 1 | w0 p0 r0 c0 | free 100")

	r.request(2, 100, 9, system, document) // its first 96 tokens are there
	r.request(3, 100, 9, system)           // its first 32: the third block has other tokens after the 40th
	r.request(4, 96, 9, system, document)  // not its last block, or nothing would be computed
	r.want(0, "prompt 2:4 3:68 4:16 | w0 p3 r0 c0 | free 87")
	if r.b.cached != 96+32+80 {
		t.Errorf("%d tokens found, want 208", r.b.cached)
	}

	cache.Prefix = false
	r = newRig(t, Limits{MaxNumSeqs: 9, MaxNumBatchedTokens: 1000}, cache, roleMixed)
	r.request(1, 100, 2, system)
	r.want(0, "prompt 1:100 | w0 p1 r0 c0 | free 93")
	r.request(2, 100, 2, system)
	r.want(0, "decode 1 | w1 p0 r0 c0 | free 100")
	r.want(0, "prompt 2:100 | w0 p1 r0 c0 | free 93")
}

// Blocks that a prompt finds are free only once: they cannot serve as its new blocks too.
func TestFoundBlocksAreNotFree(t *testing.T) {
	r := newRig(t, Limits{MaxNumSeqs: 9, MaxNumBatchedTokens: 99}, Cache{Blocks: 11, BlockSize: 4, States: 9, Prefix: true}, roleMixed)
	system := prefixNode{id: 2, end: 24}
	r.request(1, 24, 2, system)
	r.want(0, "prompt 1:24 | w0 p1 r0 c0 | free 4")
	r.want(0, "decode 1 | w0 p0 r0 c0 | free 10")
	r.request(2, 20, 3) // the 4 empty blocks, and one of the 6 with contents
	r.want(0, "prompt 2:20 | w0 p1 r0 c0 | free 5")
	r.request(3, 28, 2, system) // finds the 5 that are left, and has no other 2
	r.want(0, "decode 2 | w1 p0 r1 c0 | free 4")
	r.want(0, "decode 2 | w1 p0 r0 c0 | free 10")
	r.want(0, "prompt 3:12 | w0 p1 r0 c0 | free 3")
}

func TestPreemption(t *testing.T) {
	// Two sequences of 4 blocks fill the cache but for two; each needs a fifth, and a sixth.
	r := newRig(t, Limits{MaxNumSeqs: 4, MaxNumBatchedTokens: 200}, Cache{Blocks: 11, BlockSize: 4, States: 9, Prefix: true}, roleMixed)
	r.request(1, 16, 10)
	r.request(2, 16, 10)
	r.want(0, "prompt 1:16 2:16 | w0 p2 r0 c0 | free 2")
	for range 4 {
		r.want(0, "decode 1 2 | w0 p0 r2 c0 | free 0")
	}
	// Both have 5 tokens and 21 places used of 20: the last one goes, and waits for the 21 of prompt and answer.
	r.want(0, "decode 1 | w1 p0 r1 c0 | free 4")
	if r.counts.preempted != 1 {
		t.Errorf("%d preempted, want 1", r.counts.preempted)
	}
	for range 3 {
		r.want(0, "decode 1 | w1 p0 r1 c0 | free 4")
	}
	r.want(0, "decode 1 | w1 p0 r0 c0 | free 10")
	// Its own blocks were dropped: all is computed again, then it goes on where it was.
	r.want(0, "prompt 2:21 | w0 p1 r0 c0 | free 4")
	for range 3 {
		r.run(0)
	}
	r.want(0, "decode 2 | w0 p0 r0 c0 | free 10")
	if q := r.finished; !slices.Equal(q, []uint64{1, 2}) {
		t.Errorf("finished %v", q)
	}
}

// A preempted sequence at the head of the queue, which does not fit, must not hold up a prefill that has begun.
func TestNoDeadlock(t *testing.T) {
	r := newRig(t, Limits{MaxNumSeqs: 4, MaxNumBatchedTokens: 8}, Cache{Blocks: 13, BlockSize: 4, States: 9}, roleMixed)
	r.request(1, 8, 20)
	r.want(0, "prompt 1:8 | w0 p1 r0 c0 | free 10")
	r.request(2, 36, 4)
	r.run(0)
	for step := 0; len(r.finished) < 2; step++ {
		if step > 200 {
			t.Fatalf("nothing finishes: %s", r.run(0))
		}
		r.run(0)
	}
	if r.counts.preempted == 0 {
		t.Error("the case needs a preemption")
	}
}

func TestRoles(t *testing.T) {
	t.Run("prompt", func(t *testing.T) {
		r := newRig(t, Limits{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}, Cache{Blocks: 100, BlockSize: 16, States: 9}, rolePrompt)
		q := r.request(1, 30, 50)
		r.want(0, "prompt 1:30 | w0 p1 r0 c0 | free 97")
		r.want(9, "idle  | w0 p1 r0 c0 | free 97") // on its way to the decode engine
		r.want(10, "idle  | w0 p0 r0 c0 | free 99")
		if q.generated != 1 || r.counts.finished != 1 {
			t.Errorf("%d tokens, %d finished; want its first token and 1", q.generated, r.counts.finished)
		}
	})
	t.Run("decode", func(t *testing.T) {
		r := newRig(t, Limits{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}, Cache{Blocks: 6, BlockSize: 16, States: 9}, roleDecode)
		r.request(1, 30, 4)
		r.request(2, 50, 4)
		r.want(0, "decode 1 | w0 p1 r1 c0 | free 3") // the second needs 4 blocks
		r.want(0, "decode 1 | w0 p1 r1 c0 | free 3")
		r.want(0, "decode 1 | w0 p1 r0 c0 | free 5")
		r.want(0, "decode 2 | w0 p0 r1 c0 | free 1")
	})
}

func TestAbort(t *testing.T) {
	r := newRig(t, Limits{MaxNumSeqs: 1, MaxNumBatchedTokens: 20}, Cache{Blocks: 100, BlockSize: 16, States: 9}, roleMixed)
	r.request(1, 20, 50).leave = 30 // running by then
	r.request(2, 30, 50).leave = 30 // still waiting
	r.request(3, 30, 50)
	r.run(0)
	r.run(0)
	r.abort(29)
	r.want(29, "decode 1 | w2 p0 r1 c0 | free 97")
	r.abort(30)
	r.want(30, "prompt 3:20 | w1 p0 r0 c1 | free 97")
	if r.counts.aborted != 2 {
		t.Errorf("%d aborted, want 2", r.counts.aborted)
	}
}
