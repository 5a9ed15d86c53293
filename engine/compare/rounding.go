package compare

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/engine/ledger"
)

// counted are units of whole things: their values are exact.
var counted = []ledger.Unit{ledger.Tokens, ledger.TokenPairs, ledger.Sequences, ledger.Requests, ledger.Preemptions,
	ledger.Calls, ledger.Communicators, ledger.Errors, ledger.Flag}

// rounding is the variance of a column's level because values are printed with few digits.
//
// Where values scatter over several steps of the last digit, rounding averages out. Where
// they stand still all are wrong in the same direction, by up to half a step q, and that
// is taken for the standard deviation. Of its square exp(−(2πσ/q)²) is left with a
// standard deviation σ of the values (the first term of the rounding error's Fourier series).
func rounding(lines [][]mark, r rule) float64 {
	if r.exact || r.counter {
		return 0
	}
	sum := 0.0
	for _, marks := range lines {
		sum += roundingOf(marks)
	}
	n := float64(len(lines))
	switch r.agg.Op {
	case ledger.Sum:
	case ledger.WeightedMean:
		sum /= n * n
	default: // of one of them
		sum /= n
	}
	return sum * r.scale * r.scale
}

func roundingOf(marks []mark) float64 {
	x := make([]float64, 0, len(marks))
	for _, m := range marks {
		if !m.void {
			x = append(x, m.x)
		}
	}
	q := lastDigit(x)
	if len(x) < 2 || q == 0 {
		return 0
	}
	_, variance := meanVariance(x)
	return q * q / 4 * math.Exp(-4*math.Pi*math.Pi*variance/(q*q))
}

// mostDecimals is how many decimals a printed value has at most; more are computed.
const mostDecimals = 6

// lastDigit is the power of ten of which all values are multiples; 0: there is none, they
// were not rounded.
func lastDigit(x []float64) float64 {
	decimals := 0
	for _, v := range x {
		for ; decimals <= mostDecimals; decimals++ {
			if s := math.Abs(v) * math.Pow10(decimals); math.Abs(s-math.Round(s)) <= 1e-6*math.Max(1, s*1e-3) {
				break
			}
		}
		if decimals > mostDecimals {
			return 0
		}
	}
	return math.Pow10(-decimals)
}

// roundingFree are the degrees of freedom of a rounding's variance, which is no estimate.
const roundingFree = 1e6

func isCounted(m ledger.Metric) bool { return slices.Contains(counted, m.Unit) }
