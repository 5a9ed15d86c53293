//go:build amd64 || arm64 || wasm || riscv64 || loong64 || ppc64le

package gunzip

import "unsafe"

// load64 reads 8 bytes at p[i] as a little-endian word. Nothing is checked: the caller has
// made sure of the room. WebAssembly needs this, its compiler does not merge byte loads.
func load64(p unsafe.Pointer, i uint64) uint64 { return *(*uint64)(unsafe.Add(p, i)) }

// store64 writes 8 bytes at p[i].
func store64(p unsafe.Pointer, i, v uint64) { *(*uint64)(unsafe.Add(p, i)) = v }

// store16 writes the low 2 bytes of v at p[i].
func store16(p unsafe.Pointer, i, v uint64) { *(*uint16)(unsafe.Add(p, i)) = uint16(v) }
