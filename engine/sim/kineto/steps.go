package kineto

import (
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
)

// Step is one engine step as its scheduler decided it. Times left 0 are drawn from the capture's seed.
type Step struct {
	N int // sequences; 0: an idle (placeholder) step
	B int // query tokens of all sequences

	Replay   bool  // the forward ran as a captured graph; otherwise every kernel was launched by itself
	Requests int   // requests that joined the engine in this step
	Forward  int64 // time of the forward's GPU work in nanoseconds; launching without a graph may stretch it
	Pause    int64 // nanoseconds from the end of the step before to the start of this one
}

// Generate writes a seeded capture of a DeepInfer engine and returns what it put in.
func Generate(w io.Writer, opt Options) (Truth, error) {
	opt, err := opt.normal()
	if err != nil {
		return Truth{}, err
	}
	return Write(w, opt, opt.mix())
}

// mix yields the steps of a generated capture: decode steps around 64 sequences that replay graphs, now and then a
// prefill chunk or a batch without a bucket, which don't.
func (o Options) mix() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		r := rand.New(rand.NewPCG(o.Seed, 1))
		odd := 65 + r.IntN(7) // between the buckets 64 and 72
		work := 0
		for k := range o.Steps {
			var s Step
			switch {
			case o.idle(k):
			case every(work, o.PrefillEvery):
				s = Step{N: 1 + r.IntN(3), Requests: 1 + r.IntN(2)}
				s.B = 2048 * (1 + r.IntN(2)) // a whole chunk, or two sequences' worth
				work++
			case every(work, o.MissEvery):
				s = Step{N: odd, B: odd * (1 + o.NextN)}
				work++
			default:
				s = Step{N: 64, Replay: true}
				if x := r.IntN(10); x < 3 {
					s.N = 60 + x // 60, 61, 62
				}
				s.B = s.N * (1 + o.NextN)
				switch r.IntN(8) {
				case 0:
					s.B = s.N // nothing drafted
				case 1:
					s.B = s.N * (1 + o.NextN/2)
				}
				if r.IntN(5) == 0 {
					s.Requests = 1
				}
				work++
			}
			if !yield(s) {
				return
			}
		}
	}
}

// idle spreads the idle steps evenly: one wherever the running share crosses a whole number.
func (o Options) idle(k int) bool {
	i, n := int64(o.IdleSteps), int64(o.Steps)
	return (int64(k)+1)*i/n > int64(k)*i/n
}

// every is true in the middle of each run of n, so that short captures have the kind too.
func every(k, n int) bool { return n > 0 && k%n == n/2 }

func (s Step) decode(nextn int) bool { return s.B <= s.N*(1+nextn) }

func (s Step) check(k int) error {
	if s.N < 0 || s.B < 0 || s.N > 1<<20 || s.B > 1<<24 || (s.N == 0) != (s.B == 0) {
		return fmt.Errorf("step %d: %d sequences with %d query tokens is impossible; give both, or neither for an idle step", k, s.N, s.B)
	}
	if s.Requests < 0 || s.Requests > 1<<16 || s.Forward < 0 || s.Pause < 0 {
		return fmt.Errorf("step %d: requests, forward and pause must not be negative", k)
	}
	return nil
}
