package gunzip

import "unsafe"

// hash/crc32 has instructions to use on most machines. In WebAssembly it has none, it costs
// the module 8 KB, and looking every byte up in a table would take as long as decoding does.
// So there, long pieces are shortened first, with whole words and no table:
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
)

// folder is memory for shortening pieces.
type folder [foldSize * 8]byte

// crcTables has in table k what a byte adds to the CRC when k more bytes follow it.
var crcTables [8][256]uint32

func init() {
	for i := range uint32(256) {
		c := i
		for range 8 {
			c = c>>1 ^ 0xedb88320&-(c&1)
		}
		crcTables[0][i] = c
	}
	for k := 1; k < 8; k++ {
		for i, c := range crcTables[k-1] {
			crcTables[k][i] = next(c, 0)
		}
	}
}

// next takes a byte into a CRC's inner state, the CRC inverted.
func next(state uint32, b byte) uint32 { return crcTables[0][byte(state)^b] ^ state>>8 }

// lookUp takes bytes into a CRC's inner state, 8 at a time.
func lookUp(state uint32, b []byte) uint32 {
	for ; len(b) >= 8; b = b[8:] {
		w := load64(unsafe.Pointer(unsafe.SliceData(b)), 0) ^ uint64(state)
		state = crcTables[7][byte(w)] ^ crcTables[6][byte(w>>8)] ^ crcTables[5][byte(w>>16)] ^ crcTables[4][byte(w>>24)] ^
			crcTables[3][byte(w>>32)] ^ crcTables[2][byte(w>>40)] ^ crcTables[1][byte(w>>48)] ^ crcTables[0][byte(w>>56)]
	}
	for _, c := range b {
		state = next(state, c)
	}
	return state
}

// sum adds b to crc without instructions for that.
func (f *folder) sum(crc uint32, b []byte) uint32 {
	state := ^crc
	if len(b) >= foldMin {
		state, b = f.fold(state, b)
	}
	return ^lookUp(state, b)
}

// fold takes all but a few of at least foldMin bytes into a CRC's inner state, and returns
// those few.
func (f *folder) fold(state uint32, b []byte) (uint32, []byte) {
	words := len(b) / 8
	body := (words - far4) &^ (foldRound - 1)
	src, w := unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(f)
	// Before the first word there are zeros, but for state, which is added to that word.
	clear(f[:far4*8])
	store64(w, 0, uint64(state))
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
	return lookUp(0, tail), b[words*8:]
}
