package wire

import "time"

// Expectation is what a capture will cost, as far as that can be known before.
type Expectation struct {
	// Bytes of the file that the engine writes on its node, for each rank; 0 unknown.
	Bytes int64
	// Recording is how long steps are recorded, and slower than usual; 0 unknown. Then the engine stands still while its
	// profiler stops, the longer the more steps there are: how long nobody can tell beforehand.
	Recording time.Duration
}

// deepInferBytes of one step: 20 steps give about 100 MB, 50 about 245 MB.
const deepInferBytes = 4_900_000

// Expect says what a capture of so many steps will cost. step is the time of a recent step, 0 unknown. The size is known
// for DeepInfer only: the other engines' traces depend on what they were started with.
func Expect(kind string, steps int, step time.Duration) Expectation {
	e := Expectation{Recording: time.Duration(steps) * step}
	if kind == "deepinfer" {
		e.Bytes = int64(steps) * deepInferBytes
	}
	return e
}
