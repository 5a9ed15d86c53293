package sim

import (
	"math"
	"slices"
)

// Limits are what an engine's scheduler keeps to.
type Limits struct {
	MaxNumSeqs          int `json:"max_num_seqs"`
	MaxNumBatchedTokens int `json:"max_num_batched_tokens"` // of a prompt step
	NextN               int `json:"nextn"`                  // drafted tokens that a decode step may verify per sequence; 0: none
}

// Cache is an engine's memory for sequences.
type Cache struct {
	Blocks    int  `json:"blocks"`       // KV blocks, the reserved one included
	BlockSize int  `json:"block_size"`   // tokens
	States    int  `json:"states"`       // slots of the state cache, the reserved one included
	Prefix    bool `json:"prefix_cache"` // prompts that begin alike share blocks
}

// batch is one step as the scheduler decided it.
type batch struct {
	prompt    bool
	seqs      []*sequence
	chunks    []int // tokens computed for each sequence of a prompt step
	tokens    int
	cached    int // tokens found in the cache
	qxk       int64
	maxK      int
	minK      int
	replay    bool
	joined    int // requests that arrived
	preempted int
}

// scheduler owns the sequences of an engine: each is in exactly one of the queues, or gone.
type scheduler struct {
	limits   Limits
	cache    Cache
	role     string
	pool     *blockPool
	states   int         // free slots
	waiting  []*sequence // new, preempted, or in the middle of a chunked prefill
	prompted []*sequence // prefilled, waiting to decode (in a prompt engine: to be handed over)
	running  []*sequence

	// onFinish sees each request that has all its tokens.
	onFinish func(q *sequence)
	// propose decides how many drafted tokens of a running sequence the next decode step verifies.
	propose   func(q *sequence)
	counts    counts
	wasPrompt bool
}

// counts are what happened to requests since the start.
type counts struct {
	arrived, finished, aborted, preempted int64
}

func newScheduler(limits Limits, cache Cache, role string, propose, onFinish func(*sequence)) *scheduler {
	return &scheduler{limits: limits, cache: cache, role: role, propose: propose, onFinish: onFinish,
		pool: newBlockPool(cache.Blocks), states: cache.States - 1}
}

// add takes a request in. One that could never fit is turned away at once.
func (s *scheduler) add(q *sequence) {
	s.counts.arrived++
	q.target, q.first = q.prompt, true
	if s.blocksFor(q.prompt+q.output+s.limits.NextN) > s.cache.Blocks-1 {
		s.counts.aborted++
		return
	}
	if s.role == roleDecode {
		// Another engine has made the prefill and the first token.
		q.first, q.generated = false, 1
		q.output = max(q.output, 2)
		s.prompted = append(s.prompted, q)
		return
	}
	s.waiting = append(s.waiting, q)
}

// abort drops the requests whose clients have given up by now.
func (s *scheduler) abort(now int64) {
	gone := func(q *sequence) bool {
		if q.leave == 0 || q.leave > now {
			return false
		}
		s.free(q, false)
		s.counts.aborted++
		return true
	}
	s.waiting = slices.DeleteFunc(s.waiting, gone)
	s.prompted = slices.DeleteFunc(s.prompted, gone)
	s.running = slices.DeleteFunc(s.running, gone)
}

func (s *scheduler) blocksFor(tokens int) int {
	return (tokens + s.cache.BlockSize - 1) / s.cache.BlockSize
}

// grow gives a sequence blocks for so many tokens; false, and nothing changed, when there are not enough.
func (s *scheduler) grow(q *sequence, tokens int) bool {
	n := s.blocksFor(tokens) - len(q.blocks)
	if n > s.pool.free {
		return false
	}
	for range n {
		b, _ := s.pool.take()
		q.blocks = append(q.blocks, b)
	}
	return true
}

// free gives back all that a sequence holds, the last blocks first: they are the least likely to be shared. forget drops
// the contents that nobody else uses.
func (s *scheduler) free(q *sequence, forget bool) {
	for _, b := range slices.Backward(q.blocks) {
		if forget && s.pool.refs[b] == 1 && s.pool.hash[b] != 0 {
			s.pool.forget(b)
		}
		s.pool.release(b)
	}
	q.blocks, q.computed, q.known = q.blocks[:0], 0, 0
	if q.state {
		q.state = false
		s.states++
	}
}

// admit finds a place for a waiting sequence: a state slot, the blocks of its whole prompt, and a hundredth of the cache to
// grow into, so that it is not preempted at once. It returns the tokens found in the cache.
func (s *scheduler) admit(q *sequence) (cached int, ok bool) {
	if s.states == 0 {
		return 0, false
	}
	var hits []int32
	idle := 0 // hits that nobody uses: they count as free until taken
	if s.cache.Prefix {
		for i := 0; (i+1)*s.cache.BlockSize < q.target; i++ { // one token at least is computed, for its logits
			b, known := s.pool.find(q.hash(i, s.cache.BlockSize))
			if !known {
				break
			}
			if s.pool.refs[b] == 0 {
				idle++
			}
			hits = append(hits, b)
		}
	}
	spare := s.cache.Blocks / 100
	if len(s.running)+len(s.prompted) == 0 {
		spare = 0 // whatever fits into the empty cache gets in
	}
	if s.blocksFor(q.target)-len(hits)+idle+spare > s.pool.free {
		return 0, false
	}
	for _, b := range hits {
		s.pool.share(b)
		q.blocks = append(q.blocks, b)
	}
	q.computed = len(hits) * s.cache.BlockSize
	q.known = len(hits)
	s.grow(q, q.target)
	q.state = true
	s.states--
	return q.computed, true
}

