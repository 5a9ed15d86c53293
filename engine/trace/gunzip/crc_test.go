package gunzip

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// The multiple that folding rests on, divided by the CRC's polynomial bit by bit.
func TestFoldPolynomial(t *testing.T) {
	const p = 1<<32 | 0x04c11db7
	terms := map[int]uint64{far4: 1, far4 - far1: 1, far4 - far2: 1, far4 - far3: 1, 0: 1}
	for _, times := range []int{1, 64} {
		rest := uint64(0)
		for i := far4 * times; i >= 0; i-- {
			rest <<= 1
			if i%times == 0 {
				rest |= terms[i/times]
			}
			if rest>>32 == 1 {
				rest ^= p
			}
		}
		if rest != 0 {
			t.Errorf("with x^%d: remainder %#x, want 0", times, rest)
		}
	}
}

func TestSum(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, 200<<10)
	r.Read(b)
	f := new(folder)
	r.Read(f[:])
	for n := 0; n <= len(b); n += 1 + n/37 {
		for _, crc := range []uint32{0, 1, 0xdeadbeef, 0xffffffff} {
			p := b[min(n%7, n):n]
			if got, want := f.sum(crc, p), crc32.Update(crc, crc32.IEEETable, p); got != want {
				t.Fatalf("%d bytes from %#x: %#x, want %#x", len(p), crc, got, want)
			}
		}
	}
}

func BenchmarkSum(b *testing.B) {
	data := make([]byte, outSize-history)
	rand.NewChaCha8([32]byte{1}).Read(data)
	f := new(folder)
	for name, sum := range map[string]func(uint32, []byte) uint32{
		"table": func(crc uint32, p []byte) uint32 { return crc32.Update(crc, crc32.IEEETable, p) },
		"fold":  f.sum,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			crc := uint32(0)
			for b.Loop() {
				crc = sum(crc, data)
			}
		})
	}
}
