package gunzip

import "math/bits"

// A table entry tells in one word what a code stands for and how long it is, so that one
// load decides what to do:
//
//	bits 0-5   bits to consume: code and extra bits
//	bits 6-9   length of the code
//	the rest   by kind
//
// litlen entries (uint32):
//
//	literals   entryLiteral, number of literals (1 or 2) in bits 26-27, literals from bit 10
//	lengths    mask of the extra bits from bit 10, smallest length from bit 16
//	others     entryOther and entryEnd, entrySub or nothing (no such code)
//
// Where two literals share an entry, bits 6-9 hold the length of the first one's code.
//
// distance entries (uint64): mask of the extra bits from bit 16, smallest distance from
// bit 32; distOther and distSub or nothing.
//
// Codes longer than a table's primary bits continue in a sub-table: the primary entry has
// the mask of its index where a length has its extra bits, and its place in the table
// where a length has its smallest value.
const (
	entryLiteral = 1 << 31
	entryOther   = 1 << 30
	entrySub     = 1 << 29
	entryEnd     = 1 << 28

	distOther = 1 << 63
	distSub   = 1 << 62

	codeUnit = 1<<6 | 1 // times a code's length: both length fields
)

const (
	litBits  = 11
	distBits = 8
	lensBits = 7
	maxBits  = 15

	maxLits  = 286 // codes that a block may define
	maxDists = 30
	numLits  = 288 // codes of the fixed code, some of them never used
	numDists = 32
	numLens  = 19

	// A sub-table of 2^s entries has at least s+1 codes, so a code takes at most
	// 2^s/(s+1) entries there: 16/5 for literals and lengths, 128/8 for distances.
	litSize  = 1<<litBits + numLits*16/5 + 1
	distSize = 1<<distBits + numDists*16
)

// What each symbol stands for: entries without the length of the code.
var (
	litSymbols  [numLits]uint32
	distSymbols [numDists]uint64
	lensSymbols [numLens]uint32
)

func init() {
	for i := range litSymbols {
		litSymbols[i] = entryOther // 286 and 287 stand for nothing
	}
	for i := range 256 {
		litSymbols[i] = entryLiteral | 1<<26 | uint32(i)<<10
	}
	litSymbols[256] = entryOther | entryEnd
	base := uint32(3)
	for i := range uint32(28) {
		extra := max(i/4, 1) - 1
		litSymbols[257+i] = base<<16 | (1<<extra-1)<<10 | extra
		base += 1 << extra
	}
	litSymbols[285] = 258 << 16
	far := uint64(1)
	for i := range uint64(maxDists) {
		extra := max(i/2, 1) - 1
		distSymbols[i] = far<<32 | (1<<extra-1)<<16 | extra
		far += 1 << extra
	}
	distSymbols[30], distSymbols[31] = distOther, distOther
	for i := range lensSymbols {
		lensSymbols[i] = uint32(i) << 10
	}
}

// shape says how a kind of table is laid out.
type shape[E uint32 | uint64] struct {
	primary         uint // bits that index the primary table
	maskAt, placeAt uint
	none, sub       E // marks of a code that does not exist, of a sub-table
}

var (
	litShape  = shape[uint32]{litBits, 10, 16, entryOther, entryOther | entrySub}
	distShape = shape[uint64]{distBits, 16, 32, distOther, distOther | distSub}
	lensShape = shape[uint32]{lensBits, 10, 16, entryOther, entryOther | entrySub}
)

// build fills a table from the lengths of the symbols' codes and reports whether they make
// a code. As in zlib, all bit patterns must be taken by exactly one symbol, but for two
// cases: no codes at all, and a single code of one bit.
func build[E uint32 | uint64](table []E, s shape[E], symbols []E, lens []uint8) bool {
	var count, next [maxBits + 1]int
	for _, l := range lens {
		count[l]++
	}
	count[0] = 0
	left, used, longest := 1, 0, uint(0)
	for l := 1; l <= maxBits; l++ {
		left = left<<1 - count[l]
		if left < 0 {
			return false
		}
		next[l] = used
		used += count[l]
		if count[l] > 0 {
			longest = uint(l)
		}
	}
	if left > 0 && (used > 1 || used == 1 && count[1] == 0) {
		return false
	}
	var sorted [numLits]uint16 // symbols by the length of their code, then by number
	for i, l := range lens {
		if l > 0 {
			sorted[next[l]] = uint16(i)
			next[l]++
		}
	}
	if left > 0 { // no code: consumes nothing; a single one: the other bit stands for nothing
		for i := range table[:1<<s.primary] {
			table[i] = s.none + E(used)*codeUnit
			if used == 1 && i&1 == 0 {
				table[i] = symbols[sorted[0]] + codeUnit
			}
		}
		return true
	}

	// code is the current code with its first bit lowest, as it lies in the stream. The
	// table for codes of one more bit is the table so far, twice.
	code, i := uint(0), 0
	for l := uint(1); l <= min(longest, s.primary); l++ {
		copy(table[1<<(l-1):1<<l], table[:1<<(l-1)])
		for range count[l] {
			table[code] = symbols[sorted[i]] + E(l)*codeUnit
			code = following(code, l)
			i++
		}
	}
	for l := longest; l < s.primary; l++ {
		copy(table[1<<l:1<<(l+1)], table[:1<<l])
	}
	if longest <= s.primary {
		return true
	}

	place, size, prefix := uint(0), uint(0), ^uint(0)
	end := uint(1) << s.primary
	for l := s.primary + 1; l <= longest; l++ {
		for range count[l] {
			if p := code & (1<<s.primary - 1); p != prefix {
				prefix, place = p, end
				size = subBits(l, s.primary, longest, &count)
				end += 1 << size
				table[p] = s.sub + E(s.primary) + E(1<<size-1)<<s.maskAt + E(place)<<s.placeAt
			}
			e := symbols[sorted[i]] + E(l)*codeUnit
			for j := code >> s.primary; j < 1<<size; j += 1 << (l - s.primary) {
				table[place+j] = e
			}
			code = following(code, l)
			count[l]--
			i++
		}
	}
	return true
}

// subBits is how many bits index the sub-table that begins with a code of l bits; left has
// the numbers of codes to come.
func subBits(l, primary, longest uint, left *[maxBits + 1]int) uint {
	size := l - primary
	room := 1 << size
	for size+primary < longest {
		room -= left[size+primary]
		if room <= 0 {
			break
		}
		size++
		room <<= 1
	}
	return size
}

// following is the code of l bits after the given one, both with their first bit lowest; 0
// after the last.
func following(code, l uint) uint {
	free := ^code & (1<<l - 1)
	if free == 0 {
		return 0
	}
	top := uint(1) << (bits.Len(free) - 1)
	return code&(top-1) | top
}

// pair merges literals: where a literal's code is short enough for the primary table to
// tell the symbol behind it, and that is a literal too, one entry stands for both. An entry
// is merged with one at a lower index, which going down has not been merged yet.
func pair(table *[litSize]uint32) {
	for i := uint32(1<<litBits - 1); ; i-- {
		e := table[i]
		if l := e & 63; e >= entryLiteral && l < litBits {
			f := table[i>>l]
			if both := l + f&63; f >= entryLiteral && both <= litBits {
				table[i] = entryLiteral | 2<<26 | f>>10&0xff<<18 | e&0x3ffc0 | both
			}
		}
		if i == 0 {
			return
		}
	}
}
