package gunzip

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
)

// bitWriter writes DEFLATE data by hand.
type bitWriter struct {
	b []byte
	n uint
}

func (w *bitWriter) put(v uint32, k int) *bitWriter {
	for i := range k {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
	return w
}

// code writes a symbol's canonical code as section 3.2.2 of RFC 1951 defines it.
func (w *bitWriter) code(lens []uint8, symbol int) *bitWriter {
	code := uint32(0)
	for l := uint8(1); l <= lens[symbol]; l++ {
		code <<= 1
		for s, sl := range lens {
			if sl == l && (l < lens[symbol] || s < symbol) {
				code++
			}
		}
	}
	for i := int(lens[symbol]) - 1; i >= 0; i-- {
		w.put(code>>i&1, 1)
	}
	return w
}

// dynamic begins a last block with these codes, whose lengths it writes plainly, in 4 bits.
func dynamic(lits, dists []uint8) *bitWriter {
	w := new(bitWriter).put(1, 1).put(blockDynamic, 2)
	w.put(uint32(len(lits)-257), 5).put(uint32(len(dists)-1), 5).put(numLens-4, 4)
	plain := make([]uint8, numLens)
	for i := range 16 {
		plain[i] = 4
	}
	for _, s := range lensOrder {
		w.put(uint32(plain[s]), 3)
	}
	for _, l := range slices.Concat(lits, dists) {
		w.code(plain, int(l))
	}
	return w
}

// lensOf makes a list of n lengths, 0 but for those given.
func lensOf(n int, lens map[int]uint8) []uint8 {
	all := make([]uint8, n)
	for s, l := range lens {
		all[s] = l
	}
	return all
}

func TestCodes(t *testing.T) {
	ab := lensOf(257, map[int]uint8{'a': 1, 'b': 2, 256: 2})
	abMatch := lensOf(258, map[int]uint8{'a': 1, 'b': 2, 256: 3, 257: 3})
	one := []uint8{1}
	for _, c := range []struct {
		name string
		data *bitWriter
		want string
		is   class
	}{
		{"no distance codes", dynamic(ab, []uint8{0}).code(ab, 'a').code(ab, 'b').code(ab, 256), "ab", whole},
		{"no distance codes, but a match", dynamic(abMatch, []uint8{0}).code(abMatch, 'a').code(abMatch, 257).put(0, 20), "a", corrupt},
		{"one distance code", dynamic(abMatch, one).code(abMatch, 'b').code(abMatch, 257).put(0, 1).code(abMatch, 256), "bbbb", whole},
		{"one distance code, the other bit", dynamic(abMatch, one).code(abMatch, 'b').code(abMatch, 257).put(1, 1).put(0, 20), "b", corrupt},
		{"one distance code of two bits", dynamic(abMatch, []uint8{2}), "", corrupt},
		{"one literal code", dynamic(lensOf(257, map[int]uint8{256: 1}), one).put(0, 1), "", whole},
		{"one literal code, the other bit", dynamic(lensOf(257, map[int]uint8{256: 1}), one).put(1, 1), "", corrupt},
		{"no literal codes", dynamic(lensOf(257, nil), one).put(0, 9), "", corrupt},
		{"too many literal codes", dynamic(lensOf(257, map[int]uint8{1: 1, 2: 1, 3: 1}), one), "", corrupt},
		{"incomplete literal codes", dynamic(lensOf(257, map[int]uint8{1: 2, 2: 2, 256: 2}), one), "", corrupt},
		{"too many distance codes", dynamic(ab, []uint8{1, 1, 1}), "", corrupt},
		{"incomplete distance codes", dynamic(ab, []uint8{2, 2, 2}), "", corrupt},
		{"287 literal codes", dynamic(lensOf(287, map[int]uint8{'a': 1, 256: 1}), one), "", corrupt},
		{"31 distance codes", dynamic(ab, lensOf(31, map[int]uint8{0: 1})), "", corrupt},
		{"reserved block", new(bitWriter).put(1, 1).put(3, 2).put(0, 32), "", corrupt},
		{"stored size", new(bitWriter).put(1, 3).put(0, 5).put(5, 16).put(5, 16), "", corrupt},
		{"match before the data", new(bitWriter).put(1, 1).put(blockFixed, 2).put(0x40, 7).put(0, 5).put(0, 20), "", corrupt},
		{"fixed symbol 286", new(bitWriter).put(1, 1).put(blockFixed, 2).put(0x63, 8).put(0, 20), "", corrupt},
		{"fixed distance 30", new(bitWriter).put(1, 1).put(blockFixed, 2).put(0x89, 8).put(0x40, 7).put(0x0f, 5).put(0, 20), "a", corrupt},
		{"repeat without a length", lensBlock(16, 0, 2), "", corrupt},
		{"repeat beyond the end", lensBlock(18, 127, 7), "", corrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			packed := member(0, nil, c.data.b, crc32.ChecksumIEEE([]byte(c.want)), uint32(len(c.want)))
			got, is := agree(t, packed)
			if string(got) != c.want || is != c.is {
				t.Errorf("%q, %s; want %q, %s", got, is, c.want, c.is)
			}
		})
	}
}

