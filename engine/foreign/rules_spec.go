package foreign

import (
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/engine/ledger"
)

// positions finds the entries of each draft position under a label that counts from 0 or
// from 1, and gives them from 1.
func positions(v *view, label string, f from) map[int]float64 {
	groups := grouped(f.of(v, true), label)
	shift := 0
	for _, g := range groups {
		if g.label == "0" {
			shift = 1
		}
	}
	out := map[int]float64{}
	for _, g := range groups {
		i, err := strconv.Atoi(g.label)
		n, ok := added(g.entries)
		if err != nil || !ok || i+shift < 1 || i+shift > ledger.MaxNextN {
			continue
		}
		out[i+shift] = n
	}
	return out
}

// byPosition gives one value for each position.
func byPosition(key string, values map[int]float64) []ledger.Value {
	var out []ledger.Value
	for i := 1; i <= ledger.MaxNextN; i++ {
		if x, ok := values[i]; ok {
			out = append(out, ledger.Value{Key: key, Label: strconv.Itoa(i), V: x})
		}
	}
	return out
}

// divided divides each value by another.
func divided(num map[int]float64, den func(i int) float64) map[int]float64 {
	out := map[int]float64{}
	for i, n := range num {
		if d := den(i); d > 0 {
			out[i] = n / d
		}
	}
	return out
}

// unconditional divides what was accepted at each position by all drafts.
func unconditional(key, label string, accepted, drafts from) rule {
	return rule{key, accepted.names, func(v *view, key string) []ledger.Value {
		n, ok := drafts.increase(v)
		if !ok {
			return nil
		}
		return byPosition(key, divided(positions(v, label, accepted), func(int) float64 { return n }))
	}}
}

// fullDrafts gives acceptance on condition of being verified where only the unconditional
// counters exist: in an interval in which every draft had every position, both are the
// same number. Otherwise there is no telling.
func fullDrafts(key, label string, accepted, drafts, tokens from) rule {
	return rule{key, accepted.names, func(v *view, key string) []ledger.Value {
		n, ok := drafts.increase(v)
		all, ok2 := tokens.increase(v)
		acc := positions(v, label, accepted)
		if !ok || !ok2 || len(acc) == 0 || all != n*float64(len(acc)) {
			return nil
		}
		return byPosition(key, divided(acc, func(int) float64 { return n }))
	}}
}

// conditional divides what was accepted at each position by what was drafted there.
func conditional(key, label string, accepted, drafted from) rule {
	return rule{key, slices.Concat(accepted.names, drafted.names), func(v *view, key string) []ledger.Value {
		if !v.rates() {
			return nil
		}
		den := positions(v, label, drafted)
		return byPosition(key, divided(positions(v, label, accepted), func(i int) float64 { return den[i] }))
	}}
}

// ofFirst divides what was accepted at each position by what was drafted at the first one:
// every draft has that, so it is the number of drafts.
func ofFirst(key, label string, accepted, drafted from) rule {
	return rule{key, slices.Concat(accepted.names, drafted.names), func(v *view, key string) []ledger.Value {
		if !v.rates() {
			return nil
		}
		n := positions(v, label, drafted)[1]
		return byPosition(key, divided(positions(v, label, accepted), func(int) float64 { return n }))
	}}
}

// perDraft is 1 + accepted tokens ÷ drafts, where drafts are counted by position.
func perDraft(key, label string, accepted, drafted from) rule {
	return rule{key, slices.Concat(accepted.names, drafted.names), func(v *view, key string) []ledger.Value {
		if !v.rates() {
			return nil
		}
		sum := 0.0
		for _, n := range positions(v, label, accepted) {
			sum += n
		}
		n := positions(v, label, drafted)[1]
		return one(key, "", 1+sum/n, n > 0)
	}}
}
