package gunzip

import (
	"hash/crc32"
	"runtime"
	"unsafe"
)

// hash/crc32 has instructions to use on most machines. In WebAssembly it has none, and
// looking every byte up in a table would take as long as decoding does. There long pieces
// are shortened first, with whole words and no table:
//
//	x^300 + x^155 + x^117 + x^89 + 1
//
// is a multiple of the CRC's polynomial P, and so is the same sum with x^64 for x, because
// squaring a sum modulo 2 squares its terms. A message is a polynomial modulo P; the sum
// says that a 64-bit word of it may be taken away if it is added (xor) to the words 145,
// 183, 211 and 300 places further on. What is left of a piece is its last 300 words.
const (
	far1, far2, far3, far4 = 145, 183, 211, 300

	foldBlock = 512              // words folded before those that are still needed move
	foldMin   = 4 * far4 * 8     // shorter pieces are not worth it
	foldSize  = far4 + foldBlock // words
	foldRound = 4                // words folded in one round of the loop
	folds     = "wasm"           // where folding is faster
	inner     = ^uint32(0)       // crc32.Update inverts its argument: this is 0 inside
)

// folder is memory for shortening pieces.
type folder [foldSize * 8]byte

// update adds b to crc.
func (f *folder) update(crc uint32, b []byte) uint32 {
	if runtime.GOARCH != folds || len(b) < foldMin {
		return crc32.Update(crc, crc32.IEEETable, b)
	}
	return f.fold(crc, b)
}

// fold is update for at least foldMin bytes.
func (f *folder) fold(crc uint32, b []byte) uint32 {
	words := len(b) / 8
	body := (words - far4) &^ (foldRound - 1)
	src, w := unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(f)
	// Before the first word there are zeros, but for crc, which is added to that word.
	clear(f[:far4*8])
	store64(w, 0, uint64(^crc))
	for at := 0; at < body; {
		n := uint64(min(body-at, foldBlock)) * 8
		from := unsafe.Add(src, at*8)
		for i := uint64(0); i < n; i += foldRound * 8 {
			// One pointer and constant offsets: those cost nothing.
			m, q := unsafe.Add(from, i), unsafe.Add(w, i)
			store64(q, far4*8, load64(m, 0)^
				load64(q, 0)^load64(q, (far4-far3)*8)^load64(q, (far4-far2)*8)^load64(q, (far4-far1)*8))
			store64(q, far4*8+8, load64(m, 8)^
				load64(q, 8)^load64(q, (far4-far3)*8+8)^load64(q, (far4-far2)*8+8)^load64(q, (far4-far1)*8+8))
			store64(q, far4*8+16, load64(m, 16)^
				load64(q, 16)^load64(q, (far4-far3)*8+16)^load64(q, (far4-far2)*8+16)^load64(q, (far4-far1)*8+16))
			store64(q, far4*8+24, load64(m, 24)^
				load64(q, 24)^load64(q, (far4-far3)*8+24)^load64(q, (far4-far2)*8+24)^load64(q, (far4-far1)*8+24))
		}
		copy(f[:far4*8], f[n:n+far4*8])
		at += int(n / 8)
	}
	// The words behind the body get what the body's last words add to them.
	tail := f[far4*8 : far4*8+(words-body)*8]
	copy(tail, b[body*8:])
	t := unsafe.Pointer(unsafe.SliceData(tail))
	for _, far := range [...]uint64{far1, far2, far3, far4} {
		for i := uint64(0); i < far*8; i += 8 {
			store64(t, i, load64(t, i)^load64(w, (far4-far)*8+i))
		}
	}
	crc = crc32.Update(inner, crc32.IEEETable, tail)
	return crc32.Update(crc, crc32.IEEETable, b[words*8:])
}
