//go:build amd64 || arm64 || wasm || riscv64 || loong64 || ppc64le

package trace

import "unsafe"

// load64 reads 8 bytes at b[i] as a little-endian word, without a bounds check: the
// caller's buffer is padded by at least 8 bytes. The unsafe load matters in WASM, where
// the compiler does not merge byte loads (3.2 against 0.56 GB/s for a string scan).
func load64(b []byte, i int) uint64 {
	return *(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))
}
