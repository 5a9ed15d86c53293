//go:build !(amd64 || arm64 || wasm || riscv64 || loong64 || ppc64le)

package gunzip

import "unsafe"

// load64 reads 8 bytes at p[i] as a little-endian word, whatever the machine's byte order
// and alignment rules.
func load64(p unsafe.Pointer, i uint64) uint64 {
	b := (*[8]byte)(unsafe.Add(p, i))
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// store64 writes 8 bytes at p[i].
func store64(p unsafe.Pointer, i, v uint64) {
	b := (*[8]byte)(unsafe.Add(p, i))
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	b[4], b[5], b[6], b[7] = byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56)
}

// store16 writes the low 2 bytes of v at p[i].
func store16(p unsafe.Pointer, i, v uint64) {
	b := (*[2]byte)(unsafe.Add(p, i))
	b[0], b[1] = byte(v), byte(v>>8)
}
