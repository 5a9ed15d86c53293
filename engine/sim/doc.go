// Package sim is a simulated inference engine that can be observed like a real one: it writes ledger lines, answers
// /profile and hands out traces.
//
// An [Engine] is a driver engine with its scheduler: requests arrive, share prefixes, wait, are prefilled in chunks, decode
// with drafted tokens, are preempted when KV blocks run out, finish or give up. Nothing in it is random but what the seed
// decides, and time is virtual: a step advances the clock by what it would have taken. A [Fleet] runs the engines of a
// [Scenario] on one thread, in the order of their clocks, as fast as they can or at the pace of the real clock, so a fleet's
// output is the same for the same seed.
//
// The model is coarse where an observer can't tell (no weights, no tokens, a step's time from a few coefficients), and exact
// where one can: every token that a ledger line counts was scheduled, drafted, verified and accepted by a sequence.
package sim