// schedule decides the next step. Prompt and decode steps alternate while both have work, so that neither starves.
func (s *scheduler) schedule(now int64, b *batch) {
	*b = batch{seqs: b.seqs[:0], chunks: b.chunks[:0], minK: math.MaxInt}
	if s.role == rolePrompt {
		s.handOver(now)
	}
	decodable := s.role != rolePrompt && len(s.running)+len(s.prompted) > 0
	if !decodable || !s.wasPrompt {
		s.prefill(b)
	}
	if !b.prompt && decodable {
		s.decode(b)
	}
	s.wasPrompt = b.prompt
	if len(b.seqs) == 0 {
		b.minK = 0
	}
}

// prefill fills a prompt step with chunks, in the order of the queue, up to the token budget.
func (s *scheduler) prefill(b *batch) {
	budget := s.limits.MaxNumBatchedTokens
	active, full := len(s.running), false
	for _, q := range s.prompted {
		if len(q.blocks) > 0 {
			active++
		}
	}
	for _, q := range s.waiting {
		if budget == 0 || active+len(b.seqs) >= s.limits.MaxNumSeqs {
			break
		}
		if len(q.blocks) == 0 {
			if full {
				continue
			}
			cached, ok := s.admit(q)
			if !ok {
				full = true // in order: who comes later does not overtake, but what has begun goes on
				continue
			}
			b.cached += cached
		}
		chunk := min(q.rest(), budget)
		budget -= chunk
		b.seqs = append(b.seqs, q)
		b.chunks = append(b.chunks, chunk)
		b.tokens += chunk
		b.attend(q.computed, chunk)
	}
	b.prompt = len(b.seqs) > 0
}

// attend counts the attention of queries that follow so many tokens.
func (b *batch) attend(before, queries int) {
	k := before + queries
	b.qxk += int64(queries) * int64(k)
	b.maxK = max(b.maxK, k)
	b.minK = min(b.minK, k)
}

// decode fills a decode step: prefilled sequences start running, and all that run get room for what they may generate. When
// blocks run out, the sequence that came last is preempted.
func (s *scheduler) decode(b *batch) {
	s.start()
	for _, q := range s.running {
		s.propose(q)
	}
	for i := 0; i < len(s.running); i++ {
		q := s.running[i]
		for !s.grow(q, q.length()+q.verify) {
			last := s.running[len(s.running)-1]
			s.preempt(last)
			b.preempted++
			if last == q {
				break
			}
		}
	}
	for _, q := range s.running {
		b.seqs = append(b.seqs, q)
		b.tokens += 1 + q.verify
		b.attend(q.length()-1, 1+q.verify)
	}
}

// start moves prefilled sequences to the running ones.
func (s *scheduler) start() {
	for len(s.prompted) > 0 && len(s.running) < s.limits.MaxNumSeqs {
		q := s.prompted[0]
		if len(q.blocks) == 0 { // prefilled elsewhere: its cache arrives now
			if s.states == 0 || !s.grow(q, q.length()+s.limits.NextN) {
				return
			}
			q.state, q.computed = true, q.target
			s.states--
		}
		s.prompted = s.prompted[1:]
		s.running = append(s.running, q)
	}
}

// preempt takes everything from the sequence that runs last. It waits at the front, and its prefill is paid again: for the
// prompt and for all that it has generated.
func (s *scheduler) preempt(q *sequence) {
	s.running = s.running[:len(s.running)-1]
	s.free(q, true)
	q.target = q.length()
	s.counts.preempted++
	s.waiting = slices.Insert(s.waiting, 0, q)
}

// handOver lets the sequences go that have reached their decode engine.
func (s *scheduler) handOver(now int64) {
	s.prompted = slices.DeleteFunc(s.prompted, func(q *sequence) bool {
		if q.ready > now {
			return false
		}
		s.finish(q)
		return true
	})
}

func (s *scheduler) finish(q *sequence) {
	s.free(q, false)
	s.counts.finished++
	s.onFinish(q)
}

// prefilled books a prompt step: chunks are in the cache, and sequences whose last chunk it was have sampled a token.
func (s *scheduler) prefilled(b *batch, done func(q *sequence)) {
	for i, q := range b.seqs {
		q.computed += b.chunks[i]
		if s.cache.Prefix {
			for (q.known+1)*s.cache.BlockSize <= min(q.computed, q.prompt) {
				s.pool.publish(q.blocks[q.known], q.hash(q.known, s.cache.BlockSize))
				q.known++
			}
		}
		if q.rest() == 0 {
			done(q)
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(q *sequence) bool {
		if len(q.blocks) == 0 || q.rest() > 0 {
			return false
		}
		if q.generated >= q.output && s.role != rolePrompt {
			s.finish(q)
		} else {
			s.prompted = append(s.prompted, q)
		}
		return true
	})
}

// decoded books a decode step: sequences that have all their tokens leave.
func (s *scheduler) decoded() {
	s.running = slices.DeleteFunc(s.running, func(q *sequence) bool {
		if q.generated < q.output {
			return false
		}
		s.finish(q)
		return true
	})
}

// chunkedCount is the waiting sequences with unfinished chunks.
func (s *scheduler) chunkedCount() (n int) {
	for _, q := range s.waiting {
		if q.chunked() {
			n++
		}
	}
	return n
}
