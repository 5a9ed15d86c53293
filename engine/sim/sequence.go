package sim

// sequence is one request inside an engine.
type sequence struct {
	id      uint64
	arrival int64 // on the engine's clock, ns
	leave   int64 // when the client gives up; 0: never
	prompt  int   // tokens
	output  int   // tokens after which it ends
	ease    float64
	prefix  []prefixNode

	generated int // tokens, those made elsewhere or before a preemption included
	target    int // tokens that prefill has to bring into the cache
	computed  int // tokens in the cache
	known     int // leading blocks whose contents are published
	blocks    []int32
	state     bool // holds a state slot
	first     bool // its first token is still to come
	ready     int64
	verify    int     // drafted tokens in the present step
	hope      float64 // how many of them the confidence head expects to be accepted
}

// rest is what prefill still has to compute.
func (s *sequence) rest() int { return s.target - s.computed }

// chunked says that prefill has begun and is not done.
func (s *sequence) chunked() bool { return len(s.blocks) > 0 && s.rest() > 0 }

// length is the tokens so far.
func (s *sequence) length() int { return s.prompt + s.generated }

// prefixNode is a node of the tree of shared prefixes: its path's identity and the tokens up to its end.
type prefixNode struct {
	id  uint64
	end int
}

// hash is the identity of the content of the block i, everything before it included: that of a shared prefix where the
// block lies wholly inside one, else the sequence's own.
func (s *sequence) hash(i, blockSize int) uint64 {
	id := s.id<<1 | 1
	for _, n := range s.prefix {
		if (i+1)*blockSize <= n.end {
			id = n.id
			break
		}
	}
	return mix(id, uint64(i)) | 1 // never 0
}

// mix combines two numbers into one that looks random (the finaliser of splitmix64).
func mix(a, b uint64) uint64 {
	z := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