// lensBlock is a block that begins its code lengths with a repetition, twice.
func lensBlock(symbol int, times uint32, extra int) *bitWriter {
	w := new(bitWriter).put(1, 1).put(blockDynamic, 2).put(0, 5).put(0, 5).put(numLens-4, 4)
	lens := lensOf(numLens, map[int]uint8{0: 1, symbol: 1})
	for _, s := range lensOrder {
		w.put(uint32(lens[s]), 3)
	}
	return w.code(lens, symbol).put(times, extra).code(lens, symbol).put(times, extra).put(0, 32)
}

// randomCode returns lengths of a complete code with n symbols, as crooked as chance has it.
func randomCode(r *rand.Rand, all, n int) []uint8 {
	leaves := []uint8{0}
	for len(leaves) < n {
		i := r.IntN(len(leaves))
		if r.IntN(2) == 0 {
			i = len(leaves) - 1 // makes long codes
		}
		if leaves[i] < maxBits {
			leaves[i]++
			leaves = append(leaves, leaves[i])
		}
	}
	leaves = append(leaves, make([]uint8, all-n)...)
	r.Shuffle(all, func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
	return leaves
}

// Blocks with codes of any length up to 15 bits, so that sub-tables of all sizes are used.
func TestRandomCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 150 {
		lits := randomCode(r, maxLits, 2+r.IntN(maxLits-1))
		for lits[256] == 0 { // a block needs an end
			lits = randomCode(r, maxLits, maxLits)
		}
		dists := randomCode(r, maxDists, 2+r.IntN(maxDists-1))
		data := dynamic(lits, dists)
		var plain []byte
		for range 2000 {
			s := r.IntN(maxLits)
			switch {
			case s == 256 || lits[s] == 0:
			case s < 256:
				data.code(lits, s)
				plain = append(plain, byte(s))
			default:
				d := r.IntN(maxDists)
				base, extra := uint64(distSymbols[d]>>32&0xffff), int(distSymbols[d]&63)
				if dists[d] == 0 || base > uint64(len(plain)) {
					continue
				}
				more := r.Uint32N(1 << extra)
				back := int(base) + int(more)
				if back > len(plain) {
					more, back = 0, int(base)
				}
				lenExtra := int(litSymbols[s] & 63)
				lenMore := r.Uint32N(1 << lenExtra)
				data.code(lits, s).put(lenMore, lenExtra).code(dists, d).put(more, extra)
				for range litSymbols[s]>>16 + lenMore {
					plain = append(plain, plain[len(plain)-back])
				}
			}
		}
		data.code(lits, 256)
		packed := member(0, nil, data.b, crc32.ChecksumIEEE(plain), uint32(len(plain)))
		if got, c := agree(t, packed); c != whole || !bytes.Equal(got, plain) {
			t.Fatalf("round %d: %d bytes, %s; want %d", round, len(got), c, len(plain))
		}
	}
}

// The tables hold whatever complete code there is: each length from the primary table's to
// the longest on, spread as widely as it goes.
func TestTableSize(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var lit [litSize]uint32
	var dist [distSize]uint64
	for range 2000 {
		if !build(lit[:], litShape, litSymbols[:], randomCode(r, numLits, 2+r.IntN(numLits-1))) {
			t.Fatal("a complete code for literals and lengths is refused")
		}
		if !build(dist[:], distShape, distSymbols[:], randomCode(r, numDists, 2+r.IntN(numDists-1))) {
			t.Fatal("a complete code for distances is refused")
		}
	}
}

// Lengths and distances of RFC 1951, section 3.2.5.
func TestSymbols(t *testing.T) {
	for symbol, want := range map[int][2]uint32{257: {3, 0}, 264: {10, 0}, 265: {11, 1}, 273: {35, 3}, 284: {227, 5}, 285: {258, 0}} {
		if e := litSymbols[symbol]; e>>16 != want[0] || e&63 != want[1] || e>>10&63 != 1<<want[1]-1 {
			t.Errorf("length symbol %d: %#x, want %d and %d extra bits", symbol, e, want[0], want[1])
		}
	}
	for symbol, want := range map[int][2]uint64{0: {1, 0}, 3: {4, 0}, 4: {5, 1}, 13: {97, 5}, 28: {16385, 13}, 29: {24577, 13}} {
		if e := distSymbols[symbol]; e>>32 != want[0] || e&63 != want[1] || e>>16&0xffff != 1<<want[1]-1 {
			t.Errorf("distance symbol %d: %#x, want %d and %d extra bits", symbol, e, want[0], want[1])
		}
	}
}
