package sim

import "math/rand/v2"

// Experts says how a mixture of experts spreads over cards.
type Experts struct {
	Cards int     `json:"cards"` // 0: a dense model, without figures of balance
	TopK  int     `json:"top_k"` // experts per token
	Skew  float64 `json:"skew"`  // how much more than the mean the busiest card has by its experts' popularity
	Noise float64 `json:"noise"` // standard deviation of a card's load in one step ÷ mean
	Ramp  Ramp    `json:"ramp"`  // changes Skew
}

// balancer draws the load of the cards.
type balancer struct {
	cfg Experts
	r   *rand.Rand
}

// load returns the mean and the greatest number of tokens per card in a step with so many tokens.
func (b *balancer) load(tokens, step int) (mean, most float64) {
	if b.cfg.Cards == 0 || tokens == 0 {
		return 0, 0
	}
	mean = float64(tokens*b.cfg.TopK) / float64(b.cfg.Cards)
	skew := b.cfg.Skew * b.cfg.Ramp.at(step)
	var sum float64
	for card := range b.cfg.Cards {
		// Popularity falls in equal steps from the busiest card, 1 + skew, to the idlest, 1 − skew.
		w := 1.0
		if b.cfg.Cards > 1 {
			w += skew * (1 - 2*float64(card)/float64(b.cfg.Cards-1))
		}
		w = max(w+b.cfg.Noise*b.r.NormFloat64(), 0)
		sum += w
		most = max(most, w)
	}
	if sum == 0 {
		return mean, mean
	}
	return mean, most * mean * float64(b.cfg.Cards) / sum
}
