// Package chunk is the form in which statistics rest: lists of numbers packed
// into few bytes, equal bit by bit when they come back. It does no I/O; every
// backend may keep its bytes.
//
//	values of a series ─ decimals as integers ┐
//	times, steps ───────────────── integers ──┴─ differences ─ blocks of 64, bit-packed
//	flags ───────────────────────── runs
//
// Log lines print decimals: 62.35 is the integer 6235 and the scale 2, and its
// neighbours differ from it by few bits. What is no short decimal is packed as
// the integer its bits are.
//
// Decoding takes bytes from anywhere: it fails with ErrDamaged and never
// panics, and its memory is bounded by the length that the caller asks for.
package chunk

import "errors"

// ErrDamaged: the bytes are not what this package wrote.
var ErrDamaged = errors.New("damaged chunk")

// MaxRows bounds the rows of one piece.
const MaxRows = 1 << 16
